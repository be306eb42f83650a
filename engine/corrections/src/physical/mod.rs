// SPDX-License-Identifier: Apache-2.0
//! Corrections of physical plans.
//!
//! | module | rule | of DataFusion |
//! |---|---|---|
//! | [`filter_pushdown`] | wraps | `FilterPushdown`, `FilterPushdown(Post)` |
//! | [`limits`] | wraps | `EnsureRequirements`, `PushdownSort` |
//! | [`null_extension`] | in front of | `EnsureRequirements` |
//! | [`nested_loop_restart`] | last | |
//!
//! Gates and fences, which stand in the way of a rule, are taken out when it is done. What
//! [`null_extension`] and [`nested_loop_restart`] add is in plans that run.

pub(crate) mod filter_pushdown;
pub(crate) mod limits;
pub(crate) mod nested_loop_restart;
pub(crate) mod null_extension;
