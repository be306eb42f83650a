// SPDX-License-Identifier: Apache-2.0
//! Opens the drives that the user asked for; this is the only module that names backends.
//!
//! A drive runs in this process, or in a separate one, the program `nearscan drive serve`. A drive
//! that uses a vendor's runtime always runs in a separate process, so that a crash of that runtime
//! becomes a push-back.

use std::{path::PathBuf, sync::Arc};

use nearscan_command::layout;
use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::Drive;
use nearscan_emulator::{Config, EmulatedCard, Emulator};
use nearscan_link::{IMAGES, metadata::Format, xclbin};
use nearscan_remote::{Address, HostOptions, HostedDrive, Program, RemoteDrive};
use nearscan_xrt::{OpenError, Preparation, XrtDrive};

use crate::{
    drive_spec::{DriveScheme, DriveSpec, PROCESS},
    error::{Error, Result},
    remote_options,
};

/// The resources for opening drives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opening {
    /// Threads of a CPU drive.
    pub(crate) threads: Option<usize>,
    /// The program `nearscan`, which serves drives in separate processes; by default the running
    /// executable.
    pub(crate) program: Option<PathBuf>,
}

/// An open drive.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) drive: Arc<dyn Drive>,
    /// The same, if a server has it, which may have objects too.
    pub(crate) server: Option<Arc<RemoteDrive>>,
}

impl From<Arc<dyn Drive>> for Opened {
    fn from(drive: Arc<dyn Drive>) -> Self {
        Self { drive, server: None }
    }
}

/// Opens a drive.
///
/// # Errors
/// [`Error::Drive`] when it cannot be opened, with the reason.
pub(crate) fn open(spec: &DriveSpec, opening: &Opening) -> Result<Opened> {
    match spec.scheme {
        DriveScheme::Emulated if spec.param(PROCESS) == Some("own") => {
            hosted(spec, opening).map(Opened::from)
        }
        DriveScheme::Xrt => {
            // An invalid image is detected without starting a process.
            let config = card_config(spec);
            for path in [Some(&config.xclbin), config.merge_xclbin.as_ref()].into_iter().flatten() {
                nearscan_xrt::read_image(path).map_err(|error| failed(spec, error))?;
            }
            hosted(spec, opening).map(Opened::from)
        }
        DriveScheme::Emulated | DriveScheme::Cpu => {
            open_here(spec, opening.threads).map(Opened::from)
        }
        DriveScheme::Remote => {
            let server = connect(spec)?;
            let drive = Arc::<RemoteDrive>::clone(&server);
            Ok(Opened { drive, server: Some(server) })
        }
    }
}

/// Prepares this process to hold the drive of a URL. A card's runtime requires this call before any
/// thread is started; other drives need no preparation.
///
/// # Errors
/// [`Error::DriveSpec`] if the URL is invalid, [`Error::Drive`] if the runtime or the card's image
/// is missing or unusable.
pub fn prepare_process(url: &str) -> Result<()> {
    let spec = DriveSpec::parse(url)?;
    if spec.scheme != DriveScheme::Xrt {
        return Ok(());
    }
    let prepare = || {
        let target = nearscan_xrt::read_image(&card_config(&spec).xclbin)?.target;
        nearscan_xrt::prepare(&Preparation { target, libraries: None })
    };
    prepare().map_err(|error: OpenError| failed(&spec, error))
}

/// The card's image for XRT's software emulation, for `xrt:0?xclbin=FILE`. Only this build can use
/// it, because it names the kernels in this executable.
#[must_use]
pub fn emulation_image() -> Vec<u8> {
    let format = Format { major: layout::FORMAT_MAJOR, minor: layout::FORMAT_MINOR };
    IMAGES.first().map_or_else(Vec::new, |image| xclbin::emulation(image, format))
}

/// Ends a process whose drive is lost ([`Drive::lost`]). An ordinary exit would wait for the card
/// to answer.
pub use nearscan_xrt::leave;

/// Opens a drive as an engine does, but without an engine: a card runs in a separate process,
/// started from the calling executable. The call blocks until that process answers, so threads of
/// an async runtime must not make it.
///
/// # Errors
/// [`Error::DriveSpec`] if the URL is invalid, [`Error::Drive`] if the drive cannot be opened.
pub fn attach_drive(url: &str, threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    open(&DriveSpec::parse(url)?, &Opening { threads, program: None }).map(|opened| opened.drive)
}

/// Connects to a server, for its objects and applications. The call blocks until the server
/// answers, so threads of an async runtime must not make it.
///
/// # Errors
/// [`Error::DriveSpec`] if the URL is invalid, [`Error::Drive`] if it is not of a server, or the
/// server does not answer.
pub fn connect_server(url: &str) -> Result<Arc<RemoteDrive>> {
    let spec = DriveSpec::parse(url)?;
    match spec.scheme {
        DriveScheme::Remote => connect(&spec),
        DriveScheme::Cpu | DriveScheme::Emulated | DriveScheme::Xrt => {
            Err(failed(&spec, "it is no server, which remote://HOST:PORT is"))
        }
    }
}

/// Opens a drive in this process, whatever its URL says of processes: a server holds its drive in
/// its own process.
///
/// # Errors
/// [`Error::DriveSpec`] if the URL is invalid, [`Error::Drive`] if the drive cannot be opened.
pub fn open_drive(url: &str, threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    open_here(&DriveSpec::parse(url)?, threads)
}

fn open_here(spec: &DriveSpec, threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    match spec.scheme {
        DriveScheme::Emulated => {
            let params = spec.params.iter().filter(|(key, _)| *key != PROCESS);
            let params = params.map(|(key, value)| (key.as_str(), value.as_str()));
            let config = Config::from_parameters(params).map_err(|error| failed(spec, error))?;
            Ok(Arc::new(Emulator::open(config)))
        }
        DriveScheme::Cpu => start_cpu(threads).map_err(|error| failed(spec, error)),
        DriveScheme::Xrt => open_card(spec).map_err(|error| failed(spec, error)),
        DriveScheme::Remote => connect(spec).map(|drive| drive as Arc<dyn Drive>),
    }
}

/// Connects to the drive of a server.
fn connect(spec: &DriveSpec) -> Result<Arc<RemoteDrive>> {
    let address: Address = spec.target.parse().map_err(|error| failed(spec, error))?;
    let options = remote_options::of(spec).map_err(|reason| failed(spec, reason))?;
    let drive = RemoteDrive::connect(&address, options);
    drive.map(Arc::new).map_err(|error| failed(spec, error))
}

/// Opens a card, or an emulated card if the image is for XRT's software emulation.
fn open_card(spec: &DriveSpec) -> std::result::Result<Arc<dyn Drive>, OpenError> {
    let config = card_config(spec);
    let image = nearscan_xrt::read_image(&config.xclbin)?;
    let merging = config.merge_xclbin.as_deref().map(nearscan_xrt::read_image).transpose()?;
    let card = EmulatedCard::new(&image, merging.as_ref(), Config::default());
    Ok(Arc::new(XrtDrive::open(&config, Some(Arc::new(card)))?))
}

fn card_config(spec: &DriveSpec) -> nearscan_xrt::Config {
    let path = |parameter| spec.param(parameter).map(PathBuf::from);
    // Parsing a URL ensures that it has an image.
    let image = path("xclbin").unwrap_or_default();
    let root = path("root");
    let merge_xclbin = path("merge_xclbin");
    nearscan_xrt::Config { root, merge_xclbin, ..nearscan_xrt::Config::new(&spec.target, image) }
}

/// Opens a drive in a separate process.
fn hosted(spec: &DriveSpec, opening: &Opening) -> Result<Arc<dyn Drive>> {
    let path = match &opening.program {
        Some(path) => path.clone(),
        None => std::env::current_exe().map_err(|error| failed(spec, error))?,
    };
    let arguments = ["drive", "serve", "--drive", &spec.url()].map(Into::into).to_vec();
    let mut options = HostOptions::default();
    options.remote.kind = spec.scheme.as_str();
    let drive = HostedDrive::start(Program { path, arguments }, options);
    Ok(Arc::new(drive.map_err(|error| failed(spec, error))?))
}

fn failed(spec: &DriveSpec, reason: impl std::fmt::Display) -> Error {
    Error::Drive { name: spec.name.clone(), reason: reason.to_string() }
}

/// Starts the drive that runs the units that other drives have pushed back.
///
/// # Errors
/// [`Error::Drive`] if the system has no threads left.
pub(crate) fn fallback(threads: Option<usize>) -> Result<Arc<dyn Drive>> {
    start_cpu(threads)
        .map_err(|error| Error::Drive { name: "cpu".to_owned(), reason: error.to_string() })
}

fn start_cpu(threads: Option<usize>) -> std::io::Result<Arc<dyn Drive>> {
    let options = threads.map_or_else(Options::default, Options::with_threads);
    Ok(Arc::new(CpuDrive::start(options)?))
}
