//! Those who use the pages: a link that works once, and sessions in memory, known by a cookie. A restarted server knows
//! none.

use crate::access::{FIRST_CURATOR, Person, Role, token};
use scumble_engine::{Result, digest};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// How long the link of the start can be opened.
const LINK: Duration = Duration::from_secs(3600);
/// How long a session lasts.
const SESSION: Duration = Duration::from_secs(12 * 3600);
/// This many sessions of one person are held at once; beyond them their oldest ends, and nobody else's.
const MOST_EACH: usize = 20;

/// The link, until it was opened, and the sessions by the digest of their cookie: the memory of the index holds no
/// cookie.
///
/// There are at most [`MOST_EACH`] for each name that has access, and those of a name that lost it end when it is next
/// looked at: so their number is bounded by the file of those who may ask.
pub(crate) struct Sessions(Mutex<SessionTable>);

struct SessionTable {
    link: Option<(String, Instant)>,
    open: HashMap<String, Session>,
}

/// A session of somebody, by the token that they had when it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub person: Person,
    /// What is kept of their token; `None` for the person who opened the link of the start.
    pub token: Option<String>,
}

struct Session {
    bearer: Bearer,
    begun: Instant,
}

impl Sessions {
    /// None yet, and a link; gives its token.
    pub fn begin() -> Result<(Self, String)> {
        let link = token()?;
        let inner = SessionTable { link: Some((digest(link.as_bytes()), Instant::now())), open: HashMap::new() };
        Ok((Self(Mutex::new(inner)), link))
    }

    fn inner(&self) -> MutexGuard<'_, SessionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses up the link, if this is its token: it is a curator who has it.
    pub fn opened(&self, token: &str) -> Option<Bearer> {
        let mut inner = self.inner();
        let (hash, made) = inner.link.as_ref()?;
        let same = bool::from(hash.as_bytes().ct_eq(digest(token.as_bytes()).as_bytes()));
        if !same || made.elapsed() > LINK {
            return None;
        }
        inner.link = None;
        let person = Person { name: FIRST_CURATOR.to_string(), role: Role::Curator };
        Some(Bearer { person, token: None })
    }

    /// A session for somebody who has shown a token; gives its cookie.
    pub fn open(&self, bearer: Bearer) -> Result<String> {
        let cookie = token()?;
        let mut inner = self.inner();
        inner.open.retain(|_, session| session.begun.elapsed() < SESSION);
        let own = inner.open.iter().filter(|(_, session)| session.bearer.person.name == bearer.person.name);
        let mut own: Vec<(Instant, String)> = own.map(|(key, session)| (session.begun, key.clone())).collect();
        own.sort();
        let beyond = (own.len() + 1).saturating_sub(MOST_EACH);
        own.iter().take(beyond).for_each(|(_, oldest)| drop(inner.open.remove(oldest)));
        inner.open.insert(digest(cookie.as_bytes()), Session { bearer, begun: Instant::now() });
        Ok(cookie)
    }

    /// Whose session a cookie is, if `is_current` says that they still have the token that it began with; else it ends.
    pub fn whose(&self, cookie: &str, is_current: impl FnOnce(&Bearer) -> bool) -> Option<Person> {
        let key = digest(cookie.as_bytes());
        let bearer = {
            let inner = self.inner();
            inner.open.get(&key).filter(|session| session.begun.elapsed() < SESSION)?.bearer.clone()
        };
        match is_current(&bearer) {
            true => Some(bearer.person),
            false => {
                self.inner().open.remove(&key);
                None
            }
        }
    }

    /// Ends a session.
    pub fn close(&self, cookie: &str) {
        self.inner().open.remove(&digest(cookie.as_bytes()));
    }

    /// Ends all sessions of somebody whose access was taken away.
    pub fn close_all(&self, name: &str) {
        self.inner().open.retain(|_, session| session.bearer.person.name != name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(name: &str, token: &str) -> Bearer {
        Bearer { person: Person { name: name.into(), role: Role::Viewer }, token: Some(token.into()) }
    }

    #[test]
    fn the_link_opens_once_and_a_session_ends_when_it_is_closed() {
        let (sessions, link) = Sessions::begin().unwrap();
        assert!(sessions.opened("0").is_none());
        let curator = sessions.opened(&link).unwrap();
        assert_eq!((curator.person.role, curator.person.name.as_str()), (Role::Curator, FIRST_CURATOR));
        assert!(sessions.opened(&link).is_none(), "once");
        let cookie = sessions.open(curator.clone()).unwrap();
        assert_eq!(sessions.whose(&cookie, |_| true), Some(curator.person));
        sessions.close(&cookie);
        assert!(sessions.whose(&cookie, |_| true).is_none() && sessions.whose("", |_| true).is_none());
    }

    /// A session of a name whose token was revoked came back when the name was added again with the same role: it was
    /// known by name and role.
    #[test]
    fn a_session_ends_with_its_token_and_does_not_come_back() {
        let (sessions, _) = Sessions::begin().unwrap();
        let cookie = sessions.open(bearer("ada", "first")).unwrap();
        assert!(sessions.whose(&cookie, |bearer| bearer.token.as_deref() == Some("first")).is_some());
        assert!(sessions.whose(&cookie, |bearer| bearer.token.as_deref() == Some("second")).is_none());
        assert!(sessions.whose(&cookie, |_| true).is_none(), "it has ended");
        let cookie = sessions.open(bearer("ada", "second")).unwrap();
        sessions.close_all("ada");
        assert!(sessions.whose(&cookie, |_| true).is_none());
    }

    /// Ten thousand logins of one viewer pushed the sessions of all others out.
    #[test]
    fn whoever_logs_in_often_ends_their_own_sessions() {
        let (sessions, _) = Sessions::begin().unwrap();
        let other = sessions.open(bearer("bob", "b")).unwrap();
        let own: Vec<String> = (0..3 * MOST_EACH).map(|_| sessions.open(bearer("ada", "a")).unwrap()).collect();
        assert!(sessions.whose(&other, |_| true).is_some());
        let held: Vec<bool> = own.iter().map(|cookie| sessions.whose(cookie, |_| true).is_some()).collect();
        assert!(held[..2 * MOST_EACH].iter().all(|held| !held) && held[2 * MOST_EACH..].iter().all(|held| *held));
        assert_eq!(sessions.inner().open.len(), MOST_EACH + 1);
    }
}
