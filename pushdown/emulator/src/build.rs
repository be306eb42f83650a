// SPDX-License-Identifier: Apache-2.0
//! Describes the builds of an emulated drive's FPGA: the number and width of their units, whether
//! they fit, and which of them runs a command.
//!
//! By default an FPGA of limited size has two: one that scans with as many lanes as fit, and one
//! with fewer lanes that merges as well. The drive loads the one that a command needs.

use std::{collections::BTreeMap, fmt};

use nearscan_command::limits;
use nearscan_drive::{Capabilities, ImageAbility, Work, images::image_needed};

use crate::budget::{Ledger, Over};

/// A build of the kernels for an FPGA: how many units, how wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build {
    /// Compute units that scan.
    pub scan_units: u32,
    /// Columns that each of them takes side by side.
    pub lanes: u32,
    /// Compute units that merge, which a merge is cut into parts for; without one the drive does
    /// not merge.
    pub merge_units: u32,
}

impl Build {
    /// One port each would allow as many.
    pub const UNITS_MAX: u32 = 15;
    /// A lane more would never have a column.
    pub const LANES_MAX: u32 = limits::COLUMNS_MAX;

    /// What an image of it can run.
    pub const fn ability(&self) -> ImageAbility {
        let merge_inputs_max = if self.merges() { limits::MERGE_INPUTS_MAX } else { 0 };
        ImageAbility { columns_max: self.lanes, merge_inputs_max }
    }

    /// Whether it merges.
    pub const fn merges(&self) -> bool {
        self.merge_units > 0
    }

    /// Number of instances of each group of stages of the ledger.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        BTreeMap::from([
            ("scan_unit".to_owned(), self.scan_units),
            ("scan_lane".to_owned(), self.scan_units * self.lanes),
            ("test_lane".to_owned(), self.scan_units * self.lanes.min(limits::TEST_COLUMNS_MAX)),
            ("merge_unit".to_owned(), self.merge_units),
        ])
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |count: u32| if count == 1 { "" } else { "s" };
        let Self { scan_units, lanes, merge_units } = *self;
        write!(f, "{scan_units} scan unit{} of {lanes} lane{}", many(scan_units), many(lanes))?;
        match merge_units {
            0 => Ok(()),
            _ => write!(f, " and {merge_units} merge unit{}", many(merge_units)),
        }
    }
}

/// The builds of a drive, whose FPGA holds one at a time.
///
/// # Invariants
///
/// - Both have equally many units that scan, so the time of a scan does not depend on which of them
///   is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builds {
    /// The one that is loaded first.
    pub first: Build,
    /// Another one, which merges.
    pub merging: Option<Build>,
}

impl Builds {
    /// One build alone.
    pub const fn one(build: Build) -> Self {
        Self { first: build, merging: None }
    }

    /// The build to load for a command; nothing when `loaded` runs it, or none does.
    pub fn needed(&self, work: &Work, loaded: &Build) -> Option<Build> {
        image_needed(work, loaded, self.all(), Build::ability)
    }

    fn all(&self) -> impl Iterator<Item = Build> + Clone {
        [Some(self.first), self.merging].into_iter().flatten()
    }

    /// The build that merges, if one does.
    pub fn that_merges(&self) -> Option<Build> {
        self.all().find(Build::merges)
    }

    /// What a drive with these builds can do, with the image that a command needs.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities::of_images(self.all().map(|build| build.ability()))
    }
}

impl fmt::Display for Builds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.merging.map_or(Ok(()), |build| write!(f, ", or {build}"))
    }
}

/// A device to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Samsung SmartSSD: KU15P, one bank of 4 GB DDR4, PCIe Gen3 x4. A build that does not fit its
    /// FPGA is refused.
    #[default]
    SmartSsd,
    /// The same with an unlimited FPGA, to test what the format allows beyond that part.
    Unlimited,
}

impl Profile {
    /// The profile of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "smartssd" => Some(Self::SmartSsd),
            "unlimited" => Some(Self::Unlimited),
            _ => None,
        }
    }

    /// The default builds: the widest scan that fits, and the widest that fits beside a merge; or
    /// all that the command format has.
    pub const fn builds(self) -> Builds {
        match self {
            Self::SmartSsd => Builds {
                first: Build { scan_units: 1, lanes: 7, merge_units: 0 },
                merging: Some(Build { scan_units: 1, lanes: 5, merge_units: 1 }),
            },
            Self::Unlimited => {
                Builds::one(Build { scan_units: 4, lanes: Build::LANES_MAX, merge_units: 2 })
            }
        }
    }

    /// Checks that a build fits such a device.
    ///
    /// # Errors
    /// The resources that do not suffice.
    pub fn admits(self, build: &Build) -> Result<(), String> {
        if self == Self::Unlimited {
            return Ok(());
        }
        let ledger = Ledger::of_kernels().map_err(|error| error.to_string())?;
        let over: Vec<String> = ledger.over(&build.counts()).iter().map(Over::to_string).collect();
        if over.is_empty() { Ok(()) } else { Err(over.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(1, 7, 0, "1 scan unit of 7 lanes")]
    #[case(4, 1, 1, "4 scan units of 1 lane and 1 merge unit")]
    fn image_is_described_in_words(
        #[case] scan_units: u32,
        #[case] lanes: u32,
        #[case] merge_units: u32,
        #[case] words: &str,
    ) {
        assert_eq!(Build { scan_units, lanes, merge_units }.to_string(), words);
    }

    #[test]
    fn profile_of_card_is_as_wide_as_fits() {
        let build = Profile::SmartSsd.builds().first;
        assert_eq!(Profile::SmartSsd.admits(&build), Ok(()));
        let wider = Build { lanes: build.lanes + 1, ..build };
        let over = Profile::SmartSsd.admits(&wider).unwrap_err();
        assert!(over.contains("LUT"), "{over}");
        assert_eq!(Profile::Unlimited.admits(&wider), Ok(()));
    }
}
