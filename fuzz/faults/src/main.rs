// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan-faults`: it walks queries, units and faults, and prints the outcome. Its
//! exit status is 1 if a row was wrong, a query failed or a resource was leaked.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program: its findings are its output"
)]

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, ValueHint, builder::PossibleValuesParser};
use nearscan_emulator::faults::Fault;
use nearscan_faults::{
    Baseline, Data, Setting,
    cases::{self, Case},
    limits::{LIMITS_MIB, limited},
    oracle::Oracle,
    tally::{MIXTURES, QUARANTINE, Tally},
    walk,
};
use nearscan_tpch::ScaleFactor;

/// Fault simulation of queries on an emulated drive.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fuzz faults")]
struct Arguments {
    /// Size of the data: 1 is about 1 GB of text
    #[arg(long, value_name = "SF", default_value = "0.01")]
    scale_factor: ScaleFactor,

    /// Seed of the first mixture; each one has the next
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    /// Mixtures of all kinds of faults, for each query
    #[arg(long, value_name = "N", default_value = "12")]
    mixtures: u64,

    /// Queries to run, such as 1,6,12-14,merges
    #[arg(long, value_name = "LIST", default_value = "1-22,merges")]
    queries: String,

    /// Kinds of faults to strike with singly; all of them if none is named
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    kinds: Vec<String>,

    /// Run under limits of memory instead, without faults
    #[arg(long)]
    limits: bool,

    /// Also write the counts as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

/// The names of all kinds of faults.
fn kinds() -> PossibleValuesParser {
    Fault::ALL.iter().map(|(_, name)| *name).collect::<Vec<_>>().into()
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cases = cases::parse_list(&arguments.queries)?;
    let folder = tempfile::tempdir()?;
    let data = Data::make(arguments.scale_factor.clone(), folder.path()).await?;
    let mut tally = Tally::default();
    for case in cases {
        match arguments.limits {
            true => under_limits(&data, case, &mut tally).await?,
            false => with_faults(arguments, &data, case, &mut tally).await?,
        }
    }
    print!("{tally}");
    if let Some(path) = &arguments.json {
        let json = serde_json::to_string_pretty(&tally)?;
        std::fs::write(path, json).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(if tally.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The rows of a case, and what the process has once it has run.
async fn prepare(data: &Data, case: Case) -> Result<(Oracle, Baseline)> {
    let oracle = Oracle::ask(data, case).await?;
    let warm = walk::run(data, &Baseline::take(), &oracle, &Setting::forced("")).await?;
    eprintln!(
        "{}: {} rows, {} units on the drive",
        case.name,
        oracle.row_count(),
        warm.units_drive
    );
    Ok((oracle, Baseline::take()))
}

async fn with_faults(
    arguments: &Arguments,
    data: &Data,
    case: Case,
    tally: &mut Tally,
) -> Result<()> {
    let (oracle, baseline) = prepare(data, case).await?;
    for (_, kind) in Fault::ALL {
        let is_chosen = |chosen: &String| chosen == kind;
        if !arguments.kinds.is_empty() && !arguments.kinds.iter().any(is_chosen) {
            continue;
        }
        for run in walk::singly(data, &baseline, &oracle, kind).await? {
            tally.add(kind, run);
        }
    }
    tally.add(QUARANTINE, walk::quarantine(data, &baseline, &oracle).await?);
    for number in 0..arguments.mixtures {
        let run = walk::mixture(data, &baseline, &oracle, (arguments.seed, number)).await?;
        tally.add(MIXTURES, run);
    }
    Ok(())
}

async fn under_limits(data: &Data, case: Case, tally: &mut Tally) -> Result<()> {
    let (oracle, baseline) = prepare(data, case).await?;
    for limit in LIMITS_MIB {
        tally.limits.push(limited(data, &baseline, &oracle, limit).await?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds_of(list: &str) -> Result<Vec<String>, clap::Error> {
        Arguments::try_parse_from(["faults", "--kinds", list]).map(|arguments| arguments.kinds)
    }

    #[test]
    fn unknown_kind_of_fault_is_refused() {
        assert_eq!(kinds_of("hang,gone").unwrap(), ["hang", "gone"]);
        let refused = kinds_of("hang,hangs").unwrap_err().to_string();
        assert!(refused.contains("'hangs'") && refused.contains("kernel_error"), "{refused}");
    }
}
