// SPDX-License-Identifier: Apache-2.0
//! Makes commands that keep one resource of a drive busy, and the files that they read.

use std::path::Path;

use nearscan_command::{
    Aggregate, Column, Command, Envelope, Fragment, InputRef, Op, Operand, Output, Program,
    RowColumn, Step, Unit, ValueKind, Width,
};
use nearscan_conformance::{
    ColumnData, Values,
    pages::{ChunkLayout, write_chunk},
};
use nearscan_drive::{Drive, FileRef, Placement};

use crate::error::{Error, Result};

/// Rows of the column before what is only read.
const READ_ROWS: i64 = 8;

/// Columns of the wide filter at most: as many as a kernel that fits a card has lanes.
const FILTER_COLUMNS_MAX: u32 = 7;

/// Rows of the two wide filters. Even the small one keeps several units busier than the link, which
/// has a count to send for each.
pub(crate) const FILTER_ROWS: [u32; 2] = [1 << 15, 1 << 17];

/// Rows of the result that goes over the link.
const RESULT_ROWS: u32 = 1 << 19;

/// A command that is repeated on a drive.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    /// Everything but its number and epoch.
    command: Command,
}

impl Job {
    /// The command, under this number.
    pub(crate) fn command(&self, command_id: u128, epoch: u64) -> Command {
        let envelope = Envelope { command_id, epoch, ..self.command.envelope };
        Command { envelope, ..self.command.clone() }
    }

    /// The reason why the drive cannot do it, by its own words.
    pub(crate) fn refused_by(&self, drive: &dyn Drive) -> Option<String> {
        let capabilities = drive.capabilities();
        let chunks = self.command.unit.chunks.iter();
        let refused = capabilities.admits(&self.command.fragment).err();
        let refused = refused.or_else(|| {
            let mut refused = chunks.map(|chunk| capabilities.admits_chunk(chunk));
            refused.find_map(std::result::Result::err)
        });
        refused.map(|refused| format!("the drive cannot do it: {refused:?}"))
    }

    /// Counts one row, of no column: nothing is read.
    pub(crate) fn nothing() -> Result<Self> {
        let unit = Unit { rows: 1, inputs: vec![], chunks: vec![] };
        Self::new("an empty scan", &counting(vec![], Program::default(), vec![]), unit)
    }

    /// Reads so many bytes, and counts the few rows of the plain column that they begin with. A
    /// kernel takes eight bytes an iteration of a column that is plain all through, and would hide
    /// the media.
    pub(crate) fn reading(drive: &dyn Drive, folder: &Path, bytes: u64) -> Result<Self> {
        let values = Values::integers(0..READ_ROWS);
        let columns = [ColumnData { values, layout: ChunkLayout::plain().required() }];
        let unit = write(drive, folder, &columns, bytes)?;
        let columns = vec![Column::new("c", ValueKind::Integer)];
        let name = format!("reading {} KiB", bytes >> 10);
        Self::new(&name, &counting(columns, Program::default(), vec![]), unit)
    }

    /// Two that read the same column of few different numbers, which is small on the media: one
    /// returns 4 MiB, the other one a count.
    pub(crate) fn sending(drive: &dyn Drive, folder: &Path) -> Result<[Self; 2]> {
        let columns = [ColumnData {
            values: Values::integers((0..RESULT_ROWS).map(|row| i64::from(row >> 17))),
            layout: ChunkLayout::common().required(),
        }];
        let unit = write(drive, folder, &columns, 0)?;
        let shown = RowColumn { operand: Operand::Column(0), width: Width::W64 };
        let output = Output::Rows { columns: vec![shown], limit: None, top: None };
        let columns = vec![Column::new("c", ValueKind::Integer)];
        let count = counting(columns, Program::default(), vec![]);
        let rows = Fragment { output, ..count.clone() };
        Ok([
            Self::new("a large result", &rows, unit.clone())?,
            Self::new("a count of the same rows", &count, unit)?,
        ])
    }

    /// Counts rows that a filter over many columns keeps, all of them in a few bytes.
    pub(crate) fn filtering(drive: &dyn Drive, folder: &Path, rows: u32) -> Result<Self> {
        let capabilities = drive.capabilities();
        let count = capabilities.columns_max.min(FILTER_COLUMNS_MAX);
        let count = u16::try_from(count).unwrap_or(u16::MAX).max(1);
        let column = ColumnData {
            values: Values::integers((0..rows).map(|row| i64::from(row >> 13))),
            layout: ChunkLayout::common().required(),
        };
        let data: Vec<ColumnData> = (0..count).map(|_| column.clone()).collect();
        let unit = write(drive, folder, &data, 0)?;
        let compare = |column| {
            Step::compare(Op::GreaterOrEqual, Operand::Column(column), Operand::Literal(0))
        };
        let mut steps = vec![compare(0)];
        for (column, verdict) in (1..count).zip((0..).step_by(2)) {
            steps.push(compare(column));
            let both = (Operand::Step(verdict), Operand::Step(verdict + 1));
            steps.push(Step::compare(Op::And, both.0, both.1));
        }
        let columns = (0..count).map(|at| Column::new(format!("c{at}"), ValueKind::Integer));
        let fragment = counting(columns.collect(), Program::new(steps), vec![1]);
        Self::new(&format!("a wide filter of {rows} rows"), &fragment, unit)
    }

    fn new(name: &str, fragment: &Fragment, unit: Unit) -> Result<Self> {
        let command = Command::bind(fragment, unit, Envelope::default())?;
        Ok(Self { name: name.to_owned(), command })
    }
}

fn counting(columns: Vec<Column>, predicate: Program, literals: Vec<i128>) -> Fragment {
    let output = Output::States { keys: vec![], aggregates: vec![Aggregate::count_rows()] };
    let projection = Program::default();
    Fragment {
        columns,
        predicate,
        projection,
        literals,
        tests: vec![],
        key_filters: vec![],
        output,
    }
}

/// Writes the chunks of the columns to one file of at least so many bytes, all of which is the
/// input.
fn write(drive: &dyn Drive, folder: &Path, columns: &[ColumnData], bytes_min: u64) -> Result<Unit> {
    let mut bytes = Vec::new();
    let mut chunks = Vec::new();
    for column in columns {
        let written = write_chunk(&column.values, &column.layout);
        chunks.push(column.chunk(&written, 0, bytes.len() as u64));
        bytes.extend_from_slice(&written.bytes);
    }
    let rows = columns.first().map_or(0, |column| column.values.len()) as u64;
    let length = bytes_min.max(bytes.len() as u64);
    bytes.resize(usize::try_from(length).unwrap_or(bytes.len()), 0);
    let number = std::fs::read_dir(folder).map_or(0, Iterator::count);
    let path = folder.join(format!("{number}.parquet"));
    let failed = |source| Error::Folder { folder: folder.to_path_buf(), source };
    std::fs::write(&path, &bytes).map_err(failed)?;
    let file = FileRef::of(&path).map_err(failed)?;
    let file_id = match drive.locate(&file) {
        Placement::Here { file_id } => file_id,
        Placement::NotHere { reason } => return Err(Error::NotHeld { path, reason }),
    };
    let input = InputRef::FileRange { file_id, version: file.version, offset: 0, length };
    Ok(Unit { rows, inputs: vec![input], chunks })
}
