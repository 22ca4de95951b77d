//! The inner product of two parties' bits: the first connects, the second listens; each charges its own ledger before it looks at its bits.

use crate::channel::{Channel, incoming};
use crate::error::{Error, Result};
use crate::key::Key;
use crate::message::{MessageKind, wrong};
use crate::plan::{self, Party};
use scumble::parties::inner_product::InnerProduct;
use scumble::quantity::Epsilon;
use scumble::{AttributeSet, BitSource, Event};
use sha2::{Digest, Sha256};
use std::net::TcpListener;
use std::path::Path;
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
            Error::input(format!("owners must be how many bits each of the two has, from 1 to {MOST_OWNERS}"))
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
            _ => Err(Error::input("this key is neither the first nor the second party's of the plan")),
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

type Side = ((Party, AttributeSet), Epsilon, Option<String>);

fn side(table: &Table, key: &str) -> Result<Side> {
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
pub struct First<'a> {
    plan: &'a ProductPlan,
    channel: Channel,
    wait: Duration,
}

impl<'a> First<'a> {
    /// Meets the second party, which may begin until `wait` is over.
    pub fn meet(plan: &'a ProductPlan, key: &Key, wait: Duration) -> Result<Self> {
        let (second, _) = &plan.second;
        let mut channel = Channel::connect(key, &plan.address, second.key, &second.name, Instant::now() + wait)?;
        let met = channel.hello(&plan.digest);
        met.map_err(|error| Error::failed(format!("'{}' was met and nothing was sent: {error}", second.name)))?;
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
pub struct Second<'a> {
    plan: &'a ProductPlan,
    channel: Channel,
    message: Vec<bool>,
}

impl<'a> Second<'a> {
    /// Waits for the first party's bits; others are sent away.
    pub fn listen(plan: &'a ProductPlan, key: &Key, listener: &TcpListener, wait: Duration) -> Result<Self> {
        let (deadline, name) = (Instant::now() + wait, &plan.first.0.name);
        let config = incoming(key, vec![plan.first.0.key])?;
        listener.set_nonblocking(true).map_err(|error| Error::failed(error.to_string()))?;
        while Instant::now() < deadline {
            let Ok((socket, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            let met = socket.set_nonblocking(false).ok().and_then(|()| Channel::accept(config.clone(), socket));
            let Some((mut channel, _)) = met else { continue };
            if channel.welcome(&plan.digest).and_then(|()| channel.send(MessageKind::Ready, &[])).is_err() {
                continue;
            }
            channel.patience(Some(deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1))))?;
            let body = channel.expect(MessageKind::Bits, plan.owners.div_ceil(8))?;
            let message = unpacked(&body, plan.owners).ok_or_else(wrong)?;
            return Ok(Self { plan, channel, message });
        }
        Err(Error::failed(format!("'{name}' has not sent its bits in time; nothing was answered")))
    }

    /// Answers.
    pub fn answer(mut self, y: &[bool], bits: &mut dyn BitSource) -> Result<()> {
        self.plan.check(y)?;
        let answer = self.plan.product.answer(y, &self.message, bits)?;
        self.channel.send(MessageKind::Answer, &answer.to_le_bytes())
    }
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
