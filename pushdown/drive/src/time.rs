// SPDX-License-Identifier: Apache-2.0
//! Defines measured, modelled and composed time. The three types do not convert into each other, so
//! a modelled figure cannot be in a measured column.

use std::ops::{Add, AddAssign};

use crate::stages::{KernelStage, Limit, Schedule, Schedules, StageTimes};

/// Time read from a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Measured {
    /// Nanoseconds.
    pub ns: u64,
}

impl Add for Measured {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns) }
    }
}

impl AddAssign for Measured {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Which model computed a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// Version of the model.
    pub version: u32,
    /// Hash of its parameters.
    pub config_hash: u64,
    /// Source of the loop schedules of each stage.
    pub schedules: Schedules,
}

/// What commands take of a kernel.
///
/// A unit loads a command, and the dictionaries that do not need its lanes, while the rows of the
/// one before still flow. So a command takes a unit less time with another one behind it than from
/// its start to its end.
///
/// # Invariants
///
/// - `interval_ns` is at most `alone_ns`.
/// - Where nothing overlaps the two are equal.
///
/// Of several commands each is the sum over them. That of the intervals is exact for equal
/// commands. Of others it is no less than either of the two parts takes of all of them, and no more
/// than they take one after the other; that a long part may meet a short one of its neighbour is
/// left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelTime {
    /// From the start of a command to its end on a unit that does nothing else, in ns.
    pub alone_ns: u64,
    /// From its end to that of an equal command right behind it on the same unit, in ns.
    pub interval_ns: u64,
}

impl KernelTime {
    /// Of a kernel that begins a command when it has ended the one before.
    pub const fn unpipelined(ns: u64) -> Self {
        Self { alone_ns: ns, interval_ns: ns }
    }

    /// The times of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            alone_ns: self.alone_ns.saturating_add(other.alone_ns),
            interval_ns: self.interval_ns.saturating_add(other.interval_ns),
        }
    }
}

/// Time computed by a model, split by the resource that was busy. The parts of one command follow
/// each other; of many commands they overlap, see [`Modelled::makespan_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modelled {
    /// The model.
    pub model: ModelId,
    /// Starting the command and waiting for the first bytes, in ns: what commands hide from each
    /// other.
    pub setup_ns: u64,
    /// Media to device memory with as many requests in flight as the drive keeps, in ns.
    pub media_ns: u64,
    /// The bank of device memory, which the media, the kernel and the link all use, in ns.
    pub bank_ns: u64,
    /// The kernel as its source is written.
    pub kernel: KernelTime,
    /// The kernel if it never waited for what it has asked of device memory: with `kernel` the ends
    /// of a band.
    pub ideal_kernel: KernelTime,
    /// Its stages: some of them run side by side.
    pub stages: StageTimes,
    /// Merging the results of the scans of one command, in ns.
    pub merge_ns: u64,
    /// Loading another image before the command, in ns: nothing else goes on meanwhile.
    pub exchange_ns: u64,
    /// Result to the host, in ns.
    pub link_ns: u64,
    /// Compute units that share the kernel time.
    pub compute_units: u32,
    /// Commands in this figure; of a merge, its scans.
    pub commands: u64,
}

impl Modelled {
    /// Time of the command alone on an idle drive, in ns; the scans of a merge one after the other.
    pub fn serial_ns(&self) -> u64 {
        self.scans_ns().saturating_add(self.merge_ns).saturating_add(self.exchange_ns)
    }

    /// The same commands if the kernel never waited for device memory.
    #[must_use]
    pub fn ideal(&self) -> Self {
        Self { kernel: self.ideal_kernel, ..*self }
    }

    /// The source of the schedules that the limit rests on; `None` where no loop is the limit.
    pub fn limit_schedule(&self) -> Option<Schedule> {
        match self.limit() {
            Limit::Kernel(stage) => Some(self.model.schedules.of(stage)),
            Limit::Merge | Limit::Start | Limit::Exchange => Some(Schedule::Assumed),
            Limit::Media | Limit::Bank | Limit::Link => None,
        }
    }

    /// The limit, and the source of the schedules that it rests on: `decode (rows), linted`.
    pub fn limit_with_schedule(&self) -> String {
        match self.limit_schedule() {
            Some(schedule) => format!("{}, {schedule}", self.limit()),
            None => self.limit().to_string(),
        }
    }

    /// All but the merging and the exchange. What the bank does, it does while these parts go on.
    fn scans_ns(&self) -> u64 {
        [self.setup_ns, self.media_ns, self.kernel.alone_ns, self.link_ns]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Time until all commands in this figure are done when the resources overlap: the busiest
    /// resource, plus one mean pass through the others to fill and drain the pipeline. Commands
    /// keep a unit busy for their intervals; the pass takes a command alone. Merges wait for their
    /// scans, and an exchange of images for the commands before it; both overlap with nothing. The
    /// figure does not depend on the order in which commands arrived, so equal commands give equal
    /// times; but which of them exchange an image depends on it.
    pub fn makespan_ns(&self) -> u64 {
        let (_, busiest_ns) = self.busiest();
        let scans_ns = busiest_ns.saturating_add(self.fill_ns());
        scans_ns.saturating_add(self.merge_ns).saturating_add(self.exchange_ns)
    }

    /// Returns the bottleneck of the commands in this figure.
    pub fn limit(&self) -> Limit {
        let (busiest, busiest_ns) = self.busiest();
        let others = [
            (Limit::Start, self.fill_ns()),
            (Limit::Merge, self.merge_ns),
            (Limit::Exchange, self.exchange_ns),
        ];
        others.into_iter().fold((busiest, busiest_ns), longer).0
    }

    /// The resource that was busy longest, and for how long.
    fn busiest(&self) -> (Limit, u64) {
        let units = u64::from(self.compute_units.max(1)).min(self.commands.max(1));
        let kernel = (Limit::Kernel(self.busiest_stage()), self.kernel.interval_ns / units);
        [(Limit::Bank, self.bank_ns), kernel, (Limit::Link, self.link_ns)]
            .into_iter()
            .fold((Limit::Media, self.media_ns), longer)
    }

    /// The stage that was busy longest, in the part of the kernel that commands kept busy longer:
    /// what goes ahead of their rows, or the rest.
    fn busiest_stage(&self) -> KernelStage {
        let (ahead, rest) = self.stages.split();
        let ahead_ns = ahead.sum();
        let is_ahead = ahead_ns > self.kernel.alone_ns.saturating_sub(ahead_ns);
        if is_ahead { ahead.slowest().0 } else { rest.slowest().0 }
    }

    /// One mean pass through all but the busiest resource.
    fn fill_ns(&self) -> u64 {
        let commands = self.commands.max(1);
        (self.scans_ns() / commands).saturating_sub(self.busiest().1 / commands)
    }

    /// The figure for the commands of both; `None` when they come from different models.
    pub fn combine(self, other: Self) -> Option<Self> {
        (self.model == other.model).then(|| Self {
            model: self.model,
            setup_ns: self.setup_ns.saturating_add(other.setup_ns),
            media_ns: self.media_ns.saturating_add(other.media_ns),
            bank_ns: self.bank_ns.saturating_add(other.bank_ns),
            kernel: self.kernel.plus(other.kernel),
            ideal_kernel: self.ideal_kernel.plus(other.ideal_kernel),
            stages: self.stages.plus(other.stages),
            merge_ns: self.merge_ns.saturating_add(other.merge_ns),
            exchange_ns: self.exchange_ns.saturating_add(other.exchange_ns),
            link_ns: self.link_ns.saturating_add(other.link_ns),
            compute_units: self.compute_units.max(other.compute_units),
            commands: self.commands.saturating_add(other.commands),
        })
    }
}

/// The longer of two, of equal ones the first.
fn longer(one: (Limit, u64), other: (Limit, u64)) -> (Limit, u64) {
    if other.1 > one.1 { other } else { one }
}

/// A query with CPU operators over a modelled scan: neither measured nor modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Composed {
    /// Time of the host.
    pub measured: Measured,
    /// Modelled time of the drive.
    pub modelled: Modelled,
    /// The rule by which the two overlap: `serial` adds them, `overlapped` takes the longer.
    pub overlap_rule: &'static str,
}

/// The time of a command as its drive reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one for each command, and it is copied")]
pub enum DriveTime {
    /// The drive is real (or is the CPU).
    Measured(Measured),
    /// The drive is emulated.
    Modelled(Modelled),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modelled(media_ns: u64, kernel_ns: u64, commands: u64) -> Modelled {
        Modelled {
            model: ModelId { version: 1, config_hash: 0, schedules: Schedules::default() },
            setup_ns: 0,
            media_ns,
            bank_ns: 0,
            kernel: KernelTime::unpipelined(kernel_ns),
            ideal_kernel: KernelTime::unpipelined(kernel_ns),
            stages: StageTimes::default().with(KernelStage::Filter, kernel_ns),
            merge_ns: 0,
            exchange_ns: 0,
            link_ns: 0,
            compute_units: 4,
            commands,
        }
    }

    fn linted(stage: KernelStage) -> Schedules {
        Schedules::default().with(stage, Schedule::Linted)
    }

    #[test]
    fn one_command_takes_the_sum_of_its_parts() {
        assert_eq!(modelled(100, 50, 1).makespan_ns(), 150);
    }

    #[test]
    fn many_commands_take_the_busiest_resource_plus_one_pass() {
        let ten = (0..9)
            .fold(modelled(100, 200, 1), |sum, _| sum.combine(modelled(100, 200, 1)).unwrap());
        assert_eq!(ten.commands, 10);
        // Media is busy for 1000, four units share 2000 of kernel: media is the limit.
        assert_eq!(ten.makespan_ns(), 1000 + (300 - 100));
    }

    #[test]
    fn start_time_is_hidden_by_other_commands() {
        let alone = Modelled { setup_ns: 1000, ..modelled(100, 50, 1) };
        assert_eq!((alone.makespan_ns(), alone.limit()), (1150, Limit::Start));
        let hundred = (0..99).fold(alone, |sum, _| sum.combine(alone).unwrap());
        assert_eq!((hundred.makespan_ns(), hundred.limit()), (10_000 + 1050, Limit::Media));
    }

    #[test]
    fn limit_is_busiest_resource() {
        let limit = |figure: Modelled| figure.limit();
        assert_eq!(limit(modelled(100, 50, 1)), Limit::Media);
        assert_eq!(limit(modelled(100, 150, 1)), Limit::Kernel(KernelStage::Filter));
        // Four units share four commands.
        assert_eq!(limit(modelled(400, 800, 4)), Limit::Media);
        assert_eq!(limit(Modelled { link_ns: 500, ..modelled(100, 150, 1) }), Limit::Link);
        assert_eq!(limit(Modelled { merge_ns: 900, ..modelled(100, 150, 1) }), Limit::Merge);
    }

    #[test]
    fn bank_is_busy_while_the_other_parts_go_on() {
        let busy = Modelled { bank_ns: 120, ..modelled(100, 50, 1) };
        assert_eq!((busy.serial_ns(), busy.limit()), (150, Limit::Bank));
        assert_eq!(busy.combine(busy).unwrap().bank_ns, 240);
    }

    #[test]
    fn time_of_an_ideal_kernel_is_the_other_end_of_the_band() {
        let ideal_kernel = KernelTime::unpipelined(30);
        let figure = Modelled { ideal_kernel, ..modelled(20, 50, 1) };
        let two = figure.combine(figure).unwrap();
        assert_eq!((two.kernel.alone_ns, two.ideal().kernel.alone_ns), (100, 60));
        assert_eq!((two.kernel.interval_ns, two.ideal().kernel.interval_ns), (100, 60));
        assert_eq!((figure.makespan_ns(), figure.ideal().makespan_ns()), (70, 50));
    }

    /// A command of two parts: its dictionary is loaded ahead of its rows, on one unit.
    fn in_two_parts(ahead_ns: u64, rows_ns: u64) -> Modelled {
        let alone_ns = ahead_ns + rows_ns;
        let kernel = KernelTime { alone_ns, interval_ns: ahead_ns.max(rows_ns) };
        let stages = StageTimes::default()
            .with(KernelStage::Loaders, ahead_ns)
            .with(KernelStage::Decode, rows_ns);
        Modelled { kernel, ideal_kernel: kernel, stages, compute_units: 1, ..modelled(10, 0, 1) }
    }

    #[test]
    fn commands_behind_each_other_take_a_unit_for_their_intervals() {
        let one = in_two_parts(30, 70);
        assert_eq!((one.serial_ns(), one.makespan_ns()), (110, 110));
        let ten = (0..9).fold(one, |sum, _| sum.combine(one).unwrap());
        // The unit is busy for 70 each; a mean pass has 10 of media and 30 of a dictionary more.
        assert_eq!((ten.serial_ns(), ten.makespan_ns()), (1100, 700 + (110 - 70)));
        // Of unequal ones, the longer part of each.
        let two = one.combine(in_two_parts(90, 20)).unwrap();
        assert_eq!(two.kernel, KernelTime { alone_ns: 210, interval_ns: 160 });
    }

    #[test]
    fn limit_of_the_kernel_is_a_stage_of_its_longer_part() {
        let limit = |ahead_ns, rows_ns| in_two_parts(ahead_ns, rows_ns).limit();
        assert_eq!(limit(60, 50), Limit::Kernel(KernelStage::Loaders));
        assert_eq!(limit(50, 60), Limit::Kernel(KernelStage::Decode));
        // Two stages that follow each other are the longer part, though each is shorter.
        let two = in_two_parts(60, 50);
        let stages = two.stages.with(KernelStage::Dictionary, 40);
        let kernel = KernelTime { alone_ns: 150, interval_ns: 90 };
        let limit = Modelled { stages, kernel, ..two }.limit();
        assert_eq!(limit, Limit::Kernel(KernelStage::Decode));
    }

    #[test]
    fn limit_tells_the_source_of_its_schedule() {
        let figure = modelled(100, 150, 1);
        assert_eq!(figure.limit_with_schedule(), "filter (rows), assumed");
        let model = ModelId { schedules: linted(KernelStage::Filter), ..figure.model };
        assert_eq!(Modelled { model, ..figure }.limit_with_schedule(), "filter (rows), linted");
        // No loop decides how fast the media are.
        assert_eq!(modelled(100, 50, 1).limit_with_schedule(), "media");
        assert_eq!(Modelled { setup_ns: 999, ..figure }.limit_schedule(), Some(Schedule::Assumed));
    }

    #[test]
    fn merge_waits_for_its_scans_and_they_share_units() {
        let merge = Modelled { merge_ns: 500, ..modelled(100, 800, 4) };
        // 800 of kernel on four units, a mean pass through what else a scan takes, then the merge.
        assert_eq!(merge.makespan_ns(), 200 + (900 / 4 - 200 / 4) + 500);
        assert_eq!(merge.serial_ns(), 1400);
        assert_eq!(merge.combine(merge).unwrap().merge_ns, 1000);
    }

    #[test]
    fn exchange_of_images_overlaps_with_nothing() {
        let plain = modelled(100, 50, 1);
        let exchange = Modelled { exchange_ns: 400, ..plain };
        assert_eq!(exchange.serial_ns() - plain.serial_ns(), 400);
        let both = plain.combine(exchange).unwrap();
        let without = plain.combine(plain).unwrap();
        assert_eq!(both.makespan_ns() - without.makespan_ns(), 400);
        assert_eq!(both.limit_with_schedule(), "exchange of images, assumed");
    }

    #[test]
    fn figures_of_different_models_do_not_combine() {
        let figure = modelled(1, 1, 1);
        for model in [
            ModelId { version: 2, ..figure.model },
            ModelId { config_hash: 1, ..figure.model },
            ModelId { schedules: linted(KernelStage::Decode), ..figure.model },
        ] {
            assert_eq!(figure.combine(Modelled { model, ..figure }), None, "{model:?}");
        }
    }
}
