// SPDX-License-Identifier: Apache-2.0
//! Describes the applications of a server to its clients. What the parts mean is on the page
//! `docs/applications.md`.

use std::fmt;

/// What is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The manifest, in TOML.
    pub manifest: String,
    /// The component: at most 128 MiB.
    pub component: bytes::Bytes,
    /// The signature of both, if there is one.
    pub signature: Option<[u8; 64]>,
}

/// What happens to an application of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replace {
    /// It stays, and the request is an error.
    #[default]
    Never,
    /// It is replaced; its calls that run are stopped.
    Same,
}

/// An application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its version, for people.
    pub version: String,
    /// What it does, for people.
    pub description: String,
    /// What it can be called as: `command`, `table`, `handler`.
    pub entries: Vec<String>,
    /// What it may do, for people, as `read raw; read, write tables`.
    pub rights: String,
    /// Whether it can be called.
    pub state: State,
    /// The SHA-256 of its component, in hexadecimal digits.
    pub sha256: String,
    /// It came with a signature that was trusted.
    pub is_signed: bool,
}

/// Whether an application can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was never started.
    Installed,
    /// It can be called.
    Started,
    /// It was stopped.
    Stopped,
    /// Something that this version does not know.
    Unknown,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Installed => "installed",
            Self::Started => "started",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
        })
    }
}

/// A handler of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// Its name.
    pub name: String,
    /// The application that handles the events.
    pub application: String,
    /// Which events it gets.
    pub filter: Filter,
}

/// Which events a handler gets: those for which everything that is named holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of these kinds.
    pub kinds: Vec<EventKind>,
    /// Of objects in this collection, `partition/*` or `*`; all, if there is none.
    pub collection: Option<String>,
    /// Of objects whose names start so.
    pub prefix: String,
    /// Of objects whose names end so; any of them, all if there are none.
    pub suffixes: Vec<String>,
    /// Of this application, if it is an event or a fault of one.
    pub application: Option<String>,
    /// Of this name, if an application made it; of this kind, if it is of the flash or a fault.
    pub name: Option<String>,
}

/// The events with which a handler begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Beginning {
    /// Those after its registration.
    #[default]
    Now,
    /// All that the log of changes still has.
    Oldest,
    /// Those after a number in the log.
    After(u64),
}

/// A kind of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// An object was made.
    Created,
    /// The bytes of an object changed.
    Written,
    /// An object was removed.
    Removed,
    /// The attributes of an object changed.
    AttributesChanged,
    /// Something happened to the flash.
    Flash,
    /// An application made it.
    Application,
    /// A call of an application broke a rule.
    Fault,
    /// Something that this version does not know.
    Unknown,
}

impl EventKind {
    /// All that are known.
    pub const ALL: [Self; 7] = [
        Self::Created,
        Self::Written,
        Self::Removed,
        Self::AttributesChanged,
        Self::Flash,
        Self::Application,
        Self::Fault,
    ];

    /// Its name, which never changes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Written => "written",
            Self::Removed => "removed",
            Self::AttributesChanged => "attributes-changed",
            Self::Flash => "flash",
            Self::Application => "application",
            Self::Fault => "fault",
            Self::Unknown => "unknown",
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number in the log of changes; 0 while it is not in it.
    pub sequence: u64,
    /// When it happened, in ns since 1970.
    pub at_ns: u64,
    /// How many handlers in a chain have caused it.
    pub depth: u32,
    /// Its kind, which tells what the others mean.
    pub kind: EventKind,
    /// The collection of an object with its partition; the application of others; empty for the
    /// flash.
    pub of: String,
    /// Of the object, or the one that an application gave; the kind of a fault, or of what happened
    /// to the flash.
    pub name: String,
    /// The version of the object, or the block of the flash.
    pub number: u64,
    /// What is known of a fault, or of what happened to the flash.
    pub detail: String,
    /// What an application gave with its event.
    pub payload: Vec<u8>,
}

/// An event that a handler could not handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The event.
    pub event: Event,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed the last time.
    pub reason: String,
    /// When that was, in ns since 1970.
    pub at_ns: u64,
}

/// What a watcher gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// Something happened.
    Notice(Notice),
    /// So many notices were left out, because the watcher is slow or began late.
    Missed(u64),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its number; later ones have larger ones, until the server is started anew.
    pub number: u64,
    /// When, in ns since 1970.
    pub at_ns: u64,
    /// The application or the handler; empty if it is about neither.
    pub name: String,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An application was installed, or replaced by another version.
    Installed {
        /// Its version.
        version: String,
    },
    /// It was removed.
    Removed,
    /// It can be called.
    Started,
    /// It cannot be called any more.
    Stopped,
    /// A call of it broke a rule.
    Faulted {
        /// A word for the rule, which never changes.
        kind: String,
        /// What is known of it.
        detail: String,
    },
    /// It wrote a line.
    Logged {
        /// How serious it is.
        level: Level,
        /// The line.
        line: String,
    },
    /// A handler was registered.
    Registered,
    /// A handler was unregistered.
    Unregistered,
    /// An event that no object has caused was published.
    Published(Event),
    /// A handler has handled an event.
    Handled {
        /// Its number.
        sequence: u64,
        /// At which attempt.
        attempt: u32,
    },
    /// A handler could not handle an event, which is a dead letter now.
    DeadLetter {
        /// Its number.
        sequence: u64,
        /// Why.
        reason: String,
    },
    /// A handler gets no events while there are as many dead letters as are kept.
    Held,
    /// Changes were forgotten before a handler has seen them.
    Forgotten {
        /// The last of them.
        up_to: u64,
    },
    /// Something cannot be read or written.
    Failed {
        /// What is known of it.
        reason: String,
    },
    /// Something that this version does not know.
    Unknown,
}

/// How serious a line of an application is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something is wrong.
    Error,
    /// Something is not as expected.
    Warn,
    /// Of interest to whoever runs the application.
    Info,
    /// Of interest to whoever writes it.
    Debug,
}
