// SPDX-License-Identifier: Apache-2.0
//! Tests of the engine as its users see it, in one binary because linking it takes seconds.

#![forbid(unsafe_code)]

#[cfg(test)]
mod arrays;
#[cfg(test)]
mod bits;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod casts;
#[cfg(test)]
mod columnless;
#[cfg(test)]
mod compared;
#[cfg(test)]
mod constants;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod decimals;
#[cfg(test)]
mod deep;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod extremes;
#[cfg(test)]
mod ignored;
#[cfg(test)]
mod intervals;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod min_max;
#[cfg(test)]
mod names;
#[cfg(test)]
mod not_in;
#[cfg(test)]
mod null_equality;
#[cfg(test)]
mod nulls;
#[cfg(test)]
mod odd_files;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod prepared;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod running;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod set_operations;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod sorts;
#[cfg(test)]
mod subqueries;
#[cfg(test)]
mod subquery_keys;
#[cfg(test)]
mod sums;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod truth;
#[cfg(test)]
mod unnest;
#[cfg(test)]
mod using;
#[cfg(feature = "object-stores")]
#[cfg(test)]
mod web;
#[cfg(test)]
mod writes;
