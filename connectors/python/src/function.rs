// SPDX-License-Identifier: Apache-2.0
//! Makes scalar functions of SQL of Python functions over Arrow arrays.
//!
//! A function is called with one array for each argument, of as many rows, and returns one; it runs
//! on a thread of the query, with the interpreter lock. What it raises ends the query.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use nearscan::{
    arrow::{
        array::{Array, ArrayRef},
        compute::cast,
        datatypes::{DataType, FieldRef},
    },
    datafusion::{
        common::{DataFusionError, Result as PlanResult, exec_err},
        logical_expr::{
            ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        },
    },
};
use pyo3::{IntoPyObjectExt, prelude::*, types::PyTuple};
use pyo3_arrow::PyArray;

/// A scalar function that calls Python.
#[derive(Debug)]
pub(crate) struct Function {
    name: String,
    call: Py<PyAny>,
    signature: Signature,
    returns: FieldRef,
}

impl Function {
    /// A function of these types. `call` takes and returns objects that export Arrow arrays.
    pub(crate) fn scalar(
        name: String,
        call: Py<PyAny>,
        takes: Vec<DataType>,
        returns: FieldRef,
        volatility: Volatility,
    ) -> ScalarUDF {
        let signature = match takes.is_empty() {
            true => Signature::nullary(volatility),
            false => Signature::exact(takes, volatility),
        };
        ScalarUDF::from(Self { name, call, signature, returns })
    }

    fn call(&self, py: Python<'_>, arguments: &[ArrayRef], rows: usize) -> PyResult<ArrayRef> {
        let arrays = arguments.iter().map(|array| PyArray::from_array_ref(Arc::clone(array)));
        let arrays =
            arrays.map(|array| array.into_bound_py_any(py)).collect::<PyResult<Vec<_>>>()?;
        let returned = self.call.bind(py).call1((rows, PyTuple::new(py, arrays)?))?;
        Ok(returned.extract::<PyArray>()?.into_inner().0)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.call.is(&other.call) && self.signature == other.signature
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(self.returns.data_type().clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let rows = arguments.number_rows;
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let returned = Python::try_attach(|py| {
            self.call(py, &arrays, rows).map_err(|error| {
                let text = format!("function '{}' raised {error}", self.name);
                DataFusionError::Execution(text)
            })
        });
        let Some(returned) = returned else {
            return exec_err!("function '{}' was called while the interpreter ends", self.name);
        };
        let returned = returned?;
        if returned.len() != rows {
            let found = returned.len();
            return exec_err!("function '{}' returned {found} rows for {rows}", self.name);
        }
        Ok(ColumnarValue::Array(cast(&returned, self.returns.data_type())?))
    }
}
