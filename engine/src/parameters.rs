// SPDX-License-Identifier: Apache-2.0
//! Binds values to the parameters of a statement: `$1`, `?` and `$name`.
//!
//! A parameter has the type that the plan infers for it, for example that of the column that it is
//! compared with, and the value is cast to it. If the plan infers none, the value keeps its own
//! type.

use datafusion::{
    arrow::datatypes::DataType,
    common::{ParamValues, Result as PlanResult, ScalarValue, metadata::ScalarAndMetadata},
    logical_expr::LogicalPlan,
};

use crate::error::{Error, ParameterError, Result};

/// Replaces the parameters of a plan by values.
///
/// # Errors
/// [`Error::Parameter`] if a parameter has no value, or a value has no parameter or the wrong type.
pub(crate) fn bind(plan: LogicalPlan, values: ParamValues) -> Result<LogicalPlan> {
    let mut types: Vec<_> = plan.get_parameter_types()?.into_iter().collect();
    types.sort_by_key(|(name, _)| (name.len(), name.clone()));
    let names: Vec<String> = types.iter().map(|(name, _)| name.clone()).collect();
    let mut given = named(values);
    let mut bound = Vec::with_capacity(types.len());
    for (name, data_type) in types {
        let value = given.iter().position(|(other, _)| *other == name);
        let value = value.map(|at| given.swap_remove(at).1);
        let Some(value) = value else {
            return Err(Error::Parameter(ParameterError::Missing { name, names }));
        };
        let value = match data_type {
            // A parameter that is compared with no typed expression has no inferred type.
            None | Some(DataType::Null) => value,
            Some(data_type) => value.cast_storage_to(&data_type).map_err(|error| {
                let reason = error.strip_backtrace();
                Error::Parameter(ParameterError::Type { name: name.clone(), reason })
            })?,
        };
        bound.push((name.trim_start_matches('$').to_owned(), value));
    }
    if let Some((name, _)) = given.into_iter().next() {
        return Err(Error::Parameter(ParameterError::Unknown { name, names }));
    }
    Ok(replace(plan, bound)?)
}

fn replace(plan: LogicalPlan, values: Vec<(String, ScalarAndMetadata)>) -> PlanResult<LogicalPlan> {
    // Numbered parameters are bound by name too: positional values would have to be without gaps.
    let is_positional = values.iter().all(|(name, _)| name.parse::<usize>().is_ok());
    let values = match is_positional {
        false => ParamValues::Map(values.into_iter().collect()),
        true => {
            let number = |name: &str| name.parse::<usize>().unwrap_or_default();
            let last = values.iter().map(|(name, _)| number(name)).max().unwrap_or_default();
            let mut list = vec![ScalarAndMetadata::from(ScalarValue::Null); last];
            for (name, value) in values {
                if let Some(place) = number(&name).checked_sub(1).and_then(|at| list.get_mut(at)) {
                    *place = value;
                }
            }
            ParamValues::List(list)
        }
    };
    plan.replace_params_with_values(&values)
}

/// Returns values by the names of their parameters in the plan.
fn named(values: ParamValues) -> Vec<(String, ScalarAndMetadata)> {
    match values {
        ParamValues::List(values) => {
            let name = |(index, value)| (format!("${}", index + 1), value);
            values.into_iter().enumerate().map(name).collect()
        }
        ParamValues::Map(values) => {
            let name =
                |(name, value): (String, _)| (format!("${}", name.trim_start_matches('$')), value);
            values.into_iter().map(name).collect()
        }
    }
}
