// SPDX-License-Identifier: Apache-2.0
//! The dialect: the examples of its page, its errors, and the names of result columns. What it
//! returns is in `sqllogictest/slt/dialect`.

use nearscan::Engine;
use rstest::rstest;

use crate::support::{engine, text};

const PAGE: &str = include_str!("../../../docs/sql.md");

/// An engine with the tables of the page.
async fn tables() -> Engine {
    let engine = engine().await;
    let (_, rest) = PAGE.split_once("```sql\n").unwrap();
    let (statements, _) = rest.split_once("```").unwrap();
    for statement in engine.statements(statements) {
        engine.plan(statement.unwrap()).await.unwrap().collect().await.unwrap();
    }
    engine
}

async fn error(engine: &Engine, sql: &str) -> nearscan::Error {
    match engine.sql(sql).await {
        Err(error) => error,
        Ok(query) => query.collect().await.map(|_| sql.to_owned()).unwrap_err(),
    }
}

#[tokio::test]
async fn examples_of_the_page_run() {
    let engine = tables().await;
    let lines = PAGE.lines().filter(|line| line.starts_with("| "));
    let examples: Vec<&str> = lines.filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(examples.len(), 31);
    let folder = tempfile::tempdir().unwrap();
    let target = format!(" TO '{}/", folder.path().display());
    for example in examples {
        let example = example.replace(" TO '", &target);
        let result = engine.sql(&example).await.unwrap_or_else(|error| {
            panic!("{example}: {}", error.render());
        });
        let result = result.collect().await.unwrap();
        let rows: usize = result.batches.iter().map(|batch| batch.num_rows()).sum();
        // Half of four rows may be none.
        assert!(rows > 0 || example.contains('%'), "{example}");
        let names = result.batches.iter().flat_map(|batch| batch.schema().fields().to_vec());
        let shown = result.schema.fields().iter().cycle();
        assert!(names.zip(shown).all(|(one, other)| one.name() == other.name()), "{example}");
    }
}

#[rstest]
#[case(
    "SELECT * FROM sales ASOF JOIN months ON year >= id",
    "ASOF JOIN is not supported",
    "QUALIFY row_number()"
)]
#[case(
    "SELECT * FROM sales ASOF LEFT JOIN months ON year >= id",
    "ASOF JOIN is not supported",
    "QUALIFY row_number()"
)]
#[case(
    "PIVOT sales ON year USING sum(amount)",
    "PIVOT needs the list of its values",
    "list them: ON year IN (..)"
)]
#[case(
    "SELECT * FROM sales PIVOT (sum(amount) FOR year IN (ANY))",
    "PIVOT needs the list of its values",
    "SELECT DISTINCT year"
)]
#[case(
    "PIVOT sales ON year IN (2000) USING amount",
    "PIVOT needs an aggregate function",
    "USING sum(x)"
)]
#[case(
    "SELECT * FROM sales PIVOT (sum(amount) FOR year IN ((2000, 1)))",
    "a value of PIVOT does not fit its columns",
    "IN ((1, 'a')) for two"
)]
#[case("UNPIVOT months ON (jan, feb), mar", "UNPIVOT needs single columns", "list columns")]
#[case("SELECT * FROM sales USING SAMPLE -5 ROWS", "invalid sample", "USING SAMPLE 10 ROWS")]
#[case("SELECT * FROM sales USING SAMPLE 150%", "invalid sample", "USING SAMPLE 10%")]
#[case("SELECT * FROM sales TABLESAMPLE 2.5 ROWS", "invalid sample", "reservoir(10 ROWS)")]
#[case("SELECT * FROM sales TABLESAMPLE other(3)", "invalid sample", "reservoir(10 ROWS)")]
#[case("SELECT * FROM sales TABLESAMPLE bernoulli(3 ROWS)", "invalid sample", "10%")]
#[case(
    "SELECT * FROM sales USING SAMPLE reservoir(3 ROWS) REPEATABLE (7)",
    "samples cannot be repeated",
    "hash of their key"
)]
#[case(
    "SELECT * FROM sales, months USING SAMPLE 3 ROWS",
    "a sample of a join needs a percentage",
    "sample a subquery"
)]
#[case("SELECT COLUMNS('(') FROM sales", "invalid regular expression '('", "backslash")]
#[case(
    "SELECT COLUMNS('j') + COLUMNS('f') FROM months",
    "an expression has several different COLUMNS",
    "same COLUMNS"
)]
#[case("SELECT COLUMNS(*) AS a FROM months", "several columns would be named 'a'", r"\0")]
#[tokio::test]
async fn misuse_is_an_error_with_a_hint(
    #[case] sql: &str,
    #[case] primary: &str,
    #[case] hint: &str,
) {
    let error = error(&tables().await, sql).await;
    assert_eq!(error.to_string(), primary);
    let found = error.hint().unwrap();
    assert!(found.contains(hint), "{found}");
}

#[rstest]
#[case("SELECT * EXCLUDE (amuont) FROM sales", "column 'amuont' not found")]
#[case("SELECT * EXCEPT (amuont) FROM sales", "column 'amuont' not found")]
#[case("SELECT * REPLACE (1 AS amuont) FROM sales", "column 'amuont' not found")]
#[case("SELECT * RENAME (amuont AS b) FROM sales", "column 'amuont' not found")]
#[case("SELECT * EXCLUDE (amount) REPLACE (1 AS amount) FROM sales", "column 'amount' not found")]
#[case("SELECT COLUMNS(['amuont']) FROM sales", "column 'amuont' not found")]
#[case("PIVOT sales ON yaer IN (1) USING sum(amount)", "column 'yaer' not found")]
#[case("UNPIVOT sales ON amuont", "column 'amuont' not found")]
#[case("SELECT COLUMNS('zz') FROM sales", "no column matches 'zz'")]
#[case("SELECT COLUMNS(1 + 1) FROM sales", "COLUMNS(1 + 1) is not supported")]
#[case("SELECT * EXCLUDE (id, jan, feb, mar) FROM months", "the select list is empty")]
#[case("SUMMARIZE nothing", "table 'nothing' not found")]
#[case("SELECT * FROM nothing PIVOT (sum(a) FOR b IN (1))", "table 'nothing' not found")]
#[case("SELECT COLUMNS(*)", "function 'columns' not found")]
#[tokio::test]
async fn what_does_not_exist_is_named_in_the_error(#[case] sql: &str, #[case] primary: &str) {
    let error = error(&tables().await, sql).await;
    assert_eq!(error.to_string(), primary, "{}", error.render());
}

#[rstest]
#[case(
    "SELECT * FROM sales MATCH_RECOGNIZE (PARTITION BY city ORDER BY year MEASURES year AS y \
        ONE ROW PER MATCH PATTERN (A) DEFINE A AS year > 1)"
)]
#[case("SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) AS j")]
#[case("SELECT * FROM sales |> PIVOT (sum(amount) FOR year IN (2000))")]
#[case("SELECT * FROM sales PIVOT (sum(amount) FOR year IN (2000) DEFAULT ON NULL (0))")]
#[case("SELECT * FROM TABLE(other(1))")]
#[tokio::test]
async fn error_of_an_unknown_table_shows_no_syntax_tree(#[case] sql: &str) {
    let shown = error(&tables().await, sql).await.render();
    assert!(!shown.contains(['{', '}']), "{shown}");
}

#[rstest]
#[case("SELECT avg(sales.amount) FROM sales", "avg(amount)")]
#[case(
    "SELECT AVG(s.amount), count(*), COUNT(1), 1 + 2 FROM sales AS s",
    "avg(amount) count(*) count(1) 1 + 2"
)]
#[case(
    "SELECT sum(amount) AS \"total t\", sales.city FROM sales GROUP BY sales.city",
    "total t city"
)]
#[case("SELECT 1 + 1, *, id + 1, feb AS f FROM months LIMIT 1", "1 + 1 id jan feb mar id + 1 f")]
#[case("SELECT sum(a.id), sum(b.id) FROM months AS a, months AS b", "sum(id) sum(id)")]
#[case("SELECT min(COLUMNS('jan|feb')) FROM months", "min(jan) min(feb)")]
#[case("SELECT year + 1 FROM sales UNION ALL SELECT 2 ORDER BY 1 LIMIT 1", "year + 1")]
#[case("SELECT x FROM (SELECT sum(amount) AS x FROM sales)", "x")]
#[case("SELECT \"sum(sales.amount)\" FROM (SELECT sum(amount) FROM sales)", "sum(sales.amount)")]
#[tokio::test]
async fn column_of_a_result_is_called_as_written_without_its_table(
    #[case] sql: &str,
    #[case] names: &str,
) {
    let shown = text(&tables().await, sql).await;
    assert_eq!(shown.lines().next().unwrap(), names);
}

#[tokio::test]
async fn other_dialects_keep_their_own_syntax() {
    let engine = tables().await;
    engine.set("datafusion.sql_parser.dialect", "postgresql").await.unwrap();
    let error = error(&engine, "SUMMARIZE sales").await;
    assert!(matches!(error, nearscan::Error::Syntax { .. }), "{error}");
    assert_eq!(text(&engine, "SELECT count(*) FROM sales").await, "count(*)\n4");
}

#[rstest]
#[case::recursive(
    "WITH RECURSIVE r AS (SELECT 1 AS n, 2 AS k UNION ALL SELECT * REPLACE (n + 1 AS n) FROM r \
    WHERE n < 3) SELECT max(n) FROM r",
    "3"
)]
#[case::correlated(
    "SELECT count(*) FROM months AS m WHERE EXISTS (SELECT * EXCLUDE (x) FROM (SELECT 1 AS x, \
    year FROM sales WHERE sales.amount = m.jan) AS s)",
    "2"
)]
#[case::table_called_asof(
    "WITH asof AS (SELECT 1 AS a) SELECT x.a FROM asof JOIN asof AS x \
    USING (a)",
    "1"
)]
#[tokio::test]
async fn statement_that_the_planner_knows_is_left_to_it(#[case] sql: &str, #[case] rows: &str) {
    let engine = tables().await;
    assert_eq!(crate::support::rows_of(&engine, sql).await, [rows]);
}

#[rstest]
#[case("SELECT 1 + 1 AS a |> SELECT a, a + 1 AS b", &["a", "b"])]
#[case("SELECT amount, year + 1 FROM sales |> AGGREGATE max(amount) AS m", &["m"])]
#[tokio::test]
async fn columns_behind_a_pipe_operator_keep_their_names(
    #[case] sql: &str,
    #[case] names: &[&str],
) {
    let engine = tables().await;
    let schema = engine.sql(sql).await.unwrap().schema();
    let found: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(found, names);
}

#[tokio::test]
async fn number_of_columns_of_a_pivot_is_bounded() {
    let engine = tables().await;
    let list: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let lists = ["year", "amount", "year + 1", "amount + 1", "year + 2", "amount + 2"];
    let on: Vec<String> = lists.iter().map(|it| format!("{it} IN ({})", list.join(", "))).collect();
    let sql = format!("PIVOT sales ON {} USING count(*)", on.join(", "));
    let found = error(&engine, &sql).await.render();
    assert!(found.contains("more than 4096 columns of PIVOT"), "{found}");
    let many: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
    let sql = format!("SELECT * FROM sales PIVOT (sum(amount) FOR year IN ({}))", many.join(", "));
    let found = error(&engine, &sql).await.render();
    assert!(found.contains("more than 4096 columns of PIVOT"), "{found}");
}

#[tokio::test]
async fn extreme_integers_are_summarized() {
    let engine = tables().await;
    for value in ["CAST(18446744073709551615 AS BIGINT UNSIGNED)", "9223372036854775807"] {
        let rows = text(&engine, &format!("SUMMARIZE SELECT {value} AS x")).await;
        assert!(rows.contains(value.trim_matches(|it: char| !it.is_ascii_digit())), "{rows}");
    }
}
