//! A cluster that computes integers where its executors see the tables' files:
//! `[engine] cluster = "ballista://host:50050"`.

use super::section::{Section, Spot};
use crate::error::Result;
use std::fmt;

/// The keys of `[engine]`.
const KEYS: [&str; 2] = ["cluster", "timeout"];

/// The beginnings of addresses, and the default port of each; `remote::CONNECT` has their connections.
const SCHEMES: &[(&str, u16)] = &[("ballista", 50050)];

/// The default timeout of a statement, in seconds.
const TIMEOUT: u64 = 3600;

/// The scheduler of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// What its address begins with.
    pub scheme: &'static str,
    /// Its host's name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// After how many seconds a statement is given up.
    pub timeout: u64,
}

impl Cluster {
    /// The section `[engine]` of a project file.
    pub(super) fn read(section: &Section) -> Result<Self> {
        section.only(&KEYS)?;
        let spot = section.need("cluster")?;
        let text = spot.text()?;
        let wrong = |what: &str| spot.error(format!("{what}; write it as ballista://host:50050"));
        let known = |(scheme, port): &(&'static str, u16)| {
            Some((*scheme, *port, text.strip_prefix(scheme)?.strip_prefix("://")?))
        };
        let Some((scheme, usual, rest)) = SCHEMES.iter().find_map(known) else {
            return Err(wrong("only clusters of Apache Ballista are supported"));
        };
        // An address of six has colons of its own, and stands in brackets.
        let (host, port) = match rest.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong("the port is not a number"))?),
            None => (rest, usual),
        };
        let is_host = |sign: char| sign.is_ascii_alphanumeric() || ".-_:[]".contains(sign);
        if host.is_empty() || !host.chars().all(is_host) {
            return Err(wrong("the address has no host, or more than a host and a port"));
        }
        let seconds = section.get("timeout").map(Spot::at_least_one).transpose()?.unwrap_or(TIMEOUT);
        if seconds > 86_400 {
            return Err(section.need("timeout")?.error("timeout must be at most 86400 seconds, a day"));
        }
        Ok(Self { scheme, host: host.to_string(), port, timeout: seconds })
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.host, self.port)
    }
}
