//! Where a server meets everybody who connects: what has come in, under one lock.

use super::{ServerObserver, ServerStep, added};
use crate::channel::{Channel, HANDSHAKE, incoming};
use crate::error::{Error, Result};
use crate::key::{Key, PublicKey};
use crate::message::{self, MessageKind, SendingId, ShareEntry};
use crate::plan::Plan;
use rustls::ServerConfig;
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What has come in.
#[derive(Default)]
pub(super) struct ListenerState {
    closed: bool,
    shares: BTreeMap<u32, (SendingId, Vec<u64>)>,
    others: BTreeMap<usize, PeerMessages>,
    notes: Vec<ServerStep>,
}

/// What another server has said.
#[derive(Default)]
pub(super) struct PeerMessages {
    pub(super) list: Option<Vec<ShareEntry>>,
    pub(super) agreed: Option<[u8; 32]>,
    pub(super) sum: Option<Vec<u64>>,
    trouble: Option<String>,
}

impl ListenerState {
    /// Whose shares are there.
    pub(super) fn arrived(&self) -> Vec<ShareEntry> {
        self.shares.iter().map(|(party, (sending, _))| (*party, *sending)).collect()
    }

    /// Whether all parties that can still be on every server's list have sent.
    pub(super) fn has_all(&self, parties: u32) -> bool {
        let lists: Vec<&Vec<ShareEntry>> = self.others.values().filter_map(|other| other.list.as_ref()).collect();
        // Lists are in the plan's order.
        let can_be = |party: u32| lists.iter().all(|list| list.binary_search_by_key(&party, |(one, _)| *one).is_ok());
        match lists.is_empty() {
            true => self.shares.len() == parties as usize,
            false => (0..parties).all(|party| self.shares.contains_key(&party) || !can_be(party)),
        }
    }

    /// The sum of the agreed shares.
    pub(super) fn sum(&self, agreed: &[ShareEntry], cells: usize) -> Vec<u64> {
        added(agreed.iter().filter_map(|(party, _)| self.shares.get(party)).map(|(_, share)| share), cells)
    }

    /// Why this party's share is not taken, if it is not.
    fn refusal(&self, party: u32) -> Option<&'static str> {
        match self.closed {
            _ if self.shares.contains_key(&party) => {
                Some("this party has sent already, and what was sent first counts")
            }
            true => Some("no more shares are accepted: the time is over"),
            false => None,
        }
    }

    /// Takes in what another server says: each message once, in this order.
    fn heard(&mut self, server: usize, kind: MessageKind, body: &[u8], plan: &Plan) -> Result<()> {
        let other = self.others.entry(server).or_default();
        let PeerMessages { list, agreed, sum, .. } = other;
        match kind {
            MessageKind::Arrived if list.is_none() => *list = Some(message::read_list(body, plan.parties().len())?),
            MessageKind::Agreed if list.is_some() && agreed.is_none() => {
                *agreed = Some(body.try_into().map_err(|_| message::wrong())?);
            }
            MessageKind::Sum if agreed.is_some() && sum.is_none() => {
                *sum = Some(message::words(body, plan.cells().len())?)
            }
            MessageKind::Refused => return Err(Error::failed(String::from_utf8_lossy(body).into_owned())),
            _ => return Err(Error::failed("it sent something twice or out of order")),
        }
        Ok(())
    }
}

/// The listening socket with all that came through it.
pub(super) struct ShareListener {
    shared: Arc<ListenerContext>,
}

struct ListenerContext {
    plan: Plan,
    own: usize,
    wait: Duration,
    state: Mutex<ListenerState>,
    changed: Condvar,
    stopped: AtomicBool,
    guests: AtomicUsize,
}

/// How often the door is looked at: nobody waits longer to be met.
const LOOK: Duration = Duration::from_millis(5);
/// This many more than the plan has may be at the door at once; others are sent away unheard.
const MORE_GUESTS: usize = 64;

impl ShareListener {
    /// Begins to take in shares and messages.
    pub(super) fn open(plan: &Plan, own: usize, key: &Key, listener: TcpListener, wait: Duration) -> Result<Self> {
        let keys: Vec<PublicKey> = plan.parties().iter().map(|party| party.key).collect();
        let keys = keys.into_iter().chain(plan.servers().iter().map(|server| server.key)).collect();
        let config = incoming(key, keys)?;
        listener.set_nonblocking(true).map_err(|error| Error::failed(error.to_string()))?;
        let shared = Arc::new(ListenerContext {
            plan: plan.clone(),
            own,
            wait,
            state: Mutex::default(),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
            guests: AtomicUsize::new(0),
        });
        let held = shared.clone();
        std::thread::spawn(move || held.keep_the_door(&listener, &config));
        Ok(Self { shared })
    }

    /// Looks at what has come in.
    pub(super) fn with<T>(&self, look: impl FnOnce(&ListenerState) -> T) -> T {
        look(&self.shared.lock())
    }

    /// Waits a little; closes, if `done` or the deadline is over, and says whether it did.
    pub(super) fn close_if(
        &self,
        watch: &mut dyn ServerObserver,
        deadline: Instant,
        done: impl Fn(&ListenerState) -> bool,
    ) -> Result<bool> {
        let mut state = self.shared.lock();
        if done(&state) || Instant::now() >= deadline {
            state.closed = true;
            self.tell(state, watch)?;
            return Ok(true);
        }
        let state = self.shared.pause(state, deadline);
        self.tell(state, watch)?;
        Ok(false)
    }

    /// Waits until every other server has said something, in the plan's order; an error where one has gone, or says
    /// nothing for too long.
    pub(super) fn wait<T>(
        &self,
        deadline: Instant,
        watch: &mut dyn ServerObserver,
        what: &str,
        said: impl Fn(&PeerMessages) -> Option<T>,
    ) -> Result<Vec<T>> {
        let (plan, own) = (&self.shared.plan, self.shared.own);
        let places = || (0..plan.servers().len()).filter(|place| *place != own);
        loop {
            let state = self.shared.lock();
            let found: Vec<Option<T>> = places().map(|place| state.others.get(&place).and_then(&said)).collect();
            let missing = places().zip(&found).find(|(_, found)| found.is_none()).map(|(place, _)| place);
            let state = match missing {
                Some(_) => self.shared.pause(state, deadline),
                None => state,
            };
            self.tell(state, watch)?;
            let Some(missing) = missing else { return Ok(found.into_iter().flatten().collect()) };
            if Instant::now() >= deadline {
                let name = &plan.servers()[missing].name;
                return Err(Error::failed(format!(
                    "server '{name}' has not sent {what} in time; nothing was opened here"
                )));
            }
        }
    }

    /// Passes on what has happened, without the lock; an error where another server has failed before it sent its sum.
    fn tell(&self, mut state: MutexGuard<'_, ListenerState>, watch: &mut dyn ServerObserver) -> Result<()> {
        let notes = std::mem::take(&mut state.notes);
        let failed = state.others.iter().find(|(_, other)| other.trouble.is_some() && other.sum.is_none());
        let failed = failed.map(|(place, other)| (*place, other.trouble.clone().unwrap_or_default()));
        drop(state);
        notes.iter().for_each(|note| watch.step(note));
        match failed {
            None => Ok(()),
            Some((place, why)) => {
                let name = &self.shared.plan.servers()[place].name;
                Err(Error::failed(format!("server '{name}' has gone ({why}); nothing was opened here")))
            }
        }
    }
}

impl Drop for ShareListener {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }
}

impl ListenerContext {
    fn lock(&self) -> MutexGuard<'_, ListenerState> {
        // A thread that panicked has changed nothing by halves: every change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until something changes, or for a moment.
    fn pause<'a>(&'a self, state: MutexGuard<'a, ListenerState>, deadline: Instant) -> MutexGuard<'a, ListenerState> {
        let moment = deadline.saturating_duration_since(Instant::now()).min(Duration::from_millis(200));
        match self.changed.wait_timeout(state, moment) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut ListenerState) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    fn note(&self, step: ServerStep) {
        self.change(|state| state.notes.push(step));
    }

    fn keep_the_door(self: &Arc<Self>, listener: &TcpListener, config: &Arc<ServerConfig>) {
        let most = self.plan.parties().len() + self.plan.servers().len() + MORE_GUESTS;
        while !self.stopped.load(Ordering::Relaxed) {
            let Ok((socket, _)) = listener.accept() else {
                std::thread::sleep(LOOK);
                continue;
            };
            if socket.set_nonblocking(false).is_err() || self.guests.load(Ordering::Relaxed) >= most {
                continue;
            }
            self.guests.fetch_add(1, Ordering::Relaxed);
            let (shared, config) = (self.clone(), config.clone());
            std::thread::spawn(move || {
                shared.attend(config, socket);
                shared.guests.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    fn attend(&self, config: Arc<ServerConfig>, socket: TcpStream) {
        let from = socket.peer_addr().map_or_else(|_| "somebody".to_string(), |address| address.to_string());
        let Some((mut channel, key)) = Channel::accept(config, socket, Instant::now() + HANDSHAKE) else {
            return self.note(ServerStep::Refused(format!("{from} shows no key of the plan")));
        };
        let (name, attended) = match (self.plan.party_of(key), self.plan.server_of(key)) {
            (Some(party), _) => (&self.plan.parties()[party].name, self.attend_party(&mut channel, party)),
            (None, Some(server)) => (&self.plan.servers()[server].name, self.attend_server(&mut channel, server)),
            (None, None) => return,
        };
        if let Err(error) = attended {
            self.note(ServerStep::Refused(format!("'{name}': {error}")));
        }
    }

    fn attend_party(&self, channel: &mut Channel, party: usize) -> Result<()> {
        let (number, cells) = (party as u32, self.plan.cells().len());
        channel.welcome(self.plan.digest())?;
        // Nobody is spoken to under the lock.
        let refused = self.lock().refusal(number);
        if let Some(why) = refused {
            channel.refuse(why);
            return Err(Error::failed(why));
        }
        channel.send(MessageKind::Ready, &[])?;
        // It may be waiting for another server.
        channel.patience(Some(self.wait.max(Duration::from_secs(1))))?;
        let body = channel.expect(MessageKind::Share, 16 + 8 * cells)?;
        let (sending, share) = message::read_share(&body, cells)?;
        let refused = self.change(|state| {
            let refused = state.refusal(number);
            if refused.is_none() {
                state.shares.insert(number, (sending, share));
                state.notes.push(ServerStep::Stored(party));
            }
            refused
        });
        match refused {
            None => channel.send(MessageKind::Stored, &[]),
            Some(why) => {
                channel.refuse(why);
                Err(Error::failed(why))
            }
        }
    }

    fn attend_server(&self, channel: &mut Channel, server: usize) -> Result<()> {
        channel.welcome(self.plan.digest())?;
        let is_new = self.change(|state| {
            let is_new = server != self.own && !state.others.contains_key(&server);
            if is_new {
                state.others.insert(server, PeerMessages::default());
            }
            is_new
        });
        if !is_new {
            let why = "this server has connected before, and what it sent first counts";
            channel.refuse(why);
            return Err(Error::failed(why));
        }
        let heard = self.hear(channel, server);
        if let Err(error) = &heard {
            self.change(|state| state.others.entry(server).or_default().trouble = Some(error.to_string()));
        }
        // A server that has sent its sum may leave.
        if self.lock().others.get(&server).is_some_and(|other| other.sum.is_some()) { Ok(()) } else { heard }
    }

    fn hear(&self, channel: &mut Channel, server: usize) -> Result<()> {
        channel.send(MessageKind::Ready, &[])?;
        channel.patience(None)?;
        let most = (20 * self.plan.parties().len()).max(8 * self.plan.cells().len()).max(1000);
        loop {
            let (kind, body) = channel.receive(most)?;
            self.change(|state| state.heard(server, kind, &body, &self.plan))?;
        }
    }
}
