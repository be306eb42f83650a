// SPDX-License-Identifier: Apache-2.0
//! Defines [`Client`], who makes requests, and its [`Place`]s, the requests that run.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::scope::{Scope, Scopes};

/// The reason why a request is refused. None of them tells more than the client knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The request has neither a token nor a certificate.
    #[error("a token or a certificate is needed")]
    Anonymous,
    /// No client has this token, or this certificate.
    #[error("the token or the certificate is not known")]
    Unknown,
    /// The server does not ask clients who they are, and was called by a name: a web page may have
    /// given its own name the address of the server.
    #[error("a server that does not know its clients is named by its address, not as {host:?}")]
    Host {
        /// What it was called.
        host: String,
    },
    /// The client was removed, or its token or certificate replaced, since the request began.
    #[error("client {client} may no longer do anything")]
    Removed {
        /// Which client.
        client: String,
    },
    /// The client may do other things.
    #[error("client {client} lacks the scope {scope}")]
    Scope {
        /// Which client.
        client: String,
        /// What it lacks.
        scope: Scope,
    },
    /// As many requests of the client are running as may run.
    #[error("client {client} has {max} requests in flight, which is its limit")]
    Requests {
        /// Which client.
        client: String,
        /// Its limit.
        max: u32,
    },
    /// The bytes of the client's requests are as many as may be.
    #[error("client {client} has {used} of {max} bytes in flight, and asked for {asked} more")]
    Bytes {
        /// Which client.
        client: String,
        /// Bytes of requests that run.
        used: u64,
        /// Bytes of the request.
        asked: u64,
        /// Its limit.
        max: u64,
    },
}

/// What a client may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) scopes: Scopes,
    pub(super) requests_max: Option<u32>,
    pub(super) bytes_max: Option<u64>,
}

/// Who makes requests. What it may do changes when the access file is read again, for the requests
/// that are still to come of those that already know it too.
pub struct Client {
    name: String,
    state: Mutex<State>,
}

/// What it may do, and does.
#[derive(Debug)]
struct State {
    /// Nothing once it was removed.
    terms: Option<Terms>,
    requests: u32,
    bytes: u64,
}

impl Client {
    pub(super) fn new(name: String, terms: Terms) -> Arc<Self> {
        let state = State { terms: Some(terms), requests: 0, bytes: 0 };
        Arc::new(Self { name, state: Mutex::new(state) })
    }

    /// Its name in the access file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may make requests of this kind.
    ///
    /// # Errors
    /// [`Denied::Scope`] and [`Denied::Removed`].
    pub fn require(&self, scope: Scope) -> Result<(), Denied> {
        let state = self.lock();
        match self.terms(&state)?.scopes.contains(scope) {
            true => Ok(()),
            false => Err(Denied::Scope { client: self.name.clone(), scope }),
        }
    }

    /// Begins a request that holds `bytes`. It ends when what is returned is dropped.
    ///
    /// # Errors
    /// [`Denied`] when the client has too much in flight.
    pub fn enter(self: &Arc<Self>, bytes: u64) -> Result<Place, Denied> {
        let mut state = self.lock();
        let terms = self.terms(&state)?;
        if let Some(max) = terms.requests_max.filter(|max| state.requests >= *max) {
            return Err(Denied::Requests { client: self.name.clone(), max });
        }
        let sum = state.bytes.checked_add(bytes);
        let max = terms.bytes_max.unwrap_or(u64::MAX);
        let Some(sum) = sum.filter(|sum| *sum <= max) else {
            let (client, used) = (self.name.clone(), state.bytes);
            return Err(Denied::Bytes { client, used, asked: bytes, max });
        };
        state.bytes = sum;
        state.requests = state.requests.saturating_add(1);
        drop(state);
        Ok(Place { client: Arc::clone(self), bytes })
    }

    /// From now on it may do this; nothing when it is removed.
    pub(super) fn set_terms(&self, terms: Option<Terms>) {
        self.lock().terms = terms;
    }

    fn terms<'a>(&self, state: &'a State) -> Result<&'a Terms, Denied> {
        state.terms.as_ref().ok_or_else(|| Denied::Removed { client: self.name.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A request that runs.
#[derive(Debug)]
pub struct Place {
    client: Arc<Client>,
    bytes: u64,
}

impl Place {
    /// Whose it is.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.client.lock();
        state.bytes = state.bytes.saturating_sub(self.bytes);
        state.requests = state.requests.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn client(requests_max: Option<u32>, bytes_max: Option<u64>) -> Arc<Client> {
        let scopes = Scopes::from_iter([Scope::Read, Scope::Install]);
        Client::new("etl".to_owned(), Terms { scopes, requests_max, bytes_max })
    }

    #[rstest]
    #[case(Scope::Read, true)]
    #[case(Scope::Write, false)]
    #[case(Scope::Install, true)]
    #[case(Scope::Admin, false)]
    fn client_may_do_what_its_scopes_say(#[case] scope: Scope, #[case] may: bool) {
        let denied = Denied::Scope { client: "etl".to_owned(), scope };
        let expected = if may { Ok(()) } else { Err(denied) };
        assert_eq!(client(None, None).require(scope), expected);
    }

    #[test]
    fn requests_in_flight_are_limited_and_a_dropped_one_makes_room() {
        let client = client(Some(2), None);
        let first = client.enter(0).unwrap();
        let _second = client.enter(u64::MAX).unwrap();
        let denied = client.enter(0).unwrap_err();
        assert_eq!(denied, Denied::Requests { client: "etl".to_owned(), max: 2 });
        assert_eq!(first.client().name(), "etl");
        drop(first);
        drop(client.enter(0).unwrap());
        drop(client.enter(0).unwrap());
    }

    #[test]
    fn bytes_in_flight_are_limited_and_a_dropped_request_makes_room() {
        let client = client(None, Some(100));
        let first = client.enter(60).unwrap();
        let _second = client.enter(40).unwrap();
        assert_eq!(
            client.enter(1).unwrap_err().to_string(),
            "client etl has 100 of 100 bytes in flight, and asked for 1 more"
        );
        drop(client.enter(0).unwrap());
        drop(first);
        assert!(client.enter(61).is_err());
        drop(client.enter(60).unwrap());
    }

    #[test]
    fn bytes_without_limit_do_not_overflow() {
        let client = client(None, None);
        let _first = client.enter(u64::MAX).unwrap();
        assert!(matches!(client.enter(1), Err(Denied::Bytes { .. })));
    }

    #[test]
    fn removed_client_is_denied_and_its_requests_end_in_peace() {
        let client = client(None, None);
        let place = client.enter(10).unwrap();
        client.set_terms(None);
        let removed = Denied::Removed { client: "etl".to_owned() };
        assert_eq!(client.require(Scope::Read), Err(removed.clone()));
        assert_eq!(client.enter(0).unwrap_err(), removed);
        drop(place);
    }
}
