// SPDX-License-Identifier: Apache-2.0
//! Merges the sorted results of scans into one sorted result.
//!
//! The scans run one after the other on this thread, as any command would. Their results are
//! unpacked into columns, a heap of their next rows determines the order, and rows are gathered in
//! batches.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

use nearscan_command::{
    BlockColumn, BlockForm, CellColumn, Cells, ColumnarWriter, Counters, MergeCommand,
    ResultHeader, ResultView, SortKey, Status, Width,
};
use nearscan_drive::{Failure, FileTable};

use crate::{
    error::Stop,
    job::{self, Limits},
    shared::Memory,
};

/// Rows that are gathered together.
const BATCH_ROWS: usize = 8192;

/// Runs a merge command; gives the bytes of its result. `media_bytes` counts what was read,
/// whatever the end.
///
/// # Errors
/// The reason why there is no result with rows: that of the first scan which has none, or
/// [`Status::NotSorted`].
pub(crate) fn run(
    command: &MergeCommand,
    files: &FileTable,
    memory: &Memory,
    limits: &Limits,
    media_bytes: &mut u64,
) -> Result<Vec<u8>, Stop> {
    let scans = command.scans.iter().map(|scan| job::run(scan, files, memory, limits, media_bytes));
    let results: Vec<Vec<u8>> = scans.collect::<Result<_, _>>()?;
    let widths = command.output_widths();
    let views = results.iter().map(|result| {
        ResultView::parse(result, &widths)
            .map_err(|error| Stop::from(Failure::Kernel { reason: error.to_string() }))
    });
    let views: Vec<ResultView<'_>> = views.collect::<Result<_, _>>()?;
    let inputs: Vec<Input<'_>> = views.iter().map(|view| Input::of(view, &widths)).collect();
    let mut output = Output::new(command, &widths);
    let mut heads = BinaryHeap::with_capacity(inputs.len());
    for (number, input) in inputs.iter().enumerate() {
        if input.rows > 0 {
            heads.push(Head { keys: &command.merge.keys, input, number, row: 0 });
        }
    }
    while let Some(mut head) = heads.peek_mut() {
        let (input, row) = (head.input, head.row);
        output.put(input, row, limits)?;
        if row + 1 == input.rows {
            PeekMut::pop(head);
            continue;
        }
        if compare(&command.merge.keys, (input, row + 1), (input, row)).is_lt() {
            return Err(Stop::status(Status::NotSorted));
        }
        head.row += 1;
    }
    let rows_kept = inputs.iter().map(|input| input.rows as u64).sum();
    output.finish(command, rows_kept, limits)
}

/// The values of one column of an input.
enum Values<'a> {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
    Truth(Vec<bool>),
    Strings(Vec<&'a [u8]>),
}

struct Column<'a> {
    /// `[rows]`, true where a row is not null.
    validity: Vec<bool>,
    values: Values<'a>,
}

/// The result of a scan, in columns.
struct Input<'a> {
    rows: usize,
    columns: Vec<Column<'a>>,
}

impl<'a> Input<'a> {
    fn of(view: &'a ResultView<'_>, widths: &[Width]) -> Self {
        let columns = widths.iter().map(|width| Column::new(*width));
        let mut input = Self { rows: 0, columns: columns.collect() };
        for block in &view.blocks {
            let rows = block.rows as usize;
            for (column, stored) in input.columns.iter_mut().zip(&block.columns) {
                column.extend(stored, rows);
            }
            input.rows += rows;
        }
        input
    }
}

impl<'a> Column<'a> {
    const fn new(width: Width) -> Self {
        let values = match width {
            Width::W32 | Width::W64 => Values::Narrow(Vec::new()),
            Width::W128 => Values::Wide(Vec::new()),
            Width::Bool => Values::Truth(Vec::new()),
            Width::Bytes => Values::Strings(Vec::new()),
        };
        Self { validity: Vec::new(), values }
    }

    fn extend(&mut self, stored: &'a BlockColumn<'_>, rows: usize) {
        self.validity.extend((0..rows).map(|row| stored.is_valid(row)));
        match &mut self.values {
            Values::Narrow(values) if stored.width == Width::W64 => {
                let (numbers, _) = stored.values.as_chunks();
                values.extend(numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)));
            }
            Values::Narrow(values) => {
                // What is behind an odd number of rows fills a word up.
                let (numbers, _) = stored.values[..rows * 4].as_chunks();
                values.extend(numbers.iter().map(|bytes| i64::from(i32::from_le_bytes(*bytes))));
            }
            Values::Wide(values) => {
                let (numbers, _) = stored.values.as_chunks();
                values.extend(numbers.iter().map(|bytes| i128::from_le_bytes(*bytes)));
            }
            Values::Truth(values) => {
                values.extend(stored.values[..rows].iter().map(|byte| *byte != 0));
            }
            Values::Strings(values) => {
                values.extend((0..rows).map(|row| stored.string(row).unwrap_or_default()));
            }
        }
    }

    /// The order of two values that are not null, of columns of one width.
    fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        match (&self.values, &other.values) {
            (Values::Narrow(a), Values::Narrow(b)) => a[row].cmp(&b[other_row]),
            (Values::Wide(a), Values::Wide(b)) => a[row].cmp(&b[other_row]),
            (Values::Truth(a), Values::Truth(b)) => a[row].cmp(&b[other_row]),
            (Values::Strings(a), Values::Strings(b)) => a[row].cmp(b[other_row]),
            _ => Ordering::Equal,
        }
    }
}

/// The order of two rows, each of its input.
fn compare(keys: &[SortKey], a: (&Input<'_>, usize), b: (&Input<'_>, usize)) -> Ordering {
    for key in keys {
        let index = usize::from(key.column);
        let (x, y) = (&a.0.columns[index], &b.0.columns[index]);
        let order = match (x.validity[a.1], y.validity[b.1]) {
            (false, false) => Ordering::Equal,
            (false, true) if key.nulls_first => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, false) if key.nulls_first => Ordering::Greater,
            (true, false) => Ordering::Less,
            (true, true) if key.descending => y.compare(b.1, x, a.1),
            (true, true) => x.compare(a.1, y, b.1),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// The next row of an input. The greatest one on the heap is the one that comes first.
struct Head<'a> {
    keys: &'a [SortKey],
    input: &'a Input<'a>,
    number: usize,
    row: usize,
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.keys, (other.input, other.row), (self.input, self.row))
            .then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}

/// A row of an input.
type Place<'a> = (&'a Input<'a>, usize);

/// Merged rows on their way out.
struct Output<'a> {
    writer: ColumnarWriter,
    keys: &'a [SortKey],
    distinct: bool,
    bytes_max: u64,
    /// Rows that are not yet written.
    batch: Vec<Place<'a>>,
    /// The last row that was not left out.
    last: Option<Place<'a>>,
}

impl<'a> Output<'a> {
    fn new(command: &'a MergeCommand, widths: &[Width]) -> Self {
        Self {
            writer: ColumnarWriter::new(widths, BlockForm::Plain),
            keys: &command.merge.keys,
            distinct: command.merge.distinct,
            bytes_max: command.output.bytes_max(),
            batch: Vec::with_capacity(BATCH_ROWS),
            last: None,
        }
    }

    fn put(&mut self, input: &'a Input<'a>, row: usize, limits: &Limits) -> Result<(), Stop> {
        if self.distinct {
            let place = (input, row);
            if self.last.is_some_and(|last| compare(self.keys, last, place).is_eq()) {
                return Ok(());
            }
            self.last = Some(place);
        }
        self.batch.push((input, row));
        if self.batch.len() == BATCH_ROWS { self.write(limits) } else { Ok(()) }
    }

    fn write(&mut self, limits: &Limits) -> Result<(), Stop> {
        limits.check()?;
        let Some((first, _)) = self.batch.first() else { return Ok(()) };
        let columns = 0..first.columns.len();
        let gathered: Vec<Column<'_>> = columns.map(|index| gather(&self.batch, index)).collect();
        let cells: Vec<CellColumn<'_>> = gathered
            .iter()
            .map(|column| CellColumn {
                cells: match &column.values {
                    Values::Narrow(values) => Cells::Narrow(values),
                    Values::Wide(values) => Cells::Wide(values),
                    Values::Truth(values) => Cells::Truth(values),
                    Values::Strings(values) => Cells::Strings(values),
                },
                validity: Some(&column.validity),
            })
            .collect();
        let written = self.writer.push(self.batch.len(), &cells);
        written.map_err(|_| Stop::status(Status::Malformed))?;
        drop(cells);
        drop(gathered);
        self.batch.clear();
        match self.writer.bytes() > self.bytes_max {
            true => Err(Stop::status(Status::OutputFull)),
            false => Ok(()),
        }
    }

    fn finish(
        mut self,
        command: &MergeCommand,
        rows_kept: u64,
        limits: &Limits,
    ) -> Result<Vec<u8>, Stop> {
        self.write(limits)?;
        let columns = command.output_widths().len() as u64;
        let header = ResultHeader {
            rows_in: command.rows(),
            rows_kept,
            continuation_row: command.rows(),
            counters: Counters { values_decoded: rows_kept * columns, ..Counters::default() },
            ..ResultHeader::failed(&command.envelope, Status::Ok)
        };
        let bytes = self.writer.finish(header);
        match bytes.len() as u64 > self.bytes_max {
            true => Err(Stop::status(Status::OutputFull)),
            false => Ok(bytes),
        }
    }
}

/// One column of some rows.
fn gather<'a>(rows: &[Place<'a>], index: usize) -> Column<'a> {
    macro_rules! of_kind {
        ($kind:ident) => {
            Values::$kind(
                rows.iter()
                    .filter_map(|(input, row)| match &input.columns[index].values {
                        Values::$kind(values) => Some(values[*row]),
                        _ => None,
                    })
                    .collect(),
            )
        };
    }
    let values = match rows.first().map(|(input, _)| &input.columns[index].values) {
        Some(Values::Wide(_)) => of_kind!(Wide),
        Some(Values::Truth(_)) => of_kind!(Truth),
        Some(Values::Strings(_)) => of_kind!(Strings),
        Some(Values::Narrow(_)) | None => of_kind!(Narrow),
    };
    let validity = rows.iter().map(|(input, row)| input.columns[index].validity[*row]);
    Column { validity: validity.collect(), values }
}
