// SPDX-License-Identifier: Apache-2.0
//! Converts the types of a drive to messages and back. Unknown values in a message are ignored: a
//! newer peer may offer more than this version can use.

pub(crate) mod applications;
pub(crate) mod objects;

use nearscan_command::{Codec, Encoding, Encodings, Function, Op, PhysicalType, TestOp};
use nearscan_drive::{
    Capabilities, CostSnapshot, DriveTime, Failure, FitQuality, KernelRates, KernelStage,
    KernelTime, LoadedImage, Measured, MediaPoint, MediaRates, ModelId, Modelled, RateSource,
    RatesByRequest, RequestClass, Schedule, Schedules, StageTimes, Traffic,
};

use crate::protocol::{self, Cause, Failed};

/// The bytes of an identity.
pub(crate) fn id_bytes(id: u128) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

/// The identity in these bytes; 0 when there are not sixteen of them, which no peer of ours sends.
pub(crate) fn id_of(bytes: &[u8]) -> u128 {
    bytes.try_into().map_or(0, u128::from_be_bytes)
}

/// The members of a set whose numbers are known.
fn known<T, C: TryFrom<u32>>(
    codes: &[u32],
    member: impl Fn(C) -> Result<T, nearscan_command::Error>,
) -> Vec<T> {
    codes.iter().filter_map(|code| member(C::try_from(*code).ok()?).ok()).collect()
}

impl From<&Capabilities> for protocol::Capabilities {
    fn from(from: &Capabilities) -> Self {
        let encodings = Encoding::ALL.iter().map(|(encoding, _)| *encoding);
        let encodings = encodings.filter(|encoding| from.encodings.contains(*encoding));
        Self {
            version: from.version,
            physical_types: from.physical_types.iter().map(|ty| ty.code().into()).collect(),
            codecs: from.codecs.iter().map(|codec| codec.code().into()).collect(),
            encodings: encodings.map(|encoding| encoding.code().into()).collect(),
            operations: from.operations.iter().map(|op| op.code().into()).collect(),
            tests: from.tests.iter().map(|test| test.code().into()).collect(),
            functions: from.functions.iter().map(|function| function.code().into()).collect(),
            columns_max: from.columns_max,
            steps_max: from.steps_max,
            aggregates_max: from.aggregates_max,
            keys_max: from.keys_max,
            key_dictionary_bytes_max: from.key_dictionary_bytes_max,
            dictionary_bytes_max: from.dictionary_bytes_max,
            merge_inputs_max: from.merge_inputs_max,
            in_flight_max: from.in_flight_max,
            memory_bytes: from.memory_bytes,
            emulated: from.emulated,
            key_bits_bytes_max: from.key_bits_bytes_max,
            compact_results: from.compact_results,
            merge_columns_max: Some(from.merge_columns_max),
        }
    }
}

impl From<&protocol::Capabilities> for Capabilities {
    fn from(from: &protocol::Capabilities) -> Self {
        Self {
            version: from.version,
            physical_types: known(&from.physical_types, PhysicalType::from_code),
            codecs: known(&from.codecs, Codec::from_code),
            encodings: Encodings::of(known(&from.encodings, Encoding::from_code)),
            operations: known(&from.operations, Op::from_code),
            tests: known(&from.tests, TestOp::from_code),
            functions: known(&from.functions, Function::from_code),
            columns_max: from.columns_max,
            steps_max: from.steps_max,
            aggregates_max: from.aggregates_max,
            keys_max: from.keys_max,
            key_dictionary_bytes_max: from.key_dictionary_bytes_max,
            dictionary_bytes_max: from.dictionary_bytes_max,
            merge_inputs_max: from.merge_inputs_max,
            in_flight_max: from.in_flight_max,
            memory_bytes: from.memory_bytes,
            emulated: from.emulated,
            key_bits_bytes_max: from.key_bits_bytes_max,
            compact_results: from.compact_results,
            merge_columns_max: from.merge_columns_max.unwrap_or(from.columns_max),
        }
    }
}

/// Sources of rates by their number in messages.
const SOURCES: [RateSource; 3] = [RateSource::Assumed, RateSource::Modelled, RateSource::Measured];

/// The place of an item in a table that has all of them.
fn place_of<T: PartialEq>(table: impl IntoIterator<Item = T>, item: &T) -> u32 {
    let place = table.into_iter().position(|other| other == *item);
    place.and_then(|place| u32::try_from(place).ok()).unwrap_or(u32::MAX)
}

fn rates_to(from: &RatesByRequest) -> Vec<protocol::Rates> {
    let classes = || RequestClass::ALL.into_iter().map(|(class, _)| class);
    let rates = from.known().map(|(class, rates)| protocol::Rates {
        class: place_of(classes(), &class),
        setup_ns: rates.setup_ns,
        ns_per_media_byte: rates.ns_per_media_byte,
        ns_per_dictionary_byte: rates.ns_per_dictionary_byte,
        ns_per_row: rates.ns_per_row,
        ns_per_look_up: rates.ns_per_look_up,
        ns_per_string_byte: rates.ns_per_string_byte,
        ns_per_link_byte: rates.ns_per_link_byte,
        source: place_of(SOURCES, &rates.source),
        fit: rates
            .fit
            .map(|fit| protocol::Fit { observations: fit.observations, residual: fit.residual }),
    });
    rates.collect()
}

fn rates_from(from: &[protocol::Rates]) -> RatesByRequest {
    let mut all = RatesByRequest::UNKNOWN;
    for rates in from {
        let class = RequestClass::ALL.get(rates.class as usize);
        let source = SOURCES.get(rates.source as usize);
        let (Some((class, _)), Some(source)) = (class, source) else { continue };
        let fit = |fit: &protocol::Fit| FitQuality {
            observations: fit.observations,
            residual: fit.residual,
        };
        all.set(
            *class,
            KernelRates {
                setup_ns: rates.setup_ns,
                ns_per_media_byte: rates.ns_per_media_byte,
                ns_per_dictionary_byte: rates.ns_per_dictionary_byte,
                ns_per_row: rates.ns_per_row,
                ns_per_look_up: rates.ns_per_look_up,
                ns_per_string_byte: rates.ns_per_string_byte,
                ns_per_link_byte: rates.ns_per_link_byte,
                source: *source,
                fit: rates.fit.as_ref().map(fit),
            },
        );
    }
    all
}

impl From<&CostSnapshot> for protocol::Snapshot {
    fn from(from: &CostSnapshot) -> Self {
        let points = from.media.iter().flat_map(MediaRates::points);
        let media = points.map(|point| protocol::MediaPoint {
            request_bytes: point.request_bytes,
            bytes_per_s: point.bytes_per_s,
        });
        Self {
            id: from.id,
            lanes: from.lanes,
            start_ns: from.start_ns,
            media: media.collect(),
            link_bytes_per_s: from.link_bytes_per_s,
            dictionary_bytes_per_s: from.dictionary_bytes_per_s,
            scan: rates_to(&from.scan),
            merge: rates_to(&from.merge),
            queue_depth: from.queue_depth,
            free_bytes: from.free_bytes,
            image: from.image.as_ref().map(|image| protocol::LoadedImage {
                columns_max: image.columns_max,
                merges: image.merges,
                exchange_ns: image.exchange_ns,
            }),
        }
    }
}

impl From<&protocol::Snapshot> for CostSnapshot {
    fn from(from: &protocol::Snapshot) -> Self {
        let points = from.media.iter().map(|point| MediaPoint {
            request_bytes: point.request_bytes,
            bytes_per_s: point.bytes_per_s,
        });
        Self {
            id: from.id,
            lanes: from.lanes,
            start_ns: from.start_ns,
            media: MediaRates::new(points.collect()),
            link_bytes_per_s: from.link_bytes_per_s,
            dictionary_bytes_per_s: from.dictionary_bytes_per_s,
            scan: rates_from(&from.scan),
            merge: rates_from(&from.merge),
            queue_depth: from.queue_depth,
            free_bytes: from.free_bytes,
            image: from.image.as_ref().map(|image| LoadedImage {
                columns_max: image.columns_max,
                merges: image.merges,
                exchange_ns: image.exchange_ns,
            }),
        }
    }
}

impl From<&DriveTime> for protocol::Time {
    fn from(from: &DriveTime) -> Self {
        match from {
            DriveTime::Measured(measured) => Self::MeasuredNs(measured.ns),
            DriveTime::Modelled(time) => Self::Modelled(protocol::Modelled {
                model_version: time.model.version,
                config_hash: time.model.config_hash,
                schedules: KernelStage::ALL
                    .map(|(stage, ..)| time.model.schedules.of(stage) as u32)
                    .to_vec(),
                setup_ns: time.setup_ns,
                media_ns: time.media_ns,
                bank_ns: time.bank_ns,
                kernel_ns: time.kernel.alone_ns,
                kernel_interval_ns: Some(time.kernel.interval_ns),
                ideal_kernel_ns: time.ideal_kernel.alone_ns,
                ideal_kernel_interval_ns: Some(time.ideal_kernel.interval_ns),
                stages_ns: KernelStage::ALL.map(|(stage, ..)| time.stages.get(stage)).to_vec(),
                merge_ns: time.merge_ns,
                exchange_ns: time.exchange_ns,
                link_ns: time.link_ns,
                compute_units: time.compute_units,
                commands: time.commands,
            }),
        }
    }
}

/// The time of a command; of one that says nothing of it, none was measured.
pub(crate) fn time_of(from: Option<&protocol::Time>) -> DriveTime {
    match from {
        None => DriveTime::Measured(Measured::default()),
        Some(protocol::Time::MeasuredNs(ns)) => DriveTime::Measured(Measured { ns: *ns }),
        Some(protocol::Time::Modelled(time)) => {
            let stages = KernelStage::ALL.iter().zip(&time.stages_ns);
            let stages = stages
                .fold(StageTimes::default(), |times, ((stage, ..), ns)| times.with(*stage, *ns));
            let schedules = KernelStage::ALL.iter().zip(&time.schedules);
            let schedules = schedules.fold(Schedules::default(), |all, ((stage, ..), index)| {
                all.with(*stage, Schedule::from_index(*index))
            });
            DriveTime::Modelled(Modelled {
                model: ModelId {
                    version: time.model_version,
                    config_hash: time.config_hash,
                    schedules,
                },
                setup_ns: time.setup_ns,
                media_ns: time.media_ns,
                bank_ns: time.bank_ns,
                kernel: kernel_time(time.kernel_ns, time.kernel_interval_ns),
                ideal_kernel: kernel_time(time.ideal_kernel_ns, time.ideal_kernel_interval_ns),
                stages,
                merge_ns: time.merge_ns,
                exchange_ns: time.exchange_ns,
                link_ns: time.link_ns,
                compute_units: time.compute_units,
                commands: time.commands,
            })
        }
    }
}

/// The time of a kernel. A peer that sends no interval knows of none: it is the time alone, which
/// is also the upper limit of an interval.
fn kernel_time(alone_ns: u64, interval_ns: Option<u64>) -> KernelTime {
    KernelTime { alone_ns, interval_ns: interval_ns.unwrap_or(alone_ns).min(alone_ns) }
}

/// The bytes that a command moved.
pub(crate) const fn traffic_of(ended: &protocol::Ended) -> Traffic {
    Traffic {
        media_bytes: ended.media_bytes,
        link_bytes: ended.link_bytes,
        host_bytes: ended.host_bytes,
    }
}

impl From<&Failure> for Failed {
    fn from(from: &Failure) -> Self {
        let of = |cause: Cause| Self { cause: cause.into(), ..Self::default() };
        match from.clone() {
            Failure::Read { path, reason } => Self { path, reason, ..of(Cause::Read) },
            Failure::Stale { path } => Self { path, ..of(Cause::Stale) },
            Failure::Timeout => of(Cause::Timeout),
            Failure::Cancelled => of(Cause::Cancelled),
            Failure::Gone { reason } => Self { reason, ..of(Cause::Gone) },
            Failure::HostMemory { needed_bytes } => Self { needed_bytes, ..of(Cause::HostMemory) },
            Failure::Busy => of(Cause::Busy),
            Failure::LowMemory { needed_bytes } => Self { needed_bytes, ..of(Cause::LowMemory) },
            Failure::Kernel { reason } => Self { reason, ..of(Cause::Kernel) },
        }
    }
}

impl From<Failed> for Failure {
    fn from(from: Failed) -> Self {
        let cause = from.cause();
        let Failed { path, reason, needed_bytes, .. } = from;
        match cause {
            Cause::Read => Self::Read { path, reason },
            Cause::Stale => Self::Stale { path },
            Cause::Timeout => Self::Timeout,
            Cause::Cancelled => Self::Cancelled,
            Cause::Gone => Self::Gone { reason },
            Cause::HostMemory => Self::HostMemory { needed_bytes },
            Cause::Busy => Self::Busy,
            Cause::LowMemory => Self::LowMemory { needed_bytes },
            Cause::Kernel => Self::Kernel { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn capabilities_survive_a_round_trip() {
        let mut there = Capabilities::of_scan_kernel();
        there.merge_inputs_max = 7;
        there.merge_columns_max = 3;
        there.key_bits_bytes_max = 4096;
        there.emulated = true;
        there.encodings = Encodings::SCAN;
        let back = Capabilities::from(&protocol::Capabilities::from(&there));
        assert_eq!(back, there);
    }

    #[test]
    fn server_without_columns_of_merges_merges_scans_of_all_columns() {
        let there = Capabilities { columns_max: 7, ..Capabilities::of_scan_kernel() };
        let mut message = protocol::Capabilities::from(&there);
        message.merge_columns_max = None;
        assert_eq!(Capabilities::from(&message).merge_columns_max, 7);
    }

    #[test]
    fn unknown_capabilities_are_ignored() {
        let mut message = protocol::Capabilities::from(&Capabilities::of_scan_kernel());
        message.operations.extend([250, 70_000]);
        message.encodings.push(200);
        assert_eq!(Capabilities::from(&message), Capabilities::of_scan_kernel());
    }

    #[test]
    fn snapshots_survive_a_round_trip() {
        let rates = |source, fit| KernelRates {
            setup_ns: 1.5,
            ns_per_media_byte: 2.5,
            ns_per_dictionary_byte: 5.5,
            ns_per_row: 3.5,
            ns_per_look_up: 6.5,
            ns_per_string_byte: 7.5,
            ns_per_link_byte: 4.5,
            source,
            fit,
        };
        let mut merge = RatesByRequest::UNKNOWN;
        let fit = Some(FitQuality { observations: 3, residual: 0.1 });
        merge.set(RequestClass::Large, rates(RateSource::Measured, fit));
        let there = CostSnapshot {
            id: 3,
            lanes: 4,
            start_ns: 5.0,
            media: MediaRates::new(vec![MediaPoint { request_bytes: 9, bytes_per_s: 1e9 }]),
            link_bytes_per_s: Some(2e9),
            dictionary_bytes_per_s: Some(3e9),
            scan: RatesByRequest::uniform(rates(RateSource::Modelled, None)),
            merge,
            queue_depth: 6,
            free_bytes: 7,
            image: Some(LoadedImage { columns_max: 5, merges: true, exchange_ns: 8.5 }),
        };
        assert_eq!(CostSnapshot::from(&protocol::Snapshot::from(&there)), there);
        let none = CostSnapshot {
            media: None,
            link_bytes_per_s: None,
            dictionary_bytes_per_s: None,
            image: None,
            ..there
        };
        assert_eq!(CostSnapshot::from(&protocol::Snapshot::from(&none)), none);
    }

    #[test]
    fn times_keep_their_type_in_a_round_trip() {
        let measured = DriveTime::Measured(Measured { ns: 7 });
        let mut stages = StageTimes::default();
        for (ns, (stage, ..)) in (1..).zip(KernelStage::ALL) {
            stages = stages.with(stage, ns);
        }
        let modelled = |schedule| {
            DriveTime::Modelled(Modelled {
                model: ModelId {
                    version: 2,
                    config_hash: u64::MAX,
                    schedules: Schedules::default().with(KernelStage::Write, schedule),
                },
                setup_ns: 1,
                media_ns: 2,
                bank_ns: 8,
                kernel: KernelTime { alone_ns: 4, interval_ns: 3 },
                ideal_kernel: KernelTime { alone_ns: 9, interval_ns: 8 },
                stages,
                merge_ns: 4,
                exchange_ns: 14,
                link_ns: 5,
                compute_units: 6,
                commands: 7,
            })
        };
        for time in
            [measured].into_iter().chain(Schedule::ALL.map(|(schedule, _)| modelled(schedule)))
        {
            assert_eq!(time_of(Some(&protocol::Time::from(&time))), time);
        }
    }

    #[rstest]
    // Up to version 1.6, and against the rule.
    #[case(None, KernelTime::unpipelined(5))]
    #[case(Some(3), KernelTime { alone_ns: 5, interval_ns: 3 })]
    #[case(Some(6), KernelTime::unpipelined(5))]
    fn interval_is_at_most_the_time_alone(
        #[case] kernel_interval_ns: Option<u64>,
        #[case] expected: KernelTime,
    ) {
        let time = protocol::Modelled { kernel_ns: 5, kernel_interval_ns, ..Default::default() };
        let DriveTime::Modelled(found) = time_of(Some(&protocol::Time::Modelled(time))) else {
            panic!("a modelled time");
        };
        assert_eq!(found.kernel, expected);
    }

    #[rstest]
    #[case(Failure::Read { path: "a".to_owned(), reason: "b".to_owned() })]
    #[case(Failure::Stale { path: "a".to_owned() })]
    #[case(Failure::Timeout)]
    #[case(Failure::Cancelled)]
    #[case(Failure::Gone { reason: "b".to_owned() })]
    #[case(Failure::HostMemory { needed_bytes: 7 })]
    #[case(Failure::Busy)]
    #[case(Failure::LowMemory { needed_bytes: 7 })]
    #[case(Failure::Kernel { reason: "b".to_owned() })]
    fn failures_survive_a_round_trip(#[case] failure: Failure) {
        assert_eq!(Failure::from(Failed::from(&failure)), failure);
    }

    #[test]
    fn unknown_failure_is_a_kernel_failure() {
        let failed = Failed { cause: 99, reason: "rain".to_owned(), ..Failed::default() };
        assert_eq!(Failure::from(failed), Failure::Kernel { reason: "rain".to_owned() });
    }
}
