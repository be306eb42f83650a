// SPDX-License-Identifier: Apache-2.0
//! Defines [`ScanChoice`], the reader of a scan and its reason.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::decision::Kept;

/// Which reader a scan has.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanChoice {
    /// Name of the table.
    pub table: String,
    /// The reason why DataFusion reads it; none if the fused scan does.
    pub kept: Option<Kept>,
    /// Row groups that DataFusion reads all the same, and the reason of the first.
    pub row_groups_kept: Option<(usize, Kept)>,
}

impl fmt::Display for ScanChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kept {
            Some(kept) => write!(f, "{}: reader=datafusion ({})", self.table, reason(kept)),
            None => write!(f, "{}: reader=fused", self.table),
        }?;
        match &self.row_groups_kept {
            Some((count, kept)) => {
                write!(f, ", of {count} row groups datafusion ({})", reason(kept))
            }
            None => Ok(()),
        }
    }
}

fn reason(kept: &Kept) -> String {
    match kept.detail.as_str() {
        "" => kept.reason.word().to_owned(),
        detail => format!("{}: {detail}", kept.reason.word()),
    }
}

tokio::task_local! {
    /// The choices of the rule: rules return nothing but a plan, and one rule serves all queries.
    static CHOSEN: Arc<Mutex<Vec<ScanChoice>>>;
}

impl ScanChoice {
    /// Runs a future that plans, and returns its output with the choices of the rule.
    pub async fn recorded<F: Future>(planning: F) -> (F::Output, Vec<Self>) {
        let chosen = Arc::new(Mutex::default());
        let output = CHOSEN.scope(Arc::clone(&chosen), planning).await;
        let choices = std::mem::take(&mut *chosen.lock().unwrap_or_else(PoisonError::into_inner));
        (output, choices)
    }
}

/// Records choices, if somebody asked for them.
pub(super) fn record(choices: Vec<ScanChoice>) {
    if let Ok(record) = CHOSEN.try_with(Arc::clone) {
        record.lock().unwrap_or_else(PoisonError::into_inner).extend(choices);
    }
}
