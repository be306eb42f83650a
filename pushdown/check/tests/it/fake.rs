// SPDX-License-Identifier: Apache-2.0
//! Implements a drive that returns rows of NULLs at once, and reports times computed from its
//! rates.

use std::sync::Arc;

use bytes::Bytes;
use nearscan_command::{
    BlockForm, CellColumn, Cells, ColumnarWriter, Command, Counters, MediaPlan, Output,
    ResultHeader, Status,
};
use nearscan_drive::{
    CancelOutcome, CancelWord, Capabilities, Completion, CostSnapshot, Drive, DriveTime, Failure,
    FileRef, Identity, KernelTime, Lease, Measured, ModelId, Modelled, Outcome, Placement,
    RatesByRequest, Refusal, Schedules, Session, SessionSpec, StageTimes, Submission, Ticket,
    Traffic, Work,
};

/// Compute units.
pub(crate) const UNITS: u32 = 2;

/// The time that the drive reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// That it was read from a clock.
    Measured,
    /// That it comes from a model.
    Modelled,
}

/// Rates, none of which is that of the time model.
pub(crate) const SETUP_NS: u64 = 70_000;
pub(crate) const START_NS: u64 = 30_000;
pub(crate) const CLOCK_HZ: f64 = 200e6;
pub(crate) const LINK_BYTES_PER_NS: u64 = 4;
/// Of a request alone, and of each byte.
pub(crate) const MEDIA_LATENCY_NS: u64 = 40_000;
pub(crate) const MEDIA_BYTES_PER_NS: u64 = 2;

/// Those of the model that the figures do not tell.
const FILL_NS: u64 = 6667;
const LINK_LATENCY_NS: u64 = 10_000;

#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) clock: Clock,
    pub(crate) capabilities: Capabilities,
    /// Commands that read more fail.
    pub(crate) bytes_max: u64,
    pub(crate) identity: Identity,
}

impl Fake {
    pub(crate) fn new(clock: Clock) -> Self {
        let identity =
            Identity { uuid: uuid::Uuid::nil(), kind: "fake", model: "of known times".to_owned() };
        let capabilities = Capabilities { in_flight_max: 5, ..Capabilities::of_scan_kernel() };
        Self { clock, capabilities, bytes_max: u64::MAX, identity }
    }
}

impl Drive for Fake {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn locate(&self, _file: &FileRef) -> Placement {
        Placement::Here { file_id: 7 }
    }

    fn snapshot(&self) -> CostSnapshot {
        CostSnapshot {
            id: 0,
            lanes: UNITS,
            start_ns: 0.0,
            media: None,
            link_bytes_per_s: None,
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::UNKNOWN,
            merge: RatesByRequest::UNKNOWN,
            queue_depth: 0,
            free_bytes: 0,
            image: None,
        }
    }

    fn open_session(&self, _spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        Ok(Arc::new(FakeSession { clock: self.clock, bytes_max: self.bytes_max }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        Ok(3)
    }

    fn in_flight(&self) -> u32 {
        0
    }

    fn shutdown(&self) {}
}

#[derive(Debug)]
struct FakeSession {
    clock: Clock,
    bytes_max: u64,
}

impl Session for FakeSession {
    fn epoch(&self) -> u64 {
        3
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        Ok(Lease::new(bytes, |_| {}))
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let Work::Scan(command) = &submission.work else { panic!("the check submits no merges") };
        let (ticket, sender) = Ticket::new(&command.envelope, CancelWord::default());
        let (result, counters) = result(command);
        let traffic = Traffic {
            media_bytes: MediaPlan::of(&command.unit.inputs).media_bytes(),
            link_bytes: result.len() as u64,
            host_bytes: 0,
        };
        let time = modelled(&traffic, &counters);
        let completion = Completion {
            command_id: command.envelope.command_id,
            attempt: command.envelope.attempt,
            outcome: match traffic.media_bytes > self.bytes_max {
                true => Outcome::Failed(Failure::Timeout),
                false => Outcome::Finished(result),
            },
            time: match self.clock {
                Clock::Measured => DriveTime::Measured(Measured { ns: time.serial_ns() }),
                Clock::Modelled => DriveTime::Modelled(time),
            },
            traffic,
        };
        drop(sender.send(completion));
        Ok(ticket)
    }

    fn cancel(&self, _command_id: u128) -> CancelOutcome {
        CancelOutcome::Unknown
    }
}

/// A row of NULLs for each row, or one; an iteration for each row, two for each that is sent.
fn result(command: &Command) -> (Bytes, Counters) {
    // The suite has units that declare more rows than they have.
    let rows = command.unit.rows.min(1 << 20);
    let is_count = matches!(command.fragment.output, Output::States { .. });
    let rows_out = if is_count { 1 } else { rows };
    let iterations = |iterations: u64| u32::try_from(iterations).unwrap();
    let counters = Counters {
        filter_iterations: iterations(rows),
        write_iterations: iterations(rows_out * 2),
        ..Counters::default()
    };
    let widths = command.fragment.output_widths();
    let mut writer = ColumnarWriter::new(&widths, BlockForm::Plain);
    let nulls = vec![CellColumn { cells: Cells::Null, validity: None }; widths.len()];
    writer.push(usize::try_from(rows_out).unwrap(), &nulls).unwrap();
    let header = ResultHeader {
        rows_in: rows,
        rows_kept: rows,
        continuation_row: rows,
        counters,
        ..ResultHeader::failed(&command.envelope, Status::Ok)
    };
    (Bytes::from(writer.finish(header)), counters)
}

fn modelled(traffic: &Traffic, counters: &Counters) -> Modelled {
    let iterations = counters.filter_iterations.max(counters.write_iterations);
    // 5 ns each, by the clock.
    let kernel_ns = START_NS + FILL_NS + u64::from(iterations) * 5;
    let wait_ns = if traffic.media_bytes == 0 { 0 } else { MEDIA_LATENCY_NS };
    Modelled {
        model: ModelId { version: 1, config_hash: 0, schedules: Schedules::default() },
        setup_ns: SETUP_NS + wait_ns,
        media_ns: traffic.media_bytes / MEDIA_BYTES_PER_NS,
        bank_ns: 0,
        kernel: KernelTime::unpipelined(kernel_ns),
        ideal_kernel: KernelTime::unpipelined(kernel_ns),
        stages: StageTimes::default(),
        merge_ns: 0,
        exchange_ns: 0,
        link_ns: LINK_LATENCY_NS + traffic.link_bytes / LINK_BYTES_PER_NS,
        compute_units: UNITS,
        commands: 1,
    }
}
