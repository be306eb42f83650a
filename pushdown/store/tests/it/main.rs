// SPDX-License-Identifier: Apache-2.0
//! Tests the store: what it keeps, what it refuses, and what is left after a crash.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod fault_disk;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod quotas;
#[cfg(test)]
mod threads;
