// SPDX-License-Identifier: Apache-2.0
//! Keeps the objects of a storage server, in the manner of OSD-2: partitions hold collections,
//! collections hold objects, and objects have bytes and attributes.
//!
//! ```text
//! root/catalog        an embedded database: names, lengths, attributes, quotas, the log of changes
//! root/data/a/..a     the bytes of objects; a file is known by its number, never by a name
//! root/lock           held by the process that has the store open
//! ```
//!
//! All functions block, so an async server calls them on threads of its own.
//!
//! # What this crate does not do
//!
//! It has no network, no authentication, no applications and no drive: it does not look into the
//! bytes that it keeps, and when it reads them it does not compute the hash again that it keeps of
//! objects that were written as a whole. An object is in one collection. After a failure of the
//! catalog nothing can be changed until the store is opened again.
//!
//! # Invariants
//!
//! - What was acknowledged survives a crash: the file of an object is synced, then its folder, then
//!   the transaction that names it. What was not acknowledged is there as a whole or not at all.
//! - Bytes of a file that were an object's never change and are never cut off while the store is
//!   open, so a [`Reader`] sees the version that it opened, whatever is written or removed
//!   meanwhile.
//! - A change of an object and its entry in the log of changes are one transaction.
//! - After [`Store::open`] every numbered file below `data` is an object's and ends with it, unless
//!   there are damaged objects: then nothing is removed.
#![forbid(unsafe_code)]

mod append;
mod attributes;
mod catalog;
mod change;
mod changes;
mod containers;
mod content;
mod disk;
mod drive;
mod error;
mod files;
mod local;
mod object;
mod owner;
mod path;
mod quota;
mod reader;
mod store;
mod writer;

pub use change::{Change, ChangeKind};
pub use content::ContentHash;
pub use disk::{Disk, DiskFile};
pub use drive::StoreDrive;
pub use error::{Error, Limit, Result};
pub use local::LocalDisk;
pub use object::{Condition, ObjectInfo};
pub use owner::Owner;
pub use path::{CollectionPath, DEFAULT_PARTITION, ObjectPath, SYSTEM_PARTITION};
pub use quota::{Quota, Usage};
pub use reader::{LocalFile, Reader};
pub use store::Store;
pub use writer::Writer;
