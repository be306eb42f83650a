// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive bench objects`: it measures how fast whole objects are read from
//! `nearscan drive serve`, beside the same reads from nginx, and prints the rates and their ratio.

use std::{env, path::PathBuf};

use clap::{Args, ValueHint, value_parser};
use nearscan_storage::objects::{self, Encryption, Plan};
use tokio::runtime::Handle;

use super::storage;
use crate::{
    engine_args::ProgressWhen,
    failure::{Result, print},
};

/// Options of the benchmark of objects.
#[derive(Debug, Clone, Args)]
pub(crate) struct ObjectsArgs {
    /// Bytes of the objects
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = Plan::SIZES,
        value_parser = value_parser!(u64).range(1..=1 << 40)
    )]
    object_bytes: Vec<u64>,

    /// Pairs of turns, one of each server, for each object
    #[arg(
        long,
        value_name = "N",
        default_value_t = 15,
        value_parser = value_parser!(u32).range(1..=1000)
    )]
    rounds: u32,

    /// Also measure encrypted connections: TLS beside HTTPS
    #[arg(long)]
    tls: bool,

    /// The program nginx
    #[arg(long, value_name = "FILE", default_value = "nginx", value_hint = ValueHint::FilePath)]
    nginx: PathBuf,

    /// Folder in which the objects are made, and removed [default: that of temporary files]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,

    /// Also write the figures to a file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

impl ObjectsArgs {
    fn plan(&self) -> Result<Plan> {
        let tls = self.tls.then_some(Encryption::Tls);
        Ok(Plan {
            sizes: self.object_bytes.clone(),
            rounds: self.rounds,
            turn_bytes: Plan::TURN_BYTES,
            encryptions: std::iter::once(Encryption::None).chain(tls).collect(),
            server: storage::server()?,
            nginx: self.nginx.clone(),
            folder: self.folder.clone().unwrap_or_else(env::temp_dir),
        })
    }
}

/// Measures, and prints the rates.
pub(super) async fn run(
    arguments: &ObjectsArgs,
    when: ProgressWhen,
    queries: &Handle,
) -> Result<()> {
    let plan = arguments.plan()?;
    let measured =
        storage::measure("pairs", when, queries, move |watch| objects::run(&plan, watch));
    let report = measured.await?;
    print(report.to_text().trim_end())?;
    storage::save_json(arguments.json.as_deref(), &report.to_json())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        objects: ObjectsArgs,
    }

    fn plan(arguments: &[&str]) -> Plan {
        Line::parse_from([&["objects"], arguments].concat()).objects.plan().unwrap()
    }

    #[test]
    fn plan_is_the_default_but_for_what_was_asked() {
        let default = plan(&[]);
        assert_eq!(default.sizes, Plan::SIZES);
        assert_eq!((default.rounds, default.encryptions), (15, vec![Encryption::None]));
        assert_eq!(default.server.arguments, ["drive", "serve"]);
        assert_eq!(default.nginx, PathBuf::from("nginx"));
        let asked = plan(&[
            "--object-bytes",
            "5,4096",
            "--rounds",
            "3",
            "--tls",
            "--nginx",
            "/opt/nginx",
            "--folder",
            "/var/tmp",
        ]);
        assert_eq!((asked.sizes, asked.rounds), (vec![5, 4096], 3));
        assert_eq!(asked.encryptions, [Encryption::None, Encryption::Tls]);
        assert_eq!(asked.nginx, PathBuf::from("/opt/nginx"));
        assert_eq!(asked.folder, PathBuf::from("/var/tmp"));
    }
}
