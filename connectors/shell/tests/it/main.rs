// SPDX-License-Identifier: Apache-2.0
//! Tests the program as a process: arguments in, text and exit status out.

#![forbid(unsafe_code)]

#[cfg(test)]
mod apps;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod card;
#[cfg(test)]
mod check;
#[cfg(test)]
mod fuzzed;
#[cfg(test)]
mod program;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod replicate;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod sick_card;
#[cfg(feature = "object-stores")]
#[cfg(test)]
mod stores;
#[cfg(test)]
mod subcommands;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod usage;
