//! The inner product, between two threads.

use super::{LONG, WAIT};
use crate::key::Key;
use crate::product::{First, ProductPlan, Role, Second};
use scumble::noise::InsecureSeededSource;
use std::net::TcpListener;

struct Two {
    plan: ProductPlan,
    keys: [Key; 2],
    listener: TcpListener,
}

fn two(owners: usize) -> Two {
    let keys = [0, 1].map(|_| Key::generate().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "name = \"both\"\nowners = {owners}\n[first]\nname = \"a\"\nkey = \"{}\"\nepsilon = 2\nattributes = [\"smokes\"]\n[second]\nname = \"b\"\naddress = \"{}\"\nkey = \"{}\"\nepsilon = 1\nattributes = [\"ill\"]\n",
        keys[0].public(),
        listener.local_addr().unwrap(),
        keys[1].public()
    );
    Two { plan: ProductPlan::read(&text).unwrap(), keys, listener }
}

/// To the last bit what the mathematics gives for the same random numbers.
#[test]
fn two_processes_multiply_as_one_would() {
    let two = two(1001);
    let x: Vec<bool> = (0..1001).map(|place| place % 2 == 0).collect();
    let y: Vec<bool> = (0..1001).map(|place| place % 3 == 0).collect();
    let answer = std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let second = Second::listen(&two.plan, &two.keys[1], &two.listener, LONG)?;
            second.answer(&y, &mut InsecureSeededSource::new(2))
        });
        let first = First::meet(&two.plan, &two.keys[0], LONG).unwrap();
        let answer = first.multiply(&x, &mut InsecureSeededSource::new(1)).unwrap();
        second.join().unwrap().unwrap();
        answer
    });
    let product = two.plan.product();
    let message = product.message(&x, &mut InsecureSeededSource::new(1));
    assert_eq!(answer, product.answer(&y, &message, &mut InsecureSeededSource::new(2)).unwrap());
    assert!((product.estimate(answer) - 167.0).abs() < product.error(1e-9, 1001).unwrap());
    assert_eq!(two.plan.role_of(&two.keys[1]).unwrap(), Role::Second);
    assert!(two.plan.role_of(&Key::generate().unwrap()).is_err());
}

/// Wrong lengths, wrong keys and nobody at all: nothing is answered.
#[test]
fn what_is_wrong_is_not_answered() {
    let two = two(10);
    let error = Second::listen(&two.plan, &two.keys[1], &two.listener, WAIT / 4).err().unwrap();
    assert!(error.to_string().contains("'a' has not sent its bits in time"), "{error}");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| Second::listen(&two.plan, &two.keys[1], &two.listener, WAIT).err());
        let stranger = Key::generate().unwrap();
        assert!(First::meet(&two.plan, &stranger, WAIT / 4).is_err());
        let first = First::meet(&two.plan, &two.keys[0], WAIT).unwrap();
        let error = first.multiply(&[true; 9], &mut InsecureSeededSource::new(1)).unwrap_err();
        assert!(error.to_string().contains("9 bits, and the plan has 10 owners"), "{error}");
        assert!(second.join().unwrap().is_some());
    });
}
