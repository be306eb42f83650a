// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive bench ingest`: it measures how long CSV objects on a server take to
//! become tables, while the server is killed once.

use std::{env, path::PathBuf};

use clap::{Args, ValueHint, value_parser};
use nearscan_storage::ingest::{self, Kill, Plan};
use tokio::runtime::Handle;

use super::storage;
use crate::{
    app::package,
    engine_args::ProgressWhen,
    failure::{Failure, Result, print},
};

/// Options of the benchmark of ingest.
#[derive(Debug, Clone, Args)]
pub(crate) struct IngestArgs {
    /// The component of the application that makes tables of CSV objects
    #[arg(value_name = "COMPONENT", value_hint = ValueHint::FilePath)]
    component: PathBuf,

    /// Its manifest [default: manifest.toml beside the component]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    manifest: Option<PathBuf>,

    /// CSV objects
    #[arg(
        long,
        value_name = "N",
        default_value_t = Plan::OBJECTS,
        value_parser = value_parser!(u64).range(1..=100_000)
    )]
    objects: u64,

    /// Rows of an object; the default makes about 10 MB
    #[arg(
        long,
        value_name = "N",
        default_value_t = Plan::OBJECT_ROWS,
        value_parser = value_parser!(u64).range(1..=10_000_000)
    )]
    object_rows: u64,

    /// Do not kill the server
    #[arg(long)]
    no_kill: bool,

    /// Folder in which the store is made, and removed [default: that of temporary files]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,

    /// Also write the figures to a file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

/// Measures, and prints the delays.
pub(super) async fn run(
    arguments: &IngestArgs,
    when: ProgressWhen,
    queries: &Handle,
) -> Result<()> {
    let plan = Plan {
        objects: arguments.objects,
        object_rows: arguments.object_rows,
        kill: if arguments.no_kill { Kill::Never } else { Kill::InTheMiddle },
        package: package(&arguments.component, arguments.manifest.as_deref(), None)?,
        server: storage::server()?,
        folder: arguments.folder.clone().unwrap_or_else(env::temp_dir),
    };
    let measured =
        storage::measure("objects", when, queries, move |watch| ingest::run(&plan, watch));
    let report = measured.await?;
    print(report.to_text().trim_end())?;
    storage::save_json(arguments.json.as_deref(), &report.to_json())?;
    if report.holds() { Ok(()) } else { Err(Failure::Reported) }
}
