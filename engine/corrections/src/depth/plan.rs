// SPDX-License-Identifier: Apache-2.0
//! Measures the depth of plans, and grows the stack that a deep plan runs on.
//!
//! A short statement can have a deep plan, because views may be over views, and the depth of a
//! chain of joins is its length. Operators open their inputs and poll them for rows, down to the
//! scans. So a plan that is too deep is refused. A deep plan gets an operator at every few hundred
//! levels, and above deep conditions, which opens and polls its input on a larger stack:
//!
//! ```text
//! HashJoinExec                HashJoinExec
//!   HashJoinExec        =>      GrowStackExec
//!     ..                          HashJoinExec
//!                                   ..
//! ```

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    common::{
        Result,
        config::ConfigOptions,
        not_impl_err,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext},
    logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator},
    physical_expr::PhysicalExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, replace_children_if_necessary},
};
use futures::{Stream, StreamExt};

use crate::{
    pass_through::{PassThrough, PassThroughExec},
    registry::Correction,
    rule::{ReadCorrections, enabled_by},
};

/// Largest number of levels of a plan.
const MAX_LEVELS: usize = 8000;

/// Levels of an operator with several inputs. A hash join takes ten kilobytes of the stack in a
/// release build, a limit or a sort less than two.
const JOIN_LEVELS: usize = 8;

/// Levels that run on one piece of stack.
const LEVELS_OF_A_PIECE: usize = 400;

/// Levels of a condition that count as one of a plan.
const CONDITIONS_OF_A_LEVEL: usize = 4;

/// Bytes of stack of a piece: 3 KiB for each level, and several times as much in a debug build.
const PIECE_BYTES: usize =
    LEVELS_OF_A_PIECE * if cfg!(debug_assertions) { 20 << 10 } else { 3 << 10 };

/// Largest stack of a piece, in bytes, that is accepted from a serialised plan.
#[cfg(feature = "proto")]
const MAX_BYTES: usize = 1 << 30;

/// Returns the depth of a logical plan: nested operators, plus the deepest of their expressions.
/// Each AND counts as a fraction of a level, because the optimizer splits conjunctions and chains
/// them again.
pub fn levels(plan: &LogicalPlan) -> usize {
    let (mut deepest, mut ands) = (0, 0);
    let mut open = vec![(plan, 1)];
    while let Some((plan, level)) = open.pop() {
        let mut of_expressions = 0;
        let walked = plan.apply_expressions(|expr| {
            let (level, more) = levels_of(expr);
            of_expressions = of_expressions.max(level);
            ands += more;
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "no step of the walk fails");
        deepest = deepest.max(level + of_expressions);
        open.extend(plan.inputs().into_iter().map(|input| (input, level + 1)));
    }
    deepest + ands / CONDITIONS_OF_A_LEVEL
}

/// Returns the depth of an expression, and its number of ANDs.
fn levels_of(expr: &Expr) -> (usize, usize) {
    stacker::maybe_grow(64 << 10, 1 << 20, || {
        let is_and = matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. }));
        let (mut deepest, mut ands) = (0, usize::from(is_and));
        let mut add = |(level, more): (usize, usize)| {
            deepest = deepest.max(level);
            ands += more;
        };
        let walked = expr.apply_children(|child| {
            add(levels_of(child));
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "no step of the walk fails");
        if let Some(inside) = crate::subqueries::subquery(expr) {
            add((levels(&inside.subquery), 0));
        }
        (deepest + 1, ands)
    })
}

/// Refuses plans that are too deep, and grows the stack of those that are deep.
#[derive(Debug)]
pub(crate) struct GrowStackOfDeepPlans(pub(crate) ReadCorrections);

impl PhysicalOptimizerRule for GrowStackOfDeepPlans {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.0, config).contains(Correction::GrowStack) {
            return Ok(plan);
        }
        match physical_levels(plan.as_ref()) {
            levels if levels > MAX_LEVELS => not_impl_err!(
                "a plan with more than {} nested joins or {MAX_LEVELS} other nested operators",
                MAX_LEVELS / JOIN_LEVELS
            ),
            levels if levels > LEVELS_OF_A_PIECE => Ok(with_pieces(plan)?.0),
            _ => Ok(plan),
        }
    }

    fn name(&self) -> &'static str {
        "GrowStackOfDeepPlans"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn physical_levels(plan: &dyn ExecutionPlan) -> usize {
    let children = plan.children().into_iter();
    own_levels(plan) + children.map(|child| physical_levels(child.as_ref())).max().unwrap_or(0)
}

/// Returns the levels of an operator without its inputs.
fn own_levels(plan: &dyn ExecutionPlan) -> usize {
    let mut of_conditions = 0;
    let walked = plan.apply_expressions(&mut |expr| {
        of_conditions = of_conditions.max(levels_of_condition(expr));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(walked.is_ok(), "no step of the walk fails");
    let operator = if plan.children().len() > 1 { JOIN_LEVELS } else { 1 };
    operator + of_conditions / CONDITIONS_OF_A_LEVEL
}

fn levels_of_condition(expr: &Arc<dyn PhysicalExpr>) -> usize {
    stacker::maybe_grow(64 << 10, 1 << 20, || {
        1 + expr.children().into_iter().map(levels_of_condition).max().unwrap_or(0)
    })
}

/// Splits a plan into pieces; also returns the number of levels above the last one.
fn with_pieces(plan: Arc<dyn ExecutionPlan>) -> Result<(Arc<dyn ExecutionPlan>, usize)> {
    let mut levels = 0;
    let mut children = Vec::new();
    for child in plan.children() {
        let (child, below) = with_pieces(Arc::clone(child))?;
        children.push(child);
        levels = levels.max(below);
    }
    levels += own_levels(plan.as_ref());
    let plan = replace_children_if_necessary(plan, children)?;
    if levels < LEVELS_OF_A_PIECE {
        return Ok((plan, levels));
    }
    let piece = Piece { bytes: PIECE_BYTES.max(levels * PIECE_BYTES / LEVELS_OF_A_PIECE) };
    Ok((piece.above(plan), 1))
}

/// An operator that runs its input with more stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// Bytes of stack that the input needs, down to the next piece.
    pub(crate) bytes: usize,
}

impl Piece {
    /// Makes a piece with so many bytes of stack, at most the limit.
    #[cfg(feature = "proto")]
    pub(crate) fn of_bytes(bytes: u64) -> Self {
        Self { bytes: usize::try_from(bytes).map_or(PIECE_BYTES, |bytes| bytes.min(MAX_BYTES)) }
    }

    /// Makes a `GrowStackExec` above an operator.
    pub(crate) fn above(self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(PassThroughExec::new(self, input))
    }

    fn grown<T>(self, work: impl FnOnce() -> T) -> T {
        stacker::maybe_grow(self.bytes, 2 * self.bytes, work)
    }
}

impl PassThrough for Piece {
    const NAME: &'static str = "GrowStackExec";

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.above(input))
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.grown(|| input.execute(partition, context))?;
        Ok(Box::pin(GrownStream { rows, piece: *self }))
    }
}

struct GrownStream {
    rows: SendableRecordBatchStream,
    piece: Piece,
}

impl Stream for GrownStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = self.piece;
        piece.grown(|| self.rows.poll_next_unpin(context))
    }
}

impl RecordBatchStream for GrownStream {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::datatypes::Schema,
        physical_plan::{displayable, empty::EmptyExec, limit::GlobalLimitExec},
    };
    use rstest::rstest;

    use super::*;
    use crate::set::CorrectionSet;

    /// So many operators, one below the other.
    fn plan(levels: usize) -> Arc<dyn ExecutionPlan> {
        let empty: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
        (1..levels).fold(empty, |input, _| Arc::new(GlobalLimitExec::new(input, 1, None)))
    }

    #[rstest]
    #[case::shallow(400, 0)]
    #[case::one_level_more(401, 1)]
    #[case::several_pieces(1300, 3)]
    fn deep_plan_gets_an_operator_for_each_piece(#[case] levels: usize, #[case] pieces: usize) {
        let rule = GrowStackOfDeepPlans(|_| CorrectionSet::ALL);
        let plan = rule.optimize(plan(levels), &ConfigOptions::default()).unwrap();
        let text = displayable(plan.as_ref()).indent(false).to_string();
        assert_eq!(text.matches(Piece::NAME).count(), pieces);
    }
}
