// SPDX-License-Identifier: Apache-2.0
//! Knows the names that completion offers: tables and columns, functions and settings.
//!
//! The names are those of the engine's own system tables, and are asked for again after each
//! statement, when they are needed. What cannot be found out is not offered; completion has no
//! errors.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use nearscan::{
    Engine,
    arrow::{array::ArrayRef, util::display::array_value_to_string},
};
use tokio::{runtime::Handle, time::timeout};

use crate::commands::literal;

/// Longest time that one question to the engine may take.
const PATIENCE: Duration = Duration::from_millis(800);

/// A name with what is shown beside it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) name: String,
    /// The type of a column, the arguments of a function, the value of a setting.
    pub(super) note: String,
}

/// A table and its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) columns: Vec<Name>,
}

/// The names that the engine knows.
pub(super) struct Vocabulary {
    engine: Engine,
    queries: Handle,
    tables: Option<Vec<Table>>,
    functions: Option<Vec<Name>>,
    settings: Option<Vec<Name>>,
    /// The columns of files and subqueries, by their text.
    columns: HashMap<String, Vec<Name>>,
}

impl Vocabulary {
    /// Asks nothing yet.
    pub(super) fn of(engine: Engine, queries: Handle) -> Self {
        Self {
            engine,
            queries,
            tables: None,
            functions: None,
            settings: None,
            columns: HashMap::new(),
        }
    }

    /// Asks on other threads from now on.
    pub(super) fn run_on(&mut self, queries: Handle) {
        self.queries = queries;
    }

    /// Forgets what a statement may have changed.
    pub(super) fn forget(&mut self) {
        self.tables = None;
        self.settings = None;
        self.columns.clear();
    }

    /// The tables of all schemas.
    pub(super) fn tables(&mut self) -> &[Table] {
        if self.tables.is_none() {
            let mut tables: BTreeMap<(String, String), Vec<Name>> = BTreeMap::new();
            // Those of the schema that describes the others have no columns there.
            let sql = "SELECT table_schema, table_name FROM information_schema.tables";
            for row in self.rows(sql) {
                let [schema, table] = row.as_slice() else { continue };
                tables.insert((schema.clone(), table.clone()), Vec::new());
            }
            let sql = "SELECT table_schema, table_name, column_name, data_type \
                       FROM information_schema.columns \
                       ORDER BY table_schema, table_name, ordinal_position";
            for row in self.rows(sql) {
                let [schema, table, column, kind] = row.as_slice() else { continue };
                let columns = tables.entry((schema.clone(), table.clone())).or_default();
                columns.push(Name { name: column.clone(), note: kind.clone() });
            }
            let table = |((schema, name), columns)| Table { schema, name, columns };
            self.tables = Some(tables.into_iter().map(table).collect());
        }
        self.tables.as_deref().unwrap_or_default()
    }

    /// The functions, with their arguments.
    pub(super) fn functions(&mut self) -> &[Name] {
        if self.functions.as_ref().is_none_or(Vec::is_empty) {
            let sql = "SELECT routine_name, max(syntax_example) \
                       FROM information_schema.routines GROUP BY 1 ORDER BY 1";
            self.functions = Some(self.names(sql));
        }
        self.functions.as_deref().unwrap_or_default()
    }

    /// The settings, with their values.
    pub(super) fn settings(&mut self) -> &[Name] {
        if self.settings.is_none() {
            let sql = "SELECT name, value FROM information_schema.df_settings ORDER BY 1";
            self.settings = Some(self.names(sql));
        }
        self.settings.as_deref().unwrap_or_default()
    }

    /// The values that a setting takes, if they can be listed.
    pub(super) fn values(&mut self, setting: &str) -> Vec<String> {
        let name = setting.to_lowercase();
        let sql = format!("SELECT values FROM nearscan.settings WHERE name = {}", literal(&name));
        if let Some([values]) = self.rows(&sql).first().map(Vec::as_slice) {
            return listed(values);
        }
        let current = self.settings().iter().find(|known| known.name == name);
        match current.map(|known| known.note.as_str()) {
            Some("true" | "false") => vec!["true".to_owned(), "false".to_owned()],
            Some(value) if !value.is_empty() => vec![quoted(value)],
            _ => Vec::new(),
        }
    }

    /// The columns of a file, or of a query in parentheses, as it stands in FROM.
    pub(super) fn columns_of(&mut self, source: &str) -> &[Name] {
        if !self.columns.contains_key(source) {
            let engine = self.engine.clone();
            let sql = format!("SELECT * FROM {source}");
            let planned = async move { timeout(PATIENCE, engine.sql(&sql)).await };
            let columns = match self.queries.block_on(planned) {
                Ok(Ok(query)) => query
                    .schema()
                    .fields()
                    .iter()
                    .map(|it| Name { name: it.name().clone(), note: it.data_type().to_string() })
                    .collect(),
                _ => Vec::new(),
            };
            self.columns.insert(source.to_owned(), columns);
        }
        self.columns.get(source).map(Vec::as_slice).unwrap_or_default()
    }

    fn names(&self, sql: &str) -> Vec<Name> {
        let name = |row: Vec<String>| match <[String; 2]>::try_from(row) {
            Ok([name, note]) => Some(Name { name, note: first_line(&note).to_owned() }),
            Err(_) => None,
        };
        self.rows(sql).into_iter().filter_map(name).collect()
    }

    /// The rows of a query as text; none if it fails or takes too long.
    fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let engine = self.engine.clone();
        let work = async {
            let collected = async { engine.sql(sql).await?.collect().await };
            timeout(PATIENCE, collected).await
        };
        let Ok(Ok(result)) = self.queries.block_on(work) else { return Vec::new() };
        let mut rows = Vec::new();
        for batch in &result.batches {
            for row in 0..batch.num_rows() {
                let cell =
                    |column: &ArrayRef| array_value_to_string(column, row).unwrap_or_default();
                rows.push(batch.columns().iter().map(cell).collect());
            }
        }
        rows
    }
}

/// The words of `auto, force or off`; none of a description such as `the name of a drive, or any`.
fn listed(values: &str) -> Vec<String> {
    let words: Vec<&str> = values.split(", ").flat_map(|part| part.split(" or ")).collect();
    if words.iter().any(|word| word.is_empty() || word.contains(' ')) {
        return Vec::new();
    }
    words.into_iter().map(quoted).collect()
}

/// A value as SET takes it: words that are no constants in quotes.
fn quoted(value: &str) -> String {
    match value {
        "true" | "false" => value.to_owned(),
        _ if value.bytes().all(|byte| byte.is_ascii_digit()) => value.to_owned(),
        _ => literal(value),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Runtime;

    #[test]
    fn lists_are_taken_apart_and_descriptions_are_not() {
        assert_eq!(listed("auto, force or off"), ["'auto'", "'force'", "'off'"]);
        assert_eq!(listed("true or false"), ["true", "false"]);
        assert!(listed("the name of a drive, or any").is_empty());
    }

    #[test]
    fn names_are_those_of_the_engine_until_a_statement_changes_them() {
        let runtime = Runtime::new().unwrap();
        let engine = runtime.block_on(Engine::builder().build()).unwrap();
        let mut known = Vocabulary::of(engine.clone(), runtime.handle().clone());
        assert!(known.tables().iter().all(|table| table.name != "t"));
        let sql = "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b";
        runtime.block_on(async { engine.sql(sql).await.unwrap().collect().await }).unwrap();
        known.forget();
        let table = known.tables().iter().find(|table| table.name == "t").unwrap();
        let columns: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((table.schema.as_str(), columns), ("public", vec!["a", "b"]));
        let count = known.functions().iter().find(|it| it.name == "count").unwrap();
        assert!(count.note.starts_with("count("), "{count:?}");
        assert!(known.settings().iter().any(|it| it.name == "nearscan.pushdown.mode"));
        assert_eq!(known.values("nearscan.pushdown.mode"), ["'auto'", "'force'", "'off'"]);
        assert_eq!(known.values("datafusion.execution.collect_statistics"), ["true", "false"]);
        assert_eq!(known.columns_of("(SELECT 1 AS one)")[0].name, "one");
        assert!(known.columns_of("'nothing.parquet'").is_empty());
    }
}
