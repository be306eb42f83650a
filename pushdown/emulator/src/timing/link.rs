// SPDX-License-Identifier: Apache-2.0
//! Models transfers: flash to device memory inside the drive, and device memory to the host.
//!
//! The published rates of single requests do not lie on a latency and a bandwidth (64 KiB takes
//! less time than 4 KiB), so between them the rate is interpolated over the logarithm of the size.
//! Requests in flight add up until the overlapped peak. A drive keeps so many of them in flight,
//! those of the next commands among them; a command alone has only its own.

use super::Parameters;

/// The time to read the input of a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MediaTime {
    /// Of the media, with other commands' requests in flight.
    pub(super) busy_ns: f64,
    /// The time that a command alone waits in addition.
    pub(super) wait_ns: f64,
}

impl Parameters {
    /// Rate of flash to device memory with `in_flight` requests of so many bytes, in bytes a
    /// second.
    pub fn p2p_bytes_per_s(&self, request_bytes: u64, in_flight: u32) -> f64 {
        (self.p2p_request_bytes_per_s(request_bytes as f64) * f64::from(in_flight))
            .min(self.media_bytes_per_s)
    }

    /// Rate of one request after the other.
    fn p2p_request_bytes_per_s(&self, bytes: f64) -> f64 {
        let points = [
            (4096.0, self.p2p_4_kib_bytes_per_s),
            (65_536.0, self.p2p_64_kib_bytes_per_s),
            (1_048_576.0, self.p2p_1_mib_bytes_per_s),
            (4_194_304.0, self.p2p_4_mib_bytes_per_s),
        ];
        let [(least, slowest), .., (_, fastest)] = points;
        if bytes <= least {
            // As long as the smallest one: latency.
            return slowest * bytes / least;
        }
        let between = points.windows(2).find_map(|pair| match pair {
            [(from, low), (to, high)] if bytes <= *to => {
                Some(low + (high - low) * (bytes / from).log2() / (to / from).log2())
            }
            _ => None,
        });
        between.unwrap_or(fastest)
    }

    /// Time of the input of a scan that is read by these requests.
    pub(super) fn media(&self, requests: impl Iterator<Item = u64>) -> MediaTime {
        let mut bytes = 0.0;
        let mut one_by_one_s = 0.0;
        let mut longest_s: f64 = 0.0;
        let mut count: f64 = 0.0;
        for request in requests.map(|bytes| bytes as f64) {
            let alone_s = request / self.p2p_request_bytes_per_s(request);
            bytes += request;
            one_by_one_s += alone_s;
            longest_s = longest_s.max(alone_s);
            count += 1.0;
        }
        if count == 0.0 {
            return MediaTime { busy_ns: 0.0, wait_ns: 0.0 };
        }
        let peak_s = bytes / self.media_bytes_per_s;
        let busy_s = peak_s.max(one_by_one_s / self.media_in_flight);
        let alone_s = busy_s.max(longest_s).max(one_by_one_s / count.min(self.media_in_flight));
        MediaTime { busy_ns: busy_s * 1e9, wait_ns: (alone_s - busy_s) * 1e9 }
    }

    /// Time of a result on its way to the host, in ns.
    pub(super) fn to_host_ns(&self, bytes: u64) -> f64 {
        self.link_latency_ns + bytes as f64 / self.link_bytes_per_s * 1e9
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(4 << 10, 0.05e9)]
    #[case(64 << 10, 0.87e9)]
    // Half way on the logarithm.
    #[case(256 << 10, 1.23e9)]
    #[case(1 << 20, 1.59e9)]
    #[case(4 << 20, 2.15e9)]
    #[case(64 << 20, 2.15e9)]
    #[case(2 << 10, 0.025e9)]
    fn one_request_has_the_published_rate(#[case] bytes: u64, #[case] rate: f64) {
        let modelled = Parameters::default().p2p_bytes_per_s(bytes, 1);
        assert!((modelled - rate).abs() < 1.0, "{modelled}");
    }

    #[test]
    fn requests_in_flight_reach_the_peak_and_no_more() {
        let rate = |in_flight| Parameters::default().p2p_bytes_per_s(1 << 20, in_flight);
        assert!((rate(2) - 3.18e9).abs() < 1.0);
        assert!((rate(3) - 3.25e9).abs() < 1.0);
        assert!((rate(32) - 3.25e9).abs() < 1.0);
    }

    #[test]
    fn small_requests_are_limited_by_latency() {
        let parameters = Parameters::default();
        let large = parameters.media([1 << 20; 13].into_iter());
        assert!((large.busy_ns - 13.0 * 1048.576 / 3.25 * 1e3).abs() < 1.0, "{large:?}");
        // A hundred blocks, eight in flight, 82 us each.
        let small = parameters.media([4096; 100].into_iter());
        assert!((small.busy_ns - 100.0 * 81_920.0 / 8.0).abs() < 1.0, "{small:?}");
    }

    #[test]
    fn command_alone_waits_for_its_longest_request() {
        let alone = Parameters::default().media(std::iter::once(1 << 20));
        assert!((alone.busy_ns + alone.wait_ns - 1e9 * 1_048_576.0 / 1.59e9).abs() < 1.0);
        let nothing = Parameters::default().media(std::iter::empty());
        assert!(nothing.busy_ns + nothing.wait_ns == 0.0);
    }
}
