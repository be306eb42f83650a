// SPDX-License-Identifier: Apache-2.0
//! Holds an open card: device, image, compute units and buffers, and closes them in order.
//!
//! ```text
//! opening   device, (emulation: message buffer, model), image, kernels, runs, buffers
//! closing   runs, kernels, buffers, device, (emulation: folder, socket)
//! ```
//!
//! # Invariants
//!
//! - A card is closed in that order, whatever went wrong before; one that is lost is never touched
//!   again, and what it holds is leaked.

use std::{
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_drive::CardModel;
use nearscan_link::{Argument, Image, Kernel, Target, description::BANK_BYTES};

use crate::{
    address::Address,
    checks::{self, Sysfs},
    config::{Config, PeerToPeer},
    debian_shim,
    environment::{DEVICES, Environment},
    error::OpenError,
    handles::{Buffer, BufferKind, CallFailed, Device, nameless_memory},
    images::ImageFile,
    pool::Pool,
    process::{Preparation, Process, process},
    signals,
    unit::ComputeUnit,
};

/// An open card.
#[derive(Debug)]
pub(crate) struct Card {
    /// The image that it has loaded.
    pub(crate) image: ImageFile,
    pub(crate) scans: Vec<ComputeUnit>,
    pub(crate) merges: Vec<ComputeUnit>,
    pub(crate) pool: Pool,
    /// Whether a disk can write into it; else why not.
    pub(crate) peer_to_peer: Result<(), String>,
    device: Mutex<Option<Arc<Device>>>,
    address: Address,
    process: &'static Process,
}

/// Device memory that the units hold for themselves.
pub(crate) const UNITS_BYTES: u64 = 16 << 20;

/// Cards that this process has open, with the names of their images.
static OPEN: Mutex<Vec<(Address, String)>> = Mutex::new(Vec::new());

fn open_cards() -> MutexGuard<'static, Vec<(Address, String)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Card {
    /// Opens a card.
    ///
    /// # Errors
    /// The missing or failed step; everything that was opened is closed again.
    pub(crate) fn open(
        config: &Config,
        file: &ImageFile,
        model: Option<Arc<dyn CardModel>>,
    ) -> Result<Self, OpenError> {
        let (address, image) = (Address::parse(&config.target)?, &file.image);
        let libraries = config.libraries.clone();
        let process = process(&Preparation { target: image.target, libraries })?;
        claim(&address, image)?;
        Self::open_claimed(config, file, model, (address.clone(), process))
            .inspect_err(|_| release(&address))
    }

    fn open_claimed(
        config: &Config,
        file: &ImageFile,
        model: Option<Arc<dyn CardModel>>,
        place: (Address, &'static Process),
    ) -> Result<Self, OpenError> {
        let (address, process) = place;
        let image = &file.image;
        match image.target {
            Target::Card => checks::before(&Sysfs::default(), &address, image)?,
            // An index beyond those of the description would give an invented device.
            Target::SoftwareEmulation if !address.is_index_below(DEVICES) => {
                return Err(no_card(&address, "; software emulation has one card, 0"));
            }
            Target::SoftwareEmulation => {}
        }
        let device = open_device(process, &address)?;
        let opened = load(process, &device, file, model)
            .map_err(|failed| failed.into_error(&address))
            .and_then(|()| Self::with(&device, config, file, (address, process)));
        opened.inspect_err(|_| {
            device.close();
            process.environment.iter().for_each(give_up_socket);
        })
    }

    /// The card, once its image is loaded.
    fn with(
        device: &Arc<Device>,
        config: &Config,
        file: &ImageFile,
        place: (Address, &'static Process),
    ) -> Result<Self, OpenError> {
        let (address, process) = place;
        let image = &file.image;
        let mut units: Vec<ComputeUnit> = Vec::new();
        let opened = image.units.iter().try_for_each(|unit| {
            units.push(ComputeUnit::open(device, &image.uuid, unit)?);
            Ok(())
        });
        if let Err(failed) = opened {
            units.iter().for_each(ComputeUnit::close);
            return Err(card_error(&address, failed));
        }
        let peer_to_peer = match config.peer_to_peer {
            PeerToPeer::Off => Err("it was turned off".to_owned()),
            PeerToPeer::Auto => units.first().map_or(Ok(()), |unit| try_peer_to_peer(device, unit)),
        };
        if let Err(reason) = &peer_to_peer {
            tracing::warn!(%address, reason, "files are copied through the host");
        }
        if image.target == Target::Card {
            checks::after(&Sysfs::default(), &address, config.root.as_deref());
        }
        let (scans, merges) =
            units.into_iter().partition(|unit: &ComputeUnit| unit.kernel == Kernel::Scan);
        Ok(Self {
            image: file.clone(),
            scans,
            merges,
            pool: Pool::new(Arc::clone(device), BANK_BYTES - UNITS_BYTES),
            peer_to_peer,
            device: Mutex::new(Some(Arc::clone(device))),
            address,
            process,
        })
    }

    /// Whether it is emulated.
    pub(crate) fn is_emulated(&self) -> bool {
        self.process.target == Target::SoftwareEmulation
    }

    /// Closes everything, in order. Nothing of it may be in use.
    pub(crate) fn close(&self) {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(device) = device else { return };
        self.scans.iter().chain(&self.merges).for_each(ComputeUnit::close);
        self.pool.close();
        // The pool still knows the device, but never asks it for anything again.
        device.close();
        self.process.environment.iter().for_each(Environment::remove);
        release(&self.address);
    }
}

/// Notes that this process has a card.
fn claim(address: &Address, image: &Image) -> Result<(), OpenError> {
    let mut open = open_cards();
    if let Some((_, other)) = open.iter().find(|(other, _)| other == address) {
        return Err(OpenError::AlreadyOpen { target: address.to_string(), image: other.clone() });
    }
    open.push((address.clone(), image.name.clone()));
    Ok(())
}

fn release(address: &Address) {
    open_cards().retain(|(other, _)| other != address);
}

fn no_card(address: &Address, detail: &str) -> OpenError {
    OpenError::NoCard { target: address.to_string(), detail: detail.to_owned() }
}

fn card_error(address: &Address, failed: CallFailed) -> OpenError {
    let reason = format!("code {}", failed.code);
    OpenError::Card { target: address.to_string(), what: failed.what, reason }
}

fn open_device(process: &Process, address: &Address) -> Result<Arc<Device>, OpenError> {
    if let Some(environment) = &process.environment {
        // An earlier drive of this process has removed it.
        environment.lay_out()?;
    }
    let opened = match address {
        Address::Index(index) => Device::open(process.api, *index),
        Address::Bus(bus) => Device::open_by_address(process.api, bus),
    };
    let detail = match process.target {
        Target::Card => checks::absence(&Sysfs::default(), address),
        Target::SoftwareEmulation => String::new(),
    };
    opened.map(Arc::new).map_err(|_| no_card(address, &detail))
}

/// The reason why an image could not be loaded.
enum LoadFailed {
    Open(OpenError),
    Call(CallFailed),
}

impl LoadFailed {
    fn into_error(self, address: &Address) -> OpenError {
        match self {
            Self::Open(error) => error,
            // The driver's words for "another image is in use".
            Self::Call(failed)
                if [libc::EBUSY, libc::EPERM, libc::EACCES].contains(&failed.code.abs()) =>
            {
                OpenError::ImageInUse { target: address.to_string() }
            }
            Self::Call(failed) => card_error(address, failed),
        }
    }
}

/// Loads the image; in emulation, first starts the model of the device.
fn load(
    process: &Process,
    device: &Arc<Device>,
    file: &ImageFile,
    model: Option<Arc<dyn CardModel>>,
) -> Result<(), LoadFailed> {
    if let Some(environment) = &process.environment {
        debian_shim::prime(&process.device_library, device.shim()).map_err(LoadFailed::Open)?;
        let model = model.ok_or(LoadFailed::Open(OpenError::NoModel))?;
        serve(environment, model).map_err(LoadFailed::Open)?;
    }
    signals::kept(|| device.load(&file.path)).map_err(LoadFailed::Call)
}

/// Starts the model, because the runtime connects to an existing listener.
fn serve(environment: &Environment, model: Arc<dyn CardModel>) -> Result<(), OpenError> {
    let socket = environment.socket();
    if let Some(folder) = socket.parent() {
        std::fs::create_dir_all(folder).map_err(OpenError::file(folder))?;
    }
    drop(std::fs::remove_file(&socket));
    let listener = UnixListener::bind(&socket).map_err(OpenError::file(&socket))?;
    model.serve(listener, nameless_memory).map_err(OpenError::Thread)
}

/// Ends a model without a connection.
fn give_up_socket(environment: &Environment) {
    drop(UnixStream::connect::<&Path>(environment.socket().as_ref()));
    environment.remove();
}

/// Whether a buffer for peer to peer can be made; a card on which it is off has none.
fn try_peer_to_peer(device: &Device, unit: &ComputeUnit) -> Result<(), String> {
    let place = unit.place(BufferKind::PeerToPeer, Argument::Input);
    match device.buffer(place, 4096) {
        Ok(buffer) => {
            Buffer::close(buffer);
            Ok(())
        }
        Err(_) => Err("peer to peer is off: enable it with `xbutil configure --device ADDRESS \
                       --p2p enable`, and reboot if it says so"
            .to_owned()),
    }
}
