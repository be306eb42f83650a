// SPDX-License-Identifier: Apache-2.0
//! Keeps rows of a result in memory, and gives them to Python: as Arrow data, or as objects.

use std::sync::Arc;

use nearscan::arrow::{
    array::{ArrayRef, RecordBatch, StructArray},
    datatypes::{Field, SchemaRef},
    error::ArrowError,
};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyTuple},
};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};

use crate::object::objects;

/// Rows of a result.
#[pyclass(frozen, module = "nearscan._nearscan")]
pub(crate) struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn all(&self) -> &[RecordBatch] {
        &self.batches
    }
}

/// Returns a capsule with a C stream of batches; they are cast to the requested schema if that is
/// possible.
pub(crate) fn export<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    requested_schema: Option<Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let field = Field::new_struct("", schema.fields().clone(), false);
    let field = Arc::new(field.with_metadata(schema.metadata().clone()));
    let arrays = batches.map(|batch| Ok(Arc::new(StructArray::from(batch?)) as ArrayRef));
    let reader = Box::new(ArrayIterator::new(arrays, field));
    Ok(to_stream_pycapsule(py, reader, requested_schema)?)
}

#[pymethods]
impl Batches {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    /// Returns a capsule with a C stream of the rows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = self.batches.clone().into_iter().map(Ok);
        export(py, &self.schema, batches, requested_schema)
    }

    /// Returns rows as tuples, from an offset on.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        offset: usize,
        count: usize,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut rows = Vec::new();
        let (mut skip, mut left) = (offset, count);
        for batch in &self.batches {
            let start = skip.min(batch.num_rows());
            let taken = left.min(batch.num_rows() - start);
            skip -= start;
            left -= taken;
            if taken == 0 {
                continue;
            }
            let part = batch.slice(start, taken);
            let columns = part.columns().iter().map(|column| objects(py, column));
            let mut columns: Vec<_> =
                columns.collect::<PyResult<Vec<_>>>()?.into_iter().map(Vec::into_iter).collect();
            for _ in 0..taken {
                rows.push(PyTuple::new(
                    py,
                    columns.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>(),
                )?);
            }
        }
        Ok(rows)
    }
}
