// SPDX-License-Identifier: Apache-2.0
//! Compares a drive's answer with the evaluator's.

use nearscan_command::{Output, ResultHeader, Row, Status, Value};

use crate::{
    case::{Case, Expectation, MergeCase},
    evaluator::{Verdict, evaluate, evaluate_merge},
};

/// The answer of the drive to a command.
pub(crate) enum Answer {
    Rows { header: Box<ResultHeader>, rows: Vec<Row> },
    Refused(String, Option<Status>),
}

/// Whether a scan ended as it may; gives how.
pub(crate) fn judge(case: &Case, answer: &Answer) -> Result<String, String> {
    let verdict = evaluate(&case.fragment, &case.table.rows());
    match (case.expectation, answer) {
        (Expectation::Refused, Answer::Rows { rows, .. }) => {
            Err(format!("{} rows came out of a damaged chunk", rows.len()))
        }
        (Expectation::Refused | Expectation::NotWrong, Answer::Refused(end, _)) => {
            Ok(format!("{} (damaged)", end.split(':').next().unwrap_or(end)))
        }
        (Expectation::NotWrong, Answer::Rows { header, rows }) => {
            compare(case, &verdict, header, rows).map(|()| "rows (damaged)".to_owned())
        }
        (Expectation::Meaning, Answer::Rows { header, rows }) => {
            compare(case, &verdict, header, rows).map(|()| "rows".to_owned())
        }
        (Expectation::Meaning, Answer::Refused(end, status)) => {
            let is_due = match status {
                Some(Status::Overflow) => verdict.overflow_allowed,
                Some(Status::GroupCardinality) => verdict.outside_allowed,
                _ => false,
            };
            if is_due || status.is_some_and(|status| case.tolerated.contains(&status)) {
                Ok(end.clone())
            } else {
                Err(format!("ended with {end}, {}", expected(&verdict)))
            }
        }
    }
}

fn expected(verdict: &Verdict) -> String {
    match &verdict.rows {
        None => format!("expected {}", failure(verdict)),
        Some(rows) => format!("expected {} rows", rows.len()),
    }
}

/// The failure that a drive may report instead of rows.
fn failure(verdict: &Verdict) -> &'static str {
    match (verdict.overflow_allowed, verdict.outside_allowed) {
        (_, false) => "an overflow",
        (false, true) => "a key outside of its range",
        (true, true) => "an overflow or a key outside of its range",
    }
}

fn compare(
    case: &Case,
    verdict: &Verdict,
    header: &ResultHeader,
    rows: &[Row],
) -> Result<(), String> {
    let Some(expected) = &verdict.rows else {
        return Err(format!("{} rows, expected {}", rows.len(), failure(verdict)));
    };
    let mut rows = rows.to_vec();
    let has_limit = match &case.fragment.output {
        Output::States { .. } => {
            // The order of groups is free; the evaluator sorts them.
            rows.sort();
            false
        }
        Output::Rows { limit, .. } => limit.is_some(),
    };
    if !has_limit && header.rows_kept != verdict.rows_kept {
        return Err(format!("{} rows kept, expected {}", header.rows_kept, verdict.rows_kept));
    }
    same_rows(&rows, expected)
}

/// Whether the rows are those that were expected, in their order.
fn same_rows(rows: &[Row], expected: &[Row]) -> Result<(), String> {
    let differing = rows.iter().zip(expected).position(|(row, expected)| row != expected);
    if let Some(index) = differing {
        return Err(format!(
            "row {index} of {} is {}, expected {}",
            rows.len(),
            brief(&rows[index]),
            brief(&expected[index])
        ));
    }
    if rows.len() != expected.len() {
        return Err(format!("{} rows, expected {}", rows.len(), expected.len()));
    }
    Ok(())
}

fn brief(row: &Row) -> String {
    let value = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bytes(bytes) if bytes.len() > 24 => format!("[{} bytes]", bytes.len()),
        Value::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
    };
    let values: Vec<String> = row.iter().map(value).collect();
    format!("({})", values.join(", "))
}

/// Whether a merge ended as it may; gives how.
pub(crate) fn judge_merge(case: &MergeCase, answer: &Answer) -> Result<String, String> {
    let is_damaged = |scan: &Case| scan.expectation == Expectation::Refused;
    let must_end = case.must_end_with.is_some() || case.scans.iter().any(is_damaged);
    let verdicts = case.scans.iter().map(|scan| evaluate(&scan.fragment, &scan.table.rows()));
    let verdict = evaluate_merge(&case.merge, &verdicts.collect::<Vec<_>>());
    match (answer, &verdict.rows) {
        (Answer::Rows { rows, .. }, _) if must_end => {
            Err(format!("{} rows, expected a failure", rows.len()))
        }
        (Answer::Rows { rows, .. }, None) => {
            Err(format!("{} rows, expected {:?}", rows.len(), verdict.statuses))
        }
        (Answer::Rows { header, rows }, Some(expected)) => {
            if header.rows_kept != verdict.rows_kept {
                let expected = verdict.rows_kept;
                return Err(format!("{} rows kept, expected {expected}", header.rows_kept));
            }
            same_rows(rows, expected).map(|()| "merged rows".to_owned())
        }
        (Answer::Refused(end, status), _) => {
            let is_due = match (case.must_end_with, status) {
                (Some(due), status) => *status == Some(due),
                (None, _) if must_end => true,
                (None, None) => false,
                (None, Some(status)) => {
                    let tolerated = case.scans.iter().any(|scan| scan.tolerated.contains(status));
                    tolerated || verdict.statuses.contains(status)
                }
            };
            match is_due {
                true => Ok(end.split(':').next().unwrap_or(end).to_owned()),
                false => Err(format!("ended with {end}, expected otherwise")),
            }
        }
    }
}
