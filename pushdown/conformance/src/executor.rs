// SPDX-License-Identifier: Apache-2.0
//! Runs one case on a drive.

use std::{
    future::Future,
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::Duration,
};

use nearscan_command::{
    BlockForm, Command, Envelope, InputRef, Output, OutputRef, ResultHeader, ResultView, Row, Unit,
    Value, Version, Width,
};
use nearscan_drive::{
    Completion, Drive, Failure, Fault, FileRef, Outcome, Placement, Refusal, Session, SessionSpec,
    Submission, Ticket, Unlimited, Work, clock::Stopwatch,
};

use crate::{
    blocks,
    case::{Case, Inputs},
    file::{Folder, TemporaryFile},
    judge::{Answer, judge},
    report::Report,
};

/// Time after which a command counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// The outcome of a case.
pub(crate) enum End {
    /// With what it may end with.
    Passed(String),
    /// The drive says that it is not able to run it.
    Skipped(String),
}

/// Runs cases.
pub(crate) struct Executor<'a> {
    pub(crate) drive: &'a dyn Drive,
    pub(crate) session: Arc<dyn Session>,
    pub(crate) folder: Folder,
    next_id: u128,
}

impl<'a> Executor<'a> {
    pub(crate) fn open(drive: &'a dyn Drive, folder: Option<&Path>) -> Result<Self, String> {
        let folder =
            Folder::new(folder).map_err(|error| format!("no temporary folder: {error}"))?;
        // Two runs of the suite at once must not use the same numbers.
        let first = u128::from(nearscan_drive::clock::unix_ns()) << 32;
        let spec = SessionSpec { query_id: first, tenant: 0, budget: Arc::new(Unlimited) };
        let session =
            drive.open_session(spec).map_err(|refusal| format!("no session: {refusal}"))?;
        Ok(Self { drive, session, folder, next_id: first })
    }

    /// Runs a case and notes what came of it.
    pub(crate) fn run(&mut self, case: &Case, report: &mut Report) {
        match self.try_run(case) {
            Ok(End::Passed(end)) => report.passed(&end),
            Ok(End::Skipped(reason)) => report.skip(reason),
            Err(description) => {
                let text = format!("{description}\n  of {}", describe(case));
                report.failed(&case.name, text);
            }
        }
    }

    fn try_run(&mut self, case: &Case) -> Result<End, String> {
        let capabilities = self.drive.capabilities();
        if let Err(refused) = capabilities.admits(&case.fragment) {
            return Ok(End::Skipped(format!("{refused:?}")));
        }
        if case.form == BlockForm::Compact && !capabilities.compact_results {
            return Ok(End::Skipped("compact blocks".to_owned()));
        }
        let (_file, command) = self.prepare(case)?;
        if let Err(refused) = self.admits_chunks(&command) {
            return Ok(End::Skipped(refused));
        }
        let completion = self.complete(&command.clone().into())?;
        let answer = read_answer(&command, &completion)?;
        judge(case, &answer).map(End::Passed)
    }

    /// Whether the drive says that it can read the chunks of a command.
    pub(crate) fn admits_chunks(&self, command: &Command) -> Result<(), String> {
        let capabilities = self.drive.capabilities();
        let refused =
            command.unit.chunks.iter().find_map(|chunk| capabilities.admits_chunk(chunk).err());
        refused.map_or(Ok(()), |refused| Err(format!("{refused:?}")))
    }

    /// A file with the chunks, junk between them, and where they are.
    fn write(&self, case: &Case) -> Result<(TemporaryFile, Vec<(u64, u64)>), String> {
        let mut bytes = b"PAR1".to_vec();
        let mut spans = Vec::new();
        for chunk in &case.chunks {
            bytes.extend_from_slice(&[0xee; 13]);
            spans.push((bytes.len() as u64, chunk.bytes.len() as u64));
            bytes.extend_from_slice(&chunk.bytes);
        }
        bytes.extend_from_slice(&[0xdd; 29]);
        let file = self.folder.write(&bytes).map_err(|error| format!("no file: {error}"))?;
        Ok((file, spans))
    }

    pub(crate) fn locate(&self, file: &FileRef) -> Result<u64, String> {
        match self.drive.locate(file) {
            Placement::Here { file_id } => Ok(file_id),
            Placement::NotHere { reason } => Err(format!("the drive does not hold it: {reason}")),
        }
    }

    fn unit(
        &self,
        case: &Case,
        file: &TemporaryFile,
        spans: &[(u64, u64)],
    ) -> Result<Unit, String> {
        let file_id = self.locate(&file.file)?;
        let version = file.file.version;
        let range = |offset, length| InputRef::FileRange { file_id, version, offset, length };
        let inputs = match case.inputs {
            Inputs::One => vec![range(2, version.size_bytes - 2)],
            Inputs::OnePerColumn => {
                spans.iter().map(|(offset, length)| range(offset - 3, length + 5)).collect()
            }
        };
        let chunks = case.chunks.iter().zip(&case.table.columns).zip(spans).enumerate();
        let chunks = chunks
            .map(|(index, ((written, column), (offset, _)))| match case.inputs {
                Inputs::One => column.chunk(written, 0, offset - 2),
                Inputs::OnePerColumn => {
                    column.chunk(written, u16::try_from(index).unwrap_or(u16::MAX), 3)
                }
            })
            .collect();
        Ok(Unit { rows: case.unit_rows, inputs, chunks })
    }

    /// The envelope of a new command.
    pub(crate) fn envelope(&mut self) -> Envelope {
        self.next_id += 1;
        Envelope {
            command_id: self.next_id,
            query_id: 1,
            attempt: 2,
            epoch: self.session.epoch(),
            deadline_ns: u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX),
            ..Envelope::default()
        }
    }

    fn bind(&mut self, case: &Case, unit: Unit) -> Result<Command, String> {
        let envelope = self.envelope();
        let mut command = Command::bind(&case.fragment, unit, envelope)
            .map_err(|error| format!("the suite made an invalid command: {error}"))?;
        if let Some(bytes_max) = case.bytes_max {
            command.output = OutputRef::HostBuffer { bytes_max };
        }
        if case.form == BlockForm::Compact {
            command = command.compact();
        }
        // The encoded command must decode to the same command.
        let bytes = command.encode().map_err(|error| error.to_string())?;
        match Command::decode(&bytes) {
            Ok(back) if back == command => Ok(command),
            other => Err(format!("the command does not survive a round trip: {other:?}")),
        }
    }

    /// A command that is ready to be submitted, over a file that lives as long as `file`.
    pub(crate) fn prepare(&mut self, case: &Case) -> Result<(TemporaryFile, Command), String> {
        let (file, spans) = self.write(case)?;
        let unit = self.unit(case, &file, &spans)?;
        let command = self.bind(case, unit)?;
        Ok((file, command))
    }

    pub(crate) fn submit(&self, work: impl Into<Work>) -> Result<Ticket, Refusal> {
        let work = work.into();
        let lease = self.session.lease(work.device_bytes())?;
        self.session.submit(Submission { work, lease, timeout: PATIENCE })
    }

    /// Submits; while others keep the drive busy it tries again.
    pub(crate) fn submit_patiently(&self, work: &Work) -> Result<Ticket, Refusal> {
        patiently(|| self.submit(work.clone()))
    }

    /// Submits and waits; while others keep the drive busy it tries again.
    pub(crate) fn complete(&self, work: &Work) -> Result<Completion, String> {
        let watch = Stopwatch::start();
        loop {
            let ticket = self
                .submit_patiently(work)
                .map_err(|refusal| format!("the drive refused: {refusal}"))?;
            let completion =
                wait(ticket).ok_or_else(|| format!("no completion after {PATIENCE:?}"))?;
            if !is_late_refusal(&completion) || watch.elapsed() > PATIENCE {
                return Ok(completion);
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

/// Whether a drive that is elsewhere was found busy when the command got there.
pub(crate) const fn is_late_refusal(completion: &Completion) -> bool {
    matches!(completion.outcome, Outcome::Failed(Failure::Busy | Failure::LowMemory { .. }))
}

/// Retries while other clients keep a drive busy.
pub(crate) fn patiently<T>(ask: impl Fn() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let watch = Stopwatch::start();
    loop {
        match ask() {
            Err(Refusal::Busy | Refusal::LowMemory { .. }) if watch.elapsed() < PATIENCE => {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            answer => return answer,
        }
    }
}

/// Waits for a future on this thread; `None` when it takes longer than [`PATIENCE`].
pub(crate) fn wait<F: Future>(future: F) -> Option<F::Output> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    let watch = Stopwatch::start();
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if watch.elapsed() > PATIENCE => return None,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(1)),
        }
    }
}

/// Reads the answer in a completion, after checking that it belongs to this command.
fn read_answer(command: &Command, completion: &Completion) -> Result<Answer, String> {
    let bytes_max = command.output.bytes_max();
    let answer = answer_of(completion, &command.envelope, bytes_max, completion.check(command))?;
    if let (Answer::Rows { rows, .. }, Outcome::Finished(bytes)) = (&answer, &completion.outcome) {
        let widths = command.fragment.output_widths();
        if blocks::rows_of(bytes, &widths, command.form, bytes_max)? != *rows {
            return Err("the host reads other rows than there are".to_owned());
        }
    }
    if matches!(answer, Answer::Rows { .. })
        && completion.traffic.media_bytes == 0
        && command.unit.media_bytes() > 0
        && matches!(command.fragment.output, Output::States { .. })
    {
        return Err("there are rows, but no byte of media was counted".to_owned());
    }
    Ok(answer)
}

/// Reads the answer in a completion that was `checked` to belong to a command with this envelope.
pub(crate) fn answer_of(
    completion: &Completion,
    envelope: &Envelope,
    bytes_max: u64,
    checked: Result<ResultView<'_>, Fault>,
) -> Result<Answer, String> {
    if completion.command_id != envelope.command_id || completion.attempt != envelope.attempt {
        return Err("the completion is of another command".to_owned());
    }
    if let Outcome::Finished(bytes) = &completion.outcome
        && bytes.len() as u64 > bytes_max.max(ResultHeader::BYTES)
    {
        return Err(format!("the result has {} bytes, more than its limit", bytes.len()));
    }
    match checked {
        Ok(view) => Ok(Answer::Rows { header: Box::new(view.header), rows: rows_of(&view)? }),
        Err(Fault::Status(status)) => {
            Ok(Answer::Refused(format!("status {status:?}"), Some(status)))
        }
        Err(Fault::Failed(failure)) => Ok(Answer::Refused(format!("failure: {failure}"), None)),
        Err(fault @ (Fault::Corrupted(_) | Fault::Accounting(_))) => Err(fault.to_string()),
    }
}

/// The rows of a result; null rows must hold zeros.
fn rows_of(view: &ResultView<'_>) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for block in &view.blocks {
        for row in 0..block.rows as usize {
            let mut values = Row::with_capacity(block.columns.len());
            for column in &block.columns {
                let (number, string) = (column.number(row), column.string(row));
                values.push(match (column.is_valid(row), column.width) {
                    (true, Width::Bytes) => Value::Bytes(string.unwrap_or_default().to_vec()),
                    (true, _) => Value::Number(number.unwrap_or_default()),
                    (false, _)
                        if number.unwrap_or(0) == 0 && string.is_none_or(<[u8]>::is_empty) =>
                    {
                        Value::Null
                    }
                    (false, _) => return Err("a null row does not hold zero".to_owned()),
                });
            }
            rows.push(values);
        }
    }
    Ok(rows)
}

pub(crate) fn describe(case: &Case) -> String {
    let layouts: Vec<String> =
        case.table.columns.iter().map(|column| format!("{:?}", column.layout)).collect();
    let mut fragment = case.fragment.clone();
    for test in &mut fragment.tests {
        test.strings.truncate(4);
    }
    format!("{} rows\n  {}\n  {fragment:?}", case.table.rows, layouts.join("\n  "))
}

/// A version that no file has.
pub(crate) const fn other_version(version: Version) -> Version {
    Version { size_bytes: version.size_bytes, stamp: version.stamp ^ 1 }
}
