// SPDX-License-Identifier: Apache-2.0
//! The drive settings: where the same queries run, one after the other.
//!
//! A setting is a row of [`DRIVE_SETTINGS`]. Whether its drive can be attached is found out by
//! attaching it: a setting switches itself on in the build that has its drive.

use std::fmt;

use nearscan::Engine;

use crate::error::Result;

/// Partitions of every query. Fixed, so that plans do not depend on the machine; two, because one
/// has no partial aggregates and no exchange.
const PARTITION_COUNT: usize = 2;

/// One way to run all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveSetting {
    /// First part of the names of its tests.
    pub name: &'static str,
    /// URL of the drive that is attached, if one is.
    pub drive: Option<&'static str>,
    /// Value of `nearscan.pushdown.mode`.
    pub mode: &'static str,
}

/// All settings, in the order in which they run.
pub static DRIVE_SETTINGS: [DriveSetting; 3] = [
    DriveSetting { name: "cpu", drive: None, mode: "off" },
    DriveSetting { name: "emulated", drive: Some(LARGE_DRIVE), mode: "force" },
    DriveSetting { name: "emulated-faults", drive: Some(FAULTY_DRIVE), mode: "force" },
];

/// A drive that takes all that the command format has, merges among it.
const LARGE_DRIVE: &str = "emulated:?profile=unlimited";

/// A drive of a SmartSSD's size on which one unit of work in ten meets each fault, and one in a
/// hundred the end of the drive. The seed makes every run of a file the same.
const FAULTY_DRIVE: &str = "emulated:?seed=7&faults=queue_full:0.1,low_memory:0.1,read_error:0.1,\
                            timeout:0.1,corrupt:0.1,gone:0.01";

/// Why a setting cannot run in this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// One line.
    pub reason: String,
}

impl DriveSetting {
    /// Makes an engine with this setting, without tables.
    ///
    /// # Errors
    /// If the engine refuses the drive or the mode.
    pub async fn engine(&self) -> Result<Engine> {
        let mut builder = Engine::builder().threads(PARTITION_COUNT);
        if let Some(url) = self.drive {
            builder = builder.drive(url)?;
        }
        Ok(builder.set("nearscan.pushdown.mode", self.mode).build().await?)
    }

    /// Finds out whether the drive of this setting is there once it is attached.
    ///
    /// A drive that is attached has a row in the system table `nearscan.drives`: an engine that
    /// takes the URL and then runs without the drive must not count as one that has it.
    ///
    /// # Errors
    /// [`Unavailable`] with the reason.
    pub async fn probe(&self) -> Result<(), Unavailable> {
        let Some(url) = self.drive else { return Ok(()) };
        let unavailable = |reason: String| Unavailable { reason };
        let one_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
        let engine =
            self.engine().await.map_err(|error| unavailable(one_line(error.to_string())))?;
        let drives = async { engine.sql("SELECT * FROM nearscan.drives").await?.collect().await };
        match drives.await {
            Ok(drives) if drives.profile.rows > 0 => Ok(()),
            Ok(_) => Err(unavailable(format!("the engine did not attach '{url}'"))),
            Err(error) => Err(unavailable(format!("the engine shows no drives: {error}"))),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn setting_without_a_drive_is_always_there() {
        assert_eq!(DRIVE_SETTINGS[0].probe().await, Ok(()));
        let engine = DRIVE_SETTINGS[0].engine().await.unwrap();
        assert!(engine.drive_specs().is_empty());
        assert_eq!(engine.options().pushdown.mode.to_string(), "off");
    }

    #[tokio::test]
    async fn setting_whose_drive_cannot_be_opened_says_why() {
        let setting = DriveSetting { name: "far", drive: Some("remote:nowhere"), mode: "force" };
        let reason = setting.probe().await.unwrap_err().to_string();
        assert_eq!(reason, "error: invalid drive URL 'remote:nowhere'");
    }

    #[tokio::test]
    async fn urls_of_all_settings_are_accepted_in_their_mode() {
        for setting in &DRIVE_SETTINGS {
            let engine = setting.engine().await.unwrap();
            assert_eq!(engine.drive_specs().len(), usize::from(setting.drive.is_some()));
            assert_eq!(engine.options().pushdown.mode.to_string(), setting.mode);
        }
    }
}
