// SPDX-License-Identifier: Apache-2.0
//! Implements [`CpuDrive`].

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use nearscan_command::{Codec, Encodings, limits};
use nearscan_drive::{
    CancelWord, Capabilities, CostSnapshot, Drive, FileRef, FileTable, Identity, Placement,
    RatesByRequest, Refusal, Session, SessionSpec,
};
use uuid::Uuid;

use crate::{
    pool::Pool,
    session::CpuSession,
    shared::{Memory, Shared},
};

/// The settings of a CPU drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Number of its threads.
    pub threads: usize,
    /// Commands taken and not yet completed; more are refused as busy.
    pub in_flight_max: u32,
}

impl Options {
    /// As many threads as this, and a queue that keeps them busy.
    #[must_use]
    pub fn with_threads(threads: usize) -> Self {
        // Scans of several tables run side by side, each with a few units in flight; what waits
        // here costs its lease and nothing else.
        let in_flight_max = u32::try_from(threads * 16).unwrap_or(u32::MAX);
        Self { threads, in_flight_max }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::with_threads(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

/// A drive that runs every command on threads of the host.
#[derive(Debug)]
pub struct CpuDrive {
    identity: Identity,
    shared: Arc<Shared>,
}

impl CpuDrive {
    /// Starts a drive and its threads.
    ///
    /// # Errors
    /// When the system has no threads left.
    pub fn start(options: Options) -> std::io::Result<Self> {
        let threads = options.threads.max(1);
        let capabilities = Capabilities {
            in_flight_max: options.in_flight_max.max(1),
            // Its memory is the host's, its dictionaries may be as large as they like. Not those of
            // keys: a result has no more room for groups than other drives have.
            memory_bytes: 0,
            dictionary_bytes_max: u64::MAX,
            codecs: Codec::ALL.iter().map(|(codec, _)| *codec).collect(),
            encodings: Encodings::ALL,
            merge_inputs_max: limits::MERGE_INPUTS_MAX,
            ..Capabilities::of_scan_kernel()
        };
        let identity = Identity {
            uuid: Uuid::new_v5(&Uuid::NAMESPACE_OID, b"nearscan cpu drive"),
            kind: "cpu",
            model: format!("host, {threads} threads"),
        };
        let shared = Shared {
            capabilities,
            files: FileTable::default(),
            pool: Pool::start(threads)?,
            threads,
            epoch: AtomicU64::new(0),
            running: Mutex::default(),
            snapshots: AtomicU64::new(0),
            memory: Memory::default(),
        };
        Ok(Self { identity, shared: Arc::new(shared) })
    }
}

impl Drive for CpuDrive {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn locate(&self, file: &FileRef) -> Placement {
        self.shared.files.locate(file)
    }

    fn snapshot(&self) -> CostSnapshot {
        // Its speed depends on the machine: the observer of its commands learns it.
        CostSnapshot {
            id: self.shared.snapshots.fetch_add(1, Ordering::Relaxed),
            lanes: u32::try_from(self.shared.threads).unwrap_or(u32::MAX),
            start_ns: 0.0,
            media: None,
            link_bytes_per_s: None,
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::UNKNOWN,
            merge: RatesByRequest::UNKNOWN,
            queue_depth: self.in_flight(),
            free_bytes: 0,
            image: None,
        }
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        Ok(Arc::new(CpuSession::new(Arc::clone(&self.shared), spec)))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        let epoch = self.shared.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        self.shared.lock_running().values().for_each(CancelWord::set);
        Ok(epoch)
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.shared.lock_running().len()).unwrap_or(u32::MAX)
    }

    fn shutdown(&self) {
        self.shared.pool.close();
    }
}

impl Drop for CpuDrive {
    fn drop(&mut self) {
        // Sessions may outlive the drive, its threads must not.
        self.shutdown();
    }
}
