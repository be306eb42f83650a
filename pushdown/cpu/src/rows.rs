// SPDX-License-Identifier: Apache-2.0
//! Row output: kept rows, column by column into the result's blocks.

use nearscan_command::{
    CellColumn, Cells, ColumnarWriter, Error, Operand, ResultHeader, RowColumn, Status, Width,
};

use crate::compare::Number;
use crate::error::Stop;
use crate::program::Scope;
use crate::vector::{NumberValues, Vector};

/// Writes kept rows until the limit or the room is used up.
#[derive(Debug)]
pub(crate) struct RowOutput<'a> {
    columns: &'a [RowColumn],
    writer: ColumnarWriter,
    rows_left: u64,
    bytes_max: u64,
}

/// What cells borrow from: bitmaps and references unpacked for the writer.
struct Unpacked<'a> {
    validity: Option<Vec<bool>>,
    truth: Vec<bool>,
    strings: Vec<&'a [u8]>,
}

impl<'a> RowOutput<'a> {
    pub(crate) fn new(columns: &'a [RowColumn], limit: Option<u64>, bytes_max: u64) -> Self {
        let widths: Vec<Width> = columns.iter().map(|column| column.width).collect();
        Self {
            columns,
            writer: ColumnarWriter::new(&widths),
            rows_left: limit.unwrap_or(u64::MAX),
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
                Vector::Strings(strings) => {
                    unpacked.strings = (0..rows).map(|row| strings.get(row)).collect();
                }
                Vector::Numbers(_) | Vector::Unused => {}
            }
        }
    }
    unpacked
}

fn cells<'a>(scope: &Scope<'a>, operand: Operand, unpacked: &'a Unpacked<'_>) -> Cells<'a> {
    match scope.vector(operand) {
        Some(Vector::Truth(_)) => Cells::Truth(&unpacked.truth),
        Some(Vector::Strings(_)) => Cells::Strings(&unpacked.strings),
        Some(Vector::Numbers(_)) | None => match scope.number(operand) {
            Number::Vector(numbers) => match &numbers.values {
                NumberValues::Narrow(values) => Cells::Narrow(values),
                NumberValues::Wide(values) => Cells::Wide(values),
            },
            Number::Constant(value) => Cells::Constant(value),
            Number::Null => Cells::Null,
        },
        Some(Vector::Unused) => Cells::Null,
    }
}
