// SPDX-License-Identifier: Apache-2.0
//! Lets a request in, or not: finds out who makes it, whether that client may, and records it.
//!
//! # Invariants
//!
//! - No request reaches the drive or the objects before it was admitted.
//! - A change is made only once it is recorded that it is about to be, if there is an audit log.

mod need;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use tonic::{Request, Status};

use crate::{
    access::{Access, Client, Denied, Place, Scope},
    audit::{Audit, Event, Kind, Outcome},
    protocol::action,
};
pub(super) use need::Need;

/// Who may come in, and where it is recorded.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) access: Arc<Access>,
    pub(super) audit: Option<Arc<Audit>>,
}

/// A request that was admitted. It counts as running until this is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    gate: Gate,
    need: Need,
    peer: String,
    client: Arc<Client>,
    /// None of the short calls that keep a connection alive.
    _place: Option<Place>,
}

/// The client of a request, with where it comes from.
#[derive(Debug)]
pub(super) struct Caller {
    gate: Gate,
    client: Arc<Client>,
    peer: String,
}

/// What an application may do for the client that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Read what clients have.
    Reading,
    /// Read and write that.
    Writing,
    /// Whatever the application may do.
    All,
}

fn status_of(denied: &Denied) -> Status {
    let text = denied.to_string();
    match denied {
        Denied::Anonymous | Denied::Unknown => Status::unauthenticated(text),
        Denied::Removed { .. } | Denied::Scope { .. } | Denied::Host { .. } => {
            Status::permission_denied(text)
        }
        Denied::Requests { .. } | Denied::Bytes { .. } => Status::resource_exhausted(text),
    }
}

/// Where a request comes from.
fn peer_of<T>(request: &Request<T>) -> String {
    let peer = request.remote_addr();
    peer.map_or_else(|| "local".to_owned(), |address| address.to_string())
}

/// Whether a host, perhaps with a port, is an address or this machine.
fn is_address(host: &str) -> bool {
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    host.parse::<SocketAddr>().is_ok()
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || name == "localhost"
}

impl Gate {
    fn known<T>(&self, request: &Request<T>) -> Result<Arc<Client>, Denied> {
        let header = request.metadata().get("authorization");
        let bearer = match header {
            Some(value) => {
                let token = value.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
                Some(token.ok_or(Denied::Unknown)?)
            }
            None => None,
        };
        let certificates = request.peer_certs();
        let certificate = certificates.as_ref().and_then(|certificates| certificates.first());
        self.access.authenticate(bearer, certificate.map(AsRef::as_ref))
    }

    /// Finds out who makes a request. What the client may do is seen when the request begins.
    pub(super) async fn caller<T>(
        &self,
        request: &Request<T>,
        need: &Need,
    ) -> Result<Caller, Status> {
        let peer = peer_of(request);
        match self.known(request) {
            Ok(client) => Ok(Caller { gate: self.clone(), client, peer }),
            Err(denied) => Err(self.denied(need, "", &peer, denied).await),
        }
    }

    /// Admits a request of a client that calls the server by the name `host`. Where clients need
    /// not say who they are, that is an address: see [`Denied::Host`].
    pub(super) async fn admit_at<T>(
        &self,
        host: &str,
        request: &Request<T>,
        need: Need,
    ) -> Result<Admitted, Status> {
        if self.access.is_anyone() && !is_address(host) {
            let denied = Denied::Host { host: host.to_owned() };
            return Err(self.denied(&need, "", &peer_of(request), denied).await);
        }
        self.admit(request, need).await
    }

    /// Admits a request.
    pub(super) async fn admit<T>(
        &self,
        request: &Request<T>,
        need: Need,
    ) -> Result<Admitted, Status> {
        self.caller(request, &need).await?.begin(need).await
    }

    /// Records that a request is denied; that it cannot be recorded is counted and logged there.
    async fn denied(&self, need: &Need, client: &str, peer: &str, denied: Denied) -> Status {
        let reason = denied.to_string();
        drop(self.record(need, client, peer, Outcome::Denied(&reason)).await);
        status_of(&denied)
    }

    async fn record(
        &self,
        need: &Need,
        client: &str,
        peer: &str,
        outcome: Outcome<'_>,
    ) -> Result<(), Status> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let Need { kind, action, object, bytes, .. } = need;
        let (kind, bytes) = (*kind, *bytes);
        let event = Event { kind, client, peer, action, object, outcome, bytes };
        let recorded = audit.record(&event).await;
        recorded.map_err(|error| Status::unavailable(format!("it cannot be recorded: {error}")))
    }
}

impl Caller {
    /// Begins a request, if the client may make it.
    pub(super) async fn begin(self, need: Need) -> Result<Admitted, Status> {
        let Self { gate, client, peer } = self;
        let entered = client.require(need.scope).and_then(|()| match need.action {
            action::CONNECT | action::HEALTH | action::SNAPSHOT | action::RESET => Ok(None),
            _ => client.enter(need.bytes).map(Some),
        });
        let place = match entered {
            Ok(place) => place,
            Err(denied) => return Err(gate.denied(&need, client.name(), &peer, denied).await),
        };
        gate.record(&need, client.name(), &peer, Outcome::Allowed).await?;
        Ok(Admitted { gate, need, peer, client, _place: place })
    }
}

impl Admitted {
    /// Passes something on that is sent while the request runs; a closure that calls it keeps the
    /// request running.
    pub(super) fn holds<T>(&self, sent: T) -> T {
        sent
    }

    /// Whether the request changes something.
    pub(super) fn is_change(&self) -> bool {
        self.need.kind == Kind::Change
    }

    /// What an application may do for the client.
    pub(super) fn reach(&self) -> Reach {
        let may = |scope| self.client.require(scope).is_ok();
        match (may(Scope::Admin), may(Scope::Write)) {
            (true, _) => Reach::All,
            (false, true) => Reach::Writing,
            (false, false) => Reach::Reading,
        }
    }

    /// Notes how many bytes the request was about, if that is known only in the end.
    pub(super) fn moved(&mut self, bytes: u64) {
        self.need.bytes = bytes;
    }

    /// Records what came of the request. That this cannot be recorded is logged; what was done
    /// stays done.
    pub(super) async fn ended<T>(&self, result: &Result<T, Status>) {
        let reason = result.as_ref().err().map_or("", Status::message);
        let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Failed(reason) };
        let Self { gate, need, peer, client, _place } = self;
        drop(gate.record(need, client.name(), peer, outcome).await);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("127.0.0.1:7000", true)]
    #[case("127.0.0.1", true)]
    #[case("[::1]:7000", true)]
    #[case("[::1]", true)]
    #[case("localhost:7000", true)]
    #[case("localhost.example:7000", false)]
    #[case("example", false)]
    #[case("", false)]
    fn host_is_an_address_or_this_machine(#[case] host: &str, #[case] expected: bool) {
        assert_eq!(is_address(host), expected);
    }
}
