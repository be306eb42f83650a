// SPDX-License-Identifier: Apache-2.0
//! Joins bounds on one number: `a >= 1 AND a < 5` becomes `a BETWEEN 1 AND 4`.
//!
//! The numbers of a command are integers, decimals and floats among them, so a bound that leaves
//! its number out is the next number. One step in place of three is what keeps a filter like that
//! of TPC-H Q6 ahead of the media. The result is the same for NULL as well: BETWEEN is defined as
//! its two comparisons and their AND.

use nearscan_command::{Op, Operand, Step};

use crate::lower::steps::{index, mirror};

/// A condition of a conjunction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conjunct {
    /// A truth value that there is.
    Verdict(Operand),
    /// `of BETWEEN low AND high`.
    Between { of: Operand, low: i128, high: i128 },
}

/// The numbers that a comparison lets pass, ends included.
#[derive(Debug, Clone, Copy)]
struct Bound {
    of: Operand,
    low: Option<i128>,
    high: Option<i128>,
}

impl Bound {
    /// Returns the bound that a comparison with a literal puts on its other side.
    fn of(step: &Step, literals: &[i128]) -> Option<Self> {
        let literal = |operand| match operand {
            Operand::Literal(at) => literals.get(usize::from(at)).copied(),
            _ => None,
        };
        let (of, op, value) = match (literal(step.a), literal(step.b)) {
            (None, Some(value)) => (step.a, step.op, value),
            (Some(value), None) => (step.b, mirror(step.op), value),
            _ => return None,
        };
        let (low, high) = match op {
            Op::GreaterOrEqual => (Some(value), None),
            Op::Greater => (Some(value.checked_add(1)?), None),
            Op::LessOrEqual => (None, Some(value)),
            Op::Less => (None, Some(value.checked_sub(1)?)),
            _ => return None,
        };
        Some(Self { of, low, high })
    }

    /// Returns the intersection of both bounds.
    fn and(self, other: Self) -> Self {
        let (lows, highs) = ([self.low, other.low], [self.high, other.high]);
        let low = lows.into_iter().flatten().max();
        let high = highs.into_iter().flatten().min();
        Self { of: self.of, low, high }
    }
}

/// The conditions of a conjunction with those joined that bound a number from below and above, each
/// pair where its first one stood. `steps` are what the verdicts come from.
pub(super) fn join_bounds(
    steps: &[Step],
    literals: &[i128],
    verdicts: &[Operand],
) -> Vec<Conjunct> {
    let bound = |verdict: &Operand| match verdict {
        Operand::Step(at) => Bound::of(steps.get(usize::from(*at))?, literals),
        _ => None,
    };
    let bounds: Vec<Option<Bound>> = verdicts.iter().map(bound).collect();
    let all_of = |of: Operand| {
        let same = bounds.iter().flatten().filter(|bound| bound.of == of).copied();
        same.reduce(Bound::and)
    };
    let mut joined: Vec<Operand> = Vec::new();
    let mut conjuncts = Vec::with_capacity(verdicts.len());
    for (verdict, bound) in verdicts.iter().zip(&bounds) {
        let range = bound.and_then(|bound| all_of(bound.of));
        match range {
            Some(Bound { of, low: Some(low), high: Some(high) }) => {
                if !joined.contains(&of) {
                    joined.push(of);
                    conjuncts.push(Conjunct::Between { of, low, high });
                }
            }
            _ => conjuncts.push(Conjunct::Verdict(*verdict)),
        }
    }
    conjuncts
}

/// Leaves out the steps that a verdict does not need: if it is a step, it is then the last one.
pub(super) fn sweep(steps: &mut Vec<Step>, verdict: Operand) {
    let mut needed = vec![false; steps.len()];
    if let Operand::Step(at) = verdict {
        needed[usize::from(at)] = true;
    }
    for at in (0..steps.len()).rev() {
        let Step { a, b, c, .. } = steps[at];
        for operand in [a, b, c] {
            if let (true, Operand::Step(from)) = (needed[at], operand) {
                needed[usize::from(from)] = true;
            }
        }
    }
    let mut kept = 0;
    let places: Vec<u16> = needed
        .iter()
        .map(|needed| {
            kept += usize::from(*needed);
            index(kept.saturating_sub(1))
        })
        .collect();
    let moved = |operand: Operand| match operand {
        Operand::Step(at) => Operand::Step(places[usize::from(at)]),
        other => other,
    };
    let mut needed = needed.into_iter();
    steps.retain_mut(|Step { a, b, c, .. }| {
        let stays = needed.next() == Some(true);
        if stays {
            (*a, *b, *c) = (moved(*a), moved(*b), moved(*c));
        }
        stays
    });
}
