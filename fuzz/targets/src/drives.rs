// SPDX-License-Identifier: Apache-2.0
//! Implements the target `drives`: the scan kernel and the CPU drive on the same command and the
//! same bytes.
//!
//! Each may refuse what the other takes: a kernel has limits of the data that a processor does not
//! have, and of damaged bytes each notices what it looks at. Where both give rows, these are the
//! same.

use nearscan_command::{Command, Output, ResultHeader, ResultView, Row, Status, Value, Width};
use nearscan_drive::{Fault, Outcome};

use crate::{call::Call, host, kernel};

/// Runs a call on the scan kernel and on the CPU drive. Whether both give rows.
///
/// # Panics
/// When one of them breaks a promise, or both give rows and these differ.
pub fn drives(bytes: &[u8]) -> bool {
    Call::parse(bytes).and_then(|mut call| compare(&mut call)).is_some()
}

/// Runs both and compares their rows.
pub(crate) fn compare(call: &mut Call) -> Option<()> {
    let ended = kernel::run(call);
    // A command that leaves the kernel's memories reads after the end of the CPU drive's file.
    let command = Command::decode(&call.command).ok()?;
    let completion = host::run(&command, &call.memory)?;
    if let Outcome::Finished(bytes) = &completion.outcome {
        let bytes_max = command.output.bytes_max().max(ResultHeader::BYTES);
        assert!(bytes.len() as u64 <= bytes_max, "the result of the CPU drive does not fit");
    }
    let host_command = at_epoch_of(&command, &completion);
    let host_view = match completion.check(&host_command) {
        Ok(view) => view,
        Err(Fault::Status(_) | Fault::Failed(_)) => return None,
        Err(fault @ (Fault::Corrupted(_) | Fault::Accounting(_))) => {
            panic!("the CPU drive: {fault}")
        }
    };
    let widths = command.fragment.output_widths();
    let result = ended?;
    let view = ResultView::parse(&result, &widths).expect("checked before");
    if view.header.status != Status::Ok {
        return None;
    }
    let (ours, theirs) = (rows(&view, &widths), rows(&host_view, &widths));
    let (mut ours, mut theirs) = (ours, theirs);
    let counts_kept = match &command.fragment.output {
        // The order of groups is free.
        Output::States { .. } => {
            ours.sort();
            theirs.sort();
            true
        }
        Output::Rows { limit, .. } => limit.is_none(),
    };
    assert!(ours == theirs, "rows differ: the kernel has {ours:?}, the CPU drive {theirs:?}");
    if counts_kept {
        let (ours, theirs) = (view.header.rows_kept, host_view.header.rows_kept);
        assert_eq!(ours, theirs, "rows kept by the kernel and by the CPU drive");
    }
    Some(())
}

/// The command as the CPU drive got it.
fn at_epoch_of(command: &Command, completion: &nearscan_drive::Completion) -> Command {
    let mut command = command.clone();
    if let Outcome::Finished(bytes) = &completion.outcome {
        let header = ResultHeader::decode(bytes).expect("the CPU drive leaves a header");
        command.envelope.epoch = header.epoch;
    }
    command
}

/// All rows of a result; what is null holds nothing else.
pub(crate) fn rows(view: &ResultView<'_>, widths: &[Width]) -> Vec<Row> {
    let mut rows = Vec::new();
    for block in &view.blocks {
        for row in 0..block.rows as usize {
            let value = |(column, width): (usize, &Width)| {
                let column = &block.columns[column];
                match (column.is_valid(row), width) {
                    (false, Width::Bytes) => {
                        assert_eq!(column.string(row), Some(&b""[..]), "a null row holds bytes");
                        Value::Null
                    }
                    (false, _) => {
                        assert_eq!(column.number(row), Some(0), "a null row does not hold zero");
                        Value::Null
                    }
                    (true, Width::Bytes) => {
                        Value::Bytes(column.string(row).expect("checked").into())
                    }
                    (true, _) => Value::Number(column.number(row).expect("checked")),
                }
            };
            rows.push(widths.iter().enumerate().map(value).collect());
        }
    }
    rows
}
