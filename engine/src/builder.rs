// SPDX-License-Identifier: Apache-2.0
//! Builds an [`Engine`] from drives, limits, folders and settings.
//!
//! By default the engine has no drive and DataFusion's settings, with three differences: wrong
//! answers of DataFusion are corrected, more statistics of files are cached, and folders are listed
//! for every query. A cached listing would miss files that other programs add, and would read
//! replaced files with their former length.

use std::{path::PathBuf, sync::Arc};

use datafusion::{
    catalog::{
        CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
        MemorySchemaProvider, TableProviderFactory,
    },
    execution::{
        SessionStateBuilder, config::SessionConfig, object_store::ObjectStoreUrl,
        runtime_env::RuntimeEnvBuilder,
    },
};
use nearscan_drive::{Drive, Drives, clock::Stopwatch};
use nearscan_optimizer::{
    FusedScanRule, GraceJoinRule, JoinKeysRule, JoinOrderRule, LastPlanRule, LocalReads,
    PartitionedAggregateRule, PushdownContext, PushdownRule, WindowsRule,
};
use nearscan_remote::RemoteDrive;

use crate::{
    app_table::{self, AppFunction},
    cache_folder,
    drive_spec::{DriveScheme, DriveSpec},
    drives::{self, Opened, Opening},
    engine::Engine,
    error::{Error, Result},
    explain::Planner,
    object_stores::ObjectStores,
    parquet::{self, CheckedFooters, DistinctCounts, TableFactory},
    servers::Servers,
    settings::NearscanOptions,
    store::LocalFiles,
    system::{SCHEMA_NAME, SettingsTable, SystemSchema},
    system_corrections::CorrectionsTable,
    system_drives::{DrivesTable, FunctionsTable, LogTable},
    system_io::IoTable,
    system_rates::{HostTable, RatesTable},
    system_statistics::StatisticsTable,
};

/// Collects the drives, limits and settings of an engine.
#[derive(Debug, Clone, Default)]
#[must_use = "an engine exists once build() is called"]
pub struct EngineBuilder {
    drives: Vec<DriveSpec>,
    opened: Vec<(String, Arc<dyn Drive>)>,
    servers: Vec<Arc<RemoteDrive>>,
    memory_limit_bytes: Option<u64>,
    thread_count: Option<usize>,
    temp_directory: Option<PathBuf>,
    cache_directory: Option<PathBuf>,
    program: Option<PathBuf>,
    settings: Vec<(String, String)>,
}

impl Engine {
    /// Starts to describe an engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }
}

impl EngineBuilder {
    /// Attaches a drive, written `[NAME=]URL`; may be called for several.
    ///
    /// # Errors
    /// [`Error::DriveSpec`] if the URL is invalid, [`Error::DriveNameTaken`] if another drive has
    /// that name.
    pub fn drive(mut self, url: &str) -> Result<Self> {
        let spec = DriveSpec::parse(url)?;
        self.check_name(&spec.name)?;
        self.drives.push(spec);
        Ok(self)
    }

    /// Attaches a drive that the program has opened, under a name; may be called for several.
    ///
    /// # Errors
    /// [`Error::DriveNameTaken`] if another drive has that name.
    pub fn attach(mut self, name: &str, drive: Arc<dyn Drive>) -> Result<Self> {
        self.check_name(name)?;
        self.opened.push((name.to_owned(), drive));
        Ok(self)
    }

    /// Attaches the drive of a server to which the program is connected, under its address; its
    /// objects are `drive://HOST:PORT/COLLECTION/NAME` in SQL. May be called for several.
    ///
    /// # Errors
    /// [`Error::DriveNameTaken`] if another drive has the address for a name.
    pub fn attach_server(mut self, server: Arc<RemoteDrive>) -> Result<Self> {
        let name = server.address().to_string();
        self = self.attach(&name, Arc::<RemoteDrive>::clone(&server) as Arc<dyn Drive>)?;
        self.servers.push(server);
        Ok(self)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        let mut names = self.drives.iter().map(|spec| spec.name.as_str());
        match names.any(|it| it == name) || self.opened.iter().any(|(it, _)| it == name) {
            true => Err(Error::DriveNameTaken { name: name.to_owned() }),
            false => Ok(()),
        }
    }

    /// Limits the memory of queries; operators that can spill write the rest to temporary files.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Sets the number of partitions into which queries are cut, at least one. The runtime in which
    /// the engine is used determines the threads that run them.
    pub fn threads(mut self, count: usize) -> Self {
        self.thread_count = Some(count.max(1));
        self
    }

    /// Sets the folder for temporary files.
    pub fn temp_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temp_directory = Some(folder.into());
        self
    }

    /// Sets the folder in which statistics of files are kept between runs; the default is the
    /// user's cache folder, `$XDG_CACHE_HOME/nearscan/statistics`. It may be removed at any time.
    pub fn cache_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache_directory = Some(folder.into());
        self
    }

    /// Sets the path of the program `nearscan`, which is started for each drive that runs in its
    /// own process. The default is the running executable, so a program that embeds the engine has
    /// to set it.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// Sets a setting of Nearscan or DataFusion, as `SET key = value` would;
    /// [`EngineBuilder::build`] reports an error if it is refused.
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Makes the engine.
    ///
    /// # Errors
    /// If a setting is refused or the temporary folder cannot be used.
    pub async fn build(self) -> Result<Engine> {
        let drives = Arc::new(Drives::default());
        let servers = Arc::new(Servers::new(Arc::clone(&drives)));
        for spec in &self.drives {
            let opened = self.open(spec).await?;
            if let Some(server) = opened.server {
                servers.add(&spec.target, server);
            }
            drives.attach(spec.name.clone(), opened.drive);
        }
        for server in &self.servers {
            servers.add(&server.address().to_string(), Arc::clone(server));
        }
        for (name, drive) in &self.opened {
            drives.attach(name.clone(), Arc::clone(drive));
        }
        // A second CPU drive would push back the same units as the first.
        let is_near_data = |spec: &DriveSpec| spec.scheme != DriveScheme::Cpu;
        let is_opened_near_data =
            self.opened.iter().any(|(_, drive)| drive.identity().kind != "cpu");
        let fallback = match is_opened_near_data || self.drives.iter().any(is_near_data) {
            true => Some(drives::fallback(self.thread_count)?),
            false => None,
        };
        let watch = Stopwatch::start();
        let now = move || watch.elapsed();
        let context = Arc::new(PushdownContext::new(drives, fallback, now));
        let mut config = SessionConfig::new()
            .with_extension(Arc::clone(&context))
            .with_extension(Arc::clone(&servers))
            .with_extension(Arc::<CheckedFooters>::default())
            .with_extension(Arc::new(DistinctCounts::new(self.statistics_folder())))
            .with_information_schema(true)
            .with_create_default_catalog_and_schema(false)
            .with_option_extension(NearscanOptions::default());
        if let Some(count) = self.thread_count {
            config = config.with_target_partitions(count);
        }
        let catalogs: Arc<dyn CatalogProviderList> = Arc::new(MemoryCatalogProviderList::new());
        let options = config.options();
        let reads = context.reads.clone();
        catalogs.register_catalog(
            options.catalog.default_catalog.clone(),
            default_catalog(&options.catalog.default_schema, &reads)?,
        );
        let stores = Arc::new(ObjectStores::new(Arc::clone(&servers)));
        let config = config.with_extension(Arc::clone(&stores));
        let runtime = self.runtime(stores)?.build_arc()?;
        let files = ObjectStoreUrl::local_filesystem();
        runtime.register_object_store(files.as_ref(), Arc::new(LocalFiles::new(reads.clone())));
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_query_planner(Arc::new(Planner));
        if let Some(factories) = state.table_factories() {
            for factory in factories.values_mut() {
                *factory = Arc::new(TableFactory::default()) as Arc<dyn TableProviderFactory>;
            }
        }
        let mut state = nearscan_corrections::install(state, NearscanOptions::corrections_of)?;
        JoinOrderRule.install(&mut state);
        PushdownRule::new(context).install(&mut state);
        FusedScanRule.install(&mut state);
        WindowsRule.install(&mut state);
        JoinKeysRule.install(&mut state);
        PartitionedAggregateRule.install(&mut state);
        GraceJoinRule::install(&mut state);
        LastPlanRule.install(&mut state);
        parquet::install(&mut state);
        let engine = Engine::new(state, catalogs, self.drives, reads);
        engine.register_table_function(app_table::NAME, Arc::new(AppFunction::new(servers)));
        for (key, value) in self.settings {
            engine.set(&key, &value).await?;
        }
        Ok(engine)
    }

    /// Opens a drive, on a thread that may wait: another process or machine has to answer.
    async fn open(&self, spec: &DriveSpec) -> Result<Opened> {
        let opening = Opening { threads: self.thread_count, program: self.program.clone() };
        let name = spec.name.clone();
        let spec = spec.clone();
        let opened = tokio::task::spawn_blocking(move || drives::open(&spec, &opening)).await;
        opened.map_err(|error| Error::Drive { name, reason: error.to_string() })?
    }

    fn statistics_folder(&self) -> Option<PathBuf> {
        let of_user = || cache_folder::of_user().map(|folder| folder.join("statistics"));
        self.cache_directory.clone().or_else(of_user)
    }

    fn runtime(&self, stores: Arc<ObjectStores>) -> Result<RuntimeEnvBuilder> {
        let mut runtime = RuntimeEnvBuilder::new()
            .with_object_store_registry(stores)
            .with_object_list_cache_limit(0)
            .with_file_statistics_cache_limit(parquet::STATISTICS_CACHE_BYTES);
        if let Some(bytes) = self.memory_limit_bytes {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            runtime = runtime.with_memory_limit(bytes, 1.0);
        }
        if let Some(folder) = &self.temp_directory {
            runtime = runtime.with_temp_file_path(folder);
        }
        Ok(runtime)
    }
}

/// Makes a catalog with an empty schema for the user's tables and the system schema.
fn default_catalog(schema: &str, reads: &LocalReads) -> Result<Arc<dyn CatalogProvider>> {
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(schema, Arc::new(MemorySchemaProvider::new()))?;
    let system = SystemSchema::new(vec![
        Arc::new(CorrectionsTable),
        Arc::new(DrivesTable),
        Arc::new(RatesTable),
        Arc::new(FunctionsTable),
        Arc::new(HostTable),
        Arc::new(IoTable(reads.clone())),
        Arc::new(LogTable),
        Arc::new(SettingsTable),
        Arc::new(StatisticsTable),
    ]);
    catalog.register_schema(SCHEMA_NAME, Arc::new(system))?;
    Ok(Arc::new(catalog))
}
