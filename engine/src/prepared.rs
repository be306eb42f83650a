// SPDX-License-Identifier: Apache-2.0
//! Implements PREPARE, EXECUTE and DEALLOCATE.
//!
//! DataFusion optimizes a prepared statement when it is prepared, without the rules that resolve
//! types and subqueries, and optimizes the result again when it is executed. This module keeps the
//! plan as the SQL planner made it, so that it is analyzed once: at execution, when parameters have
//! types, with the settings of the session at that time.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use datafusion::{
    arrow::datatypes::FieldRef,
    common::{
        ParamValues, Result, exec_datafusion_err, exec_err, metadata::ScalarAndMetadata,
        not_impl_err, plan_err,
    },
    execution::SessionState,
    logical_expr::{Execute, Expr, LogicalPlan, Prepare, simplify::SimplifyContext},
    optimizer::simplify_expressions::ExprSimplifier,
};

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements(Mutex<HashMap<String, Arc<Prepared>>>);

#[derive(Debug)]
struct Prepared {
    plan: LogicalPlan,
    /// The declared types of the parameters; empty if none are declared.
    fields: Vec<FieldRef>,
}

impl PreparedStatements {
    /// Stores a statement.
    ///
    /// # Errors
    /// If there is one of that name, or the statement is invalid whatever its parameters are.
    pub(crate) fn prepare(&self, prepare: Prepare, state: &SessionState) -> Result<()> {
        let Prepare { name, input, fields } = prepare;
        let parameters = input.get_parameter_names()?.len();
        if !fields.is_empty() && parameters != fields.len() {
            return plan_err!(
                "Prepare specifies {} data types but query has {parameters} parameters",
                fields.len()
            );
        }
        let plan = Arc::unwrap_or_clone(input);
        if parameters == 0 {
            let options = state.config_options();
            state.analyzer().execute_and_check(plan.clone(), options, |_, _| {})?;
        }
        match self.all().entry(name) {
            Entry::Vacant(free) => {
                free.insert(Arc::new(Prepared { plan, fields }));
                Ok(())
            }
            Entry::Occupied(taken) => {
                exec_err!("Prepared statement '{}' already exists", taken.key())
            }
        }
    }

    /// Returns the plan of a statement with values for its parameters.
    ///
    /// # Errors
    /// If there is no such statement, or it takes other values.
    pub(crate) fn execute(&self, execute: Execute, state: &SessionState) -> Result<LogicalPlan> {
        let Execute { name, parameters } = execute;
        let prepared = self.all().get(&name).map(Arc::clone).ok_or_else(|| missing(&name))?;
        if !prepared.fields.is_empty() && parameters.len() != prepared.fields.len() {
            return exec_err!(
                "Prepared statement '{name}' expects {} parameters, but {} provided",
                prepared.fields.len(),
                parameters.len()
            );
        }
        let values = parameters.into_iter().enumerate().map(|(at, parameter)| {
            let value = evaluate(parameter, state)?;
            match prepared.fields.get(at) {
                Some(field) => value.cast_storage_to(field.data_type()),
                None => Ok(value),
            }
        });
        let values = ParamValues::List(values.collect::<Result<_>>()?);
        prepared.plan.clone().replace_params_with_values(&values)
    }

    /// Removes a statement.
    ///
    /// # Errors
    /// If there is none of that name.
    pub(crate) fn deallocate(&self, name: &str) -> Result<()> {
        self.all().remove(name).map(|_| ()).ok_or_else(|| missing(name))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Prepared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(name: &str) -> datafusion::error::DataFusionError {
    exec_datafusion_err!("Prepared statement '{name}' does not exist")
}

/// Evaluates a parameter, which is an expression without columns.
fn evaluate(parameter: Expr, state: &SessionState) -> Result<ScalarAndMetadata> {
    let context = SimplifyContext::builder()
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    match ExprSimplifier::new(context).simplify(parameter)? {
        Expr::Literal(value, metadata) => Ok(ScalarAndMetadata::new(value, metadata)),
        other => not_impl_err!("Unsupported parameter type: {other}"),
    }
}
