// SPDX-License-Identifier: Apache-2.0
//! Selects the rows that can be among the first: the best ranks so far are kept, and a row after
//! all of them is dropped.

use std::collections::BinaryHeap;

use nearscan_command::Top;

use crate::{
    compare::{Number, Side},
    scope::Scope,
};

/// Of two ranks the lower comes first. The first half says on which side of the numbers nulls are.
type Rank = (bool, i128);

/// The ranks of the first rows so far.
#[derive(Debug)]
pub(crate) struct TopRows {
    top: Top,
    /// Up to as many ranks as requested rows, the last one on top.
    best: BinaryHeap<Rank>,
}

impl TopRows {
    pub(crate) const fn new(top: Top) -> Self {
        Self { top, best: BinaryHeap::new() }
    }

    /// Which of `rows` kept rows are not left out, in their order.
    pub(crate) fn select(&mut self, scope: &Scope<'_>, rows: usize) -> Vec<u32> {
        let number = scope.number(self.top.operand);
        let mut selected = Vec::new();
        match (number, number.narrow(), number.validity()) {
            (Number::Vector(_), Some(Side::Slice(values)), None) => {
                for (row, value) in values[..rows].iter().enumerate() {
                    let turned = if self.top.descending { !*value } else { *value };
                    // Nearly every row ends here.
                    if self.last_number().is_some_and(|last| turned > last) {
                        continue;
                    }
                    if self.take(self.rank(Some(i128::from(*value)))) {
                        selected.push(u32::try_from(row).unwrap_or(u32::MAX));
                    }
                }
            }
            _ => {
                for row in 0..rows {
                    let value = match number {
                        Number::Vector(numbers) => numbers.get(row),
                        Number::Constant(value) => Some(value),
                        Number::Null => None,
                    };
                    if self.take(self.rank(value)) {
                        selected.push(u32::try_from(row).unwrap_or(u32::MAX));
                    }
                }
            }
        }
        selected
    }

    fn rank(&self, number: Option<i128>) -> Rank {
        match number {
            None => (!self.top.nulls_first, 0),
            // The complement turns the order round and cannot overflow.
            Some(number) if self.top.descending => (self.top.nulls_first, !number),
            Some(number) => (self.top.nulls_first, number),
        }
    }

    /// The last of the best ranks, when there are enough of them and it is one of a number of 64
    /// bits.
    fn last_number(&self) -> Option<i64> {
        let (side, last) = *self.best.peek().filter(|_| self.is_full())?;
        if side == self.top.nulls_first { i64::try_from(last).ok() } else { None }
    }

    fn is_full(&self) -> bool {
        self.best.len() >= self.top.count as usize
    }

    /// Takes a rank in; whether its row is not left out.
    fn take(&mut self, rank: Rank) -> bool {
        if !self.is_full() {
            self.best.push(rank);
            return true;
        }
        let Some(mut last) = self.best.peek_mut() else { return false };
        if rank > *last {
            return false;
        }
        *last = rank;
        true
    }
}

#[cfg(test)]
mod tests {
    use nearscan_command::Operand;

    use super::*;
    use crate::values::{NumberValues, Numbers};
    use crate::vector::Vector;

    /// The rows that are selected when values come in batches of two.
    fn selected(top: Top, values: &[Option<i128>]) -> Vec<usize> {
        let mut rows = TopRows::new(top);
        let mut out = Vec::new();
        for (batch, values) in values.chunks(2).enumerate() {
            let numbers = values.iter().map(|value| value.unwrap_or(-99)).collect();
            let validity = values.iter().any(Option::is_none);
            let validity = validity.then(|| values.iter().map(Option::is_some).collect());
            let numbers = Numbers { values: NumberValues::of(numbers), validity };
            let columns = [Vector::Numbers(numbers)];
            let scope = Scope { columns: &columns, steps: &[], literals: &[] };
            let new = rows.select(&scope, values.len());
            out.extend(new.into_iter().map(|row| batch * 2 + row as usize));
        }
        out
    }

    fn top(count: u32) -> Top {
        Top { operand: Operand::Column(0), descending: false, nulls_first: false, count }
    }

    #[test]
    fn row_after_enough_others_is_dropped_and_ties_stay() {
        let values = [5, 3, 4, 3, 5, 4, 3, 2, 3].map(Some);
        // With the two best so far 5 3, 4 3, 3 3, 3 3, 3 3, 3 3, 3 2, 3 2.
        assert_eq!(selected(top(2), &values), [0, 1, 2, 3, 6, 7, 8]);
        let descending = Top { descending: true, ..top(1) };
        assert_eq!(selected(descending, &values), [0, 4]);
        assert_eq!(selected(top(9), &values), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn nulls_are_first_or_last_as_requested() {
        let values = [None, Some(1), None, Some(0), Some(1 << 70), None];
        assert_eq!(selected(top(1), &values), [0, 1, 3]);
        let first = Top { nulls_first: true, ..top(1) };
        assert_eq!(selected(first, &values), [0, 2, 5]);
        let down = Top { descending: true, ..top(1) };
        assert_eq!(selected(down, &values), [0, 1, 4]);
    }
}
