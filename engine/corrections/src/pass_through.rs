// SPDX-License-Identifier: Apache-2.0
//! Defines operators that return the rows of their one input unchanged.
//!
//! Such an operator changes properties of the rows, the pushdown of filters, or the execution of
//! its input; the rest of [`ExecutionPlan`] is the same for all. [`PassThroughExec`] implements
//! that rest, and delegates the differences to a [`PassThrough`].

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        Result, Statistics, config::ConfigOptions, internal_err, tree_node::TreeNodeRecursion,
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
        filter_pushdown::{
            ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
        },
        statistics::{ChildStats, StatisticsArgs},
    },
};

/// The specific part of a pass-through operator.
pub trait PassThrough: fmt::Debug + Send + Sync + Sized + 'static {
    /// The name of the operator.
    const NAME: &'static str;

    /// Whether rules may rely on the order of the input.
    const KEEPS_ORDER: bool = true;

    /// Returns the properties of its rows; by default those of the input.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(input.properties())
    }

    /// Returns the operator over another input.
    ///
    /// # Errors
    /// If it cannot be over that input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>;

    /// Returns what EXPLAIN shows behind the name.
    fn details(&self) -> String {
        String::new()
    }

    /// Returns the operator as it was before any execution; by default over the input alike.
    ///
    /// # Errors
    /// If it cannot be over that input.
    fn reset(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(input)
    }

    /// Decides which filters from above are pushed to the input; by default all whose columns it
    /// has.
    ///
    /// # Errors
    /// If a filter has a column that the input lacks.
    fn filters(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &[input])
    }

    /// Executes a partition; by default returns the rows of the input.
    ///
    /// # Errors
    /// Those of the input.
    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        input.execute(partition, context)
    }
}

/// An operator that returns the rows of its input.
#[derive(Debug)]
pub struct PassThroughExec<P> {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    special: P,
}

impl<P: PassThrough> PassThroughExec<P> {
    /// Makes the operator over an input.
    pub fn new(special: P, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = special.properties(&input);
        Self { input, properties, special }
    }

    /// Returns the input.
    pub const fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Returns the specific part.
    pub const fn special(&self) -> &P {
        &self.special
    }
}

/// Returns the only child of an operator.
///
/// # Errors
/// If there is another number of children.
pub fn only_child(mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        (Some(child), true) => Ok(child),
        _ => internal_err!("an operator with one child was given another number of children"),
    }
}

impl<P: PassThrough> DisplayAs for PassThroughExec<P> {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match form {
            DisplayFormatType::TreeRender => Ok(()),
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                f.write_str(P::NAME)?;
                match self.special.details() {
                    details if details.is_empty() => Ok(()),
                    details => write!(f, ": {details}"),
                }
            }
        }
    }
}

impl<P: PassThrough> ExecutionPlan for PassThroughExec<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![P::KEEPS_ORDER]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.special.over(only_child(children)?)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.special.reset(Arc::clone(&self.input))
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.special.execute(&self.input, partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match input {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("an operator with one child needs the statistics of one child"),
        }
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        self.special.filters(&self.input, parent_filters)
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(child_pushdown_result))
    }
}
