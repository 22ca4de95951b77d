//! What a party runs: it meets all servers first, and only then draws, splits and sends.

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::message::{self, MessageKind};
use crate::plan::Plan;
use scumble::BitSource;
use std::time::{Duration, Instant};

/// A party that has met all servers; nothing has been sent.
pub struct ShareSender<'a> {
    plan: &'a Plan,
    channels: Vec<Channel>,
}

impl<'a> ShareSender<'a> {
    /// Meets all servers, which may begin until `wait` is over: each shows its key, has the same plan and still takes
    /// this party's share.
    pub fn meet(plan: &'a Plan, key: &Key, wait: Duration) -> Result<Self> {
        if plan.party_of(key.public()).is_none() {
            return Err(Error::input("this key belongs to no party of the plan"));
        }
        let deadline = Instant::now() + wait;
        let meet = |server: &crate::Server| -> Result<Channel> {
            let mut channel = Channel::connect(key, &server.address, server.key, &server.name, deadline)?;
            let met = channel.hello(plan.digest());
            met.map_err(|error| {
                Error::failed(format!("server '{}' was reached and nothing was sent: {error}", server.name))
            })?;
            Ok(channel)
        };
        Ok(Self { plan, channels: plan.servers().iter().map(meet).collect::<Result<_>>()? })
    }

    /// Adds this party's share of the noise to its numbers, one for each cell, and sends each server its share of that.
    ///
    /// # Guarantee
    /// Before: `values` are what the plan says of this party's owners, and they are sent this once. After: servers have
    /// uniform words; where one of them has none, all leave this party out.
    pub fn send(mut self, values: &[u64], bits: &mut dyn BitSource) -> Result<()> {
        let largest = self.plan.largest();
        // The number itself is not repeated: what is printed may be kept somewhere.
        if let Some((cell, _)) = self.plan.cells().iter().zip(values).find(|(_, value)| **value > largest) {
            return Err(Error::input(format!("the number of cell '{cell}' is above the plan's largest, {largest}")));
        }
        let shares = self.plan.sum().shares(values, bits)?;
        let sending = (u128::from(bits.next_u64()) << 64 | u128::from(bits.next_u64())).to_le_bytes();
        let names = || self.plan.servers().iter().map(|server| server.name.as_str());
        let mut first: Option<Error> = None;
        for ((channel, share), name) in self.channels.iter_mut().zip(&shares).zip(names()) {
            let sent = channel.send(MessageKind::Share, &message::share(&sending, share));
            first = first.or(sent.err().map(|error| lost(name, &error)));
        }
        for (channel, name) in self.channels.iter_mut().zip(names()) {
            let stored = channel.expect(MessageKind::Stored, 0);
            first = first.or(stored.err().map(|error| lost(name, &error)));
        }
        first.map_or(Ok(()), Err)
    }
}

fn lost(server: &str, error: &Error) -> Error {
    Error::failed(format!(
        "server '{server}' has not confirmed its share, and this party is left out unless all servers have one: \
            {error}"
    ))
}
