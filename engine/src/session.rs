// SPDX-License-Identifier: Apache-2.0
//! Defines a session: its tables, settings, functions and prepared statements.
//!
//! A [`Session`] is a handle; clones share everything. Futures borrow it, and may move between
//! threads. A change by one call is visible to every later call of the session, and to no other
//! session.

use std::{collections::BTreeSet, sync::Arc};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    catalog::{CatalogProviderList, MemTable, SchemaProvider, TableFunctionImpl, TableProvider},
    common::{DataFusionError, TableReference},
    dataframe::DataFrame,
    execution::{SessionStateBuilder, runtime_env::RuntimeEnv},
    logical_expr::{
        AggregateUDF, LogicalPlan, LogicalPlanBuilder, ScalarUDF, SetVariable,
        Statement as SetStatement,
    },
    prelude::SessionContext,
    sql::parser::{ResetStatement, Statement as Parsed},
};

use nearscan_corrections::{depth, plan_statement};
use nearscan_dialect::{display_names, expand};
use nearscan_optimizer::{LocalReads, cost::HostRates};

use crate::{
    access::Access,
    app_table,
    catalog::{FileCatalogList, SessionLink},
    dialect::SessionCatalog,
    error::{Error, ErrorContext, Missing, Result},
    files::{self, FileFormat, InferFrom},
    host,
    object_stores::ObjectStores,
    overlay,
    prepared::PreparedStatements,
    query::Query,
    settings::{NearscanOptions, PREFIX, SETTINGS, Setting, SettingError},
    statement::{self, Ending, Statement},
    system::SCHEMA_NAME,
};

/// Plans and runs SQL, with its own tables and settings.
///
/// [`Engine::session`](crate::Engine::session) makes one.
#[derive(Clone)]
pub struct Session {
    context: SessionContext,
    prepared: Arc<PreparedStatements>,
    access: Arc<Access>,
    /// The reader of local files, in the first session of its engine only.
    reads: Option<LocalReads>,
}

/// A table of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// Name of its schema.
    pub schema: String,
    /// Name of the table within the schema.
    pub name: String,
}

impl Session {
    /// Makes a session with the settings and functions of a state, the tables of a list of
    /// catalogs, and its permissions; the first session of an engine has its reader too.
    pub(crate) fn new(
        mut state: SessionStateBuilder,
        catalogs: Arc<dyn CatalogProviderList>,
        access: Access,
        reads: Option<LocalReads>,
    ) -> Self {
        let access = Arc::new(access);
        // For system tables.
        let config = state.config().get_or_insert_default();
        config.set_extension(Arc::clone(&access));
        let stores = config.get_extension::<ObjectStores>();
        if access.restricts_locations()
            && let (Some(stores), Some(runtime)) = (stores, state.runtime_env())
        {
            // A replica is read as if its URL had been named.
            let access = Arc::clone(&access);
            let stores = stores.restricted(Arc::new(move |url| access.check_location(url).is_ok()));
            let mut own = RuntimeEnv::clone(runtime);
            own.object_store_registry = Arc::new(stores);
            *runtime = Arc::new(own);
        }
        let link = SessionLink::new(Arc::clone(&access));
        let catalogs = Arc::new(FileCatalogList::new(catalogs, link.clone()));
        let context = SessionContext::new_with_state(state.with_catalog_list(catalogs).build());
        let weak = context.state_weak_ref();
        link.set(move || weak.upgrade().map(|state| state.read().clone()));
        Self { context, prepared: Arc::default(), access, reads }
    }

    /// Makes a table of a file, a folder, a pattern such as `data/*.parquet`, or a URL.
    ///
    /// The extension determines the format, Parquet if it is unknown; all files of a folder have
    /// one format. The case of the name is kept.
    ///
    /// # Errors
    /// [`Error::Path`] if there is no readable file, [`Error::Store`] if an object store cannot be
    /// used, [`Error::TableExists`] if the name is taken, [`Error::Data`] if a file does not have
    /// the format of its extension.
    pub async fn register(&self, name: &str, location: &str) -> Result<()> {
        let table = TableReference::bare(name);
        if self.context.table_exist(table.clone())? {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        let state = self.context.state();
        let provider = Box::pin(files::open(&state, table.clone(), location)).await?;
        self.context.register_table(table, provider)?;
        Ok(())
    }

    /// Makes a table of files or objects of one format that has no name in the session, for
    /// [`Session::plan_with`]. Without a format, the end of the first name says it, as in
    /// [`Session::register`].
    ///
    /// # Errors
    /// [`Error::Path`] if there is no readable file, [`Error::Store`] if an object
    /// store cannot be used, [`Error::Data`] if a file does not have the format.
    pub async fn open_files(
        &self,
        locations: Vec<String>,
        format: Option<FileFormat>,
        infer: InferFrom,
    ) -> Result<Arc<dyn TableProvider>> {
        let state = self.context.state();
        let opened = Box::pin(files::open_all(&state, locations, format, infer)).await;
        opened.map_err(|error| self.classify(error))
    }

    /// Makes a table of anything that DataFusion can scan.
    ///
    /// # Errors
    /// [`Error::TableExists`] if the name is taken.
    pub fn register_table(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<()> {
        if self.context.table_exist(TableReference::bare(name))? {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        self.context.register_table(TableReference::bare(name), table)?;
        Ok(())
    }

    /// Makes a table of record batches in memory.
    ///
    /// # Errors
    /// [`Error::TableExists`] if the name is taken, [`Error::Plan`] if a batch has another schema.
    pub fn register_batches(
        &self,
        name: &str,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<()> {
        self.register_table(name, Arc::new(MemTable::try_new(schema, vec![batches])?))
    }

    /// Removes a table or view from the session, and returns it. A table of the engine stays in the
    /// engine and in its other sessions.
    ///
    /// # Errors
    /// [`Error::TableNotFound`] if there is none of that name.
    pub fn deregister(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        let table = self.context.deregister_table(TableReference::bare(name))?;
        table.ok_or_else(|| {
            let known = self.table_names();
            let missing = Missing { name: name.to_owned(), similar: Vec::new(), known };
            Error::TableNotFound(Box::new(missing))
        })
    }

    /// Adds a scalar function; one of the same name is replaced.
    pub fn register_function(&self, function: ScalarUDF) {
        self.context.register_udf(function);
    }

    /// Adds an aggregate function; one of the same name is replaced.
    pub fn register_aggregate(&self, function: AggregateUDF) {
        self.context.register_udaf(function);
    }

    /// Adds a table function, for FROM; one of the same name is replaced.
    pub fn register_table_function(&self, name: &str, function: Arc<dyn TableFunctionImpl>) {
        self.context.register_udtf(name, function);
    }

    /// Plans one statement; a statement that only changes the session (`CREATE`, `DROP`, `SET`) is
    /// executed.
    ///
    /// # Errors
    /// [`Error::StatementCount`] if the text has none or several statements, otherwise the error of
    /// the statement.
    pub async fn sql(&self, text: &str) -> Result<Query> {
        self.plan(self.statement(text)?).await
    }

    /// Returns the one statement of a text.
    ///
    /// # Errors
    /// [`Error::StatementCount`] if the text has none or several, otherwise that of its syntax.
    pub fn statement(&self, text: &str) -> Result<Statement> {
        let mut statements = self.statements(text);
        match (statements.pop(), statements.len()) {
            (Some(statement), 0) => statement,
            (_, left) if left > 0 => Err(Error::StatementCount { found: left + 1 }),
            (_, left) => Err(Error::StatementCount { found: left }),
        }
    }

    /// Splits a text into its statements, in order. A statement with a syntax error is an error in
    /// the list; it does not affect the others.
    #[must_use]
    pub fn statements(&self, text: &str) -> Vec<Result<Statement>> {
        let config = self.context.copied_config();
        let corrections = NearscanOptions::corrections_of(config.options());
        statement::split(text, &config.options().sql_parser, corrections)
    }

    /// Returns whether `text` ends with a semicolon outside of strings and comments; a shell reads
    /// lines until it does.
    #[must_use]
    pub fn ending(&self, text: &str) -> Ending {
        statement::ending(text, &self.context.copied_config().options().sql_parser)
    }

    /// Returns the names in FROM for which the session has no table, sorted, paths of files among
    /// them; names with a schema are left out. A program can make tables of names before it plans
    /// the statement.
    #[must_use]
    pub fn unknown_tables(&self, statement: &Statement) -> Vec<String> {
        // A copy of the state takes longer than the look-up.
        let state = self.context.state_ref();
        let references = state.read().resolve_table_references(&statement.parsed);
        let bare = references.into_iter().flatten().filter_map(|reference| match reference {
            TableReference::Bare { table } => Some(table.to_string()),
            _ => None,
        });
        let is_unknown = |name: &String| {
            !self.context.table_exist(TableReference::bare(name.as_str())).unwrap_or(true)
        };
        let names: BTreeSet<String> = bare.filter(is_unknown).collect();
        names.into_iter().collect()
    }

    /// Plans one statement of [`Session::statements`], as [`Session::sql`] does.
    ///
    /// # Errors
    /// The error of the statement.
    pub async fn plan(&self, statement: Statement) -> Result<Query> {
        self.plan_with(statement, Vec::new()).await
    }

    /// Plans one statement that sees more tables than the session has: by their names without a
    /// schema, in place of tables of the session. What it makes or changes is the session's.
    ///
    /// # Errors
    /// The error of the statement.
    pub async fn plan_with(
        &self,
        statement: Statement,
        tables: Vec<(String, Arc<dyn TableProvider>)>,
    ) -> Result<Query> {
        let levels = statement.levels();
        let planning = Box::pin(self.plan_parsed(statement.parsed, tables));
        let planned = depth::with_enough_stack(levels, planning).await;
        planned.map_err(|error| self.classify(error))
    }

    /// Sets a setting of Nearscan or DataFusion.
    ///
    /// # Errors
    /// [`Error::SettingNotFound`] if there is no such setting, [`Error::Setting`] or
    /// [`Error::Configuration`] if the value is invalid.
    pub async fn set(&self, key: &str, value: &str) -> Result<()> {
        self.apply(key, value)?;
        let variable = SetVariable { variable: key.to_owned(), value: value.to_owned() };
        let plan = LogicalPlan::Statement(SetStatement::SetVariable(variable));
        let executed = Box::pin(self.context.execute_logical_plan(plan)).await;
        executed.map(drop).map_err(|error| self.classify(error))
    }

    /// Returns the current settings of Nearscan.
    #[must_use]
    pub fn options(&self) -> NearscanOptions {
        let config = self.context.copied_config();
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

    /// Returns the rates of this host with the cores that the engine uses. Rates that are not set
    /// are measured at first use, which takes a fraction of a second, and cached for later runs.
    pub async fn host_rates(&self) -> HostRates {
        host::rates(&self.context.copied_config()).await
    }

    /// Returns the underlying DataFusion session, for functions that have no method here. Its `sql`
    /// plans without the corrections of statements, so it may return other rows than
    /// [`Session::sql`], and it does not check permissions of the session.
    #[must_use]
    pub fn uncorrected_context(&self) -> &SessionContext {
        &self.context
    }

    async fn plan_parsed(
        &self,
        mut parsed: Parsed,
        tables: Vec<(String, Arc<dyn TableProvider>)>,
    ) -> Result<Query, DataFusionError> {
        if let Parsed::Reset(ResetStatement::Variable(name)) = &parsed {
            let key = name.to_string().to_lowercase();
            self.access.check_setting(&key)?;
            if key.starts_with(PREFIX) {
                return self.reset(&key);
            }
        }
        let mut state = overlay::with_tables(self.context.state(), tables)?;
        app_table::resolve(&parsed, &mut state).await?;
        let corrections = NearscanOptions::corrections_of(state.config_options());
        let catalog = SessionCatalog { state: &state, corrections, access: &self.access };
        Box::pin(expand(&mut parsed, &catalog)).await?;
        let names = display_names(&parsed);
        let plan = plan_statement(&state, parsed, corrections).await?;
        self.access.check_plan(&plan)?;
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
        self.access.check_plan(&plan)?;
        if let LogicalPlan::Statement(SetStatement::SetVariable(set)) = &plan {
            self.apply(&set.variable, &set.value).map_err(external)?;
        }
        let levels = depth::levels(&plan);
        let frame = match plan {
            LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) => {
                let execution = Box::pin(self.context.execute_logical_plan(plan));
                depth::with_enough_stack(levels, execution).await?
            }
            // The context would copy its state once more, which takes as long as parsing.
            query => DataFrame::new(state, query),
        };
        Ok(Query::new(frame, levels).named(names))
    }

    /// Returns the empty query of a statement that was already executed.
    fn done(&self) -> Result<Query, DataFusionError> {
        let nothing = LogicalPlanBuilder::empty(false).build()?;
        Ok(Query::new(DataFrame::new(self.context.state(), nothing), 1))
    }

    /// Has a setting of the engine take effect, with the next read; other settings only have to be
    /// stored.
    fn apply(&self, key: &str, value: &str) -> Result<(), SettingError> {
        let is_meant = |setting: &&Setting| setting.key == key && setting.is_of_engine();
        let Some(Setting { key, .. }) = SETTINGS.iter().find(is_meant) else { return Ok(()) };
        let reads = self.reads.as_ref().ok_or(SettingError::OfEngine { key })?;
        let mut options = self.options();
        options.set_value(key, value)?;
        reads.apply(options.io).map_err(|reason| {
            let (value, reason) = (value.into(), reason.into());
            SettingError::Impossible { key, value, reason }
        })
    }

    /// Resets a setting of Nearscan: DataFusion resets only its own.
    fn reset(&self, key: &str) -> Result<Query, DataFusionError> {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) {
            self.apply(key, setting.default).map_err(external)?;
        }
        let state = self.context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        if let Some(options) = options.extensions.get_mut::<NearscanOptions>() {
            options.reset(key).map_err(external)?;
        }
        drop(state);
        self.done()
    }

    fn classify(&self, error: DataFusionError) -> Error {
        let entries = self.context.copied_config().options().entries();
        let settings = entries.into_iter().map(|entry| entry.key).collect();
        let tables = self.table_names();
        ErrorContext { tables, settings, ..ErrorContext::default() }.classify(error)
    }

    /// Tables as a query names them: with their schema unless that is the default.
    fn table_names(&self) -> Vec<String> {
        let default_schema = self.context.copied_config().options().catalog.default_schema.clone();
        let name = |table: TableName| match table.schema == default_schema {
            true => table.name,
            false => format!("{}.{}", table.schema, table.name),
        };
        self.tables().into_iter().map(name).collect()
    }

    /// Returns the schemas of the default catalog.
    fn schemas(&self) -> Vec<(String, Arc<dyn SchemaProvider>)> {
        let state = self.context.state();
        let default_catalog = &state.config_options().catalog.default_catalog;
        let catalogs: &Arc<dyn CatalogProviderList> = state.catalog_list();
        let Some(catalog) = catalogs.catalog(default_catalog) else {
            return Vec::new();
        };
        let schemas = catalog.schema_names();
        schemas.into_iter().filter_map(|name| catalog.schema(&name).map(|it| (name, it))).collect()
    }
}

fn external(error: SettingError) -> DataFusionError {
    DataFusionError::External(error.into())
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("access", &self.access).finish_non_exhaustive()
    }
}
