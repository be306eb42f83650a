// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask fuzz sql`: runs random queries, and exits with 1 if any differs.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program: its findings are its output"
)]

use std::process::ExitCode;

use clap::Parser;
use nearscan_queries::Options;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match nearscan_queries::run(&options, &mut |line| println!("{line}")).await {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    for report in &outcome.reports {
        println!("\n{report}");
    }
    let total = outcome.ways.total();
    println!("\n{}", outcome.ways.table());
    println!(
        "{} queries in {} runs, {} with DuckDB's rows, {} units on drives, {} differences",
        outcome.queries,
        total.runs,
        outcome.answered,
        total.units_drive,
        outcome.reports.len()
    );
    if outcome.reports.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
