//! Those who use the pages: a link that works once, and sessions in memory, known by a cookie. A restarted server knows none.

use crate::access::{FIRST_CURATOR, Person, Role, token};
use scumble_engine::{Result, digest};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// How long the link of the start can be opened.
const LINK: Duration = Duration::from_secs(3600);
/// How long a session lasts.
const SESSION: Duration = Duration::from_secs(12 * 3600);
/// This many sessions are held at once; beyond them the oldest end.
const MOST: usize = 10_000;

/// The link, until it was opened, and the sessions by the digest of their cookie: whoever reads the memory of an index finds no cookie.
pub(crate) struct Sessions(Mutex<Inner>);

struct Inner {
    link: Option<(String, Instant)>,
    open: HashMap<String, Session>,
}

struct Session {
    person: Person,
    begun: Instant,
}

impl Sessions {
    /// None yet, and a link; gives its token.
    pub fn begin() -> Result<(Self, String)> {
        let link = token()?;
        let inner = Inner { link: Some((digest(link.as_bytes()), Instant::now())), open: HashMap::new() };
        Ok((Self(Mutex::new(inner)), link))
    }

    /// Uses up the link, if this is its token: it is a curator who has it.
    pub fn opened(&self, token: &str) -> Option<Person> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (hash, made) = inner.link.as_ref()?;
        let same = bool::from(hash.as_bytes().ct_eq(digest(token.as_bytes()).as_bytes()));
        if !same || made.elapsed() > LINK {
            return None;
        }
        inner.link = None;
        Some(Person { name: FIRST_CURATOR.to_string(), role: Role::Curator })
    }

    /// A session for somebody who has shown a token; gives its cookie.
    pub fn open(&self, person: Person) -> Result<String> {
        let cookie = token()?;
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.open.retain(|_, session| session.begun.elapsed() < SESSION);
        if inner.open.len() >= MOST {
            let oldest = inner.open.iter().min_by_key(|(_, session)| session.begun).map(|(key, _)| key.clone());
            oldest.map(|key| inner.open.remove(&key));
        }
        inner.open.insert(digest(cookie.as_bytes()), Session { person, begun: Instant::now() });
        Ok(cookie)
    }

    /// Whose session a cookie is. Whether they still have access is for the caller to see.
    pub fn whose(&self, cookie: &str) -> Option<Person> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = inner.open.get(&digest(cookie.as_bytes()))?;
        (session.begun.elapsed() < SESSION).then(|| session.person.clone())
    }

    /// Ends a session.
    pub fn close(&self, cookie: &str) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.open.remove(&digest(cookie.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_opens_once_and_a_session_ends_when_it_is_closed() {
        let (sessions, link) = Sessions::begin().unwrap();
        assert!(sessions.opened("0").is_none());
        let curator = sessions.opened(&link).unwrap();
        assert_eq!((curator.role, curator.name.as_str()), (Role::Curator, FIRST_CURATOR));
        assert!(sessions.opened(&link).is_none(), "once");
        let cookie = sessions.open(curator.clone()).unwrap();
        assert_eq!(sessions.whose(&cookie), Some(curator));
        sessions.close(&cookie);
        assert!(sessions.whose(&cookie).is_none() && sessions.whose("").is_none());
    }
}
