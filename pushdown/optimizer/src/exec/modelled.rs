// SPDX-License-Identifier: Apache-2.0
//! Defines [`ModelledTime`], the metric of the time that an emulated drive would have taken.
//!
//! Partitions share a drive, so their times do not add up. The busy times of each resource do, and
//! the time is computed from their sums.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use datafusion::physical_plan::metrics::CustomMetricValue;
use nearscan_drive::Modelled;

/// Modelled time of all commands so far; nothing if no command has ended or the drive is real.
#[derive(Debug, Default)]
pub struct ModelledTime {
    sum: Mutex<Option<Modelled>>,
}

impl ModelledTime {
    /// Adds the commands of another figure. Figures of different models do not add up: the first
    /// stays.
    pub fn add(&self, other: Modelled) {
        let mut sum = self.lock();
        *sum = match *sum {
            None => Some(other),
            Some(before) => before.combine(other).or(Some(before)),
        };
    }

    /// The figure for all commands.
    pub fn get(&self) -> Option<Modelled> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Modelled>> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for ModelledTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            None => f.write_str("0ns"),
            Some(sum) => {
                let time = Duration::from_nanos(sum.makespan_ns());
                write!(f, "{time:.2?} limited by {}", sum.limit_with_schedule())
            }
        }
    }
}

impl CustomMetricValue for ModelledTime {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Self::default())
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue>) {
        if let Some(other) = other.as_any().downcast_ref::<Self>().and_then(Self::get) {
            self.add(other);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    /// Nanoseconds.
    fn as_usize(&self) -> usize {
        self.get().map_or(0, |sum| usize::try_from(sum.makespan_ns()).unwrap_or(usize::MAX))
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| other.get() == self.get())
    }
}

#[cfg(test)]
mod tests {
    use nearscan_drive::{KernelStage, KernelTime, ModelId, Schedules, StageTimes};

    use super::*;

    fn figure(media_ns: u64, kernel_ns: u64) -> Modelled {
        Modelled {
            model: ModelId { version: 1, config_hash: 0, schedules: Schedules::default() },
            setup_ns: 0,
            media_ns,
            bank_ns: 0,
            kernel: KernelTime::unpipelined(kernel_ns),
            ideal_kernel: KernelTime::unpipelined(kernel_ns),
            stages: StageTimes::default().with(KernelStage::Decode, kernel_ns),
            merge_ns: 0,
            exchange_ns: 0,
            link_ns: 0,
            compute_units: 1,
            commands: 1,
        }
    }

    #[test]
    fn partitions_share_the_drive() {
        let (one, other) = (ModelledTime::default(), ModelledTime::default());
        one.add(figure(3000, 1000));
        other.add(figure(1000, 3000));
        let all = one.new_empty();
        all.aggregate(Arc::new(one));
        all.aggregate(Arc::new(other));
        // Media and kernel are busy for 4000 each, and one mean pass fills the pipeline.
        assert_eq!(all.as_usize(), 6000);
        assert_eq!(all.to_string(), "6.00µs limited by media");
    }

    #[test]
    fn real_drive_has_none() {
        let none = ModelledTime::default();
        assert_eq!((none.as_usize(), none.to_string().as_str()), (0, "0ns"));
    }
}
