// SPDX-License-Identifier: Apache-2.0
//! Defines the drive settings under which the same queries run, one after the other.
//!
//! A setting is a row of [`DRIVE_SETTINGS`]. Whether its drive can be attached is found out by
//! attaching it: a setting switches itself on in the build that has its drive.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use nearscan::Engine;

use crate::error::{Error, Result};

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
    /// Value of `nearscan.scan`.
    pub scan: &'static str,
    /// Value of `nearscan.aggregate`.
    pub aggregate: &'static str,
    /// Value of `nearscan.join_order`.
    pub join_order: &'static str,
    /// One file in so many is run, chosen by a hash of its name.
    pub one_in: u64,
    /// Folders of which every file is run.
    pub in_full: &'static [&'static str],
}

/// Without a drive, by DataFusion's reader, aggregates and order of joins: what the others are
/// compared with.
pub static CPU: DriveSetting = DriveSetting {
    name: "cpu",
    drive: None,
    mode: "off",
    scan: "datafusion",
    aggregate: "datafusion",
    join_order: "datafusion",
    one_in: 1,
    in_full: &[],
};

/// Without a drive, by the fused scan.
pub static FUSED: DriveSetting = DriveSetting {
    name: "fused",
    scan: "fused",
    aggregate: "partitioned",
    join_order: "cost",
    ..CPU
};

/// On a drive without faults.
pub static EMULATED: DriveSetting = DriveSetting {
    name: "emulated",
    drive: Some(LARGE_DRIVE),
    mode: "force",
    scan: "fused",
    aggregate: "partitioned",
    join_order: "cost",
    one_in: 1,
    in_full: &[],
};

/// All settings, in the order in which they run.
pub static DRIVE_SETTINGS: [DriveSetting; 5] = [
    CPU,
    FUSED,
    EMULATED,
    DriveSetting { name: "emulated-faults", drive: Some(FAULTY_DRIVE), ..EMULATED },
    DriveSetting { name: "xrt", drive: Some(CARD), one_in: 10, in_full: &["tpcds/"], ..EMULATED },
];

/// A card in XRT's software emulation, in a separate process; [`IMAGE`] is replaced by the file.
const CARD: &str = "xrt:0?xclbin=IMAGE";
const IMAGE: &str = "IMAGE";

/// A drive that takes all that the command format has, merges among it.
const LARGE_DRIVE: &str = "emulated:?profile=unlimited";

/// A drive of a SmartSSD's size on which one unit of work in ten meets each fault, and one in a
/// hundred the end of the drive. The seed makes every run of a file the same.
const FAULTY_DRIVE: &str = "emulated:?seed=7&faults=queue_full:0.1,low_memory:0.1,read_error:0.1,\
                            timeout:0.1,corrupt:0.1,gone:0.01";

/// The reason why a setting cannot run in this build.
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
            let card = if url == CARD { Some(Card::here()?) } else { None };
            builder = match card {
                Some(card) => builder.program(&card.program).drive(&card.url())?,
                None => builder.drive(url)?,
            };
        }
        let builder = builder
            .set("nearscan.pushdown.mode", self.mode)
            .set("nearscan.scan", self.scan)
            .set("nearscan.aggregate", self.aggregate)
            .set("nearscan.join_order", self.join_order);
        Ok(builder.build().await?)
    }

    /// Whether a file is run with this setting.
    pub fn takes(&self, name: &str) -> bool {
        if self.in_full.iter().any(|folder| name.starts_with(folder)) {
            return true;
        }
        // FNV-1a, and a last round of Murmur for names that are alike: the same on every machine.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed ^ (mixed >> 33)).is_multiple_of(self.one_in)
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
        let engine =
            self.engine().await.map_err(|error| unavailable(reason(&error.to_string())))?;
        let drives = async { engine.sql("SELECT * FROM nearscan.drives").await?.collect().await };
        match drives.await {
            Ok(drives) if drives.profile.rows > 0 => Ok(()),
            Ok(_) => Err(unavailable(format!("the engine did not attach '{url}'"))),
            Err(error) => Err(unavailable(format!("the engine shows no drives: {error}"))),
        }
    }
}

/// The reason why an engine could not be made, in a line; what could be installed comes as
/// `needs NAME`.
fn reason(error: &str) -> String {
    match error.contains("XRT is not installed") {
        true => "needs xrt".to_owned(),
        false => error.lines().next().unwrap_or_default().to_owned(),
    }
}

/// The files that a card in emulation needs: an image of this build, and the program that hosts it.
#[derive(Debug)]
struct Card {
    program: PathBuf,
    image: PathBuf,
}

impl Card {
    /// The one of this process.
    fn here() -> Result<&'static Self> {
        static CARD: OnceLock<std::result::Result<Card, String>> = OnceLock::new();
        let made = CARD.get_or_init(|| Self::make().map_err(|error| error.to_string()));
        made.as_ref().map_err(|error| Error::Card(error.clone()))
    }

    fn make() -> io::Result<Self> {
        // A test is in its own folder beside the program.
        let test = std::env::current_exe()?;
        let beside = test.parent().and_then(Path::parent).unwrap_or_else(|| Path::new("."));
        let program = beside.join("nearscan");
        if !program.is_file() {
            return Err(io::Error::other(format!("{} is not built", program.display())));
        }
        // Complete or missing, for other runs of these tests.
        let image = program.with_extension("sw_emu.xclbin");
        let new = program.with_extension(std::process::id().to_string());
        fs::write(&new, nearscan::serving::emulation_image())?;
        fs::rename(new, &image)?;
        Ok(Self { program, image })
    }

    fn url(&self) -> String {
        CARD.replace(IMAGE, &self.image.to_string_lossy())
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
    async fn setting_without_a_drive_is_always_available() {
        assert_eq!(CPU.probe().await, Ok(()));
        let engine = CPU.engine().await.unwrap();
        assert!(engine.drive_specs().is_empty());
        assert_eq!(engine.options().pushdown.mode.to_string(), "off");
    }

    #[tokio::test]
    async fn setting_whose_drive_cannot_be_opened_has_a_reason() {
        let setting = DriveSetting { name: "far", drive: Some("remote:nowhere"), ..EMULATED };
        let reason = setting.probe().await.unwrap_err().to_string();
        assert_eq!(reason, "error: invalid drive URL 'remote:nowhere'");
    }

    #[test]
    fn part_of_the_files_is_always_the_same_part() {
        let part = DriveSetting { one_in: 10, ..CPU };
        let names: Vec<String> = (0..1000).map(|number| format!("file/{number}")).collect();
        let taken = names.iter().filter(|name| part.takes(name)).count();
        assert!((60..140).contains(&taken), "{taken}");
        assert!(names.iter().all(|name| CPU.takes(name)));
        assert!(part.takes("file/3") && !part.takes("file/0"));
    }

    #[test]
    fn folder_in_full_has_every_file_taken() {
        let part = DriveSetting { one_in: u64::MAX, in_full: &["tpcds/"], ..CPU };
        assert!(part.takes("tpcds/q01_10"));
        assert!(!part.takes("tpcds_like/q01_10"));
    }

    #[tokio::test]
    async fn urls_of_all_settings_are_accepted_in_their_mode() {
        for setting in DRIVE_SETTINGS.iter().filter(|setting| setting.drive != Some(CARD)) {
            let engine = setting.engine().await.unwrap();
            assert_eq!(engine.drive_specs().len(), usize::from(setting.drive.is_some()));
            assert_eq!(engine.options().pushdown.mode.to_string(), setting.mode);
        }
    }
}
