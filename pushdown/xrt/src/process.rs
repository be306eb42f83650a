// SPDX-License-Identifier: Apache-2.0
//! Prepares the process for XRT, once: its environment, the libraries in order, settings.
//!
//! ```text
//! 1  variables of the environment      before there are threads
//! 2  libxrt_coreutil                   reads nothing yet
//! 3  settings                          refused once there is a device library
//! 4  the device library, by us         the runtime's own search ends the process where it fails
//! ```
//!
//! # Invariants
//!
//! - One process reaches cards or emulates them: the runtime chooses once.

use std::{
    ffi::CStr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use nearscan_link::Target;

use crate::{
    environment::{Environment, emulation_mode},
    error::OpenError,
    library::{self, Api, Library},
};

/// The state that all drives of the process share; it is never released.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) target: Target,
    pub(crate) api: Api,
    /// The library that emulates the device.
    pub(crate) device_library: Library,
    /// Of a process that emulates.
    pub(crate) environment: Option<Environment>,
}

/// The use of the runtime that the process is prepared for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparation {
    /// Cards, or their emulation.
    pub target: Target,
    /// The folder of the runtime's libraries; the system's search without one.
    pub libraries: Option<PathBuf>,
}

/// Settings of the runtime.
const SETTINGS: &[(&CStr, &CStr)] = &[
    // Errors come back as values; its banner would be among our own lines.
    (c"Runtime.runtime_log", c"null"),
];

/// Settings of its emulation.
const EMULATION_SETTINGS: &[(&CStr, &CStr)] = &[
    // Neither starts a model of the device, nor waits for any child of ours at the end.
    (c"Emulation.dont_run", c"true"),
    // Its other scheduler keeps a sixth of a core busy while nothing runs.
    (c"Runtime.kds_sw_emu", c"false"),
];

/// Prepares the process. To be called first of all in a process that will open a card, before it
/// has threads; opening a drive does it where it was not done.
///
/// # Errors
/// [`OpenError`]: no runtime, too many threads, or prepared for the other target.
pub fn prepare(preparation: &Preparation) -> Result<(), OpenError> {
    process(preparation).map(drop)
}

/// The process, prepared.
pub(crate) fn process(preparation: &Preparation) -> Result<&'static Process, OpenError> {
    static PREPARED: Mutex<Option<&'static Process>> = Mutex::new(None);
    let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    match *prepared {
        Some(process) if process.target == preparation.target => Ok(process),
        Some(process) => Err(OpenError::OtherTarget { prepared: name(process.target) }),
        None => {
            let process: &'static Process =
                Box::leak(Box::new(load(preparation.target, preparation.libraries.as_deref())?));
            *prepared = Some(process);
            Ok(process)
        }
    }
}

const fn name(target: Target) -> &'static str {
    match target {
        Target::Card => "cards",
        Target::SoftwareEmulation => "software emulation",
    }
}

fn load(target: Target, libraries: Option<&Path>) -> Result<Process, OpenError> {
    let environment = match target {
        Target::SoftwareEmulation => Some(Environment::of_process()?),
        Target::Card => match emulation_mode() {
            Some(value) => return Err(OpenError::EmulationMode { value }),
            None => None,
        },
    };
    let loaded = load_libraries(target, libraries);
    if let (Err(_), Some(environment)) = (&loaded, &environment) {
        environment.remove();
    }
    let (api, device_library) = loaded?;
    Ok(Process { target, api, device_library, environment })
}

fn load_libraries(target: Target, libraries: Option<&Path>) -> Result<(Api, Library), OpenError> {
    let core = Library::open(library::CORE, libraries)?;
    let api = Api::of(&core)?;
    let emulation = match target {
        Target::SoftwareEmulation => EMULATION_SETTINGS,
        Target::Card => &[],
    };
    for (key, value) in SETTINGS.iter().chain(emulation) {
        // SAFETY: both are strings of C. A setting that is refused was read from a file before, and
        // that is the user's.
        unsafe { (api.ini_string_set)(key.as_ptr(), value.as_ptr()) };
    }
    Ok((api, Library::open(library::device_library(target), libraries)?))
}

/// Ends the process at once. For one whose card was lost: the runtime's own handlers for the end of
/// a process touch what hangs.
pub fn leave(code: i32) -> ! {
    // SAFETY: nothing of the process is used afterwards.
    unsafe { libc::_exit(code) }
}
