// SPDX-License-Identifier: Apache-2.0
//! Reads one version of an object.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    disk::DiskFile,
    error::{Error, Result},
    object::ObjectInfo,
};

/// An object as it was when it was opened, whatever happens to it afterwards.
#[derive(Debug, Clone)]
pub struct Reader {
    info: ObjectInfo,
    file: Arc<dyn DiskFile>,
}

impl Reader {
    pub(crate) fn new(info: ObjectInfo, file: Arc<dyn DiskFile>) -> Self {
        Self { info, file }
    }

    /// The object.
    #[must_use]
    pub fn info(&self) -> &ObjectInfo {
        &self.info
    }

    /// Reads a range of bytes.
    ///
    /// # Errors
    /// [`Error::Range`] if it ends behind the object or starts behind its end, or an error of the
    /// system.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let path = || self.info.path.to_string();
        let end = range.end.max(range.start);
        if end > self.info.length {
            return Err(Error::Range { path: path(), end, length: self.info.length });
        }
        let too_long = |_| Error::Range { path: path(), end, length: self.info.length };
        let count = usize::try_from(end - range.start).map_err(too_long)?;
        let mut bytes = vec![0; count];
        let read = self.file.read_at(range.start, &mut bytes);
        read.map_err(Error::io("read", &path()))?;
        Ok(bytes.into())
    }

    /// Reads all bytes.
    ///
    /// # Errors
    /// An error of the system.
    pub fn read_all(&self) -> Result<Bytes> {
        self.read(0..self.info.length)
    }
}
