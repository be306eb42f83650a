// SPDX-License-Identifier: Apache-2.0
//! Implements the cost model: it estimates the time on the drive and on the host; the lower one
//! wins.
//!
//! ```text
//! scan    drive = max(media, lanes, link) + one mean pass through the others + result into arrays
//!         host  = max(media / its link, (bytes / decode + values / decode) / free cores)
//! merge   drive = the scans, without link + merging + link + result into arrays
//!         host  = max(scans wherever they are cheaper + rows / merging, spread over free cores;
//!                     rows / merging on one core)
//! ```
//!
//! `lanes` is the time that commands keep the drive's lanes busy, divided by the number of lanes.
//! The drive's estimate is the makespan of its time model
//! ([`Modelled::makespan_ns`](nearscan_drive::Modelled)), so that both can be compared. Without the
//! rates of a drive ([`CostSnapshot`]) there is no estimate, and the scan stays on the host.
//!
//! # What the model ignores
//!
//! The host's work above a scan is the same in both cases, except for an aggregate: the host's
//! estimate omits the work of aggregating, which is a bias against the drive. A sort of sorted row
//! groups is estimated as a merge. The selectivity of a filter is DataFusion's estimate; that a
//! distinct merge drops no rows is our assumption.

use nearscan_drive::{CostSnapshot, Load, RequestClass};

use crate::decision::Costs;

/// Rates of one core of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreRates {
    /// Compressed bytes that it decodes per second, without the cost of values.
    pub decode_bytes_per_s: f64,
    /// Values that it decodes and filters per second, without the cost of bytes.
    pub decode_values_per_s: f64,
    /// Rows that it merges per second.
    pub merge_rows_per_s: f64,
    /// Bytes of a drive's result that it converts to arrays per second.
    pub result_bytes_per_s: f64,
}

impl CoreRates {
    /// Rates of a core of a server. TPC-H Q6 over Snappy, 9.8 bytes and 4 values a row, decodes 0.7
    /// GB/s, which was measured; the other rates are assumed.
    pub const TYPICAL: Self = Self {
        decode_bytes_per_s: 2e9,
        decode_values_per_s: 0.44e9,
        merge_rows_per_s: 20e6,
        result_bytes_per_s: 4e9,
    };

    /// Time of one core to decode and filter, in ns.
    fn decode_ns(&self, volume: &Volume) -> f64 {
        ns_of(volume.media_bytes, self.decode_bytes_per_s)
            + ns_of(volume.values, self.decode_values_per_s)
    }
}

/// Rates of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostRates {
    /// Cores that one query may use.
    pub cores: f64,
    /// Other queries of this engine that are running: cores are shared evenly. Other programs on
    /// the machine are not counted.
    pub queries: u32,
    /// Rates of each core.
    pub core: CoreRates,
    /// Bytes a second from the same SSD over its host link: PCIe Gen3 x4.
    pub media_bytes_per_s: f64,
}

impl HostRates {
    /// Rate of PCIe Gen3 x4, payload.
    const MEDIA_BYTES_PER_S: f64 = 3.2e9;

    /// Rates of an idle host with this many cores.
    pub fn new(cores: usize, core: CoreRates) -> Self {
        Self {
            cores: f64::from(u32::try_from(cores.max(1)).unwrap_or(u32::MAX)),
            queries: 0,
            core,
            media_bytes_per_s: Self::MEDIA_BYTES_PER_S,
        }
    }

    /// Cores that are left for one more query; a part of one when there are more queries.
    pub fn free_cores(&self) -> f64 {
        self.cores / (1.0 + f64::from(self.queries))
    }

    /// Time of turning a drive's result into arrays.
    fn result_ns(&self, bytes: u64) -> f64 {
        ns_of(bytes, self.core.result_bytes_per_s) / self.free_cores()
    }

    fn scan_ns(&self, volume: &Volume) -> f64 {
        let media = ns_of(volume.media_bytes, self.media_bytes_per_s);
        media.max(self.core.decode_ns(volume) / self.free_cores())
    }
}

/// The work of decoders, as a [`Load`] counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Encoded {
    pub(crate) dictionary_bytes: u64,
    pub(crate) look_ups: u64,
    /// Look-ups of all rows in columns that the filter does not look at: of a row that it drops
    /// there is none.
    pub(crate) late_look_ups: u64,
    pub(crate) string_bytes: u64,
}

impl Encoded {
    /// Both together.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            dictionary_bytes: self.dictionary_bytes + other.dictionary_bytes,
            look_ups: self.look_ups + other.look_ups,
            late_look_ups: self.late_look_ups + other.late_look_ups,
            string_bytes: self.string_bytes + other.string_bytes,
        }
    }

    /// The same where the filter keeps so many of all `rows`.
    pub(crate) fn of_kept(self, kept: u64, rows: u64) -> Self {
        let late = u128::from(self.late_look_ups) * u128::from(kept) / u128::from(rows.max(1));
        Self { late_look_ups: u64::try_from(late).unwrap_or(u64::MAX), ..self }
    }

    /// A load with this work.
    pub(crate) fn in_load(self, load: Load) -> Load {
        let Self { dictionary_bytes, look_ups, late_look_ups, string_bytes } = self;
        let look_ups = look_ups.saturating_add(late_look_ups);
        Load { dictionary_bytes, look_ups, string_bytes, ..load }
    }
}

/// The amount of data of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// Units of work.
    pub units: u64,
    /// Ranges of files to read, of all units, before a drive joins or cuts them.
    pub requests: u64,
    /// Rows of all units.
    pub rows: u64,
    /// Values of all units: rows of each column.
    pub values: u64,
    /// Compressed bytes of all units.
    pub media_bytes: u64,
    /// What their encodings are for a drive's decoders.
    pub(crate) encoded: Encoded,
    /// Estimated rows of all results.
    pub result_rows: u64,
    /// Estimated bytes of all results.
    pub result_bytes: u64,
}

impl Volume {
    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            units: self.units + other.units,
            requests: self.requests + other.requests,
            rows: self.rows + other.rows,
            values: self.values + other.values,
            media_bytes: self.media_bytes + other.media_bytes,
            encoded: self.encoded.with(other.encoded),
            result_rows: self.result_rows + other.result_rows,
            result_bytes: self.result_bytes + other.result_bytes,
        }
    }

    fn request_bytes(&self) -> u64 {
        self.media_bytes / self.requests.max(1)
    }

    fn load(&self) -> Load {
        self.encoded.in_load(Load {
            commands: self.units,
            media_bytes: self.media_bytes,
            rows: self.rows,
            link_bytes: self.result_bytes,
            ..Load::default()
        })
    }
}

/// Estimates for one unit alone, as the log holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitEstimate {
    /// On the drive, in ns.
    pub drive_ns: u64,
    /// On the host, in ns.
    pub host_ns: u64,
    /// Number of the snapshot that the drive's rates are from.
    pub snapshot: u64,
}

impl UnitEstimate {
    /// The estimates in whole ns.
    pub fn of(costs: &Costs) -> Self {
        Self {
            drive_ns: whole_ns(costs.drive_ns),
            host_ns: whole_ns(costs.host_ns),
            snapshot: costs.snapshot,
        }
    }
}

/// An estimate in whole ns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates are positive, and what is too large ends at the largest"
)]
pub(crate) fn whole_ns(ns: f64) -> u64 {
    ns.round() as u64
}

/// A merge of scans.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MergeVolume {
    /// The scans, those that are read for several merges as often.
    pub scans: Volume,
    /// Merges.
    pub merges: u64,
    /// Rows that they merge.
    pub rows: u64,
    /// Time of the scans on the host, or on the drive where that is less.
    pub scans_apart_ns: f64,
}

/// Estimates a scan; nothing if the rates of the drive are unknown.
pub fn estimate(volume: &Volume, drive: &CostSnapshot, host: &HostRates) -> Option<Costs> {
    let drive_ns = drive_ns(volume, drive)? + host.result_ns(volume.result_bytes);
    Some(Costs { drive_ns, host_ns: host.scan_ns(volume), snapshot: drive.id })
}

/// Estimates a scan of objects of the drive's server, whose bytes come over the drive's link if the
/// host reads them. If the rates of the drive are unknown, its lanes are taken to be as fast as
/// cores of this host, so that the link decides.
pub fn estimate_of_server(
    volume: &Volume,
    drive: &CostSnapshot,
    host: &HostRates,
) -> Option<Costs> {
    let media_bytes_per_s = drive.link_bytes_per_s.unwrap_or(host.media_bytes_per_s);
    let host = HostRates { media_bytes_per_s, ..*host };
    if let Some(costs) = estimate(volume, drive, &host) {
        return Some(costs);
    }
    let link = ns_of(volume.result_bytes, media_bytes_per_s);
    let lanes = u64::from(drive.lanes.max(1)).min(volume.units.max(1));
    let busy = host.core.decode_ns(volume) / to_f64(lanes);
    let drive_ns = busy.max(link) + host.result_ns(volume.result_bytes);
    Some(Costs { drive_ns, host_ns: host.scan_ns(volume), snapshot: drive.id })
}

/// Estimates a merge with its scans, and the exchange of images before it if the loaded one does
/// not merge; nothing if the rates of the drive are unknown.
pub fn estimate_merge(
    volume: &MergeVolume,
    drive: &CostSnapshot,
    host: &HostRates,
) -> Option<Costs> {
    let class = RequestClass::of(volume.scans.request_bytes());
    let result_bytes = volume.scans.result_bytes;
    let load = Load { commands: volume.merges, rows: volume.rows, ..volume.scans.load() };
    let merging_ns = drive.merge.get(class)?.busy_ns(&load);
    let on_drive = match &drive.media {
        // The results of the scans stay where they are.
        Some(_) => {
            let scans = Volume { result_bytes: 0, ..volume.scans };
            drive_ns(&scans, drive)? + merging_ns
        }
        // The scans are in the time of a merge.
        None => merging_ns / f64::from(drive.lanes.max(1)),
    };
    let link = drive.link_bytes_per_s.map_or(0.0, |rate| ns_of(result_bytes, rate));
    let host_merging_ns = ns_of(volume.rows, host.core.merge_rows_per_s);
    let cores = host.free_cores();
    let spread = volume.scans_apart_ns + host_merging_ns / cores;
    Some(Costs {
        drive_ns: on_drive + link + host.result_ns(result_bytes) + drive.exchange_ns_of_merge(),
        host_ns: spread.max(host_merging_ns / cores.min(1.0)),
        snapshot: drive.id,
    })
}

/// Time of a drive for scans: its busiest resource, and one mean pass through the others.
fn drive_ns(volume: &Volume, drive: &CostSnapshot) -> Option<f64> {
    let request_bytes = volume.request_bytes();
    let rates = drive.scan.get(RequestClass::of(request_bytes))?;
    let busy = rates.busy_ns(&volume.load());
    let media = drive
        .media
        .as_ref()
        .map(|rates| ns_of(volume.media_bytes, rates.bytes_per_s(request_bytes)));
    let media = media.unwrap_or(0.0);
    let link = drive.link_bytes_per_s.map_or(0.0, |rate| ns_of(volume.result_bytes, rate));
    let load_ahead = |rate| ns_of(volume.encoded.dictionary_bytes, rate);
    let loading = drive.dictionary_bytes_per_s.map_or(0.0, load_ahead);
    let lanes = u64::from(drive.lanes.max(1));
    let of_lanes = busy.max(loading) / to_f64(lanes.min(volume.units.max(1)));
    let busiest = media.max(link).max(of_lanes);
    let units = to_f64(volume.units.max(1));
    let fill = ((busy + loading + media + link - busiest) / units).max(0.0);
    // Commands that wait for a lane are assumed to take as long as these.
    let waiting = f64::from(drive.queue_depth.saturating_sub(drive.lanes));
    Some(drive.start_ns + busiest + fill + waiting * busy.max(loading) / units / to_f64(lanes))
}

/// Time of an amount at a rate, in ns.
fn ns_of(amount: u64, per_s: f64) -> f64 {
    to_f64(amount) / per_s * 1e9
}

/// Exact up to 2^53, which no volume reaches.
#[expect(clippy::cast_precision_loss, reason = "volumes are far below 2^53")]
fn to_f64(amount: u64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use nearscan_drive::{KernelRates, LoadedImage, MediaRates, RateSource, RatesByRequest};

    use super::*;

    /// A drive of four units of a row a cycle of 300 MHz, and a merge of 30 cycles a row.
    fn drive() -> CostSnapshot {
        let rates = |ns_per_row| KernelRates {
            setup_ns: 100_000.0,
            ns_per_row,
            ..KernelRates::zero(RateSource::Modelled)
        };
        CostSnapshot {
            id: 3,
            lanes: 4,
            start_ns: 0.0,
            media: Some(MediaRates::uniform(3.25e9)),
            link_bytes_per_s: Some(1.86e9),
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::uniform(rates(3.3)),
            merge: RatesByRequest::uniform(rates(100.0)),
            queue_depth: 0,
            free_bytes: 4 << 30,
            image: None,
        }
    }

    fn host(cores: usize) -> HostRates {
        HostRates::new(cores, CoreRates::TYPICAL)
    }

    /// Six million rows of four columns, in 53 units.
    fn lineitem(result_bytes: u64) -> Volume {
        Volume {
            units: 53,
            requests: 106,
            rows: 6_000_000,
            values: 24_000_000,
            media_bytes: 60_000_000,
            encoded: Encoded::default(),
            result_rows: result_bytes / 16,
            result_bytes,
        }
    }

    #[test]
    fn scan_with_large_reduction_is_cheaper_on_the_drive_than_on_two_cores() {
        let costs = estimate(&lineitem(53 * 512), &drive(), &host(2)).unwrap();
        assert!(costs.drive_ns < costs.host_ns, "{costs}");
        assert_eq!(costs.snapshot, 3);
    }

    #[test]
    fn scan_is_cheaper_on_the_host_with_many_cores_or_a_large_result() {
        let costs = estimate(&lineitem(53 * 512), &drive(), &host(32)).unwrap();
        assert!(costs.drive_ns > costs.host_ns, "{costs}");
        let costs = estimate(&lineitem(200_000_000), &drive(), &host(2)).unwrap();
        assert!(costs.drive_ns > costs.host_ns, "{costs}");
    }

    #[test]
    fn cores_are_shared_with_the_queries_that_run() {
        let idle = host(8);
        let busy = HostRates { queries: 7, ..idle };
        assert!((idle.free_cores() - 8.0).abs() < 1e-9 && (busy.free_cores() - 1.0).abs() < 1e-9);
        let volume = lineitem(53 * 512);
        let idle = estimate(&volume, &drive(), &idle).unwrap();
        let busy = estimate(&volume, &drive(), &busy).unwrap();
        assert!(idle.host_ns < idle.drive_ns, "{idle}");
        assert!(busy.host_ns > busy.drive_ns, "{busy}");
    }

    #[test]
    fn drive_estimate_is_the_busiest_resource_plus_a_pass_through_the_others() {
        // 4 ms of media, 8 ms on a lane, 2 ms of link; four units on four lanes.
        let volume = Volume {
            units: 4,
            requests: 4,
            rows: 4_000_000,
            media_bytes: 13_000_000,
            result_bytes: 3_720_000,
            ..Volume::default()
        };
        let rates = KernelRates {
            setup_ns: 0.0,
            ns_per_row: 2.0,
            ..*drive().scan.get(RequestClass::Large).unwrap()
        };
        let drive = CostSnapshot { scan: RatesByRequest::uniform(rates), ..drive() };
        let costs = estimate(&volume, &drive, &host(1)).unwrap();
        // Media is the busiest; the others fill, and the host takes 0.93 ms for the result.
        let expected = 4e6 + (8e6 + 2e6) / 4.0 + 0.93e6;
        assert!((costs.drive_ns - expected).abs() < 1.0, "{costs}");
        let alone = CostSnapshot { lanes: 1, ..drive.clone() };
        let costs = estimate(&volume, &alone, &host(1)).unwrap();
        let expected = 8e6 + (4e6 + 2e6) / 4.0 + 0.93e6;
        assert!((costs.drive_ns - expected).abs() < 1.0, "{costs}");
        // Two commands run beside those on the lanes, and are as long as ours.
        let busy = CostSnapshot { lanes: 1, queue_depth: 3, ..drive };
        let costs = estimate(&volume, &busy, &host(1)).unwrap();
        assert!((costs.drive_ns - expected - 2.0 * 2e6).abs() < 1.0, "{costs}");
    }

    #[test]
    fn dictionaries_loaded_ahead_of_rows_count_only_where_they_take_longer() {
        // 8 ms of rows on one lane, in four units.
        let load = |dictionary_bytes| Volume {
            units: 4,
            requests: 4,
            rows: 4_000_000,
            encoded: Encoded { dictionary_bytes, ..Encoded::default() },
            ..Volume::default()
        };
        let rates = KernelRates {
            setup_ns: 0.0,
            ns_per_row: 2.0,
            ..*drive().scan.get(RequestClass::Page).unwrap()
        };
        let ahead = CostSnapshot {
            lanes: 1,
            dictionary_bytes_per_s: Some(1e9),
            scan: RatesByRequest::uniform(rates),
            ..drive()
        };
        let drive_ns = |volume, drive| estimate(&volume, &drive, &host(1)).unwrap().drive_ns;
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1.0, "{found}");
        near(drive_ns(load(6_000_000), ahead.clone()), 8e6 + 6e6 / 4.0);
        near(drive_ns(load(12_000_000), ahead.clone()), 12e6 + 8e6 / 4.0);
        let rates = KernelRates { ns_per_dictionary_byte: 1.0, ..rates };
        let in_turn = CostSnapshot {
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::uniform(rates),
            ..ahead
        };
        near(drive_ns(load(6_000_000), in_turn), 14e6);
    }

    #[test]
    fn link_decides_about_objects_of_a_server_whose_rates_are_unknown() {
        let over = |bytes_per_s| CostSnapshot {
            lanes: 1,
            media: None,
            link_bytes_per_s: Some(bytes_per_s),
            scan: RatesByRequest::UNKNOWN,
            ..drive()
        };
        // Over a narrow link few rows go to the drive, and all rows to the host.
        let few = estimate_of_server(&lineitem(53 * 512), &over(375e6), &host(1)).unwrap();
        assert!(few.drive_ns < few.host_ns, "{few}");
        let all = estimate_of_server(&lineitem(200_000_000), &over(375e6), &host(1)).unwrap();
        assert!(all.drive_ns > all.host_ns, "{all}");
        // Over a wide one the host's other cores do more than the drive's one.
        let wide = estimate_of_server(&lineitem(53 * 512), &over(100e9), &host(8)).unwrap();
        assert!(wide.drive_ns > wide.host_ns, "{wide}");
    }

    #[test]
    fn drive_without_rates_has_no_estimate() {
        let unknown = CostSnapshot { scan: RatesByRequest::UNKNOWN, ..drive() };
        assert_eq!(estimate(&lineitem(512), &unknown, &host(2)), None);
        let unknown = CostSnapshot { merge: RatesByRequest::UNKNOWN, ..drive() };
        assert_eq!(estimate_merge(&merge(), &unknown, &host(2)), None);
    }

    /// Two million rows out of eight units.
    fn merge() -> MergeVolume {
        let scans = Volume {
            units: 8,
            requests: 8,
            rows: 2_000_000,
            values: 4_000_000,
            media_bytes: 12_000_000,
            encoded: Encoded::default(),
            result_rows: 2_000_000,
            result_bytes: 32_000_000,
        };
        MergeVolume { scans, merges: 1, rows: 2_000_000, scans_apart_ns: 10e6 }
    }

    #[test]
    fn merge_stays_on_an_idle_fast_host_and_leaves_a_busy_or_slow_one() {
        let idle = host(8);
        let costs = estimate_merge(&merge(), &drive(), &idle).unwrap();
        assert!(costs.host_ns < costs.drive_ns, "{costs}");
        let busy = HostRates { queries: 31, ..idle };
        let costs = estimate_merge(&merge(), &drive(), &busy).unwrap();
        assert!(costs.host_ns > costs.drive_ns, "{costs}");
        let slow = CoreRates { merge_rows_per_s: 1e6, ..CoreRates::TYPICAL };
        let costs = estimate_merge(&merge(), &drive(), &HostRates::new(8, slow)).unwrap();
        assert!(costs.host_ns > costs.drive_ns, "{costs}");
    }

    #[test]
    fn merge_waits_for_an_image_that_merges() {
        let host = host(2);
        let scans = LoadedImage { columns_max: 7, merges: false, exchange_ns: 3e9 };
        let drive = CostSnapshot { image: Some(scans), ..drive() };
        let merges = CostSnapshot {
            image: Some(LoadedImage { columns_max: 5, merges: true, ..scans }),
            ..drive.clone()
        };
        let drive_ns = |drive| estimate_merge(&merge(), drive, &host).unwrap().drive_ns;
        assert!((drive_ns(&drive) - drive_ns(&merges) - 3e9).abs() < 1.0);
        let exchange_ns = |columns| merges.exchange_ns_of_scan(columns);
        assert_eq!([5, 6].map(exchange_ns), [0.0, 3e9]);
        assert_eq!(drive.exchange_ns_of_scan(7), 0.0);
    }

    #[test]
    fn merge_estimate_includes_its_scans_and_only_its_own_result() {
        let drive = drive();
        let host = host(2);
        let costs = estimate_merge(&merge(), &drive, &host).unwrap();
        let scans = drive_ns(&Volume { result_bytes: 0, ..merge().scans }, &drive).unwrap();
        let link = ns_of(32_000_000, 1.86e9);
        let expected = scans + 100_000.0 + 200e6 + link + host.result_ns(32_000_000);
        assert!((costs.drive_ns - expected).abs() < 1.0, "{costs}");
        // The host merges on one core, while the others scan.
        assert!((costs.host_ns - 100e6).abs() < 1.0, "{costs}");
        let one_core = HostRates { cores: 1.0, ..host };
        let costs = estimate_merge(&merge(), &drive, &one_core).unwrap();
        assert!((costs.host_ns - 110e6).abs() < 1.0, "{costs}");
    }

    #[test]
    fn work_of_a_load_is_that_of_both_together() {
        let one = Encoded { dictionary_bytes: 1, look_ups: 2, late_look_ups: 8, string_bytes: 3 };
        let load = one.with(one).in_load(Load { rows: 7, ..Load::default() });
        let expected =
            Load { rows: 7, dictionary_bytes: 2, look_ups: 20, string_bytes: 6, ..Load::default() };
        assert_eq!(load, expected);
    }

    #[test]
    fn rows_that_the_filter_drops_are_not_looked_up_behind_it() {
        let all = Encoded { look_ups: 100, late_look_ups: 1000, ..Encoded::default() };
        let kept = all.of_kept(30, 300).in_load(Load::default());
        assert_eq!(kept.look_ups, 200);
        assert_eq!(all.of_kept(0, 0).in_load(Load::default()).look_ups, 100);
    }
}
