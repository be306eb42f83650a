// SPDX-License-Identifier: Apache-2.0
//! Holds what is behind the handles of an application.

#![expect(unreachable_pub, reason = "generated code re-exports the types")]

use nearscan_store::{ObjectPath, Reader, Writer};

use crate::{
    limits::READ_BYTES_MAX,
    refusal::Refusal,
    tables::{Batches, Sink},
};

/// An open reader of an application.
#[derive(Debug)]
pub struct ReaderState {
    reader: Reader,
    /// Where the stream goes on.
    position: u64,
}

impl ReaderState {
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, position: 0 }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Reads at most so many bytes from an offset on.
    pub(crate) fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>, Refusal> {
        let total = self.reader.info().length;
        if offset > total {
            let text = format!("byte {offset} is beyond the {total} bytes of the object");
            return Err(Refusal::TooLarge(text));
        }
        let length = u64::from(length.min(READ_BYTES_MAX));
        let end = total.min(offset.saturating_add(length));
        Ok(self.reader.read(offset..end)?.to_vec())
    }

    /// Reads the next bytes of the stream.
    pub(crate) fn next(&mut self, length: u32) -> Result<Vec<u8>, Refusal> {
        let bytes = self.read(self.position, length)?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }
}

/// The result of a scan that an application reads.
#[derive(Debug)]
pub struct BatchesState(pub(crate) Box<dyn Batches>);

/// An object that an application writes, by a writer of the store or a sink of the engine, until it
/// is committed.
#[derive(Debug)]
pub struct Written<T> {
    open: Option<T>,
    path: ObjectPath,
}

/// An open writer of an application.
pub type WriterState = Written<Writer>;

/// A Parquet object that an application writes.
pub type SinkState = Written<Box<dyn Sink>>;

impl<T> Written<T> {
    pub(crate) fn new(open: T, path: ObjectPath) -> Self {
        Self { open: Some(open), path }
    }

    /// What is written to.
    pub(crate) fn open(&mut self) -> Result<&mut T, Refusal> {
        self.open.as_mut().ok_or_else(committed)
    }

    /// What is committed, and the name of the object.
    pub(crate) fn take(&mut self) -> Result<(T, ObjectPath), Refusal> {
        Ok((self.open.take().ok_or_else(committed)?, self.path.clone()))
    }
}

fn committed() -> Refusal {
    Refusal::Invalid("it is committed already".to_owned())
}
