// SPDX-License-Identifier: Apache-2.0
//! Makes messages of what the applications say, and their types of what clients say.

use nearscan_applications::{
    Access, Application, Beginning, DeadLetter, Entry, Event, Filter, Handler, Kind, Level,
    Manifest, Notice, Signed, State, Subject, What,
};
use tonic::Status;

use crate::{
    protocol::applications::{self as messages, Changed, Delivered, Faulted, Logged, Register, To},
    text::cut,
};

/// Bytes of a text in a notice or an event, at most.
const TEXT_BYTES_MAX: usize = 64 << 10;

fn short(text: &str) -> String {
    cut(text, TEXT_BYTES_MAX).into_owned()
}

impl From<&Application> for messages::Application {
    fn from(application: &Application) -> Self {
        let Application { manifest, state, sha256, signed, .. } = application;
        let Manifest { name, version, description, entries, .. } = manifest;
        let state = match state {
            State::Installed => messages::State::Installed,
            State::Started => messages::State::Started,
            State::Stopped => messages::State::Stopped,
        };
        Self {
            name: name.clone(),
            version: version.clone(),
            description: description.clone(),
            entries: entries.iter().map(|entry| Entry::name(*entry).to_owned()).collect(),
            rights: rights(manifest),
            state: state.into(),
            sha256: sha256.clone(),
            is_signed: *signed == Signed::Yes,
        }
    }
}

/// The rights of a manifest, as `read raw; read, write tables`.
fn rights(manifest: &Manifest) -> String {
    let verb = |access: &Access| match access {
        Access::Read => "read",
        Access::Write => "write",
    };
    let each = manifest.rights.iter().map(|grant| {
        let verbs: Vec<&str> = grant.access.iter().map(verb).collect();
        format!("{} {}", verbs.join(", "), grant.collection)
    });
    each.collect::<Vec<String>>().join("; ")
}

impl From<Kind> for messages::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Created => Self::Created,
            Kind::Written => Self::Written,
            Kind::Removed => Self::Removed,
            Kind::AttributesChanged => Self::AttributesChanged,
            Kind::Flash => Self::Flash,
            Kind::Application => Self::Application,
            Kind::Fault => Self::Fault,
        }
    }
}

fn kind_of(kind: messages::Kind) -> Result<Kind, Status> {
    match kind {
        messages::Kind::Unknown => Err(Status::invalid_argument("unknown kind of events")),
        messages::Kind::Created => Ok(Kind::Created),
        messages::Kind::Written => Ok(Kind::Written),
        messages::Kind::Removed => Ok(Kind::Removed),
        messages::Kind::AttributesChanged => Ok(Kind::AttributesChanged),
        messages::Kind::Flash => Ok(Kind::Flash),
        messages::Kind::Application => Ok(Kind::Application),
        messages::Kind::Fault => Ok(Kind::Fault),
    }
}

/// The handler that a client describes, and the events with which it begins.
pub(crate) fn handler_of(register: Register) -> Result<(Handler, Beginning), Status> {
    let Register { name, application, filter, after } = register;
    // One that this server does not know is an error too: the handler would miss its events.
    let known = |kind: &i32| messages::Kind::try_from(*kind).unwrap_or(messages::Kind::Unknown);
    let kinds = filter.kinds.iter().map(known).map(kind_of).collect::<Result<_, _>>()?;
    let messages::Filter { collection, prefix, suffixes, application: of, name: named, .. } =
        filter;
    let filter = Filter { kinds, collection, prefix, suffixes, application: of, name: named };
    let beginning = match after {
        None => Beginning::Now,
        Some(0) => Beginning::Oldest,
        Some(number) => Beginning::After(number),
    };
    Ok((Handler { name, application, filter }, beginning))
}

impl From<&(Handler, u64)> for messages::Handler {
    fn from((handler, position): &(Handler, u64)) -> Self {
        let Handler { name, application, filter } = handler.clone();
        let Filter { kinds, collection, prefix, suffixes, application: of, name: named } = filter;
        let kinds = kinds.into_iter().map(|kind| messages::Kind::from(kind).into()).collect();
        let filter =
            messages::Filter { kinds, collection, prefix, suffixes, application: of, name: named };
        Self { name, application, filter, position: *position }
    }
}

impl From<&DeadLetter> for messages::DeadLetter {
    fn from(letter: &DeadLetter) -> Self {
        let DeadLetter { event, attempts, reason, at_ns, .. } = letter;
        Self { event: event.into(), attempts: *attempts, reason: short(reason), at_ns: *at_ns }
    }
}

impl From<&Event> for messages::Event {
    fn from(event: &Event) -> Self {
        let Event { sequence, at_ns, depth, subject } = event;
        let kind = messages::Kind::from(subject.kind()).into();
        let head =
            Self { sequence: *sequence, at_ns: *at_ns, depth: *depth, kind, ..Self::default() };
        match subject {
            Subject::Object { collection, name, version, .. } => {
                let (of, name) = (collection.clone(), name.clone());
                Self { of, name, number: *version, ..head }
            }
            Subject::Flash { kind, block, detail } => {
                Self { name: short(kind), number: *block, detail: short(detail), ..head }
            }
            Subject::Application { application, name, payload } => {
                let (of, payload) = (application.clone(), payload.clone());
                Self { of, name: short(name), payload, ..head }
            }
            Subject::Fault { application, kind, detail } => {
                let (of, name) = (application.clone(), kind.clone());
                Self { of, name, detail: short(detail), ..head }
            }
        }
    }
}

impl From<&Notice> for messages::Notice {
    fn from(notice: &Notice) -> Self {
        let Notice { number, at_ns, name, what } = notice;
        let what = Some(messages::What::from(what));
        Self { number: *number, at_ns: *at_ns, name: name.clone(), what }
    }
}

impl From<&What> for messages::What {
    fn from(what: &What) -> Self {
        let changed = |to: To| {
            let to = to.into();
            Self::Changed(Changed { to, version: String::new() })
        };
        match what {
            What::Installed { version } => {
                let (to, version) = (To::Installed.into(), version.clone());
                Self::Changed(Changed { to, version })
            }
            What::Removed => changed(To::Removed),
            What::Started => changed(To::Started),
            What::Stopped => changed(To::Stopped),
            What::Registered => changed(To::Registered),
            What::Unregistered => changed(To::Unregistered),
            What::Held => changed(To::Held),
            What::Faulted(fault) => {
                let (kind, detail) = (fault.kind().to_owned(), short(&fault.to_string()));
                Self::Faulted(Faulted { kind, detail })
            }
            What::Logged(level, line) => {
                let level = match level {
                    Level::Error => messages::Level::Error,
                    Level::Warn => messages::Level::Warn,
                    Level::Info => messages::Level::Info,
                    Level::Debug => messages::Level::Debug,
                };
                Self::Logged(Logged { level: level.into(), line: short(line) })
            }
            What::Published(event) => Self::Published(event.into()),
            What::Handled { sequence, attempt } => {
                let (sequence, attempt) = (*sequence, *attempt);
                Self::Delivered(Delivered { sequence, attempt, dead: None })
            }
            What::DeadLetter { sequence, reason } => {
                let (sequence, dead) = (*sequence, Some(short(reason)));
                Self::Delivered(Delivered { sequence, attempt: 0, dead })
            }
            What::Missed { up_to } => Self::Forgotten(*up_to),
            What::Failed { reason } => Self::Failed(short(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::known(&[1, 7], true)]
    #[case::none(&[0, 1], false)]
    #[case::of_a_later_version(&[1, 115], false)]
    fn handler_of_a_kind_that_is_not_known_is_refused(
        #[case] kinds: &[i32],
        #[case] expected: bool,
    ) {
        let filter = messages::Filter { kinds: kinds.to_vec(), ..messages::Filter::default() };
        let register = Register { filter, ..Register::default() };
        let found = handler_of(register).map(|(handler, _)| handler.filter.kinds.len());
        assert_eq!(found.is_ok_and(|count| count == kinds.len()), expected);
    }
}
