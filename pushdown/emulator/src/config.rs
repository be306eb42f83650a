// SPDX-License-Identifier: Apache-2.0
//! What an emulated drive is told when it is attached: `emulated:?seed=7&cus=4&faults=...`.

use std::path::PathBuf;

use crate::faults::FaultPlan;
use crate::timing::Parameters;

/// A device to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Samsung SmartSSD: KU15P, one bank of 4 GB DDR4, PCIe Gen3 x4.
    #[default]
    SmartSsd,
}

/// Configuration of an [`Emulator`](crate::Emulator).
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The drive serves the files below this folder; all local files without one.
    pub root: Option<PathBuf>,
    /// Seed of the fault plan.
    pub seed: u64,
    /// Compute units, 1 to [`Config::COMPUTE_UNITS_MAX`].
    pub compute_units: u32,
    /// Units that merge, which a merge is cut into parts for: 1 to
    /// [`MERGE_PARTS_MAX`](nearscan_command::limits::MERGE_PARTS_MAX).
    pub merge_units: u32,
    /// Rows that make one more part of a merge worth its search.
    pub merge_part_rows: u64,
    /// The device.
    pub profile: Profile,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// Faults to make.
    pub faults: FaultPlan,
    /// Parameters of the time model.
    pub timing: Parameters,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            root: None,
            seed: 0,
            compute_units: 4,
            merge_units: 2,
            merge_part_rows: 1 << 14,
            profile: Profile::SmartSsd,
            memory_bytes: 4 << 30,
            faults: FaultPlan::default(),
            timing: Parameters::default(),
        }
    }
}

/// A parameter that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no such parameter.
    #[error(
        "an emulated drive has no parameter {0:?}; there are root, seed, cus, profile, memory, faults"
    )]
    UnknownParameter(String),
    /// A value cannot be read.
    #[error("parameter {parameter}={value:?}: {expected}")]
    Value {
        /// Which parameter.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// What would do.
        expected: String,
    },
}

impl Config {
    /// One AXI port a unit would allow fifteen; the scan kernel has two bundles.
    pub const COMPUTE_UNITS_MAX: u32 = 15;

    /// Reads the parameters of a drive's URL.
    ///
    /// # Errors
    /// The first parameter that is unknown or has a wrong value.
    pub fn from_parameters<'a>(
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (name, value) in parameters {
            let wrong = |parameter, expected: &str| ConfigError::Value {
                parameter,
                value: value.to_owned(),
                expected: expected.to_owned(),
            };
            match name {
                "root" => config.root = Some(PathBuf::from(value)),
                "seed" => {
                    config.seed = value.parse().map_err(|_| wrong("seed", "a whole number"))?;
                }
                "cus" => {
                    config.compute_units = value
                        .parse()
                        .ok()
                        .filter(|units| (1..=Self::COMPUTE_UNITS_MAX).contains(units))
                        .ok_or_else(|| wrong("cus", "a number of compute units, 1 to 15"))?;
                }
                "profile" => match value {
                    "smartssd" => config.profile = Profile::SmartSsd,
                    _ => return Err(wrong("profile", "smartssd is the only profile")),
                },
                "memory" => {
                    config.memory_bytes =
                        value.parse().ok().filter(|bytes| *bytes >= 1 << 20).ok_or_else(|| {
                            wrong("memory", "bytes of device memory, at least 1048576")
                        })?;
                }
                "faults" => {
                    config.faults =
                        FaultPlan::parse(value).map_err(|expected| wrong("faults", &expected))?;
                }
                _ => return Err(ConfigError::UnknownParameter(name.to_owned())),
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn parameters_are_read() {
        let config = Config::from_parameters([("seed", "7"), ("cus", "15")]).unwrap();
        assert_eq!((config.seed, config.compute_units), (7, 15));
    }

    #[rstest]
    #[case("cus", "16")]
    #[case("cus", "0")]
    #[case("seed", "x")]
    #[case("profile", "u280")]
    #[case("memory", "12")]
    #[case("faults", "rain:0.1")]
    #[case("colour", "red")]
    fn wrong_parameters_are_refused(#[case] name: &str, #[case] value: &str) {
        assert!(Config::from_parameters([(name, value)]).is_err());
    }
}
