// SPDX-License-Identifier: Apache-2.0
//! Runs jobs on a drive, alone and queued, and takes their times.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc, time::Duration};

use futures::executor::block_on;
use nearscan_command::{Command, Counters};
use nearscan_drive::{
    Drive, DriveTime, Measured, Modelled, Refusal, Session, SessionSpec, Submission, Ticket,
    Traffic, Unlimited, clock::Stopwatch,
};

use crate::{
    error::{Error, Result},
    job::Job,
    observed::{MeasuredSamples, ModelledSamples, Observed},
};

/// Times that a job runs alone; one more before, which does not count.
const RUNS_ALONE: usize = 7;

/// Times that both batches run.
const BATCH_RUNS: usize = 3;

/// Commands in flight together at most.
const IN_FLIGHT_MAX: u32 = 16;

/// Time after which a drive counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// Called before each step; returns whether to continue.
pub type Watch<'a> = dyn FnMut(&str) -> ControlFlow<()> + 'a;

/// The times of a command alone, by two clocks.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Alone {
    /// By the clock of this machine, from its submission until its completion is here, in ns.
    pub(crate) here: Observed,
    /// By the clock of the drive where it has one, else by that of this machine, in ns.
    pub(crate) drive: Observed,
    /// The traffic and the counters of one of them.
    pub(crate) told: Told,
}

/// The time of each further command while others were in flight.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Queued {
    /// By the clock of this machine, in ns.
    pub(crate) each: Observed,
    /// The traffic and the counters of one of them.
    pub(crate) told: Told,
}

/// The report of a drive about a command, beside its time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Told {
    pub(crate) traffic: Traffic,
    pub(crate) counters: Counters,
}

/// Runs jobs.
pub(crate) struct Bench<'a, 'w> {
    pub(crate) drive: &'a dyn Drive,
    watch: &'a mut Watch<'w>,
    session: Arc<dyn Session>,
    next_id: u128,
}

struct Sent {
    command: Command,
    ticket: Ticket,
}

impl<'a, 'w> Bench<'a, 'w> {
    pub(crate) fn open(drive: &'a dyn Drive, watch: &'a mut Watch<'w>) -> Result<Self> {
        // Two checks of one drive at once must not use the same numbers.
        let next_id = u128::from(nearscan_drive::clock::unix_ns()) << 32;
        let spec = SessionSpec { query_id: next_id, tenant: 0, budget: Arc::new(Unlimited) };
        let session = drive.open_session(spec)?;
        Ok(Self { drive, watch, session, next_id })
    }

    /// Runs a job again and again, each time alone.
    pub(crate) fn alone(&mut self, job: &Job) -> Result<Alone> {
        self.tell(&format!("{}, alone", job.name))?;
        self.one(job)?;
        let runs = (0..RUNS_ALONE).map(|_| self.one(job)).collect::<Result<Vec<_>>>()?;
        let modelled = ModelledSamples::new(runs.iter().filter_map(|run| match run.end.time {
            DriveTime::Modelled(modelled) => Some(to_f64(modelled.serial_ns())),
            DriveTime::Measured(_) => None,
        }));
        let own = |run: &Run| match run.end.time {
            DriveTime::Measured(measured) if measured.ns > 0 => to_f64(measured.ns),
            DriveTime::Measured(_) | DriveTime::Modelled(_) => to_f64(run.here.ns),
        };
        let here = MeasuredSamples::new(runs.iter().map(|run| to_f64(run.here.ns)));
        Ok(Alone {
            here: Observed { measured: here, modelled: modelled.clone() },
            drive: Observed { measured: MeasuredSamples::new(runs.iter().map(own)), modelled },
            told: runs.last().map(|run| run.end.told).unwrap_or_default(),
        })
    }

    /// Runs a batch of a job with many in flight, and one that is twice as large: what that takes
    /// longer is the commands' own, without what shows once.
    pub(crate) fn queued(&mut self, job: &Job, commands: u32) -> Result<Queued> {
        self.tell(&format!("{}, {commands} in flight", job.name))?;
        let (mut measured, mut modelled) = (Vec::new(), Vec::new());
        let mut told = Told::default();
        for _ in 0..BATCH_RUNS {
            let small = self.batch(job, commands)?;
            let large = self.batch(job, commands * 2)?;
            let each =
                |small: u64, large: u64| (to_f64(large) - to_f64(small)) / f64::from(commands);
            measured.push(each(small.time.ns, large.time.ns));
            if let (Some(small), Some(large)) = (small.modelled, large.modelled) {
                modelled.push(each(small.makespan_ns(), large.makespan_ns()));
            }
            told = large.told;
        }
        let each = Observed {
            measured: MeasuredSamples::new(measured),
            modelled: ModelledSamples::new(modelled),
        };
        Ok(Queued { each, told })
    }

    fn tell(&mut self, what: &str) -> Result<()> {
        match (self.watch)(what) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped),
        }
    }

    fn one(&mut self, job: &Job) -> Result<Run> {
        let command = self.command(job);
        let watch = Stopwatch::start();
        let sent = self.submit(command)?;
        let end = finish(sent)?;
        Ok(Run { here: watch.measured(), end })
    }

    fn batch(&mut self, job: &Job, commands: u32) -> Result<Batch> {
        let depth = self.drive.capabilities().in_flight_max.clamp(1, IN_FLIGHT_MAX) as usize;
        let mut sent = VecDeque::new();
        let mut done = Done::default();
        let watch = Stopwatch::start();
        for _ in 0..commands {
            while sent.len() >= depth {
                done.finish_first(&mut sent)?;
            }
            let command = self.command(job);
            loop {
                match self.submit(command.clone()) {
                    Ok(one) => break sent.push_back(one),
                    // Its own ones are in the way; with none left nothing would change.
                    Err(Error::Refused(Refusal::Busy | Refusal::LowMemory { .. }))
                        if !sent.is_empty() =>
                    {
                        done.finish_first(&mut sent)?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        while !sent.is_empty() {
            done.finish_first(&mut sent)?;
        }
        let modelled = done.modelled.filter(|modelled| modelled.commands == u64::from(commands));
        Ok(Batch { time: watch.measured(), modelled, told: done.told })
    }

    fn command(&mut self, job: &Job) -> Command {
        self.next_id += 1;
        job.command(self.next_id, self.session.epoch())
    }

    fn submit(&self, command: Command) -> Result<Sent> {
        let lease = self.session.lease(command.device_bytes())?;
        let work = command.clone().into();
        let ticket = self.session.submit(Submission { work, lease, timeout: PATIENCE })?;
        Ok(Sent { command, ticket })
    }
}

/// A command that ran alone.
struct Run {
    here: Measured,
    end: End,
}

/// The outcome of a command.
struct End {
    time: DriveTime,
    told: Told,
}

/// A batch that is done.
struct Batch {
    time: Measured,
    /// Of all its commands together, if they come from one model.
    modelled: Option<Modelled>,
    told: Told,
}

/// The sum of the reports of the commands of a batch so far.
#[derive(Default)]
struct Done {
    modelled: Option<Modelled>,
    told: Told,
}

impl Done {
    fn finish_first(&mut self, sent: &mut VecDeque<Sent>) -> Result<()> {
        let Some(first) = sent.pop_front() else { return Ok(()) };
        let end = finish(first)?;
        self.told = end.told;
        if let DriveTime::Modelled(time) = end.time {
            let sum = self.modelled.and_then(|sum| sum.combine(time));
            self.modelled = Some(sum.unwrap_or(time));
        }
        Ok(())
    }
}

/// Waits for a command, and checks what it gave.
fn finish(sent: Sent) -> Result<End> {
    let completion = block_on(sent.ticket);
    let counters = completion.check(&sent.command).map_err(Box::new)?.header.counters;
    let told = Told { traffic: completion.traffic, counters };
    Ok(End { time: completion.time, told })
}

/// Exact up to 2^53 ns, which is a hundred days.
#[expect(clippy::cast_precision_loss, reason = "times and bytes are far below 2^53")]
pub(crate) fn to_f64(amount: u64) -> f64 {
    amount as f64
}
