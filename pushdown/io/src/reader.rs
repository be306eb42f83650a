// SPDX-License-Identifier: Apache-2.0
//! Implements the reader that many threads and tasks share: one thread runs the requests of all.
//!
//! Dropping the last clone cancels what is under way and waits until the kernel has let go of all
//! buffers; reads that somebody still waits for end with [`Error::Closed`].

use std::{
    fmt,
    future::Future,
    ops::Range,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, mpsc},
    task::{Context, Poll},
    thread::{self, JoinHandle},
};

use bytes::Bytes;
use futures::executor::block_on;

use crate::{
    backend::Wait,
    begin::{self, Place},
    buffers::{Buffers, Lent},
    driver::Driver,
    engine::{Found, Parts, Wrap},
    error::{Error, Failed},
    file::File,
    inbox::Inbox,
    local::Local,
    options::{Options, Report},
    orders::Start,
    piece::Wanted,
    pool::Pool,
    ranges::{self, Spans},
    ring::Issuer,
    slot::{Pending, Read},
    target::{Aligned, Target},
};

/// Reads files; cheap to clone.
#[derive(Clone)]
pub struct Reader(Arc<Inner>);

struct Inner {
    parts: Parts,
    found: Found,
    inbox: Arc<Inbox>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("report", &self.report()).finish_non_exhaustive()
    }
}

/// Makes a reader.
#[must_use = "it does nothing before `start`"]
#[derive(Clone, Default)]
pub struct Builder(Parts);

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Builder {
    /// Registers the buffers of a pool with the ring.
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.0.pool = Some(pool.clone());
        self
    }

    /// Puts another backend around the one that is chosen, for tests.
    pub fn wrap(mut self, wrap: Wrap) -> Self {
        self.0.wrap = Some(wrap);
        self
    }

    /// Starts the reader.
    ///
    /// # Errors
    /// [`Error::Ring`] if `io_uring` was asked for by name and cannot be had; [`Error::Thread`].
    pub fn start(self) -> Result<Reader, Error> {
        let mut parts = self.0;
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().name("nearscan-io".to_owned()).spawn(move || {
            // A ring belongs to the thread that makes it, so it is made here.
            let (backend, found) = match parts.make(Issuer::OneThread) {
                Ok(made) => made,
                Err(error) => {
                    drop(sender.send(Err(error)));
                    return;
                }
            };
            let inbox = Inbox::new(backend.interrupt());
            let driver = Driver::new(backend, parts.options.queue_depth);
            // The pool is registered for as long as there is the ring.
            let pool = parts.pool.clone();
            drop(sender.send(Ok((parts, found, Arc::clone(&inbox)))));
            run(driver, &inbox);
            drop(pool);
        });
        let thread = thread.map_err(|source| Error::Thread { source })?;
        let made = receiver.recv().map_err(|_| Error::Closed)?;
        let (parts, found, inbox) = made?;
        Ok(Reader(Arc::new(Inner { parts, found, inbox, thread: Mutex::new(Some(thread)) })))
    }
}

/// Runs a driver until its inbox is closed and its last read has ended.
fn run(mut driver: Driver, inbox: &Arc<Inbox>) {
    // Whatever ends this thread, later reads are refused instead of waiting for ever.
    let _closing = Closing(inbox);
    loop {
        let orders = inbox.take();
        let is_closed = orders.is_closed;
        driver.take(orders);
        if is_closed && driver.is_idle() {
            return;
        }
        let wait = if inbox.may_wait() { Wait::ForOne } else { Wait::Never };
        driver.turn(wait);
        inbox.woke();
    }
}

struct Closing<'a>(&'a Inbox);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
        for start in self.0.take().starts {
            start.job.end(Err(Error::Closed));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.inbox.close();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // The last clone may be dropped by the thread itself, in a task that it wakes.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id())
        {
            // A panic there has ended all reads already.
            drop(thread.join());
        }
    }
}

impl Reader {
    /// Starts a reader without a pool.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn new(options: &Options) -> Result<Self, Error> {
        Self::builder(options).start()
    }

    /// Prepares a reader.
    pub fn builder(options: &Options) -> Builder {
        Builder(Parts { options: options.limited(), ..Parts::default() })
    }

    /// What it got of what it was asked for.
    #[must_use]
    pub fn report(&self) -> Report {
        self.0.found.report()
    }

    /// Opens a file. Any reader can read it.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File, Error> {
        File::open(path)
    }

    /// A reader of one thread at a time that runs its requests itself, which spares the hand-over
    /// to this reader's thread.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn local(&self) -> Result<Local, Error> {
        Local::new(self.0.parts.clone())
    }

    /// Begins to fill `target` with the bytes at `offset`, at once: also before the first poll.
    pub fn read<T: Target>(&self, file: &File, offset: u64, target: T) -> Read<T> {
        let wanted = Wanted { file, offset, bytes: target.length() };
        let (pending, start) = begin::read(&self.0.parts.options, &self.0.inbox, wanted, target);
        self.start(start.into_iter().collect());
        Read(pending)
    }

    /// Fills `target` with the bytes at `offset`; waits for them.
    ///
    /// # Errors
    /// [`Failed`] with the buffer.
    pub fn read_blocking<T: Target>(
        &self,
        file: &File,
        offset: u64,
        target: T,
    ) -> Result<T, Failed<T>> {
        block_on(self.read(file, offset, target))
    }

    /// Reads ranges, at once; the bytes come in the order of the ranges. Near ranges share memory.
    ///
    /// # Errors
    /// The future's, and its only result if a range is wrong: [`Error::Range`].
    pub fn read_ranges(
        &self,
        file: &File,
        ranges: &[Range<u64>],
    ) -> impl Future<Output = Result<Vec<Bytes>, Error>> + Send + use<> {
        let begun = self.begin_ranges(file, ranges);
        let ranges = ranges.to_vec();
        async move {
            let (spans, reads) = begun?;
            let mut buffers = Vec::with_capacity(reads.len());
            for (read, place) in reads {
                buffers.push(begin::bytes(Read(read).await, place)?);
            }
            Ok(spans.cut(&ranges, &buffers))
        }
    }

    /// The same; waits for the bytes.
    ///
    /// # Errors
    /// That of the first range that failed.
    pub fn read_ranges_blocking(
        &self,
        file: &File,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>, Error> {
        block_on(self.read_ranges(file, ranges))
    }

    /// Begins to read a range to a buffer of `buffers`, at once: also before the first poll.
    ///
    /// # Errors
    /// [`Error::Range`] if the range is wrong, [`Error::Memory`] if no buffer is to be had.
    pub fn read_range(
        &self,
        file: &File,
        range: &Range<u64>,
        buffers: &Buffers,
    ) -> Result<RangeRead, Error> {
        let Inner { parts: Parts { options, .. }, inbox, .. } = &*self.0;
        let lend = |bytes| buffers.lend(bytes);
        let (pending, place, start) = begin::range(options, inbox, file, range, lend)?;
        self.start(start.into_iter().collect());
        Ok(RangeRead { read: Read(pending), place })
    }

    fn begin_ranges(&self, file: &File, ranges: &[Range<u64>]) -> Result<Begun, Error> {
        let Inner { parts: Parts { options, .. }, inbox, .. } = &*self.0;
        let spans = ranges::join(ranges, options.gap_bytes)?;
        let mut starts = Vec::new();
        let mut reads = Vec::with_capacity(spans.spans.len());
        for span in &spans.spans {
            let (pending, place, start) = begin::range(options, inbox, file, span, Aligned::new)?;
            reads.push((pending, place));
            starts.extend(start);
        }
        self.start(starts);
        Ok((spans, reads))
    }

    fn start(&self, starts: Vec<Start>) {
        if starts.is_empty() {
            return;
        }
        for start in self.0.inbox.start(starts).err().into_iter().flatten() {
            start.job.end(Err(Error::Closed));
        }
    }
}

/// A read of a range under way, as a future of its bytes. Their buffer is lent again when the last
/// clone of them is dropped.
#[must_use = "a read that is dropped is cancelled"]
#[derive(Debug)]
pub struct RangeRead {
    read: Read<Lent>,
    place: Place,
}

impl Future for RangeRead {
    type Output = Result<Bytes, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let place = self.place;
        Pin::new(&mut self.read).poll(context).map(|result| begin::bytes(result, place))
    }
}

type Begun = (Spans, Vec<(Pending<Aligned>, Place)>);
