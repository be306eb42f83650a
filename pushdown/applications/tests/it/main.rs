// SPDX-License-Identifier: Apache-2.0
//! Tests the applications: what they can do, what they cannot, and what is left after a crash.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod escapes;
#[cfg(test)]
mod events;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod failing_disk;
#[cfg(test)]
mod guest;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tables;
