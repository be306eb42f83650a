// SPDX-License-Identifier: Apache-2.0
//! The one place that names backends: opens the drives that the user asked for.

use std::{path::PathBuf, sync::Arc};

use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::Drive;
use nearscan_emulator::{Config, EmulatedCard, Emulator};
use nearscan_xrt::{OpenError, XrtDrive};

use crate::{
    drive_spec::{DriveScheme, DriveSpec},
    error::{Error, Result},
};

/// Opens a drive.
///
/// # Errors
/// [`Error::Drive`] when it cannot be opened, with the reason.
pub(crate) fn open(spec: &DriveSpec, threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    let failed = |reason: String| Error::Drive { name: spec.name.clone(), reason };
    match spec.scheme {
        DriveScheme::Emulated => {
            let params = spec.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let config =
                Config::from_parameters(params).map_err(|error| failed(error.to_string()))?;
            Ok(Arc::new(Emulator::open(config)))
        }
        DriveScheme::Cpu => start_cpu(threads).map_err(|error| failed(error.to_string())),
        DriveScheme::Xrt => open_card(spec).map_err(|error| failed(error.to_string())),
        DriveScheme::Remote => Err(failed("this build cannot reach remote drives".to_owned())),
    }
}

/// Opens a card. Where its image is for XRT's software emulation, an emulated card stands for it.
fn open_card(spec: &DriveSpec) -> std::result::Result<Arc<dyn Drive>, OpenError> {
    let path = |parameter| spec.param(parameter).map(PathBuf::from);
    // A URL without an image is no drive's, so there is one.
    let image = path("xclbin").unwrap_or_default();
    let root = path("root");
    let config = nearscan_xrt::Config { root, ..nearscan_xrt::Config::new(&spec.target, image) };
    let image = nearscan_xrt::read_image(&config.xclbin)?;
    let card = EmulatedCard::new(&image, Config::default());
    Ok(Arc::new(XrtDrive::open(&config, Some(Arc::new(card)))?))
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
