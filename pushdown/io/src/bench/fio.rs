// SPDX-License-Identifier: Apache-2.0
//! Runs `fio` on the same file and reads its figure.

use std::{path::PathBuf, process::Command};

use serde_json::Value;

use super::Order;
use crate::{error::Error, options::Feature};

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) path: PathBuf,
    /// Fio's name of it.
    pub(super) engine: &'static str,
    pub(super) order: Order,
    pub(super) block_bytes: u32,
    pub(super) bytes: u64,
    pub(super) depth: u32,
    pub(super) seed: u64,
    /// Where a sequence starts.
    pub(super) first_block: u64,
}

/// Whether there is a program of that name.
pub(super) fn probe() -> Feature {
    match Command::new("fio").arg("--version").output() {
        Ok(output) if output.status.success() => Feature::On,
        Ok(output) => Feature::off(format!("fio --version: {}", output.status)),
        Err(error) => Feature::off(format!("fio cannot be run: {error}")),
    }
}

/// Runs it; bytes per second.
pub(super) fn run(job: &Job) -> Result<u64, Error> {
    let output = Command::new("fio").args(arguments(job)?).output();
    let output = output.map_err(|error| Error::Fio { reason: error.to_string() })?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| {
        let message = String::from_utf8_lossy(&output.stderr);
        let line = message.lines().next().unwrap_or("no JSON with a rate of reads");
        Error::Fio { reason: format!("{}: {line}", output.status) }
    })
}

fn arguments(job: &Job) -> Result<Vec<String>, Error> {
    let path = job
        .path
        .to_str()
        .ok_or_else(|| Error::Fio { reason: "the name of the file is no UTF-8".to_owned() })?;
    let order = match job.order {
        Order::Sequential => "read",
        Order::Random => "randread",
    };
    let offset = job.first_block * u64::from(job.block_bytes);
    let mut arguments = vec![
        "--name=read".to_owned(),
        // A colon separates names.
        format!("--filename={}", path.replace('\\', "\\\\").replace(':', "\\:")),
        "--readonly".to_owned(),
        "--direct=1".to_owned(),
        format!("--rw={order}"),
        format!("--ioengine={}", job.engine),
        format!("--bs={}", job.block_bytes),
        format!("--iodepth={}", job.depth),
        format!("--io_size={}", job.bytes),
        format!("--randseed={}", job.seed),
        "--norandommap".to_owned(),
        "--output-format=json".to_owned(),
    ];
    match job.order {
        // It starts again at the offset, not at zero: short of a round it is the same sequence.
        Order::Sequential => arguments.push(format!("--offset={offset}")),
        Order::Random => {}
    }
    Ok(arguments)
}

/// The rate of reads, in bytes per second.
fn parse(text: &str) -> Option<u64> {
    // Warnings come first.
    let json = text.get(text.find('{')?..)?;
    let value: Value = serde_json::Deserializer::from_str(json).into_iter().next()?.ok()?;
    let read = value.get("jobs")?.get(0)?.get("read")?;
    read.get("bw_bytes")?.as_u64().filter(|rate| *rate > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_read_behind_warnings() {
        let json = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "x",
            "read": {"io_bytes": 1048576, "bw_bytes": 1030891682, "bw": 1006730}}]}"#;
        assert_eq!(parse(json), Some(1_030_891_682));
        assert_eq!(parse(&format!("fio: a warning\n{json}\nmore")), Some(1_030_891_682));
        for wrong in ["", "fio: failed", "{\"jobs\": []}", "{\"jobs\": [{\"read\": {}}]}", "{"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn file_is_opened_for_reads_past_the_cache() {
        let job = Job {
            path: PathBuf::from("a:b"),
            engine: "psync",
            order: Order::Random,
            block_bytes: 4096,
            bytes: 8192,
            depth: 1,
            seed: 3,
            first_block: 0,
        };
        let arguments = arguments(&job).unwrap();
        for expected in ["--filename=a\\:b", "--readonly", "--direct=1", "--rw=randread"] {
            assert!(arguments.iter().any(|argument| argument == expected), "{arguments:?}");
        }
    }
}
