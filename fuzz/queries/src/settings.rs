// SPDX-License-Identifier: Apache-2.0
//! Defines the configurations in which a query runs, and selects those of each query.
//!
//! Every query runs without a drive, the fused scan, our aggregates and our order of joins; what it
//! gives there is held against DuckDB, and the other ways against it. Of these a query gets
//! [`WAYS_PER_QUERY`], in turn, so that after some batches each shape of query has met each of
//! them.

use std::path::Path;

use anyhow::{Context, Result};
use nearscan::Engine;

/// Ways that a query gets beside the one without a drive.
pub(crate) const WAYS_PER_QUERY: usize = 2;

/// A drive that takes all that the format has.
const LARGE: &str = "emulated:?profile=unlimited";

/// One that fits a SmartSSD, and keeps few units in flight.
const SMALL: &str = "emulated:?memory=50331648";

/// One with faults; `SEED` is replaced by a number that changes from batch to batch.
const FAULTY: &str = "emulated:?profile=unlimited&seed=SEED&faults=queue_full:0.1,low_memory:0.1,\
                      read_error:0.1,timeout:0.1,corrupt:0.15,gone:0.02";

/// The CPU as the drive.
const CPU: &str = "cpu:";

/// Memory of a query that has not enough of it, now and then.
const TIGHT_BYTES: u64 = 1 << 20;

/// One way to run a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// The name in reports.
    pub(crate) name: &'static str,
    drive: Option<&'static str>,
    threads: usize,
    memory_bytes: Option<u64>,
    sets: &'static [(&'static str, &'static str)],
}

/// The table of a folder with two files.
pub(crate) const TWO_FILES: &str = "f";

const MODE: &str = "nearscan.pushdown.mode";
const SCAN: &str = "nearscan.scan";
const AGGREGATE: &str = "nearscan.aggregate";
const WINDOWS: &str = "nearscan.windows";
const JOIN_ORDER: &str = "nearscan.join_order";
const VERIFY: &str = "nearscan.pushdown.verify";
const BATCH_SIZE: &str = "datafusion.execution.batch_size";

/// The cost model decides, for a host so slow that the drive gets some of the work on tables of a
/// few hundred rows, and the same on every machine.
const SLOW_HOST: &[(&str, &str)] = &[
    (MODE, "auto"),
    ("nearscan.host.decode_bytes_per_s", "20000000"),
    ("nearscan.host.decode_values_per_s", "5000000"),
    ("nearscan.host.merge_rows_per_s", "2000000"),
    ("nearscan.host.result_bytes_per_s", "50000000"),
];

const FORCED: Way = Way {
    name: "force",
    drive: Some(LARGE),
    threads: 2,
    memory_bytes: None,
    sets: &[(MODE, "force")],
};

/// Without a drive, a reader, an aggregate or an order of joins of ours: DataFusion.
pub(crate) const OFF: Way = Way {
    name: "off",
    drive: None,
    sets: &[
        (MODE, "off"),
        (SCAN, "datafusion"),
        (AGGREGATE, "datafusion"),
        (WINDOWS, "off"),
        (JOIN_ORDER, "datafusion"),
    ],
    ..FORCED
};

/// Without a drive.
const FUSED: Way = Way { name: "fused", sets: &[(MODE, "off")], ..OFF };

/// The others.
pub(crate) const WAYS: [Way; 11] = [
    FUSED,
    Way {
        name: "fused-small-batches",
        threads: 5,
        sets: &[(MODE, "off"), (WINDOWS, "on"), (BATCH_SIZE, "7")],
        ..FUSED
    },
    FORCED,
    Way { name: "faults", drive: Some(FAULTY), ..FORCED },
    Way { name: "force-1-thread", threads: 1, ..FORCED },
    Way { name: "auto", sets: SLOW_HOST, ..FORCED },
    Way { name: "verify", sets: &[(MODE, "force"), (VERIFY, "true")], ..FORCED },
    Way {
        name: "small-batches",
        threads: 5,
        sets: &[(MODE, "force"), (BATCH_SIZE, "7")],
        ..FORCED
    },
    Way { name: "smartssd", drive: Some(SMALL), ..FORCED },
    Way { name: "tight-memory", memory_bytes: Some(TIGHT_BYTES), ..FORCED },
    Way { name: "cpu-drive", drive: Some(CPU), ..FORCED },
];

impl Way {
    /// Whether a query may end for want of memory.
    pub(crate) fn is_tight(&self) -> bool {
        self.memory_bytes.is_some()
    }

    /// An engine over the tables in `folder`.
    pub(crate) async fn engine(
        &self,
        folder: &Path,
        tables: impl IntoIterator<Item = &String>,
        seed: u64,
    ) -> Result<Engine> {
        let mut builder = Engine::builder().threads(self.threads);
        if let Some(url) = self.drive {
            builder = builder.drive(&url.replace("SEED", &seed.to_string()))?;
        }
        if let Some(bytes) = self.memory_bytes {
            builder = builder.memory_limit(bytes);
        }
        for (key, value) in self.sets {
            builder = builder.set(*key, *value);
        }
        let engine = builder.build().await.context("cannot make an engine")?;
        for table in tables {
            let path = folder.join(format!("{table}.parquet"));
            let registered = engine.register(table, &path.to_string_lossy()).await;
            registered.with_context(|| format!("cannot register {}", path.display()))?;
        }
        // Files of two writers may have no schema in common, and then there is no such table.
        let both = folder.join(TWO_FILES);
        if both.is_dir() {
            drop(engine.register(TWO_FILES, &both.to_string_lossy()).await);
        }
        Ok(engine)
    }
}

/// The ways that a query gets, by its number since the seed began.
pub(crate) fn ways_of(number: u64) -> [&'static Way; WAYS_PER_QUERY] {
    let count = WAYS.len() as u64;
    let first = number % count;
    let second = (first + 1 + number / count % (count - 1)) % count;
    [first, second].map(|index| usize::try_from(index).map_or(&OFF, |index| &WAYS[index]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn after_some_queries_every_pair_of_ways_was_there() {
        let mut pairs = BTreeSet::new();
        for number in 0..110 {
            let [one, other] = ways_of(number);
            assert_ne!(one, other);
            pairs.insert((one.name, other.name));
        }
        assert_eq!(pairs.len(), 110);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_way_has_an_engine_with_its_drive() {
        for way in WAYS.iter().chain([&OFF]) {
            let engine = way.engine(Path::new("."), [], 1).await.unwrap();
            assert_eq!(
                engine.drive_specs().len(),
                usize::from(way.drive.is_some()),
                "{}",
                way.name
            );
        }
    }
}
