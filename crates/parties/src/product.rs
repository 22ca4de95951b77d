//! The inner product of two parties' bits: the first connects, the second listens; each charges its own ledger before
//! it looks at its bits.

use crate::channel::{Channel, HANDSHAKE, PATIENCE, incoming};
use crate::error::{Error, Result};
use crate::key::Key;
use crate::message::{MessageKind, wrong};
use crate::plan::{self, Party};
use rustls::ServerConfig;
use scumble::parties::inner_product::InnerProduct;
use scumble::quantity::Epsilon;
use scumble::{AttributeSet, BitSource, Event};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use toml::{Table, Value};

/// Which of the two somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends randomized bits and learns the estimate.
    First,
    /// Answers.
    Second,
}

/// Who multiplies what, at which costs: a public file that both have.
#[derive(Debug, Clone)]
pub struct ProductPlan {
    name: String,
    owners: usize,
    first: (Party, AttributeSet),
    second: (Party, AttributeSet),
    address: String,
    product: InnerProduct,
    digest: [u8; 32],
}

/// More bits do not fit into one message.
const MOST_OWNERS: i64 = 1 << 33;

impl ProductPlan {
    /// Reads a plan from a file.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| Error::input(format!("{shown}: {error}")))?;
        Self::read(&text).map_err(|error| Error::input(format!("{shown}: {error}")))
    }

    /// Reads a plan.
    pub fn read(text: &str) -> Result<Self> {
        let table = plan::parse(text)?;
        plan::only(&table, &["name", "owners", "first", "second"], "the plan")?;
        let owners =
            table.get("owners").and_then(Value::as_integer).filter(|owners| (1..=MOST_OWNERS).contains(owners));
        let owners = owners.ok_or_else(|| {
            Error::input(format!("owners must be the number of bits that each of the two has, from 1 to {MOST_OWNERS}"))
        })?;
        let (first, first_cost, _) = side(&table, "first")?;
        let (second, second_cost, address) = side(&table, "second")?;
        if first.0.key == second.0.key || first.0.name == second.0.name {
            return Err(Error::input("[first] and [second] need different names and keys"));
        }
        let missing = || Error::input("[second] needs an address with host and port: the first party connects to it");
        Ok(Self {
            name: plan::file_name(&table)?,
            owners: owners as usize,
            first,
            second,
            address: address.ok_or_else(missing)?,
            product: InnerProduct::new(first_cost, second_cost)?,
            digest: Sha256::digest(text.as_bytes()).into(),
        })
    }

    /// A word for files and ledgers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many bits each of the two has.
    pub fn owners(&self) -> usize {
        self.owners
    }

    /// Where the second party listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// SHA-256 of the file.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The mathematics.
    pub fn product(&self) -> &InnerProduct {
        &self.product
    }

    /// What somebody's part charges to the own ledger.
    pub fn events(&self, role: Role) -> Result<Vec<Event>> {
        Ok(match role {
            Role::First => self.product.events_first(&self.first.1)?,
            Role::Second => self.product.events_second(&self.second.1)?,
        })
    }

    /// Who has this key.
    pub fn role_of(&self, key: &Key) -> Result<Role> {
        match key.public() {
            key if key == self.first.0.key => Ok(Role::First),
            key if key == self.second.0.key => Ok(Role::Second),
            _ => Err(Error::input("this key belongs to neither the first nor the second party of the plan")),
        }
    }

    /// The name of the other one.
    pub fn other(&self, role: Role) -> &str {
        match role {
            Role::First => &self.second.0.name,
            Role::Second => &self.first.0.name,
        }
    }

    fn check(&self, bits: &[bool]) -> Result<()> {
        match bits.len() == self.owners {
            true => Ok(()),
            false => {
                Err(Error::input(format!("there are {} bits, and the plan has {} owners", bits.len(), self.owners)))
            }
        }
    }
}

type ProductSide = ((Party, AttributeSet), Epsilon, Option<String>);

fn side(table: &Table, key: &str) -> Result<ProductSide> {
    let place = format!("[{key}]");
    let missing = || Error::input(format!("the plan needs a table {place}"));
    let side = table.get(key).and_then(Value::as_table).ok_or_else(missing)?;
    let known: &[&str] = match key {
        "second" => &["name", "key", "epsilon", "attributes", "address"],
        _ => &["name", "key", "epsilon", "attributes"],
    };
    plan::only(side, known, &place)?;
    let in_place = |error: Error| Error::input(format!("{place}: {error}"));
    let epsilon = plan::exact(side, "epsilon").map_err(in_place)?;
    let address = side.get("address").map(|_| plan::address(&place, side)).transpose()?;
    let attributes = plan::attributes(side).map_err(in_place)?;
    Ok(((plan::named(&place, side)?, attributes), Epsilon::new(epsilon.to_f64_down())?, address))
}

/// The first party, which has met the second; nothing has been sent.
pub struct FirstParty<'a> {
    plan: &'a ProductPlan,
    channel: Channel,
    wait: Duration,
}

impl<'a> FirstParty<'a> {
    /// Meets the second party, which may begin until `wait` is over.
    pub fn meet(plan: &'a ProductPlan, key: &Key, wait: Duration) -> Result<Self> {
        let (second, _) = &plan.second;
        let deadline = Instant::now() + wait;
        let mut channel = Channel::connect(key, &plan.address, second.key, &second.name, deadline)?;
        channel.patience(Some(deadline.saturating_duration_since(Instant::now()).clamp(LAST_MOMENT, PATIENCE)))?;
        let met = channel.hello(&plan.digest);
        met.map_err(|error| Error::failed(format!("'{}' was reached and nothing was sent: {error}", second.name)))?;
        Ok(Self { plan, channel, wait })
    }

    /// Sends the randomized bits; gives the answer.
    pub fn multiply(mut self, x: &[bool], bits: &mut dyn BitSource) -> Result<i64> {
        self.plan.check(x)?;
        let message = self.plan.product.message(x, bits);
        self.channel.send(MessageKind::Bits, &packed(&message))?;
        self.channel.patience(Some(self.wait.max(Duration::from_secs(1))))?;
        let body = self.channel.expect(MessageKind::Answer, 8)?;
        Ok(i64::from_le_bytes(body.as_slice().try_into().map_err(|_| wrong())?))
    }
}

/// The second party, which has the first one's bits; nothing has been answered.
pub struct SecondParty<'a> {
    plan: &'a ProductPlan,
    channel: Channel,
    message: Vec<bool>,
}

impl<'a> SecondParty<'a> {
    /// Waits for the first party's bits until `wait` is over. Every connection has a thread of its own, so
    /// strangers do not delay the first party.
    pub fn listen(plan: &'a ProductPlan, key: &Key, listener: &TcpListener, wait: Duration) -> Result<Self> {
        let deadline = Instant::now() + wait;
        let mut door = GuestListener::open(plan, key, listener, deadline)?;
        loop {
            match door.next() {
                Some(GuestOutcome::Sent(channel, message)) => return Ok(Self { plan, channel, message }),
                Some(GuestOutcome::Failed(error)) => return Err(error),
                Some(GuestOutcome::Met) => door.met = Some(Instant::now()),
                Some(GuestOutcome::Unready(error)) => door.unready = Some(error),
                None if Instant::now() < door.end() => {}
                None => return Err(door.in_vain(&plan.first.0.name)),
            }
        }
    }

    /// Answers.
    pub fn answer(mut self, y: &[bool], bits: &mut dyn BitSource) -> Result<()> {
        self.plan.check(y)?;
        let answer = self.plan.product.answer(y, &self.message, bits)?;
        self.channel.send(MessageKind::Answer, &answer.to_le_bytes())
    }
}

/// The outcome of a connection that has shown the first party's key; other connections are not reported.
enum GuestOutcome {
    /// Has another plan, or left before it said which.
    Unready(Error),
    /// Has the same plan.
    Met,
    /// The first party has sent something else than its bits.
    Failed(Error),
    /// The first party has sent its bits.
    Sent(Channel, Vec<bool>),
}

/// Where the first party is met, and everybody else who finds the address.
struct GuestListener<'a> {
    listener: &'a TcpListener,
    config: Arc<ServerConfig>,
    plan: [u8; 32],
    owners: usize,
    deadline: Instant,
    /// The last few who came, oldest first.
    waiting: VecDeque<PendingConnection>,
    sender: Sender<GuestOutcome>,
    guests: Receiver<GuestOutcome>,
    /// How many have come.
    came: usize,
    /// When the first party was met.
    met: Option<Instant>,
    unready: Option<Error>,
}

/// Somebody who has come.
struct PendingConnection {
    socket: TcpStream,
    from: IpAddr,
    /// Whether they have shown the key.
    is_known: Arc<AtomicBool>,
}

/// The connection that a new one from `from` replaces: the oldest one from the address that holds most places, so that
/// a flood from one address pushes out itself. A connection that has shown the key is never replaced.
fn pushed_out(waiting: &VecDeque<PendingConnection>, from: IpAddr) -> Option<usize> {
    let unknown = || waiting.iter().enumerate().filter(|(_, guest)| !guest.is_known.load(Ordering::Relaxed));
    let held = |from: IpAddr| unknown().filter(|(_, guest)| guest.from == from).count();
    let most = unknown().map(|(_, guest)| held(guest.from)).max()?;
    // Of several that hold as many, the one that would hold more than the others.
    let crowd = if held(from) == most { Some(from) } else { None };
    unknown()
        .find(|(_, guest)| held(guest.from) == most && crowd.is_none_or(|crowd| crowd == guest.from))
        .map(|(at, _)| at)
}

/// How often new connections are accepted: nobody waits longer.
const LOOK: Duration = Duration::from_millis(5);
/// So many connections are heard at once. The next one replaces the oldest one of the address that holds most places,
/// because a handshake takes no time.
const MOST_GUESTS: usize = 64;
/// How long a first party that connects at the end of the time has to send its bits.
const LAST_MOMENT: Duration = Duration::from_secs(1);

impl<'a> GuestListener<'a> {
    fn open(plan: &ProductPlan, key: &Key, listener: &'a TcpListener, deadline: Instant) -> Result<Self> {
        let config = incoming(key, vec![plan.first.0.key])?;
        listener.set_nonblocking(true).map_err(|error| Error::failed(error.to_string()))?;
        let (sender, guests) = channel();
        let (plan, owners, waiting) = (plan.digest, plan.owners, VecDeque::new());
        let (came, met, unready) = (0, None, None);
        Ok(Self { listener, config, plan, owners, deadline, waiting, sender, guests, came, met, unready })
    }

    /// A first party that connects at the last moment still has one more moment to send.
    fn end(&self) -> Instant {
        self.met.map_or(self.deadline, |met| self.deadline.max(met + LAST_MOMENT))
    }

    /// Accepts waiting connections. Returns the outcome of one of them, or nothing after a moment.
    fn next(&mut self) -> Option<GuestOutcome> {
        // However many are waiting, the time is checked now and then.
        for _ in 0..MOST_GUESTS {
            let Ok((socket, address)) = self.listener.accept() else { break };
            self.let_in(socket, address.ip().to_canonical());
        }
        self.guests.recv_timeout(LOOK).ok()
    }

    fn let_in(&mut self, socket: TcpStream, from: IpAddr) {
        let (Ok(()), Ok(held)) = (socket.set_nonblocking(false), socket.try_clone()) else { return };
        self.came += 1;
        if self.waiting.len() >= MOST_GUESTS {
            let oldest = pushed_out(&self.waiting, from).and_then(|place| self.waiting.remove(place));
            let Some(oldest) = oldest else { return };
            let _ = oldest.socket.shutdown(Shutdown::Both);
        }
        let is_known = Arc::new(AtomicBool::new(false));
        self.waiting.push_back(PendingConnection { socket: held, from, is_known: is_known.clone() });
        let (config, plan, owners) = (self.config.clone(), self.plan, self.owners);
        let (deadline, sender) = (self.deadline, self.sender.clone());
        // Where there are no more threads, this one is not heard.
        let _ = std::thread::Builder::new().spawn(move || {
            let until = deadline.min(Instant::now() + HANDSHAKE);
            // Connections without the key are not reported.
            let Some((channel, _)) = Channel::accept(config, socket, until) else { return };
            is_known.store(true, Ordering::Relaxed);
            hear(channel, &plan, owners, deadline, &sender);
        });
    }

    /// Why there are no bits. It blames only a party that was met: a connection without the key may be from anybody.
    fn in_vain(&self, name: &str) -> Error {
        match (self.met, &self.unready) {
            (Some(_), _) => {
                return Error::failed(format!(
                    "'{name}' was reached and has not sent its bits in time; nothing was answered"
                ));
            }
            (None, Some(error)) => {
                return Error::failed(format!("'{name}' was reached, and nothing was answered: {error}"));
            }
            (None, None) => {}
        }
        let others = match self.came {
            0 => String::new(),
            1 => " (one connection came without it)".to_string(),
            number => format!(" ({number} connections came without it)"),
        };
        Error::failed(format!("nobody has shown the key of '{name}' in time{others}; nothing was answered"))
    }
}

/// Hears the first party's bits.
fn hear(mut channel: Channel, plan: &[u8; 32], owners: usize, deadline: Instant, guests: &Sender<GuestOutcome>) {
    // Nobody may be listening any more.
    let tell = |guest: GuestOutcome| drop(guests.send(guest));
    if let Err(error) = channel.welcome(plan).and_then(|()| channel.send(MessageKind::Ready, &[])) {
        return tell(GuestOutcome::Unready(error));
    }
    tell(GuestOutcome::Met);
    match bits_of(&mut channel, owners, deadline) {
        Ok(message) => tell(GuestOutcome::Sent(channel, message)),
        Err(error) => tell(GuestOutcome::Failed(error)),
    }
}

fn bits_of(channel: &mut Channel, owners: usize, deadline: Instant) -> Result<Vec<bool>> {
    channel.patience(Some(deadline.saturating_duration_since(Instant::now()).max(LAST_MOMENT)))?;
    let body = channel.expect(MessageKind::Bits, owners.div_ceil(8))?;
    unpacked(&body, owners).ok_or_else(wrong)
}

fn packed(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

/// As many bits as there are owners; nothing where there are fewer or more.
fn unpacked(bytes: &[u8], owners: usize) -> Option<Vec<bool>> {
    let bits: Vec<bool> = bytes.iter().flat_map(|byte| (0..8).map(move |place| byte >> place & 1 == 1)).collect();
    let rest = bits.get(owners..)?;
    let fits = bytes.len() == owners.div_ceil(8) && rest.iter().all(|bit| !bit);
    fits.then(|| bits[..owners].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back() {
        for owners in [1, 7, 8, 9, 64, 65] {
            let bits: Vec<bool> = (0..owners).map(|place| place % 3 == 0).collect();
            assert_eq!(unpacked(&packed(&bits), owners), Some(bits.clone()));
            assert_eq!(unpacked(&packed(&bits), owners + 8), None);
            assert!(owners == 1 || unpacked(&packed(&bits), owners - 1).is_none() || !bits[owners - 1]);
        }
    }

    /// More than 64 new connections within one handshake pushed the honest party out, whatever address they came from.
    #[test]
    fn a_flood_from_one_address_pushes_out_itself() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let guest = |from: &str, is_known: bool| PendingConnection {
            socket: TcpStream::connect(listener.local_addr().unwrap()).unwrap(),
            from: from.parse().unwrap(),
            is_known: Arc::new(AtomicBool::new(is_known)),
        };
        let flood: IpAddr = "192.0.2.7".parse().unwrap();
        let honest = || guest("198.51.100.1", false);
        let mut waiting = VecDeque::from([guest("192.0.2.7", true), honest(), guest("192.0.2.7", false)]);
        waiting.push_back(guest("192.0.2.7", false));
        for _ in 0..5 {
            assert_eq!(pushed_out(&waiting, flood), Some(2), "its own oldest that has not shown the key");
            waiting.remove(2);
            waiting.push_back(guest("192.0.2.7", false));
        }
        // Where each address holds one place, a second connection from an address replaces its own first one.
        let mut waiting = VecDeque::from([honest(), guest("192.0.2.7", false)]);
        assert_eq!(pushed_out(&waiting, flood), Some(1));
        assert_eq!(pushed_out(&waiting, "203.0.113.9".parse().unwrap()), Some(0), "else the oldest");
        waiting.iter_mut().for_each(|guest| guest.is_known.store(true, Ordering::Relaxed));
        assert_eq!(pushed_out(&waiting, flood), None);
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_named() {
        let plan = |change: (&str, &str)| {
            let text = format!(
                "name = \"both\"\nowners = 5\n[first]\nname = \"a\"\nkey = \"{}\"\nepsilon = 1\nattributes = [\"smokes\"]\n\
                 [second]\nname = \"b\"\naddress = \"127.0.0.1:7\"\nkey = \"{}\"\nepsilon = 0.5\nattributes = [\"ill\"]\n",
                "1".repeat(64),
                "2".repeat(64)
            );
            ProductPlan::read(&text.replacen(change.0, change.1, 1))
        };
        let whole = plan(("", "")).unwrap();
        assert!(whole.product().epsilon_first() <= 1.0 && whole.events(Role::Second).unwrap().len() == 2);
        for (from, to, words) in [
            ("owners = 5", "owners = 0", "owners must be"),
            ("[first]", "[third]", "unknown key 'third'"),
            ("epsilon = 1", "epsilon = -1", "[first]: epsilon must be a number above 0"),
            ("epsilon = 1", "epsilon = 0.00001", "first party must be"),
            ("address = \"127.0.0.1:7\"", "", "[second] needs an address"),
            ("name = \"b\"", "name = \"a\"", "different names"),
            ("attributes = [\"ill\"]", "", "[second]: attributes must list"),
        ] {
            let sentence = plan((from, to)).expect_err(words).to_string();
            assert!(sentence.contains(words), "{sentence} is not about {words}");
        }
    }
}
