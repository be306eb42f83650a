// SPDX-License-Identifier: Apache-2.0
//! Says who may do what: [`Access`] knows the [`Client`]s of a server, [`Scope`]s what they may do.
//!
//! A client is known by a token, by the certificate of its connection, or by both. It says nothing
//! of encryption: a token on an open connection can be read by others. Nothing here reads a
//! request; what calls it says which scope a request needs, and how many bytes it holds.
//!
//! # Invariants
//!
//! - A server keeps hashes of tokens only. No text that this module makes, errors and debug texts
//!   included, contains a token, except the one that [`Token::reveal`] gives.
//! - How long it takes to deny a token does not depend on how much of it is right.
//! - A file that others than its owner may write is not believed.
//! - A file that cannot be read again changes nothing. Once one was read, each client has what it
//!   grants at its next request, and those that are gone have nothing.

mod client;
mod error;
mod file;
mod grant;
mod scope;
mod token;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use client::Terms;
pub use client::{Client, Denied, Place};
pub use error::{AccessError, Problem};
use file::{Entry, Secrets};
pub use scope::{Scope, ScopeError, Scopes};
use token::Digest;
pub use token::Token;

/// The name of those who need not say who they are; no client of a file can have it.
const ANYONE: &str = "(anyone)";

/// The clients of a server.
pub struct Access(Source);

enum Source {
    Anyone(Arc<Client>),
    File { path: PathBuf, clients: RwLock<Vec<Known>> },
}

/// A client, and what it is known by.
struct Known {
    secrets: Secrets,
    client: Arc<Client>,
}

impl Access {
    /// Everyone may do everything: for sockets that only their owner reaches, and the loopback
    /// device.
    pub fn anyone() -> Self {
        let terms = Terms { scopes: Scopes::all(), requests_max: None, bytes_max: None };
        Self(Source::Anyone(Client::new(ANYONE.to_owned(), terms)))
    }

    /// Whether everyone may do everything.
    #[must_use]
    pub fn is_anyone(&self) -> bool {
        matches!(self.0, Source::Anyone(_))
    }

    /// The clients of an access file.
    ///
    /// # Errors
    /// [`AccessError`] when it cannot be read, others may write it, or it is wrong somewhere.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let access = Self(Source::File { path: path.to_owned(), clients: RwLock::default() });
        access.reload()?;
        Ok(access)
    }

    /// Adds a client with a new token to an access file, which is made when there is none, with
    /// mode 0600. A server has to [reload](Self::reload) it.
    ///
    /// # Errors
    /// [`AccessError`] when the client cannot be added, or the file is wrong or cannot be written.
    pub fn grant(path: &Path, name: &str, scopes: Scopes) -> Result<Token, AccessError> {
        grant::grant(path, name, scopes)
    }

    /// Reads the file again. A client that keeps its name and what it is known by keeps what it has
    /// in flight; others are new.
    ///
    /// # Errors
    /// As [`read`](Self::read); then everything stays as it was.
    pub fn reload(&self) -> Result<(), AccessError> {
        let Source::File { path, clients } = &self.0 else { return Ok(()) };
        // Held while the file is read, so that of two calls the later one is not undone.
        let mut clients = clients.write().unwrap_or_else(PoisonError::into_inner);
        let entries = file::parse(path, &file::read_text(path)?)?;
        let next = entries.into_iter().map(|entry| take_over(&clients, entry)).collect();
        let gone = std::mem::replace(&mut *clients, next);
        for gone in gone.iter().filter(|gone| !has(&clients, &gone.client)) {
            gone.client.set_terms(None);
        }
        Ok(())
    }

    /// Who makes a request, by its token and the certificate of its connection as DER.
    ///
    /// With a token, only clients that have one are meant, so a wrong token is never made up for by
    /// a certificate. A certificate has to be checked against its authority before.
    ///
    /// # Errors
    /// [`Denied`] when nobody is known by them.
    pub fn authenticate(
        &self,
        bearer: Option<&str>,
        certificate: Option<&[u8]>,
    ) -> Result<Arc<Client>, Denied> {
        let clients = match &self.0 {
            Source::Anyone(client) => return Ok(Arc::clone(client)),
            Source::File { clients, .. } => clients,
        };
        if bearer.is_none() && certificate.is_none() {
            return Err(Denied::Anonymous);
        }
        let token = match bearer {
            Some(text) => Some(Digest::of_bearer(text).ok_or(Denied::Unknown)?),
            None => None,
        };
        let presented = Secrets { token, certificate: certificate.map(Digest::of) };
        let clients = clients.read().unwrap_or_else(PoisonError::into_inner);
        // All of them are looked at, and which one it is does not show in the time.
        let mut found = u64::MAX;
        for (index, known) in (0..).zip(clients.iter()) {
            found.conditional_assign(&index, matches(&known.secrets, &presented));
        }
        let found = usize::try_from(found).ok().and_then(|index| clients.get(index));
        found.map(|known| Arc::clone(&known.client)).ok_or(Denied::Unknown)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Anyone(_) => f.write_str("Access(anyone)"),
            Source::File { path, .. } => f.debug_tuple("Access").field(path).finish(),
        }
    }
}

/// The client of an entry: the known one that is the same, with the terms of the entry.
fn take_over(clients: &[Known], entry: Entry) -> Known {
    let Entry { name, secrets, terms } = entry;
    let same = |known: &&Known| known.client.name() == name && known.secrets == secrets;
    let client = match clients.iter().find(same) {
        Some(known) => {
            known.client.set_terms(Some(terms));
            Arc::clone(&known.client)
        }
        None => Client::new(name, terms),
    };
    Known { secrets, client }
}

fn has(clients: &[Known], client: &Arc<Client>) -> bool {
    clients.iter().any(|known| Arc::ptr_eq(&known.client, client))
}

/// Whether what is presented is what a client is known by. Which of the secrets there are is no
/// secret; what they are is compared without a branch.
fn matches(known: &Secrets, presented: &Secrets) -> Choice {
    let (yes, no) = (Choice::from(1), Choice::from(0));
    let token = match (&known.token, &presented.token) {
        (Some(known), Some(presented)) => known.ct_eq(presented),
        (None, None) => yes,
        (Some(_), None) | (None, Some(_)) => no,
    };
    let certificate = match (&known.certificate, &presented.certificate) {
        (Some(known), Some(presented)) => known.ct_eq(presented),
        (None, _) => yes,
        (Some(_), None) => no,
    };
    token & certificate
}

#[cfg(test)]
mod tests;
