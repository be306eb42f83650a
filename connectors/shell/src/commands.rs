// SPDX-License-Identifier: Apache-2.0
//! Runs the commands of the shell.

use nearscan::{Engine, datafusion::common::TableReference};
use tokio::time::sleep;

use crate::{
    choices::{Next, Shape},
    data,
    dot::{self, DotCommand, Watch},
    drive,
    failure::{Failure, Result},
    output::{Format, Paging},
    profile_tree,
    session::Session,
};

const TABLES: &str = "SELECT table_schema, table_name, table_type FROM information_schema.tables \
                      WHERE table_schema <> 'information_schema' ORDER BY 1, 2";

impl Session {
    /// Runs a command.
    pub(crate) async fn run_command(&mut self, line: &str) -> Result<Next> {
        match DotCommand::parse(line).map_err(Failure::Statement)? {
            DotCommand::Tables => self.run_own(TABLES).await?,
            DotCommand::Schema(table) => {
                self.run_own(&schema_query(table.as_deref())).await?;
            }
            DotCommand::Drives if self.engine.drive_specs().is_empty() => {
                self.output.line("no drives: attach one with --drive")?;
            }
            DotCommand::Drives => self.run_own(drive::LIST).await?,
            DotCommand::Open(paths) => data::register(&self.engine, &paths).await?,
            DotCommand::Import { file, table } => {
                let statement = import_statement(&self.engine, &file, &table);
                self.run_statements(&statement).await?;
            }
            DotCommand::Read(path) => return Box::pin(self.run_file(&path)).await,
            DotCommand::Explain(statement) => {
                let plans = explain(&self.engine, &statement).await?;
                self.output.line(plans.trim_end())?;
            }
            DotCommand::Profile => match &self.last_profile {
                Some(profile) => self.output.line(profile_tree::draw(profile).trim_end())?,
                None => self.output.line("no statement has run to its end yet")?,
            },
            DotCommand::Bar(statement) => self.run_shaped(&statement, Shape::Bars).await?,
            DotCommand::Watch(watch) => self.watch(watch).await?,
            DotCommand::Mode(format) => self.set_format(format)?,
            DotCommand::ChangeMode => {
                let format = match self.output.format() {
                    Format::Vertical => Format::Table,
                    _ => Format::Vertical,
                };
                self.set_format(format)?;
            }
            DotCommand::Pager(paging) => {
                self.output.set_paging(paging);
            }
            DotCommand::Output(path) => self.redirect(path)?,
            DotCommand::Timer(timer) => self.timer = timer,
            DotCommand::Keys(keys) => self.keys = keys,
            DotCommand::Help => self.output.line(&dot::help())?,
            DotCommand::Version => self.output.line(env!("CARGO_PKG_VERSION"))?,
            DotCommand::Quit => return Ok(Next::Leave),
        }
        Ok(Next::Continue)
    }

    /// Runs a statement until it was run often enough; Ctrl-C drops this.
    async fn watch(&mut self, watch: Watch) -> Result<()> {
        let mut runs = 0;
        // Ctrl-C in a pager would leave the pager only.
        self.paging_before_watch = Some(self.output.set_paging(Paging::Off));
        loop {
            self.run_statements(&watch.statement).await?;
            runs += 1;
            if watch.times.is_some_and(|times| runs >= times) {
                self.restore_paging();
                return Ok(());
            }
            sleep(watch.pause).await;
        }
    }
}

/// Makes a table of a file, or adds the rows of the file to one that exists.
fn import_statement(engine: &Engine, file: &str, table: &str) -> String {
    let file = literal(file);
    let (schema, name) = table_name(table);
    let exists = engine.tables().iter().any(|known| known.schema == schema && known.name == name);
    match exists {
        true => format!("INSERT INTO {table} SELECT * FROM {file}"),
        false => format!("CREATE TABLE {table} AS SELECT * FROM {file}"),
    }
}

fn schema_query(table: Option<&str>) -> String {
    let filter = match table.map(table_name) {
        Some((schema, name)) => {
            format!("table_schema = {} AND table_name = {}", literal(&schema), literal(&name))
        }
        None => "table_schema NOT IN ('information_schema', 'nearscan')".to_owned(),
    };
    format!(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns \
         WHERE {filter} ORDER BY table_schema, table_name, ordinal_position"
    )
}

/// The schema and the name of a table as SQL reads them.
fn table_name(text: &str) -> (String, String) {
    let reference = TableReference::parse_str(text);
    let schema = reference.schema().unwrap_or("public").to_owned();
    (schema, reference.table().to_owned())
}

/// A string of SQL.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

async fn explain(engine: &Engine, statement: &str) -> Result<String> {
    let query = engine.sql(statement).await.map_err(|error| Failure::statement(&error))?;
    query.explain().await.map_err(|error| Failure::statement(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_names_are_quoted() {
        let query = schema_query(Some("S.\"O'x\""));
        assert!(query.contains("table_schema = 's' AND table_name = 'O''x'"), "{query}");
    }

    #[tokio::test]
    async fn file_is_imported_into_a_new_table_or_one_that_exists() {
        let engine = Engine::builder().build().await.unwrap();
        let statement = import_statement(&engine, "it's.csv", "t");
        assert_eq!(statement, "CREATE TABLE t AS SELECT * FROM 'it''s.csv'");
        engine.sql("CREATE TABLE t AS SELECT 1").await.unwrap().collect().await.unwrap();
        let statement = import_statement(&engine, "a.csv", "T");
        assert_eq!(statement, "INSERT INTO T SELECT * FROM 'a.csv'");
    }
}
