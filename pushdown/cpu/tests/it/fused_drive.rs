// SPDX-License-Identifier: Apache-2.0
//! Runs the conformance suite on the fused scan, which is no drive, behind a drive that is one.
//!
//! What the fused scan does not do is left to the CPU drive: merges, the k best rows, rows with
//! computed columns, and sums of floats, which it adds in any order; and steps that nothing uses,
//! of which a drive reports an overflow.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow::{
    array::{ArrayRef, AsArray},
    datatypes::{DataType, Decimal128Type},
};
use bytes::Bytes;
use nearscan_command::{
    Chunk, Command, Fragment, Function, InputRef, Operand, Output, ResultHeader, ResultWriter,
    Status, Value, ValueKind, Width,
};
use nearscan_conformance::{Options as Cases, check_with};
use nearscan_cpu::{
    CpuDrive, Options,
    fused::{Progress, Scan, ScanError, ScanPlan},
};
use nearscan_drive::{
    CancelOutcome, CancelWord, Capabilities, Completion, CostSnapshot, Drive, DriveTime, Failure,
    FileRef, Identity, Lease, Outcome, Placement, Refusal, Session, SessionSpec, Submission,
    Ticket, Traffic, Work, clock::Stopwatch, file_version,
};

/// Rows that the scan collects before they are taken.
const ROWS_READY: usize = 5000;

#[derive(Debug)]
struct FusedDrive {
    inner: CpuDrive,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The files by their numbers.
    files: Mutex<HashMap<u64, PathBuf>>,
    /// Commands that the fused scan has run.
    scans: AtomicUsize,
}

#[derive(Debug)]
struct FusedSession {
    inner: Arc<dyn Session>,
    shared: Arc<Shared>,
}

impl Drive for FusedDrive {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn locate(&self, file: &FileRef) -> Placement {
        let placement = self.inner.locate(file);
        if let Placement::Here { file_id } = &placement {
            self.shared.files.lock().unwrap().insert(*file_id, file.path.clone());
        }
        placement
    }

    fn snapshot(&self) -> CostSnapshot {
        self.inner.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let inner = self.inner.open_session(spec)?;
        Ok(Arc::new(FusedSession { inner, shared: Arc::clone(&self.shared) }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.inner.reset()
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }

    fn shutdown(&self) {
        self.inner.shutdown();
    }
}

impl Session for FusedSession {
    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        self.inner.lease(bytes)
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let Work::Scan(command) = &submission.work else { return self.inner.submit(submission) };
        let Some(types) = types_of(&command.fragment) else {
            return self.inner.submit(submission);
        };
        let watch = Stopwatch::start();
        let envelope = &command.envelope;
        let (ticket, sender) = Ticket::new(envelope, CancelWord::default());
        let mut media_bytes = 0;
        let outcome = match self.chunks(command) {
            Ok(chunks) => {
                media_bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
                self.shared.scans.fetch_add(1, Ordering::Relaxed);
                let bytes = scan(command, types, &chunks)
                    .unwrap_or_else(|status| ResultHeader::failed(envelope, status).encode());
                Outcome::Finished(Bytes::from(bytes))
            }
            Err(failure) => Outcome::Failed(failure),
        };
        let completion = Completion {
            command_id: envelope.command_id,
            attempt: envelope.attempt,
            outcome,
            time: DriveTime::Measured(watch.measured()),
            traffic: Traffic { media_bytes, link_bytes: 0, host_bytes: media_bytes },
        };
        sender.send(completion).unwrap();
        Ok(ticket)
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        self.inner.cancel(command_id)
    }
}

impl FusedSession {
    /// The bytes of each chunk.
    fn chunks(&self, command: &Command) -> Result<Vec<Bytes>, Failure> {
        let files = self.shared.files.lock().unwrap();
        let read = |chunk: &Chunk| {
            let input = &command.unit.inputs[usize::from(chunk.input)];
            let InputRef::FileRange { file_id, version, offset, .. } = input else {
                panic!("the suite has files only");
            };
            let path = files[file_id].display().to_string();
            let file = File::open(&path).unwrap();
            if file_version(&file.metadata().unwrap()) != *version {
                return Err(Failure::Stale { path });
            }
            let mut bytes = vec![0; usize::try_from(chunk.length).unwrap()];
            match file.read_exact_at(&mut bytes, offset + chunk.offset) {
                Ok(()) => Ok(Bytes::from(bytes)),
                Err(error) => Err(Failure::Read { path, reason: error.to_string() }),
            }
        };
        command.unit.chunks.iter().map(read).collect()
    }
}

/// The types in which arrays of the columns show the numbers of commands, if the fused scan runs
/// the fragment.
fn types_of(fragment: &Fragment) -> Option<Vec<DataType>> {
    let is_run = match &fragment.output {
        Output::States { aggregates, .. } => {
            aggregates.iter().all(|slot| slot.function != Function::SumFloat)
        }
        Output::Rows { columns, top, .. } => {
            let is_column = |operand| matches!(operand, Operand::Column(_));
            top.is_none()
                && fragment.projection.is_empty()
                && columns.iter().all(|column| is_column(column.operand))
        }
    };
    let steps = fragment.predicate.steps.iter();
    let used: Vec<Operand> = steps.flat_map(|step| [step.a, step.b, step.c]).collect();
    let last = fragment.predicate.steps.len().saturating_sub(1);
    let is_used = |step: usize| used.contains(&Operand::Step(u16::try_from(step).unwrap()));
    let data_type = |kind| match kind {
        ValueKind::Bytes => DataType::BinaryView,
        _ => DataType::Decimal128(38, 0),
    };
    (is_run && (0..last).all(is_used))
        .then(|| fragment.columns.iter().map(|column| data_type(column.kind)).collect())
}

/// Runs a command; gives the bytes of its result.
fn scan(command: &Command, types: Vec<DataType>, chunks: &[Bytes]) -> Result<Vec<u8>, Status> {
    let fragment = command.fragment.clone();
    let limit = match &fragment.output {
        Output::Rows { limit, .. } => limit.unwrap_or(u64::MAX),
        Output::States { .. } => 0,
    };
    let plan = ScanPlan { fragment, types, filters: Vec::new(), keys: Vec::new() };
    let mut scan = Scan::new(Arc::new(plan));
    scan.open(command.unit.rows, command.unit.chunks.clone(), None);
    let mut rows: Vec<Vec<Value>> = Vec::new();
    loop {
        match scan.advance().map_err(|error| status_of(&error))? {
            Progress::NeedsBytes => {
                scan.needs()
                    .into_iter()
                    .for_each(|column| scan.give(column, chunks[column].clone()));
            }
            Progress::Batch if scan.rows_ready() < ROWS_READY => {}
            Progress::Batch => rows.append(&mut taken(&mut scan)),
            Progress::Done => break,
        }
    }
    let header = ResultHeader {
        rows_in: command.unit.rows,
        rows_kept: scan.rows_kept(),
        continuation_row: command.unit.rows,
        ..ResultHeader::failed(&command.envelope, Status::Ok)
    };
    let bytes = match &command.fragment.output {
        Output::States { .. } => {
            let bytes = scan.take_states().map_err(|error| status_of(&error))?;
            let states = ResultHeader::decode(&bytes).unwrap();
            let header = ResultHeader {
                rows_out: states.rows_out,
                payload_bytes: states.payload_bytes,
                payload_checksum: states.payload_checksum,
                ..header
            };
            let payload = &bytes[usize::try_from(ResultHeader::BYTES).unwrap()..];
            [&header.encode()[..], payload].concat()
        }
        Output::Rows { columns, .. } => {
            rows.append(&mut taken(&mut scan));
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            let mut writer = ResultWriter::new(command.fragment.output_widths());
            for mut row in rows {
                let is_narrow = |(value, width): (&Value, Width)| match value {
                    Value::Number(number) => width.fits(*number),
                    Value::Null | Value::Bytes(_) => true,
                };
                let widths = columns.iter().map(|column| column.width);
                if !row.iter().zip(widths).all(is_narrow) {
                    return Err(Status::Overflow);
                }
                row.truncate(columns.len());
                writer.push(row).unwrap();
            }
            writer.finish(header)
        }
    };
    match bytes.len() as u64 > command.output.bytes_max() {
        true => Err(Status::OutputFull),
        false => Ok(bytes),
    }
}

fn status_of(error: &ScanError) -> Status {
    match error {
        ScanError::Status(status) => *status,
        error => panic!("{error}"),
    }
}

/// The rows that are ready.
fn taken(scan: &mut Scan) -> Vec<Vec<Value>> {
    let (columns, rows) = scan.take_rows().unwrap();
    (0..rows).map(|row| columns.iter().map(|column| value(column, row)).collect()).collect()
}

fn value(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.as_primitive_opt::<Decimal128Type>() {
        Some(numbers) => Value::Number(numbers.value(row)),
        None => Value::Bytes(column.as_binary_view().value(row).to_vec()),
    }
}

#[test]
fn fused_scan_passes_the_suite() {
    let inner = CpuDrive::start(Options { threads: 1, in_flight_max: 8 }).unwrap();
    let drive = FusedDrive { inner, shared: Arc::default() };
    let report = check_with(&drive, &Cases::default());
    assert!(report.is_clean(), "{report}");
    let scans = drive.shared.scans.load(Ordering::Relaxed);
    assert!(scans > 1000, "{scans} commands were run by the fused scan");
}
