// SPDX-License-Identifier: Apache-2.0
//! Rewrites tokens where the parser has no hook for a dialect.
//!
//! Each rewrite begins at a word or a sign without which it has nothing to do. What it does not
//! recognise is left to the parser, so that the places of syntax errors are those of the text.

mod commas;
mod copy;
mod from_first;
mod samples;

use datafusion::{
    common::Result,
    sql::sqlparser::{
        keywords::Keyword,
        tokenizer::{Span, Token, TokenWithSpan},
    },
};

use crate::error::DialectError;

pub(crate) use samples::{HINT, Sample, Size};

/// Prepares the tokens of one statement for the parser.
///
/// # Errors
/// [`DialectError`] if the statement has an ASOF JOIN, an invalid sample, or an option of COPY that
/// there is not.
pub fn prepare(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    reject_asof(&tokens)?;
    let tokens = commas::strip(tokens);
    let tokens = from_first::complete(tokens);
    let tokens = copy::rewrite(tokens)?;
    Ok(samples::rewrite(samples::without_hints(tokens))?)
}

/// The parser knows ASOF JOIN with MATCH_CONDITION only, and the planner none. ASOF is a name where
/// a table or an alias begins.
fn reject_asof(tokens: &[TokenWithSpan]) -> Result<(), DialectError> {
    if !tokens.iter().any(|token| is_word(token, Keyword::ASOF)) {
        return Ok(());
    }
    let places = significant(tokens);
    let is_behind_table = |place: usize| {
        let before = place.checked_sub(1).and_then(|place| places.get(place));
        before.is_some_and(|&index| match &tokens[index].token {
            Token::RParen | Token::SingleQuotedString(_) => true,
            Token::Word(word) => {
                word.quote_style.is_some()
                    || !matches!(word.keyword, Keyword::AS | Keyword::FROM | Keyword::JOIN)
            }
            _ => false,
        })
    };
    let follows = |place: usize, keyword| {
        places.get(place).is_some_and(|&index| is_word(&tokens[index], keyword))
    };
    for place in 0..places.len() {
        let is_join = follows(place + 1, Keyword::JOIN)
            || (follows(place + 1, Keyword::LEFT)
                && (follows(place + 2, Keyword::JOIN)
                    || (follows(place + 2, Keyword::OUTER) && follows(place + 3, Keyword::JOIN))));
        if follows(place, Keyword::ASOF) && is_join && is_behind_table(place) {
            return Err(DialectError::AsofJoin);
        }
    }
    Ok(())
}

/// Returns the places of the tokens that are neither white space nor comments.
fn significant(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let places = tokens.iter().enumerate();
    places.filter(|(_, token)| !is_space(token)).map(|(index, _)| index).collect()
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// Whether a token is a word without quotes that is this keyword.
fn is_word(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none()
        && word.keyword == keyword)
}

/// Whether a token is a word without quotes, in any case.
fn is_named(token: &TokenWithSpan, name: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case(name))
}

/// Makes a token at the place of another.
fn at(span: Span, token: Token) -> TokenWithSpan {
    TokenWithSpan { token, span }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;
    use rstest::rstest;

    use super::*;
    use crate::NearscanDialect;

    /// Prepares a statement, and writes it as text.
    fn prepared(sql: &str) -> String {
        let tokens = Tokenizer::new(&NearscanDialect, sql).tokenize_with_location().unwrap();
        match prepare(tokens) {
            Ok(tokens) => tokens.iter().map(|token| token.to_string()).collect(),
            Err(error) => format!("! {}", error.find_root()),
        }
    }

    #[rstest]
    #[case("SELECT a, b, FROM t", "SELECT a, b, FROM t")]
    #[case("SELECT f(a,), [1, 2, ], {'a': 1,}", "SELECT f(a), [1, 2 ], {'a': 1}")]
    #[case("SELECT a FROM t GROUP BY a, ORDER BY a,", "SELECT a FROM t GROUP BY a ORDER BY a")]
    #[case("SELECT a FROM t ORDER BY a, LIMIT 3", "SELECT a FROM t ORDER BY a LIMIT 3")]
    #[case("SELECT a FROM t ORDER BY a, limit", "SELECT a FROM t ORDER BY a, limit")]
    #[case("SELECT f(,)", "SELECT f(,)")]
    #[case("SELECT (1,,)", "SELECT (1,,)")]
    fn surplus_comma_is_removed_where_no_comma_may_be(#[case] sql: &str, #[case] expected: &str) {
        assert_eq!(prepared(sql), expected);
    }

    #[rstest]
    #[case("FROM t", "SELECT*FROM t")]
    #[case("FROM t WHERE a > 1", "SELECT*FROM t WHERE a > 1")]
    #[case("FROM t SELECT a", "FROM t SELECT a")]
    #[case("(FROM t) UNION ALL FROM u", "(SELECT*FROM t) UNION ALL SELECT*FROM u")]
    #[case("WITH c AS (FROM t) FROM c", "WITH c AS (SELECT*FROM t) SELECT*FROM c")]
    #[case("WITH c AS (FROM t) SELECT f(a) FROM c", "WITH c AS (SELECT*FROM t) SELECT f(a) FROM c")]
    #[case("FROM (SELECT a FROM t) AS s", "SELECT*FROM (SELECT a FROM t) AS s")]
    #[case(
        "SELECT extract(year FROM d), trim(FROM x) FROM t",
        "SELECT extract(year FROM d), trim(FROM x) FROM t"
    )]
    #[case(
        "SELECT substring(f(x) FROM 2), * EXCEPT (a) FROM t",
        "SELECT substring(f(x) FROM 2), * EXCEPT (a) FROM t"
    )]
    #[case("SELECT a IS DISTINCT FROM b FROM t", "SELECT a IS DISTINCT FROM b FROM t")]
    #[case("DELETE FROM t", "DELETE FROM t")]
    #[case("CREATE VIEW v AS FROM t", "CREATE VIEW v AS SELECT*FROM t")]
    #[case("EXPLAIN FROM t", "EXPLAIN SELECT*FROM t")]
    #[case("SELECT explain FROM t", "SELECT explain FROM t")]
    #[case("COPY (FROM t) TO 'x'", "COPY (SELECT*FROM t) TO 'x'")]
    #[case("SELECT a)) FROM t", "SELECT a)) FROM t")]
    fn query_without_select_gets_all_columns(#[case] sql: &str, #[case] expected: &str) {
        assert_eq!(prepared(sql), expected);
    }

    #[rstest]
    #[case("SELECT a FROM t USING SAMPLE 5", "SELECT/*nearscanSample+5 ROWS*/ a FROM t ")]
    #[case(
        "SELECT a FROM t USING SAMPLE 2.5% ORDER BY a",
        "SELECT/*nearscanSample+2.5 PERCENT*/ a FROM t ORDER BY a"
    )]
    #[case(
        "SELECT (SELECT 1 FROM u USING SAMPLE reservoir(3 ROWS)) FROM t",
        "SELECT (SELECT/*nearscanSample+3 ROWS*/ 1 FROM u ) FROM t"
    )]
    #[case("SELECT a FROM t TABLESAMPLE 10%", "SELECT a FROM t TABLESAMPLE (10PERCENT) ")]
    #[case(
        "SELECT a FROM t TABLESAMPLE 10% (bernoulli) WHERE b",
        "SELECT a FROM t TABLESAMPLE (10PERCENT) WHERE b"
    )]
    #[case(
        "SELECT a FROM (FROM t TABLESAMPLE 1%) TABLESAMPLE 2% USING SAMPLE 3%",
        "SELECT/*nearscanSample+3 PERCENT*/ a FROM (SELECT*FROM t TABLESAMPLE (1PERCENT) ) \
        TABLESAMPLE (2PERCENT) "
    )]
    #[case(
        "SELECT a FROM t USING SAMPLE 1 USING SAMPLE 2",
        "SELECT/*nearscanSample+1 ROWS*/ a FROM t USING SAMPLE 2"
    )]
    #[case("SELECT /*nearscanSample+1 ROWS*/ a FROM t", "SELECT   a FROM t")]
    #[case("SELECT /* nearscanSample+1 */ a", "SELECT /* nearscanSample+1 */ a")]
    #[case("SELECT sample FROM sample", "SELECT sample FROM sample")]
    #[case("DELETE FROM t USING sample WHERE a", "DELETE FROM t USING sample WHERE a")]
    #[case("SELECT a FROM t TABLESAMPLE (1 ROWS, 7)", "! samples cannot be repeated")]
    #[case("SELECT a FROM t TABLESAMPLE -1", "! invalid sample")]
    #[case("SELECT a FROM t TABLESAMPLE (3 ROWS", "! invalid sample")]
    fn sample_is_written_as_the_parser_knows_it(#[case] sql: &str, #[case] expected: &str) {
        let found = prepared(sql);
        let found = found.strip_prefix("External error: ").unwrap_or(&found);
        assert_eq!(found.replace("! External error: ", "! "), expected);
    }

    #[rstest]
    #[case("COPY t TO 'x' (FORMAT parquet)", "COPY t TO 'x'  STORED AS parquet")]
    #[case(
        "COPY t TO 'x' WITH (FORMAT = 'csv', HEADER, delim ';', NULL '-')",
        "COPY t TO 'x'  STORED AS csv OPTIONS ('format.has_header' 'true','format.delimiter' ';',\
        'format.null_value' '-')"
    )]
    #[case(
        "COPY (FROM t) TO 'x' (FORMAT parquet, PARTITION_BY (Year, \"Month\"), COMPRESSION ZSTD)",
        "COPY (SELECT*FROM t) TO 'x'  STORED AS parquet PARTITIONED BY (year,Month) \
        OPTIONS ('format.compression' 'zstd(3)')"
    )]
    #[case(
        "EXPLAIN COPY t TO 'x.parquet' (PARTITION_BY a, COMPRESSION gzip, COMPRESSION_LEVEL 9)",
        "EXPLAIN COPY t TO 'x.parquet'  PARTITIONED BY (a) OPTIONS ('format.compression' 'gzip(9)')"
    )]
    #[case(
        "COPY t TO 'x.csv' (COMPRESSION gzip, 'format.double_quote' false, format.quote '|')",
        "COPY t TO 'x.csv'  OPTIONS ('format.double_quote' 'false','format.quote' '|',\
        'format.compression' 'gzip')"
    )]
    #[case(
        "COPY t TO 'x.parquet' (COMPRESSION none)",
        "COPY t TO 'x.parquet'  OPTIONS ('format.compression' 'uncompressed')"
    )]
    #[case(
        "COPY t TO 'x' STORED AS PARQUET OPTIONS (a 'b')",
        "COPY t TO 'x' STORED AS PARQUET OPTIONS (a 'b')"
    )]
    #[case(
        "COPY t TO 'x' (FORMAT parquet) STORED AS CSV",
        "COPY t TO 'x' (FORMAT parquet) STORED AS CSV"
    )]
    #[case("COPY t TO 'x' (a b) OPTIONS (c 'd')", "COPY t TO 'x' (a b) OPTIONS (c 'd')")]
    #[case("COPY t TO 'x' (", "COPY t TO 'x' (")]
    #[case("SELECT copy FROM t", "SELECT copy FROM t")]
    #[case("COPY t TO 'x' (PER_THREAD_OUTPUT)", "! COPY has no option 'per_thread_output'")]
    #[case("COPY t TO 'x' (7)", "! COPY has no option '7'")]
    #[case(
        "COPY t TO 'x' (ROW_GROUP_SIZE -5)",
        "! invalid value of the option 'row_group_size' of COPY"
    )]
    #[case("COPY t TO 'x' (HEADER maybe)", "! invalid value of the option 'header' of COPY")]
    #[case("COPY t TO 'x' (FORMAT)", "! invalid value of the option 'format' of COPY")]
    #[case(
        "COPY t TO 'x' (PARTITION_BY (a + 1))",
        "! invalid value of the option 'partition_by' of COPY"
    )]
    #[case(
        "COPY t TO 'x.parquet' (COMPRESSION snappy, COMPRESSION_LEVEL 3)",
        "! invalid value of the option 'compression_level' of COPY"
    )]
    #[case("COPY t TO 'x' (HEADER, header false)", "! the option 'header' of COPY is given twice")]
    #[case("COPY t TO 'x' (SEP ';', DELIM ',')", "! the option 'delim' of COPY is given twice")]
    #[case(
        "COPY t TO 'x' (FORMAT csv, FORMAT json)",
        "! the option 'format' of COPY is given twice"
    )]
    #[case(
        "COPY t TO 'x.json' (COMPRESSION zstd, COMPRESSION_LEVEL 9)",
        "COPY t TO 'x.json' OPTIONS ('format.compression' 'zstd','format.compression_level' '9')"
    )]
    #[case(
        "COPY t TO 'x.csv' (COMPRESSION_LEVEL 9)",
        "! invalid value of the option 'compression_level' of COPY"
    )]
    fn options_of_copy_are_written_as_the_parser_knows_them(
        #[case] sql: &str,
        #[case] expected: &str,
    ) {
        let found = prepared(sql).replace("! External error: ", "! ");
        assert_eq!(
            found.split_whitespace().collect::<Vec<_>>().join(" "),
            expected.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }

    #[rstest]
    #[case("SELECT * FROM a ASOF JOIN b ON a.t >= b.t", true)]
    #[case("SELECT * FROM a ASOF LEFT JOIN b ON a.t >= b.t", true)]
    #[case("SELECT * FROM 'a.parquet' ASOF JOIN b ON a.t >= b.t", true)]
    #[case("SELECT * FROM (SELECT 1 AS t) ASOF JOIN b ON true", true)]
    #[case("SELECT asof FROM asof", false)]
    #[case("SELECT * FROM asof JOIN b ON true", false)]
    #[case("SELECT * FROM t AS asof JOIN b ON true", false)]
    #[case("SELECT * FROM t, asof LEFT JOIN b ON true", false)]
    #[case("SELECT \"asof\" FROM t AS \"ASOF\" JOIN b ON true", false)]
    fn asof_join_is_refused_where_it_is_one(#[case] sql: &str, #[case] is_refused: bool) {
        assert_eq!(prepared(sql).contains("ASOF JOIN is not supported"), is_refused);
    }
}
