// SPDX-License-Identifier: Apache-2.0
//! Measures how fast whole objects are read from a server, beside the same reads from nginx.
//!
//! Both servers read the same files out of the page cache. The client reads through
//! [`object_store`](object_store::ObjectStore) from both: `get`, and the stream of bytes to its
//! end. Bytes are counted and hashed (XXH3) as they come, and compared with what was written.
//!
//! The servers take turns, pair by pair, and the one that begins changes from pair to pair. The
//! figure is the median of the ratios of the pairs, since other load on the machine strikes both
//! halves of a pair.

mod files;
mod read;
mod report;
mod servers;

use std::{ops::ControlFlow, path::PathBuf};

use nearscan_drive::clock::Stopwatch;
use tokio::runtime::Builder;

use crate::{Progress, error::Error, folder_in, processors::Processors, program::Program};
use files::Objects;
pub use report::{Report, Row};
pub use servers::Encryption;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of the objects.
    pub sizes: Vec<u64>,
    /// Pairs of turns for each object.
    pub rounds: u32,
    /// Bytes of a turn: a smaller object is read several times.
    pub turn_bytes: u64,
    /// The kinds of connections.
    pub encryptions: Vec<Encryption>,
    /// What serves the store.
    pub server: Program,
    /// The program nginx.
    pub nginx: PathBuf,
    /// Where the objects are made; what is made there is removed.
    pub folder: PathBuf,
}

/// Most reads of a turn.
const READS_MAX: u64 = 1000;

impl Plan {
    /// Default sizes of the objects in bytes: three that show the rate, and one that
    /// shows what a request costs.
    pub const SIZES: [u64; 4] = [1 << 30, 64 << 20, 8 << 20, 64 << 10];

    /// Default number of bytes of a turn: short, so that both turns of a pair have about
    /// the same machine.
    pub const TURN_BYTES: u64 = 512 << 20;

    /// Reads of an object in a turn.
    #[must_use]
    pub fn reads(&self, bytes: u64) -> u64 {
        (self.turn_bytes / bytes.max(1)).clamp(1, READS_MAX)
    }
}

/// Measures. This process is bound to one processor until it returns.
///
/// # Errors
/// [`Error::NoNginx`] where it is not installed, [`Error::Binding`] where there is one processor
/// only, or what keeps a server from serving; [`Error::Cancelled`] if `watch` breaks.
pub fn run(
    plan: &Plan,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Report, Error> {
    let nginx_version = servers::nginx_version(&plan.nginx)?;
    let processors = Processors::of_process()?;
    let _bound = processors.bind_client()?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::prepare)?;
    let pairs = plan.sizes.len() as u64 * u64::from(plan.rounds);
    let (mut done, all) = (0, pairs * plan.encryptions.len() as u64);
    let mut rows = Vec::new();
    for encryption in &plan.encryptions {
        let folder = folder_in(&plan.folder)?;
        let objects = Objects::make(folder.path(), &plan.sizes)?;
        let programs = (&plan.server, plan.nginx.as_path());
        let served = servers::start(&objects, folder.path(), *encryption, &processors, programs)?;
        for server in &served {
            for object in &objects.all {
                runtime.block_on(read::checked(server, object))?;
            }
        }
        let mut made: Vec<Row> =
            objects.all.iter().map(|object| Row::new(*encryption, object.bytes)).collect();
        for round in 0..plan.rounds {
            for (object, row) in objects.all.iter().zip(&mut made) {
                let reads = plan.reads(object.bytes);
                let mut rates = [0.0; 2];
                for turn in 0..2 {
                    let which = if round.is_multiple_of(2) { turn } else { 1 - turn };
                    let stopwatch = Stopwatch::start();
                    for _ in 0..reads {
                        runtime.block_on(read::checked(&served[which], object))?;
                    }
                    let seconds = stopwatch.elapsed().as_secs_f64();
                    rates[which] = (object.bytes * reads) as f64 / seconds;
                }
                row.add(rates);
                done += 1;
                if watch(Progress { done, all }).is_break() {
                    return Err(Error::Cancelled);
                }
            }
        }
        rows.append(&mut made);
    }
    let congestion_control = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let congestion_control = congestion_control.unwrap_or_default().trim().to_owned();
    Ok(Report { rounds: plan.rounds, nginx_version, congestion_control, rows })
}
