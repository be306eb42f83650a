// SPDX-License-Identifier: Apache-2.0
//! Defines the options of the engine, which every subcommand takes, and makes the engine from them.

use std::{num::NonZero, path::PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use nearscan::{Engine, EngineBuilder, units::parse_bytes};

/// Options that every subcommand takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    /// Attach a drive; may repeat
    #[arg(long, value_name = "[NAME=]URL", global = true)]
    pub(crate) drive: Vec<String>,

    /// Change a setting, as SET does; may repeat
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, global = true)]
    pub(crate) set: Vec<(String, String)>,

    /// Most memory that queries may use, such as 4GiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, global = true)]
    pub(crate) memory_limit: Option<u64>,

    /// Threads that run queries [default: all]
    #[arg(long, value_name = "COUNT", global = true)]
    pub(crate) threads: Option<NonZero<usize>>,

    /// Folder for temporary files
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub(crate) temp_directory: Option<PathBuf>,

    /// When to show how far long work has come
    #[arg(long, value_enum, default_value_t = ProgressWhen::Auto, global = true)]
    pub(crate) progress: ProgressWhen,
}

/// When progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressWhen {
    /// If standard error is a terminal
    Auto,
    /// Always
    On,
    /// Never
    Off,
}

impl EngineArgs {
    /// Makes the engine that the options describe.
    pub(crate) async fn open(&self) -> nearscan::Result<Engine> {
        let mut builder = self.builder();
        for url in &self.drive {
            builder = builder.drive(url)?;
        }
        builder.build().await
    }

    /// Describes the engine, but for its drives.
    pub(crate) fn builder(&self) -> EngineBuilder {
        let mut builder = Engine::builder();
        for (key, value) in &self.set {
            builder = builder.set(key, value);
        }
        if let Some(bytes) = self.memory_limit {
            builder = builder.memory_limit(bytes);
        }
        if let Some(threads) = self.threads {
            builder = builder.threads(threads.get());
        }
        if let Some(folder) = &self.temp_directory {
            builder = builder.temp_directory(folder);
        }
        builder
    }
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    match parse_bytes(text) {
        Ok(0) => Err("a limit of zero lets nothing run".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(reason) => Err(reason.to_owned()),
    }
}
