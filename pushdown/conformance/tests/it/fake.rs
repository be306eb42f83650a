// SPDX-License-Identifier: Apache-2.0
//! Implements a drive that reads pages with this folder's reader, evaluates them by the evaluator,
//! and then makes one deliberate mistake.

use std::{
    collections::HashSet,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use nearscan_command::{
    BlockForm, Command, Fragment, Function, InputRef, MergeCommand, Op, Output, ResultHeader,
    ResultView, ResultWriter, Row, Status, StringTest, TestOp, Top, Value, ValueKind, limits,
    pattern,
};
use nearscan_conformance::evaluator::{evaluate, evaluate_merge, order};
use nearscan_drive::{
    CancelOutcome, CancelWord, Capabilities, Completion, CostSnapshot, Drive, DriveTime, Failure,
    FileRef, Identity, Lease, Measured, Outcome, Placement, RatesByRequest, Refusal, Session,
    SessionSpec, Submission, Ticket, Traffic, Work,
};

use crate::{packing, reader::read_chunk};

/// A deliberate bug of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    Nothing,
    NullIsZero,
    NotOfNullIsTrue,
    DropsLastRow,
    SumIsOneOff,
    SwapsRows,
    IgnoresOverflow,
    IgnoresVersion,
    IgnoresLimit,
    RefusesGroups,
    BelievesDamage,
    ForgetsRowsKept,
    AnswersAnother,
    IgnoresRoom,
    IsCompactUnasked,
    FindsEverything,
    CutsQuotientsOff,
    TakesDistinctForDifferent,
    TakesACharacterForAny,
    MixesExtremesUp,
    IgnoresRanges,
    CutsTiesOff,
    PutsNullsLast,
    AddsFromTheEnd,
    PutsLaterInputsFirst,
    KeepsDuplicates,
    SortsByItself,
    LeavesFailedInputsOut,
    IsGoneWhenAskedAgain,
}

impl Flaw {
    /// Makes a fragment say what a drive with this flaw takes it to say.
    fn spoil(self, fragment: &mut Fragment) {
        let steps = fragment.predicate.steps.iter_mut().chain(&mut fragment.projection.steps);
        for step in steps {
            step.op = match (self, step.op) {
                (Self::CutsQuotientsOff, Op::DivideRound | Op::DivideFloor) => Op::Divide,
                (Self::TakesDistinctForDifferent, Op::IsDistinct) => Op::NotEqual,
                (Self::TakesDistinctForDifferent, Op::IsNotDistinct) => Op::Equal,
                (_, op) => op,
            };
        }
        if self == Self::TakesACharacterForAny {
            let is_like = |test: &&mut StringTest| test.op == TestOp::Like;
            for byte in
                fragment.tests.iter_mut().filter(is_like).flat_map(|test| &mut test.strings[0])
            {
                *byte = if *byte == pattern::ONE { pattern::ANY } else { *byte };
            }
        }
        match &mut fragment.output {
            Output::Rows { limit, top, .. } => match (self, *top) {
                (Self::IgnoresLimit, _) => *limit = None,
                (Self::CutsTiesOff, Some(order)) => {
                    *top = None;
                    *limit = Some(order.count.into());
                }
                (Self::PutsNullsLast, Some(order)) => {
                    *top = Some(Top { nulls_first: false, ..order });
                }
                _ => {}
            },
            Output::States { keys, aggregates } => {
                if self == Self::IgnoresRanges {
                    keys.iter_mut().for_each(|key| key.range = None);
                }
                if self == Self::MixesExtremesUp {
                    let mix = |function| match function {
                        Function::Min => Function::Max,
                        Function::Max => Function::Min,
                        other => other,
                    };
                    aggregates.iter_mut().for_each(|slot| slot.function = mix(slot.function));
                }
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Fake {
    flaw: Flaw,
    identity: Identity,
    capabilities: Capabilities,
    files: Arc<Mutex<Vec<PathBuf>>>,
    shared: bool,
}

impl Fake {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            shared: false,
            identity: Identity {
                uuid: uuid::Uuid::nil(),
                kind: "fake",
                model: format!("{flaw:?}"),
            },
            capabilities: Capabilities {
                merge_inputs_max: limits::MERGE_INPUTS_MAX,
                ..Capabilities::of_scan_kernel()
            },
            files: Arc::default(),
        }
    }

    /// A right drive that is so busy with other clients that it refuses every other request.
    pub(crate) fn shared() -> Self {
        Self { shared: true, ..Self::new(Flaw::Nothing) }
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
        if !file.path.exists() && self.flaw != Flaw::FindsEverything {
            return Placement::NotHere { reason: "no such file".to_owned() };
        }
        let mut files = self.files.lock().unwrap();
        files.push(file.path.clone());
        Placement::Here { file_id: files.len() as u64 - 1 }
    }

    fn snapshot(&self) -> CostSnapshot {
        CostSnapshot {
            id: 0,
            lanes: 1,
            start_ns: 0.0,
            media: None,
            link_bytes_per_s: Some(1.0),
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::UNKNOWN,
            merge: RatesByRequest::UNKNOWN,
            queue_depth: 0,
            free_bytes: 0,
            image: None,
        }
    }

    fn open_session(&self, _spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let files = Arc::clone(&self.files);
        Ok(Arc::new(FakeSession {
            flaw: self.flaw,
            files,
            asked: Mutex::default(),
            leases: Others::new(self.shared),
            submissions: Others::new(self.shared),
            late: Others::new(self.shared),
        }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        Ok(0)
    }

    fn in_flight(&self) -> u32 {
        0
    }

    fn shutdown(&self) {}
}

#[derive(Debug)]
struct FakeSession {
    flaw: Flaw,
    files: Arc<Mutex<Vec<PathBuf>>>,
    /// Lower halves of the numbers of all work.
    asked: Mutex<HashSet<u128>>,
    leases: Others,
    submissions: Others,
    /// Of which a drive elsewhere hears late.
    late: Others,
}

/// Whether others have what is requested: never, or each second time from the first.
#[derive(Debug)]
struct Others {
    shared: bool,
    asked: AtomicU64,
}

impl Others {
    fn new(shared: bool) -> Self {
        Self { shared, asked: AtomicU64::new(0) }
    }

    fn have_it(&self) -> bool {
        self.shared && self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
    }
}

impl Session for FakeSession {
    fn epoch(&self) -> u64 {
        0
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        match self.leases.have_it() {
            true => Err(Refusal::LowMemory { needed_bytes: bytes }),
            false => Ok(Lease::new(bytes, |_| {})),
        }
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        assert!(submission.timeout > Duration::ZERO);
        if self.submissions.have_it() {
            return Err(Refusal::Busy);
        }
        let work = &submission.work;
        // The suite distinguishes repetitions by the upper half of their number.
        let number = work.envelope().command_id & u128::from(u64::MAX);
        let is_new = self.asked.lock().unwrap().insert(number);
        if self.flaw == Flaw::IsGoneWhenAskedAgain && !is_new {
            return Err(Refusal::Gone { reason: "asked again".to_owned() });
        }
        let (ticket, sender) = Ticket::new(work.envelope(), CancelWord::default());
        let media_bytes = work.scans().iter().map(|scan| scan.unit.media_bytes()).sum();
        let outcome = match work {
            _ if self.late.have_it() => Err(Failure::Busy),
            Work::Scan(command) => self.run(command),
            Work::Merge(command) => self.merge(command),
        };
        let completion = Completion {
            command_id: work.envelope().command_id,
            attempt: work.envelope().attempt,
            outcome: outcome.unwrap_or_else(Outcome::Failed),
            time: DriveTime::Measured(Measured { ns: 1 }),
            traffic: Traffic { media_bytes, link_bytes: 0, host_bytes: media_bytes },
        };
        drop(sender.send(completion));
        Ok(ticket)
    }

    fn cancel(&self, _command_id: u128) -> CancelOutcome {
        CancelOutcome::Unknown
    }
}

impl FakeSession {
    /// Runs the scans and asks the evaluator what their results are merged to.
    fn merge(&self, command: &MergeCommand) -> Result<Outcome, Failure> {
        let status = |status| {
            let header = ResultHeader::failed(&command.envelope, status);
            Ok(Outcome::Finished(Bytes::from(header.encode())))
        };
        let mut merge = command.merge.clone();
        let mut verdicts = Vec::new();
        for scan in &command.scans {
            let Outcome::Finished(bytes) = self.run(scan)? else { panic!("it finishes") };
            let view = ResultView::parse(&bytes, &command.output_widths()).unwrap();
            if view.header.status == Status::Ok {
                let rows = self.read(scan)?.unwrap_or_default();
                verdicts.push(evaluate(&scan.fragment, &rows));
            } else if self.flaw != Flaw::LeavesFailedInputsOut {
                return status(view.header.status);
            }
        }
        match self.flaw {
            Flaw::PutsLaterInputsFirst => verdicts.reverse(),
            Flaw::KeepsDuplicates => merge.distinct = false,
            Flaw::PutsNullsLast => merge.keys.iter_mut().for_each(|key| key.nulls_first = false),
            Flaw::SortsByItself => {
                for rows in verdicts.iter_mut().filter_map(|verdict| verdict.rows.as_mut()) {
                    rows.sort_by(|a, b| order(&merge.keys, a, b));
                }
            }
            _ => {}
        }
        let verdict = evaluate_merge(&merge, &verdicts);
        let Some(rows) = verdict.rows else { return status(Status::NotSorted) };
        let mut writer = ResultWriter::new(command.output_widths());
        for row in rows {
            writer.push(row).unwrap();
        }
        let header = ResultHeader {
            rows_in: command.rows(),
            rows_kept: verdict.rows_kept,
            continuation_row: command.rows(),
            ..ResultHeader::failed(&command.envelope, Status::Ok)
        };
        let bytes = writer.finish(header);
        match bytes.len() as u64 > command.output.bytes_max() {
            true => status(Status::OutputFull),
            false => Ok(Outcome::Finished(Bytes::from(bytes))),
        }
    }

    fn run(&self, command: &Command) -> Result<Outcome, Failure> {
        let status = |status| {
            let header = ResultHeader::failed(&command.envelope, status);
            Ok(Outcome::Finished(Bytes::from(header.encode())))
        };
        let mut rows = match self.read(command)? {
            Some(rows) => rows,
            None => return status(Status::Corrupt),
        };
        // Of states only sums of floats can tell.
        if self.flaw == Flaw::AddsFromTheEnd
            && matches!(command.fragment.output, Output::States { .. })
        {
            rows.reverse();
        }
        let mut fragment = command.fragment.clone();
        if self.flaw == Flaw::RefusesGroups
            && matches!(&fragment.output, Output::States { keys, .. } if !keys.is_empty())
        {
            return status(Status::GroupCardinality);
        }
        if self.flaw == Flaw::NotOfNullIsTrue {
            for step in &mut fragment.predicate.steps {
                if step.op == Op::Not {
                    // True of false and of NULL; the operand is a truth value.
                    let is_false = nearscan_command::Step::unary(Op::IsNull, step.a);
                    *step = is_false;
                }
            }
        }
        self.flaw.spoil(&mut fragment);
        let verdict = evaluate(&fragment, &rows);
        let Some(mut rows) = verdict.rows else {
            if self.flaw == Flaw::IgnoresOverflow {
                return Ok(self.result(command, &[], 0));
            }
            return status(match verdict.overflow_allowed {
                true => Status::Overflow,
                false => Status::GroupCardinality,
            });
        };
        match self.flaw {
            Flaw::DropsLastRow => drop(rows.pop()),
            Flaw::SwapsRows if rows.len() > 1 => rows.swap(0, 1),
            Flaw::SumIsOneOff => {
                if let (Output::States { .. }, Some(Value::Number(number))) =
                    (&command.fragment.output, rows.first_mut().and_then(|row| row.last_mut()))
                {
                    *number = number.wrapping_add(1);
                }
            }
            _ => {}
        }
        let outcome = self.result(command, &rows, verdict.rows_kept);
        match &outcome {
            Outcome::Finished(bytes)
                if bytes.len() as u64 > command.output.bytes_max()
                    && self.flaw != Flaw::IgnoresRoom =>
            {
                status(Status::OutputFull)
            }
            _ => Ok(outcome),
        }
    }

    fn result(&self, command: &Command, rows: &[Row], rows_kept: u64) -> Outcome {
        let mut writer = ResultWriter::new(command.fragment.output_widths());
        for row in rows {
            writer.push(row.clone()).unwrap();
        }
        let mut header = ResultHeader {
            rows_in: command.unit.rows,
            rows_kept,
            continuation_row: command.unit.rows,
            ..ResultHeader::failed(&command.envelope, Status::Ok)
        };
        match self.flaw {
            Flaw::ForgetsRowsKept => header.rows_kept = 0,
            Flaw::AnswersAnother => header.command_id ^= 1,
            _ => {}
        }
        if command.form == BlockForm::Compact || self.flaw == Flaw::IsCompactUnasked {
            // Larger than there is room for when it is plain: it will not be sent.
            let plain = writer.finish(header);
            if plain.len() as u64 > command.output.bytes_max() {
                return Outcome::Finished(Bytes::from(plain));
            }
            let payload = packing::payload(rows, &command.fragment.output_widths());
            let header = ResultHeader {
                rows_out: rows.len() as u64,
                payload_bytes: payload.len() as u64,
                payload_checksum: packing::checksum(&payload),
                ..header
            };
            return Outcome::Finished(Bytes::from([header.encode(), payload].concat()));
        }
        Outcome::Finished(Bytes::from(writer.finish(header)))
    }

    /// The rows of the unit; `None` when a chunk is damaged.
    fn read(&self, command: &Command) -> Result<Option<Vec<Row>>, Failure> {
        let unit = &command.unit;
        let mut columns: Vec<Vec<Value>> = Vec::new();
        for chunk in &unit.chunks {
            let bytes = self.bytes(&unit.inputs[usize::from(chunk.input)], chunk)?;
            match read_chunk(&bytes, chunk, unit.rows) {
                Ok(values) => columns.push(values),
                Err(_) if self.flaw == Flaw::BelievesDamage => {
                    columns.push(vec![Value::Null; usize::try_from(unit.rows.min(100)).unwrap()]);
                }
                Err(_) => return Ok(None),
            }
        }
        let row_count = match columns.first() {
            Some(column) => column.len(),
            None => usize::try_from(unit.rows).unwrap(),
        };
        let kinds: Vec<ValueKind> = command.fragment.columns.iter().map(|c| c.kind).collect();
        let value = |row: usize, index: usize| match (&columns[index][row], kinds[index]) {
            (Value::Null, ValueKind::Integer) if self.flaw == Flaw::NullIsZero => Value::Number(0),
            (value, _) => value.clone(),
        };
        let row = |row| (0..columns.len()).map(|index| value(row, index)).collect();
        Ok(Some((0..row_count).map(row).collect()))
    }

    fn bytes(&self, input: &InputRef, chunk: &nearscan_command::Chunk) -> Result<Vec<u8>, Failure> {
        let InputRef::FileRange { file_id, version, offset, .. } = input else {
            return Err(Failure::Kernel { reason: "only files".to_owned() });
        };
        let path = self.files.lock().unwrap()[usize::try_from(*file_id).unwrap()].clone();
        let name = path.display().to_string();
        let read_error =
            |error: std::io::Error| Failure::Read { path: name.clone(), reason: error.to_string() };
        let metadata = std::fs::metadata(&path).map_err(read_error)?;
        let stamp = u64::try_from(metadata.mtime()).unwrap() * 1_000_000_000
            + u64::try_from(metadata.mtime_nsec()).unwrap();
        if self.flaw != Flaw::IgnoresVersion
            && (version.size_bytes != metadata.len() || version.stamp != stamp)
        {
            return Err(Failure::Stale { path: name });
        }
        let file = std::fs::read(&path).map_err(read_error)?;
        let start = usize::try_from(offset + chunk.offset).unwrap();
        let end = start + usize::try_from(chunk.length).unwrap();
        file.get(start..end)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| Failure::Read { path: name, reason: "it is too short".to_owned() })
    }
}
