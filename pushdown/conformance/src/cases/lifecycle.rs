// SPDX-License-Identifier: Apache-2.0
//! Cases of the life cycle: queueing, cancellation, stale files.

use nearscan_command::{Aggregate, Command, Fragment, Function, InputRef, Merge, SortKey, Status};
use nearscan_drive::{
    CancelOutcome, Completion, Failure, Fault, FileRef, Load, MediaRates, Outcome, Placement,
    Refusal, Submission, Ticket, Work,
};

use super::{aggregate, col, column, over, plain, select_all, states};
use crate::{
    case::{Case, MergeCase},
    data::{Table, Values},
    executor::{Executor, is_late_refusal, other_version, patiently, wait},
    report::Report,
};

/// Commands that are submitted before the first one is waited for.
const AT_ONCE: usize = 200;

/// A name, and what to do; the error says what was wrong.
type Trial = (&'static str, fn(&mut Executor<'_>) -> Result<(), String>);

/// Runs them all.
pub(crate) fn lifecycle(executor: &mut Executor<'_>, report: &mut Report) {
    let cases: [Trial; 10] = [
        ("lifecycle: a file that is not there", nothing_there),
        ("lifecycle: a file of another version", stale),
        ("lifecycle: a file that is shorter than its input", short),
        ("lifecycle: many commands at once", many_at_once),
        ("lifecycle: cancelled commands", cancelled),
        ("lifecycle: dropped tickets", dropped),
        ("lifecycle: identity and snapshot", identity),
        ("lifecycle: a merge with a file of another version", stale_merge),
        ("lifecycle: cancelled merges", cancelled_merges),
        ("lifecycle: a merge with too small a lease", small_lease),
    ];
    for (name, run) in cases {
        match run(executor) {
            Ok(()) => report.passed("as it should"),
            Err(description) => report.failed(name, description),
        }
    }
}

fn sample(rows: i64) -> Case {
    let table = Table::new(vec![
        column(Values::integers((0..rows).map(|n| n % 1000))),
        column(Values::integers(0..rows)),
    ]);
    let slots = vec![aggregate(Function::Sum, col(1)), Aggregate::count_rows()];
    let fragment = Fragment { output: states(&[], slots), ..over(&table) };
    Case::new("lifecycle", table, fragment)
}

fn nothing_there(executor: &mut Executor<'_>) -> Result<(), String> {
    let file = FileRef::local(executor.folder.nothing(), Default::default());
    match executor.drive.locate(&file) {
        Placement::NotHere { reason } if !reason.is_empty() => Ok(()),
        other => Err(format!("a file that does not exist is {other:?}")),
    }
}

/// The ticket of work that no drive may refuse, however many others use it.
fn submitted(executor: &Executor<'_>, work: &Work) -> Result<Ticket, String> {
    executor.submit_patiently(work).map_err(|refusal| format!("refused: {refusal}"))
}

fn stale(executor: &mut Executor<'_>) -> Result<(), String> {
    let (_file, mut command) = executor.prepare(&sample(100))?;
    for input in &mut command.unit.inputs {
        if let InputRef::FileRange { version, .. } = input {
            *version = other_version(*version);
        }
    }
    let completion = executor.complete(&command.clone().into())?;
    match completion.check(&command) {
        Err(Fault::Failed(Failure::Stale { .. }) | Fault::Status(Status::StaleInput)) => Ok(()),
        Err(other) => Err(format!("ended with {other}, expected that it is stale")),
        Ok(_) => Err("rows of another version came out".to_owned()),
    }
}

fn short(executor: &mut Executor<'_>) -> Result<(), String> {
    let (_file, mut command) = executor.prepare(&sample(100))?;
    for input in &mut command.unit.inputs {
        if let InputRef::FileRange { length, .. } = input {
            *length += 1 << 20;
        }
    }
    for chunk in &mut command.unit.chunks {
        chunk.length += 1 << 20;
    }
    let ticket = match executor.submit_patiently(&command.clone().into()) {
        Ok(ticket) => ticket,
        Err(Refusal::Command(_)) => return Ok(()),
        Err(other) => return Err(format!("refused: {other}")),
    };
    let completion = wait(ticket).ok_or("no completion")?;
    match completion.check(&command) {
        Err(Fault::Failed(_) | Fault::Status(_)) => Ok(()),
        other => Err(format!("ended with {other:?}, the chunks end behind the file")),
    }
}

fn many_at_once(executor: &mut Executor<'_>) -> Result<(), String> {
    let case = sample(3000);
    let (_file, command) = executor.prepare(&case)?;
    // Others may keep the drive busy: one command gets through all the same.
    let alone = executor.complete(&command.clone().into())?;
    let first = payload_of(&alone, &command)?;
    let mut tickets: Vec<(u128, Ticket)> = Vec::new();
    for number in 1..AT_ONCE {
        let mut command = command.clone();
        command.envelope.command_id += (number as u128) << 64;
        match executor.submit(command.clone()) {
            Ok(ticket) => tickets.push((command.envelope.command_id, ticket)),
            Err(Refusal::Busy | Refusal::LowMemory { .. }) => {}
            Err(other) => return Err(format!("refused: {other}")),
        }
    }
    for (command_id, ticket) in tickets {
        let completion = wait(ticket).ok_or("no completion")?;
        if is_late_refusal(&completion) {
            continue;
        }
        let mut command = command.clone();
        command.envelope.command_id = command_id;
        if payload_of(&completion, &command)? != first {
            return Err("the same command gave two results".to_owned());
        }
    }
    Ok(())
}

/// The result of a command after its header.
fn payload_of(completion: &Completion, command: &Command) -> Result<Vec<u8>, String> {
    completion.check(command).map_err(|fault| fault.to_string())?;
    match &completion.outcome {
        Outcome::Finished(bytes) => Ok(bytes.get(256..).unwrap_or_default().to_vec()),
        Outcome::Failed(_) => Err("a checked completion has no result".to_owned()),
    }
}

fn cancelled(executor: &mut Executor<'_>) -> Result<(), String> {
    let (_file, command) = executor.prepare(&sample(20_000))?;
    if executor.session.cancel(command.envelope.command_id) != CancelOutcome::Unknown {
        return Err("a command that never was can be cancelled".to_owned());
    }
    cancel_each(executor, |number| {
        let mut command = command.clone();
        command.envelope.command_id += number << 64;
        command.into()
    })
}

/// Submits work and cancels it, several times: it ends with its rows, or as cancelled.
fn cancel_each(executor: &Executor<'_>, work: impl Fn(u128) -> Work) -> Result<(), String> {
    for work in (0..10).map(work) {
        let ticket = submitted(executor, &work)?;
        let outcome = executor.session.cancel(work.envelope().command_id);
        let completion = wait(ticket).ok_or("cancelled work does not complete")?;
        let checked = match &work {
            Work::Scan(command) => completion.check(command).map(|_| ()),
            Work::Merge(command) => completion.check_merge(command).map(|_| ()),
        };
        match (outcome, checked) {
            (_, Ok(())) => {}
            _ if is_late_refusal(&completion) => {}
            (
                CancelOutcome::Acknowledged,
                Err(Fault::Failed(Failure::Cancelled) | Fault::Status(Status::Cancelled)),
            ) => {}
            (outcome, Err(fault)) => return Err(format!("{outcome:?}, then {fault}")),
        }
    }
    Ok(())
}

fn dropped(executor: &mut Executor<'_>) -> Result<(), String> {
    let case = sample(20_000);
    let (_file, command) = executor.prepare(&case)?;
    for number in 0..20u128 {
        let mut command = command.clone();
        command.envelope.command_id += number << 64;
        drop(submitted(executor, &command.into())?);
    }
    // The drive is as good as before: what came before holds no queue, no memory.
    let (_file, command) =
        executor.prepare(&Case::new("", case.table.clone(), select_all(&case.table)))?;
    let completion = executor.complete(&command.clone().into());
    let completion = completion.map_err(|error| format!("after dropped tickets: {error}"))?;
    completion.check(&command).map(|_| ()).map_err(|fault| fault.to_string())
}

/// A merge of four row groups.
fn sample_merge(rows: i64) -> MergeCase {
    let scan = |_| {
        let table = Table::new(vec![plain(Values::integers(0..rows))]);
        let fragment = select_all(&table);
        Case::new("lifecycle", table, fragment)
    };
    let key = SortKey { column: 0, descending: false, nulls_first: false };
    let merge = Merge { keys: vec![key], distinct: false };
    MergeCase::new("lifecycle", (0..4).map(scan).collect(), merge)
}

/// Whether the drive can do [`sample_merge`]; else there is nothing to try.
fn merges(executor: &Executor<'_>) -> bool {
    executor.drive.capabilities().admits_merge(4)
}

fn stale_merge(executor: &mut Executor<'_>) -> Result<(), String> {
    if !merges(executor) {
        return Ok(());
    }
    let (_files, mut command) = executor.prepare_merge(&sample_merge(100))?;
    for input in command.scans.iter_mut().skip(2).flat_map(|scan| &mut scan.unit.inputs) {
        if let InputRef::FileRange { version, .. } = input {
            *version = other_version(*version);
        }
    }
    let completion = executor.complete(&command.clone().into())?;
    match completion.check_merge(&command) {
        Err(Fault::Failed(Failure::Stale { .. }) | Fault::Status(Status::StaleInput)) => Ok(()),
        Err(other) => Err(format!("ended with {other}, expected that it is stale")),
        Ok(_) => Err("rows of another version came out".to_owned()),
    }
}

fn cancelled_merges(executor: &mut Executor<'_>) -> Result<(), String> {
    if !merges(executor) {
        return Ok(());
    }
    let (_files, command) = executor.prepare_merge(&sample_merge(5000))?;
    cancel_each(executor, |number| {
        let mut command = command.clone();
        command.envelope.command_id += number << 64;
        command.into()
    })
}

/// A drive may do without a lease when its memory is the host's, but not with wrong rows.
fn small_lease(executor: &mut Executor<'_>) -> Result<(), String> {
    if !merges(executor) {
        return Ok(());
    }
    let (_files, command) = executor.prepare_merge(&sample_merge(100))?;
    // Room for all but the merged result.
    let bytes = command.device_bytes() - command.output.bytes_max();
    let timeout = std::time::Duration::from_secs(60);
    let asked = patiently(|| {
        let lease = executor.session.lease(bytes)?;
        // Only this refusal is about the lease; others say that the drive is busy.
        match executor.session.submit(Submission { work: command.clone().into(), lease, timeout }) {
            Err(Refusal::LowMemory { needed_bytes }) if needed_bytes == command.device_bytes() => {
                Ok(None)
            }
            Err(other) => Err(other),
            Ok(ticket) => match wait(ticket) {
                Some(completion) if is_late_refusal(&completion) => Err(Refusal::Busy),
                completion => Ok(Some(completion.ok_or("no completion"))),
            },
        }
    });
    match asked {
        Ok(None) => Ok(()),
        Err(other) => Err(format!("refused: {other}")),
        Ok(Some(completion)) => {
            completion?.check_merge(&command).map(|_| ()).map_err(|fault| fault.to_string())
        }
    }
}

fn identity(executor: &mut Executor<'_>) -> Result<(), String> {
    let drive = executor.drive;
    if drive.identity().kind.is_empty() || drive.identity().model.is_empty() {
        return Err("the drive does not say who it is".to_owned());
    }
    if drive.capabilities().in_flight_max == 0 {
        return Err("no command may be in flight".to_owned());
    }
    let snapshot = drive.snapshot();
    let points = snapshot.media.iter().flat_map(MediaRates::points);
    let rates = points.map(|point| point.bytes_per_s);
    let shared = rates.chain(snapshot.link_bytes_per_s).chain(snapshot.dictionary_bytes_per_s);
    let load = Load {
        commands: 1,
        media_bytes: 1,
        dictionary_bytes: 1,
        rows: 1,
        look_ups: 1,
        string_bytes: 1,
        link_bytes: 1,
    };
    let known = snapshot.scan.known().chain(snapshot.merge.known());
    let busy_ns = known.map(|(_, rates)| rates.busy_ns(&load));
    match shared.chain(busy_ns).all(|rate| rate > 0.0) && snapshot.lanes > 0 {
        true => Ok(()),
        false => Err(format!("the rates are {snapshot:?}")),
    }
}
