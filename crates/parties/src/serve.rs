//! What a server runs: collect shares, agree on whose all servers have, charge, open together.
//!
//! | step | what a server does | what the others can know by then |
//! |---|---|---|
//! | collect | stores one share of each party, until all are there or the time is over; then takes no more | nothing |
//! | agree | tells the others whose shares it has; keeps those that all have; too few: stops | who answered |
//! | compare | sends the digest of the list, and stops unless all others have sent the same | who answered |
//! | charge | writes the charge down | who answered |
//! | open | tells its sum, hears the others' sums | the total |
//!
//! A server sends at most one sum, and only after its own charge. So where anybody knows the total, the charge of every
//! server stands in some ledger; and where a server stops before, nobody knows anything. Shares are kept only in
//! memory: a server that was killed has lost them.

mod hall;

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::message::{self, MessageKind, ShareEntry};
use crate::plan::Plan;
use hall::{ListenerState, ShareListener};
use scumble::parties::sum::Ring;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// What became of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenedSum {
    /// The parties that are in it, by their place in the plan.
    pub answered: Vec<usize>,
    /// The noisy total of each cell.
    pub totals: Vec<i64>,
}

/// How far a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerStep {
    /// Parties can send.
    Listening,
    /// A party's share is stored.
    Stored(usize),
    /// Somebody was refused, and why.
    Refused(String),
    /// No more shares are taken; this many are there.
    Closed(usize),
    /// All servers have the shares of this many parties, and the same list of them.
    Agreed(usize),
    /// The charge is durable.
    Charged,
    /// The own sum was sent to the other servers.
    Told,
}

/// Who looks on, and writes the charge down.
pub trait ServerObserver {
    /// Hears of each step.
    fn step(&mut self, step: &ServerStep);

    /// Makes the charge durable; an error stops the server before it opens anything.
    fn charge(&mut self, answered: &[usize]) -> Result<()>;
}

/// Runs a server on this socket; takes shares for at most `wait`, and waits as long again for the other servers.
///
/// # Guarantee
/// The own sum is sent once at most, to the servers of the plan, after `watch` has charged it, and only if all servers
/// have sent the same list of at least `parties − silent` parties. What comes back is the total of exactly these.
pub fn serve(
    plan: &Plan,
    key: &Key,
    listener: TcpListener,
    wait: Duration,
    watch: &mut dyn ServerObserver,
) -> Result<OpenedSum> {
    let own = plan.server_of(key.public()).ok_or_else(|| Error::input("this key belongs to no server of the plan"))?;
    let hall = ShareListener::open(plan, own, key, listener, wait)?;
    let server = ServerRun { plan, key, own, hall: &hall, wait };
    watch.step(&ServerStep::Listening);
    let mut others = Vec::new();
    let opened = server.run(watch, &mut others);
    if opened.is_err() {
        // Why is this server's own affair.
        others.iter_mut().for_each(|channel: &mut Channel| channel.refuse("it has stopped"));
    }
    opened
}

struct ServerRun<'a> {
    plan: &'a Plan,
    key: &'a Key,
    own: usize,
    hall: &'a ShareListener,
    wait: Duration,
}

impl ServerRun<'_> {
    fn run(&self, watch: &mut dyn ServerObserver, others: &mut Vec<Channel>) -> Result<OpenedSum> {
        self.collect(watch)?;
        let deadline = Instant::now() + self.wait;
        let arrived = self.hall.with(ListenerState::arrived);
        watch.step(&ServerStep::Closed(arrived.len()));
        self.meet(others, deadline)?;
        tell(others, MessageKind::Arrived, &message::list(&arrived))?;
        let lists = self.hall.wait(deadline, watch, "its list", |other| other.list.clone())?;
        let has_all = |one: &ShareEntry| lists.iter().all(|list| list.binary_search(one).is_ok());
        let agreed: Vec<ShareEntry> = arrived.into_iter().filter(has_all).collect();
        self.enough(&agreed)?;
        let digest = message::agreement(self.plan.digest(), &agreed);
        tell(others, MessageKind::Agreed, &digest)?;
        let theirs = self.hall.wait(deadline, watch, "the list that it agrees on", |other| other.agreed)?;
        if theirs.iter().any(|their| *their != digest) {
            return Err(Error::failed("the servers have different lists of parties; nothing was opened"));
        }
        let answered: Vec<usize> = agreed.iter().map(|(party, _)| *party as usize).collect();
        watch.step(&ServerStep::Agreed(answered.len()));
        watch.charge(&answered)?;
        watch.step(&ServerStep::Charged);
        let sum = self.hall.with(|state| state.sum(&agreed, self.plan.cells().len()));
        tell(others, MessageKind::Sum, &message::in_bytes(&sum))?;
        watch.step(&ServerStep::Told);
        let mut sums = self.hall.wait(deadline, watch, "its sum", |other| other.sum.clone())?;
        sums.push(sum);
        Ok(OpenedSum { answered, totals: self.plan.sum().opened(&sums)? })
    }

    /// Until all shares are there that all servers can have, or the time is over; from then on none is taken.
    fn collect(&self, watch: &mut dyn ServerObserver) -> Result<()> {
        let deadline = Instant::now() + self.wait;
        let parties = self.plan.parties().len() as u32;
        while !self.hall.close_if(watch, deadline, |state| state.has_all(parties))? {}
        Ok(())
    }

    /// Connects to the other servers, in the plan's order.
    fn meet(&self, others: &mut Vec<Channel>, deadline: Instant) -> Result<()> {
        for (_, server) in self.plan.servers().iter().enumerate().filter(|(place, _)| *place != self.own) {
            let mut channel = Channel::connect(self.key, &server.address, server.key, &server.name, deadline)?;
            let met = channel.hello(self.plan.digest());
            met.map_err(|error| Error::failed(format!("server '{}' cannot be reached: {error}", server.name)))?;
            others.push(channel);
        }
        Ok(())
    }

    fn enough(&self, agreed: &[ShareEntry]) -> Result<()> {
        let least = self.plan.sum().trust().least_answers();
        if agreed.len() as u64 >= least {
            return Ok(());
        }
        Err(Error::failed(format!(
            "only {} of {} parties have sent to all servers, and the plan asks for {least}; nothing was opened",
            agreed.len(),
            self.plan.parties().len()
        )))
    }
}

fn tell(others: &mut [Channel], kind: MessageKind, body: &[u8]) -> Result<()> {
    others.iter_mut().try_for_each(|channel| channel.send(kind, body))
}

/// Adds up the shares of these parties.
fn added<'a>(shares: impl Iterator<Item = &'a Vec<u64>>, cells: usize) -> Vec<u64> {
    let mut sum = vec![0; cells];
    shares.for_each(|share| Ring::WORDS.add(&mut sum, share));
    sum
}
