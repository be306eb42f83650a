// SPDX-License-Identifier: Apache-2.0
//! Holds the configuration of a drive over XRT: `xrt:INDEX-or-BDF?xclbin=FILE&merge_xclbin=FILE
//! &root=MOUNT`.

use std::{path::PathBuf, time::Duration};

/// Whether the disk writes into the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeerToPeer {
    /// P2P if card and file system support it.
    #[default]
    Auto,
    /// Never: the host reads, and copies.
    Off,
}

/// Configuration of an [`XrtDrive`](crate::XrtDrive).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The card: its index, or its address on the PCI bus.
    pub target: String,
    /// The image that it is opened with.
    pub xclbin: PathBuf,
    /// Another image, as a rule one that merges: it is loaded for commands that the first one
    /// cannot run.
    pub merge_xclbin: Option<PathBuf>,
    /// The drive serves the files below this folder, where the card's disk is mounted; all local
    /// files without one.
    pub root: Option<PathBuf>,
    /// The folder of the runtime's libraries; the system's search without one.
    pub libraries: Option<PathBuf>,
    /// Whether the disk writes into the card.
    pub peer_to_peer: PeerToPeer,
    /// Time in which a cancelled kernel has to end. One that takes longer hangs, and the card is
    /// lost.
    pub grace: Duration,
}

impl Config {
    /// A drive with defaults for all but the card and its image.
    pub fn new(target: impl Into<String>, xclbin: impl Into<PathBuf>) -> Self {
        Self {
            target: target.into(),
            xclbin: xclbin.into(),
            merge_xclbin: None,
            root: None,
            libraries: None,
            peer_to_peer: PeerToPeer::default(),
            // Kernels look at the cancel word once a page; a page takes milliseconds at most.
            grace: Duration::from_secs(2),
        }
    }
}
