// SPDX-License-Identifier: Apache-2.0
//! Defines the messages about the objects of a storage server.
//!
//! Short requests are actions. Bytes of objects are streams: Flight's `DoGet` with a [`Read`] as
//! its ticket, and `DoPut` that begins with a [`Put`] and ends with a [`Finish`].
//!
//! What a change demands of the object is an `expected` version: none demands nothing, 0 that there
//! is no object of the name.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

use super::applications::Stream;

/// Most bytes of one message of an append or a write; the rest are fields around them.
pub(crate) const WRITE_BYTES_MAX: usize = 3 << 20;

/// Most ranges of one read.
pub(crate) const RANGES_MAX: usize = 4096;

/// Most objects, or changes, of one answer.
pub(crate) const LIST_MAX: u32 = 1000;

/// Bytes of the entries of one answer whose number has no limit: a message has room for the last of
/// them beyond that.
pub(crate) const PAGE_BYTES: usize = 3 << 20;

/// The name of an object, or of a container of objects where its last parts are empty.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(crate) struct ObjectName {
    /// Empty for the default one.
    #[prost(string, tag = "1")]
    pub(crate) partition: String,
    #[prost(string, tag = "2")]
    pub(crate) collection: String,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ObjectInfo {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    #[prost(uint64, tag = "2")]
    pub(crate) length: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) version: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) created_ns: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) written_ns: u64,
    /// XXH3 of all bytes, 16 bytes, big-endian; none where it is not known.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub(crate) hash: Option<Bytes>,
}

/// Asks for the objects of a collection in the order of their names.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct List {
    #[prost(message, required, tag = "1")]
    pub(crate) collection: ObjectName,
    /// Of the names.
    #[prost(string, tag = "2")]
    pub(crate) prefix: String,
    /// The name behind which the list begins.
    #[prost(string, optional, tag = "3")]
    pub(crate) after: Option<String>,
    /// At most [`LIST_MAX`], which also stands for 0.
    #[prost(uint32, tag = "4")]
    pub(crate) limit: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Listed {
    #[prost(message, repeated, tag = "1")]
    pub(crate) objects: Vec<ObjectInfo>,
    /// There may be more behind the last one.
    #[prost(bool, tag = "2")]
    pub(crate) is_partial: bool,
}

/// An answer without words.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Done {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Remove {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) expected: Option<u64>,
}

/// Writes bytes at the end of an object, or from an offset on.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Write {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) expected: Option<u64>,
    /// The end, if it is not given.
    #[prost(uint64, optional, tag = "3")]
    pub(crate) offset: Option<u64>,
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) bytes: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Truncate {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) expected: Option<u64>,
    #[prost(uint64, tag = "3")]
    pub(crate) length: u64,
}

/// Copies the bytes of an object to another one, in the server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Copy {
    #[prost(message, required, tag = "1")]
    pub(crate) from: ObjectName,
    #[prost(message, required, tag = "2")]
    pub(crate) to: ObjectName,
    /// Of the copy.
    #[prost(uint64, optional, tag = "3")]
    pub(crate) expected: Option<u64>,
}

/// Asks for the attributes of something, or for the containers within it, in the order of their
/// names. Its name has the fields of an [`ObjectName`], as which it can be read.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Within {
    #[prost(string, tag = "1")]
    pub(crate) partition: String,
    #[prost(string, tag = "2")]
    pub(crate) collection: String,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    /// The name behind which the answer begins.
    #[prost(string, optional, tag = "4")]
    pub(crate) after: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attributes {
    #[prost(btree_map = "string, bytes", tag = "1")]
    pub(crate) attributes: BTreeMap<String, Vec<u8>>,
    /// There are more behind the last one.
    #[prost(bool, tag = "2")]
    pub(crate) is_partial: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetAttribute {
    #[prost(message, required, tag = "1")]
    pub(crate) of: ObjectName,
    #[prost(string, tag = "2")]
    pub(crate) attribute: String,
    /// None removes it.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) value: Option<Bytes>,
}

/// A partition or a collection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Container {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    /// The quota, if there is one.
    #[prost(uint64, optional, tag = "2")]
    pub(crate) bytes_max: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) objects_max: Option<u64>,
    /// What it holds.
    #[prost(uint64, tag = "4")]
    pub(crate) bytes: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) objects: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Containers {
    #[prost(message, repeated, tag = "1")]
    pub(crate) containers: Vec<Container>,
    /// There are more behind the last one.
    #[prost(bool, tag = "2")]
    pub(crate) is_partial: bool,
}

/// Asks for the changes of objects behind one.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListChanges {
    #[prost(uint64, tag = "1")]
    pub(crate) after: u64,
    /// At most [`LIST_MAX`], which also stands for 0.
    #[prost(uint32, tag = "2")]
    pub(crate) limit: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Change {
    #[prost(uint64, tag = "1")]
    pub(crate) sequence: u64,
    #[prost(enumeration = "Kind", tag = "2")]
    pub(crate) kind: i32,
    #[prost(message, required, tag = "3")]
    pub(crate) name: ObjectName,
    #[prost(uint64, tag = "4")]
    pub(crate) at_ns: u64,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Kind {
    /// A newer server says something else.
    Unknown = 0,
    Created = 1,
    Written = 2,
    Removed = 3,
    AttributesChanged = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Changes {
    #[prost(message, repeated, tag = "1")]
    pub(crate) changes: Vec<Change>,
    /// The number of the last change of all.
    #[prost(uint64, tag = "2")]
    pub(crate) last: u64,
}

/// The ticket of a stream of bytes, or of another stream.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Read {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    /// The version that is meant; any without it.
    #[prost(uint64, optional, tag = "2")]
    pub(crate) version: Option<u64>,
    /// The bytes of each follow those of the one before; all bytes if there are none.
    #[prost(message, repeated, tag = "3")]
    pub(crate) ranges: Vec<Range>,
    /// What is read instead of an object.
    #[prost(oneof = "Stream", tags = "4, 5")]
    pub(crate) stream: Option<Stream>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Range {
    #[prost(uint64, tag = "1")]
    pub(crate) start: u64,
    /// Behind the last byte.
    #[prost(uint64, tag = "2")]
    pub(crate) end: u64,
}

/// The first message of a stream to the server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Put {
    #[prost(message, required, tag = "1")]
    pub(crate) name: ObjectName,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) expected: Option<u64>,
    /// Makes the collection, if there is none.
    #[prost(bool, tag = "3")]
    pub(crate) makes_collection: bool,
    /// Attributes that the object gets, in the same transaction.
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(crate) attributes: BTreeMap<String, Vec<u8>>,
}

/// The last message of a stream to the server: a stream that ends without it was cut off, and puts
/// nothing.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Finish {
    /// Bytes that were sent. It is always given, so that the message is never empty.
    #[prost(uint64, optional, tag = "1")]
    pub(crate) length: Option<u64>,
}
