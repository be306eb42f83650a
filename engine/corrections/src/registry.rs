// SPDX-License-Identifier: Apache-2.0
//! Lists the corrections; the switch, the system table and the README are made from this table.
//!
//! A row describes the behaviour of DataFusion; the module of the correction describes what we do.
//! `versions` are those in which the behaviour was observed; others were not checked.

use std::fmt;

/// A wrong behaviour of DataFusion that this crate corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Correction {
    /// Terms after `IS DISTINCT FROM`.
    ReassociateDistinctFrom,
    /// `x = ANY (array)` with NULL.
    ExpandAnyComparisons,
    /// Clauses that the planner ignores.
    RejectIgnoredClauses,
    /// Columns of USING and NATURAL joins.
    ResolveUsingColumns,
    /// PRIMARY KEY and UNIQUE.
    IgnoreKeyConstraints,
    /// Conditions of DELETE and UPDATE.
    ProtectWriteConditions,
    /// EXCEPT ALL and INTERSECT ALL.
    PreserveSetOperationMultiplicity,
    /// Functional dependencies below `unnest`.
    HideKeysFromUnnest,
    /// Correlated subqueries in the conditions of joins.
    LiftJoinSubqueries,
    /// Correlated subqueries over aggregates without GROUP BY.
    RewriteUngroupedAggregates,
    /// Scalar subqueries that have no row.
    MarkEmptyScalarSubqueryNullable,
    /// Types and nullability of outer references.
    RefreshOuterReferences,
    /// Names of the columns by which correlated subqueries are joined.
    NameSubqueryKeys,
    /// IN and NOT IN with NULL.
    RewriteNotIn,
    /// Correlated subqueries whose decorrelation changes rows.
    RejectUnsoundDecorrelation,
    /// `array_has` over arrays with NULL.
    ProtectArrayHas,
    /// Bitwise operators over negated numbers.
    RewriteBitwiseNegation,
    /// Casts that lose digits, values or order.
    ProtectLossyCasts,
    /// Constants that the compared type does not have.
    ProtectUnrepresentableConstants,
    /// `d % 1` and `d * 0` over decimals.
    ProtectDecimalIdentities,
    /// Lists of several IN.
    SeparateInLists,
    /// Regular expressions that become LIKE or a literal.
    ProtectRegexPatterns,
    /// `sum(x + constant)`.
    ProtectConstantSums,
    /// `0.0` and `-0.0`.
    UnifySignedZeros,
    /// Intervals of conditions on expressions.
    HidePredicateIntervals,
    /// HAVING without columns.
    KeepColumnlessHaving,
    /// Comparisons with the constant on the left.
    NormalizeConstantComparisons,
    /// Keys of IS NOT DISTINCT FROM beside keys of equality.
    SeparateNullEquality,
    /// Physical filter pushdown by column names, and past limits.
    GateFilterPushdown,
    /// Sorts that are pushed below limits.
    ProtectLimits,
    /// Properties of rows that are extended with NULL.
    ForgetNullExtendedProperties,
    /// Inputs of nested loop joins that spill.
    RestartNestedLoopInputs,
    /// `PiecewiseMergeJoinExec`.
    DisablePiecewiseMergeJoin,
    /// MIN and MAX of floating-point numbers in groups.
    OrderFloatExtremes,
    /// Statistics of Parquet files.
    RemoveUnsoundStatistics,
    /// Orders that Parquet files declare.
    VerifyFileOrdering,
    /// Deep statements and plans.
    GrowStack,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// The correction.
    pub correction: Correction,
    /// Its name in `nearscan.corrections`: a verb and its object.
    pub name: &'static str,
    /// The behaviour of DataFusion, in one sentence.
    pub upstream: &'static str,
    /// Issues or pull requests about it, such as `apache/datafusion#1234`; empty if none was found.
    pub issues: &'static [&'static str],
    /// Versions of DataFusion in which it was observed.
    pub versions: &'static str,
    /// Cost of planning for plans that need no correction.
    pub planning_cost: &'static str,
    /// The test on plain DataFusion, in `tests/it/canary`, that fails once DataFusion is right.
    pub canary: &'static str,
}

/// Every correction, in the order of [`Correction`].
pub static CORRECTIONS: &[Description] = &[
    Description {
        correction: Correction::ReassociateDistinctFrom,
        name: "reassociate_distinct_from",
        upstream: "The parser takes all terms of AND and OR after `a IS DISTINCT FROM b` as its \
                   right side.",
        issues: &["apache/datafusion#23692", "apache/datafusion-sqlparser-rs#2436"],
        versions: VERSIONS,
        planning_cost: SYNTAX,
        canary: "statement::distinct_from_takes_the_rest_of_the_condition",
    },
    Description {
        correction: Correction::ExpandAnyComparisons,
        name: "expand_any_comparisons",
        upstream: "`x = ANY (array)` is false instead of unknown, with a NULL in the array.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: SYNTAX,
        canary: "statement::any_over_array_with_null_is_false",
    },
    Description {
        correction: Correction::RejectIgnoredClauses,
        name: "reject_ignored_clauses",
        upstream: "The planner ignores clauses such as PREWHERE, TABLESAMPLE and GROUP BY .. WITH \
                   ROLLUP, and returns the rows of the query without them.",
        issues: &["apache/datafusion#24754"],
        versions: VERSIONS,
        planning_cost: SYNTAX,
        canary: "statement::tablesample_is_ignored",
    },
    Description {
        correction: Correction::ResolveUsingColumns,
        name: "resolve_using_columns",
        upstream: "A column of USING or NATURAL in a RIGHT or FULL JOIN is the left side's, NULL \
                   if only the right side has a row; in a subquery it resolves to the outer query.",
        issues: &["apache/datafusion#22881"],
        versions: VERSIONS,
        planning_cost: SYNTAX,
        canary: "statement::using_column_of_full_join_is_that_of_the_left_side",
    },
    Description {
        correction: Correction::IgnoreKeyConstraints,
        name: "ignore_key_constraints",
        upstream: "PRIMARY KEY and UNIQUE are not checked when rows are written, and are trusted \
                   when a plan drops DISTINCT or group keys.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: "nothing: only CREATE TABLE is inspected",
        canary: "statement::primary_key_is_trusted_and_not_checked",
    },
    Description {
        correction: Correction::ProtectWriteConditions,
        name: "protect_write_conditions",
        upstream: "Conditions of DELETE and UPDATE are read back from the optimized plan, so one \
                   that was optimized away deletes all rows.",
        issues: &["apache/datafusion#24654"],
        versions: VERSIONS,
        planning_cost: "nothing: only DELETE and UPDATE are inspected",
        canary: "logical::delete_with_contradiction_deletes_all_rows",
    },
    Description {
        correction: Correction::PreserveSetOperationMultiplicity,
        name: "preserve_set_operation_multiplicity",
        upstream: "EXCEPT ALL and INTERSECT ALL are planned as semi- and anti-joins, which keep \
                   all copies of a left row or none.",
        issues: &["apache/datafusion#12956", "apache/datafusion#12955"],
        versions: VERSIONS,
        planning_cost: ONE_LOOK,
        canary: "logical::except_all_removes_every_copy",
    },
    Description {
        correction: Correction::HideKeysFromUnnest,
        name: "hide_keys_from_unnest",
        upstream: "Functional dependencies of the input are kept above `unnest`, which repeats \
                   rows, so DISTINCT and group keys are dropped.",
        issues: &["apache/datafusion#24787"],
        versions: VERSIONS,
        planning_cost: ONE_LOOK,
        canary: "logical::distinct_above_unnest_is_dropped",
    },
    Description {
        correction: Correction::LiftJoinSubqueries,
        name: "lift_join_subqueries",
        upstream: "Correlated subqueries are decorrelated above joins only, not in their ON \
                   conditions, and outer references are pulled up from filters only.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::correlated_subquery_in_join_condition_is_refused",
    },
    Description {
        correction: Correction::RewriteUngroupedAggregates,
        name: "rewrite_ungrouped_aggregates",
        upstream: "A correlated EXISTS, IN or scalar subquery over an aggregate without GROUP BY \
                   has no row if no row matches, instead of the aggregate of an empty input.",
        issues: &["apache/datafusion#24960"],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::exists_over_ungrouped_aggregate_loses_rows",
    },
    Description {
        correction: Correction::MarkEmptyScalarSubqueryNullable,
        name: "mark_empty_scalar_subquery_nullable",
        upstream: "A scalar subquery is as nullable as its column, so `(SELECT 1 WHERE false) IS \
                   NULL` folds to false.",
        issues: &["apache/datafusion#24513"],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::empty_scalar_subquery_is_not_null",
    },
    Description {
        correction: Correction::RefreshOuterReferences,
        name: "refresh_outer_references",
        upstream: "Outer references keep the type and nullability that columns had before type \
                   coercion and before grouping sets made them NULL.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::outer_reference_has_the_type_from_before_coercion",
    },
    Description {
        correction: Correction::NameSubqueryKeys,
        name: "name_subquery_keys",
        upstream: "The join keys of a decorrelated subquery are distinguished by name alone, \
                   so one of two columns `k` is compared twice.",
        issues: &["apache/datafusion#25258"],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::keys_of_one_name_are_compared_twice",
    },
    Description {
        correction: Correction::RewriteNotIn,
        name: "rewrite_not_in",
        upstream: "NOT IN with NULL is true instead of unknown for constants, correlated \
                   subqueries, and inside of OR, CASE and IS NULL.",
        issues: &[
            "apache/datafusion#25347",
            "apache/datafusion#25473",
            "apache/datafusion#25340",
            "apache/datafusion#8241",
        ],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::not_in_with_null_below_or_is_true",
    },
    Description {
        correction: Correction::RejectUnsoundDecorrelation,
        name: "reject_unsound_decorrelation",
        upstream: "Correlated conditions are pulled above window functions, LIMIT, UNION, outer \
                   joins and aggregates, which then process the rows of all outer rows.",
        issues: &["apache/datafusion#25283", "apache/datafusion#25507", "apache/datafusion#21198"],
        versions: VERSIONS,
        planning_cost: SUBQUERIES,
        canary: "subqueries::limit_of_correlated_exists_is_dropped",
    },
    Description {
        correction: Correction::ProtectArrayHas,
        name: "protect_array_has",
        upstream: "`array_has([1, NULL], x)` becomes `x IN (1, NULL)`, which is unknown if it \
                   was false.",
        issues: &["apache/datafusion#24246"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::array_has_with_null_is_unknown",
    },
    Description {
        correction: Correction::RewriteBitwiseNegation,
        name: "rewrite_bitwise_negation",
        upstream: "The simplifier takes `-x` for the complement of `x`: `x & -x` becomes 0.",
        issues: &["apache/datafusion#24665"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::bitwise_and_with_negation_is_zero",
    },
    Description {
        correction: Correction::ProtectLossyCasts,
        name: "protect_lossy_casts",
        upstream: "Casts are unwrapped from comparisons, and bounds and orders are propagated \
                   through them, also if a cast loses digits, fails, or does not preserve the order.",
        issues: &[
            "apache/datafusion#23095",
            "apache/datafusion#24702",
            "apache/datafusion#25095",
            "apache/datafusion#25221",
            "apache/datafusion#25506",
        ],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::cast_to_fewer_digits_is_unwrapped",
    },
    Description {
        correction: Correction::ProtectUnrepresentableConstants,
        name: "protect_unrepresentable_constants",
        upstream: "The constant of a comparison is cast to the type of the column, also if that \
                   rounds it, and `extract(year ..)` is compared by dates that the type lacks.",
        issues: &["apache/datafusion#25135"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::constant_is_rounded_to_the_column_type",
    },
    Description {
        correction: Correction::ProtectDecimalIdentities,
        name: "protect_decimal_identities",
        upstream: "`d % 1` becomes 0 for decimals too, and `d * 0` a zero with the wrong scale.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::decimal_modulo_one_is_zero",
    },
    Description {
        correction: Correction::SeparateInLists,
        name: "separate_in_lists",
        upstream: "Two IN lists of one value are merged by comparing their items as text, ignoring \
                   NULL and columns.",
        issues: &["apache/datafusion#24246"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::in_lists_with_columns_are_intersected",
    },
    Description {
        correction: Correction::ProtectRegexPatterns,
        name: "protect_regex_patterns",
        upstream: "`x ~ '.*'` folds to a literal, ignoring NULL, and an escaped backslash becomes \
                   an escape of LIKE.",
        issues: &["apache/datafusion#24379"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::regex_that_matches_all_ignores_null",
    },
    Description {
        correction: Correction::ProtectConstantSums,
        name: "protect_constant_sums",
        upstream: "`sum(x + 6)` becomes `sum(x) + 6 * count(x)`, also if the product does not \
                   fit, the sum is of floating point, or both counts get one name.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::constant_sum_with_count_is_refused",
    },
    Description {
        correction: Correction::UnifySignedZeros,
        name: "unify_signed_zeros",
        upstream: "Constants are compared by their bits, so `0.0` and `-0.0` are different in \
                   merged comparisons and in lists.",
        issues: &["apache/datafusion#25186"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "expressions::zeros_of_different_sign_contradict",
    },
    Description {
        correction: Correction::HidePredicateIntervals,
        name: "hide_predicate_intervals",
        upstream: "Interval analysis of a filter treats a column as constant if an expression \
                   of it is: `id / 2 = 10` makes `id` 20.",
        issues: &["apache/datafusion#25232", "apache/datafusion#25523"],
        versions: VERSIONS,
        planning_cost: EXPRESSIONS,
        canary: "logical::filter_on_quotient_makes_its_column_constant",
    },
    Description {
        correction: Correction::KeepColumnlessHaving,
        name: "keep_columnless_having",
        upstream: "A condition without columns is pushed below an aggregate without keys, which \
                   still returns its row.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: "an inspection of each filter",
        canary: "logical::columnless_having_is_pushed_below_count",
    },
    Description {
        correction: Correction::NormalizeConstantComparisons,
        name: "normalize_constant_comparisons",
        upstream: "Comparisons of a column are merged as if the constant were on the right, also \
                   if it is on the left.",
        issues: &["apache/datafusion#24763"],
        versions: VERSIONS,
        planning_cost: "an inspection of each filter",
        canary: "logical::constant_on_the_left_contradicts",
    },
    Description {
        correction: Correction::SeparateNullEquality,
        name: "separate_null_equality",
        upstream: "Joins by IS NOT DISTINCT FROM and by equality are merged, and all keys take \
                   NULL as the top one does.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: "an inspection of each join",
        canary: "logical::null_equality_of_two_joins_is_merged",
    },
    Description {
        correction: Correction::GateFilterPushdown,
        name: "gate_filter_pushdown",
        upstream: "Physical filter pushdown distinguishes columns by name and passes joins, \
                   filters and scans with a limit, and an aggregate of several extremes has a \
                   dynamic filter that loses rows.",
        issues: &[
            "apache/datafusion#25296",
            "apache/datafusion#24816",
            "apache/datafusion#25147",
            "apache/datafusion#21063",
        ],
        versions: VERSIONS,
        planning_cost: "an inspection of the column names of each operator",
        canary: "physical::filter_reaches_the_other_column_of_its_name",
    },
    Description {
        correction: Correction::ProtectLimits,
        name: "protect_limits",
        upstream: "Sorts are pushed below limits and window functions, scans with a limit are \
                   reversed, and some sorts of unions are missing.",
        issues: &[
            "apache/datafusion#24958",
            "apache/datafusion#25378",
            "apache/datafusion#24927",
            "apache/datafusion#17372",
        ],
        versions: VERSIONS,
        planning_cost: "an inspection of each operator",
        canary: "physical::sort_is_pushed_below_limit_with_offset",
    },
    Description {
        correction: Correction::ForgetNullExtendedProperties,
        name: "forget_null_extended_properties",
        upstream: "Constants, orders and partitionings of the input are kept for rows that an \
                   outer join or a grouping set extends with NULL.",
        issues: &["apache/datafusion#24421"],
        versions: VERSIONS,
        planning_cost: "an inspection of each join and aggregate",
        canary: "physical::rollup_over_constant_key_is_not_sorted",
    },
    Description {
        correction: Correction::RestartNestedLoopInputs,
        name: "restart_nested_loop_inputs",
        upstream: "A nested loop join that runs out of memory executes its left input again, which \
                   has no rows left.",
        issues: &["apache/datafusion#24676", "apache/datafusion#22641", "apache/datafusion#24745"],
        versions: VERSIONS,
        planning_cost: "an inspection of each join",
        canary: "physical::nested_loop_join_that_spills_loses_rows",
    },
    Description {
        correction: Correction::DisablePiecewiseMergeJoin,
        name: "disable_piecewise_merge_join",
        upstream: "`PiecewiseMergeJoinExec` loses unmatched rows of outer joins and treats the \
                   sides of `a <= b` as equal.",
        issues: &["apache/datafusion#24360", "apache/datafusion#23870"],
        versions: VERSIONS,
        planning_cost: "nothing: the operator is off by default",
        canary: "physical::piecewise_merge_join_loses_rows",
    },
    Description {
        correction: Correction::OrderFloatExtremes,
        name: "order_float_extremes",
        upstream: "Grouped MIN and MAX of floating point start from the extreme finite numbers and \
                   take any number that follows a NaN.",
        issues: &["apache/datafusion#24432"],
        versions: VERSIONS,
        planning_cost: "nothing",
        canary: "functions::grouped_max_of_negative_infinity_is_finite",
    },
    Description {
        correction: Correction::RemoveUnsoundStatistics,
        name: "remove_unsound_statistics",
        upstream: "Bounds of floating-point columns are trusted although they leave out NaN, \
                   bounds of some row groups are used as those of the file, a missing count of \
                   NULLs is used as 0, and Bloom filters of floating-point columns are asked for \
                   one of the two zeros, which are equal.",
        issues: &[
            "apache/datafusion#15812",
            "apache/datafusion#25226",
            "apache/datafusion#25239",
            "apache/parquet-format#407",
        ],
        versions: VERSIONS,
        planning_cost: "part of the one pass over the footers",
        canary: "parquet::max_of_float_column_ignores_nan",
    },
    Description {
        correction: Correction::VerifyFileOrdering,
        name: "verify_file_ordering",
        upstream: "The `sorting_columns` of the first row group are used as the order of the \
                   whole file.",
        issues: &[],
        versions: VERSIONS,
        planning_cost: "part of the one pass over the footers, for files that declare an order",
        canary: "parquet::order_of_the_first_row_group_is_that_of_the_file",
    },
    Description {
        correction: Correction::GrowStack,
        name: "grow_stack",
        upstream: "Deep expressions and plans overflow the stack, which aborts the process.",
        issues: &["apache/datafusion#22229", "apache/datafusion#22936"],
        versions: VERSIONS,
        planning_cost: "a count of operators in the statement and the plan",
        canary: "depth::deep_plan_overflows_the_stack",
    },
];

/// The versions that were checked.
const VERSIONS: &str = "55.2";

const SYNTAX: &str = "part of one walk over the syntax";
const ONE_LOOK: &str = "part of one walk over the plan";
const SUBQUERIES: &str = "nothing without subqueries";
const EXPRESSIONS: &str = "part of one walk over the expressions of each operator";

impl Correction {
    /// Returns its row of the table.
    #[must_use]
    pub fn description(self) -> &'static Description {
        &CORRECTIONS[self as usize]
    }
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_are_in_the_order_of_the_enum() {
        for (index, row) in CORRECTIONS.iter().enumerate() {
            assert_eq!(row.correction as usize, index, "{}", row.name);
        }
    }

    #[test]
    fn names_and_canaries_are_unique() {
        for part in [|row: &Description| row.name, |row: &Description| row.canary] {
            let different: HashSet<&str> = CORRECTIONS.iter().map(part).collect();
            assert_eq!(different.len(), CORRECTIONS.len());
        }
    }
}
