// SPDX-License-Identifier: Apache-2.0
//! Defines a case: one command over one row group or several, and its expected result.

use nearscan_command::{BlockForm, Fragment, Merge, Output, Status, limits};

use crate::{
    data::Table,
    pages::{WrittenChunk, write_chunk},
};

/// The expectation of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// The evaluator's result for the table, or a tolerated status.
    Meaning,
    /// The chunks are damaged beyond reading: no rows.
    Refused,
    /// The chunks are damaged: no rows, or those of the table as it was.
    NotWrong,
}

/// The way in which a unit of work refers to its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// One range of the file holds all chunks.
    One,
    /// Each chunk has its own.
    OnePerColumn,
}

/// One command over one row group.
#[derive(Debug, Clone)]
pub struct Case {
    /// Says what it is about.
    pub name: String,
    /// The values.
    pub table: Table,
    /// The fragment to run.
    pub fragment: Fragment,
    /// The chunks in the file.
    pub chunks: Vec<WrittenChunk>,
    /// Rows that the unit declares.
    pub unit_rows: u64,
    /// The expectation.
    pub expectation: Expectation,
    /// Statuses that a drive may end with instead.
    pub tolerated: Vec<Status>,
    /// Room for the result, if not what the unit requests.
    pub bytes_max: Option<u64>,
    /// The form that blocks of the result may have.
    pub form: BlockForm,
    pub(crate) inputs: Inputs,
}

impl Case {
    /// A case whose chunks hold the table as its layouts say.
    pub fn new(name: impl Into<String>, table: Table, fragment: Fragment) -> Self {
        let chunks: Vec<WrittenChunk> = table
            .columns
            .iter()
            .map(|column| write_chunk(&column.values, &column.layout))
            .collect();
        let mut tolerated = Vec::new();
        if may_exceed_groups(&fragment, &chunks) {
            // The room for states is that of the groups that every drive has to take.
            tolerated.extend([Status::GroupCardinality, Status::OutputFull]);
        }
        if table.columns.iter().any(|column| column.values.exceeds_a_column()) {
            tolerated.push(Status::Overflow);
        }
        Self {
            name: name.into(),
            unit_rows: table.rows as u64,
            inputs: if table.rows.is_multiple_of(2) { Inputs::One } else { Inputs::OnePerColumn },
            table,
            fragment,
            chunks,
            expectation: Expectation::Meaning,
            tolerated,
            bytes_max: None,
            form: BlockForm::Plain,
        }
    }

    /// The same, with one more status tolerated.
    pub fn or(mut self, status: Status) -> Self {
        self.tolerated.push(status);
        self
    }

    /// The case, and the same with compact blocks allowed if it returns rows: states are plain, and
    /// damage has nothing to do with blocks.
    pub(crate) fn in_all_forms(self) -> impl Iterator<Item = Self> {
        let is_damaged = self.expectation != Expectation::Meaning && self.bytes_max.is_none();
        let compact = match self.fragment.output {
            Output::Rows { .. } if !is_damaged => Some(Self {
                name: format!("{}, compact", self.name),
                form: BlockForm::Compact,
                ..self.clone()
            }),
            Output::Rows { .. } | Output::States { .. } => None,
        };
        std::iter::once(self).chain(compact)
    }

    /// The same with another expectation.
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { expectation, ..self }
    }
}

/// One merge command over several row groups.
#[derive(Debug, Clone)]
pub struct MergeCase {
    /// Says what it is about.
    pub name: String,
    /// The scans whose results are merged.
    pub scans: Vec<Case>,
    /// How.
    pub merge: Merge,
    /// Room for the result, if not what the scans have together.
    pub bytes_max: Option<u64>,
    /// The status that must come of it whatever the rows are.
    pub must_end_with: Option<Status>,
}

impl MergeCase {
    /// A merge of these scans.
    pub fn new(name: impl Into<String>, scans: Vec<Case>, merge: Merge) -> Self {
        Self { name: name.into(), scans, merge, bytes_max: None, must_end_with: None }
    }
}

/// Whether the format lets a drive answer that there are too many groups.
fn may_exceed_groups(fragment: &Fragment, chunks: &[WrittenChunk]) -> bool {
    let Output::States { keys, .. } = &fragment.output else {
        return false;
    };
    let mut product = 1u64;
    for key in keys {
        let values = match (key.code_column(), key.range) {
            (Some(column), _) => {
                let chunk = &chunks[usize::from(column)];
                if chunk.has_plain_pages {
                    return true;
                }
                chunk.dictionary_entries.unwrap_or(0)
            }
            (None, range) => range.map_or(0, |range| u64::from(range.count)),
        };
        product = product.saturating_mul(values + 1);
    }
    !keys.is_empty() && product > u64::from(limits::GROUPS_MAX)
}
