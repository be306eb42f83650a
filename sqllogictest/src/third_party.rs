// SPDX-License-Identifier: Apache-2.0
//! Runs third-party suites: any folder of files in the format of sqllogictest, on the emulated
//! drive over Parquet copies of the tables that the files make.
//!
//! | module | does |
//! |---|---|
//! | [`script`] | reads a file of any of the three dialects into records |
//! | [`directive`] | what the first line of a record says |
//! | [`value`] | a value of a result, and whether it is what a file expects |
//! | [`expected`] | whether all rows are: sort modes, layouts of rows, hashes |
//! | [`answer`] | the answers of one engine, and whether two of them are the same |
//! | [`open`] | what a query leaves open: which rows, and in which order |
//! | [`statement`] | analyses a statement by its text |
//! | [`tables`] | tables in memory for statements, their Parquet copies for queries |
//! | [`layout`] | the layout of such a copy in its file, drawn from a seed |
//! | [`reason`] | why a record cannot be run, in few words that many records share |
//! | [`taint`] | which tables lack a statement that could not be run |
//! | [`runner`] | runs the records of a file, each also with pushdown off |
//! | [`report`] | what was found, for people and for programs |
//! | [`worker`] | the process of one file, and what it says |
//! | [`supervisor`] | runs every file in its own process, with limits |
//!
//! Not the project's own tests: those have one expected result for every setting
//! ([`crate::suite`]), and nothing in them is unsupported. Nothing of a foreign suite is kept here.
//!
//! Invariants:
//! - no text makes the reader fail: what it does not know is a record that is unsupported;
//! - whether a record differs from its suite and whether it differs from the same query with
//!   pushdown off are two questions with two counts; only the second is about the drive;
//! - a file that ends its process, does not end, or cannot be started, ends no other.

pub mod answer;
pub mod directive;
pub mod expected;
pub mod layout;
pub mod open;
pub mod reason;
pub mod report;
pub mod runner;
pub mod script;
pub mod statement;
pub mod supervisor;
pub mod tables;
pub mod taint;
pub mod value;
pub mod worker;
