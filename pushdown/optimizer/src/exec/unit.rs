// SPDX-License-Identifier: Apache-2.0
//! Runs one unit of work: on the drive, then on the fallback, then by the replaced plan.

use std::{sync::Arc, time::Duration};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext, memory_pool::MemoryReservation},
    physical_plan::{ExecutionPlan, stream::RecordBatchStreamAdapter},
};
use futures::TryStreamExt;
use nearscan_command::{Command, Envelope, Fragment, InputRef, KeyFilter, Status, Unit};
use nearscan_drive::{
    Budget, Completion, Drive, DriveTime, Failure, Fault, FileRef, Kernel, Observation, Placement,
    Refusal, Session, SessionSpec, Submission, Traffic, Work,
};

use crate::{
    context::PushdownContext,
    exec::{
        arrays, fallback,
        metrics::{PushBack, PushdownMetrics},
        pushed::Pushed,
        trial::{Filters, KeyTrials},
        verify,
    },
    log::LogEntry,
    settings::Verify,
    units::{PlannedUnit, looks_keys_up_by_row},
};

/// The state shared by the units of one partition.
pub(crate) struct UnitRunner {
    pub(crate) pushed: Arc<Pushed>,
    pub(super) trials: Arc<KeyTrials>,
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) schema: SchemaRef,
    pub(crate) context: Arc<PushdownContext>,
    pub(crate) task: Arc<TaskContext>,
    /// Those of the operator, in its order; none where a drive is absent.
    pub(crate) drives: Vec<Option<OpenDrive>>,
    pub(crate) fallback: Option<OpenDrive>,
    pub(crate) metrics: Arc<PushdownMetrics>,
    /// Bytes that the partition has charged to the query's memory pool.
    pub(crate) memory: MemoryReservation,
    pub(crate) timeout: Duration,
    pub(crate) verify: Verify,
}

/// A drive with a session for this partition.
pub(crate) struct OpenDrive {
    drive: Arc<dyn Drive>,
    session: Arc<dyn Session>,
}

impl OpenDrive {
    /// Opens a session, if the drive is attached.
    pub(crate) fn open(
        drive: Option<Arc<dyn Drive>>,
        query_id: u128,
        budget: &Arc<dyn Budget>,
    ) -> Option<Self> {
        let drive = drive?;
        let spec = SessionSpec { query_id, tenant: 0, budget: Arc::clone(budget) };
        let session = drive.open_session(spec).ok()?;
        Some(Self { drive, session })
    }

    /// Submits a command and waits for its end.
    ///
    /// # Errors
    /// The reason why the drive did not accept it, or a timeout.
    pub(crate) async fn complete(
        &self,
        work: impl Into<Work>,
        timeout: Duration,
    ) -> Result<Completion, PushBack> {
        let work = work.into();
        let refused = |refusal| refusal_reason(&refusal);
        let lease = self.session.lease(work.device_bytes()).map_err(refused)?;
        let ticket = self.session.submit(Submission { work, lease, timeout }).map_err(refused)?;
        // After a timeout the ticket is dropped, which cancels; the drive owns the buffers until it
        // has stopped.
        tokio::time::timeout(timeout, ticket).await.map_err(|_elapsed| PushBack::Timeout)
    }

    /// Bytes of key filters that the drive takes.
    fn key_bits_bytes_max(&self) -> u64 {
        self.drive.capabilities().key_bits_bytes_max.into()
    }

    /// The command with compact blocks allowed, if the drive writes them.
    fn packing(&self, command: Command) -> Command {
        match self.drive.capabilities().compact_results {
            true => command.compact(),
            false => command,
        }
    }

    /// The epoch that the drive's commands belong to.
    pub(crate) fn epoch(&self) -> u64 {
        self.session.epoch()
    }

    /// Returns the number of a file in commands; nothing if the drive does not hold the file.
    fn file_id(&self, file: &FileRef) -> Option<u64> {
        match self.drive.locate(file) {
            Placement::Here { file_id } => Some(file_id),
            Placement::NotHere { .. } => None,
        }
    }
}

/// Batches that are charged to the query's memory pool until they are dropped.
pub(crate) struct Charged {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) memory: MemoryReservation,
}

/// The rows of a unit.
pub(crate) enum UnitRows {
    /// All rows, after the check.
    Batches(Charged),
    /// DataFusion's own stream, not started yet.
    Stream(SendableRecordBatchStream),
}

/// A push-back: its reason, and the cost of the attempt.
pub(crate) struct Returned {
    pub(crate) reason: PushBack,
    pub(crate) cost: Cost,
}

/// The data and time of the drive for a unit; nothing without a completion.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) traffic: Traffic,
    pub(crate) time: Option<DriveTime>,
}

impl Cost {
    pub(crate) fn of(completion: &Completion) -> Self {
        Self { traffic: completion.traffic, time: Some(completion.time) }
    }
}

impl UnitRunner {
    /// One of the operator's drives, if it is there.
    pub(super) fn drive(&self, at: usize) -> Option<&OpenDrive> {
        self.drives.get(at).and_then(Option::as_ref)
    }

    /// Bytes of key filters that a drive takes.
    pub(super) fn key_bits_bytes_max(&self, drive: usize) -> u64 {
        self.drive(drive).map_or(0, OpenDrive::key_bits_bytes_max)
    }

    /// No rows, of a unit that has none that are wanted.
    pub(super) fn skip(&self) -> UnitRows {
        self.metrics.units_pruned.add(1);
        UnitRows::Batches(Charged { batches: Vec::new(), memory: self.memory.new_empty() })
    }

    /// Runs one unit; its fragment has the `given` ones of the key filters.
    pub(super) async fn run(
        self: Arc<Self>,
        unit: PlannedUnit,
        fragment: Arc<Fragment>,
        given: Filters,
    ) -> Result<UnitRows> {
        self.metrics.reads(unit.rows, fragment.columns.len());
        self.metrics.key_filters.add(fragment.key_filters.len());
        if let Some(reason) = unit.kept {
            self.metrics.units_cpu.add(1);
            let rows = UnitRows::Stream(self.by_host(unit, reason.word(), Cost::default())?);
            return Ok(rows);
        }
        let returned = match self.on_drive(&unit, &fragment, given).await {
            Ok((charged, cost)) => {
                self.metrics.units_drive.add(1);
                if self.verify == Verify::Compare && verify::is_comparable(&self.pushed, &fragment)
                {
                    let task = Arc::clone(&self.task);
                    let rows = fallback::execute_whole_unit(&self.plan, &unit, task)?;
                    verify::compare(&self.pushed, &unit, &fragment, &charged.batches, rows).await?;
                }
                let rows_out = row_count(&charged.batches);
                self.log(&unit, self.pushed.drive_of(&unit), "", cost, rows_out);
                return Ok(UnitRows::Batches(charged));
            }
            Err(returned) => returned,
        };
        let Returned { reason, cost } = returned;
        self.metrics.pushed_back(reason);
        self.metrics.units_cpu.add(1);
        let fallback = self.on_fallback(&unit, &fragment).await;
        let rows = match fallback {
            Some(charged) => {
                self.log(&unit, "cpu", reason.word(), cost, row_count(&charged.batches));
                UnitRows::Batches(charged)
            }
            None => UnitRows::Stream(self.by_host(unit, reason.word(), cost)?),
        };
        Ok(rows)
    }

    /// DataFusion's own stream, with an entry in the log once it has ended or was dropped.
    fn by_host(
        self: &Arc<Self>,
        unit: PlannedUnit,
        reason: &'static str,
        cost: Cost,
    ) -> Result<SendableRecordBatchStream> {
        let stream = fallback::execute_unit(&self.plan, &unit, Arc::clone(&self.task))?;
        let schema = stream.schema();
        let mut entry = LogAtEnd { runner: Arc::clone(self), unit, reason, cost, rows_out: 0 };
        let counted = stream.inspect_ok(move |batch| entry.count(batch));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, counted)))
    }

    /// The unit on the drive.
    async fn on_drive(
        &self,
        unit: &PlannedUnit,
        fragment: &Arc<Fragment>,
        given: Filters,
    ) -> Result<(Charged, Cost), Returned> {
        let back = |reason| Returned { reason, cost: Cost::default() };
        let hash = self.pushed.fragment.hash();
        let name = self.pushed.drive_of(unit);
        let open = self.drive(unit.drive).ok_or_else(|| back(PushBack::Fault))?;
        let pass = self.context.admit(name, hash, open.epoch());
        let pass = pass.ok_or_else(|| back(PushBack::Quarantine))?;
        let command = self.bind(open, fragment, unit, self.timeout);
        let command = open.packing(command.ok_or_else(|| back(PushBack::Fault))?);
        let completion = match open.complete(command.clone(), self.timeout).await {
            Ok(completion) => completion,
            Err(reason) => {
                if reason == PushBack::Timeout {
                    pass.failed(self.context.now());
                }
                return Err(back(reason));
            }
        };
        self.metrics.moved(&completion);
        let cost = Cost::of(&completion);
        match self.checked(&completion, &command, unit) {
            Ok((batches, rows_kept)) => {
                pass.succeeded();
                self.trials.note(given, unit.rows, rows_kept);
                let scans = std::slice::from_ref(&command);
                let by_row = |filter: &KeyFilter| {
                    let chunk = command.unit.chunks.get(usize::from(filter.column));
                    chunk.is_some_and(looks_keys_up_by_row)
                };
                let has_keys_by_row = command.fragment.key_filters.iter().any(by_row);
                let load = unit.load(if has_keys_by_row { unit.rows } else { rows_kept });
                let observed = Observation::of(Kernel::Scan, scans, load, &completion);
                self.context.note_command(name, &observed);
                let low_memory = || Returned { reason: PushBack::LowMemory, cost };
                Ok((self.charge(batches).ok_or_else(low_memory)?, cost))
            }
            Err(fault) => {
                tracing::debug!(drive = name, %fault, "a unit was pushed back");
                pass.ended(&fault, self.context.now());
                Err(Returned { reason: fault_reason(&fault), cost })
            }
        }
    }

    /// The batches of a completion and the number of rows that were kept, once it has been checked.
    fn checked(
        &self,
        completion: &Completion,
        command: &Command,
        unit: &PlannedUnit,
    ) -> Result<(Vec<RecordBatch>, u64), Fault> {
        let view = completion.check(command)?;
        let replaced = &self.pushed.replaced;
        let batches = arrays::to_batches(&view, replaced, &unit.folder_values, &self.schema);
        let batches = batches.map_err(|error| {
            tracing::warn!(%error, "a drive's result does not fit its schema");
            Fault::Accounting("its values do not fit the schema")
        })?;
        Ok((batches, view.header.rows_kept))
    }

    /// Charges batches to the query's memory pool; nothing if the pool is full.
    pub(crate) fn charge(&self, batches: Vec<RecordBatch>) -> Option<Charged> {
        let bytes = batches.iter().map(RecordBatch::get_array_memory_size).sum();
        let memory = self.memory.new_empty();
        memory.try_grow(bytes).ok()?;
        Some(Charged { batches, memory })
    }

    /// Runs the unit on the CPU drive; nothing if that fails too, or the rows do not fit in memory.
    async fn on_fallback(&self, unit: &PlannedUnit, fragment: &Arc<Fragment>) -> Option<Charged> {
        let open = self.fallback.as_ref()?;
        // It always ends, so it needs no timeout.
        let command = self.bind(open, fragment, unit, Duration::MAX)?;
        let completion = open.complete(command.clone(), Duration::MAX).await.ok()?;
        let (batches, _) = self.checked(&completion, &command, unit).ok()?;
        self.charge(batches)
    }

    /// Binds the command for a unit on a drive; nothing if the drive does not hold the file. Its
    /// result is plain: it may be merged on the drive, or never leave the host.
    pub(crate) fn bind(
        &self,
        open: &OpenDrive,
        fragment: &Fragment,
        unit: &PlannedUnit,
        timeout: Duration,
    ) -> Option<Command> {
        let file_id = open.file_id(&unit.file)?;
        let envelope = Envelope {
            command_id: self.context.next_command_id(),
            query_id: self.pushed.query_id,
            epoch: open.epoch(),
            deadline_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            ..Envelope::default()
        };
        Command::bind(fragment, bound_unit(unit, file_id), envelope).ok()
    }

    pub(crate) fn log(
        &self,
        unit: &PlannedUnit,
        placed_on: &str,
        reason: &str,
        cost: Cost,
        rows_out: u64,
    ) {
        self.context.log.push(LogEntry {
            query_id: self.pushed.query_id,
            table: self.pushed.table.clone(),
            file: unit.file.to_string(),
            row_group: unit.row_group,
            placed_on: placed_on.to_owned(),
            reason: reason.to_owned(),
            media_bytes: cost.traffic.media_bytes,
            link_bytes: cost.traffic.link_bytes,
            rows_in: unit.rows,
            rows_out,
            measured_ns: match cost.time {
                Some(DriveTime::Measured(measured)) => Some(measured.ns),
                _ => None,
            },
            modelled_ns: match cost.time {
                Some(DriveTime::Modelled(modelled)) => Some(modelled.serial_ns()),
                _ => None,
            },
            estimate: unit.estimate,
        });
    }
}

/// Writes a unit's entry when its stream is dropped, with the rows counted until then.
struct LogAtEnd {
    runner: Arc<UnitRunner>,
    unit: PlannedUnit,
    reason: &'static str,
    cost: Cost,
    rows_out: u64,
}

impl LogAtEnd {
    fn count(&mut self, batch: &RecordBatch) {
        self.rows_out += batch.num_rows() as u64;
    }
}

impl Drop for LogAtEnd {
    fn drop(&mut self) {
        self.runner.log(&self.unit, "cpu", self.reason, self.cost, self.rows_out);
    }
}

pub(crate) fn row_count(batches: &[RecordBatch]) -> u64 {
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}

/// Returns the unit with its chunks as ranges of the file; adjacent chunks are one input.
pub(crate) fn bound_unit(unit: &PlannedUnit, file_id: u64) -> Unit {
    let mut order: Vec<usize> = (0..unit.chunks.len()).collect();
    order.sort_by_key(|index| unit.chunks[*index].offset);
    let mut chunks = unit.chunks.clone();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for index in order {
        let chunk = &mut chunks[index];
        let (start, end) = (chunk.offset, chunk.offset + chunk.length);
        match ranges.last_mut() {
            Some((_, last)) if *last == start => *last = end,
            _ => ranges.push((start, end)),
        }
        let input = ranges.len() - 1;
        chunk.input = u16::try_from(input).unwrap_or(u16::MAX);
        chunk.offset = start - ranges[input].0;
    }
    let version = unit.file.version;
    let inputs = ranges.into_iter().map(|(start, end)| InputRef::FileRange {
        file_id,
        version,
        offset: start,
        length: end - start,
    });
    Unit { rows: unit.rows, inputs: inputs.collect(), chunks }
}

fn refusal_reason(refusal: &Refusal) -> PushBack {
    match refusal {
        Refusal::Busy => PushBack::Busy,
        Refusal::LowMemory { .. } => PushBack::LowMemory,
        Refusal::Gone { .. } | Refusal::Command(_) => PushBack::Fault,
    }
}

pub(crate) fn fault_reason(fault: &Fault) -> PushBack {
    match fault {
        Fault::Status(status) => match status {
            Status::Encoding | Status::SnappyDistance | Status::Unsupported => PushBack::Encoding,
            Status::GroupCardinality => PushBack::GroupCardinality,
            Status::DictionarySize => PushBack::DictionarySize,
            Status::Overflow => PushBack::Overflow,
            Status::ScratchFull | Status::OutputFull => PushBack::LowMemory,
            Status::StepsExceeded => PushBack::Timeout,
            Status::Ok
            | Status::Malformed
            | Status::StaleInput
            | Status::Corrupt
            | Status::NotSorted
            | Status::Cancelled => PushBack::Fault,
        },
        Fault::Failed(Failure::Timeout) => PushBack::Timeout,
        Fault::Failed(Failure::Busy) => PushBack::Busy,
        Fault::Failed(Failure::HostMemory { .. } | Failure::LowMemory { .. }) => {
            PushBack::LowMemory
        }
        Fault::Failed(_) | Fault::Corrupted(_) | Fault::Accounting(_) => PushBack::Fault,
    }
}
