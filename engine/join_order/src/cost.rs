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

use crate::{cardinality::Estimate, plan::Distribution};

/// What the machine and the operators are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostModel {
    /// A build side of fewer bytes and rows is collected in one table. Of a larger one that is done
    /// if it costs less than partitioning both sides by hash, up to [`COLLECTED_LARGE`] times as
    /// many.
    pub collect_bytes_max: f64,
    /// See [`CostModel::collect_bytes_max`].
    pub collect_rows_max: f64,
    /// Threads that run partitions.
    pub threads: f64,
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
            threads: 2.0,
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

/// How many times the limits of a small build side one may have that is collected since that costs
/// less: a limit of memory.
pub const COLLECTED_LARGE: f64 = 64.0;

/// The cost of one join, without that of its inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinCost {
    pub(crate) distribution: Distribution,
    pub(crate) cost: f64,
}

impl CostModel {
    /// The cost of rows that a scan returns.
    pub(crate) fn returned(rows: Estimate) -> f64 {
        rows.rows * OUTPUT_ROW + copied(rows)
    }

    /// The cost of a join, by the better distribution.
    pub(crate) fn join(&self, build: Estimate, probe: Estimate, output: Estimate) -> JoinCost {
        let is_within = |times: f64| {
            build.bytes() < self.collect_bytes_max * times
                && build.rows < self.collect_rows_max * times
        };
        let (collected, partitioned) =
            (self.collected(build, probe), self.partitioned(build, probe));
        let is_collected =
            is_within(1.0) || (is_within(COLLECTED_LARGE) && collected < partitioned);
        let (distribution, cost) = match is_collected {
            true => (Distribution::Collected, collected),
            false => (Distribution::Partitioned, partitioned),
        };
        JoinCost { distribution, cost: cost + Self::returned(output) }
    }

    /// The share of the rows of a probe side that pass the keys of the build side, where `matching`
    /// have a partner.
    pub(crate) fn passing(&self, build: Estimate, matching: f64) -> f64 {
        match build.rows <= self.keys_rows_max {
            true => matching + (1.0 - matching) * KEYS_PASS,
            false => 1.0,
        }
    }

    /// All threads wait for the one that builds the table.
    fn collected(&self, build: Estimate, probe: Estimate) -> f64 {
        let lookup = self.lookup(build);
        self.threads * inserted(build, lookup) + probe.rows * lookup
    }

    /// Each thread builds a table of its part, in its own cache, and rows of both sides are sent.
    fn partitioned(&self, build: Estimate, probe: Estimate) -> f64 {
        let lookup = self.lookup(build.times(self.threads.recip()));
        let sent = |rows: Estimate| rows.rows * PARTITION_ROW + copied(rows);
        inserted(build, lookup) + probe.rows * lookup + sent(build) + sent(probe)
    }

    fn lookup(&self, build: Estimate) -> f64 {
        let table_bytes = build.bytes() + build.rows * TABLE_ROW_BYTES;
        let doublings = (table_bytes / self.cache_bytes.max(1.0)).max(1.0).log2();
        1.0 + (doublings * MISSES_PER_DOUBLING).min(MISSES_MAX)
    }
}

/// The cost of a table, in which one lookup costs so much.
fn inserted(build: Estimate, lookup: f64) -> f64 {
    build.rows * BUILD_ROW * lookup + copied(build)
}

fn copied(rows: Estimate) -> f64 {
    rows.bytes() / BYTES_PER_LOOKUP
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{CostModel, Distribution, Estimate};

    fn of(rows: f64) -> Estimate {
        Estimate { rows, row_bytes: 16.0 }
    }

    #[test]
    fn smaller_side_is_cheaper_to_build() {
        let model = CostModel::default();
        for (small, large) in [(10.0, 1e3), (1e3, 1e6), (1e6, 1.5e6), (1e7, 1e9)] {
            let (small, large) = (of(small), of(large));
            let cost = |build, probe| model.join(build, probe, large).cost;
            assert!(cost(small, large) < cost(large, small), "{small:?} and {large:?}");
        }
    }

    #[test]
    fn lookup_in_a_table_beyond_the_cache_costs_several_times_as_much() {
        let (collect_bytes_max, collect_rows_max) = (f64::MAX, f64::MAX);
        let model = CostModel { collect_bytes_max, collect_rows_max, ..CostModel::default() };
        let of_table = |rows: f64| model.join(of(rows), of(1e12), of(1.0)).cost;
        let (cached, large) = (of_table(1e3), of_table(1e8));
        assert!(large > 4.0 * cached && large < 6.0 * cached, "{cached} and {large}");
    }

    #[rstest]
    #[case::small(1e3, 1e3, 64.0, Distribution::Collected)]
    #[case::many_rows_to_send(5e5, 1e8, 2.0, Distribution::Collected)]
    #[case::few_rows_to_send(5e5, 1e5, 2.0, Distribution::Partitioned)]
    #[case::many_threads_that_wait(5e5, 1e6, 64.0, Distribution::Partitioned)]
    #[case::too_large(1e8, 1e12, 2.0, Distribution::Partitioned)]
    fn build_side_is_collected_if_that_costs_less(
        #[case] build: f64,
        #[case] probe: f64,
        #[case] threads: f64,
        #[case] expected: Distribution,
    ) {
        let model = CostModel { threads, ..CostModel::default() };
        assert_eq!(model.join(of(build), of(probe), of(1.0)).distribution, expected);
    }
}
