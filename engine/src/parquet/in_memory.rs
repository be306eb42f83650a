// SPDX-License-Identifier: Apache-2.0
//! Lets the `parquet` crate decode bytes that were read before, at their place in the file.

use bytes::{Buf, Bytes, buf::Reader};
use datafusion::parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::reader::{ChunkReader, Length},
};

/// A file of which only some bytes are in memory.
pub(super) struct InMemory {
    /// The place of the first byte in the file.
    pub(super) start: u64,
    pub(super) bytes: Bytes,
}

impl Length for InMemory {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for InMemory {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let length = self.len().saturating_sub(start);
        Ok(self.get_bytes(start, usize::try_from(length)?)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let start = start.checked_sub(self.start).map(usize::try_from).transpose()?;
        let range = start.and_then(|start| Some(start..start.checked_add(length)?));
        match range.filter(|range| range.end <= self.bytes.len()) {
            Some(range) => Ok(self.bytes.slice(range)),
            None => Err(ParquetError::EOF("a page ends after its chunk".to_owned())),
        }
    }
}
