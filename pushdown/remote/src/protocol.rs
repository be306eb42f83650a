// SPDX-License-Identifier: Apache-2.0
//! Defines the messages between client and server, apart from the bytes of commands and results.
//!
//! They are protobuf, in the bodies of Flight's actions and in the `app_metadata` of an exchange. A
//! field that a peer does not know is skipped, so a new one needs a new minor version only. What a
//! peer cannot do without knowing needs a new major version, and peers of different ones refuse
//! each other at the first message.

pub(crate) mod action;
pub(crate) mod applications;
pub(crate) mod http1;
pub(crate) mod objects;

use bytes::Bytes;
use prost::{Message, Oneof};

use objects::ObjectName;

/// Changes that a peer has to know.
pub const PROTOCOL_MAJOR: u32 = 1;
/// Changes that a peer may skip.
pub const PROTOCOL_MINOR: u32 = 9;

/// Most bytes of one message: the largest command, or a part of a result, with the fields around
/// it.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 20;

const _: () = assert!(
    nearscan_command::limits::MERGE_COMMAND_BYTES_MAX as usize + (1 << 16) < MESSAGE_BYTES_MAX
);

/// Bytes that a stream, and a connection, may send before the other side has taken them: enough for
/// 10 Gbit/s over 10 ms.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 8 << 20;
/// See [`STREAM_WINDOW_BYTES`].
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Most bytes of a frame of HTTP/2: a part of an object is one, and not sixteen.
pub(crate) const FRAME_BYTES_MAX: u32 = 256 << 10;

/// The path of requests for the bytes of an object: Flight's `DoGet`.
pub(crate) const GET_PATH: &str = "/arrow.flight.protocol.FlightService/DoGet";

/// The path of an exchange: Flight's `DoExchange`.
pub(crate) const EXCHANGE_PATH: &str = "/arrow.flight.protocol.FlightService/DoExchange";

/// Bytes before each message of gRPC: whether it is compressed, and its length.
pub(crate) const MESSAGE_HEAD_BYTES: usize = 5;

/// The number and kind of the field `data_body` of Flight's `FlightData`, as they are encoded:
/// number 1000, bytes.
pub(crate) const DATA_BODY_KEY: [u8; 2] = [0xc2, 0x3e];

/// The descriptor of the exchange that a session is.
pub(crate) const SESSION: &str = "nearscan.session";

/// The descriptor of the stream that puts an object.
pub(crate) const PUT: &str = "nearscan.put";

/// The first thing that a client says.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Hello {
    #[prost(uint32, tag = "1")]
    pub(crate) protocol_major: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) protocol_minor: u32,
    /// Of the command format.
    /// The tags 4 and 5 were in use by clients of version 1.3 and are not given again.
    #[prost(uint32, tag = "3")]
    pub(crate) format_major: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Welcome {
    #[prost(uint32, tag = "1")]
    pub(crate) protocol_major: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) protocol_minor: u32,
    /// Another one each time the server is started.
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) instance: Bytes,
    #[prost(uint64, tag = "4")]
    pub(crate) epoch: u64,
    #[prost(bytes = "bytes", tag = "5")]
    pub(crate) drive_uuid: Bytes,
    #[prost(string, tag = "6")]
    pub(crate) kind: String,
    #[prost(string, tag = "7")]
    pub(crate) model: String,
    #[prost(message, required, tag = "8")]
    pub(crate) capabilities: Capabilities,
}

/// The capabilities of a drive; numbers are those of the command format.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Capabilities {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
    #[prost(uint32, repeated, tag = "2")]
    pub(crate) physical_types: Vec<u32>,
    #[prost(uint32, repeated, tag = "3")]
    pub(crate) codecs: Vec<u32>,
    #[prost(uint32, repeated, tag = "4")]
    pub(crate) encodings: Vec<u32>,
    #[prost(uint32, repeated, tag = "5")]
    pub(crate) operations: Vec<u32>,
    #[prost(uint32, repeated, tag = "6")]
    pub(crate) tests: Vec<u32>,
    #[prost(uint32, repeated, tag = "7")]
    pub(crate) functions: Vec<u32>,
    #[prost(uint32, tag = "8")]
    pub(crate) columns_max: u32,
    #[prost(uint32, tag = "9")]
    pub(crate) steps_max: u32,
    #[prost(uint32, tag = "10")]
    pub(crate) aggregates_max: u32,
    #[prost(uint32, tag = "11")]
    pub(crate) keys_max: u32,
    #[prost(uint64, tag = "12")]
    pub(crate) key_dictionary_bytes_max: u64,
    #[prost(uint64, tag = "13")]
    pub(crate) dictionary_bytes_max: u64,
    #[prost(uint32, tag = "14")]
    pub(crate) merge_inputs_max: u32,
    #[prost(uint32, tag = "15")]
    pub(crate) in_flight_max: u32,
    #[prost(uint64, tag = "16")]
    pub(crate) memory_bytes: u64,
    #[prost(bool, tag = "17")]
    pub(crate) emulated: bool,
    /// 0 from a server of before: none.
    #[prost(uint32, tag = "18")]
    pub(crate) key_bits_bytes_max: u32,
    /// False from a server of before.
    #[prost(bool, tag = "19")]
    pub(crate) compact_results: bool,
    /// Nothing from a server of before: as many as a scan that is not merged.
    #[prost(uint32, optional, tag = "20")]
    pub(crate) merge_columns_max: Option<u32>,
}

/// A question without words.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ask {
    /// The run of the server that is meant.
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) instance: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Locate {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) instance: Bytes,
    /// Absolute path on the server.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) path: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub(crate) size_bytes: u64,
    #[prost(fixed64, tag = "4")]
    pub(crate) stamp: u64,
    /// The object that is meant instead of a path; its version is the stamp.
    #[prost(message, optional, tag = "5")]
    pub(crate) object: Option<ObjectName>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Located {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) file_id: Option<u64>,
    /// The reason why there is no number.
    #[prost(string, tag = "2")]
    pub(crate) reason: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Health {
    #[prost(uint64, tag = "1")]
    pub(crate) epoch: u64,
    #[prost(uint32, tag = "2")]
    pub(crate) in_flight: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Snapshot {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(uint32, tag = "2")]
    pub(crate) lanes: u32,
    #[prost(double, tag = "3")]
    pub(crate) start_ns: f64,
    #[prost(message, repeated, tag = "4")]
    pub(crate) media: Vec<MediaPoint>,
    #[prost(double, optional, tag = "5")]
    pub(crate) link_bytes_per_s: Option<f64>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) scan: Vec<Rates>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) merge: Vec<Rates>,
    #[prost(uint32, tag = "8")]
    pub(crate) queue_depth: u32,
    #[prost(uint64, tag = "9")]
    pub(crate) free_bytes: u64,
    #[prost(double, optional, tag = "10")]
    pub(crate) dictionary_bytes_per_s: Option<f64>,
    #[prost(message, optional, tag = "11")]
    pub(crate) image: Option<LoadedImage>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LoadedImage {
    #[prost(uint32, tag = "1")]
    pub(crate) columns_max: u32,
    #[prost(bool, tag = "2")]
    pub(crate) merges: bool,
    #[prost(double, tag = "3")]
    pub(crate) exchange_ns: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MediaPoint {
    #[prost(uint64, tag = "1")]
    pub(crate) request_bytes: u64,
    #[prost(double, tag = "2")]
    pub(crate) bytes_per_s: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Rates {
    /// Place of the class in `RequestClass::ALL`.
    #[prost(uint32, tag = "1")]
    pub(crate) class: u32,
    #[prost(double, tag = "2")]
    pub(crate) setup_ns: f64,
    #[prost(double, tag = "3")]
    pub(crate) ns_per_media_byte: f64,
    #[prost(double, tag = "4")]
    pub(crate) ns_per_row: f64,
    #[prost(double, tag = "5")]
    pub(crate) ns_per_link_byte: f64,
    /// 0 assumed, 1 modelled, 2 measured.
    #[prost(uint32, tag = "6")]
    pub(crate) source: u32,
    #[prost(message, optional, tag = "7")]
    pub(crate) fit: Option<Fit>,
    #[prost(double, tag = "8")]
    pub(crate) ns_per_dictionary_byte: f64,
    #[prost(double, tag = "9")]
    pub(crate) ns_per_look_up: f64,
    #[prost(double, tag = "10")]
    pub(crate) ns_per_string_byte: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Fit {
    #[prost(uint64, tag = "1")]
    pub(crate) observations: u64,
    #[prost(double, tag = "2")]
    pub(crate) residual: f64,
}

/// A message of a client in a session.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ToServer {
    #[prost(oneof = "Request", tags = "1, 2, 3")]
    pub(crate) request: Option<Request>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Request {
    #[prost(message, tag = "1")]
    Open(Open),
    #[prost(message, tag = "2")]
    Submit(Submit),
    #[prost(message, tag = "3")]
    Cancel(Cancel),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Open {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) instance: Bytes,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) query_id: Vec<u8>,
    #[prost(uint32, tag = "3")]
    pub(crate) tenant: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Submit {
    /// Device memory to lease for it.
    #[prost(uint64, tag = "1")]
    pub(crate) lease_bytes: u64,
    /// Time it may take, in ns.
    #[prost(uint64, tag = "2")]
    pub(crate) timeout_ns: u64,
    #[prost(oneof = "Work", tags = "3, 4")]
    pub(crate) work: Option<Work>,
}

/// A command as the command format has it.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Work {
    #[prost(bytes = "bytes", tag = "3")]
    Scan(Bytes),
    #[prost(bytes = "bytes", tag = "4")]
    Merge(Bytes),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Cancel {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) command_id: Vec<u8>,
}

/// A message of the server in a session.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FromServer {
    #[prost(oneof = "Event", tags = "1, 2")]
    pub(crate) event: Option<Event>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Event {
    #[prost(message, tag = "1")]
    Opened(Opened),
    #[prost(message, boxed, tag = "2")]
    Ended(Box<Ended>),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Opened {
    #[prost(uint64, tag = "1")]
    pub(crate) epoch: u64,
}

/// The end of a command. Of a result the bytes follow, in this message and the next ones.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ended {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) command_id: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub(crate) attempt: u32,
    #[prost(uint64, tag = "3")]
    pub(crate) media_bytes: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) link_bytes: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) host_bytes: u64,
    #[prost(oneof = "Time", tags = "6, 7")]
    pub(crate) time: Option<Time>,
    #[prost(oneof = "End", tags = "8, 9")]
    pub(crate) end: Option<End>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Time {
    #[prost(uint64, tag = "6")]
    MeasuredNs(u64),
    #[prost(message, tag = "7")]
    Modelled(Modelled),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Modelled {
    #[prost(uint32, tag = "1")]
    pub(crate) model_version: u32,
    #[prost(fixed64, tag = "2")]
    pub(crate) config_hash: u64,
    /// The source of each stage's schedule, in the order of `KernelStage::ALL`.
    #[prost(uint32, repeated, tag = "16")]
    pub(crate) schedules: Vec<u32>,
    #[prost(uint64, tag = "4")]
    pub(crate) setup_ns: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) media_ns: u64,
    /// Of a command alone, and of one behind another: nothing of peers up to version 1.6, where it
    /// is the same.
    #[prost(uint64, tag = "6")]
    pub(crate) kernel_ns: u64,
    #[prost(uint64, optional, tag = "18")]
    pub(crate) kernel_interval_ns: Option<u64>,
    /// In the order of `KernelStage::ALL`. The tags 3 and 7 were in use up to version 1.5, and 12
    /// and 15 in version 1.6, for other stages, and are not given again.
    #[prost(uint64, repeated, tag = "17")]
    pub(crate) stages_ns: Vec<u64>,
    #[prost(uint64, tag = "8")]
    pub(crate) merge_ns: u64,
    #[prost(uint64, tag = "9")]
    pub(crate) link_ns: u64,
    #[prost(uint32, tag = "10")]
    pub(crate) compute_units: u32,
    #[prost(uint64, tag = "11")]
    pub(crate) commands: u64,
    #[prost(uint64, tag = "13")]
    pub(crate) bank_ns: u64,
    #[prost(uint64, tag = "14")]
    pub(crate) ideal_kernel_ns: u64,
    #[prost(uint64, optional, tag = "19")]
    pub(crate) ideal_kernel_interval_ns: Option<u64>,
    #[prost(uint64, tag = "20")]
    pub(crate) exchange_ns: u64,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum End {
    /// Bytes of the result.
    #[prost(uint64, tag = "8")]
    ResultBytes(u64),
    #[prost(message, tag = "9")]
    Failed(Failed),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Failed {
    #[prost(enumeration = "Cause", tag = "1")]
    pub(crate) cause: i32,
    #[prost(string, tag = "2")]
    pub(crate) path: String,
    #[prost(string, tag = "3")]
    pub(crate) reason: String,
    #[prost(uint64, tag = "4")]
    pub(crate) needed_bytes: u64,
}

/// The reason why a command has no result. One that a client does not know is a failed kernel to
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Cause {
    Kernel = 0,
    Read = 1,
    Stale = 2,
    Timeout = 3,
    Cancelled = 4,
    Gone = 5,
    HostMemory = 6,
    Busy = 7,
    LowMemory = 8,
}
