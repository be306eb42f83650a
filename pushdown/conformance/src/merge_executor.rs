// SPDX-License-Identifier: Apache-2.0
//! Runs one case of a merge on a drive.

use nearscan_command::{MergeCommand, OutputRef};

use crate::{
    case::MergeCase,
    executor::{End, Executor, answer_of, describe},
    file::TemporaryFile,
    judge::{Answer, judge_merge},
    report::Report,
};

impl Executor<'_> {
    /// Runs a case and notes what came of it.
    pub(crate) fn run_merge(&mut self, case: &MergeCase, report: &mut Report) {
        match self.try_run_merge(case) {
            Ok(End::Passed(end)) => report.passed(&end),
            Ok(End::Skipped(reason)) => report.skip(reason),
            Err(description) => {
                let first = case.scans.first().map(describe).unwrap_or_default();
                let text = format!(
                    "{description}\n  of {:?} over {} inputs, the first of {first}",
                    case.merge,
                    case.scans.len()
                );
                report.failed(&case.name, text);
            }
        }
    }

    fn try_run_merge(&mut self, case: &MergeCase) -> Result<End, String> {
        let capabilities = self.drive.capabilities();
        if !capabilities.admits_merge(case.scans.len()) {
            return Ok(End::Skipped(format!("merges of {} inputs", case.scans.len())));
        }
        let widest = case.scans.iter().map(|scan| scan.fragment.columns.len()).max().unwrap_or(0);
        if !capabilities.admits_merge_of_columns(widest) {
            return Ok(End::Skipped(format!("merges of scans of {widest} columns")));
        }
        let refused = case.scans.iter().find_map(|scan| capabilities.admits(&scan.fragment).err());
        if let Some(refused) = refused {
            return Ok(End::Skipped(format!("{refused:?}")));
        }
        let (_files, command) = self.prepare_merge(case)?;
        let refused = command.scans.iter().find_map(|scan| self.admits_chunks(scan).err());
        if let Some(refused) = refused {
            return Ok(End::Skipped(refused));
        }
        let completion = self.complete(&command.clone().into())?;
        let checked = completion.check_merge(&command);
        let answer =
            answer_of(&completion, &command.envelope, command.output.bytes_max(), checked)?;
        if matches!(answer, Answer::Rows { .. })
            && completion.traffic.media_bytes == 0
            && command.scans.iter().any(|scan| scan.unit.media_bytes() > 0)
        {
            return Err("there are rows, but no byte of media was counted".to_owned());
        }
        judge_merge(case, &answer).map(End::Passed)
    }

    /// A command that is ready to be submitted, over files that live as long as the first half.
    pub(crate) fn prepare_merge(
        &mut self,
        case: &MergeCase,
    ) -> Result<(Vec<TemporaryFile>, MergeCommand), String> {
        let mut files = Vec::new();
        let mut scans = Vec::new();
        for scan in &case.scans {
            let (file, command) = self.prepare(scan)?;
            files.push(file);
            scans.push(command);
        }
        let envelope = self.envelope();
        let mut command = MergeCommand::bind(scans, case.merge.clone(), envelope)
            .map_err(|error| format!("the suite made an invalid merge: {error}"))?;
        if let Some(bytes_max) = case.bytes_max {
            command.output = OutputRef::HostBuffer { bytes_max };
        }
        // The encoded merge must decode to the same merge.
        let bytes = command.encode().map_err(|error| error.to_string())?;
        match MergeCommand::decode(&bytes) {
            Ok(back) if back == command => Ok((files, command)),
            other => Err(format!("the merge does not survive a round trip: {other:?}")),
        }
    }
}
