// SPDX-License-Identifier: Apache-2.0
//! The one place that names backends: opens the drives that the user asked for.
//!
//! A drive runs in this process, or in one of its own, which is the program `nearscan drive serve`:
//! a drive with a vendor's runtime always does, so that a crash of that runtime is a push-back.

use std::{path::PathBuf, sync::Arc};

use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::Drive;
use nearscan_emulator::{Config, Emulator};
use nearscan_remote::{Address, HostOptions, HostedDrive, Program, RemoteDrive};

use crate::{
    drive_spec::{DriveScheme, DriveSpec, PROCESS},
    error::{Error, Result},
};

/// What drives are opened with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opening {
    /// Threads of a CPU drive.
    pub(crate) threads: Option<usize>,
    /// The program `nearscan`, which serves drives that have a process of their own; the running
    /// one if none is named.
    pub(crate) program: Option<PathBuf>,
}

/// Opens a drive.
///
/// # Errors
/// [`Error::Drive`] when it cannot be opened, with the reason.
pub(crate) fn open(spec: &DriveSpec, opening: &Opening) -> Result<Arc<dyn Drive>> {
    match spec.scheme {
        DriveScheme::Emulated if spec.param(PROCESS) == Some("own") => hosted(spec, opening),
        // Cards go to `hosted` once this build can reach them.
        DriveScheme::Emulated | DriveScheme::Cpu | DriveScheme::Xrt | DriveScheme::Remote => {
            open_here(spec, opening.threads)
        }
    }
}

/// Opens a drive in this process, whatever its URL says of processes: what serves a drive to
/// others holds it itself.
///
/// # Errors
/// [`Error::DriveSpec`] if the URL is none, [`Error::Drive`] when the drive cannot be opened.
pub fn open_drive(url: &str, threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    open_here(&DriveSpec::parse(url)?, threads)
}

fn open_here(spec: &DriveSpec, threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    let failed = |reason: String| Error::Drive { name: spec.name.clone(), reason };
    match spec.scheme {
        DriveScheme::Emulated => {
            let params = spec.params.iter().filter(|(key, _)| *key != PROCESS);
            let params = params.map(|(key, value)| (key.as_str(), value.as_str()));
            let config =
                Config::from_parameters(params).map_err(|error| failed(error.to_string()))?;
            Ok(Arc::new(Emulator::open(config)))
        }
        DriveScheme::Cpu => start_cpu(threads).map_err(|error| failed(error.to_string())),
        DriveScheme::Xrt => Err(failed("this build cannot reach cards through XRT".to_owned())),
        DriveScheme::Remote => {
            if spec.param("token").is_some() {
                return Err(failed("this build cannot authenticate with a token".to_owned()));
            }
            let address: Address =
                spec.target.parse().map_err(|error| failed(format!("{error}")))?;
            let drive = RemoteDrive::connect(&address, nearscan_remote::Options::default());
            Ok(Arc::new(drive.map_err(|error| failed(error.to_string()))?))
        }
    }
}

/// Opens a drive in a process of its own.
fn hosted(spec: &DriveSpec, opening: &Opening) -> Result<Arc<dyn Drive>> {
    let failed = |reason: String| Error::Drive { name: spec.name.clone(), reason };
    let path = match &opening.program {
        Some(path) => path.clone(),
        None => std::env::current_exe().map_err(|error| failed(error.to_string()))?,
    };
    let arguments = ["drive", "serve", "--drive", &spec.url()].map(Into::into).to_vec();
    let mut options = HostOptions::default();
    options.remote.kind = spec.scheme.as_str();
    let drive = HostedDrive::start(Program { path, arguments }, options);
    Ok(Arc::new(drive.map_err(|error| failed(error.to_string()))?))
}

/// Starts the drive that does what other drives have pushed back.
///
/// # Errors
/// [`Error::Drive`] when the system has no threads left.
pub(crate) fn fallback(threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    start_cpu(threads)
        .map_err(|error| Error::Drive { name: "cpu".to_owned(), reason: error.to_string() })
}

fn start_cpu(threads: Option<usize>) -> std::io::Result<Arc<dyn Drive>> {
    let options = threads.map_or_else(Options::default, Options::with_threads);
    Ok(Arc::new(CpuDrive::start(options)?))
}
