// SPDX-License-Identifier: Apache-2.0
//! One small scan, sent by hand, and merges of such: what the other tests of this folder send.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Command, Encodings, Envelope, Fragment, Function, InputRef,
    Merge, MergeCommand, Op, Operand, Output, PhysicalType, Program, Reading, ResultHeader,
    RowColumn, SortKey, Status, Step, Unit, ValueKind, Width,
};
use nearscan_drive::{
    Completion, Drive, DriveTime, FileRef, Modelled, Outcome, Placement, Refusal, Session,
    SessionSpec, Submission, Unlimited, Work,
};
use nearscan_emulator::{Config, Emulator};

/// A file with one chunk: the numbers below `rows`, plain and uncompressed in one page.
pub(crate) struct Scan {
    file: tempfile::NamedTempFile,
    rows: u32,
}

impl Scan {
    pub(crate) fn of(rows: u32) -> Self {
        let values: Vec<u8> = (0..rows).flat_map(|row| row.to_le_bytes()).collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&page_header(u32::try_from(values.len()).unwrap(), rows)).unwrap();
        file.write_all(&values).unwrap();
        file.flush().unwrap();
        Self { file, rows }
    }

    /// `SELECT count(*), sum(n) WHERE n < below`, as attempt `attempt`.
    pub(crate) fn command(&self, drive: &dyn Drive, below: i128, envelope: Envelope) -> Command {
        let fragment = Fragment {
            columns: vec![Column::new("n", ValueKind::Integer)],
            predicate: Program::new([Step::compare(
                Op::Less,
                Operand::Column(0),
                Operand::Literal(0),
            )]),
            projection: Program::default(),
            literals: vec![below],
            tests: vec![],
            output: Output::States {
                keys: vec![],
                aggregates: vec![
                    Aggregate::count_rows(),
                    Aggregate::new(Function::Sum, Operand::Column(0), Width::W64),
                ],
            },
        };
        self.bind(drive, &fragment, envelope)
    }

    /// `SELECT n`.
    pub(crate) fn rows(&self, drive: &dyn Drive, envelope: Envelope) -> Command {
        self.columns(drive, 1, envelope)
    }

    /// `SELECT n0, n1, ..`, all with the same values.
    fn columns(&self, drive: &dyn Drive, count: u16, envelope: Envelope) -> Command {
        let column = |column| RowColumn { operand: Operand::Column(column), width: Width::W64 };
        let columns = (0..count).map(column).collect();
        let fragment = Fragment {
            columns: (0..count).map(|n| Column::new(format!("n{n}"), ValueKind::Integer)).collect(),
            predicate: Program::default(),
            projection: Program::default(),
            literals: vec![],
            tests: vec![],
            output: Output::Rows { columns, limit: None, top: None },
        };
        self.bind(drive, &fragment, envelope)
    }

    fn bind(&self, drive: &dyn Drive, fragment: &Fragment, envelope: Envelope) -> Command {
        let file = FileRef::of(self.file.path()).unwrap();
        let Placement::Here { file_id } = drive.locate(&file) else { panic!("it is there") };
        let length = file.version.size_bytes;
        let chunk = Chunk {
            input: 0,
            offset: 0,
            length,
            uncompressed_bytes: length,
            physical_type: PhysicalType::Int32,
            definition_level_max: 0,
            codec: Codec::Uncompressed,
            encodings: Encodings::SCAN,
            reading: Reading::PLAIN,
        };
        let unit = Unit {
            rows: u64::from(self.rows),
            inputs: vec![InputRef::FileRange { file_id, version: file.version, offset: 0, length }],
            chunks: vec![chunk; fragment.columns.len()],
        };
        Command::bind(fragment, unit, envelope).unwrap()
    }

    /// What is in the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.file.path()).unwrap()
    }

    /// Changes the file, so that commands made before are stale.
    pub(crate) fn change(&mut self) {
        self.file.write_all(b"more").unwrap();
        self.file.flush().unwrap();
    }
}

/// A merge of all rows of these scans.
pub(crate) fn merge(
    scans: &[Scan],
    drive: &dyn Drive,
    session: &dyn Session,
    id: u128,
) -> MergeCommand {
    let envelope =
        |command_id| Envelope { command_id, epoch: session.epoch(), ..Envelope::default() };
    let commands = scans.iter().map(|scan| scan.rows(drive, envelope(1)));
    let key = SortKey { column: 0, descending: false, nulls_first: false };
    let merge = Merge { keys: vec![key], distinct: false };
    MergeCommand::bind(commands.collect(), merge, envelope(id)).unwrap()
}

/// A page header in Thrift's compact protocol: a plain data page.
fn page_header(bytes: u32, values: u32) -> Vec<u8> {
    let mut out = vec![0x15, 0x00];
    for size in [bytes, bytes] {
        out.push(0x15);
        varint(&mut out, u64::from(size) << 1);
    }
    out.push(0x2c);
    out.push(0x15);
    varint(&mut out, u64::from(values) << 1);
    // Encoding PLAIN, definition and repetition levels RLE (3), end of both structs.
    out.extend([0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00]);
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        out.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return;
        }
    }
}

pub(crate) fn session(drive: &dyn Drive) -> Arc<dyn Session> {
    let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
    drive.open_session(spec).unwrap()
}

/// Sends a command and waits for its end.
pub(crate) fn run(session: &dyn Session, command: &Command) -> Result<Completion, Refusal> {
    run_work(session, command.clone())
}

/// Sends a command of any kind and waits for its end.
pub(crate) fn run_work(
    session: &dyn Session,
    work: impl Into<Work>,
) -> Result<Completion, Refusal> {
    let work = work.into();
    let lease = session.lease(work.device_bytes())?;
    let timeout = Duration::from_secs(5);
    Ok(block_on(session.submit(Submission { work, lease, timeout })?))
}

pub(crate) fn modelled(time: DriveTime) -> Modelled {
    let DriveTime::Modelled(time) = time else { panic!("the time of an emulator is modelled") };
    time
}

pub(crate) fn open(faults: &str) -> Emulator {
    let parameters = [("profile", "unlimited"), ("faults", faults), ("seed", "7")];
    Emulator::open(Config::from_parameters(parameters).unwrap())
}

#[test]
fn a_count_and_a_sum_come_back_with_their_traffic() {
    let scan = Scan::of(1000);
    let drive = open("");
    let session = session(&drive);
    let envelope = Envelope { command_id: 9, epoch: session.epoch(), ..Envelope::default() };
    let command = scan.command(&drive, 10, envelope);
    let completion = run(session.as_ref(), &command).unwrap();
    let view = completion.check(&command).unwrap();
    let block = &view.blocks[0];
    assert_eq!(block.columns[0].number(0), Some(10));
    assert_eq!(block.columns[1].number(0), Some(45));
    assert_eq!(completion.traffic.media_bytes, command.unit.media_bytes());
    assert_eq!(completion.traffic.host_bytes, 0);
    assert_eq!(completion.traffic.link_bytes, 256 + view.header.payload_bytes);
}

#[test]
fn a_command_of_more_columns_than_lanes_is_not_supported() {
    let scan = Scan::of(10);
    let drive = Emulator::open(Config::from_parameters([("lanes", "2")]).unwrap());
    assert_eq!(drive.capabilities().columns_max, 2);
    let session = session(&drive);
    let envelope = Envelope { command_id: 9, epoch: session.epoch(), ..Envelope::default() };
    for (columns, status) in [(2, Status::Ok), (3, Status::Unsupported)] {
        let command = scan.columns(&drive, columns, envelope);
        let completion = run(session.as_ref(), &command).unwrap();
        let Outcome::Finished(result) = &completion.outcome else { panic!("{completion:?}") };
        assert_eq!(ResultHeader::decode(result).unwrap().status, status);
    }
}
