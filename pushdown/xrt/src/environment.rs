// SPDX-License-Identifier: Apache-2.0
//! Prepares the environment of XRT's software emulation: variables, a folder, a socket.
//!
//! This is the only file that reads and sets variables of the process. The runtime reads them with
//! C's `getenv`, so they must be set before a second thread is started: either the parent passes
//! them to the process ([`Environment::variables`]), or the process sets them first.
//!
//! # Invariants
//!
//! - No two processes have the same socket or folder: those that share one connect to each other
//!   and die.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::error::OpenError;

/// Chooses the emulation.
const MODE: &str = "XCL_EMULATION_MODE";
/// Path of the description of the device.
const CONFIGURATION: &str = "EMCONFIG_PATH";
/// Path of the folder that the runtime may write to.
const RUN_FOLDER: &str = "SDACCEL_EM_RUN_DIR";
/// The last part of the socket's name.
const SOCKET: &str = "EMULATION_SOCKETID";
/// The folder in `/tmp` that the socket is in. It is one of ours: the user's own name may be that
/// of a file, or of a folder of another user.
const USER: &str = "USER";

/// Names of folders and sockets begin so; the number of the process that made them follows.
const PREFIX: &str = "nearscan-xrt-";

/// Where the runtime looks for folders of sockets.
const SOCKETS: &str = "/tmp";

/// The description of the device: one SmartSSD with one bank. The runtime ends the process when it
/// cannot read it, and invents a device when it is not there. Sizes are words of a table.
const DEVICE: &str = r#"{ "Version": { "FileVersion": "2.0", "ToolVersion": "2022.1" },
  "Platform": { "UnifiedPlatform": "true", "ExpandedPR": "false",
    "Boards": [ { "NumBoards": "1", "Devices": [
      { "Name": "xilinx_u2_gen3x4_xdma_gc_base_2", "HalMajorVersion": "2", "HalMinorVersion": "0",
        "VendorId": "4334", "DeviceVersion": "0", "DataAlignment": "4096", "NumDevices": "1",
        "DdrBanks": [ { "Size": "4GB" } ] } ] } ] } }
"#;

/// Devices in that description.
pub(crate) const DEVICES: u32 = 1;

/// The surroundings of one process that emulates cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    folder: PathBuf,
    /// Of the folder, of the socket, and of the folder that the socket is in.
    name: String,
}

impl Environment {
    /// Surroundings for a process that is about to be started, with its own folder; clears up what
    /// dead processes have left.
    ///
    /// # Errors
    /// [`OpenError::File`] when the folder cannot be made.
    pub fn make() -> Result<Self, OpenError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let temporary = std::env::temp_dir();
        [&temporary, Path::new(SOCKETS)].into_iter().for_each(sweep);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let made = Self { folder: temporary.join(&name), name };
        made.lay_out()?;
        Ok(made)
    }

    /// The variables that the process has to be started with.
    pub fn variables(&self) -> [(&'static str, OsString); 5] {
        [
            (MODE, "sw_emu".into()),
            (CONFIGURATION, self.folder.clone().into()),
            (RUN_FOLDER, self.folder.clone().into()),
            (SOCKET, self.name.clone().into()),
            (USER, self.name.clone().into()),
        ]
    }

    /// The surroundings of this process: those that it was started with, or, as long as it has one
    /// thread, new ones.
    pub(crate) fn of_process() -> Result<Self, OpenError> {
        if let Some(given) = Self::given() {
            given.lay_out()?;
            return Ok(given);
        }
        match threads() {
            1 => {}
            threads => return Err(OpenError::Threads { threads }),
        }
        let made = Self::make()?;
        for (name, value) in made.variables() {
            // SAFETY: this process has one thread, which was just counted, so that no other code
            // reads or changes the environment meanwhile.
            unsafe { std::env::set_var(name, value) };
        }
        Ok(made)
    }

    fn given() -> Option<Self> {
        if variable(MODE)? != "sw_emu" {
            return None;
        }
        let folder = PathBuf::from(variable(CONFIGURATION)?);
        let run_folder = PathBuf::from(variable(RUN_FOLDER)?);
        let name = variable(SOCKET)?;
        // An environment that the user has set up is neither written nor removed.
        let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_ours = folder == run_folder
            && name.starts_with(PREFIX)
            && variable(USER)? == name
            && folder_name.is_some_and(|folder_name| folder_name == name);
        is_ours.then_some(Self { folder, name })
    }

    /// Makes the folder and the description of the device in it.
    pub(crate) fn lay_out(&self) -> Result<(), OpenError> {
        std::fs::create_dir_all(&self.folder).map_err(OpenError::file(&self.folder))?;
        let file = self.folder.join("emconfig.json");
        std::fs::write(&file, DEVICE).map_err(OpenError::file(file))
    }

    /// The socket that the runtime looks for.
    pub(crate) fn socket(&self) -> PathBuf {
        Path::new(SOCKETS).join(&self.name).join(&self.name)
    }

    /// Removes the folder and the socket; what is not there is no matter.
    pub fn remove(&self) {
        drop(std::fs::remove_dir_all(&self.folder));
        drop(std::fs::remove_dir_all(Path::new(SOCKETS).join(&self.name)));
    }
}

/// The value of the variable that requests emulation, if there is one.
pub(crate) fn emulation_mode() -> Option<String> {
    variable(MODE)
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok()
}

/// Threads of this process; more than any where that cannot be told.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count)
}

/// Removes folders and sockets of processes that are no more.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let Some(process) = process.and_then(|process| process.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new("/proc").join(process.to_string()).exists() {
            drop(std::fs::remove_dir_all(entry.path()));
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own_folder_and_socket() {
        let [one, other] = [0, 0].map(|_| Environment::make().unwrap());
        assert_ne!(one.folder, other.folder);
        assert_ne!(one.socket(), other.socket());
        assert!(one.folder.join("emconfig.json").is_file());
        for environment in [one, other] {
            environment.remove();
            assert!(!environment.folder.exists());
        }
    }

    #[test]
    fn only_folders_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        // No process has the largest number.
        let dead = folder.path().join(format!("{PREFIX}4294967295-0"));
        let alive = folder.path().join(format!("{PREFIX}{}-0", std::process::id()));
        let other = folder.path().join("nearscan-4294967295");
        for path in [&dead, &alive, &other] {
            std::fs::create_dir(path).unwrap();
        }
        sweep(folder.path());
        assert_eq!((dead.exists(), alive.exists(), other.exists()), (false, true, true));
    }
}
