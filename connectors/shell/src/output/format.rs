// SPDX-License-Identifier: Apache-2.0
//! Names the forms that results can have, and the ways in which a terminal shows long ones.

use std::path::Path;

use clap::ValueEnum;

/// Form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines and columns for people; on a terminal the first and last rows only
    Table,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header
    Tsv,
    /// One JSON array of objects
    Json,
    /// One JSON object a line
    Ndjson,
    /// Arrow IPC: a stream on standard output, a file with --output
    Arrow,
    /// A Parquet file
    Parquet,
    /// A Markdown table
    Markdown,
    /// A line for each column of each row
    Vertical,
    /// Nothing: the statement runs and its rows are dropped
    None,
}

/// Whether results on a terminal go to a pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Paging {
    /// Never
    #[default]
    Off,
    /// Results that are longer than the screen
    Auto,
    /// Every result
    On,
}

impl Format {
    /// Whether results are bytes that no terminal shows.
    pub(super) fn is_binary(self) -> bool {
        match self {
            Self::Arrow | Self::Parquet => true,
            Self::Table
            | Self::Csv
            | Self::Tsv
            | Self::Json
            | Self::Ndjson
            | Self::Markdown
            | Self::Vertical
            | Self::None => false,
        }
    }

    /// Returns the form that the name of a file requests.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "arrow" => Some(Self::Arrow),
            "parquet" => Some(Self::Parquet),
            "md" => Some(Self::Markdown),
            _ => None,
        }
    }
}
