// SPDX-License-Identifier: Apache-2.0
//! Reads objects. A read that loses its connection is begun again behind the bytes that it has, of
//! the same version.

use std::{collections::VecDeque, ops::Range, time::Duration};

use ::object_store::{
    Attributes, Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, Result,
    path::Path,
};
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, stream};
use nearscan_store::ObjectPath;

use super::{RemoteStore, failed, paths::object_path};
use crate::{
    client::{ObjectError, ObjectErrorKind, Reading},
    protocol::objects::RANGES_MAX,
};

/// Waits between two attempts to read on; a read is given up after the last one.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(2000),
];

/// Ranges of an object that are read one after the other, whatever happens to the connection.
struct Steady {
    store: RemoteStore,
    location: Path,
    path: ObjectPath,
    /// What is missing.
    ranges: VecDeque<Range<u64>>,
    version: Option<u64>,
    reading: Option<Reading>,
    pauses: std::slice::Iter<'static, Duration>,
}

impl Steady {
    /// Begins to read ranges of a version of an object; all of it if there are none.
    async fn begin(
        store: &RemoteStore,
        location: &Path,
        version: Option<u64>,
        ranges: &[Range<u64>],
    ) -> Result<Self> {
        let mut steady = Self {
            store: store.clone(),
            location: location.clone(),
            path: object_path(location)?,
            ranges: ranges.iter().cloned().collect(),
            version,
            reading: None,
            pauses: PAUSES.iter(),
        };
        steady.open().await?;
        if let (true, Some(reading)) = (ranges.is_empty(), &steady.reading) {
            steady.ranges.push_back(0..reading.info().length);
        }
        Ok(steady)
    }

    /// Connects, and asks for what is missing.
    async fn open(&mut self) -> Result<()> {
        loop {
            match self.try_open().await {
                Ok(reading) => {
                    self.version = Some(reading.info().version);
                    self.reading = Some(reading);
                    return Ok(());
                }
                Err(error) => self.wait_after(error).await?,
            }
        }
    }

    /// Does not borrow, because an answer that is received must not be seen by two threads.
    fn try_open(&self) -> impl Future<Output = std::result::Result<Reading, ObjectError>> + use<> {
        let connecting = (self.store.connect)();
        let (path, version) = (self.path.clone(), self.version);
        let ranges: Vec<_> = self.ranges.iter().cloned().collect();
        async move { connecting.await?.read(&path, version, &ranges).await }
    }

    /// Waits before the next attempt, if there is one after this error.
    async fn wait_after(&mut self, error: ObjectError) -> Result<()> {
        match self.pauses.next() {
            Some(pause) if error.kind == ObjectErrorKind::Unreachable => {
                tracing::debug!(location = %self.location, %error, "a read is begun again");
                tokio::time::sleep(*pause).await;
                Ok(())
            }
            _ => Err(failed(&self.location, error)),
        }
    }

    fn meta(&self) -> Option<ObjectMeta> {
        self.reading.as_ref().map(|reading| self.store.meta_of(reading.info()))
    }

    /// The next bytes, all of one range; none after the last.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            while self.ranges.front().is_some_and(Range::is_empty) {
                self.ranges.pop_front();
            }
            if self.ranges.is_empty() {
                return Ok(None);
            }
            let Some(reading) = &mut self.reading else {
                self.open().await?;
                continue;
            };
            match reading.next().await {
                Ok(Some(bytes)) => {
                    self.pauses = PAUSES.iter();
                    if let Some(range) = self.ranges.front_mut() {
                        range.start = range.end.min(range.start + bytes.len() as u64);
                    }
                    return Ok(Some(bytes));
                }
                Ok(None) => {
                    let text = "the server sent less than was asked for";
                    return Err(Error::Generic { store: "drive", source: text.into() });
                }
                Err(error) => {
                    self.reading = None;
                    self.wait_after(error).await?;
                }
            }
        }
    }
}

/// Reads ranges of an object.
pub(super) async fn ranges(
    store: &RemoteStore,
    location: &Path,
    version: Option<u64>,
    ranges: &[Range<u64>],
) -> Result<Vec<Bytes>> {
    let mut all = Vec::with_capacity(ranges.len());
    let mut version = version;
    for ranges in ranges.chunks(RANGES_MAX) {
        let mut steady = Steady::begin(store, location, version, ranges).await?;
        version = steady.version;
        for range in ranges {
            let missing = range.end.saturating_sub(range.start);
            all.push(collect(&mut steady, missing).await?);
        }
    }
    Ok(all)
}

/// Collects the bytes of one range; those of one part are not copied.
async fn collect(steady: &mut Steady, length: u64) -> Result<Bytes> {
    let mut collected = BytesMut::new();
    while (collected.len() as u64) < length {
        let Some(part) = steady.next().await? else { break };
        if collected.is_empty() && part.len() as u64 == length {
            return Ok(part);
        }
        if collected.is_empty() {
            collected.reserve(usize::try_from(length).unwrap_or(0));
        }
        collected.extend_from_slice(&part);
    }
    Ok(collected.freeze())
}

/// Answers a request for an object.
pub(super) async fn get(
    store: &RemoteStore,
    location: &Path,
    options: GetOptions,
) -> Result<GetResult> {
    if options.version.is_some() {
        return Err(Error::NotImplemented {
            operation: "reads of former versions".to_owned(),
            implementer: "drive".to_owned(),
        });
    }
    let version = options.if_match.as_ref().and_then(|tag| tag.parse::<u64>().ok());
    let has_other_conditions = options.if_none_match.is_some()
        || options.if_modified_since.is_some()
        || options.if_unmodified_since.is_some()
        || (options.if_match.is_some() && version.is_none());
    // Within an object of a known version the server can be asked at once.
    let asked = match (&options.range, version) {
        (None, _) => Some(Vec::new()),
        (Some(GetRange::Bounded(range)), Some(_)) if range.start < range.end => {
            Some(vec![range.clone()])
        }
        (Some(_), _) => None,
    };
    if let Some(asked) = asked.filter(|_| !options.head && !has_other_conditions) {
        match Steady::begin(store, location, version, &asked).await {
            // It ends behind the object, and is cut off below.
            Err(error) if is_range(&error) => {}
            Err(error) => return Err(error),
            Ok(steady) => {
                let meta = steady.meta();
                let meta = meta.ok_or_else(|| failed(location, ObjectError::unread()))?;
                let range = asked.into_iter().next().unwrap_or(0..meta.size);
                return Ok(result_of(meta, range, steady));
            }
        }
    }
    let path = object_path(location)?;
    let objects = store.objects(location).await?;
    let info = objects.info(&path).await.map_err(|error| failed(location, error))?;
    let meta = store.meta_of(&info);
    options.check_preconditions(&meta)?;
    if version.is_some_and(|version| version != info.version) {
        let source = format!("the object has version {}", info.version).into();
        return Err(Error::Precondition { path: location.to_string(), source });
    }
    let range = match &options.range {
        None => 0..meta.size,
        Some(range) => clipped(range, meta.size)?,
    };
    if options.head || range.is_empty() {
        let payload = GetResultPayload::Stream(stream::empty().boxed());
        return Ok(GetResult { payload, meta, range, attributes: Attributes::default() });
    }
    let asked = std::slice::from_ref(&range);
    let steady = Steady::begin(store, location, Some(info.version), asked).await?;
    Ok(result_of(meta, range, steady))
}

/// Whether bytes are asked for that the object does not have.
fn is_range(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    let error = source.downcast_ref::<ObjectError>();
    error.is_some_and(|error| error.kind == ObjectErrorKind::Range)
}

/// The bytes that a range stands for in an object of this size.
fn clipped(range: &GetRange, size: u64) -> Result<Range<u64>> {
    let wrong = |text: String| Error::Generic { store: "drive", source: text.into() };
    match range {
        GetRange::Bounded(range) if range.start >= range.end => {
            Err(wrong(format!("the range {range:?} is empty")))
        }
        GetRange::Bounded(range) if range.start >= size => {
            Err(wrong(format!("byte {} is behind the {size} bytes of the object", range.start)))
        }
        GetRange::Bounded(range) => Ok(range.start..range.end.min(size)),
        GetRange::Offset(start) if *start >= size => {
            Err(wrong(format!("byte {start} is behind the {size} bytes of the object")))
        }
        GetRange::Offset(start) => Ok(*start..size),
        GetRange::Suffix(length) => Ok(size.saturating_sub(*length)..size),
    }
}

fn result_of(meta: ObjectMeta, range: Range<u64>, steady: Steady) -> GetResult {
    let bytes = stream::try_unfold(steady, |mut steady| async move {
        Ok(steady.next().await?.map(|bytes| (bytes, steady)))
    });
    let payload = GetResultPayload::Stream(bytes.boxed());
    GetResult { payload, meta, range, attributes: Attributes::default() }
}
