// SPDX-License-Identifier: Apache-2.0
//! Converts messages about applications to the types of clients and back.

use crate::{
    applications::{
        Application, Beginning, DeadLetter, Event, EventKind, Filter, Handler, Level, Notice,
        State, Watched, What,
    },
    protocol::applications::{self as messages, Changed, Delivered, Faulted, Logged, Seen, To},
};

impl From<messages::Application> for Application {
    fn from(application: messages::Application) -> Self {
        let state = match application.state() {
            messages::State::Unknown => State::Unknown,
            messages::State::Installed => State::Installed,
            messages::State::Started => State::Started,
            messages::State::Stopped => State::Stopped,
        };
        let messages::Application { name, version, description, entries, rights, .. } = application;
        let (sha256, is_signed) = (application.sha256, application.is_signed);
        Self { name, version, description, entries, rights, state, sha256, is_signed }
    }
}

impl From<messages::Kind> for EventKind {
    fn from(kind: messages::Kind) -> Self {
        match kind {
            messages::Kind::Unknown => Self::Unknown,
            messages::Kind::Created => Self::Created,
            messages::Kind::Written => Self::Written,
            messages::Kind::Removed => Self::Removed,
            messages::Kind::AttributesChanged => Self::AttributesChanged,
            messages::Kind::Flash => Self::Flash,
            messages::Kind::Application => Self::Application,
            messages::Kind::Fault => Self::Fault,
        }
    }
}

impl From<EventKind> for messages::Kind {
    fn from(kind: EventKind) -> Self {
        match kind {
            EventKind::Unknown => Self::Unknown,
            EventKind::Created => Self::Created,
            EventKind::Written => Self::Written,
            EventKind::Removed => Self::Removed,
            EventKind::AttributesChanged => Self::AttributesChanged,
            EventKind::Flash => Self::Flash,
            EventKind::Application => Self::Application,
            EventKind::Fault => Self::Fault,
        }
    }
}

/// The message that registers a handler.
pub(crate) fn register(handler: &Handler, beginning: Beginning) -> messages::Register {
    let Handler { name, application, filter } = handler.clone();
    let Filter { kinds, collection, prefix, suffixes, application: of, name: named } = filter;
    let kinds = kinds.into_iter().map(|kind| messages::Kind::from(kind).into()).collect();
    let filter =
        messages::Filter { kinds, collection, prefix, suffixes, application: of, name: named };
    let after = match beginning {
        Beginning::Now => None,
        Beginning::Oldest => Some(0),
        Beginning::After(number) => Some(number),
    };
    messages::Register { name, application, filter, after }
}

impl From<messages::Handler> for (Handler, u64) {
    fn from(handler: messages::Handler) -> Self {
        let messages::Handler { name, application, filter, position } = handler;
        let kinds = filter.kinds().map(EventKind::from).collect();
        let messages::Filter { collection, prefix, suffixes, application: of, name: named, .. } =
            filter;
        let filter = Filter { kinds, collection, prefix, suffixes, application: of, name: named };
        (Handler { name, application, filter }, position)
    }
}

impl From<messages::DeadLetter> for DeadLetter {
    fn from(letter: messages::DeadLetter) -> Self {
        let messages::DeadLetter { event, attempts, reason, at_ns } = letter;
        Self { event: event.into(), attempts, reason, at_ns }
    }
}

impl From<messages::Event> for Event {
    fn from(event: messages::Event) -> Self {
        let kind = event.kind().into();
        let messages::Event { sequence, at_ns, depth, of, name, number, detail, payload, .. } =
            event;
        Self { sequence, at_ns, depth, kind, of, name, number, detail, payload }
    }
}

/// What a message tells a watcher; none if it is one that this version does not know.
pub(crate) fn watched(noticed: messages::Noticed) -> Option<Watched> {
    Some(match noticed.seen? {
        Seen::Missed(count) => Watched::Missed(count),
        Seen::Notice(messages::Notice { number, at_ns, name, what }) => {
            let what = what.map_or(What::Unknown, What::from);
            Watched::Notice(Notice { number, at_ns, name, what })
        }
    })
}

impl From<messages::What> for What {
    fn from(what: messages::What) -> Self {
        match what {
            messages::What::Changed(changed) => Self::from(changed),
            messages::What::Faulted(Faulted { kind, detail }) => Self::Faulted { kind, detail },
            messages::What::Logged(logged) => {
                let level = match logged.level() {
                    messages::Level::Error => Level::Error,
                    messages::Level::Warn => Level::Warn,
                    messages::Level::Info => Level::Info,
                    messages::Level::Debug => Level::Debug,
                };
                let Logged { line, .. } = logged;
                Self::Logged { level, line }
            }
            messages::What::Published(event) => Self::Published(event.into()),
            messages::What::Delivered(Delivered { sequence, attempt, dead: None }) => {
                Self::Handled { sequence, attempt }
            }
            messages::What::Delivered(Delivered { sequence, dead: Some(reason), .. }) => {
                Self::DeadLetter { sequence, reason }
            }
            messages::What::Forgotten(up_to) => Self::Forgotten { up_to },
            messages::What::Failed(reason) => Self::Failed { reason },
        }
    }
}

impl From<Changed> for What {
    fn from(changed: Changed) -> Self {
        match changed.to() {
            To::Unknown => Self::Unknown,
            To::Installed => Self::Installed { version: changed.version },
            To::Removed => Self::Removed,
            To::Started => Self::Started,
            To::Stopped => Self::Stopped,
            To::Registered => Self::Registered,
            To::Unregistered => Self::Unregistered,
            To::Held => Self::Held,
        }
    }
}
