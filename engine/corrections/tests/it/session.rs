// SPDX-License-Identifier: Apache-2.0
//! Sessions with and without corrections, and results as text.

use std::{panic::AssertUnwindSafe, sync::Arc};

use datafusion::{
    arrow::{array::RecordBatch, util::pretty::pretty_format_batches},
    common::{Result, extensions_options},
    config::{ConfigExtension, ConfigOptions},
    execution::{SessionStateBuilder, config::SessionConfig, session_state::SessionState},
    logical_expr::LogicalPlan,
    prelude::SessionContext,
    sql::sqlparser::{dialect::GenericDialect, tokenizer::Tokenizer},
};
use futures::FutureExt;
use nearscan_corrections::{CorrectionSet, depth, install, parse_statement, plan_statement};

extensions_options! {
    /// The switch of these tests, like the engine's `nearscan.corrections`.
    pub struct Switch {
        /// The corrections that are on.
        pub corrections: String, default = "all".to_owned()
    }
}

impl ConfigExtension for Switch {
    const PREFIX: &'static str = "test";
}

/// A session with corrections, and without the other parts of the engine.
pub(crate) struct Corrected {
    pub(crate) context: SessionContext,
    enabled: CorrectionSet,
}

fn enabled(options: &ConfigOptions) -> CorrectionSet {
    let switch = options.extensions.get::<Switch>().expect("the session has the switch");
    switch.corrections.parse().expect("names of corrections")
}

pub(crate) fn config() -> SessionConfig {
    SessionConfig::new()
        .with_target_partitions(2)
        .with_information_schema(true)
        .with_option_extension(Switch::default())
}

impl Corrected {
    pub(crate) fn with(enabled: CorrectionSet) -> Self {
        Self::over(enabled, SessionContext::new_with_config(config()).state())
    }

    /// Makes a session with the runtime and the settings of another one.
    pub(crate) fn over(set: CorrectionSet, state: SessionState) -> Self {
        let mut config = state.config().clone();
        let options = config.options_mut();
        options.extensions.get_mut::<Switch>().unwrap().corrections = set.to_string();
        let builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(Arc::clone(state.runtime_env()))
            .with_default_features();
        let builder = install(builder, enabled).unwrap();
        Self { context: SessionContext::new_with_state(builder.build()), enabled: set }
    }

    /// Returns the logical plan of a statement, before the optimizer.
    pub(crate) async fn plan(&self, sql: &str) -> Result<LogicalPlan> {
        let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().unwrap();
        let state = self.context.state();
        let options = &state.config_options().sql_parser;
        let dialect = GenericDialect {};
        let (parsed, levels) = parse_statement(tokens, &dialect, options, self.enabled)?;
        depth::with_enough_stack(levels, Box::pin(plan_statement(&state, parsed, self.enabled)))
            .await
    }

    /// Runs a statement and returns its rows, or the error.
    pub(crate) async fn rows(&self, sql: &str) -> String {
        let run = async {
            let plan = self.plan(sql).await?;
            let levels = depth::levels(&plan);
            let frame = self.context.execute_logical_plan(plan).await?;
            depth::with_enough_stack(levels, Box::pin(frame.collect())).await
        };
        shown(run.await)
    }
}

/// A session of plain DataFusion.
pub(crate) fn plain() -> SessionContext {
    SessionContext::new_with_config(config())
}

/// Runs a statement on plain DataFusion.
pub(crate) async fn plain_rows(context: &SessionContext, sql: &str) -> String {
    let run = async { context.sql(sql).await?.collect().await };
    match AssertUnwindSafe(run).catch_unwind().await {
        Ok(result) => shown(result),
        Err(_) => "error: a panic".to_owned(),
    }
}

/// Formats rows, separated by a comma and a space, or an error.
fn shown(result: Result<Vec<RecordBatch>>) -> String {
    let batches = match result {
        Ok(batches) => batches,
        Err(error) => return format!("error: {}", error.find_root()),
    };
    let table = pretty_format_batches(&batches).unwrap().to_string();
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(1);
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        cells.join(" ")
    };
    lines.map(row).collect::<Vec<_>>().join(", ")
}
