// SPDX-License-Identifier: Apache-2.0
//! Tests of the engine as its users see it, in one binary because linking it takes seconds.

#![forbid(unsafe_code)]

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod deep;
#[cfg(test)]
mod dialect;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod join_rows;
#[cfg(test)]
mod odd_files;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod running;
#[cfg(test)]
mod served;
#[cfg(test)]
mod served_replicas;
#[cfg(test)]
mod served_several;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod skewed;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tables;
#[cfg(feature = "object-stores")]
#[cfg(test)]
mod web;
