// SPDX-License-Identifier: Apache-2.0
//! Removes rows of a sorted stream that equal the one before them.

use arrow::{
    array::{ArrayRef, BooleanArray, RecordBatch},
    compute::filter_record_batch,
    datatypes::Schema,
    row::{OwnedRow, RowConverter, SortField},
};
use datafusion::error::Result;

/// Removes repeated rows.
#[derive(Debug)]
pub(super) struct Distinct {
    converter: RowConverter,
    last: Option<OwnedRow>,
}

impl Distinct {
    pub(super) fn new(schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields = fields.map(|field| SortField::new(field.data_type().clone())).collect();
        Ok(Self { converter: RowConverter::new(fields)?, last: None })
    }

    /// The rows of a batch that the one before them does not equal, that of the batch before
    /// included.
    pub(super) fn keep(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns: &[ArrayRef] = batch.columns();
        let rows = self.converter.convert_columns(columns)?;
        let before = |at: usize| match at.checked_sub(1) {
            Some(before) => Some(rows.row(before)),
            None => self.last.as_ref().map(OwnedRow::row),
        };
        let is_new = (0..rows.num_rows()).map(|at| before(at) != Some(rows.row(at)));
        let is_new: BooleanArray = is_new.map(Some).collect();
        if let Some(last) = rows.num_rows().checked_sub(1) {
            self.last = Some(rows.row(last).owned());
        }
        Ok(filter_record_batch(batch, &is_new)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn first_row_is_compared_with_the_last_of_the_batch_before() {
        let batch = |numbers: &[Option<i32>]| {
            let numbers: ArrayRef = Arc::new(Int32Array::from(numbers.to_vec()));
            RecordBatch::try_from_iter_with_nullable([("k", numbers, true)]).unwrap()
        };
        let first = batch(&[None, None, Some(1), Some(2), Some(2)]);
        let mut distinct = Distinct::new(&first.schema()).unwrap();
        let mut kept = |batch: &RecordBatch| -> Vec<Option<i32>> {
            let kept = distinct.keep(batch).unwrap();
            kept.column(0).as_primitive::<Int32Type>().iter().collect()
        };
        assert_eq!(kept(&first), [None, Some(1), Some(2)]);
        assert_eq!(kept(&batch(&[])), []);
        assert_eq!(kept(&batch(&[Some(2), Some(3)])), [Some(3)]);
    }
}
