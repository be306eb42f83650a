// SPDX-License-Identifier: Apache-2.0
//! Defines the meaning of a merge command: its scans' rows, sorted all at once.

use std::cmp::Ordering;

use nearscan_command::{Merge, Row, SortKey, Status, Value};

use super::Verdict;

/// The result that a merge must have for certain rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeVerdict {
    /// The rows of the result in their order; `None` when it must end with a status that is
    /// allowed.
    pub rows: Option<Vec<Row>>,
    /// With which statuses it may end; none unless a scan may end with one or an input is not
    /// sorted.
    pub statuses: Vec<Status>,
    /// Rows of all inputs.
    pub rows_kept: u64,
}

/// Evaluates `merge` over what its scans give.
pub fn evaluate_merge(merge: &Merge, scans: &[Verdict]) -> MergeVerdict {
    let mut statuses = Vec::new();
    let mut rows = Some(Vec::new());
    for scan in scans {
        if scan.overflow_allowed {
            statuses.push(Status::Overflow);
        }
        let Some(input) = &scan.rows else {
            rows = None;
            continue;
        };
        if !input.is_sorted_by(|a, b| order(&merge.keys, a, b).is_le()) {
            statuses.push(Status::NotSorted);
            rows = None;
        }
        if let Some(rows) = &mut rows {
            rows.extend(input.iter().cloned());
        }
    }
    let rows_kept = rows.as_ref().map_or(0, |rows| rows.len() as u64);
    if let Some(rows) = &mut rows {
        // A stable sort keeps the order of inputs, and that within one.
        rows.sort_by(|a, b| order(&merge.keys, a, b));
        if merge.distinct {
            rows.dedup_by(|a, b| order(&merge.keys, a, b).is_eq());
        }
    }
    MergeVerdict { rows, statuses, rows_kept }
}

/// The order of two rows.
pub fn order(keys: &[SortKey], a: &Row, b: &Row) -> Ordering {
    let one = |key: &SortKey| {
        let column = usize::from(key.column);
        match (&a[column], &b[column]) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) if key.nulls_first => Ordering::Less,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) if key.nulls_first => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            // Numbers by size, strings byte by byte.
            (x, y) if key.descending => y.cmp(x),
            (x, y) => x.cmp(y),
        }
    };
    keys.iter().map(one).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
