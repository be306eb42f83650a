// SPDX-License-Identifier: Apache-2.0
//! Corrects logical plans, apart from subqueries and expressions.
//!
//! | module | wraps or precedes | of DataFusion |
//! |---|---|---|
//! | [`filter_pushdown`] | wraps | `push_down_filter` |
//! | [`null_equality`] | wraps | `eliminate_cross_join`, `extract_equijoin_predicate` |
//! | [`write_conditions`] | analyzer rule; wraps | `common_sub_expression_eliminate` |
//! | [`set_operations`], [`unnest_keys`] | analyzer rules | |
//! | [`predicate_intervals`] | before and after | the physical planner |

pub(crate) mod filter_pushdown;
pub(crate) mod null_equality;
pub(crate) mod predicate_intervals;
pub(crate) mod set_operations;
pub(crate) mod unnest_keys;
pub(crate) mod write_conditions;
