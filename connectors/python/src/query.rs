// SPDX-License-Identifier: Apache-2.0
//! A planned statement, which can be run any number of times.

use std::sync::Arc;

use nearscan::{Query as EngineQuery, datafusion::logical_expr::LogicalPlan};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyDict},
};
use pyo3_arrow::ffi::to_schema_pycapsule;

use crate::{
    error::exception,
    process::OfProcess,
    profile::profile,
    stream::Stream,
    table::Table,
    wait::{self, Threads},
};

/// A statement whose names and types are resolved.
#[pyclass(frozen, module = "nearscan._nearscan")]
pub(crate) struct Query(OfProcess<(Arc<EngineQuery>, Arc<Threads>)>);

impl Query {
    pub(crate) fn new(query: EngineQuery, threads: Arc<Threads>) -> Self {
        Self(OfProcess::new((Arc::new(query), threads)))
    }
}

#[pymethods]
impl Query {
    /// Whether running it changes data, so that it has to run at once, and once.
    #[getter]
    fn has_effect(&self, py: Python<'_>) -> PyResult<bool> {
        let (query, _) = self.0.get(py)?;
        Ok(matches!(query.logical_plan(), LogicalPlan::Dml(_) | LogicalPlan::Copy(_)))
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let (query, _) = self.0.get(py)?;
        Ok(query.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    /// Types of the columns, as Arrow writes them.
    #[getter]
    fn types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let (query, _) = self.0.get(py)?;
        Ok(query.schema().fields().iter().map(|it| it.data_type().to_string()).collect())
    }

    /// Returns a capsule with the schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let (query, _) = self.0.get(py)?;
        Ok(to_schema_pycapsule(py, query.schema().as_ref())?)
    }

    /// The query without the first rows, and with at most so many.
    #[pyo3(signature = (offset, count = None))]
    fn limit(&self, py: Python<'_>, offset: usize, count: Option<usize>) -> PyResult<Self> {
        let (query, threads) = self.0.get(py)?;
        let limited = query.limit(offset, count).map_err(|error| exception(py, &error))?;
        Ok(Self::new(limited, Arc::clone(threads)))
    }

    /// What it returns, as a table for other statements.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        Ok(Table::of_query(&self.0.get(py)?.0))
    }

    /// Starts it.
    fn stream(&self, py: Python<'_>) -> PyResult<Stream> {
        let (query, threads) = self.0.get(py)?;
        let running = Arc::clone(query);
        let stream = wait::run(py, threads, async move { running.stream().await })?;
        let stream = stream.map_err(|error| exception(py, &error))?;
        Stream::new(py, stream, Arc::clone(threads))
    }

    /// Returns the profile of the plan alone.
    fn profile<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (query, threads) = self.0.get(py)?;
        let query = Arc::clone(query);
        let planned = wait::run(py, threads, async move { query.profile().await })?;
        profile(py, &planned.map_err(|error| exception(py, &error))?)
    }

    /// Returns the plans as EXPLAIN shows them.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let (query, threads) = self.0.get(py)?;
        let query = Arc::clone(query);
        let text = wait::run(py, threads, async move { query.explain().await })?;
        text.map_err(|error| exception(py, &error))
    }
}
