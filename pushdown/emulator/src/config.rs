// SPDX-License-Identifier: Apache-2.0
//! Parses the configuration of an emulated drive: `emulated:?seed=7&lanes=4&faults=...`.

use std::path::PathBuf;

use crate::{
    build::{Build, Builds, Profile},
    faults::FaultPlan,
    flash::HOT_BLOCK_READS,
    timing::Parameters,
};

/// Configuration of an [`Emulator`](crate::Emulator).
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The drive serves the files below this folder; all local files without one.
    pub root: Option<PathBuf>,
    /// Seed of the fault plan.
    pub seed: u64,
    /// The builds of its FPGA.
    pub builds: Builds,
    /// Rows that make one more part of a merge worth its search.
    pub merge_part_rows: u64,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// Reads of the pages of a block of flash until it is relocated; 0: they are not counted.
    pub hot_block_reads: u32,
    /// Faults to make.
    pub faults: FaultPlan,
    /// Parameters of the time model.
    pub timing: Parameters,
}

impl Default for Config {
    fn default() -> Self {
        Self::of_profile(Profile::default())
    }
}

/// A parameter that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no such parameter.
    #[error(
        "an emulated drive has no parameter {0:?}; there are root, seed, profile, cus, lanes, \
         merge_cus, memory, hot_block_reads, faults"
    )]
    UnknownParameter(String),
    /// A value cannot be read.
    #[error("parameter {parameter}={value:?}: {expected}")]
    Value {
        /// Which parameter.
        parameter: &'static str,
        /// The given value.
        value: String,
        /// The valid values.
        expected: String,
    },
    /// The build does not fit the part.
    #[error(
        "{build} do not fit the FPGA: {over}; fewer lanes or units do, and profile=unlimited does \
         not ask"
    )]
    DoesNotFit {
        /// The build that was asked for.
        build: Build,
        /// The resources of which it needs too much.
        over: String,
    },
}

impl Config {
    /// The builds of this profile, on a drive without faults that serves all local files.
    pub fn of_profile(profile: Profile) -> Self {
        Self {
            root: None,
            seed: 0,
            builds: profile.builds(),
            merge_part_rows: 1 << 14,
            memory_bytes: 4 << 30,
            hot_block_reads: HOT_BLOCK_READS,
            faults: FaultPlan::default(),
            timing: Parameters::default(),
        }
    }

    /// Reads the parameters of a drive's URL. One that describes the build makes it the only one of
    /// the drive; without any, the drive has those of its profile.
    ///
    /// # Errors
    /// The first parameter that is unknown or has a wrong value, or what of the build does not fit
    /// the part.
    pub fn from_parameters<'a>(
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let parameters: Vec<(&str, &str)> = parameters.into_iter().collect();
        let profile = parameters.iter().find(|(name, _)| *name == "profile");
        let profile = match profile {
            None => Profile::default(),
            Some((_, value)) => Profile::named(value).ok_or_else(|| ConfigError::Value {
                parameter: "profile",
                value: (*value).to_owned(),
                expected: "smartssd or unlimited".to_owned(),
            })?,
        };
        let mut config = Self::of_profile(profile);
        let describes_build = |name| ["cus", "lanes", "merge_cus"].contains(&name);
        if parameters.iter().any(|(name, _)| describes_build(*name)) {
            config.builds.merging = None;
        }
        let build = &mut config.builds.first;
        for (name, value) in parameters {
            let wrong = |parameter, expected: &str| ConfigError::Value {
                parameter,
                value: value.to_owned(),
                expected: expected.to_owned(),
            };
            let count = |parameter, least: u32, most: u32| {
                let count = value.parse().ok().filter(|count| (least..=most).contains(count));
                count.ok_or_else(|| wrong(parameter, &format!("a number from {least} to {most}")))
            };
            match name {
                "profile" => {}
                "root" => config.root = Some(PathBuf::from(value)),
                "seed" => {
                    config.seed = value.parse().map_err(|_| wrong("seed", "a whole number"))?;
                }
                "cus" => build.scan_units = count("cus", 1, Build::UNITS_MAX)?,
                "lanes" => build.lanes = count("lanes", 1, Build::LANES_MAX)?,
                "merge_cus" => {
                    build.merge_units = count("merge_cus", 0, Build::UNITS_MAX)?;
                }
                "memory" => {
                    config.memory_bytes =
                        value.parse().ok().filter(|bytes| *bytes >= 1 << 20).ok_or_else(|| {
                            wrong("memory", "bytes of device memory, at least 1048576")
                        })?;
                }
                "hot_block_reads" => {
                    config.hot_block_reads = count("hot_block_reads", 0, u32::MAX)?;
                }
                "faults" => {
                    config.faults =
                        FaultPlan::parse(value).map_err(|expected| wrong("faults", &expected))?;
                }
                _ => return Err(ConfigError::UnknownParameter(name.to_owned())),
            }
        }
        let build = config.builds.first;
        let admitted = profile.admits(&build);
        admitted.map_err(|over| ConfigError::DoesNotFit { build, over })?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::budget::Ledger;

    #[test]
    fn parameters_are_read() {
        let config = Config::from_parameters([("seed", "7"), ("lanes", "4"), ("merge_cus", "1")]);
        let config = config.unwrap();
        let build = Build { scan_units: 1, lanes: 4, merge_units: 1 };
        assert_eq!((config.seed, config.builds), (7, Builds::one(build)));
    }

    #[test]
    fn profile_applies_to_earlier_parameters_too() {
        let config = Config::from_parameters([("cus", "15"), ("profile", "unlimited")]).unwrap();
        let build = Build { scan_units: 15, ..Profile::Unlimited.builds().first };
        assert_eq!(config.builds, Builds::one(build));
    }

    #[rstest]
    #[case("cus", "16")]
    #[case("cus", "0")]
    #[case("lanes", "17")]
    #[case("merge_cus", "-1")]
    #[case("seed", "x")]
    #[case("profile", "u280")]
    #[case("memory", "12")]
    #[case("hot_block_reads", "-1")]
    #[case("hot_block_reads", "4294967296")]
    #[case("hot_block_reads", "often")]
    #[case("faults", "rain:0.1")]
    #[case("colour", "red")]
    fn wrong_parameters_are_refused(#[case] name: &str, #[case] value: &str) {
        assert!(Config::from_parameters([(name, value)]).is_err());
    }

    #[test]
    fn build_that_does_not_fit_is_refused_with_the_amounts() {
        let error = Config::from_parameters([("cus", "4")]).unwrap_err().to_string();
        let build = Build { scan_units: 4, ..Profile::SmartSsd.builds().first };
        let over = Ledger::of_kernels().unwrap().over(&build.counts());
        let amounts: Vec<String> = over.iter().map(ToString::to_string).collect();
        assert!(amounts.iter().any(|amount| amount.ends_with(" of 71 URAM")), "{amounts:?}");
        let expected = format!(
            "4 scan units of 7 lanes do not fit the FPGA: {}; fewer lanes or units do, and \
             profile=unlimited does not ask",
            amounts.join(", "),
        );
        assert_eq!(error, expected);
        assert!(Config::from_parameters([("cus", "4"), ("profile", "unlimited")]).is_ok());
    }
}
