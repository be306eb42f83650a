// SPDX-License-Identifier: Apache-2.0
//! Defines the errors of the dialect, each with the three parts that a user reads.
//!
//! Columns that do not exist are DataFusion's own error, whose reader suggests similar names.

use datafusion::common::DataFusionError;

use crate::statements::PIVOT_COLUMNS_MAX;

/// The reason why a statement of the dialect cannot be rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialectError {
    /// COPY has an option that there is not.
    #[error("COPY has no option '{name}'")]
    CopyOption {
        /// What is in its place.
        name: String,
        /// The options there are.
        options: Vec<&'static str>,
    },
    /// An option of COPY has no value, or one that it does not take.
    #[error("invalid value of the option '{name}' of COPY")]
    CopyValue {
        /// The option.
        name: String,
        /// What is there instead.
        found: String,
    },
    /// An option of COPY is there twice.
    #[error("the option '{name}' of COPY is given twice")]
    CopyOptionTwice {
        /// The option.
        name: String,
    },
    /// A join of each row with the nearest one of another table.
    #[error("ASOF JOIN is not supported")]
    AsofJoin,
    /// PIVOT would have to read its values from the table.
    #[error("PIVOT needs the list of its values")]
    PivotWithoutList {
        /// The expression whose values become columns.
        column: String,
    },
    /// PIVOT would make too many columns.
    #[error("more than {PIVOT_COLUMNS_MAX} columns of PIVOT")]
    PivotColumns,
    /// What PIVOT computes is no aggregate.
    #[error("PIVOT needs an aggregate function")]
    PivotAggregate {
        /// What is there instead.
        found: String,
    },
    /// A value of PIVOT has not as many parts as there are expressions.
    #[error("a value of PIVOT does not fit its columns")]
    PivotValue {
        /// The value.
        found: String,
    },
    /// What UNPIVOT makes rows of is no column, or a group of columns.
    #[error("UNPIVOT needs single columns")]
    UnpivotColumn {
        /// What is there instead.
        found: String,
    },
    /// A sample has an impossible size or an unknown method.
    #[error("invalid sample")]
    Sample {
        /// What is wrong with it.
        problem: String,
    },
    /// A number of rows of several tables is sampled.
    #[error("a sample of a join needs a percentage")]
    SampleOfJoin,
    /// A sample should be the same in each run.
    #[error("samples cannot be repeated")]
    SampleSeed,
    /// A pattern is no regular expression.
    #[error("invalid regular expression '{pattern}'")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why it is none.
        reason: String,
    },
    /// A pattern matches no column.
    #[error("no column matches '{pattern}'")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// COLUMNS has other arguments than it takes.
    #[error("COLUMNS({found}) is not supported")]
    Columns {
        /// Its arguments.
        found: String,
    },
    /// An expression has several COLUMNS.
    #[error("an expression has several different COLUMNS")]
    SeveralColumns,
    /// Several columns would get one name.
    #[error("several columns would be named '{alias}'")]
    Alias {
        /// The name.
        alias: String,
    },
    /// No column is left of a select list.
    #[error("the select list is empty")]
    EmptyList,
    /// SUMMARIZE of something that has no columns.
    #[error("SUMMARIZE needs a table with columns")]
    NoColumns,
}

impl DialectError {
    /// Returns the detail: where the error is and with what values.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::PivotWithoutList { column } => Some(format!(
                "the columns of a result are known before it runs, and those of {column} are not"
            )),
            Self::PivotAggregate { found }
            | Self::PivotValue { found }
            | Self::UnpivotColumn { found }
            | Self::CopyValue { found, .. } => Some(format!("found {found}")),
            Self::CopyOption { options, .. } => Some(format!("options: {}", options.join(", "))),
            Self::Sample { problem } => Some(problem.clone()),
            Self::Pattern { reason, .. } => Some(reason.clone()),
            Self::NoMatch { columns, .. } => Some(format!("columns: {}", columns.join(", "))),
            Self::Columns { .. } => {
                Some("it takes *, t.*, * EXCLUDE (..), a pattern, or a list of names".to_owned())
            }
            Self::EmptyList => Some("EXCLUDE lists all columns".to_owned()),
            Self::AsofJoin
            | Self::CopyOptionTwice { .. }
            | Self::PivotColumns
            | Self::SampleOfJoin
            | Self::SampleSeed
            | Self::SeveralColumns
            | Self::Alias { .. }
            | Self::NoColumns => None,
        }
    }

    /// Returns the hint: what to write instead.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::AsofJoin => {
                "join with the inequality and keep the nearest row: SELECT .. FROM a JOIN b ON \
                 a.k = b.k AND a.t >= b.t QUALIFY row_number() OVER (PARTITION BY a.k, a.t ORDER \
                 BY b.t DESC) = 1"
            }
            Self::PivotWithoutList { column } => {
                return Some(format!(
                    "list them: ON {column} IN (..); SELECT DISTINCT {column} returns them"
                ));
            }
            Self::PivotColumns => "list fewer values, or group by the column instead",
            Self::PivotAggregate { .. } => {
                "write for example USING sum(x), or USING first_value(x)"
            }
            Self::PivotValue { .. } => "write IN (1, 2) for one column, IN ((1, 'a')) for two",
            Self::UnpivotColumn { .. } => "list columns: UNPIVOT t ON a, b INTO NAME n VALUE v",
            Self::Sample { .. } => {
                "write for example USING SAMPLE 10 ROWS, USING SAMPLE 10%, or TABLESAMPLE \
                 reservoir(10 ROWS)"
            }
            Self::SampleOfJoin => {
                "write USING SAMPLE 10%, or sample a subquery: FROM (SELECT .. FROM a JOIN b ON \
                 ..) USING SAMPLE 10 ROWS"
            }
            Self::SampleSeed => "leave out REPEATABLE, or choose rows by a hash of their key",
            Self::CopyOption { .. } => {
                "write options of DataFusion by their full names, for example \
                 'format.bloom_filter_on_write' true"
            }
            Self::CopyValue { .. } => {
                "write for example (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (year))"
            }
            Self::Pattern { .. } => "escape signs with a meaning by a backslash",
            Self::Alias { .. } => r"use \0 in the name, which is the name of the column",
            Self::SeveralColumns => "use the same COLUMNS(..) everywhere in the expression",
            Self::CopyOptionTwice { .. }
            | Self::NoMatch { .. }
            | Self::Columns { .. }
            | Self::EmptyList
            | Self::NoColumns => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<DialectError> for DataFusionError {
    fn from(error: DialectError) -> Self {
        Self::External(error.into())
    }
}
