// SPDX-License-Identifier: Apache-2.0
//! Evaluates tests of byte strings.

use nearscan_command::{
    StringTest, TestOp,
    pattern::{ANY, ONE},
};

/// Whether a byte string passes a test.
pub(super) fn passes(test: &StringTest, value: &[u8]) -> bool {
    let literal = test.strings[0].as_slice();
    match test.op {
        TestOp::In => test.strings.iter().any(|literal| literal == value),
        TestOp::Less => value < literal,
        TestOp::LessOrEqual => value <= literal,
        TestOp::Greater => value > literal,
        TestOp::GreaterOrEqual => value >= literal,
        TestOp::Like => is_like(value, literal),
    }
}

/// As the definition of LIKE reads: for each rest of the pattern, the shortest first, which rests
/// of the value match it.
fn is_like(value: &[u8], pattern: &[u8]) -> bool {
    let end = value.len();
    // Whether the value from each place on matches the rest of the pattern; the empty rest matches
    // the empty value.
    let mut rest: Vec<bool> = (0..=end).map(|at| at == end).collect();
    for item in pattern.iter().rev() {
        let mut matches = vec![false; end + 1];
        for at in (0..=end).rev() {
            matches[at] = match *item {
                ANY => rest[at] || at < end && matches[behind_character(value, at)],
                ONE => at < end && rest[behind_character(value, at)],
                byte => at < end && value[at] == byte && rest[at + 1],
            };
        }
        rest = matches;
    }
    rest[0]
}

/// Returns the place after the character at `at`: a byte and its continuation bytes.
fn behind_character(value: &[u8], at: usize) -> usize {
    let mut behind = at + 1;
    while behind < value.len() && value[behind] & 0xc0 == 0x80 {
        behind += 1;
    }
    behind
}
