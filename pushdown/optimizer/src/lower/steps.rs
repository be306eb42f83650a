// SPDX-License-Identifier: Apache-2.0
//! Numbers and operators of steps, without a fragment.

use nearscan_command::Op;

/// An index of the format; limits are checked before, and all are far below 2^13.
pub(crate) fn index(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// The comparison with its sides swapped.
pub(crate) fn mirror(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        other => other,
    }
}
