// SPDX-License-Identifier: Apache-2.0
//! An engine with the threads that its queries run on.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use nearscan::{
    Engine, arrow::datatypes::FieldRef, datafusion::logical_expr::Volatility, units::parse_bytes,
};
use pyo3::prelude::*;
use pyo3_arrow::{PyField, PySchema};

use crate::{
    error::{exception, raise},
    function::Function,
    parameter::parameters,
    process::OfProcess,
    query::Query,
    table::Table,
    wait::{self, Threads},
};

/// An engine, and its first session.
#[pyclass(frozen, module = "nearscan._nearscan")]
pub(crate) struct Connection(OfProcess<Open>);

/// Tables by the names that a statement has for them.
type Tables<'py> = HashMap<String, PyRef<'py, Table>>;

/// The engine is dropped before its threads.
struct Open {
    engine: Engine,
    threads: Arc<Threads>,
}

#[pymethods]
impl Connection {
    /// Opens an engine.
    #[new]
    #[pyo3(signature = (drives, settings, memory_limit, threads, temp_directory, program))]
    fn new(
        py: Python<'_>,
        drives: Vec<String>,
        settings: Vec<(String, String)>,
        memory_limit: Option<String>,
        threads: Option<usize>,
        temp_directory: Option<PathBuf>,
        program: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut builder = Engine::builder();
        for url in drives {
            builder = builder.drive(&url).map_err(|error| exception(py, &error))?;
        }
        for (key, value) in settings {
            builder = builder.set(key, value);
        }
        if let Some(text) = memory_limit {
            builder = builder.memory_limit(bytes(py, &text)?);
        }
        if let Some(count) = threads {
            builder = builder.threads(count);
        }
        if let Some(folder) = temp_directory {
            builder = builder.temp_directory(folder);
        }
        if let Some(path) = program {
            builder = builder.program(path);
        }
        let threads = Arc::new(Threads::start(threads)?);
        let engine = wait::run(py, &threads, async move { builder.build().await })?;
        let engine = engine.map_err(|error| exception(py, &error))?;
        Ok(Self(OfProcess::new(Open { engine, threads })))
    }

    /// Splits a text into statements.
    fn statements(&self, py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
        let open = self.0.get(py)?;
        let statements = open.engine.statements(text).into_iter().map(|statement| {
            let statement = statement.map_err(|error| exception(py, &error))?;
            Ok(statement.text().to_owned())
        });
        statements.collect()
    }

    /// Plans a statement; one that only changes the session is executed. Tables are visible to this
    /// statement alone: those that are given, and those that `look_up` makes of names in FROM for
    /// which there is none.
    #[pyo3(signature = (text, values = None, tables = None, look_up = None))]
    fn plan(
        &self,
        py: Python<'_>,
        text: &str,
        values: Option<&Bound<'_, PyAny>>,
        tables: Option<Tables<'_>>,
        look_up: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Query> {
        let open = self.0.get(py)?;
        let statement = open.engine.statement(text).map_err(|error| exception(py, &error))?;
        let mut tables = tables.unwrap_or_default();
        if let Some(look_up) = look_up {
            let mut unknown = open.engine.unknown_tables(&statement);
            unknown.retain(|name| !tables.contains_key(name));
            if !unknown.is_empty() {
                tables.extend(look_up.call1((unknown,))?.extract::<Tables<'_>>()?);
            }
        }
        let tables = tables.into_iter().map(|(name, table)| (name, table.provider())).collect();
        let engine = open.engine.clone();
        let planning = async move { engine.plan_with(statement, tables).await };
        let planned = wait::run(py, &open.threads, planning)?;
        let mut query = planned.map_err(|error| exception(py, &error))?;
        let values = values.map(parameters).transpose()?;
        if let Some(values) = values {
            query = query.bind(values).map_err(|error| exception(py, &error))?;
        }
        Ok(Query::new(query, Arc::clone(&open.threads)))
    }

    /// Makes a table of a file, a folder, a pattern or a URL.
    fn register_path(&self, py: Python<'_>, name: String, location: String) -> PyResult<()> {
        let open = self.0.get(py)?;
        let engine = open.engine.clone();
        let made = async move { engine.register(&name, &location).await };
        wait::run(py, &open.threads, made)?.map_err(|error| exception(py, &error))
    }

    /// Makes a table of data.
    fn register_table(&self, py: Python<'_>, name: &str, table: &Table) -> PyResult<()> {
        let made = self.0.get(py)?.engine.register_table(name, table.provider());
        made.map_err(|error| exception(py, &error))
    }

    /// Removes a table.
    fn deregister(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let removed = self.0.get(py)?.engine.deregister(name);
        removed.map(drop).map_err(|error| exception(py, &error))
    }

    /// Returns schema and name of each table.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let tables = self.0.get(py)?.engine.tables();
        Ok(tables.into_iter().map(|table| (table.schema, table.name)).collect())
    }

    /// Returns how many tasks of queries are alive.
    fn tasks(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.0.get(py)?.threads.tasks())
    }

    /// Makes a scalar function of a function over Arrow arrays.
    fn create_function(
        &self,
        py: Python<'_>,
        name: String,
        call: Py<PyAny>,
        takes: PySchema,
        returns: PyField,
        is_volatile: bool,
    ) -> PyResult<()> {
        let takes = takes.into_inner();
        let takes = takes.fields().iter().map(|field| field.data_type().clone()).collect();
        let returns: FieldRef = returns.into_inner();
        let volatility = if is_volatile { Volatility::Volatile } else { Volatility::Immutable };
        let function = Function::scalar(name, call, takes, returns, volatility);
        self.0.get(py)?.engine.register_function(function);
        Ok(())
    }
}

/// The bytes of a size such as `4GiB`.
fn bytes(py: Python<'_>, text: &str) -> PyResult<u64> {
    parse_bytes(text).map_err(|reason| {
        let primary = format!("invalid memory limit '{text}'");
        raise(py, "ProgrammingError", &primary, Some(reason), Some("such as '4GiB'"))
    })
}
