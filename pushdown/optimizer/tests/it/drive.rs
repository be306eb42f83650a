// SPDX-License-Identifier: Apache-2.0
//! Implements a drive that reads row groups with the parquet crate, evaluates commands by the
//! evaluator, and then returns the result, or fails as the test requires.
//!
//! It completes inside `submit`, or when the test says so; nothing depends on time.

use std::{
    collections::HashMap,
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use arrow::{
    array::{Array, AsArray},
    datatypes::{
        DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, Time32MillisecondType, Time64MicrosecondType, TimeUnit,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use futures::channel::oneshot::Sender;
use nearscan_command::{
    BlockForm, CellColumn, Cells, ColumnarWriter, Command, InputRef, ResultHeader, Row, Status,
    Value, Width, float_order, widened_float,
};
use nearscan_conformance::evaluator::{evaluate, evaluate_merge};
use nearscan_drive::{
    CancelOutcome, CancelWord, Capabilities, Completion, CostSnapshot, Drive, DriveTime, Failure,
    FileRef, Identity, KernelRates, KernelTime, Lease, LoadedImage, MediaRates, ModelId, Modelled,
    Outcome, Placement, RateSource, RatesByRequest, Refusal, RequestClass, Reservation, Schedules,
    Session, SessionSpec, StageTimes, Submission, Ticket, Traffic, Work,
};
use parquet::arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};

/// The drive's reaction to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// The right answer.
    Answer,
    /// Does not take it.
    Refuse(Refusal),
    /// Takes it and fails.
    Fail(Failure),
    /// Ends with a status and no rows.
    End(Status),
    /// Flips a bit of the result's byte so far from its end.
    Flip(usize),
    /// Flips a bit of the result's header.
    FlipHeader,
    /// Silently drops the last row.
    LoseRow,
    /// Says that a row of the unit was not read.
    MissRow,
    /// Answers as another command.
    Confuse,
    /// The right number of rows with a wrong value, all checksums right.
    Lie,
    /// Never answers.
    Hang,
    /// Answers after the next two commands have come.
    Delay,
    /// Drops the command.
    Forget,
}

/// The commands and completions so far.
#[derive(Debug, Default)]
struct Ledger {
    files: Vec<PathBuf>,
    acts: HashMap<usize, Act>,
    act_on_merges: Option<Act>,
    /// Every command that was taken or refused in `submit`, with its row group.
    commands: Vec<(usize, Command)>,
    cancels: Vec<CancelWord>,
    delayed: Vec<(Sender<Completion>, Completion, Lease)>,
    hanging: Vec<(Sender<Completion>, Lease)>,
    traffic: Traffic,
    leases_refused: u32,
}

#[derive(Debug)]
pub(crate) struct Fake {
    identity: Identity,
    capabilities: Capabilities,
    snapshot: CostSnapshot,
    state: Arc<State>,
}

/// The files that the drive does not hold.
#[derive(Debug, Default)]
enum Absent {
    #[default]
    None,
    All,
    AllBut(&'static str),
}

/// The state that sessions share.
#[derive(Debug, Default)]
struct State {
    ledger: Mutex<Ledger>,
    leased_bytes: Arc<AtomicI64>,
    sessions: AtomicU64,
    resets: AtomicU64,
    absent: Mutex<Absent>,
}

impl State {
    fn epoch(&self) -> u64 {
        7 + self.resets.load(Ordering::SeqCst)
    }
}

impl Fake {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        let rates = KernelRates {
            setup_ns: 1.0,
            ns_per_media_byte: 1e-3,
            ns_per_row: 1e-3,
            ns_per_link_byte: 1e-3,
            ..KernelRates::zero(RateSource::Modelled)
        };
        let snapshot = CostSnapshot {
            id: 0,
            lanes: 1,
            start_ns: 0.0,
            media: Some(MediaRates::uniform(1e12)),
            link_bytes_per_s: Some(1e12),
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::uniform(rates),
            merge: RatesByRequest::uniform(rates),
            queue_depth: 0,
            free_bytes: 1 << 30,
            image: None,
        };
        let identity =
            Identity { uuid: Default::default(), kind: "fake", model: "evaluator".to_owned() };
        Self { identity, capabilities, snapshot, state: Arc::default() }
    }

    /// With other rates of its scans.
    pub(crate) fn with_scans(mut self, change: impl FnOnce(&mut KernelRates)) -> Self {
        self.snapshot.scan = changed(&self.snapshot.scan, change);
        self
    }

    /// With other rates of its merges.
    pub(crate) fn with_merges(mut self, change: impl FnOnce(&mut KernelRates)) -> Self {
        self.snapshot.merge = changed(&self.snapshot.merge, change);
        self
    }

    /// With this image loaded, and another one.
    pub(crate) fn with_image(mut self, image: LoadedImage) -> Self {
        self.snapshot.image = Some(image);
        self
    }

    /// With another link.
    pub(crate) fn with_link_bytes_per_s(mut self, rate: f64) -> Self {
        self.snapshot.link_bytes_per_s = Some(rate);
        self
    }

    /// Has no rates of merges.
    pub(crate) fn without_merge_rates(mut self) -> Self {
        self.snapshot.merge = RatesByRequest::UNKNOWN;
        self
    }

    /// Has no rates.
    pub(crate) fn without_rates(mut self) -> Self {
        self.snapshot.scan = RatesByRequest::UNKNOWN;
        self.without_merge_rates()
    }

    /// Sets the reaction to the commands for a row group.
    pub(crate) fn on(&self, row_group: usize, act: Act) {
        self.state.ledger.lock().unwrap().acts.insert(row_group, act);
    }

    /// Sets the reaction to merges.
    pub(crate) fn on_merges(&self, act: Act) {
        self.state.ledger.lock().unwrap().act_on_merges = Some(act);
    }

    /// Refuses so many leases for want of memory.
    pub(crate) fn refuse_leases(&self, count: u32) {
        self.state.ledger.lock().unwrap().leases_refused = count;
    }

    /// Holds no file any more.
    pub(crate) fn lose_files(&self) {
        *self.state.absent.lock().unwrap() = Absent::All;
    }

    /// Holds the files of this name alone.
    pub(crate) fn keep_file(&self, name: &'static str) {
        *self.state.absent.lock().unwrap() = Absent::AllBut(name);
    }

    /// The row groups of all commands, in the order of submission.
    pub(crate) fn row_groups(&self) -> Vec<usize> {
        let ledger = self.state.ledger.lock().unwrap();
        ledger.commands.iter().map(|(row_group, _)| *row_group).collect()
    }

    /// The commands, in the order of submission.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let ledger = self.state.ledger.lock().unwrap();
        ledger.commands.iter().map(|(_, command)| command.clone()).collect()
    }

    /// The sum of the traffic of all completions.
    pub(crate) fn traffic(&self) -> Traffic {
        self.state.ledger.lock().unwrap().traffic
    }

    /// Bytes of leases that were not released.
    pub(crate) fn leased_bytes(&self) -> i64 {
        self.state.leased_bytes.load(Ordering::SeqCst)
    }

    /// Commands that hang and are not cancelled.
    pub(crate) fn uncancelled(&self) -> usize {
        let ledger = self.state.ledger.lock().unwrap();
        ledger.cancels.iter().filter(|word| !word.is_set()).count()
    }

    /// Stops what hangs or is delayed, as hardware does some time after it was cancelled.
    pub(crate) fn stop(&self) {
        let mut ledger = self.state.ledger.lock().unwrap();
        ledger.hanging.clear();
        ledger.delayed.clear();
    }
}

impl Drive for Fake {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn locate(&self, file: &FileRef) -> Placement {
        let is_absent = match &*self.state.absent.lock().unwrap() {
            Absent::None => false,
            Absent::All => true,
            Absent::AllBut(name) => !file.path.ends_with(name),
        };
        if is_absent {
            return Placement::NotHere { reason: "it is on another disk".to_owned() };
        }
        let files = &mut self.state.ledger.lock().unwrap().files;
        let at = files.iter().position(|path| *path == file.path).unwrap_or_else(|| {
            files.push(file.path.clone());
            files.len() - 1
        });
        Placement::Here { file_id: at as u64 }
    }

    fn snapshot(&self) -> CostSnapshot {
        self.snapshot.clone()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        self.state.sessions.fetch_add(1, Ordering::SeqCst);
        let (state, epoch) = (Arc::clone(&self.state), self.state.epoch());
        Ok(Arc::new(FakeSession { state, spec, epoch }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.state.resets.fetch_add(1, Ordering::SeqCst);
        Ok(self.state.epoch())
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.state.epoch())
    }

    fn in_flight(&self) -> u32 {
        0
    }

    fn shutdown(&self) {}
}

fn changed(rates: &RatesByRequest, change: impl FnOnce(&mut KernelRates)) -> RatesByRequest {
    let mut rates = *rates.get(RequestClass::Group).unwrap();
    change(&mut rates);
    RatesByRequest::uniform(rates)
}

#[derive(Debug)]
struct FakeSession {
    state: Arc<State>,
    spec: SessionSpec,
    epoch: u64,
}

impl Session for FakeSession {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        let mut ledger = self.state.ledger.lock().unwrap();
        if ledger.leases_refused > 0 {
            ledger.leases_refused -= 1;
            return Err(Refusal::LowMemory { needed_bytes: bytes });
        }
        let signed = |bytes: u64| i64::try_from(bytes).unwrap();
        self.state.leased_bytes.fetch_add(signed(bytes), Ordering::SeqCst);
        let leased_bytes = Arc::clone(&self.state.leased_bytes);
        Ok(Lease::new(bytes, move |bytes| {
            leased_bytes.fetch_sub(signed(bytes), Ordering::SeqCst);
        }))
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let Submission { work, lease, .. } = submission;
        let mut ledger = self.state.ledger.lock().unwrap();
        let mut inputs = Vec::new();
        let mut row_group = usize::MAX;
        for command in work.scans() {
            let (of_command, rows) = read_unit(command, &ledger.files);
            row_group = of_command;
            ledger.commands.push((row_group, command.clone()));
            inputs.push(rows);
        }
        let act = match &work {
            Work::Scan(_) => ledger.acts.get(&row_group).cloned(),
            Work::Merge(_) => ledger.act_on_merges.clone(),
        };
        let act = act.unwrap_or(Act::Answer);
        if let Act::Refuse(refusal) = act {
            return Err(refusal);
        }
        let cancel = CancelWord::default();
        ledger.cancels.push(cancel.clone());
        let (ticket, sender) = Ticket::new(work.envelope(), cancel);
        if act == Act::Hang {
            ledger.hanging.push((sender, lease));
            return Ok(ticket);
        }
        if act == Act::Forget {
            return Ok(ticket);
        }
        let outcome = outcome(&act, &work, &inputs);
        let link_bytes = match &outcome {
            Outcome::Finished(bytes) => bytes.len() as u64,
            Outcome::Failed(_) => 0,
        };
        // A result is in memory of the host from here on.
        let Some(_held) = Reservation::take(&self.spec.budget, link_bytes) else {
            return Err(Refusal::LowMemory { needed_bytes: link_bytes });
        };
        let media_bytes = work.scans().iter().map(|command| command.unit.media_bytes()).sum();
        ledger.traffic.media_bytes += media_bytes;
        ledger.traffic.link_bytes += link_bytes;
        let completion = Completion {
            command_id: work.envelope().command_id,
            attempt: work.envelope().attempt,
            outcome,
            time: DriveTime::Modelled(modelled()),
            traffic: Traffic { media_bytes, link_bytes, host_bytes: 0 },
        };
        if act == Act::Delay {
            ledger.delayed.push((sender, completion, lease));
        } else {
            drop(sender.send(completion));
            drop(lease);
        }
        if ledger.delayed.len() == 3 {
            // In the reverse order of their submission.
            for (sender, completion, lease) in ledger.delayed.drain(..).rev() {
                drop(sender.send(completion));
                drop(lease);
            }
        }
        Ok(ticket)
    }

    fn cancel(&self, _command_id: u128) -> CancelOutcome {
        CancelOutcome::Unknown
    }
}

/// Nanoseconds that every command takes.
pub(crate) const COMMAND_NS: u64 = 1000;

fn modelled() -> Modelled {
    Modelled {
        model: ModelId { version: 1, config_hash: 0, schedules: Schedules::default() },
        setup_ns: 0,
        media_ns: COMMAND_NS,
        bank_ns: 0,
        kernel: KernelTime::default(),
        ideal_kernel: KernelTime::default(),
        stages: StageTimes::default(),
        merge_ns: 0,
        exchange_ns: 0,
        link_ns: 0,
        compute_units: 1,
        commands: 1,
    }
}

fn outcome(act: &Act, work: &Work, inputs: &[Vec<Row>]) -> Outcome {
    if let Act::Fail(failure) = act {
        return Outcome::Failed(failure.clone());
    }
    let envelope = work.envelope();
    let end = |status| Outcome::Finished(ResultHeader::failed(envelope, status).encode().into());
    if let Act::End(status) = act {
        return end(*status);
    }
    let mut header = ResultHeader::failed(envelope, Status::Ok);
    let mut verdicts = Vec::new();
    for (command, rows) in work.scans().iter().zip(inputs) {
        let verdict = evaluate(&command.fragment, rows);
        header.rows_in += command.unit.rows;
        header.rows_kept += verdict.rows_kept;
        verdicts.push(verdict);
    }
    header.continuation_row = header.rows_in;
    let (rows, status) = match work {
        Work::Scan(_) => (verdicts.pop().and_then(|verdict| verdict.rows), None),
        Work::Merge(command) => {
            let merged = evaluate_merge(&command.merge, &verdicts);
            (merged.rows, merged.statuses.first().copied())
        }
    };
    let Some(mut rows) = rows else { return end(status.unwrap_or(Status::Overflow)) };
    match act {
        Act::LoseRow => drop(rows.pop()),
        Act::MissRow => header.rows_in -= 1,
        Act::Confuse => header.command_id += 1,
        Act::Lie => {
            let number = rows.iter_mut().flatten().find_map(|value| match value {
                Value::Number(number) => Some(number),
                Value::Null | Value::Bytes(_) => None,
            });
            *number.unwrap() += 1;
        }
        _ => {}
    }
    let widths = work.scans().first().map(|command| command.fragment.output_widths());
    let form = match work {
        Work::Scan(command) => command.form,
        Work::Merge(_) => BlockForm::Plain,
    };
    let mut bytes = written(&rows, &widths.unwrap_or_default(), form, header);
    match act {
        Act::Flip(from_end) => {
            let at = bytes.len() - 1 - from_end;
            bytes[at] ^= 0x10;
        }
        Act::FlipHeader => bytes[40] ^= 0x10,
        _ => {}
    }
    Outcome::Finished(bytes.into())
}

/// The result with these rows, in blocks of the form.
fn written(rows: &[Row], widths: &[Width], form: BlockForm, header: ResultHeader) -> Vec<u8> {
    let number = |value: &Value| match value {
        Value::Number(number) => *number,
        Value::Null | Value::Bytes(_) => 0,
    };
    let column = |index: usize| rows.iter().map(move |row| &row[index]);
    let indexes = 0..widths.len();
    let validity = indexes.clone().map(|index| column(index).map(|v| *v != Value::Null).collect());
    let validity: Vec<Vec<bool>> = validity.collect();
    let numbers = indexes.clone().map(|index| column(index).map(number).collect());
    let numbers: Vec<Vec<i128>> = numbers.collect();
    let strings = indexes.clone().map(|index| column(index).map(text).collect());
    let strings: Vec<Vec<&[u8]>> = strings.collect();
    let cells = indexes.map(|index| CellColumn {
        cells: match widths[index] {
            Width::Bytes => Cells::Strings(&strings[index]),
            Width::Bool | Width::W32 | Width::W64 | Width::W128 => Cells::Wide(&numbers[index]),
        },
        validity: Some(&validity[index]),
    });
    let mut writer = ColumnarWriter::new(widths, form);
    writer.push(rows.len(), &cells.collect::<Vec<_>>()).unwrap();
    writer.finish(header)
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(text) => text,
        Value::Null | Value::Number(_) => &[],
    }
}

/// Which row group a command is about, and its rows.
fn read_unit(command: &Command, files: &[PathBuf]) -> (usize, Vec<Row>) {
    let unit = &command.unit;
    let Some(chunk) = unit.chunks.first() else {
        return (usize::MAX, vec![Row::new(); usize::try_from(unit.rows).unwrap()]);
    };
    let InputRef::FileRange { file_id, offset, .. } = &unit.inputs[usize::from(chunk.input)] else {
        panic!("a command reads files");
    };
    let path = &files[usize::try_from(*file_id).unwrap()];
    let start = offset + chunk.offset;
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let groups = builder.metadata().row_groups();
    let starts_here = |column: &parquet::file::metadata::ColumnChunkMetaData| {
        column.byte_range() == (start, chunk.length)
    };
    let row_group = groups.iter().position(|group| group.columns().iter().any(starts_here));
    let row_group = row_group.expect("a chunk is one of the file");
    let names = command.fragment.columns.iter().map(|column| column.name.as_str());
    let mask = ProjectionMask::columns(builder.parquet_schema(), names);
    let reader = builder.with_row_groups(vec![row_group]).with_projection(mask).build().unwrap();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let columns: Vec<_> =
            command.fragment.columns.iter().map(|about| column(&about.name)).collect();
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|column| value_of(column.as_ref(), row)).collect());
        }
    }
    (row_group, rows)
}

fn value_of(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    macro_rules! number {
        ($ty:ty) => {
            Value::Number(array.as_primitive::<$ty>().value(row).into())
        };
    }
    let place = |number: f64| Value::Number(float_order(number).into());
    match array.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Time32(TimeUnit::Millisecond) => number!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => number!(Time64MicrosecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => number!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => number!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number!(TimestampNanosecondType),
        DataType::Boolean => Value::Number(array.as_boolean().value(row).into()),
        DataType::Float32 => place(widened_float(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => place(array.as_primitive::<Float64Type>().value(row)),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::Int32 => Value::Number(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Value::Number(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::Date32 => Value::Number(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Decimal128(_, _) => {
            Value::Number(array.as_primitive::<Decimal128Type>().value(row))
        }
        DataType::Utf8 => Value::Bytes(array.as_string::<i32>().value(row).as_bytes().to_vec()),
        other => panic!("no drive reads {other}"),
    }
}
