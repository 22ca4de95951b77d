//! Bad input: parties that send twice, replayed and mangled messages, wrong keys, other plans, and servers that lie
//! about their lists.

use super::{LONG, SumFixture, TestObserver, WAIT};
use crate::channel::Channel;
use crate::error::{Error, ErrorKind};
use crate::key::Key;
use crate::message::{self, MessageKind};
use crate::plan::Plan;
use crate::send::ShareSender;
use crate::serve::{ServerStep, serve};
use std::time::Instant;

fn connect(world: &SumFixture, key: &Key, server: usize) -> Channel {
    let other = &world.plan.servers()[server];
    Channel::connect(key, &other.address, other.key, &other.name, Instant::now() + LONG).unwrap()
}

/// A party that sends twice, one after the other and at once: what came first counts, once.
#[test]
fn who_sends_twice_counts_once() {
    let mut world = SumFixture::new(2, 0, 0, 2);
    let running = world.serve_all(LONG);
    // Two connections are met before either sends.
    let [mut first, mut second] = [0, 1].map(|_| {
        let mut channel = connect(&world, &world.parties[0], 0);
        channel.hello(world.plan.digest()).unwrap();
        channel
    });
    let shares = world.plan.sum().shares(&world.values(0), &mut SumFixture::bits(0)).unwrap();
    first.send(MessageKind::Share, &message::share(&[1; 16], &shares[0])).unwrap();
    first.expect(MessageKind::Stored, 0).unwrap();
    // The same message once more, and another one.
    second.send(MessageKind::Share, &message::share(&[1; 16], &shares[0])).unwrap();
    let sentence = second.expect(MessageKind::Stored, 0).unwrap_err().to_string();
    assert!(sentence.contains("has sent already"), "{sentence}");
    // On the connection that was served nothing more is heard.
    let again = first
        .send(MessageKind::Share, &message::share(&[2; 16], &[5, 5, 5]))
        .and_then(|()| first.expect(MessageKind::Stored, 0));
    assert!(again.is_err());
    let sentence = world.send(0).unwrap_err().to_string();
    assert!(sentence.contains("'s0'") && sentence.contains("has sent already"), "{sentence}");
    let mut other = connect(&world, &world.parties[0], 1);
    other.hello(world.plan.digest()).unwrap();
    other.send(MessageKind::Share, &message::share(&[1; 16], &shares[1])).unwrap();
    other.expect(MessageKind::Stored, 0).unwrap();
    world.send(1).unwrap();
    running[0].reaches(|step| matches!(step, ServerStep::Refused(why) if why.contains("'p0'")));
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[0, 1])));
}

/// Shares of two sendings never meet: a party that sends other things to each server is left out.
#[test]
fn shares_of_different_sendings_are_not_added() {
    let mut world = SumFixture::new(3, 0, 1, 2);
    let running = world.serve_all(WAIT);
    for (place, sending) in [(0, [1; 16]), (1, [2; 16])] {
        let mut channel = connect(&world, &world.parties[1], place);
        channel.hello(world.plan.digest()).unwrap();
        channel.send(MessageKind::Share, &message::share(&sending, &[1, 2, 3])).unwrap();
        channel.expect(MessageKind::Stored, 0).unwrap();
    }
    [0, 2].into_iter().for_each(|party| world.send(party).unwrap());
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[0, 2])));
}

/// Messages that are too short, too long, of another kind, or of nobody's making; and a party that hangs up in the
/// middle of one.
#[test]
fn mangled_messages_are_not_stored() {
    let mut world = SumFixture::new(3, 0, 1, 2);
    let running = world.serve_all(WAIT);
    let good = message::share(&[1; 16], &[1, 2, 3]);
    let bad: [(MessageKind, &[u8]); 6] = [
        (MessageKind::Share, &good[..good.len() - 1]),
        (MessageKind::Share, &[&good[..], &[0]].concat()),
        (MessageKind::Share, &[]),
        (MessageKind::Arrived, &good),
        (MessageKind::Hello, world.plan.digest()),
        (MessageKind::Sum, &good[16..]),
    ];
    for (kind, body) in bad {
        let mut channel = connect(&world, &world.parties[1], 0);
        channel.hello(world.plan.digest()).unwrap();
        assert!(channel.send(kind, body).and_then(|()| channel.expect(MessageKind::Stored, 0)).is_err(), "{kind:?}");
    }
    [0, 2].into_iter().for_each(|party| world.send(party).unwrap());
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[0, 2])));
}

/// Numbers that the plan does not allow never leave the party.
#[test]
fn wrong_numbers_are_refused_by_the_party_itself() {
    let mut world = SumFixture::new(2, 0, 1, 2);
    let running = world.serve_all(WAIT);
    for values in [vec![1, 2, 1001], vec![1, 2], vec![1, 2, 3, 4]] {
        let sender = ShareSender::meet(&world.plan, &world.parties[0], LONG).unwrap();
        let error = sender.send(&values, &mut SumFixture::bits(0)).unwrap_err();
        assert!(error.kind() == ErrorKind::Input && !error.to_string().contains("1001"), "{error}");
    }
    world.send(1).unwrap();
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[1])));
}

/// Strangers who connect and say nothing fill the door: parties come again until there is room, as long as they may
/// wait.
#[test]
fn parties_come_again_where_strangers_crowd_the_door() {
    let mut world = SumFixture::new(2, 0, 0, 2);
    let running = world.serve_all(LONG);
    let connect = |server: &crate::Server| std::net::TcpStream::connect(&server.address).unwrap();
    let crowd: Vec<_> = world.plan.servers().iter().flat_map(|server| (0..120).map(|_| connect(server))).collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let now = ShareSender::meet(&world.plan, &world.parties[0], std::time::Duration::ZERO).err().unwrap().to_string();
    assert!(now.contains("it may be overloaded"), "{now}");
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(700));
        drop(crowd);
    });
    (0..2).for_each(|party| world.send(party).unwrap());
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[0, 1])));
}

/// A key that is not in the plan is refused by the servers; a server that does not have the plan's key is refused by
/// everybody.
#[test]
fn wrong_keys_are_refused_on_both_sides() {
    let mut world = SumFixture::new(2, 0, 0, 2);
    let stranger = Key::generate().unwrap();
    let error = ShareSender::meet(&world.plan, &stranger, WAIT).err().unwrap();
    assert_eq!(error, Error::input("this key belongs to no party of the plan"));
    let running = world.serve_all(LONG);
    // A stranger who does not look into the plan first.
    let server = &world.plan.servers()[0];
    let met = Channel::connect(&stranger, &server.address, server.key, &server.name, Instant::now() + WAIT);
    assert!(met.and_then(|mut channel| channel.hello(world.plan.digest())).is_err());
    running[0].reaches(|step| matches!(step, ServerStep::Refused(why) if why.contains("no key of the plan")));
    // Somebody else sits at the second server's address: here the first server, which the plan has under another key.
    let swapped =
        Channel::connect(&world.parties[0], &server.address, world.server_key(1), "s1", Instant::now() + WAIT);
    let sentence = swapped.err().unwrap().to_string();
    assert!(sentence.contains("'s1' does not show the key that the plan has for it"), "{sentence}");
    // A server with a party's key, and a party with a server's.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(serve(&world.plan, &world.parties[0], listener, WAIT, &mut TestObserver::on()).is_err());
    assert!(ShareSender::meet(&world.plan, &world.servers[0], WAIT).is_err());
    // Plain text gets no answer.
    let mut plain = std::net::TcpStream::connect(&server.address).unwrap();
    std::io::Write::write_all(&mut plain, b"GET / HTTP/1.0\r\n\r\n").unwrap();
    (0..2).for_each(|party| world.send(party).unwrap());
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[0, 1])));
}

/// A party whose plan differs in anything, such as who the parties are, is refused with that reason before it sends.
#[test]
fn another_plan_is_refused() {
    let mut world = SumFixture::new(2, 0, 1, 2);
    let running = world.serve_all(WAIT);
    let server = &world.plan.servers()[0];
    let mut channel =
        Channel::connect(&world.parties[0], &server.address, server.key, &server.name, Instant::now() + LONG).unwrap();
    let sentence = channel.hello(&[7; 32]).unwrap_err().to_string();
    assert!(sentence.contains("has another plan"), "{sentence}");
    world.send(1).unwrap();
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[1])));
}

/// A server that tells each of the others another list: the digests differ, nobody charges, nobody opens.
#[test]
fn a_server_that_tells_two_lists_is_found_out() {
    let mut world = SumFixture::new(3, 0, 1, 3);
    let running: Vec<_> = [0, 1].map(|place| world.serve(place, LONG, TestObserver::on())).into();
    let liar = world.servers[2].clone();
    // The liar's own address answers nothing but hellos: it is met by the others.
    let (plan, key): (Plan, _) = (world.plan.clone(), liar.clone());
    let listener = world.listeners[2].take().unwrap();
    let keys = plan.servers().iter().map(|server| server.key).collect();
    let config = crate::channel::incoming(&key, keys).unwrap();
    std::thread::spawn(move || {
        let met = (0..2).filter_map(|_| {
            let (socket, _) = listener.accept().ok()?;
            let (mut channel, _) = Channel::accept(config.clone(), socket, std::time::Instant::now() + LONG)?;
            channel.welcome(plan.digest()).and_then(|()| channel.send(MessageKind::Ready, &[])).ok()?;
            Some(channel)
        });
        let met: Vec<Channel> = met.collect();
        std::thread::sleep(LONG);
        drop(met);
    });
    // The parties send to the two honest servers by hand.
    let mut lists: Vec<Vec<message::ShareEntry>> = vec![Vec::new()];
    for party in 0..3u32 {
        let shares =
            world.plan.sum().shares(&world.values(party as usize), &mut SumFixture::bits(party as usize)).unwrap();
        let sending = [party as u8; 16];
        for (place, share) in shares.iter().enumerate().take(2) {
            let mut channel = connect(&world, &world.parties[party as usize], place);
            channel.hello(world.plan.digest()).unwrap();
            channel.send(MessageKind::Share, &message::share(&sending, share)).unwrap();
            channel.expect(MessageKind::Stored, 0).unwrap();
        }
        lists[0].push((party, sending));
    }
    lists.push(lists[0][1..].to_vec());
    let mut channels = Vec::new();
    for (place, list) in lists.iter().enumerate() {
        let mut channel = connect(&world, &liar, place);
        channel.hello(world.plan.digest()).unwrap();
        channel.send(MessageKind::Arrived, &message::list(list)).unwrap();
        channel.send(MessageKind::Agreed, &message::agreement(world.plan.digest(), list)).unwrap();
        channels.push(channel);
    }
    for server in running {
        let sentence = server.stopped();
        assert!(sentence.contains("different lists") || sentence.contains("has gone"), "{sentence}");
    }
}

/// A server that says something twice, too early, in another form or in two connections.
#[test]
fn a_server_that_speaks_out_of_turn_stops_the_others() {
    let list = message::list(&[(0, [0; 16])]);
    type Said = Vec<(MessageKind, Vec<u8>)>;
    let said: Vec<Said> = vec![
        vec![(MessageKind::Arrived, list.clone()), (MessageKind::Arrived, list.clone())],
        vec![(MessageKind::Agreed, vec![0; 32])],
        vec![(MessageKind::Arrived, list.clone()), (MessageKind::Sum, vec![0; 24])],
        vec![(MessageKind::Arrived, message::list(&[(7, [0; 16])]))],
        vec![(MessageKind::Arrived, list.clone()), (MessageKind::Agreed, vec![0; 31])],
        vec![(MessageKind::Share, vec![0; 40])],
    ];
    for said in said {
        let mut world = SumFixture::new(2, 0, 1, 2);
        let honest = world.serve(0, LONG, TestObserver::on());
        let liar = world.servers[1].clone();
        let mut channel = connect(&world, &liar, 0);
        channel.hello(world.plan.digest()).unwrap();
        // A second connection of the same server is refused, and does not disturb the first.
        let mut second = connect(&world, &liar, 0);
        assert!(second.hello(world.plan.digest()).unwrap_err().to_string().contains("has connected before"));
        for (kind, body) in &said {
            channel.send(*kind, body).unwrap();
        }
        let sentence = honest.stopped();
        assert!(sentence.contains("server 's1' has gone"), "{sentence}");
    }
}
