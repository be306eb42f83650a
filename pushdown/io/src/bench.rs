// SPDX-License-Identifier: Apache-2.0
//! Measures reads of one file past the page cache: one at a time, many at a time, and into
//! registered buffers, beside `fio` with the same sizes.
//!
//! The modes take turns, round by round, so that other load on the machine strikes all of them, and
//! the figure of a way is its median. It prints nothing and reads no clock: the caller gives one.

mod fio;

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::executor::block_on;

use crate::{
    error::Error,
    file::{Access, File},
    local::Local,
    options::{Direct, Engine, Feature, Options},
    pool::{Pool, PoolOptions, Unlimited},
    reader::Reader,
    sys,
    target::{Aligned, BLOCK, Target},
};

/// The order of blocks in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Sequential,
    /// Each at a random place.
    Random,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Bytes of a block, each of which is one request.
    pub block_bytes: u32,
    /// Their order.
    pub order: Order,
    /// Bytes of a round.
    pub round_bytes: u64,
}

/// How it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One `pread` at a time.
    Sync,
    /// The same into a buffer of a [`Pool`], which has large pages: the device is given a request
    /// in fewer pieces.
    SyncPool,
    /// Through a reader with a ring of its own ([`Local`]).
    Async,
    /// The same into registered buffers of a [`Pool`], from a registered file.
    AsyncRegistered,
    /// Through a shared [`Reader`].
    AsyncShared,
    /// `fio`, with the engine `psync`.
    FioSync,
    /// `fio`, with the engine `io_uring`.
    FioAsync,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is read.
    pub cases: Vec<Case>,
    /// Requests in flight, of the asynchronous modes.
    pub depths: Vec<u32>,
    /// Rounds, at least 1.
    pub rounds: u32,
    /// Whether `fio` is run, where it is there.
    pub fio: Peer,
}

/// Whether another program is run beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// If it is there.
    IfThere,
    /// No.
    Never,
}

impl Default for Plan {
    fn default() -> Self {
        let case = |block_bytes, order, round_bytes| Case { block_bytes, order, round_bytes };
        Self {
            cases: vec![
                case(64 << 10, Order::Random, 64 << 20),
                case(1 << 20, Order::Random, 256 << 20),
                case(1 << 20, Order::Sequential, 256 << 20),
            ],
            depths: vec![1, 4, 8, 16, 32],
            rounds: 5,
            fio: Peer::IfThere,
        }
    }
}

/// The figure of one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What was read.
    pub case: Case,
    /// How.
    pub mode: Mode,
    /// Requests in flight.
    pub depth: u32,
    /// The median of the rounds.
    pub bytes_per_second: u64,
    /// Each round.
    pub rounds: Vec<u64>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// By case, then in the order of [`Mode`], then by depth.
    pub rows: Vec<Row>,
    /// Whether there are figures of `fio`.
    pub fio: Feature,
    /// Whether there are figures of a ring.
    pub ring: Feature,
}

/// How far a measurement is, in turns of single modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Turns that have ended.
    pub done: u64,
    /// Turns of the whole measurement.
    pub all: u64,
}

/// Most memory that the buffers of one way take.
#[must_use]
pub fn memory_bytes(plan: &Plan) -> u64 {
    let depth = plan.depths.iter().copied().max().unwrap_or(1);
    let block_bytes = plan.cases.iter().map(|case| u64::from(case.block_bytes)).max().unwrap_or(0);
    block_bytes.saturating_mul(buffer_count(depth) as u64)
}

/// Measures.
///
/// `clock` gives the time since any fixed moment and never goes back. `watch` is called before each
/// turn, and may end the measurement.
///
/// # Errors
/// [`Error::End`] for a file shorter than a block, [`Error::Stopped`], and those of its reads.
pub fn run(
    path: &Path,
    plan: &Plan,
    clock: &dyn Fn() -> Duration,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Table, Error> {
    let file = File::open(path)?;
    let fio = match plan.fio {
        Peer::IfThere => fio::probe(),
        Peer::Never => Feature::off("not asked for"),
    };
    let options = Options { engine: Engine::IoUring, ..Options::default() };
    // A reader and a local one have a ring each.
    let ring = match Reader::new(&options).and_then(|reader| reader.local().map(drop)) {
        Ok(()) => Feature::On,
        Err(error) => Feature::off(error.detail().unwrap_or_else(|| error.to_string())),
    };
    let mut rows = Vec::new();
    let modes = modes(plan, &fio, &ring);
    let rounds = plan.rounds.max(1);
    let all = (plan.cases.len() * modes.len()) as u64 * u64::from(rounds);
    let mut turns = (0..).map(|done| watch(Progress { done, all }));
    for case in &plan.cases {
        let mut of_case = modes
            .iter()
            .copied()
            .map(|(mode, depth)| Row {
                case: *case,
                mode,
                depth,
                bytes_per_second: 0,
                rounds: Vec::new(),
            })
            .collect::<Vec<_>>();
        for round in 0..rounds {
            for row in &mut of_case {
                if turns.next() == Some(ControlFlow::Break(())) {
                    return Err(Error::Stopped);
                }
                let run = Run::new(&file, row, round, clock)?;
                row.rounds.push(run.measure()?);
            }
        }
        for row in &mut of_case {
            row.bytes_per_second = median(&row.rounds);
        }
        rows.extend(of_case);
    }
    Ok(Table { rows, fio, ring })
}

fn modes(plan: &Plan, fio: &Feature, ring: &Feature) -> Vec<(Mode, u32)> {
    let mut modes = vec![Mode::Sync, Mode::SyncPool];
    if ring.is_on() {
        modes.extend([Mode::Async, Mode::AsyncRegistered, Mode::AsyncShared]);
    }
    if fio.is_on() {
        modes.push(Mode::FioSync);
        if ring.is_on() {
            modes.push(Mode::FioAsync);
        }
    }
    let depths = |mode: Mode| match mode {
        Mode::Sync | Mode::SyncPool | Mode::FioSync => vec![1],
        Mode::Async | Mode::AsyncRegistered | Mode::AsyncShared | Mode::FioAsync => {
            plan.depths.clone()
        }
    };
    modes.into_iter().flat_map(|mode| depths(mode).into_iter().map(move |at| (mode, at))).collect()
}

fn median(rounds: &[u64]) -> u64 {
    let mut sorted = rounds.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Fewest buffers of a way: enough for a pool to have large pages with blocks of 64 KiB.
const BUFFERS_MIN: usize = 32;

fn buffer_count(depth: u32) -> usize {
    usize::try_from(depth).unwrap_or(1).saturating_mul(4).max(BUFFERS_MIN)
}

/// One round of one way.
struct Run<'a> {
    file: &'a File,
    clock: &'a dyn Fn() -> Duration,
    mode: Mode,
    depth: u32,
    case: Case,
    blocks: u64,
    blocks_of_file: u64,
    seed: u64,
}

impl<'a> Run<'a> {
    fn new(
        file: &'a File,
        row: &Row,
        round: u32,
        clock: &'a dyn Fn() -> Duration,
    ) -> Result<Self, Error> {
        let case = row.case;
        let block_bytes = u64::from(case.block_bytes.max(1)).next_multiple_of(BLOCK as u64);
        let length = file.length()?;
        let blocks_of_file = length / block_bytes;
        if blocks_of_file == 0 {
            let path = file.path().to_owned();
            return Err(Error::End { path, offset: 0, length: block_bytes, end: length });
        }
        // What other rounds and modes have read may be in caches behind the system's.
        let seed = (u64::from(round) + 1) * 1_000_003
            + u64::from(row.depth) * 7919
            + match row.mode {
                Mode::Sync => 1,
                Mode::Async => 2,
                Mode::AsyncRegistered => 3,
                Mode::AsyncShared => 4,
                Mode::FioSync => 5,
                Mode::FioAsync => 6,
                Mode::SyncPool => 7,
            };
        Ok(Self {
            file,
            clock,
            mode: row.mode,
            depth: row.depth,
            case: Case { block_bytes: u32::try_from(block_bytes).unwrap_or(u32::MAX), ..case },
            blocks: (case.round_bytes / block_bytes).max(1),
            blocks_of_file,
            seed,
        })
    }

    fn measure(&self) -> Result<u64, Error> {
        match self.mode {
            Mode::Sync => self.sync(&self.buffers(self.many())?),
            Mode::SyncPool => {
                let pool = self.pool(self.many())?;
                let buffers: Vec<_> = (0..self.many()).map(|_| pool.take_blocking()).collect();
                self.sync(&buffers)
            }
            Mode::Async => self.local(&mut self.reader(None)?.local()?, self.buffers(self.many())?),
            Mode::AsyncRegistered => {
                let pool = self.pool(self.many())?;
                let buffers = (0..self.many()).map(|_| pool.take_blocking()).collect();
                self.local(&mut self.reader(Some(&pool))?.local()?, buffers)
            }
            Mode::AsyncShared => self.shared(&self.reader(None)?, self.buffers(self.many())?),
            Mode::FioSync | Mode::FioAsync => fio::run(&self.job()),
        }
    }

    /// Offsets of the blocks.
    fn offsets(&self) -> impl Iterator<Item = u64> + use<> {
        let (blocks, block_bytes) = (self.blocks_of_file, u64::from(self.case.block_bytes));
        let (order, seed) = (self.case.order, self.seed);
        let mut state = seed;
        (0..self.blocks).map(move |at| {
            let block = match order {
                Order::Sequential => seed.wrapping_add(at),
                Order::Random => {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    state >> 20
                }
            };
            block % blocks * block_bytes
        })
    }

    fn rate(&self, took: Duration) -> u64 {
        let bytes = u128::from(self.blocks) * u128::from(self.case.block_bytes);
        let rate = bytes * 1_000_000_000 / took.as_nanos().max(1);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Buffers for the reads in flight, and for those behind them while the oldest is late.
    fn many(&self) -> usize {
        buffer_count(self.depth)
    }

    fn block_bytes(&self) -> usize {
        usize::try_from(self.case.block_bytes).unwrap_or(usize::MAX)
    }

    /// Ordinary buffers, whose pages are there.
    fn buffers(&self, count: usize) -> Result<Vec<Aligned>, Error> {
        let buffer = |_| {
            let buffer = Aligned::new(self.block_bytes())?;
            // SAFETY: it was just allocated with this capacity.
            unsafe { buffer.pointer().write_bytes(0, buffer.capacity()) };
            Ok(buffer)
        };
        (0..count).map(buffer).collect()
    }

    fn pool(&self, buffers: usize) -> Result<Pool, Error> {
        let options = PoolOptions { buffer_bytes: self.block_bytes(), buffers };
        Pool::new(options, &(Arc::new(Unlimited) as _))
    }

    fn reader(&self, pool: Option<&Pool>) -> Result<Reader, Error> {
        let options = Options {
            engine: Engine::IoUring,
            queue_depth: self.depth,
            request_bytes: self.case.block_bytes,
            direct: Direct::Always,
            registered_files: u32::from(pool.is_some()),
            ..Options::default()
        };
        let builder = Reader::builder(&options);
        match pool {
            Some(pool) => builder.pool(pool).start(),
            None => builder.start(),
        }
    }

    /// The buffers take turns, as in a scan, which does not find the last block's place in the
    /// processor's cache.
    fn sync(&self, buffers: &[impl Target]) -> Result<u64, Error> {
        let handle = self.file.handle(Access::Direct);
        let length = self.case.block_bytes;
        let start = (self.clock)();
        for (offset, buffer) in self.offsets().zip(buffers.iter().cycle()) {
            // SAFETY: the buffer has this length, and no other thread reads or writes it.
            let read = unsafe { sys::pread(handle, offset, buffer.pointer(), length) };
            let (path, length) = (|| self.file.path().to_owned(), u64::from(length));
            match read.map(u64::from) {
                Ok(bytes) if bytes == length => {}
                Ok(bytes) => {
                    return Err(Error::End { path: path(), offset, length, end: offset + bytes });
                }
                Err(source) => return Err(Error::Read { path: path(), offset, length, source }),
            }
        }
        Ok(self.rate((self.clock)() - start))
    }

    fn local<T: Target>(&self, local: &mut Local, mut free: Vec<T>) -> Result<u64, Error> {
        let mut begun = VecDeque::new();
        let start = (self.clock)();
        for offset in self.offsets() {
            let buffer = match free.pop() {
                Some(buffer) => buffer,
                None => local.wait(begun.pop_front().ok_or(Error::Closed)?)?,
            };
            begun.push_back(local.queue(self.file, offset, buffer));
        }
        for read in begun {
            local.wait(read)?;
        }
        Ok(self.rate((self.clock)() - start))
    }

    fn shared<T: Target>(&self, reader: &Reader, mut free: Vec<T>) -> Result<u64, Error> {
        let mut begun = VecDeque::new();
        let start = (self.clock)();
        for offset in self.offsets() {
            let buffer = match free.pop() {
                Some(buffer) => buffer,
                None => block_on(begun.pop_front().ok_or(Error::Closed)?)?,
            };
            begun.push_back(reader.read(self.file, offset, buffer));
        }
        for read in begun {
            block_on(read)?;
        }
        Ok(self.rate((self.clock)() - start))
    }

    fn job(&self) -> fio::Job {
        fio::Job {
            path: PathBuf::from(self.file.path()),
            engine: if self.mode == Mode::FioSync { "psync" } else { "io_uring" },
            order: self.case.order,
            block_bytes: self.case.block_bytes,
            bytes: self.blocks * u64::from(self.case.block_bytes),
            depth: self.depth,
            seed: self.seed,
            first_block: self.seed % self.blocks_of_file,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn blocks_are_within_the_file_and_in_order() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[0; 100_000]).unwrap();
        let opened = File::open(file.path()).unwrap();
        let clock = || Duration::ZERO;
        for order in [Order::Random, Order::Sequential] {
            let case = Case { block_bytes: 8192, order, round_bytes: 1 << 20 };
            let row =
                Row { case, mode: Mode::Sync, depth: 1, bytes_per_second: 0, rounds: Vec::new() };
            let run = Run::new(&opened, &row, 0, &clock).unwrap();
            let offsets: Vec<u64> = run.offsets().collect();
            assert_eq!(offsets.len(), 128);
            assert!(offsets.iter().all(|at| at.is_multiple_of(8192) && at + 8192 <= 100_000));
            let follows = |pair: &[u64]| pair[1] == pair[0] + 8192 || pair[1] == 0;
            assert_eq!(offsets.windows(2).all(follows), order == Order::Sequential);
        }
        let case = Case { block_bytes: 1 << 20, order: Order::Random, round_bytes: 1 };
        let row = Row { case, mode: Mode::Sync, depth: 1, bytes_per_second: 0, rounds: vec![] };
        assert!(matches!(Run::new(&opened, &row, 0, &clock), Err(Error::End { .. })));
    }

    #[test]
    fn median_is_the_middle_round() {
        assert_eq!((median(&[9, 1, 5]), median(&[]), median(&[4])), (5, 0, 4));
    }
}
