// SPDX-License-Identifier: Apache-2.0
//! Writes kept rows, column by column, into the result's blocks.

use nearscan_command::{
    BlockForm, CellColumn, Cells, ColumnarWriter, Error, Operand, ResultHeader, RowColumn, Status,
    Top, Width,
};

use crate::{
    compare::Number, error::Stop, scope::Scope, selection::Selection, top::TopRows,
    values::NumberValues, vector::Vector,
};

/// Writes kept rows until the limit is reached or the output is full.
#[derive(Debug)]
pub(crate) struct RowOutput<'a> {
    columns: &'a [RowColumn],
    writer: ColumnarWriter,
    rows_left: u64,
    top: Option<TopRows>,
    bytes_max: u64,
}

/// Buffers that cells borrow from: bitmaps and references unpacked for the writer.
struct Unpacked<'a> {
    validity: Option<Vec<bool>>,
    truth: Vec<bool>,
    strings: Vec<&'a [u8]>,
}

impl<'a> RowOutput<'a> {
    pub(crate) fn new(
        columns: &'a [RowColumn],
        limit: Option<u64>,
        top: Option<Top>,
        bytes_max: u64,
        form: BlockForm,
    ) -> Self {
        let widths: Vec<Width> = columns.iter().map(|column| column.width).collect();
        Self {
            columns,
            writer: ColumnarWriter::new(&widths, form),
            rows_left: limit.unwrap_or(u64::MAX),
            top: top.map(TopRows::new),
            bytes_max,
        }
    }

    /// Whether no more rows are wanted.
    pub(crate) const fn is_full(&self) -> bool {
        self.rows_left == 0
    }

    /// Rows still wanted.
    pub(crate) const fn rows_left(&self) -> u64 {
        self.rows_left
    }

    /// Takes `rows` kept rows in, not more than are left.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`] when a number does not fit its column, [`Status::OutputFull`].
    pub(crate) fn update(&mut self, scope: &Scope<'_>, rows: usize) -> Result<(), Stop> {
        let Some(top) = &mut self.top else {
            return self.write(scope, rows);
        };
        let selected = top.select(scope, rows);
        // A number that does not fit is an overflow also in a row beyond the limit.
        self.check_widths(scope)?;
        if selected.len() == rows {
            return self.write(scope, rows);
        }
        let selected = Selection::Rows(selected);
        let gather = |vectors: &[Vector], operand: fn(u16) -> Operand| -> Vec<Vector> {
            let is_shown = |index| {
                let operand = u16::try_from(index).map_or(Operand::None, operand);
                self.columns.iter().any(|column| column.operand == operand)
            };
            let vectors = vectors.iter().enumerate();
            vectors
                .map(|(index, vector)| match is_shown(index) {
                    true => vector.gather(&selected),
                    false => Vector::Unused,
                })
                .collect()
        };
        let columns = gather(scope.columns, Operand::Column);
        let steps = gather(scope.steps, Operand::Step);
        let scope = Scope { columns: &columns, steps: &steps, literals: scope.literals };
        self.write(&scope, selected.len())
    }

    /// Checks that every number fits the column that it is for.
    fn check_widths(&self, scope: &Scope<'_>) -> Result<(), Stop> {
        let fits = |column: &RowColumn| match scope.number(column.operand) {
            Number::Vector(numbers) => numbers.fit(column.width),
            Number::Constant(value) => column.width.fits(value),
            Number::Null => true,
        };
        let numeric = self.columns.iter().filter(|column| column.width.is_numeric());
        if numeric.into_iter().all(fits) { Ok(()) } else { Err(Stop::OVERFLOW) }
    }

    fn write(&mut self, scope: &Scope<'_>, rows: usize) -> Result<(), Stop> {
        let unpacked: Vec<Unpacked<'_>> =
            self.columns.iter().map(|column| unpack(scope, column.operand, rows)).collect();
        let cells: Vec<CellColumn<'_>> = self
            .columns
            .iter()
            .zip(&unpacked)
            .map(|(column, unpacked)| CellColumn {
                cells: cells(scope, column.operand, unpacked),
                validity: unpacked.validity.as_deref(),
            })
            .collect();
        self.writer.push(rows, &cells).map_err(|error| match error {
            Error::Width { .. } => Stop::OVERFLOW,
            _ => Stop::status(Status::Malformed),
        })?;
        self.rows_left -= rows as u64;
        if self.writer.bytes() > self.bytes_max {
            return Err(Stop::status(Status::OutputFull));
        }
        Ok(())
    }

    pub(crate) fn finish(self, header: ResultHeader) -> Vec<u8> {
        self.writer.finish(header)
    }
}

fn unpack<'a>(scope: &Scope<'a>, operand: Operand, rows: usize) -> Unpacked<'a> {
    let mut unpacked = Unpacked { validity: None, truth: Vec::new(), strings: Vec::new() };
    match scope.vector(operand) {
        None => {}
        Some(vector) => {
            unpacked.validity = vector.validity().map(|bits| bits.iter().take(rows).collect());
            match vector {
                Vector::Truth(truth) => {
                    unpacked.truth = truth.is_true.iter().take(rows).collect();
                }
                Vector::Strings(_) | Vector::Coded(_) => {
                    if let Some(strings) = vector.strings() {
                        unpacked.strings = (0..rows).map(|row| strings.get(row)).collect();
                    }
                }
                Vector::Numbers(_) | Vector::Validity(_) | Vector::Unused => {}
            }
        }
    }
    unpacked
}

fn cells<'a>(scope: &Scope<'a>, operand: Operand, unpacked: &'a Unpacked<'_>) -> Cells<'a> {
    match scope.vector(operand) {
        Some(Vector::Truth(_)) => Cells::Truth(&unpacked.truth),
        Some(Vector::Strings(_)) => Cells::Strings(&unpacked.strings),
        Some(Vector::Coded(coded)) if coded.dictionary.strings().is_some() => {
            Cells::Strings(&unpacked.strings)
        }
        Some(Vector::Numbers(_) | Vector::Coded(_)) | None => match scope.number(operand) {
            Number::Vector(numbers) => match &numbers.values {
                NumberValues::Narrow(values) => Cells::Narrow(values),
                NumberValues::Wide(values) => Cells::Wide(values),
            },
            Number::Constant(value) => Cells::Constant(value),
            Number::Null => Cells::Null,
        },
        Some(Vector::Validity(_) | Vector::Unused) => Cells::Null,
    }
}
