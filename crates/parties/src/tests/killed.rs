//! Servers and parties that die at every step: nothing is opened, or exactly what the plan promised.

use super::{CrashCondition, LONG, SumFixture, TestObserver, WAIT, stop_for};
use crate::channel::Channel;
use crate::message::{self, MessageKind};
use crate::send::ShareSender;
use crate::serve::ServerStep;
use std::time::Instant;

/// A server dies at each of its steps. If anybody opens a sum, it is the whole one, and then every server has charged,
/// the dead one too.
#[test]
fn a_server_that_dies_opens_nothing_or_has_charged() {
    let steps: [(&str, CrashCondition); 6] = [
        ("listening", |step| *step == ServerStep::Listening),
        ("stored", |step| matches!(step, ServerStep::Stored(_))),
        ("closed", |step| matches!(step, ServerStep::Closed(_))),
        ("agreed", |step| matches!(step, ServerStep::Agreed(_))),
        ("charged", |step| *step == ServerStep::Charged),
        ("told", |step| *step == ServerStep::Told),
    ];
    std::thread::scope(|scope| {
        for (name, dies) in steps {
            scope.spawn(move || dies_at(name, dies, 2));
            scope.spawn(move || dies_at(name, dies, 3));
        }
    });
}

fn dies_at(name: &str, dies: CrashCondition, servers: usize) {
    let mut world = SumFixture::new(3, 0, 1, servers);
    let dying = world.serve(0, WAIT, TestObserver::dying(dies));
    let others: Vec<_> = (1..servers).map(|place| world.serve(place, WAIT, TestObserver::on())).collect();
    for party in 0..3 {
        // A party that meets the dead server fails, and has sent nothing that can be opened.
        let sender = ShareSender::meet(&world.plan, &world.parties[party], WAIT / 4);
        let _ = sender.and_then(|sender| sender.send(&world.values(party), &mut SumFixture::bits(party)));
    }
    let (end, dead_charged) = dying.end();
    assert!(end.is_none(), "it was killed at {name}");
    let expected = world.expected(&[0, 1, 2]);
    for server in others {
        let (end, charged) = server.end();
        match end.unwrap() {
            Ok(opened) => {
                assert_eq!(opened, expected, "{name}");
                assert!(charged.is_some() && dead_charged.is_some(), "{name}: opened without a charge");
                assert_eq!(name, "told", "nothing is open before all have told their sums");
            }
            Err(error) => assert!(name != "told", "{name}: {error}"),
        }
    }
}

/// A party dies at each of its steps: it is in the sum of all servers or of none.
#[test]
fn a_party_that_dies_is_in_the_sum_or_not() {
    std::thread::scope(|scope| {
        // How far it comes with each of the two servers: not met, met, or its share is stored.
        for far in [[0, 0], [1, 1], [2, 1], [2, 2]] {
            scope.spawn(move || party_dies(far));
        }
    });
}

fn party_dies(far: [u32; 2]) {
    let mut world = SumFixture::new(3, 0, 1, 2);
    // Four of these run at once, and those who live must be heard in time.
    let running = world.serve_all(3 * WAIT);
    [0, 1].into_iter().for_each(|party| world.send(party).unwrap());
    let shares = world.plan.sum().shares(&world.values(2), &mut SumFixture::bits(2)).unwrap();
    for (place, share) in shares.iter().enumerate().filter(|(place, _)| far[*place] > 0) {
        let server = &world.plan.servers()[place];
        let met = Channel::connect(&world.parties[2], &server.address, server.key, &server.name, Instant::now() + LONG);
        let mut channel = met.unwrap();
        channel.hello(world.plan.digest()).unwrap();
        if far[place] == 2 {
            channel.send(MessageKind::Share, &message::share(&[9; 16], share)).unwrap();
            // The answer is not waited for, but the message must be out before the process is gone.
            running[place].reaches(|step| *step == ServerStep::Stored(2));
        }
    }
    let expected = world.expected(if far == [2, 2] { &[0, 1, 2] } else { &[0, 1] });
    running.into_iter().for_each(|server| assert_eq!(server.opened(), expected, "{far:?}"));
}

/// The same where nobody may be silent: then a party that dies stops everybody, before any charge.
#[test]
fn where_all_are_needed_a_dead_party_stops_everybody() {
    let mut world = SumFixture::new(3, 1, 0, 2);
    let running = world.serve_all(WAIT);
    [0, 1].into_iter().for_each(|party| world.send(party).unwrap());
    let half = ShareSender::meet(&world.plan, &world.parties[2], LONG).unwrap();
    drop(half);
    stop_for(running, "only 2 of 3 parties");
}

/// A ledger that refuses stops its server, and with it all others: none of them can open alone.
#[test]
fn a_refused_charge_opens_nothing() {
    let mut world = SumFixture::new(2, 0, 0, 2);
    let refusing = world.serve(0, WAIT, TestObserver { refuses: true, ..TestObserver::on() });
    let other = world.serve(1, WAIT, TestObserver::on());
    (0..2).for_each(|party| world.send(party).unwrap());
    assert!(refusing.stopped().contains("the budget is spent"));
    let sentence = other.end().0.unwrap().unwrap_err().to_string();
    assert!(sentence.contains("server 's0' has gone") && sentence.contains("nothing was opened here"), "{sentence}");
}
