// SPDX-License-Identifier: Apache-2.0
//! Reads ahead of a scan: requests in the order in which the scan will want them, a bounded number
//! of bytes at a time.
//!
//! The bound is on bytes that were requested and not handed to the scan yet; one request is always
//! under way, however long. Memory is charged before its read begins and returned when the scan
//! drops the bytes. A charge that is refused only shortens the lead, unless the scan has nothing
//! else to wait for.

use std::{collections::VecDeque, fmt, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    begin::{self, Place},
    error::{Error, Failed},
    file::File,
    local::Local,
    pool::{Charge, Charged},
    reader::Reader,
    slot::{Pending, Read},
    target::{Aligned, BLOCK},
};

/// A range that a scan will want.
#[derive(Debug, Clone)]
pub struct Request {
    /// The file.
    pub file: File,
    /// The bytes.
    pub range: Range<u64>,
}

/// The requests of one scan, whoever runs them.
struct Plan {
    waiting: VecDeque<Request>,
    running: VecDeque<Lead>,
    bytes: u64,
    bytes_max: u64,
    charge: Arc<dyn Charge>,
}

/// A read that the scan has not come to yet.
struct Lead {
    read: Read<Aligned>,
    place: Place,
    charged: Charged,
}

/// Bytes with what they were charged.
struct Owned {
    buffer: Aligned,
    _charged: Charged,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_ref()
    }
}

impl Plan {
    fn new(requests: Vec<Request>, bytes_max: u64, charge: Arc<dyn Charge>) -> Self {
        Self { waiting: requests.into(), running: VecDeque::new(), bytes: 0, bytes_max, charge }
    }

    /// Begins as many reads as the bound admits.
    fn fill(
        &mut self,
        mut begin: impl FnMut(&Request) -> Result<(Pending<Aligned>, Place), Error>,
    ) -> Result<(), Error> {
        while let Some(request) = self.waiting.front() {
            let place = begin::place(&request.range)?;
            let bytes = place.to.next_multiple_of(BLOCK) as u64;
            let is_first = self.running.is_empty();
            if !is_first && self.bytes.saturating_add(bytes) > self.bytes_max {
                return Ok(());
            }
            let charged = match Charged::take(&self.charge, bytes) {
                Ok(charged) => charged,
                Err(error) if is_first => return Err(error),
                Err(_) => return Ok(()),
            };
            let (read, place) = begin(request)?;
            self.running.push_back(Lead { read: Read(read), place, charged });
            self.bytes += bytes;
            self.waiting.pop_front();
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Lead> {
        let lead = self.running.pop_front()?;
        self.bytes -= lead.charged.bytes();
        Some(lead)
    }

    /// Begins nothing more and drops what there is.
    fn stop(&mut self) {
        self.waiting.clear();
        self.running.clear();
        self.bytes = 0;
    }
}

fn finish(
    result: Result<Aligned, Failed<Aligned>>,
    place: Place,
    charged: Charged,
) -> Result<Bytes, Error> {
    let buffer = result?;
    Ok(Bytes::from_owner(Owned { buffer, _charged: charged }).slice(place.from..place.to))
}

/// Reads ahead through a shared [`Reader`].
pub struct ReadAhead {
    reader: Reader,
    plan: Plan,
}

impl fmt::Debug for ReadAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead").field("bytes", &self.plan.bytes).finish_non_exhaustive()
    }
}

impl ReadAhead {
    /// Prepares to read `requests` in their order, at most `bytes_max` ahead; nothing is read
    /// before [`ReadAhead::fill`] or the first [`ReadAhead::next`].
    #[must_use]
    pub fn new(
        reader: &Reader,
        requests: Vec<Request>,
        bytes_max: u64,
        charge: Arc<dyn Charge>,
    ) -> Self {
        Self { reader: reader.clone(), plan: Plan::new(requests, bytes_max, charge) }
    }

    /// Bytes that were requested and not handed out.
    #[must_use]
    pub fn bytes_ahead(&self) -> u64 {
        self.plan.bytes
    }

    /// Begins as many reads as the bound admits.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even the next request is granted; [`Error::Range`].
    pub fn fill(&mut self) -> Result<(), Error> {
        let reader = &self.reader;
        self.plan.fill(|request| reader.begin_range(&request.file, &request.range))
    }

    /// The bytes of the next request; none after the last, or after an error. A call that is
    /// dropped before it ends takes nothing.
    ///
    /// # Errors
    /// Those of the read, and those of [`ReadAhead::fill`].
    pub async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        let result = match self.fill() {
            Ok(()) => {
                // It stays in the plan until it has ended: this future may be dropped before.
                let result = (&mut self.plan.running.front_mut()?.read).await;
                let Lead { place, charged, .. } = self.plan.next()?;
                finish(result, place, charged)
            }
            Err(error) => Err(error),
        };
        // What was handed out made room.
        let result = result.and_then(|bytes| self.fill_behind().map(|()| bytes));
        if result.is_err() {
            self.plan.stop();
        }
        Some(result)
    }

    /// The same for a thread that may wait.
    ///
    /// # Errors
    /// As [`ReadAhead::next`].
    pub fn next_blocking(&mut self) -> Option<Result<Bytes, Error>> {
        futures::executor::block_on(self.next())
    }

    /// A refusal of memory is no error yet: the scan still holds what it was just given.
    fn fill_behind(&mut self) -> Result<(), Error> {
        match self.fill() {
            Err(Error::Memory { .. }) => Ok(()),
            result => result,
        }
    }
}

/// Reads ahead through a [`Local`] reader, which is passed to each call.
pub struct LocalReadAhead(Plan);

impl fmt::Debug for LocalReadAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalReadAhead").field("bytes", &self.0.bytes).finish_non_exhaustive()
    }
}

impl LocalReadAhead {
    /// As [`ReadAhead::new`].
    #[must_use]
    pub fn new(requests: Vec<Request>, bytes_max: u64, charge: Arc<dyn Charge>) -> Self {
        Self(Plan::new(requests, bytes_max, charge))
    }

    /// As [`ReadAhead::fill`].
    ///
    /// # Errors
    /// As there.
    pub fn fill(&mut self, local: &mut Local) -> Result<(), Error> {
        let filled = self.0.fill(|request| local.begin_range(&request.file, &request.range));
        // In one call: the scan decodes while the device works.
        local.poll();
        filled
    }

    /// As [`ReadAhead::next`]. All calls are given the same reader.
    ///
    /// # Errors
    /// As there.
    pub fn next(&mut self, local: &mut Local) -> Option<Result<Bytes, Error>> {
        let result = match self.fill(local) {
            Ok(()) => {
                let Lead { read, place, charged } = self.0.next()?;
                finish(local.wait(read.0), place, charged)
            }
            Err(error) => Err(error),
        };
        let result = result.and_then(|bytes| match self.fill(local) {
            Ok(()) | Err(Error::Memory { .. }) => Ok(bytes),
            Err(error) => Err(error),
        });
        if result.is_err() {
            self.0.stop();
        }
        Some(result)
    }
}
