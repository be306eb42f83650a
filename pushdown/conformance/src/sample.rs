// SPDX-License-Identifier: Apache-2.0
//! Provides a file with one column of integers, commands over it, and a session to send them in,
//! for the tests of a single drive.
//!
//! It is for tests and benches: what goes wrong is a panic, which shows where, but for what a drive
//! may refuse. Commands take their envelope from the test, which numbers them.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nearscan_command::{
    Aggregate, Chunk, Column, Command, Envelope, Fragment, Function, InputRef, Merge, MergeCommand,
    Op, Operand, Output, Program, RowColumn, SortKey, Step, Unit, ValueKind, Width,
};
use nearscan_drive::{
    Budget, Completion, Drive, DriveTime, FileRef, Modelled, Placement, Refusal, Session,
    SessionSpec, Submission, Ticket, Unlimited, Work,
};

use crate::{
    data::{ColumnData, Values},
    executor::wait,
    file::{Folder, TemporaryFile},
    pages::{ChunkLayout, write_chunk},
};

/// Time that a command of a test has; none takes nearly as long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A file that is one chunk of integers, removed on drop.
#[derive(Debug)]
pub struct Sample {
    // Removed before its folder is.
    written: TemporaryFile,
    _folder: Folder,
    chunk: Chunk,
    rows: u64,
}

impl Sample {
    /// The numbers below `rows` in four bytes each: one plain page, neither compressed nor null.
    pub fn plain(rows: u32) -> Self {
        let values = (0..rows).map(|row| Some(i32::try_from(row).unwrap())).collect();
        let layout = ChunkLayout::plain().required();
        Self::new(None, &ColumnData { values: Values::Int32(values), layout })
    }

    /// The numbers below `rows` in eight bytes each, as common writers have them.
    pub fn common(rows: u32) -> Self {
        let values = Values::integers((0..rows).map(i64::from));
        Self::new(None, &ColumnData { values, layout: ChunkLayout::common() })
    }

    /// Writes this column, to a new folder below `parent` or in the system's folder of temporary
    /// files.
    pub fn new(parent: Option<&Path>, column: &ColumnData) -> Self {
        let chunk = write_chunk(&column.values, &column.layout);
        let folder = Folder::new(parent).unwrap();
        Self {
            written: folder.write(&chunk.bytes).unwrap(),
            _folder: folder,
            chunk: column.chunk(&chunk, 0, 0),
            rows: column.values.len() as u64,
        }
    }

    /// The file as it is now.
    pub fn file(&self) -> FileRef {
        FileRef::of(&self.written.file.path).unwrap()
    }

    /// Adds to the end of the file, so that commands made before are stale.
    pub fn grow(&self) {
        let path = &self.written.file.path;
        OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
    }

    /// The number of the file on this drive.
    pub fn locate(&self, drive: &dyn Drive) -> u64 {
        match drive.locate(&self.file()) {
            Placement::Here { file_id } => file_id,
            Placement::NotHere { reason } => panic!("{reason}"),
        }
    }

    /// `SELECT sum(n)`.
    pub fn sum(&self, drive: &dyn Drive, envelope: Envelope) -> Command {
        self.bind(drive, &states(vec![sum()]), envelope)
    }

    /// `SELECT count(*), sum(n) WHERE n < below`.
    pub fn count_and_sum(&self, drive: &dyn Drive, below: i128, envelope: Envelope) -> Command {
        let is_below = Step::compare(Op::Less, Operand::Column(0), Operand::Literal(0));
        let fragment = Fragment {
            predicate: Program::new([is_below]),
            literals: vec![below],
            ..states(vec![Aggregate::count_rows(), sum()])
        };
        self.bind(drive, &fragment, envelope)
    }

    /// `SELECT n`.
    pub fn rows(&self, drive: &dyn Drive, envelope: Envelope) -> Command {
        self.columns(drive, 1, envelope)
    }

    /// `SELECT n0, n1, ..`, all with the same values.
    pub fn columns(&self, drive: &dyn Drive, count: u16, envelope: Envelope) -> Command {
        let column = |column| RowColumn { operand: Operand::Column(column), width: Width::W64 };
        let columns = (0..count).map(column).collect();
        let output = Output::Rows { columns, limit: None, top: None };
        self.bind(drive, &fragment(count, output), envelope)
    }

    fn bind(&self, drive: &dyn Drive, fragment: &Fragment, envelope: Envelope) -> Command {
        let (file_id, version) = (self.locate(drive), self.file().version);
        let length = self.chunk.length;
        let unit = Unit {
            rows: self.rows,
            inputs: vec![InputRef::FileRange { file_id, version, offset: 0, length }],
            chunks: vec![self.chunk; fragment.columns.len()],
        };
        Command::bind(fragment, unit, envelope).unwrap()
    }
}

/// A merge of all rows of these samples, in ascending order.
pub fn merge(samples: &[Sample], drive: &dyn Drive, envelope: Envelope) -> MergeCommand {
    let of_scan = Envelope { command_id: 1, ..envelope };
    let scans = samples.iter().map(|sample| sample.rows(drive, of_scan)).collect();
    let key = SortKey { column: 0, descending: false, nulls_first: false };
    MergeCommand::bind(scans, Merge { keys: vec![key], distinct: false }, envelope).unwrap()
}

/// A fragment over so many columns, with no filter.
fn fragment(columns: u16, output: Output) -> Fragment {
    let column = |number| Column::new(format!("n{number}"), ValueKind::Integer);
    Fragment {
        columns: (0..columns).map(column).collect(),
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output,
    }
}

fn states(aggregates: Vec<Aggregate>) -> Fragment {
    fragment(1, Output::States { keys: vec![], aggregates })
}

fn sum() -> Aggregate {
    Aggregate::new(Function::Sum, Operand::Column(0), Width::W64)
}

/// Opens a session of a query without a memory limit.
pub fn session(drive: &dyn Drive) -> Arc<dyn Session> {
    session_with(drive, Arc::new(Unlimited))
}

/// A session of a query with this budget.
pub fn session_with(drive: &dyn Drive, budget: Arc<dyn Budget>) -> Arc<dyn Session> {
    drive.open_session(SessionSpec { query_id: 1, tenant: 0, budget }).unwrap()
}

/// The budget of a query that has so many bytes left.
#[derive(Debug)]
pub struct Room(AtomicU64);

impl Room {
    /// Room for so many bytes.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(bytes)))
    }

    /// Bytes that are free.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Budget for Room {
    fn try_grow(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    fn shrink(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::SeqCst);
    }
}

/// The envelope of a command in this session.
pub fn envelope(session: &dyn Session, command_id: u128) -> Envelope {
    Envelope { command_id, epoch: session.epoch(), ..Envelope::default() }
}

/// Sends work that has so much time.
///
/// # Errors
/// The drive refuses the memory or the work.
pub fn submit(
    session: &dyn Session,
    work: impl Into<Work>,
    timeout: Duration,
) -> Result<Ticket, Refusal> {
    let work = work.into();
    let lease = session.lease(work.device_bytes())?;
    session.submit(Submission { work, lease, timeout })
}

/// Sends work and waits for its end.
///
/// # Errors
/// The drive refuses the memory or the work.
pub fn run(session: &dyn Session, work: impl Into<Work>) -> Result<Completion, Refusal> {
    run_within(session, work, PATIENCE)
}

/// Sends work that has so much time, and waits for its end.
///
/// # Errors
/// The drive refuses the memory or the work.
pub fn run_within(
    session: &dyn Session,
    work: impl Into<Work>,
    timeout: Duration,
) -> Result<Completion, Refusal> {
    let ticket = submit(session, work, timeout)?;
    Ok(wait(ticket).expect("a command ends"))
}

/// The modelled time of a command.
pub fn modelled(completion: &Completion) -> Modelled {
    let DriveTime::Modelled(time) = completion.time else { panic!("{:?}", completion.time) };
    time
}
