// SPDX-License-Identifier: Apache-2.0
//! Defines the settings of reads of local files.
//!
//! One reader serves all sessions of an engine, so these are settings of the engine: a session
//! other than its first may not change them.

use nearscan_io::{BLOCK, Direct, Engine, Options, QUEUE_DEPTH_MAX, REQUEST_BYTES_MAX};

/// Settings below `nearscan.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IoOptions {
    /// `nearscan.io.engine`.
    pub engine: Engine,
    /// `nearscan.io.queue_depth`.
    pub queue_depth: u32,
    /// `nearscan.io.request_bytes`: whole blocks.
    pub request_bytes: u32,
    /// `nearscan.io.direct`.
    pub direct: Direct,
}

impl Default for IoOptions {
    fn default() -> Self {
        let Options { engine, queue_depth, request_bytes, direct, .. } = Options::default();
        Self { engine, queue_depth, request_bytes, direct }
    }
}

pub(super) fn parse_depth(text: &str) -> Option<u32> {
    text.parse().ok().filter(|depth| (1..=QUEUE_DEPTH_MAX).contains(depth))
}

pub(super) fn parse_request(text: &str) -> Option<u32> {
    let block = u32::try_from(BLOCK).ok()?;
    let bytes: u32 = text.parse().ok()?;
    let is_valid = (block..=REQUEST_BYTES_MAX).contains(&bytes) && bytes.is_multiple_of(block);
    is_valid.then_some(bytes)
}
