// SPDX-License-Identifier: Apache-2.0
//! Defines the dialect in which statements are parsed.
//!
//! It is the generic dialect of the parser, so that statements of plain DataFusion keep their
//! meaning, with what DuckDB's users write besides: digits grouped by underscores, ORDER BY ALL,
//! and the statements of [`statements`](crate::statements). It parses only; what the planner does
//! not know is rewritten afterwards.

use std::any::TypeId;

use datafusion::sql::sqlparser::{
    ast::Statement,
    dialect::{Dialect, GenericDialect},
    parser::{Parser, ParserError},
};

use crate::statements;

/// The dialect of Nearscan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NearscanDialect;

/// Writes methods of [`Dialect`] that return true.
macro_rules! has {
    ($($feature:ident,)*) => {
        $(fn $feature(&self) -> bool {
            true
        })*
    };
}

impl Dialect for NearscanDialect {
    /// The parser asks for the generic dialect by its type too.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, sign: char) -> bool {
        GenericDialect.is_delimited_identifier_start(sign)
    }

    fn is_identifier_start(&self, sign: char) -> bool {
        GenericDialect.is_identifier_start(sign)
    }

    fn is_identifier_part(&self, sign: char) -> bool {
        GenericDialect.is_identifier_part(sign)
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        statements::parse(parser)
    }

    has! {
        supports_numeric_literal_underscores,
        supports_order_by_all,
    }

    // Those of the generic dialect; a test compares both.
    has! {
        supports_unicode_string_literal,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_connect_by,
        supports_match_recognize,
        supports_pipe_operator,
        supports_start_transaction_modifier,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_create_view_comment_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_limit_comma,
        supports_update_order_by,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_asc_desc_in_column_definition,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_empty_projections,
        supports_nested_comments,
        supports_multiline_comment_hints,
        supports_user_host_grantee,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_match_against,
        supports_set_names,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_quote_delimited_string,
        supports_select_wildcard_replace,
        supports_select_wildcard_ilike,
        supports_select_wildcard_rename,
        supports_optimize_table,
        supports_install,
        supports_detach,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_comment_optimizer_hint,
        supports_constraint_keyword_without_name,
        supports_key_column_option,
        supports_comma_separated_trim,
        supports_cte_without_as,
        supports_select_item_multi_column_alias,
        supports_xml_expressions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares methods of two dialects.
    macro_rules! same {
        ($one:expr, $other:expr, $($feature:ident,)*) => {
            $(assert_eq!($one.$feature(), $other.$feature(), stringify!($feature));)*
        };
    }

    #[test]
    fn dialect_has_the_features_of_the_generic_one() {
        same! {
            NearscanDialect, GenericDialect,
            supports_unicode_string_literal,
            supports_partition_by_after_order_by,
            supports_array_join_syntax,
            supports_group_by_expr,
            supports_group_by_with_modifier,
            supports_left_associative_joins_without_parens,
            supports_connect_by,
            supports_match_recognize,
            supports_pipe_operator,
            supports_start_transaction_modifier,
            supports_window_function_null_treatment_arg,
            supports_dictionary_syntax,
            supports_window_clause_named_window_reference,
            supports_parenthesized_set_variables,
            supports_select_wildcard_except,
            support_map_literal_syntax,
            allow_extract_custom,
            allow_extract_single_quotes,
            supports_extract_comma_syntax,
            supports_create_view_comment_syntax,
            supports_parens_around_table_factor,
            supports_values_as_table_factor,
            supports_create_index_with_clause,
            supports_explain_with_utility_options,
            supports_limit_comma,
            supports_update_order_by,
            supports_from_first_select,
            supports_projection_trailing_commas,
            supports_asc_desc_in_column_definition,
            supports_try_convert,
            supports_bitwise_shift_operators,
            supports_comment_on,
            supports_load_extension,
            supports_named_fn_args_with_assignment_operator,
            supports_struct_literal,
            supports_empty_projections,
            supports_nested_comments,
            supports_multiline_comment_hints,
            supports_user_host_grantee,
            supports_string_escape_constant,
            supports_array_typedef_with_brackets,
            supports_match_against,
            supports_set_names,
            supports_comma_separated_set_assignments,
            supports_filter_during_aggregation,
            supports_select_wildcard_exclude,
            supports_data_type_signed_suffix,
            supports_interval_options,
            supports_quote_delimited_string,
            supports_select_wildcard_replace,
            supports_select_wildcard_ilike,
            supports_select_wildcard_rename,
            supports_optimize_table,
            supports_install,
            supports_detach,
            supports_prewhere,
            supports_with_fill,
            supports_limit_by,
            supports_interpolate,
            supports_settings,
            supports_select_format,
            supports_comment_optimizer_hint,
            supports_constraint_keyword_without_name,
            supports_key_column_option,
            supports_comma_separated_trim,
            supports_cte_without_as,
            supports_select_item_multi_column_alias,
            supports_xml_expressions,
            supports_trailing_commas,
            supports_lambda_functions,
            supports_named_fn_args_with_eq_operator,
            supports_nested_comments,
            supports_notnull_operator,
            supports_select_exclude,
            supports_set_stmt_without_operator,
            supports_table_hints,
            supports_table_sample_before_alias,
            supports_table_versioning,
            supports_top_before_distinct,
        }
        for sign in ['a', 'é', '_', '#', '@', '$', '"', '`', '[', '1', ' '] {
            let (one, other) = (NearscanDialect, GenericDialect);
            assert_eq!(one.is_identifier_start(sign), other.is_identifier_start(sign));
            assert_eq!(one.is_identifier_part(sign), other.is_identifier_part(sign));
            assert_eq!(
                one.is_delimited_identifier_start(sign),
                other.is_delimited_identifier_start(sign)
            );
        }
    }
}
