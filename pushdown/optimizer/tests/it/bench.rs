// SPDX-License-Identifier: Apache-2.0
//! Provides for every test a folder with tables, sessions with and without the rule, and facts at
//! the scans.

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arrow::{
    array::RecordBatch,
    util::display::{ArrayFormatter, FormatOptions},
};
use datafusion::{
    common::{
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    datasource::{
        physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource},
        source::DataSourceExec,
    },
    error::Result,
    execution::{
        SessionStateBuilder,
        config::SessionConfig,
        runtime_env::{RuntimeEnv, RuntimeEnvBuilder},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, collect, displayable, metrics::MetricsSet},
    prelude::SessionContext,
};
use nearscan_corrections::install;
use nearscan_drive::{Capabilities, Drive, Drives, FileRef};
use nearscan_optimizer::{
    Candidate, Decision, FileFacts, FusedScanRule, JoinKeysRule, JoinOrderRule, Kept,
    NearscanOptions, PartitionedAggregateRule, PushdownContext, PushdownExec, PushdownMergeExec,
    PushdownRule, WindowsRule, decide::decide, planning_context,
};
use parquet::file::metadata::ParquetMetaDataReader;
use tempfile::TempDir;

use crate::{drive::Fake, files};

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Tables, a drive and settings.
pub(crate) struct Bench {
    pub(crate) drive: Arc<Fake>,
    pub(crate) context: Arc<PushdownContext>,
    /// Seconds on the clock of the context, which only the test advances.
    elapsed: Arc<AtomicU64>,
    pub(crate) folder: TempDir,
    config: SessionConfig,
    runtime: Arc<RuntimeEnv>,
    facts: Facts,
    /// SQL that makes further tables.
    tables: Vec<String>,
}

/// Whether scans get facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facts {
    Attached,
    Missing,
}

impl Bench {
    /// `lineitem` and `orders`, a drive that can everything, mode `force`, two partitions with
    /// files cut in two.
    pub(crate) fn new() -> Self {
        Self::with_drive(Fake::new(Capabilities::of_scan_kernel()))
    }

    pub(crate) fn with_drive(drive: Fake) -> Self {
        let drive = Arc::new(drive);
        let drives = Drives::default();
        drives.attach("fake", Arc::<Fake>::clone(&drive) as Arc<dyn Drive>);
        Self::with_drives(drive, drives, None)
    }

    pub(crate) fn with_drives(
        drive: Arc<Fake>,
        drives: Drives,
        fallback: Option<Arc<dyn Drive>>,
    ) -> Self {
        let elapsed = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&elapsed);
        let now = move || Duration::from_secs(clock.load(Ordering::SeqCst));
        let context = Arc::new(PushdownContext::new(Arc::new(drives), fallback, now));
        let config = SessionConfig::new()
            .with_extension(Arc::clone(&context))
            .with_option_extension(NearscanOptions::default())
            .with_target_partitions(2);
        let folder = tempfile::tempdir().unwrap();
        files::write_usual(folder.path());
        let bench = Self {
            drive,
            context,
            elapsed,
            folder,
            config,
            runtime: Arc::default(),
            facts: Facts::Attached,
            tables: Vec::new(),
        };
        bench
            .set("nearscan.pushdown.mode", "force")
            .set("datafusion.optimizer.repartition_file_min_size", "1")
            .set("datafusion.execution.collect_statistics", "true")
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, time: Duration) {
        self.elapsed.fetch_add(time.as_secs(), Ordering::SeqCst);
    }

    pub(crate) fn set(mut self, key: &str, value: &str) -> Self {
        self.config.options_mut().set(key, value).unwrap();
        self
    }

    pub(crate) fn facts(mut self, facts: Facts) -> Self {
        self.facts = facts;
        self
    }

    pub(crate) fn memory_limit(mut self, bytes: usize) -> Self {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0);
        self.runtime = runtime.build_arc().unwrap();
        self
    }

    /// Adds a table of one file.
    pub(crate) fn table(
        self,
        name: &str,
        batch: &RecordBatch,
        properties: parquet::file::properties::WriterPropertiesBuilder,
    ) -> Self {
        files::write(&self.path(&format!("{name}.parquet")), batch, properties);
        let location = self.path(&format!("{name}.parquet"));
        self.sql(format!(
            "CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{}'",
            location.display()
        ))
    }

    /// Adds a statement that every session starts with.
    pub(crate) fn sql(mut self, statement: String) -> Self {
        self.tables.push(statement);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn reserved_bytes(&self) -> usize {
        self.runtime.memory_pool.reserved()
    }

    /// A session with the tables.
    async fn session(&self, state: SessionStateBuilder) -> SessionContext {
        let state = state.build();
        let session = SessionContext::new_with_state(state);
        for name in ["lineitem", "orders"] {
            let path = self.path(&format!("{name}.parquet")).display().to_string();
            session.register_parquet(name, path, Default::default()).await.unwrap();
        }
        for statement in &self.tables {
            session.sql(statement).await.unwrap().collect().await.unwrap();
        }
        session
    }

    /// DataFusion with its corrections.
    fn host_state(&self) -> SessionStateBuilder {
        let state = SessionStateBuilder::new()
            .with_config(self.config.clone())
            .with_runtime_env(Arc::clone(&self.runtime))
            .with_default_features();
        install(state, NearscanOptions::corrections_of).unwrap()
    }

    /// The session as the engine makes it: DataFusion with its corrections and the rule, and facts
    /// at the scans.
    fn pushing_state(&self) -> SessionStateBuilder {
        let mut state = self.host_state();
        PushdownRule::new(Arc::clone(&self.context)).install(&mut state);
        if self.facts == Facts::Attached {
            let facts = AttachFacts::new(Arc::clone(&self.context));
            rules(&mut state).insert(0, Arc::new(facts));
        }
        state
    }

    /// The session as the engine makes it.
    pub(crate) async fn pushing(&self) -> SessionContext {
        self.session(self.pushing_state()).await
    }

    /// The session as the engine makes it, with the fused scan.
    pub(crate) async fn fused(&self) -> SessionContext {
        self.session(self.fused_state()).await
    }

    fn fused_state(&self) -> SessionStateBuilder {
        let mut state = self.pushing_state();
        FusedScanRule.install(&mut state);
        WindowsRule.install(&mut state);
        JoinKeysRule.install(&mut state);
        PartitionedAggregateRule.install(&mut state);
        state
    }

    /// The session as the engine makes it, with the fused scan and the order of joins.
    pub(crate) async fn ordered(&self) -> SessionContext {
        let mut state = self.fused_state();
        JoinOrderRule.install(&mut state);
        self.session(state).await
    }

    /// The session without the rule.
    pub(crate) async fn host(&self) -> SessionContext {
        self.session(self.host_state()).await
    }

    /// The plan that the rule sees.
    pub(crate) async fn input(&self, sql: &str) -> Arc<dyn ExecutionPlan> {
        let mut state = self.pushing_state();
        let rules = rules(&mut state);
        let slot = rules.iter().position(|rule| rule.name() == PushdownRule::NAME).unwrap();
        rules.truncate(slot);
        plan_of(&self.session(state).await, sql).await
    }

    /// Formats the input and the output plan of the rule, and the candidates.
    pub(crate) async fn decide(
        &self,
        sql: &str,
    ) -> (Arc<dyn ExecutionPlan>, Arc<dyn ExecutionPlan>, Vec<Candidate>) {
        let input = self.input(sql).await;
        let planning = planning_context(&self.context, self.config.options());
        let (output, candidates) = decide(Arc::clone(&input), &planning).unwrap();
        assert_eq!(input.schema(), output.schema(), "a rule must not change a schema");
        (input, output, candidates)
    }

    /// Input, output and candidates as text.
    pub(crate) async fn decided(&self, sql: &str) -> String {
        let (input, output, candidates) = self.decide(sql).await;
        let (input, output) = (shown(&input), shown(&output));
        let output = if input == output { "  (unchanged)\n".to_owned() } else { output };
        let lines: String = candidates.iter().map(|candidate| format!("  {candidate}\n")).collect();
        format!("input:\n{input}output:\n{output}candidates:\n{lines}")
    }

    /// The reason why the one scan of a statement was kept.
    pub(crate) async fn kept(&self, sql: &str) -> Kept {
        let (_, output, candidates) = self.decide(sql).await;
        let [candidate] = candidates.as_slice() else { panic!("one scan: {candidates:?}") };
        match &candidate.decision {
            Decision::Keep(kept) => kept.clone(),
            Decision::Offload { .. } => panic!("it was offloaded:\n{}", shown(&output)),
        }
    }

    /// The reason why what is above the one scan of a statement was kept, while the scan was not.
    pub(crate) async fn kept_above(&self, sql: &str) -> Kept {
        let (_, output, candidates) = self.decide(sql).await;
        let [candidate] = candidates.as_slice() else { panic!("one scan: {candidates:?}") };
        match (&candidate.decision, &candidate.above) {
            (Decision::Offload { .. }, Some(kept)) => kept.clone(),
            _ => panic!("{candidate}\n{}", shown(&output)),
        }
    }

    /// Number of row groups of a statement's one scan that were kept, and the reason of the first.
    pub(crate) async fn units_kept(&self, sql: &str) -> (usize, Kept) {
        let (_, output, candidates) = self.decide(sql).await;
        let [candidate] = candidates.as_slice() else { panic!("one scan: {candidates:?}") };
        candidate.units_kept.clone().unwrap_or_else(|| panic!("{candidate}\n{}", shown(&output)))
    }

    /// The plan as it is run.
    pub(crate) async fn plan(&self, sql: &str) -> Arc<dyn ExecutionPlan> {
        plan_of(&self.pushing().await, sql).await
    }

    /// Runs a statement with the rule; gives its rows and what its operators counted.
    pub(crate) async fn run(&self, sql: &str) -> Result<Run> {
        let session = self.pushing().await;
        let plan = plan_of(&session, sql).await;
        let batches = collect(Arc::clone(&plan), session.task_ctx()).await?;
        Ok(Run { rows: texts(&batches), plan })
    }

    /// Runs a statement with and without the rule, and compares the rows, in their order.
    pub(crate) async fn check(&self, sql: &str) -> Run {
        let run = self.run(sql).await.unwrap();
        assert!(!pushed(&run.plan).is_empty(), "nothing was offloaded:\n{}", shown(&run.plan));
        let expected = self.expected(sql).await;
        assert!(!expected.is_empty(), "a test without rows tests nothing");
        assert_eq!(run.rows, expected, "of {sql}");
        run
    }

    /// The rows that the host returns.
    pub(crate) async fn expected(&self, sql: &str) -> Vec<String> {
        let batches = self.host().await.sql(sql).await.unwrap().collect().await.unwrap();
        texts(&batches)
    }
}

/// A statement that was run.
pub(crate) struct Run {
    pub(crate) rows: Vec<String>,
    pub(crate) plan: Arc<dyn ExecutionPlan>,
}

impl Run {
    /// The sum of a metric over all of our operators.
    pub(crate) fn metric(&self, name: &str) -> usize {
        let metrics = pushed(&self.plan).into_iter().filter_map(|exec| exec.metrics());
        // The set's own sum counts a time of nothing as one nanosecond.
        let of_set = |set: MetricsSet| -> usize {
            let named = set.iter().filter(|metric| metric.value().name() == name);
            named.map(|metric| metric.value().as_usize()).sum()
        };
        metrics.map(of_set).sum()
    }

    /// Every push-back counter that is not 0.
    pub(crate) fn pushbacks(&self) -> Vec<(String, usize)> {
        let mut found: HashMap<String, usize> = HashMap::new();
        for exec in pushed(&self.plan) {
            for metric in exec.metrics().unwrap().iter() {
                let name = metric.value().name();
                if name.starts_with("pushback_") && metric.value().as_usize() > 0 {
                    *found.entry(name.to_owned()).or_default() += metric.value().as_usize();
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort();
        found
    }
}

/// Our operators in a plan.
pub(crate) fn pushed(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let mut found = Vec::new();
    plan.apply(|node| {
        let is_merge = node.downcast_ref::<PushdownMergeExec>().is_some();
        if is_merge || node.downcast_ref::<PushdownExec>().is_some() {
            found.push(Arc::clone(node));
        }
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    })
    .unwrap();
    found
}

pub(crate) async fn plan_of(session: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    let frame = session.sql(sql).await.unwrap();
    frame.create_physical_plan().await.unwrap()
}

/// Rows as text, in their order.
pub(crate) fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> =
                columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join(" | "));
        }
    }
    rows
}

/// A plan as text, without what differs from run to run: folders and byte ranges.
pub(crate) fn shown(plan: &Arc<dyn ExecutionPlan>) -> String {
    let text = displayable(plan.as_ref()).indent(false).to_string();
    text.lines().map(|line| format!("  {}\n", without_places(line))).collect()
}

fn without_places(line: &str) -> String {
    let Some((before, rest)) = line.split_once("file_groups={") else { return line.to_owned() };
    let Some((groups, after)) = rest.split_once('}') else { return line.to_owned() };
    let count = groups.split(':').next().unwrap_or_default();
    let after = after.split(", pruning_predicate=").next().unwrap_or_default();
    format!("{before}file_groups={{{count}}}{}", after.replace(", file_type=parquet", ""))
}

/// The physical rules of a session that is being made.
fn rules(state: &mut SessionStateBuilder) -> &mut Vec<Rule> {
    &mut state.physical_optimizers().as_mut().unwrap().rules
}

/// Attaches facts to scans, ahead of all other rules: what the engine's table provider does.
#[derive(Debug)]
struct AttachFacts {
    context: Arc<PushdownContext>,
    known: Mutex<HashMap<PathBuf, FileFacts>>,
}

impl AttachFacts {
    fn new(context: Arc<PushdownContext>) -> Self {
        Self { context, known: Mutex::default() }
    }

    fn facts(&self, path: &Path) -> FileFacts {
        let mut known = self.known.lock().unwrap();
        let facts = known.entry(path.to_owned()).or_insert_with(|| {
            let file = FileRef::of(path).unwrap();
            let metadata =
                ParquetMetaDataReader::new().parse_and_finish(&File::open(path).unwrap()).unwrap();
            let drives = self.context.drives.list().into_iter();
            let placements = drives.map(|(name, drive)| (name, drive.locate(&file))).collect();
            let metadata = Arc::new(metadata);
            FileFacts {
                file,
                stated: Arc::clone(&metadata),
                metadata,
                placements,
                estimates: Arc::default(),
            }
        });
        facts.clone()
    }
}

impl PhysicalOptimizerRule for AttachFacts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let attached = plan.transform_down(|node| {
            let Some((scan, _)) = node
                .downcast_ref::<DataSourceExec>()
                .and_then(|exec| exec.downcast_to_file_source::<ParquetSource>())
            else {
                return Ok(Transformed::no(node));
            };
            let mut groups = Vec::new();
            for group in &scan.file_groups {
                let mut files = group.files().to_vec();
                for file in &mut files {
                    let path = PathBuf::from(format!("/{}", file.object_meta.location));
                    file.extensions.insert(self.facts(&path));
                }
                groups.push(FileGroup::new(files));
            }
            let scan = FileScanConfigBuilder::from(scan.clone()).with_file_groups(groups).build();
            Ok(Transformed::yes(DataSourceExec::from_data_source(scan) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(attached.data)
    }

    fn name(&self) -> &'static str {
        "AttachFacts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
