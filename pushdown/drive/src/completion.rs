// SPDX-License-Identifier: Apache-2.0
//! Defines the completion of a command, and the check before any of its rows is used.

use std::sync::Arc;

use bytes::Bytes;
use nearscan_command::{
    Command, Envelope, Error, MergeCommand, ResultHeader, ResultView, Status, Width,
};

use crate::{
    budget::{Budget, Charged, Reservation},
    error::Failure,
    time::DriveTime,
};

/// Bytes that crossed media, link and host memory for one command, each counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Read from the media.
    pub media_bytes: u64,
    /// Sent from the drive to the host: results, headers included.
    pub link_bytes: u64,
    /// Of the media bytes, those that passed through host memory.
    pub host_bytes: u64,
}

impl Outcome {
    /// Makes a result that is charged to `budget` until it is dropped; a failure if the budget is
    /// used up.
    pub fn charged(result: Vec<u8>, budget: &Arc<dyn Budget>) -> Self {
        let needed_bytes = result.len() as u64;
        match Reservation::take(budget, needed_bytes) {
            Some(memory) => Self::Finished(Bytes::from_owner(Charged::new(result, memory))),
            None => Self::Failed(Failure::HostMemory { needed_bytes }),
        }
    }
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The kernel returned a result, which has a status.
    Finished(Bytes),
    /// There is no result.
    Failed(Failure),
}

/// The end of a command.
#[derive(Debug, Clone)]
pub struct Completion {
    /// Which command.
    pub command_id: u128,
    /// Which attempt.
    pub attempt: u32,
    /// The outcome.
    pub outcome: Outcome,
    /// Its time.
    pub time: DriveTime,
    /// Its traffic.
    pub traffic: Traffic,
}

/// The reason why a completion's rows must not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The kernel gave up; the status says why, and doing the unit elsewhere helps.
    #[error("the kernel ended with status {0:?}")]
    Status(Status),
    /// There is no result.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The result's bytes do not add up.
    #[error("the result is corrupted: {0}")]
    Corrupted(#[from] Error),
    /// The result answers another command, attempt or epoch, or accounts for other rows.
    #[error("the result does not account for its unit: {0}")]
    Accounting(&'static str),
}

impl Completion {
    /// The result, once identity, checksums, lengths and row accounting have been checked.
    ///
    /// # Errors
    /// The reason why the rows must not be used; then the unit has to be done elsewhere.
    pub fn check(&self, command: &Command) -> Result<ResultView<'_>, Fault> {
        let unit_rows = command.unit.rows;
        let widths = command.fragment.output_widths();
        let room = command.output.bytes_max();
        let view = self.parse(&command.envelope, &widths, unit_rows, room)?;
        let header = &view.header;
        let expected = match &command.fragment.output {
            // A top leaves out what it can, but not what was requested.
            nearscan_command::Output::Rows { top: Some(top), .. } => header
                .rows_out
                .min(header.rows_kept)
                .max(header.rows_kept.min(u64::from(top.count))),
            nearscan_command::Output::Rows { limit, .. } => {
                header.rows_kept.min(limit.unwrap_or(u64::MAX))
            }
            nearscan_command::Output::States { keys, .. } if keys.is_empty() => 1,
            nearscan_command::Output::States { .. } => header.rows_out.min(header.rows_kept),
        };
        if header.rows_out != expected {
            return Err(Fault::Accounting("rows of the result are missing"));
        }
        Ok(view)
    }

    /// As [`Completion::check`], for a merge.
    ///
    /// # Errors
    /// The reason why the rows must not be used; then all its units have to be done elsewhere.
    pub fn check_merge(&self, command: &MergeCommand) -> Result<ResultView<'_>, Fault> {
        let room = command.output.bytes_max();
        let view = self.parse(&command.envelope, &command.output_widths(), command.rows(), room)?;
        let header = &view.header;
        let expected = match command.merge.distinct {
            // Of rows that are equal one stays.
            true => header.rows_out.clamp(header.rows_kept.min(1), header.rows_kept),
            false => header.rows_kept,
        };
        if header.rows_out != expected {
            return Err(Fault::Accounting("rows of the result are missing"));
        }
        Ok(view)
    }

    /// Checks what scans and merges have in common: the result is complete, answers this command,
    /// and accounts for all `rows` of its units. Rows are expanded behind that, to the `room` in
    /// bytes that the command has.
    fn parse(
        &self,
        envelope: &Envelope,
        widths: &[Width],
        rows: u64,
        room: u64,
    ) -> Result<ResultView<'_>, Fault> {
        let bytes = match &self.outcome {
            Outcome::Finished(bytes) => bytes,
            Outcome::Failed(failure) => return Err(failure.clone().into()),
        };
        let header = ResultHeader::decode(bytes)?;
        if header.command_id != envelope.command_id || header.attempt != envelope.attempt {
            return Err(Fault::Accounting("it is of another command"));
        }
        if header.epoch != envelope.epoch {
            return Err(Fault::Accounting("it is of another epoch"));
        }
        if header.status != Status::Ok {
            return Err(Fault::Status(header.status));
        }
        if header.rows_in != rows || header.continuation_row != header.rows_in {
            return Err(Fault::Accounting("rows of the unit are missing"));
        }
        if header.rows_kept > header.rows_in {
            return Err(Fault::Accounting("more rows were kept than there are"));
        }
        Ok(ResultView::parse_within(bytes, widths, room)?)
    }
}

#[cfg(test)]
mod tests {
    use nearscan_command::{
        Fragment, Merge, Operand, Output, Program, ResultHeader, ResultWriter, RowColumn, SortKey,
        Top, Unit, Value,
    };
    use rstest::rstest;

    use super::*;
    use crate::time::Measured;

    fn envelope() -> Envelope {
        Envelope { command_id: 7, attempt: 1, epoch: 2, ..Envelope::default() }
    }

    /// A scan of ten rows, of one column without a source.
    fn scan(limit: Option<u64>, envelope: Envelope) -> Command {
        let columns = vec![RowColumn { operand: Operand::Null, width: Width::W64 }];
        let fragment = Fragment {
            columns: vec![],
            predicate: Program::default(),
            projection: Program::default(),
            literals: vec![],
            tests: vec![],
            key_filters: vec![],
            output: Output::Rows { columns, limit, top: None },
        };
        let unit = Unit { rows: 10, inputs: vec![], chunks: vec![] };
        Command::bind(&fragment, unit, envelope).unwrap()
    }

    /// Two such scans.
    fn merge(distinct: bool) -> MergeCommand {
        let scan = scan(None, Envelope::default());
        let key = SortKey { column: 0, descending: false, nulls_first: false };
        let merge = Merge { keys: vec![key], distinct };
        MergeCommand::bind(vec![scan.clone(), scan], merge, envelope()).unwrap()
    }

    /// A completion of `rows_out` rows of a unit of `rows_in`, its header changed.
    fn completion(
        [rows_in, rows_kept, rows_out]: [u64; 3],
        change: impl FnOnce(&mut ResultHeader),
    ) -> Completion {
        let mut writer = ResultWriter::new(vec![Width::W64]);
        for row in 0..rows_out {
            writer.push(vec![Value::Number(row.into())]).unwrap();
        }
        let mut header = ResultHeader {
            rows_in,
            rows_kept,
            continuation_row: rows_in,
            ..ResultHeader::failed(&envelope(), Status::Ok)
        };
        change(&mut header);
        Completion {
            command_id: 7,
            attempt: 1,
            outcome: Outcome::Finished(writer.finish(header).into()),
            time: DriveTime::Measured(Measured::default()),
            traffic: Traffic::default(),
        }
    }

    /// The check of the result of a merge.
    fn check(
        distinct: bool,
        rows_kept: u64,
        rows_out: u64,
        change: impl FnOnce(&mut ResultHeader),
    ) -> Result<u64, Fault> {
        let completion = completion([20, rows_kept, rows_out], change);
        completion.check_merge(&merge(distinct)).map(|view| view.header.rows_out)
    }

    #[rstest]
    #[case::all_rows(None, None, 10, 10, true)]
    #[case::a_row_is_missing(None, None, 10, 9, false)]
    #[case::a_row_too_many(None, None, 9, 10, false)]
    #[case::more_than_the_unit_has(None, None, 11, 11, false)]
    #[case::below_the_limit(Some(3), None, 2, 2, true)]
    #[case::up_to_the_limit(Some(3), None, 10, 3, true)]
    #[case::cut_off_before_the_limit(Some(3), None, 10, 2, false)]
    #[case::beyond_the_limit(Some(3), None, 10, 4, false)]
    #[case::the_top_and_more(None, Some(3), 10, 5, true)]
    #[case::less_than_the_top(None, Some(3), 10, 2, false)]
    #[case::a_top_of_fewer_rows(None, Some(3), 2, 2, true)]
    #[case::a_top_of_more_than_was_kept(None, Some(3), 4, 5, false)]
    fn scan_accounts_for_its_rows(
        #[case] limit: Option<u64>,
        #[case] top: Option<u32>,
        #[case] rows_kept: u64,
        #[case] rows_out: u64,
        #[case] is_right: bool,
    ) {
        let mut command = scan(limit, envelope());
        if let Output::Rows { top: of, .. } = &mut command.fragment.output {
            let operand = Operand::Null;
            *of = top.map(|count| Top { operand, descending: false, nulls_first: false, count });
        }
        let found = completion([10, rows_kept, rows_out], |_| {})
            .check(&command)
            .map(|view| view.header.rows_out);
        match is_right {
            true => assert_eq!(found, Ok(rows_out)),
            false => assert!(matches!(found, Err(Fault::Accounting(_))), "{found:?}"),
        }
    }

    #[test]
    fn scan_is_of_its_whole_unit() {
        let command = scan(None, envelope());
        for rows_in in [9, 11] {
            let found = completion([rows_in, 9, 9], |_| {}).check(&command).map(|_| ());
            assert!(matches!(found, Err(Fault::Accounting(_))), "{rows_in} {found:?}");
        }
    }

    #[test]
    fn every_status_but_success_is_a_fault() {
        let command = scan(None, envelope());
        for (status, name) in Status::ALL {
            let completion = completion([10, 0, 0], |header| header.status = *status);
            let found = completion.check(&command).map(|view| view.header.status);
            let expected = match status {
                Status::Ok => Ok(Status::Ok),
                failed => Err(Fault::Status(*failed)),
            };
            assert_eq!(found, expected, "{name}");
        }
    }

    #[rstest]
    #[case::all_rows(false, 20, 20, true)]
    #[case::no_rows(false, 0, 0, true)]
    #[case::a_row_is_missing(false, 20, 19, false)]
    #[case::a_row_too_many(false, 19, 20, false)]
    #[case::all_are_unlike(true, 20, 20, true)]
    #[case::all_are_alike(true, 20, 1, true)]
    #[case::none_is_left(true, 20, 0, false)]
    #[case::there_was_none(true, 0, 0, true)]
    #[case::more_than_there_were(true, 3, 4, false)]
    #[case::more_than_the_units_have(false, 21, 21, false)]
    fn merge_accounts_for_its_rows(
        #[case] distinct: bool,
        #[case] rows_kept: u64,
        #[case] rows_out: u64,
        #[case] is_right: bool,
    ) {
        let found = check(distinct, rows_kept, rows_out, |_| {});
        match is_right {
            true => assert_eq!(found, Ok(rows_out)),
            false => assert!(matches!(found, Err(Fault::Accounting(_))), "{found:?}"),
        }
    }

    #[test]
    fn merge_is_of_its_command_and_whole() {
        let change = |change: fn(&mut ResultHeader)| check(false, 20, 20, change);
        let accounting = |found| matches!(found, Err(Fault::Accounting(_)));
        assert!(accounting(change(|header| header.command_id = 8)));
        assert!(accounting(change(|header| header.attempt = 0)));
        assert!(accounting(change(|header| header.epoch = 3)));
        assert!(accounting(change(|header| header.epoch = 1)));
        let half = |header: &mut ResultHeader| {
            (header.rows_in, header.continuation_row) = (10, 10);
        };
        assert!(accounting(check(false, 10, 10, half)));
        assert!(accounting(change(|header| header.rows_in = 10)));
        assert!(accounting(change(|header| header.continuation_row = 19)));
        let failed = change(|header| header.status = Status::NotSorted);
        assert_eq!(failed, Err(Fault::Status(Status::NotSorted)));
    }
}
