//! Servers and parties on loopback, each in a thread of its own: killed at every step, lied to, and spoken to by hand.

mod killed;
mod liars;
mod products;

use crate::error::{Error, Result};
use crate::key::{Key, PublicKey};
use crate::plan::Plan;
use crate::send::ShareSender;
use crate::serve::{OpenedSum, ServerObserver, ServerStep, serve};
use scumble::noise::InsecureSeededSource;
use scumble::parties::sum::Ring;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long is waited for those who never come.
const WAIT: Duration = Duration::from_secs(2);
/// How long is waited where everybody comes.
const LONG: Duration = Duration::from_secs(60);

/// Keys, sockets and a plan.
struct SumFixture {
    plan: Plan,
    servers: Vec<Arc<Key>>,
    listeners: Vec<Option<TcpListener>>,
    parties: Vec<Key>,
}

impl SumFixture {
    fn new(parties: usize, colluding: u64, silent: u64, servers: usize) -> Self {
        let keys = |number: usize| (0..number).map(|_| Key::generate().unwrap()).collect::<Vec<_>>();
        let (server_keys, party_keys) = (keys(servers), keys(parties));
        let listeners: Vec<TcpListener> = (0..servers).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let mut text = format!(
            "name = \"flu\"\nepsilon = 1\ncolluding = {colluding}\nsilent = {silent}\ncells = [\"a\", \"b\", \"c\"]\nattributes = [\"flu\"]\nlargest = 1000\n[owner]\ncells = 1\nby = 1\n"
        );
        for (place, (key, listener)) in server_keys.iter().zip(&listeners).enumerate() {
            let address = listener.local_addr().unwrap();
            let _ =
                write!(text, "[[server]]\nname = \"s{place}\"\naddress = \"{address}\"\nkey = \"{}\"\n", key.public());
        }
        for (place, key) in party_keys.iter().enumerate() {
            let _ = write!(text, "[[party]]\nname = \"p{place}\"\nkey = \"{}\"\n", key.public());
        }
        Self {
            plan: Plan::read(&text).unwrap(),
            servers: server_keys.into_iter().map(Arc::new).collect(),
            listeners: listeners.into_iter().map(Some).collect(),
            parties: party_keys,
        }
    }

    /// Begins a server.
    fn serve(&mut self, place: usize, wait: Duration, look: TestObserver) -> ServerThread {
        let (plan, key) = (self.plan.clone(), self.servers[place].clone());
        let listener = self.listeners[place].take().unwrap();
        let (shown, charged) = (look.steps.clone(), look.charged.clone());
        let thread = std::thread::spawn(move || {
            let mut look = look;
            serve(&plan, &key, listener, wait, &mut look)
        });
        ServerThread { thread, steps: shown, charged }
    }

    fn serve_all(&mut self, wait: Duration) -> Vec<ServerThread> {
        (0..self.servers.len()).map(|place| self.serve(place, wait, TestObserver::on())).collect()
    }

    /// What a party has: its place in each cell, so that a total tells whose numbers are in it.
    fn values(&self, party: usize) -> Vec<u64> {
        vec![party as u64 + 1, 10 * party as u64, 100]
    }

    fn bits(party: usize) -> InsecureSeededSource {
        InsecureSeededSource::new(1000 + party as u64)
    }

    fn send(&self, party: usize) -> Result<()> {
        ShareSender::meet(&self.plan, &self.parties[party], LONG)?.send(&self.values(party), &mut Self::bits(party))
    }

    /// What must come out, to the last bit, if these parties are in the sum: their noise is that of their seeds.
    fn expected(&self, parties: &[usize]) -> OpenedSum {
        let mut servers = vec![vec![0; 3]; self.servers.len()];
        for party in parties {
            let shares = self.plan.sum().shares(&self.values(*party), &mut Self::bits(*party)).unwrap();
            servers.iter_mut().zip(&shares).for_each(|(sum, share)| Ring::WORDS.add(sum, share));
        }
        OpenedSum { answered: parties.to_vec(), totals: self.plan.sum().opened(&servers).unwrap() }
    }

    fn server_key(&self, place: usize) -> PublicKey {
        self.servers[place].public()
    }
}

/// Whether a server dies at a step.
type CrashCondition = fn(&ServerStep) -> bool;

/// Looks on, writes charges down, and perhaps dies at a step or refuses to charge.
struct TestObserver {
    steps: Arc<Mutex<Vec<ServerStep>>>,
    charged: Arc<Mutex<Option<Vec<usize>>>>,
    dies: CrashCondition,
    refuses: bool,
}

impl TestObserver {
    fn on() -> Self {
        Self { steps: Arc::default(), charged: Arc::default(), dies: |_| false, refuses: false }
    }

    fn dying(dies: CrashCondition) -> Self {
        Self { dies, ..Self::on() }
    }
}

impl ServerObserver for TestObserver {
    fn step(&mut self, step: &ServerStep) {
        self.steps.lock().unwrap().push(step.clone());
        assert!(!(self.dies)(step), "killed at {step:?}");
    }

    fn charge(&mut self, answered: &[usize]) -> Result<()> {
        if self.refuses {
            return Err(Error::failed("the budget is spent"));
        }
        *self.charged.lock().unwrap() = Some(answered.to_vec());
        Ok(())
    }
}

/// A server that runs.
struct ServerThread {
    thread: JoinHandle<Result<OpenedSum>>,
    steps: Arc<Mutex<Vec<ServerStep>>>,
    charged: Arc<Mutex<Option<Vec<usize>>>>,
}

impl ServerThread {
    /// What came of it; nothing if it was killed.
    fn end(self) -> (Option<Result<OpenedSum>>, Option<Vec<usize>>) {
        let end = self.thread.join().ok();
        (end, self.charged.lock().unwrap().clone())
    }

    fn opened(self) -> OpenedSum {
        self.end().0.unwrap().unwrap()
    }

    /// The sentence of a server that has opened nothing and charged nothing.
    fn stopped(self) -> String {
        let (end, charged) = self.end();
        assert_eq!(charged, None, "nothing is charged where nothing is opened");
        end.unwrap().unwrap_err().to_string()
    }

    /// Waits until a step was taken.
    fn reaches(&self, is_step: impl Fn(&ServerStep) -> bool) {
        let deadline = Instant::now() + LONG;
        while !self.steps.lock().unwrap().iter().any(&is_step) {
            assert!(Instant::now() < deadline, "{:?}", self.steps);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn everybody_answers_and_everybody_opens_the_same() {
    for servers in [2, 3] {
        let mut world = SumFixture::new(4, 1, 1, servers);
        let running = world.serve_all(LONG);
        (0..4).for_each(|party| world.send(party).unwrap());
        for server in running {
            let (end, charged) = server.end();
            assert_eq!(end.unwrap().unwrap(), world.expected(&[0, 1, 2, 3]));
            assert_eq!(charged, Some(vec![0, 1, 2, 3]));
        }
    }
}

/// Parties begin before the servers do, and all at once.
#[test]
fn the_order_of_beginnings_does_not_matter() {
    let mut world = SumFixture::new(6, 1, 0, 3);
    let expected = world.expected(&[0, 1, 2, 3, 4, 5]);
    let last = world.listeners[2].take().unwrap();
    std::thread::scope(|scope| {
        let running: Vec<ServerThread> = (0..2).map(|place| world.serve(place, LONG, TestObserver::on())).collect();
        let held = &world;
        let parties: Vec<_> = (0..6).map(|party| scope.spawn(move || held.send(party))).collect();
        std::thread::sleep(Duration::from_millis(300));
        let (plan, key) = (held.plan.clone(), held.servers[2].clone());
        let third = scope.spawn(move || serve(&plan, &key, last, LONG, &mut TestObserver::on()));
        parties.into_iter().for_each(|party| party.join().unwrap().unwrap());
        assert_eq!(third.join().unwrap().unwrap(), expected);
        running.into_iter().for_each(|server| assert_eq!(server.opened(), expected));
    });
}

/// One party may be silent: the others' sum is opened when the time is over, and it is exactly theirs.
#[test]
fn the_sum_of_those_who_answered_is_opened() {
    let mut world = SumFixture::new(4, 1, 1, 2);
    let running = world.serve_all(WAIT);
    [0, 2, 3].into_iter().for_each(|party| world.send(party).unwrap());
    running.into_iter().for_each(|server| assert_eq!(server.opened(), world.expected(&[0, 2, 3])));
}

#[test]
fn fewer_than_planned_are_not_opened() {
    let mut world = SumFixture::new(4, 1, 1, 2);
    let running = world.serve_all(WAIT);
    [1, 3].into_iter().for_each(|party| world.send(party).unwrap());
    stop_for(running, "only 2 of 4 parties have sent to all servers, and the plan asks for 3");
}

/// All stop, without a charge; the first one says why, and the others perhaps only that it has gone.
fn stop_for(running: Vec<ServerThread>, why: &str) {
    let sentences: Vec<String> = running.into_iter().map(ServerThread::stopped).collect();
    assert!(sentences.iter().any(|sentence| sentence.contains(why)), "{sentences:?}");
    assert!(sentences.iter().all(|sentence| sentence.contains("nothing was opened")), "{sentences:?}");
}
