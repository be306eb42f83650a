// SPDX-License-Identifier: Apache-2.0
//! Implements a pool of buffers of one size, aligned, allocated and charged once.
//!
//! A pool never grows: who finds it empty waits, in the order of asking. Its memory is charged when
//! it is made and returned when the pool and the last of its buffers are gone.

use std::{
    alloc::{Layout, alloc, dealloc},
    collections::VecDeque,
    error::Error as StdError,
    fmt::{self, Debug},
    future::Future,
    ops::{Deref, DerefMut},
    pin::Pin,
    ptr::NonNull,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use crate::{
    error::Error,
    sys,
    target::{BLOCK, LARGE_PAGE, Registered, Target, layout},
};

/// Grants memory: the engine implements it over its memory pool.
pub trait Charge: Send + Sync + Debug {
    /// Takes `bytes`.
    ///
    /// # Errors
    /// When there is not enough; the text says who has it.
    fn try_grow(&self, bytes: u64) -> Result<(), Box<dyn StdError + Send + Sync>>;

    /// Returns `bytes`.
    fn shrink(&self, bytes: u64);
}

/// A grant without a limit, for tests and tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

impl Charge for Unlimited {
    fn try_grow(&self, _bytes: u64) -> Result<(), Box<dyn StdError + Send + Sync>> {
        Ok(())
    }

    fn shrink(&self, _bytes: u64) {}
}

/// Bytes taken from a grant, returned on drop.
#[derive(Debug)]
pub(crate) struct Charged {
    charge: Arc<dyn Charge>,
    bytes: u64,
}

impl Charged {
    pub(crate) fn take(charge: &Arc<dyn Charge>, bytes: u64) -> Result<Self, Error> {
        let refused = |reason: Box<dyn StdError + Send + Sync>| Error::Memory {
            bytes,
            reason: reason.to_string(),
        };
        charge.try_grow(bytes).map_err(refused)?;
        Ok(Self { charge: Arc::clone(charge), bytes })
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.charge.shrink(self.bytes);
    }
}

/// The shape of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolOptions {
    /// Bytes of a buffer; rounded up to whole blocks.
    pub buffer_bytes: usize,
    /// Number of buffers, 1 to [`BUFFERS_MAX`].
    pub buffers: usize,
}

/// Most buffers of a pool.
pub const BUFFERS_MAX: usize = 1 << 16;

/// Most bytes that a ring registers as one buffer.
const PART_BYTES_MAX: usize = 1 << 30;

/// A pool of buffers; cheap to clone.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    number: u64,
    memory: Arena,
    buffer_bytes: usize,
    buffers: usize,
    state: Mutex<State>,
    _charged: Charged,
}

#[derive(Debug)]
struct State {
    free: Vec<usize>,
    /// Those who wait, by number.
    waiting: VecDeque<(u64, Waker)>,
    next: u64,
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

impl Pool {
    /// Charges and allocates the buffers.
    ///
    /// # Errors
    /// [`Error::Memory`] if the charge is refused or there is no memory.
    pub fn new(options: PoolOptions, charge: &Arc<dyn Charge>) -> Result<Self, Error> {
        let buffers = options.buffers.clamp(1, BUFFERS_MAX);
        let buffer_bytes = options.buffer_bytes.clamp(1, PART_BYTES_MAX).next_multiple_of(BLOCK);
        let bytes = buffer_bytes.saturating_mul(buffers);
        let charged = Charged::take(charge, bytes as u64)?;
        let free: Vec<usize> = (0..buffers).rev().collect();
        Ok(Self(Arc::new(Shared {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            memory: Arena::new(bytes)?,
            buffer_bytes,
            buffers,
            state: Mutex::new(State { free, waiting: VecDeque::new(), next: 0 }),
            _charged: charged,
        })))
    }

    /// Bytes of one buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.0.buffer_bytes
    }

    /// Bytes of all buffers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.0.buffer_bytes as u64).saturating_mul(self.0.buffers as u64)
    }

    /// Free buffers.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.lock().free.len()
    }

    /// Takes a buffer, if one is free and no earlier caller waits for it.
    #[must_use]
    pub fn try_take(&self) -> Option<Pooled> {
        let mut state = self.0.lock();
        if !state.waiting.is_empty() {
            return None;
        }
        let index = state.free.pop()?;
        drop(state);
        Some(Pooled { pool: Arc::clone(&self.0), index })
    }

    /// Waits for a buffer.
    pub fn take(&self) -> Take {
        Take { pool: Arc::clone(&self.0), ticket: None }
    }

    /// Waits for a buffer, on a thread that may wait.
    pub fn take_blocking(&self) -> Pooled {
        futures::executor::block_on(self.take())
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The memory, as the buffers that a ring registers: no buffer of the pool is in two of them.
    pub(crate) fn parts(&self) -> Vec<libc::iovec> {
        let part_bytes = self.0.part_buffers() * self.0.buffer_bytes;
        let all = self.0.buffers * self.0.buffer_bytes;
        let starts = (0..all).step_by(part_bytes.max(1));
        let part = |start: usize| libc::iovec {
            iov_base: self.0.memory.at(start).cast(),
            iov_len: part_bytes.min(all - start),
        };
        starts.map(part).collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn part_buffers(&self) -> usize {
        (PART_BYTES_MAX / self.buffer_bytes).max(1)
    }

    fn wake_first(state: &State) -> Option<Waker> {
        let (_, waker) = state.waiting.front()?;
        (!state.free.is_empty()).then(|| waker.clone())
    }
}

/// The wait for a buffer.
#[derive(Debug)]
pub struct Take {
    pool: Arc<Shared>,
    /// The number among those who wait.
    ticket: Option<u64>,
}

impl Future for Take {
    type Output = Pooled;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Pooled> {
        let pool = Arc::clone(&self.pool);
        let mut state = pool.lock();
        let is_first = match self.ticket {
            None => state.waiting.is_empty(),
            Some(ticket) => state.waiting.front().is_some_and(|(number, _)| *number == ticket),
        };
        if is_first && let Some(index) = state.free.pop() {
            if self.ticket.take().is_some() {
                state.waiting.pop_front();
            }
            let next = Shared::wake_first(&state);
            drop(state);
            next.into_iter().for_each(Waker::wake);
            return Poll::Ready(Pooled { pool, index });
        }
        let waker = context.waker().clone();
        match self.ticket {
            Some(ticket) => {
                let waiting = &mut state.waiting;
                if let Some(entry) = waiting.iter_mut().find(|(number, _)| *number == ticket) {
                    entry.1 = waker;
                }
            }
            None => {
                let ticket = state.next;
                state.next += 1;
                state.waiting.push_back((ticket, waker));
                self.ticket = Some(ticket);
            }
        }
        Poll::Pending
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut state = self.pool.lock();
        state.waiting.retain(|(number, _)| *number != ticket);
        let next = Shared::wake_first(&state);
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

/// A buffer of a pool, which gets it back on drop.
pub struct Pooled {
    pool: Arc<Shared>,
    index: usize,
}

impl Pooled {
    fn memory(&self) -> *mut u8 {
        self.pool.memory.at(self.index * self.pool.buffer_bytes)
    }
}

impl Debug for Pooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Deref for Pooled {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are initialised (`Arena`), and this value alone has this index.
        unsafe { std::slice::from_raw_parts(self.memory(), self.pool.buffer_bytes) }
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.memory(), self.pool.buffer_bytes) }
    }
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.free.push(self.index);
        let next = Shared::wake_first(&state);
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

// SAFETY: the arena stays in place while the buffer is there, and it alone has this index.
unsafe impl Target for Pooled {
    fn pointer(&self) -> *mut u8 {
        self.memory()
    }

    fn length(&self) -> usize {
        self.pool.buffer_bytes
    }

    fn registered(&self) -> Option<Registered> {
        let index = u16::try_from(self.index / self.pool.part_buffers()).ok()?;
        Some(Registered { pool: self.pool.number, index })
    }
}

/// Memory of zeros in one piece.
#[derive(Debug)]
struct Arena {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory; who may touch which part is the pool's to decide.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// `bytes` is not zero.
    fn new(bytes: usize) -> Result<Self, Error> {
        let none =
            || Error::Memory { bytes: bytes as u64, reason: "the system has no memory".to_owned() };
        let layout = layout(bytes).ok_or_else(none)?;
        // SAFETY: the size is not zero, as the callers see to.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(none)?;
        if layout.align() == LARGE_PAGE {
            // Before the first write, which is when pages come to be.
            sys::expect_large_pages(start.as_ptr(), bytes);
        }
        // SAFETY: just allocated, with this many bytes.
        unsafe { start.write_bytes(0, bytes) };
        Ok(Self { start, layout })
    }

    fn at(&self, place: usize) -> *mut u8 {
        debug_assert!(place < self.layout.size(), "outside of the arena");
        // SAFETY: places are those of buffers, which are within the memory.
        unsafe { self.start.as_ptr().add(place) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
