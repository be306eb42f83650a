// SPDX-License-Identifier: Apache-2.0
//! Lists the assumptions of the model that are not parameters: choices that the study leaves open.
//!
//! They affect figures like parameters, so figures are shown together with them.

/// One sentence each, as `docs/timing-model.md` has them.
pub const ASSUMPTIONS: &[&str] = &[
    "arrays are so long that what happens once does not count;",
    "times are those of kernels alone, with the arrays in device memory;",
    "the sweep over compute units used the buffer where a buffer helps: 11.2 x 2.5 and 5.2 x 1.7 \
     come close to 28.6 and 9.0;",
    "the three loops of a buffered Vector Addition overlap and their copies are widened by the \
     tool, while the published code runs them in turn; run in turn, one element would take three \
     cycles, and the drive would lose to the host that the study says it beats;",
    "units that share the bank wait as if each that has work were as busy as the slowest;",
    "the inputs of Array Merge hold numbers by chance, few of them equal: with one value in 64 \
     equal its curve over units has steps, since equal values fall to one unit, and no longer \
     rises with each of them;",
    "the host ran unoptimised code: its figures imply 7 cycles an element. A good core today does \
     Count and Average in well under 2 and would win.",
];
