// SPDX-License-Identifier: Apache-2.0
//! Makes tables of Arrow data that Python holds.
//!
//! An object with `__arrow_c_stream__` or `__arrow_c_array__` is imported when a table is made of
//! it, without a copy of its buffers; they live as long as the table or a plan with it. Rows are
//! cut into batches of usual size, and stay in one partition: so a plain SELECT returns them in
//! their order, and operators that work in parallel distribute the batches themselves.

use std::sync::Arc;

use nearscan::{
    Query as EngineQuery,
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    datafusion::{
        catalog::{MemTable, TableProvider, view::ViewTable},
        common::DataFusionError,
        logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder},
    },
};
use pyo3::{intern, prelude::*};
use pyo3_arrow::{PyRecordBatch, PyTable};

use crate::{batches::Batches, error::exception};

/// Rows of a batch, as scans have them.
const BATCH_ROWS: usize = 8192;

/// Something that a statement can name in FROM.
#[pyclass(frozen, module = "nearscan._nearscan")]
pub(crate) struct Table(Arc<dyn TableProvider>);

#[pymethods]
impl Table {
    /// Makes a table of an object that exports Arrow data.
    #[staticmethod]
    fn of_arrow(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let (batches, schema) = match object.hasattr(intern!(py, "__arrow_c_stream__"))? {
            true => object.extract::<PyTable>()?.into_inner(),
            false => {
                let batch = object.extract::<PyRecordBatch>()?.into_inner();
                let schema = batch.schema();
                (vec![batch], schema)
            }
        };
        Self::of_rows(schema, &batches).map_err(|error| exception(py, &error.into()))
    }

    /// Makes a table of rows that the engine returned.
    #[staticmethod]
    fn of_batches(py: Python<'_>, batches: &Batches) -> PyResult<Self> {
        let table = Self::of_rows(batches.schema(), batches.all());
        table.map_err(|error| exception(py, &error.into()))
    }
}

impl Table {
    /// What scans it.
    pub(crate) fn provider(&self) -> Arc<dyn TableProvider> {
        Arc::clone(&self.0)
    }

    /// A table of what a statement returns, which is planned together with the statement over it.
    pub(crate) fn of_query(query: &EngineQuery) -> Self {
        let plan = query.logical_plan();
        let plan = with_names(plan, &query.schema()).unwrap_or_else(|_| plan.clone());
        Self(Arc::new(ViewTable::new(plan, None)))
    }

    fn of_rows(schema: SchemaRef, batches: &[RecordBatch]) -> Result<Self, DataFusionError> {
        let slices = batches.iter().flat_map(|batch| {
            let starts = (0..batch.num_rows()).step_by(BATCH_ROWS);
            starts.map(|start| batch.slice(start, BATCH_ROWS.min(batch.num_rows() - start)))
        });
        // Whether a column may have NULLs differs from batch to batch.
        let alike = slices.map(|it| RecordBatch::try_new(Arc::clone(&schema), it.columns().into()));
        let slices = alike.collect::<Result<Vec<_>, _>>()?;
        Ok(Self(Arc::new(MemTable::try_new(schema, vec![slices])?)))
    }
}

/// A plan whose columns have the names that the statement's result has.
///
/// # Errors
/// If two columns would have one name.
fn with_names(plan: &LogicalPlan, schema: &SchemaRef) -> Result<LogicalPlan, DataFusionError> {
    let columns = plan.schema().columns();
    let names = schema.fields().iter().map(|field| field.name());
    if columns.iter().map(|column| &column.name).eq(names.clone()) {
        return Ok(plan.clone());
    }
    let columns = columns.into_iter().zip(names);
    let named = columns.map(|(column, name)| Expr::Column(column).alias(name));
    LogicalPlanBuilder::from(plan.clone()).project(named)?.build()
}
