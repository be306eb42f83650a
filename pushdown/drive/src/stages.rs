// SPDX-License-Identifier: Apache-2.0
//! Defines the stages of a scan kernel, their busy times and schedules, and the limit of a command.

use std::fmt;

/// A stage of the scan kernel. All stages of a command run side by side, but for the first two and
/// the dictionaries: no row flows before these are there. The first two of a command go on beside
/// the rows of the one before, see [`Self::goes_ahead`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelStage {
    /// Taking a command from the queue and loading it.
    Start,
    /// Loading dictionaries of numbers, each by one of the loaders that all lanes share.
    Loaders,
    /// Lines of device memory.
    Fetch,
    /// Page headers, and the bytes of pages out of the lines.
    Pages,
    /// Codecs, over data pages.
    Decompress,
    /// Decompressing and storing dictionaries that lanes load themselves.
    Dictionary,
    /// Levels and values.
    Decode,
    /// What the kernel keeps in device memory: entries of large dictionaries, and strings.
    Memory,
    /// The predicate.
    Filter,
    /// Output columns and operands.
    Project,
    /// States of groups.
    Aggregate,
    /// The result.
    Write,
}

impl KernelStage {
    /// All stages, in the order in which rows pass them, and what each counts.
    pub const ALL: [(Self, &'static str, &'static str); 12] = [
        (Self::Start, "start", "commands"),
        (Self::Loaders, "loaders", "iterations"),
        (Self::Fetch, "fetch", "lines"),
        (Self::Pages, "pages", "words"),
        (Self::Decompress, "decompress", "tokens"),
        (Self::Dictionary, "dictionary", "tokens"),
        (Self::Decode, "decode", "rows"),
        (Self::Memory, "memory", "accesses"),
        (Self::Filter, "filter", "rows"),
        (Self::Project, "project", "rows"),
        (Self::Aggregate, "aggregate", "rows"),
        (Self::Write, "write", "words"),
    ];

    /// Whether a unit does this for a command while the rows of the one before still flow.
    pub const fn goes_ahead(self) -> bool {
        match self {
            Self::Start | Self::Loaders => true,
            Self::Fetch
            | Self::Pages
            | Self::Decompress
            | Self::Dictionary
            | Self::Decode
            | Self::Memory
            | Self::Filter
            | Self::Project
            | Self::Aggregate
            | Self::Write => false,
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for KernelStage {
    /// The stage, and what it was busy with: `decode (rows)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, counted) = Self::ALL[self.index()];
        write!(f, "{name} ({counted})")
    }
}

/// Busy time of each stage, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTimes([u64; KernelStage::ALL.len()]);

impl StageTimes {
    /// The time of a stage, in ns.
    pub const fn get(&self, stage: KernelStage) -> u64 {
        self.0[stage.index()]
    }

    /// The same times, but `ns` for `stage`.
    #[must_use]
    pub const fn with(mut self, stage: KernelStage, ns: u64) -> Self {
        self.0[stage.index()] = ns;
        self
    }

    /// The times of both.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        for (sum, ns) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(ns);
        }
        self
    }

    /// The stage that was busy longest, and for how long; of equal ones the first.
    pub fn slowest(&self) -> (KernelStage, u64) {
        let mut slowest = (KernelStage::Start, self.get(KernelStage::Start));
        for (stage, _, _) in KernelStage::ALL {
            if self.get(stage) > slowest.1 {
                slowest = (stage, self.get(stage));
            }
        }
        slowest
    }

    /// The times of the stages that go ahead of the rows of the command before, and of the others.
    #[must_use]
    pub fn split(&self) -> (Self, Self) {
        KernelStage::ALL.into_iter().fold(
            (*self, *self),
            |(ahead, rest), (stage, _, _)| match stage.goes_ahead() {
                true => (ahead, rest.with(stage, 0)),
                false => (ahead.with(stage, 0), rest),
            },
        )
    }

    /// The sum of all times.
    pub fn sum(&self) -> u64 {
        self.0.into_iter().fold(0, u64::saturating_add)
    }
}

/// The source of the cycles that a loop of a kernel is charged for an iteration. Nothing here was
/// synthesised for a card, and no source says that the clock is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Schedule {
    /// Taken to be so.
    #[default]
    Assumed,
    /// The source of the kernel breaks none of the rules that keep a loop from beginning an
    /// iteration each cycle.
    Linted,
    /// Counted in a simulation of the module that the image uses for the stage.
    Rtl,
}

impl Schedule {
    /// All sources, the weakest first, and their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Assumed, "assumed"), (Self::Linted, "linted"), (Self::Rtl, "rtl")];

    /// The source of that number, as [`Self::ALL`] has them; the weakest for any other number.
    pub fn from_index(index: u32) -> Self {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        Self::ALL.get(index).map_or(Self::Assumed, |(schedule, _)| *schedule)
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The source of the schedule of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Schedules([Schedule; KernelStage::ALL.len()]);

impl Schedules {
    /// That of a stage.
    pub const fn of(&self, stage: KernelStage) -> Schedule {
        self.0[stage.index()]
    }

    /// The same, but `schedule` for `stage`.
    #[must_use]
    pub const fn with(mut self, stage: KernelStage, schedule: Schedule) -> Self {
        self.0[stage.index()] = schedule;
        self
    }
}

/// The bottleneck: the resource on which commands spent most of their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Starting commands and waiting for the first bytes: too few commands to hide it.
    Start,
    /// Flash to device memory.
    Media,
    /// The bank of device memory.
    Bank,
    /// The scan kernel, in this stage.
    Kernel(KernelStage),
    /// The merge kernel.
    Merge,
    /// Loading another image.
    Exchange,
    /// Device memory to host.
    Link,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Media => f.write_str("media"),
            Self::Bank => f.write_str("memory bank"),
            Self::Kernel(stage) => write!(f, "{stage}"),
            Self::Merge => f.write_str("merge"),
            Self::Exchange => f.write_str("exchange of images"),
            Self::Link => f.write_str("link"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_has_its_place_in_the_table() {
        for (index, (stage, _, _)) in KernelStage::ALL.into_iter().enumerate() {
            assert_eq!(stage.index(), index);
        }
        assert_eq!(KernelStage::Memory.to_string(), "memory (accesses)");
    }

    #[test]
    fn schedule_has_its_place_in_the_table() {
        for (index, (schedule, name)) in (0..).zip(Schedule::ALL) {
            assert_eq!(Schedule::from_index(index), schedule);
            assert_eq!(schedule.to_string(), name);
        }
        assert_eq!(Schedule::from_index(7), Schedule::Assumed);
    }

    #[test]
    fn schedules_are_kept_for_each_stage() {
        let linted = Schedules::default().with(KernelStage::Decode, Schedule::Linted);
        assert_eq!(linted.of(KernelStage::Decode), Schedule::Linted);
        assert_eq!(linted.of(KernelStage::Start), Schedule::Assumed);
    }

    #[test]
    fn stages_that_go_ahead_are_split_off() {
        let times = StageTimes::default()
            .with(KernelStage::Start, 1)
            .with(KernelStage::Loaders, 2)
            .with(KernelStage::Dictionary, 4)
            .with(KernelStage::Write, 8);
        let (ahead, rest) = times.split();
        assert_eq!((ahead.sum(), rest.sum()), (1 + 2, 4 + 8));
        assert_eq!(ahead.plus(rest), times);
    }

    #[test]
    fn slowest_stage_is_found_in_sum() {
        let one = StageTimes::default().with(KernelStage::Decode, 5).with(KernelStage::Filter, 4);
        assert_eq!(one.slowest(), (KernelStage::Decode, 5));
        let two = one.plus(StageTimes::default().with(KernelStage::Filter, 2));
        assert_eq!(two.slowest(), (KernelStage::Filter, 6));
        assert_eq!(StageTimes::default().slowest(), (KernelStage::Start, 0));
    }
}
