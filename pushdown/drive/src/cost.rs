// SPDX-License-Identifier: Apache-2.0
//! Describes the current speed of a drive. The optimizer is given snapshots as values, and calls no
//! drive.
//!
//! Commands keep the drive's lanes (compute units, threads) busy, each for
//!
//! ```text
//! setup + media_bytes * ns/B + dictionary_bytes * ns/B + rows * ns/row + look_ups * ns
//!       + string_bytes * ns/B + link_bytes * ns/B
//! ```
//!
//! (a [`Load`] says what these are), with one set of numbers for each kernel and class of request
//! size ([`KernelRates`]). Besides, commands share the path from the media and the link to the
//! host, and each lane may load dictionaries while it works on the rows of the command before, if
//! the drive reports these rates. Otherwise they are part of the time of its commands.
//!
//! # Invariants
//!
//! - A drive omits unknown rates; no other code substitutes a figure.
//! - A rate states whether it was assumed, modelled or measured. See [`fit`](crate::fit) for those
//!   that were fitted to observations.

use crate::capabilities::ImageAbility;

/// A program of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Scans one row group.
    Scan,
    /// Merges the sorted results of scans. Where the time of a command is known in parts, that of
    /// the merging alone; otherwise its scans are in it.
    Merge,
}

impl Kernel {
    /// Every kernel with its word.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Scan, "scan"), (Self::Merge, "merge")];

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Scan => 0,
            Self::Merge => 1,
        }
    }
}

/// Size class of a command's requests to the media: the mean of the ranges of files that it
/// requests, before a drive joins or cuts them. The limits are half-way, on a logarithmic scale,
/// between the sizes for which rates of such drives are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestClass {
    /// Up to 16 KiB, about 4 KiB.
    Page,
    /// Up to 256 KiB, about 64 KiB.
    Chunk,
    /// Up to 2 MiB, about 1 MiB.
    Group,
    /// Larger, about 4 MiB.
    Large,
}

impl RequestClass {
    /// Every class with its word.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Page, "4 KiB"),
        (Self::Chunk, "64 KiB"),
        (Self::Group, "1 MiB"),
        (Self::Large, "4 MiB"),
    ];

    /// The class of requests with a mean of so many bytes.
    pub const fn of(request_bytes: u64) -> Self {
        match request_bytes {
            0..=0x4000 => Self::Page,
            0x4001..=0x4_0000 => Self::Chunk,
            0x4_0001..=0x20_0000 => Self::Group,
            _ => Self::Large,
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Page => 0,
            Self::Chunk => 1,
            Self::Group => 2,
            Self::Large => 3,
        }
    }
}

/// The source of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateSource {
    /// From nowhere.
    Assumed,
    /// From a model, or fitted to times of that model.
    Modelled,
    /// Fitted to times that were read from a clock.
    Measured,
}

impl RateSource {
    /// The word that tables show.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Modelled => "modelled",
            Self::Measured => "measured",
        }
    }
}

/// The quality of fitted rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitQuality {
    /// Commands that they were fitted to.
    pub observations: u64,
    /// Root of the mean square of what the rates are off, as a share of the time it took.
    pub residual: f64,
}

/// The load of commands on a lane.
///
/// What footers tell of the encodings is counted apart, since a byte or a row of one column may
/// take a hundred times as long as one of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Commands.
    pub commands: u64,
    /// Bytes read from the media.
    pub media_bytes: u64,
    /// Stored bytes of dictionary pages that are loaded one behind the other: of each command the
    /// largest, or what each of a lane's loaders has if that is more.
    pub dictionary_bytes: u64,
    /// Rows: of a scan those it reads, of a merge those it merges.
    pub rows: u64,
    /// Values that are looked up in dictionaries too large for a decoder's own memory.
    pub look_ups: u64,
    /// Bytes of strings that are stored one by one, in pages of data or in a dictionary, of the
    /// column of each command that has most.
    pub string_bytes: u64,
    /// Bytes sent to the host.
    pub link_bytes: u64,
}

impl Load {
    /// Number of amounts.
    pub(crate) const AMOUNTS: usize = 7;

    /// Its amounts, in the order of [`KernelRates::coefficients`].
    pub(crate) fn amounts(&self) -> [u64; Self::AMOUNTS] {
        [
            self.commands,
            self.media_bytes,
            self.dictionary_bytes,
            self.rows,
            self.look_ups,
            self.string_bytes,
            self.link_bytes,
        ]
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            commands: self.commands + other.commands,
            media_bytes: self.media_bytes + other.media_bytes,
            dictionary_bytes: self.dictionary_bytes + other.dictionary_bytes,
            rows: self.rows + other.rows,
            look_ups: self.look_ups + other.look_ups,
            string_bytes: self.string_bytes + other.string_bytes,
            link_bytes: self.link_bytes + other.link_bytes,
        }
    }
}

/// Rates of the time for which commands of one kernel keep a lane busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelRates {
    /// Of each command, whatever it does.
    pub setup_ns: f64,
    /// Of each byte from the media.
    pub ns_per_media_byte: f64,
    /// Of each stored byte of a dictionary page.
    pub ns_per_dictionary_byte: f64,
    /// Of each row.
    pub ns_per_row: f64,
    /// Of each look-up in a large dictionary.
    pub ns_per_look_up: f64,
    /// Of each byte of strings.
    pub ns_per_string_byte: f64,
    /// Of each byte to the host.
    pub ns_per_link_byte: f64,
    /// Their source.
    pub source: RateSource,
    /// Their quality, if they were fitted.
    pub fit: Option<FitQuality>,
}

impl KernelRates {
    /// Rates of nothing, to be filled in.
    pub const fn zero(source: RateSource) -> Self {
        Self {
            setup_ns: 0.0,
            ns_per_media_byte: 0.0,
            ns_per_dictionary_byte: 0.0,
            ns_per_row: 0.0,
            ns_per_look_up: 0.0,
            ns_per_string_byte: 0.0,
            ns_per_link_byte: 0.0,
            source,
            fit: None,
        }
    }

    /// The rates in the order of [`Load::amounts`].
    pub(crate) fn coefficients(&self) -> [f64; Load::AMOUNTS] {
        [
            self.setup_ns,
            self.ns_per_media_byte,
            self.ns_per_dictionary_byte,
            self.ns_per_row,
            self.ns_per_look_up,
            self.ns_per_string_byte,
            self.ns_per_link_byte,
        ]
    }

    /// Rates from coefficients in that order.
    pub(crate) fn of_coefficients(
        coefficients: [f64; Load::AMOUNTS],
        source: RateSource,
        fit: Option<FitQuality>,
    ) -> Self {
        let [
            setup_ns,
            ns_per_media_byte,
            ns_per_dictionary_byte,
            ns_per_row,
            ns_per_look_up,
            ns_per_string_byte,
            ns_per_link_byte,
        ] = coefficients;
        Self {
            setup_ns,
            ns_per_media_byte,
            ns_per_dictionary_byte,
            ns_per_row,
            ns_per_look_up,
            ns_per_string_byte,
            ns_per_link_byte,
            source,
            fit,
        }
    }

    /// Time that one lane takes for a load, in ns.
    pub fn busy_ns(&self, load: &Load) -> f64 {
        let amounts = load.amounts().map(to_f64);
        amounts.into_iter().zip(self.coefficients()).map(|(amount, ns)| amount * ns).sum()
    }
}

/// Rates of a kernel by class of request size, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RatesByRequest([Option<KernelRates>; RequestClass::ALL.len()]);

impl RatesByRequest {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self([None; RequestClass::ALL.len()]);

    /// The same for requests of any size.
    pub const fn uniform(rates: KernelRates) -> Self {
        Self([Some(rates); RequestClass::ALL.len()])
    }

    /// The rates for a class.
    pub const fn get(&self, class: RequestClass) -> Option<&KernelRates> {
        self.0[class.index()].as_ref()
    }

    /// Sets the rates of a class.
    pub const fn set(&mut self, class: RequestClass, rates: KernelRates) {
        self.0[class.index()] = Some(rates);
    }

    /// Every class of which the rates are known.
    pub fn known(&self) -> impl Iterator<Item = (RequestClass, &KernelRates)> {
        let classes = RequestClass::ALL.into_iter().map(|(class, _)| class);
        classes.filter_map(|class| Some((class, self.get(class)?)))
    }
}

/// Rate of requests of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediaPoint {
    /// Their size.
    pub request_bytes: u64,
    /// Bytes a second, with as many requests in flight as the drive keeps.
    pub bytes_per_s: f64,
}

/// Rates of the media by request size: a few points, in the order of their sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaRates(Vec<MediaPoint>);

impl MediaRates {
    /// Rates through these points; nothing without any.
    pub fn new(mut points: Vec<MediaPoint>) -> Option<Self> {
        points.sort_by_key(|point| point.request_bytes);
        (!points.is_empty()).then_some(Self(points))
    }

    /// The same rate for requests of any size.
    pub fn uniform(bytes_per_s: f64) -> Self {
        Self(vec![MediaPoint { request_bytes: 1, bytes_per_s }])
    }

    /// The points.
    pub fn points(&self) -> &[MediaPoint] {
        &self.0
    }

    /// Rate of requests of so many bytes: between points by the logarithm of the size, beyond them
    /// that of the nearest.
    pub fn bytes_per_s(&self, request_bytes: u64) -> f64 {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else {
            return f64::INFINITY;
        };
        if request_bytes <= first.request_bytes {
            return first.bytes_per_s;
        }
        let between = self.0.windows(2).find_map(|pair| match pair {
            [low, high] if request_bytes <= high.request_bytes => {
                let span = |from: u64, to: u64| (to_f64(to) / to_f64(from)).log2();
                let share = span(low.request_bytes, request_bytes)
                    / span(low.request_bytes, high.request_bytes);
                Some(low.bytes_per_s + (high.bytes_per_s - low.bytes_per_s) * share)
            }
            _ => None,
        });
        between.unwrap_or(last.bytes_per_s)
    }
}

/// Rates and state of a drive at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CostSnapshot {
    /// Number of this snapshot, for the log.
    pub id: u64,
    /// Commands that run side by side.
    pub lanes: u32,
    /// From a submission to its start when nothing runs, in ns: shows once, since commands that
    /// wait hide it from each other.
    pub start_ns: f64,
    /// Media to device memory, which all lanes share; nothing when that is in their own time.
    pub media: Option<MediaRates>,
    /// Device memory to host, in bytes a second, which all lanes share; nothing when that is in
    /// their own time.
    pub link_bytes_per_s: Option<f64>,
    /// Stored bytes a second of dictionary pages that a lane loads while the rows of the command
    /// before pass its kernel; nothing when that is in the time of each command.
    pub dictionary_bytes_per_s: Option<f64>,
    /// Rates of scans on a lane.
    pub scan: RatesByRequest,
    /// Rates of merges on a lane.
    pub merge: RatesByRequest,
    /// Commands in the queue.
    pub queue_depth: u32,
    /// Device memory that is free.
    pub free_bytes: u64,
    /// The image that is loaded; nothing when the drive has no other one.
    pub image: Option<LoadedImage>,
}

/// The loaded one of the images of a drive, and what it takes to load another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadedImage {
    /// Columns of one command that it scans.
    pub columns_max: u32,
    /// Whether it merges.
    pub merges: bool,
    /// Time of an exchange, in ns.
    pub exchange_ns: f64,
}

impl LoadedImage {
    /// An image of this ability; none is loaded during an exchange, and after one that failed.
    pub fn of(ability: Option<ImageAbility>, exchange_ns: u64) -> Self {
        let ability = ability.unwrap_or_default();
        let exchange_ns = to_f64(exchange_ns);
        Self { columns_max: ability.columns_max, merges: ability.merges(), exchange_ns }
    }
}

impl CostSnapshot {
    /// The rates of a kernel.
    pub const fn rates(&self, kernel: Kernel) -> &RatesByRequest {
        match kernel {
            Kernel::Scan => &self.scan,
            Kernel::Merge => &self.merge,
        }
    }

    pub(crate) const fn rates_mut(&mut self, kernel: Kernel) -> &mut RatesByRequest {
        match kernel {
            Kernel::Scan => &mut self.scan,
            Kernel::Merge => &mut self.merge,
        }
    }

    /// Time until the image is loaded that scans so many columns, in ns.
    pub fn exchange_ns_of_scan(&self, columns: usize) -> f64 {
        let is_narrow = |image: &LoadedImage| columns as u64 > u64::from(image.columns_max);
        self.image.filter(is_narrow).map_or(0.0, |image| image.exchange_ns)
    }

    /// Time until the image is loaded that merges, in ns.
    pub fn exchange_ns_of_merge(&self) -> f64 {
        self.image.filter(|image| !image.merges).map_or(0.0, |image| image.exchange_ns)
    }

    /// Whether any rate comes from a model.
    pub fn is_modelled(&self) -> bool {
        let known = self.scan.known().chain(self.merge.known());
        known.into_iter().any(|(_, rates)| rates.source == RateSource::Modelled)
    }
}

/// Exact up to 2^53, which no amount of a plan reaches.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
pub(crate) fn to_f64(amount: u64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(4 << 10, RequestClass::Page)]
    #[case(16 << 10, RequestClass::Page)]
    #[case((16 << 10) + 1, RequestClass::Chunk)]
    #[case(256 << 10, RequestClass::Chunk)]
    #[case(1 << 20, RequestClass::Group)]
    #[case((2 << 20) + 1, RequestClass::Large)]
    fn requests_have_a_class(#[case] bytes: u64, #[case] class: RequestClass) {
        assert_eq!(RequestClass::of(bytes), class);
    }

    #[rstest]
    #[case(1 << 10, 1e9)]
    #[case(4 << 10, 1e9)]
    // Half way on the logarithm.
    #[case(16 << 10, 2e9)]
    #[case(64 << 10, 3e9)]
    #[case(1 << 30, 3e9)]
    fn media_rates_lie_between_their_points(#[case] bytes: u64, #[case] rate: f64) {
        let point =
            |request_bytes: u64, bytes_per_s: f64| MediaPoint { request_bytes, bytes_per_s };
        let rates = MediaRates::new(vec![point(64 << 10, 3e9), point(4 << 10, 1e9)]).unwrap();
        assert!((rates.bytes_per_s(bytes) - rate).abs() < 1.0);
        assert_eq!(MediaRates::new(vec![]), None);
    }

    #[test]
    fn lane_is_busy_with_each_amount() {
        let rates = KernelRates {
            setup_ns: 1000.0,
            ns_per_media_byte: 0.5,
            ns_per_dictionary_byte: 3.0,
            ns_per_row: 2.0,
            ns_per_look_up: 40.0,
            ns_per_string_byte: 5.0,
            ns_per_link_byte: 0.25,
            ..KernelRates::zero(RateSource::Assumed)
        };
        let load = Load {
            commands: 3,
            media_bytes: 100,
            dictionary_bytes: 7,
            rows: 10,
            look_ups: 11,
            string_bytes: 12,
            link_bytes: 8,
        };
        let expected = 3000.0 + 50.0 + 21.0 + 20.0 + 440.0 + 60.0 + 2.0;
        assert!((rates.busy_ns(&load) - expected).abs() < 1e-9);
        assert!((rates.busy_ns(&load.with(load)) - 2.0 * expected).abs() < 1e-9);
    }
}
