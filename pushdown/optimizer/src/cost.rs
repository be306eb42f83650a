// SPDX-License-Identifier: Apache-2.0
//! The first cost model: one estimate for the drive, one for the host, the lower wins.
//!
//! ```text
//! t_drive = setup + max(media_bytes / media, work / kernel) + result_bytes / link
//! t_host  = max(media_bytes / nvme, media_bytes / (cores * decode))
//! ```
//!
//! Both pipelines overlap reading with computing, hence the maxima. The drive's rates come from its
//! snapshot; the host's are constants until they are measured.

use nearscan_drive::CostSnapshot;

use crate::decision::Costs;

/// Rates of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostRates {
    /// Cores that a query may use.
    pub cores: f64,
    /// Compressed bytes a second that one core decodes and filters. TPC-H Q6 over Snappy: two cores
    /// were measured at 1.4 GB/s.
    pub decode_bytes_per_s: f64,
    /// Bytes a second from the same SSD over its host link: PCIe Gen3 x4.
    pub media_bytes_per_s: f64,
    /// Bytes a second that one core turns from a drive's result into arrays. Assumed: a copy at the
    /// speed of memory.
    pub result_bytes_per_s: f64,
}

impl HostRates {
    /// Rates of a host with this many cores.
    pub fn with_cores(cores: usize) -> Self {
        Self {
            cores: f64::from(u32::try_from(cores.max(1)).unwrap_or(u32::MAX)),
            decode_bytes_per_s: 0.7e9,
            media_bytes_per_s: 3.2e9,
            result_bytes_per_s: 4e9,
        }
    }
}

/// How much a fragment moves.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Volume {
    /// Units of work.
    pub units: u64,
    /// Rows of all units.
    pub rows: u64,
    /// Compressed bytes of all units.
    pub media_bytes: u64,
    /// Estimated bytes of all results.
    pub result_bytes: u64,
}

/// Estimates for a fragment.
pub fn estimate(volume: &Volume, drive: &CostSnapshot, host: &HostRates) -> Costs {
    let seconds = |amount: u64, rate: f64| to_f64(amount) / rate;
    let media = seconds(volume.media_bytes, drive.media_bytes_per_s);
    let kernel = seconds(volume.rows, drive.kernel_rows_per_s)
        .max(seconds(volume.media_bytes, drive.kernel_bytes_per_s));
    let result = seconds(volume.result_bytes, drive.link_bytes_per_s)
        + seconds(volume.result_bytes, host.result_bytes_per_s * host.cores);
    // Commands are started while others run: what shows is one of them, and the queue before it.
    let setup = drive.setup_ns * (1.0 + f64::from(drive.queue_depth) / 4.0);
    let on_host = seconds(volume.media_bytes, host.media_bytes_per_s)
        .max(seconds(volume.media_bytes, host.decode_bytes_per_s * host.cores));
    Costs { drive_ns: setup + (media.max(kernel) + result) * 1e9, host_ns: on_host * 1e9 }
}

/// Exact up to 2^53, which no volume reaches.
#[expect(clippy::cast_precision_loss, reason = "volumes are far below 2^53")]
fn to_f64(amount: u64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> CostSnapshot {
        CostSnapshot {
            id: 0,
            media_bytes_per_s: 3.25e9,
            kernel_bytes_per_s: 64.0 * 300e6,
            kernel_rows_per_s: 4.0 * 300e6,
            link_bytes_per_s: 1.86e9,
            setup_ns: 100_000.0,
            queue_depth: 0,
            free_bytes: 4 << 30,
            modelled: true,
        }
    }

    #[test]
    fn a_large_aggregate_is_cheaper_on_the_drive_than_on_two_cores() {
        let volume =
            Volume { units: 53, rows: 6_000_000, media_bytes: 60_000_000, result_bytes: 53 * 512 };
        let costs = estimate(&volume, &drive(), &HostRates::with_cores(2));
        assert!(costs.drive_ns < costs.host_ns, "{costs}");
    }

    #[test]
    fn many_cores_and_a_large_result_are_cheaper_on_the_host() {
        let volume = Volume {
            units: 53,
            rows: 6_000_000,
            media_bytes: 60_000_000,
            result_bytes: 200_000_000,
        };
        let costs = estimate(&volume, &drive(), &HostRates::with_cores(32));
        assert!(costs.drive_ns > costs.host_ns, "{costs}");
    }
}
