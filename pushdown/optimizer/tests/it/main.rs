// SPDX-License-Identifier: Apache-2.0
//! Tests plans and their execution, over Parquet files that the tests write and a drive that the
//! tests control: it answers rightly by the row-at-a-time evaluator of the conformance suite, or it
//! refuses, fails, returns wrong rows or does not answer.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod aggregates;
mod bench;
mod clustered;
mod clustered_auto;
mod clustered_direct;
mod clustered_joins;
mod codec;
mod drive;
mod drive_keys;
mod files;
mod fused;
mod grace;
mod graphs;
mod indexes;
mod join_order;
mod keeps;
mod links;
mod merges;
mod moves;
mod narrowing;
mod ordering;
mod partitioned;
mod pushback;
mod rows;
mod shapes;
mod streams;
mod types;
mod untouched;
mod weighed;
mod widened;
