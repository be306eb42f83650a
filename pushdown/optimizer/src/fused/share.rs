// SPDX-License-Identifier: Apache-2.0
//! Shares the row groups of a scan among the partitions that run.
//!
//! Each partition has a list of row groups from planning. A partition that has finished its own
//! takes from the end of the longest list of another one, so that one long row group, or one busy
//! core, does not hold the rest. Only lists of partitions whose stream runs in the same execution
//! are taken from: an operator that executes a single partition, or each partition on another
//! machine, gets exactly the row groups of that partition.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use datafusion::execution::TaskContext;

use crate::executions::Executions;

/// The lists of all partitions.
pub(crate) type Lists = Mutex<Vec<List>>;

/// The row groups of one partition, as places in its list of the plan.
#[derive(Debug, Default)]
pub(crate) struct List {
    left: VecDeque<usize>,
    stream: Stream,
}

/// Whether the stream of a partition runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stream {
    #[default]
    NotStarted,
    Runs,
    Ended,
}

/// The right of one stream to take row groups.
#[derive(Debug)]
pub(crate) struct Share {
    lists: Arc<Lists>,
    partition: usize,
    takes_from_others: bool,
}

/// Starts the stream of a partition; `counts` are the numbers of row groups of all partitions.
pub(crate) fn start(
    executions: &Executions<Lists>,
    context: &Arc<TaskContext>,
    counts: &[usize],
    partition: usize,
    takes_from_others: bool,
) -> Share {
    let list = |count: &usize| List { left: (0..*count).collect(), ..List::default() };
    let new = || Mutex::new(counts.iter().map(list).collect());
    let lists = executions.start(context, counts.len(), partition, new);
    if let Some(list) = lock(&lists).get_mut(partition) {
        list.stream = Stream::Runs;
    }
    Share { lists, partition, takes_from_others }
}

impl Share {
    /// The partition and place of the next row group; none when no more is left.
    pub(crate) fn next(&self) -> Option<(usize, usize)> {
        let mut lists = lock(&self.lists);
        if let Some(place) = lists.get_mut(self.partition)?.left.pop_front() {
            return Some((self.partition, place));
        }
        if !self.takes_from_others {
            return None;
        }
        let running = lists.iter_mut().enumerate().filter(|(_, list)| list.stream == Stream::Runs);
        let (partition, longest) = running.max_by_key(|(_, list)| list.left.len())?;
        longest.left.pop_back().map(|place| (partition, place))
    }

    /// The next row group of the partition's own list, if more than `left_min` are left there.
    pub(super) fn next_of_own(&self, left_min: usize) -> Option<(usize, usize)> {
        let mut lists = lock(&self.lists);
        let left = &mut lists.get_mut(self.partition)?.left;
        let place = if left.len() > left_min { left.pop_front() } else { None };
        place.map(|place| (self.partition, place))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(list) = lock(&self.lists).get_mut(self.partition) {
            list.stream = Stream::Ended;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &[usize] = &[3, 1, 2];

    fn rest(share: &Share) -> Vec<(usize, usize)> {
        std::iter::from_fn(|| share.next()).collect()
    }

    #[test]
    fn partition_takes_from_the_end_of_lists_of_running_partitions() {
        let (executions, context) = (Executions::default(), Arc::default());
        let first = start(&executions, &context, COUNTS, 0, true);
        let second = start(&executions, &context, COUNTS, 1, true);
        assert_eq!(second.next(), Some((1, 0)));
        assert_eq!(second.next(), Some((0, 2)));
        assert_eq!(first.next(), Some((0, 0)));
        assert_eq!(rest(&second), [(0, 1)]);
        assert_eq!(rest(&first), []);
        // The third list is of a partition that does not run.
        assert_eq!(rest(&start(&executions, &context, COUNTS, 2, true)), [(2, 0), (2, 1)]);
    }

    #[test]
    fn row_groups_that_are_left_for_others_are_not_taken_ahead() {
        let (executions, context) = (Executions::default(), Arc::default());
        let share = start(&executions, &context, COUNTS, 0, true);
        assert_eq!(share.next_of_own(2), Some((0, 0)));
        assert_eq!(share.next_of_own(2), None);
        assert_eq!(share.next_of_own(0), Some((0, 1)));
        assert_eq!(rest(&share), [(0, 2)]);
        assert_eq!(share.next_of_own(0), None);
    }

    #[test]
    fn partition_alone_has_exactly_its_row_groups() {
        let (executions, context) = (Executions::default(), Arc::default());
        let dropped = start(&executions, &context, COUNTS, 0, true);
        drop(dropped);
        assert_eq!(rest(&start(&executions, &context, COUNTS, 1, true)), [(1, 0)]);
        let ordered = start(&executions, &context, COUNTS, 2, false);
        assert_eq!(rest(&ordered), [(2, 0), (2, 1)]);
    }

    #[test]
    fn executions_do_not_share() {
        let (executions, context, other) = (Executions::default(), Arc::default(), Arc::default());
        let first = start(&executions, &context, COUNTS, 1, true);
        let again = start(&executions, &context, COUNTS, 1, true);
        let elsewhere = start(&executions, &other, COUNTS, 0, true);
        assert_eq!(rest(&first), [(1, 0)]);
        assert_eq!(rest(&again), [(1, 0)]);
        assert_eq!(rest(&elsewhere), [(0, 0), (0, 1), (0, 2)]);
    }
}
