//! The inner product, between two threads.

use super::{LONG, WAIT};
use crate::key::Key;
use crate::product::{FirstParty, ProductPlan, Role, SecondParty};
use scumble::noise::InsecureSeededSource;
use scumble::quantity::Beta;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

struct ProductFixture {
    plan: ProductPlan,
    keys: [Key; 2],
    listener: TcpListener,
}

fn two(owners: usize) -> ProductFixture {
    let keys = [0, 1].map(|_| Key::generate().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "name = \"both\"\nowners = {owners}\n[first]\nname = \"a\"\nkey = \"{}\"\nepsilon = 2\nattributes = [\"smokes\"]\n[second]\nname = \"b\"\naddress = \"{}\"\nkey = \"{}\"\nepsilon = 1\nattributes = [\"ill\"]\n",
        keys[0].public(),
        listener.local_addr().unwrap(),
        keys[1].public()
    );
    ProductFixture { plan: ProductPlan::read(&text).unwrap(), keys, listener }
}

/// To the last bit what the mathematics gives for the same random numbers.
#[test]
fn two_processes_multiply_as_one_would() {
    let two = two(1001);
    let x: Vec<bool> = (0..1001).map(|place| place % 2 == 0).collect();
    let y: Vec<bool> = (0..1001).map(|place| place % 3 == 0).collect();
    let answer = std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let second = SecondParty::listen(&two.plan, &two.keys[1], &two.listener, LONG)?;
            second.answer(&y, &mut InsecureSeededSource::new(2))
        });
        let first = FirstParty::meet(&two.plan, &two.keys[0], LONG).unwrap();
        let answer = first.multiply(&x, &mut InsecureSeededSource::new(1)).unwrap();
        second.join().unwrap().unwrap();
        answer
    });
    let product = two.plan.product();
    let message = product.message(&x, &mut InsecureSeededSource::new(1));
    assert_eq!(answer, product.answer(&y, &message, &mut InsecureSeededSource::new(2)).unwrap());
    assert!((product.estimate(answer) - 167.0).abs() < product.error(Beta::new(1e-9).unwrap(), 1001).unwrap());
    assert_eq!(two.plan.role_of(&two.keys[1]).unwrap(), Role::Second);
    assert!(two.plan.role_of(&Key::generate().unwrap()).is_err());
}

/// Wrong lengths, wrong keys and nobody at all: nothing is answered.
#[test]
fn what_is_wrong_is_not_answered() {
    let two = two(10);
    let error = SecondParty::listen(&two.plan, &two.keys[1], &two.listener, WAIT / 4).err().unwrap();
    assert_eq!(error.to_string(), "nobody has shown the key of 'a' in time; nothing was answered");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| SecondParty::listen(&two.plan, &two.keys[1], &two.listener, WAIT).err());
        let stranger = Key::generate().unwrap();
        assert!(FirstParty::meet(&two.plan, &stranger, WAIT / 4).is_err());
        let first = FirstParty::meet(&two.plan, &two.keys[0], WAIT).unwrap();
        let error = first.multiply(&[true; 9], &mut InsecureSeededSource::new(1)).unwrap_err();
        assert!(error.to_string().contains("9 bits, and the plan has 10 owners"), "{error}");
        assert!(second.join().unwrap().is_some());
    });
}

/// A stranger that connects and says nothing, or sends the head of a long message byte by byte, for as long as the
/// other side lets it.
fn stranger(address: std::net::SocketAddr, drips: bool) -> Option<TcpStream> {
    let mut socket = TcpStream::connect(address).ok()?;
    if drips {
        let mut held = socket.try_clone().ok()?;
        std::thread::spawn(move || {
            // The head of a TLS record of 512 bytes, then one byte at a time.
            let mut sent = held.write_all(&[0x16, 3, 1, 2, 0]);
            while sent.is_ok() {
                std::thread::sleep(Duration::from_millis(50));
                sent = held.write_all(&[1]);
            }
        });
    } else {
        let _ = socket.flush();
    }
    Some(socket)
}

/// The story: guests were met one after the other, each for ten seconds after every byte. A stranger without a key held
/// the second party for 62 s at `--wait 6`, the first one was never heard, and each blamed the other: one for a wrong
/// key, one for bits that did not come.
#[test]
fn strangers_keep_nobody_waiting() {
    for drips in [false, true] {
        let two = two(10);
        let address = two.listener.local_addr().unwrap();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let second = SecondParty::listen(&two.plan, &two.keys[1], &two.listener, LONG)?;
                second.answer(&[true; 10], &mut InsecureSeededSource::new(2))
            });
            // More than are heard at once.
            let crowd: Vec<_> = (0..150).map(|_| stranger(address, drips)).collect();
            let first = FirstParty::meet(&two.plan, &two.keys[0], LONG).unwrap();
            first.multiply(&[true; 10], &mut InsecureSeededSource::new(1)).unwrap();
            second.join().unwrap().unwrap();
            drop(crowd);
        });
        assert!(begun.elapsed() < LONG / 2, "{:?}", begun.elapsed());
    }
}

/// Strangers alone: the time is what was asked for, and the party that was not met is not blamed.
#[test]
fn nobody_is_blamed_who_was_not_met() {
    let two = two(10);
    let address = two.listener.local_addr().unwrap();
    let begun = Instant::now();
    let crowd = [false, true, true].map(|drips| stranger(address, drips));
    let error = SecondParty::listen(&two.plan, &two.keys[1], &two.listener, WAIT).err().unwrap().to_string();
    let within = begun.elapsed();
    assert!(within >= WAIT && within < WAIT + Duration::from_secs(5), "{within:?}");
    assert_eq!(error, "nobody has shown the key of 'a' in time (3 connections came without it); nothing was answered");
    drop(crowd);
    // A party that shows the key and then sends nothing is named.
    std::thread::scope(|scope| {
        let second = scope
            .spawn(|| SecondParty::listen(&two.plan, &two.keys[1], &two.listener, WAIT).err().unwrap().to_string());
        let first = FirstParty::meet(&two.plan, &two.keys[0], LONG).unwrap();
        let sentence = second.join().unwrap();
        assert!(sentence.contains("'a' was reached and has not sent its bits in time"), "{sentence}");
        drop(first);
    });
}

/// Where a stranger sits at the second party's address and says nothing, the first one is done when its time is over,
/// and says no more than it knows.
#[test]
fn the_first_party_is_done_in_time() {
    let two = two(10);
    let begun = Instant::now();
    let error = FirstParty::meet(&two.plan, &two.keys[0], WAIT).err().unwrap().to_string();
    assert!(begun.elapsed() < WAIT + Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(error.contains("'b' has not shown its key in time"), "{error}");
}
