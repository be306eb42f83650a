// SPDX-License-Identifier: Apache-2.0
//! Defines the messages about the applications of a storage server.
//!
//! Short requests are actions. An application is installed by `DoPut` with the descriptor
//! [`INSTALL`], and called by an exchange with the descriptor [`RUN`]: each begins with its terms,
//! has the component or the body of the request in parts, and ends with a
//! [`Finish`](super::objects::Finish). Tables and notices are `DoGet` with a ticket that has a
//! [`Stream`].
//!
//! Texts of an application are as long as it likes, so a server cuts them off.

use prost::{Message, Oneof};

/// The minor version of the protocol that has applications.
pub(crate) const SINCE_MINOR: u32 = 4;

/// The descriptor of the stream that installs an application.
pub(crate) const INSTALL: &str = "nearscan.app.install";

/// The descriptor of the exchange that calls an application.
pub(crate) const RUN: &str = "nearscan.app.run";

/// What an audit log calls reading the table of an application.
pub(crate) const TABLE: &str = "nearscan.app.table";

/// What an audit log calls reading notices.
pub(crate) const WATCH: &str = "nearscan.app.watch";

/// The collection of the system with the command object and the response object.
pub(crate) const COMMANDS: &str = "commands";

/// The object that clients write requests to.
pub(crate) const COMMAND: &str = "command";

/// The object that has the answers.
pub(crate) const RESPONSE: &str = "response";

/// The largest body of a request, and the largest answer.
pub(crate) const BODY_BYTES_MAX: u64 = 64 << 20;

/// Begins the stream that installs an application.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Install {
    #[prost(string, tag = "1")]
    pub(crate) manifest: String,
    /// 64 bytes, if there is one.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) signature: Option<Vec<u8>>,
    /// Takes the place of an application of the same name.
    #[prost(bool, tag = "3")]
    pub(crate) replaces: bool,
    /// Bytes of the component, which follows.
    #[prost(uint64, tag = "4")]
    pub(crate) length: u64,
}

/// Begins the exchange that calls an application.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Run {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, repeated, tag = "2")]
    pub(crate) arguments: Vec<String>,
    /// Bytes of the body, which follows.
    #[prost(uint64, tag = "3")]
    pub(crate) length: u64,
}

/// Begins the answer of an application.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Answered {
    /// Bytes of the answer, which follows. It is always given, so that the message is never empty.
    #[prost(uint64, optional, tag = "1")]
    pub(crate) length: Option<u64>,
}

/// What a ticket asks for instead of an object.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Stream {
    #[prost(message, tag = "4")]
    Table(Call),
    #[prost(message, tag = "5")]
    Watch(Watch),
}

/// Calls an application for its table, or for the schema of it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Call {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, repeated, tag = "2")]
    pub(crate) arguments: Vec<String>,
}

/// Asks for the notices behind a number, and those to come.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Watch {
    #[prost(uint64, tag = "1")]
    pub(crate) after: u64,
}

/// The bytes of a schema, which are those of an Arrow IPC stream.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Schema {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) stream: Vec<u8>,
}

/// The name of an application or a handler.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Name {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// Asks for what is behind a name, in the order of names.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListAfter {
    #[prost(string, tag = "1")]
    pub(crate) after: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Applications {
    #[prost(message, repeated, tag = "1")]
    pub(crate) applications: Vec<Application>,
    /// There are more behind the last one.
    #[prost(bool, tag = "2")]
    pub(crate) is_partial: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Application {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
    #[prost(string, tag = "3")]
    pub(crate) description: String,
    /// As manifests name them.
    #[prost(string, repeated, tag = "4")]
    pub(crate) entries: Vec<String>,
    /// What it may do, for people.
    #[prost(string, tag = "5")]
    pub(crate) rights: String,
    #[prost(enumeration = "State", tag = "6")]
    pub(crate) state: i32,
    #[prost(string, tag = "7")]
    pub(crate) sha256: String,
    #[prost(bool, tag = "8")]
    pub(crate) is_signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum State {
    /// A newer server says something else.
    Unknown = 0,
    Installed = 1,
    Started = 2,
    Stopped = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Register {
    /// Of the handler.
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) application: String,
    #[prost(message, required, tag = "3")]
    pub(crate) filter: Filter,
    /// The number of the change behind which it begins: 0 is the oldest that there is. Without it
    /// the handler begins with what comes.
    #[prost(uint64, optional, tag = "4")]
    pub(crate) after: Option<u64>,
}

/// Which events a handler gets; what is not given matches all.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Filter {
    #[prost(enumeration = "Kind", repeated, tag = "1")]
    pub(crate) kinds: Vec<i32>,
    #[prost(string, optional, tag = "2")]
    pub(crate) collection: Option<String>,
    #[prost(string, tag = "3")]
    pub(crate) prefix: String,
    #[prost(string, repeated, tag = "4")]
    pub(crate) suffixes: Vec<String>,
    #[prost(string, optional, tag = "5")]
    pub(crate) application: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub(crate) name: Option<String>,
}

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Kind {
    /// A newer peer says something else.
    Unknown = 0,
    Created = 1,
    Written = 2,
    Removed = 3,
    AttributesChanged = 4,
    Flash = 5,
    Application = 6,
    Fault = 7,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Handlers {
    #[prost(message, repeated, tag = "1")]
    pub(crate) handlers: Vec<Handler>,
    /// There are more behind the last one.
    #[prost(bool, tag = "2")]
    pub(crate) is_partial: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Handler {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) application: String,
    #[prost(message, required, tag = "3")]
    pub(crate) filter: Filter,
    /// The number of the last change that it has seen.
    #[prost(uint64, tag = "4")]
    pub(crate) position: u64,
}

/// Asks for the dead letters of a handler behind an event.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListDeadLetters {
    #[prost(string, tag = "1")]
    pub(crate) handler: String,
    #[prost(uint64, tag = "2")]
    pub(crate) after: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeadLetters {
    #[prost(message, repeated, tag = "1")]
    pub(crate) letters: Vec<DeadLetter>,
    /// There may be more behind the last one.
    #[prost(bool, tag = "2")]
    pub(crate) is_partial: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeadLetter {
    #[prost(message, required, tag = "1")]
    pub(crate) event: Event,
    #[prost(uint32, tag = "2")]
    pub(crate) attempts: u32,
    #[prost(string, tag = "3")]
    pub(crate) reason: String,
    #[prost(uint64, tag = "4")]
    pub(crate) at_ns: u64,
}

/// A dead letter of a handler, by the number of its event.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Letter {
    #[prost(string, tag = "1")]
    pub(crate) handler: String,
    #[prost(uint64, tag = "2")]
    pub(crate) sequence: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Event {
    #[prost(uint64, tag = "1")]
    pub(crate) sequence: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) at_ns: u64,
    #[prost(uint32, tag = "3")]
    pub(crate) depth: u32,
    #[prost(enumeration = "Kind", tag = "4")]
    pub(crate) kind: i32,
    /// The collection of an object with its partition, or the application.
    #[prost(string, tag = "5")]
    pub(crate) of: String,
    /// Of an object or of an application's event; the kind of a fault or of what happened to the
    /// flash.
    #[prost(string, tag = "6")]
    pub(crate) name: String,
    /// The version of an object, or a block of the flash.
    #[prost(uint64, tag = "7")]
    pub(crate) number: u64,
    /// What is known of a fault, or of what happened to the flash.
    #[prost(string, tag = "8")]
    pub(crate) detail: String,
    /// What an application gave with its event.
    #[prost(bytes = "vec", tag = "9")]
    pub(crate) payload: Vec<u8>,
}

/// A message to who watches.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Noticed {
    #[prost(oneof = "Seen", tags = "1, 2")]
    pub(crate) seen: Option<Seen>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Seen {
    #[prost(message, tag = "1")]
    Notice(Notice),
    /// So many notices were not sent, because the watcher is slow.
    #[prost(uint64, tag = "2")]
    Missed(u64),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Notice {
    #[prost(uint64, tag = "1")]
    pub(crate) number: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) at_ns: u64,
    /// The application or the handler.
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(oneof = "What", tags = "4, 5, 6, 7, 8, 9, 10")]
    pub(crate) what: Option<What>,
}

/// What happened.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum What {
    /// The new state; the version is there if the application was installed.
    #[prost(message, tag = "4")]
    Changed(Changed),
    #[prost(message, tag = "5")]
    Faulted(Faulted),
    #[prost(message, tag = "6")]
    Logged(Logged),
    #[prost(message, tag = "7")]
    Published(Event),
    #[prost(message, tag = "8")]
    Delivered(Delivered),
    /// Changes up to this one were forgotten before the handler has seen them.
    #[prost(uint64, tag = "9")]
    Forgotten(u64),
    /// Something cannot be read or written.
    #[prost(string, tag = "10")]
    Failed(String),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Changed {
    #[prost(enumeration = "To", tag = "1")]
    pub(crate) to: i32,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}

/// What an application or a handler has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum To {
    /// A newer server says something else.
    Unknown = 0,
    Installed = 1,
    Removed = 2,
    Started = 3,
    Stopped = 4,
    Registered = 5,
    Unregistered = 6,
    /// A handler gets no events while there are as many dead letters as are kept.
    Held = 7,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Faulted {
    /// A word for the rule, which never changes.
    #[prost(string, tag = "1")]
    pub(crate) kind: String,
    #[prost(string, tag = "2")]
    pub(crate) detail: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Logged {
    #[prost(enumeration = "Level", tag = "1")]
    pub(crate) level: i32,
    #[prost(string, tag = "2")]
    pub(crate) line: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Level {
    Info = 0,
    Error = 1,
    Warn = 2,
    Debug = 3,
}

/// A handler has handled an event; or not, and there is a dead letter.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Delivered {
    #[prost(uint64, tag = "1")]
    pub(crate) sequence: u64,
    #[prost(uint32, tag = "2")]
    pub(crate) attempt: u32,
    /// Why there is a dead letter.
    #[prost(string, optional, tag = "3")]
    pub(crate) dead: Option<String>,
}

/// The details of a status: what the codes of gRPC do not tell apart.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Refused {
    #[prost(enumeration = "Why", tag = "1")]
    pub(crate) why: i32,
    /// The application's words, or the kind of a fault.
    #[prost(string, tag = "2")]
    pub(crate) words: String,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Why {
    /// The code of the status tells.
    Code = 0,
    NotStarted = 1,
    InUse = 2,
    Failed = 3,
    Fault = 4,
    TooLarge = 5,
}
