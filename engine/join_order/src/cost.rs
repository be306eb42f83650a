// SPDX-License-Identifier: Apache-2.0
//! Estimates what a hash join costs: building its table, looking rows up in it, and what it
//! returns.
//!
//! The unit is the time of looking up one row in a table that the caches hold. Only ratios matter,
//! and they are of the order that studies of hash joins report (Balkesen et al., "Main-memory hash
//! joins on multi-core CPUs: tuning to the underlying hardware", ICDE 2013): a lookup that misses
//! the caches and the TLB takes several times as long as one that does not, and an insertion about
//! two lookups.
//!
//! Every scan is read whole whatever the order, so that only the rows that it returns cost
//! anything; the keys of joins above make them fewer ([`reduction`](crate::reduction)).

use crate::cardinality::Estimate;

/// What the machine and the operators are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostModel {
    /// A build side of more bytes is partitioned by hash, and so is the probe side then.
    pub collect_bytes_max: f64,
    /// A build side of more rows is partitioned.
    pub collect_rows_max: f64,
    /// Bytes of a table that a core's cache holds.
    pub cache_bytes: f64,
    /// Rows of a build side whose keys scans below its probe side look up; 0 if they never do.
    pub keys_rows_max: f64,
}

impl Default for CostModel {
    fn default() -> Self {
        Self {
            collect_bytes_max: 1024.0 * 1024.0,
            collect_rows_max: 128.0 * 1024.0,
            cache_bytes: 1024.0 * 1024.0,
            keys_rows_max: 8.0 * 1024.0 * 1024.0,
        }
    }
}

/// Insertion of a row into the table, beside its bytes.
const BUILD_ROW: f64 = 2.0;
/// A row that is returned, beside its bytes.
const OUTPUT_ROW: f64 = 0.5;
/// A row that is sent to another partition, beside its bytes.
const PARTITION_ROW: f64 = 1.0;
/// Bytes that are copied in the time of a lookup: some nanoseconds at some gigabytes a second.
const BYTES_PER_LOOKUP: f64 = 64.0;
/// What each doubling of the table beyond the cache adds to a lookup, and how much all together.
const MISSES_PER_DOUBLING: f64 = 0.5;
const MISSES_MAX: f64 = 4.0;
/// Bytes of the table itself for a row: hash, place, and room to spare.
const TABLE_ROW_BYTES: f64 = 16.0;
/// Share of the rows without a partner that pass the keys of a build side, or come before these are
/// looked up.
const KEYS_PASS: f64 = 0.1;

impl CostModel {
    /// Whether a build side is partitioned, and the probe side with it.
    pub(crate) fn is_partitioned(&self, build: Estimate) -> bool {
        build.bytes() >= self.collect_bytes_max || build.rows >= self.collect_rows_max
    }

    /// The cost of rows that a scan returns.
    pub(crate) fn returned(rows: Estimate) -> f64 {
        rows.rows * OUTPUT_ROW + copied(rows)
    }

    /// The cost of building the table of one join, without that of its input.
    pub(crate) fn build(&self, build: Estimate) -> f64 {
        build.rows * BUILD_ROW * self.lookup(build) + copied(build) + self.partitioned(build, build)
    }

    /// The cost of looking rows up in the table of one join, without that of its input.
    pub(crate) fn probe(&self, build: Estimate, probe: Estimate, output: Estimate) -> f64 {
        probe.rows * self.lookup(build) + self.partitioned(build, probe) + Self::returned(output)
    }

    /// The share of the rows of a probe side that pass the keys of the build side, where `matching`
    /// have a partner.
    pub(crate) fn passing(&self, build: Estimate, matching: f64) -> f64 {
        match build.rows <= self.keys_rows_max {
            true => matching + (1.0 - matching) * KEYS_PASS,
            false => 1.0,
        }
    }

    /// The cost of sending rows of an input to partitions, if the build side is partitioned.
    fn partitioned(&self, build: Estimate, input: Estimate) -> f64 {
        match self.is_partitioned(build) {
            true => input.rows * PARTITION_ROW + copied(input),
            false => 0.0,
        }
    }

    fn lookup(&self, build: Estimate) -> f64 {
        let table_bytes = build.bytes() + build.rows * TABLE_ROW_BYTES;
        let doublings = (table_bytes / self.cache_bytes.max(1.0)).max(1.0).log2();
        1.0 + (doublings * MISSES_PER_DOUBLING).min(MISSES_MAX)
    }
}

fn copied(rows: Estimate) -> f64 {
    rows.bytes() / BYTES_PER_LOOKUP
}

#[cfg(test)]
mod tests {
    use super::{CostModel, Estimate};

    fn of(rows: f64) -> Estimate {
        Estimate { rows, row_bytes: 16.0 }
    }

    #[test]
    fn smaller_side_is_cheaper_to_build() {
        let model = CostModel::default();
        for (small, large) in [(10.0, 1e3), (1e3, 1e6), (1e6, 1.5e6), (1e7, 1e9)] {
            let (small, large) = (of(small), of(large));
            let cost = |build, probe| model.build(build) + model.probe(build, probe, large);
            assert!(cost(small, large) < cost(large, small), "{small:?} and {large:?}");
        }
    }

    #[test]
    fn lookup_in_a_table_beyond_the_cache_costs_several_times_as_much() {
        let (collect_bytes_max, collect_rows_max) = (f64::MAX, f64::MAX);
        let model = CostModel { collect_bytes_max, collect_rows_max, ..CostModel::default() };
        let of_table = |rows: f64| model.probe(of(rows), of(1e12), of(1.0));
        let (cached, large) = (of_table(1e3), of_table(1e8));
        assert!(large > 4.0 * cached && large < 6.0 * cached, "{cached} and {large}");
    }
}
