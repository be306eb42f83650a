// SPDX-License-Identifier: Apache-2.0
//! The engine: one session with its tables, settings and drives.
//!
//! An [`Engine`] is a handle; clones share everything. Futures borrow it, and may move between
//! threads. What a call changes in the session is there for every later one.

use std::sync::Arc;

use datafusion::{
    catalog::{CatalogProviderList, SchemaProvider, TableProvider},
    common::{DataFusionError, TableReference},
    dataframe::DataFrame,
    logical_expr::{LogicalPlan, LogicalPlanBuilder, SetVariable, Statement as SetStatement},
    prelude::SessionContext,
    sql::parser::{ResetStatement, Statement as Parsed},
};

use nearscan_corrections::{depth, plan_statement};
use nearscan_optimizer::cost::HostRates;

use crate::{
    drive_spec::DriveSpec,
    error::{Error, ErrorContext, Result},
    files, host,
    prepared::PreparedStatements,
    query::Query,
    settings::{NearscanOptions, PREFIX},
    statement::{self, Ending, Statement},
    system::SCHEMA_NAME,
};

/// Runs SQL.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), nearscan::Error> {
/// let engine = nearscan::Engine::builder().build().await?;
/// let result = engine.sql("SELECT 1 + 1 AS two").await?.collect().await?;
/// assert_eq!(result.profile.rows, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    session: SessionContext,
    drives: Arc<[DriveSpec]>,
    prepared: Arc<PreparedStatements>,
}

/// A table of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// Schema it is in.
    pub schema: String,
    /// Its name within the schema.
    pub name: String,
}

impl Engine {
    pub(crate) fn new(session: SessionContext, drives: Vec<DriveSpec>) -> Self {
        Self { session, drives: drives.into(), prepared: Arc::default() }
    }

    /// Makes a table of a file, a folder, or a pattern such as `data/*.parquet`.
    ///
    /// The format comes from the extension, Parquet if it says nothing; all files of a folder have
    /// one format. The name is taken as it is, without folding its case.
    ///
    /// # Errors
    /// [`Error::Path`] if nothing readable is there, [`Error::TableExists`] if the name is taken,
    /// [`Error::Data`] if a file is not what its name says.
    pub async fn register(&self, name: &str, location: &str) -> Result<()> {
        let table = TableReference::bare(name);
        if self.session.table_exist(table.clone())? {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        let state = self.session.state();
        let provider = Box::pin(files::open(&state, table.clone(), location)).await?;
        self.session.register_table(table, provider)?;
        Ok(())
    }

    /// Makes a table of anything that DataFusion can scan.
    ///
    /// # Errors
    /// [`Error::TableExists`] if the name is taken.
    pub fn register_table(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<()> {
        if self.session.table_exist(TableReference::bare(name))? {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        self.session.register_table(TableReference::bare(name), table)?;
        Ok(())
    }

    /// Plans one statement; one that only changes the session (`CREATE`, `DROP`, `SET`) is carried
    /// out.
    ///
    /// # Errors
    /// [`Error::StatementCount`] if the text holds none or several, otherwise what is wrong with
    /// it.
    pub async fn sql(&self, text: &str) -> Result<Query> {
        let mut statements = self.statements(text);
        match (statements.pop(), statements.len()) {
            (Some(statement), 0) => self.run(statement?).await,
            (_, left) if left > 0 => Err(Error::StatementCount { found: left + 1 }),
            (_, left) => Err(Error::StatementCount { found: left }),
        }
    }

    /// Cuts a text into its statements, in order; an error stands in place of a statement that is
    /// not SQL, and those around it are good.
    #[must_use]
    pub fn statements(&self, text: &str) -> Vec<Result<Statement>> {
        let config = self.session.copied_config();
        let corrections = NearscanOptions::corrections_of(config.options());
        statement::split(text, &config.options().sql_parser, corrections)
    }

    /// Says whether `text` ends with a semicolon outside strings and comments, which is when a
    /// shell stops reading lines.
    #[must_use]
    pub fn ending(&self, text: &str) -> Ending {
        statement::ending(text, &self.session.copied_config().options().sql_parser)
    }

    /// Plans one statement of [`Engine::statements`], as [`Engine::sql`] does.
    ///
    /// # Errors
    /// What is wrong with the statement.
    pub async fn run(&self, statement: Statement) -> Result<Query> {
        let levels = statement.levels();
        let planned = depth::with_room(levels, Box::pin(self.plan(statement.parsed))).await;
        planned.map_err(|error| self.classify(error))
    }

    /// Sets a setting of Nearscan or DataFusion.
    ///
    /// # Errors
    /// [`Error::Setting`] or [`Error::Configuration`] if there is no such setting or it does not
    /// take the value.
    pub async fn set(&self, key: &str, value: &str) -> Result<()> {
        let variable = SetVariable { variable: key.to_owned(), value: value.to_owned() };
        let plan = LogicalPlan::Statement(SetStatement::SetVariable(variable));
        Box::pin(self.session.execute_logical_plan(plan)).await?;
        Ok(())
    }

    /// Returns the settings of Nearscan as they are now.
    #[must_use]
    pub fn options(&self) -> NearscanOptions {
        let config = self.session.copied_config();
        config.options().extensions.get::<NearscanOptions>().cloned().unwrap_or_default()
    }

    /// Lists the user's tables, sorted by schema and name.
    #[must_use]
    pub fn tables(&self) -> Vec<TableName> {
        let mut tables: Vec<TableName> = self
            .schemas()
            .into_iter()
            .filter(|(schema, _)| schema != SCHEMA_NAME)
            .flat_map(|(schema, provider)| {
                let name = move |name| TableName { schema: schema.clone(), name };
                provider.table_names().into_iter().map(name).collect::<Vec<_>>()
            })
            .collect();
        tables.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
        tables
    }

    /// How fast this host is with the cores that the engine uses. What the settings do not say is
    /// measured at first need, which takes a fraction of a second, and kept for later runs.
    pub async fn host_rates(&self) -> HostRates {
        host::rates(&self.session.copied_config()).await
    }

    /// The drives the user asked for, in that order.
    #[must_use]
    pub fn drive_specs(&self) -> &[DriveSpec] {
        &self.drives
    }

    /// The DataFusion session below, for what has no call here.
    #[must_use]
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    async fn plan(&self, parsed: Parsed) -> Result<Query, DataFusionError> {
        if let Parsed::Reset(ResetStatement::Variable(name)) = &parsed {
            let key = name.to_string().to_lowercase();
            if key.starts_with(PREFIX) {
                return self.reset(&key);
            }
        }
        let state = self.session.state();
        let corrections = NearscanOptions::corrections_of(state.config_options());
        let plan = plan_statement(&state, parsed, corrections).await?;
        let plan = match plan {
            LogicalPlan::Statement(SetStatement::Prepare(prepare)) => {
                self.prepared.prepare(prepare, &state)?;
                return self.done();
            }
            LogicalPlan::Statement(SetStatement::Execute(execute)) => {
                self.prepared.execute(execute, &state)?
            }
            LogicalPlan::Statement(SetStatement::Deallocate(deallocate)) => {
                self.prepared.deallocate(&deallocate.name)?;
                return self.done();
            }
            other => other,
        };
        let levels = depth::levels(&plan);
        let planning = Box::pin(self.session.execute_logical_plan(plan));
        Ok(Query::new(depth::with_room(levels, planning).await?, levels))
    }

    /// A statement that has done what it does, and has no rows.
    fn done(&self) -> Result<Query, DataFusionError> {
        let nothing = LogicalPlanBuilder::empty(false).build()?;
        Ok(Query::new(DataFrame::new(self.session.state(), nothing), 1))
    }

    /// Resets a setting of Nearscan: DataFusion resets only its own.
    fn reset(&self, key: &str) -> Result<Query, DataFusionError> {
        let state = self.session.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        if let Some(options) = options.extensions.get_mut::<NearscanOptions>() {
            options.reset(key).map_err(|error| DataFusionError::External(error.into()))?;
        }
        drop(state);
        self.done()
    }

    fn classify(&self, error: DataFusionError) -> Error {
        let default_schema = self.session.copied_config().options().catalog.default_schema.clone();
        let tables = self
            .tables()
            .into_iter()
            .map(|table| match table.schema == default_schema {
                true => table.name,
                false => format!("{}.{}", table.schema, table.name),
            })
            .collect();
        ErrorContext { tables, ..ErrorContext::default() }.classify(error)
    }

    /// Returns the schemas of the default catalog.
    fn schemas(&self) -> Vec<(String, Arc<dyn SchemaProvider>)> {
        let state = self.session.state();
        let default_catalog = &state.config_options().catalog.default_catalog;
        let catalogs: &Arc<dyn CatalogProviderList> = state.catalog_list();
        let Some(catalog) = catalogs.catalog(default_catalog) else {
            return Vec::new();
        };
        let schemas = catalog.schema_names();
        schemas.into_iter().filter_map(|name| catalog.schema(&name).map(|it| (name, it))).collect()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("drives", &self.drives).finish_non_exhaustive()
    }
}
