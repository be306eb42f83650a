// SPDX-License-Identifier: Apache-2.0
//! Defines schedules of loops: the initiation interval, the depth, and their source.
//!
//! A loop of the scan kernel is `linted`: `check_synthesizable.py` has found nothing that keeps it
//! from beginning an iteration each cycle. What a stage waits for beside its loops is assumed. The
//! image has one of the modules in SystemVerilog, the Snappy decoder of the loaders, whose cycles
//! are counted in RTL; the loaders' other loops are not, so no schedule of a whole stage is `rtl`.

use nearscan_drive::{KernelStage, Schedule, Schedules};

use super::Parameters;

/// Whether a loop has a pipeline pragma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pipelining {
    /// It leaves that to the tool.
    Default,
    /// It has the pragma.
    Requested,
}

/// A loop of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Loop {
    /// Cycles from the start of one iteration to the start of the next.
    pub(super) interval_cycles: f64,
    /// Cycles beside those: filling the pipeline, and draining it.
    pub(super) depth_cycles: f64,
    /// The source of the schedule.
    pub(super) source: Schedule,
}

impl Loop {
    /// Cycles of so many iterations.
    pub(super) fn cycles(&self, iterations: f64) -> f64 {
        iterations * self.interval_cycles + self.depth_cycles
    }
}

impl Parameters {
    /// A loop of the scan kernel. Filling the pipeline is charged once for all of them.
    pub(super) fn stage_loop(&self) -> Loop {
        Loop { source: Schedule::Linted, ..assumed(self.loop_interval_cycles, 0.0) }
    }

    /// The comparing of rows in the merge kernel.
    pub(super) fn order_loop(&self) -> Loop {
        assumed(self.order_step_cycles, 0.0)
    }

    /// The moving of words in the merge kernel.
    pub(super) fn word_loop(&self) -> Loop {
        assumed(self.loop_interval_cycles, 0.0)
    }

    /// The loop over elements in a light kernel of the study.
    pub(super) fn element_loop(&self, pipelining: Pipelining) -> Loop {
        let is_pipelined = match pipelining {
            Pipelining::Requested => true,
            Pipelining::Default => self.pipelined_by_default > 0.0,
        };
        assumed(if is_pipelined { self.loop_interval_cycles } else { self.loop_body_cycles }, 0.0)
    }

    /// The study's merge loop: an iteration waits for the outcome of the one before, pipelined or
    /// not.
    pub(super) fn compare_loop(&self) -> Loop {
        assumed(self.compare_cycles, 0.0)
    }

    /// The sources of the schedules of the scan kernel's stages: those of their loops, unless most
    /// of a stage's time goes by beside them.
    pub(super) fn schedules(&self) -> Schedules {
        let source = |stage| match stage {
            KernelStage::Start | KernelStage::Memory => Schedule::Assumed,
            _ => self.stage_loop().source,
        };
        KernelStage::ALL
            .into_iter()
            .fold(Schedules::default(), |all, (stage, ..)| all.with(stage, source(stage)))
    }
}

fn assumed(interval_cycles: f64, depth_cycles: f64) -> Loop {
    Loop { interval_cycles, depth_cycles, source: Schedule::Assumed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loop_takes_its_iterations_and_its_depth() {
        assert!((assumed(2.0, 30.0).cycles(100.0) - 230.0).abs() < 1e-9);
    }

    #[test]
    fn stage_that_waits_has_an_assumed_schedule_and_a_loop_a_linted_one() {
        let schedules = Parameters::default().schedules();
        assert_eq!(schedules.of(KernelStage::Decode), Schedule::Linted);
        assert_eq!(schedules.of(KernelStage::Loaders), Schedule::Linted);
        assert_eq!(schedules.of(KernelStage::Memory), Schedule::Assumed);
        assert_eq!(schedules.of(KernelStage::Start), Schedule::Assumed);
    }
}
