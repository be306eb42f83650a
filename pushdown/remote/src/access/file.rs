// SPDX-License-Identifier: Apache-2.0
//! Reads access files.
//!
//! ```toml
//! [[client]]
//! name = "etl"
//! token_sha256 = "64 hexadecimal digits"        # of the text of its token
//! certificate_sha256 = "64 hexadecimal digits"  # of its certificate as DER
//! scopes = ["read", "write"]
//! requests_in_flight = 16                       # limits, which may be left out
//! bytes_in_flight = 1073741824
//! ```
//!
//! A client with both hashes needs both its token and its certificate.

use std::{
    collections::{HashMap, hash_map},
    fs::{self, File},
    hash::Hash,
    io::{self, Read},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::Path,
};

use serde::Deserialize;
use toml::Spanned;

use super::{
    client::Terms,
    error::{AccessError, Problem},
    scope::{Scope, Scopes},
    token::Digest,
};

/// Bytes of an access file, at most.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Clients of an access file, at most: each request is compared with all of them.
const CLIENTS_MAX: usize = 1024;

/// Signs of a client's name, at most.
const NAME_MAX: usize = 64;

/// Permission bits with which others than the owner may write.
const WRITABLE: u32 = 0o022;

/// A client as it is in the file.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) secrets: Secrets,
    pub(super) terms: Terms,
}

/// What a client is known by: at least one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secrets {
    pub(super) token: Option<Digest>,
    pub(super) certificate: Option<Digest>,
}

/// The text of a file that only its owner may write.
pub(super) fn read_text(path: &Path) -> Result<String, AccessError> {
    let failed = |reason: io::Error| AccessError::Read { path: path.to_owned(), reason };
    // Before it is opened, because a pipe would hold its reader up.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(AccessError::Kind { path: path.to_owned() });
    }
    let file = File::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    let mode = data.mode() & 0o7777;
    if mode & WRITABLE != 0 {
        return Err(AccessError::Writable { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    match text.len() as u64 <= FILE_BYTES_MAX {
        true => Ok(text),
        false => Err(AccessError::TooLong { path: path.to_owned(), max: FILE_BYTES_MAX }),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    #[serde(default)]
    client: Vec<Spanned<Raw>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    token_sha256: Option<Spanned<String>>,
    certificate_sha256: Option<Spanned<String>>,
    scopes: Spanned<Vec<Spanned<String>>>,
    requests_in_flight: Option<Spanned<u32>>,
    bytes_in_flight: Option<Spanned<u64>>,
}

/// The clients of a text. The path is for errors only.
pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Entry>, AccessError> {
    let whole: Whole = toml::from_str(text).map_err(|error| AccessError::Syntax {
        path: path.to_owned(),
        line: line_of(text, error.span().unwrap_or_default()),
        reason: without_tokens(error.message()),
    })?;
    let mut reader = Reader { path, text, names: HashMap::new(), hashes: HashMap::new() };
    whole.client.into_iter().enumerate().map(|(index, raw)| reader.read(index, raw)).collect()
}

/// The line, from 1, in which a span begins.
fn line_of(text: &str, span: Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// What a parser says, without the values that look like tokens.
fn without_tokens(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.contains("nsd_") {
        true => "a token is where it does not belong".to_owned(),
        false => line.to_owned(),
    }
}

/// Which of the hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Secret {
    Token,
    Certificate,
}

impl Secret {
    fn field(self) -> &'static str {
        match self {
            Self::Token => "token_sha256",
            Self::Certificate => "certificate_sha256",
        }
    }
}

/// Reads clients, and knows in which lines the former ones have what only one may have.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    names: HashMap<String, usize>,
    hashes: HashMap<(Secret, Digest), usize>,
}

impl Reader<'_> {
    fn wrong(&self, span: Range<usize>, field: &'static str, problem: Problem) -> AccessError {
        let line = line_of(self.text, span);
        AccessError::Field { path: self.path.to_owned(), line, field, problem }
    }

    fn read(&mut self, index: usize, raw: Spanned<Raw>) -> Result<Entry, AccessError> {
        let span = raw.span();
        let raw = raw.into_inner();
        if index >= CLIENTS_MAX {
            return Err(self.wrong(span, "client", Problem::TooMany { max: CLIENTS_MAX }));
        }
        let name_span = raw.name.span();
        let name = raw.name.into_inner();
        check_name(&name).map_err(|problem| self.wrong(name_span.clone(), "name", problem))?;
        let line = line_of(self.text, name_span.clone());
        if let Some(line) = first(&mut self.names, name.clone(), line) {
            return Err(self.wrong(name_span, "name", Problem::Twice { line }));
        }
        let token = self.secret(Secret::Token, raw.token_sha256)?;
        let certificate = self.secret(Secret::Certificate, raw.certificate_sha256)?;
        if token.is_none() && certificate.is_none() {
            return Err(self.wrong(span, "client", Problem::NoSecret));
        }
        let terms = Terms {
            scopes: self.scopes(&raw.scopes)?,
            requests_max: self.limit("requests_in_flight", raw.requests_in_flight)?,
            bytes_max: self.limit("bytes_in_flight", raw.bytes_in_flight)?,
        };
        Ok(Entry { name, secrets: Secrets { token, certificate }, terms })
    }

    fn secret(
        &mut self,
        kind: Secret,
        raw: Option<Spanned<String>>,
    ) -> Result<Option<Digest>, AccessError> {
        let Some(raw) = raw else { return Ok(None) };
        let Some(digest) = Digest::from_hex(raw.get_ref()) else {
            return Err(self.wrong(raw.span(), kind.field(), Problem::Hash));
        };
        let line = line_of(self.text, raw.span());
        match first(&mut self.hashes, (kind, digest), line) {
            Some(line) => Err(self.wrong(raw.span(), kind.field(), Problem::Twice { line })),
            None => Ok(Some(digest)),
        }
    }

    fn scopes(&self, raw: &Spanned<Vec<Spanned<String>>>) -> Result<Scopes, AccessError> {
        if raw.get_ref().is_empty() {
            return Err(self.wrong(raw.span(), "scopes", Problem::Empty));
        }
        let scope = |text: &Spanned<String>| {
            let scope = text.get_ref().parse::<Scope>();
            scope.map_err(|_error| self.wrong(text.span(), "scopes", Problem::Scope))
        };
        raw.get_ref().iter().map(scope).collect()
    }

    fn limit<T: Copy + PartialEq + From<u8>>(
        &self,
        field: &'static str,
        raw: Option<Spanned<T>>,
    ) -> Result<Option<T>, AccessError> {
        match raw {
            Some(raw) if *raw.get_ref() == T::from(0) => {
                Err(self.wrong(raw.span(), field, Problem::Zero))
            }
            raw => Ok(raw.map(Spanned::into_inner)),
        }
    }
}

/// Takes note of where something is; where it was before, if it was.
fn first<K: Eq + Hash>(known: &mut HashMap<K, usize>, key: K, line: usize) -> Option<usize> {
    match known.entry(key) {
        hash_map::Entry::Occupied(first) => Some(*first.get()),
        hash_map::Entry::Vacant(place) => {
            place.insert(line);
            None
        }
    }
}

/// A name is plain, so that a log or a command line can have it as it is.
pub(super) fn check_name(name: &str) -> Result<(), Problem> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || ".-_@".contains(sign);
    match (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(Problem::Name),
    }
}

#[cfg(test)]
mod tests;
