// SPDX-License-Identifier: Apache-2.0
//! Defines the settings of Nearscan in one table, [`SETTINGS`].
//!
//! `SET` and `SHOW`, `--set` of the shell, the system table `nearscan.settings`, the Python
//! keywords and the generated documentation all read this table. The values travel with
//! DataFusion's configuration as the extension `nearscan`, so that a planner rule finds them
//! through `ConfigOptions::extensions` and a statement that runs keeps the values it was planned
//! with.
//!
//! This module does not depend on the engine, only on DataFusion's configuration traits.

mod io;
#[cfg(test)]
mod tests;

use std::{any::Any, fmt, str::FromStr, time::Duration};

use datafusion::{
    common::DataFusionError,
    config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions},
};
use nearscan_corrections::CorrectionSet;

pub use io::IoOptions;

/// Prefix of every key.
pub const PREFIX: &str = "nearscan";

/// Longest time one unit of work may be given.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether work is placed on drives, and by which policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PushdownMode {
    /// The cost model decides for each unit of work.
    #[default]
    Auto,
    /// Everything that the drive can run, runs there.
    Force,
    /// Everything stays on the host.
    Off,
}

/// Which drives a query may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum DriveChoice {
    /// Any attached drive that holds the data.
    #[default]
    Any,
    /// Only the drive of this name.
    Named(String),
}

/// Whether results of drives are compared with the CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Verify {
    /// Results of drives are taken as they are, once their checksum is right.
    #[default]
    Trust,
    /// Every fragment also runs on the CPU, and a difference fails the query.
    Compare,
}

/// Whether sums of floating point may be added in another order than DataFusion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FloatOrder {
    /// DataFusion computes such aggregates.
    #[default]
    Keep,
    /// A drive or a fused scan may compute such aggregates, and their last digits may differ.
    Free,
}

/// The reader of Parquet scans that no drive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ScanReader {
    /// The fused scan, for every row group that it can read.
    #[default]
    Fused,
    /// DataFusion's own.
    DataFusion,
}

/// The operator of grouped aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AggregateOperator {
    /// The one whose hash tables stay in the cache, for every function that it computes.
    #[default]
    Partitioned,
    /// DataFusion's own.
    DataFusion,
}

/// Who orders joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum JoinOrder {
    /// The least cost by estimates.
    #[default]
    Cost,
    /// DataFusion: as the statement has them, but for the sides of each join.
    DataFusion,
}

/// Whether operators run over windows of the keys of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WindowMode {
    /// Where they are expected to save time.
    #[default]
    Auto,
    /// Wherever the bounds of footers say that windows overlap little.
    On,
    /// Never.
    Off,
}

/// What estimates of cost may read of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StatisticsSource {
    /// Footers, and a few pages of columns that joins, groups and equalities refer to.
    #[default]
    Sampled,
    /// Footers only.
    Footer,
}

/// Settings below `nearscan.pushdown`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PushdownOptions {
    /// `nearscan.pushdown.mode`.
    pub mode: PushdownMode,
    /// `nearscan.pushdown.drive`.
    pub drive: DriveChoice,
    /// `nearscan.pushdown.verify`.
    pub verify: Verify,
    /// `nearscan.pushdown.allow_float_reorder`.
    pub float_order: FloatOrder,
    /// `nearscan.pushdown.timeout`: longest time of one unit of work, at least a millisecond.
    pub timeout: Duration,
}

impl Default for PushdownOptions {
    fn default() -> Self {
        Self {
            mode: PushdownMode::default(),
            drive: DriveChoice::default(),
            verify: Verify::default(),
            float_order: FloatOrder::default(),
            timeout: Duration::from_secs(5),
        }
    }
}

/// Settings below `nearscan.host`: rates of one core of this machine per second, instead of
/// measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct HostOptions {
    /// `nearscan.host.decode_bytes_per_s`.
    pub decode_bytes_per_s: Option<u64>,
    /// `nearscan.host.decode_values_per_s`.
    pub decode_values_per_s: Option<u64>,
    /// `nearscan.host.merge_rows_per_s`.
    pub merge_rows_per_s: Option<u64>,
    /// `nearscan.host.result_bytes_per_s`.
    pub result_bytes_per_s: Option<u64>,
}

/// The values of all settings of one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NearscanOptions {
    /// Settings below `nearscan.pushdown`.
    pub pushdown: PushdownOptions,
    /// Settings below `nearscan.host`.
    pub host: HostOptions,
    /// `nearscan.scan`.
    pub scan: ScanReader,
    /// `nearscan.aggregate`.
    pub aggregate: AggregateOperator,
    /// `nearscan.windows`.
    pub windows: WindowMode,
    /// `nearscan.join_order`.
    pub join_order: JoinOrder,
    /// `nearscan.statistics`.
    pub statistics: StatisticsSource,
    /// Settings below `nearscan.io`.
    pub io: IoOptions,
    /// `nearscan.corrections`.
    pub corrections: CorrectionSet,
}

/// A key or a value that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No setting has this key.
    #[error("unknown setting '{key}'")]
    UnknownKey {
        /// The key as it was written, with its prefix.
        key: String,
    },
    /// The setting does not take this value.
    #[error("invalid value '{value}' for setting '{key}'")]
    InvalidValue {
        /// The key with its prefix.
        key: &'static str,
        /// The value as it was written.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// The setting is one of the engine, and another of its sessions asked for it.
    #[error("setting '{key}' is of the whole engine")]
    OfEngine {
        /// The key with its prefix.
        key: &'static str,
    },
    /// The machine does not have what the setting asks for.
    #[error("setting '{key}' cannot be '{value}' here")]
    Impossible {
        /// The key with its prefix.
        key: &'static str,
        /// The value as it was written.
        value: Box<str>,
        /// What refuses it.
        reason: Box<str>,
    },
}

/// One row of the table of settings.
pub struct Setting {
    /// Full key, for example `nearscan.pushdown.mode`.
    pub key: &'static str,
    /// Values it takes, in words.
    pub values: &'static str,
    /// Default value, written as a user would.
    pub default: &'static str,
    /// The effect, one sentence.
    pub description: &'static str,
    get: fn(&NearscanOptions) -> String,
    set: fn(&mut NearscanOptions, &str) -> Option<()>,
}

impl Setting {
    /// Returns the value this setting has in `options`, written as a user would.
    #[must_use]
    pub fn value(&self, options: &NearscanOptions) -> String {
        (self.get)(options)
    }

    /// Whether it has one value for all sessions of an engine.
    #[must_use]
    pub fn is_of_engine(&self) -> bool {
        self.key.starts_with("nearscan.io.")
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Every setting there is, in the order in which they are shown.
pub static SETTINGS: &[Setting] = &[
    Setting {
        key: "nearscan.pushdown.mode",
        values: "auto, force or off",
        default: "auto",
        description: "Whether work runs on a drive: as the cost model decides (auto), \
                      whenever the drive can run it (force), or never (off)",
        get: |options| options.pushdown.mode.to_string(),
        set: |options, value| store(&mut options.pushdown.mode, value.parse().ok()),
    },
    Setting {
        key: "nearscan.pushdown.drive",
        values: "the name of a drive, or any",
        default: "any",
        description: "The only drive that queries may use, or any of those attached",
        get: |options| options.pushdown.drive.to_string(),
        set: |options, value| store(&mut options.pushdown.drive, value.parse().ok()),
    },
    Setting {
        key: "nearscan.pushdown.verify",
        values: "true or false",
        default: "false",
        description: "Whether every fragment also runs on the CPU and a difference fails the query",
        get: |options| (options.pushdown.verify == Verify::Compare).to_string(),
        set: |options, value| {
            let verify = parse_switch(value, Verify::Compare, Verify::Trust);
            store(&mut options.pushdown.verify, verify)
        },
    },
    Setting {
        key: "nearscan.pushdown.allow_float_reorder",
        values: "true or false",
        default: "false",
        description: "Whether SUM and AVG of floating point may run on a drive, \
                      which adds in another order",
        get: |options| (options.pushdown.float_order == FloatOrder::Free).to_string(),
        set: |options, value| {
            let order = parse_switch(value, FloatOrder::Free, FloatOrder::Keep);
            store(&mut options.pushdown.float_order, order)
        },
    },
    Setting {
        key: "nearscan.pushdown.timeout",
        values: "a duration from 1ms to 1day, such as 5s or 250ms",
        default: "5s",
        description: "Longest time one unit of work may take on a drive before the CPU redoes it",
        get: |options| humantime::format_duration(options.pushdown.timeout).to_string(),
        set: |options, value| store(&mut options.pushdown.timeout, parse_timeout(value)),
    },
    Setting {
        key: "nearscan.scan",
        values: "fused or datafusion",
        default: "fused",
        description: "Which reader Parquet scans have that no drive has: the one that decodes, \
                      filters and aggregates in one pass, where it can (fused), or DataFusion's",
        get: |options| options.scan.to_string(),
        set: |options, value| store(&mut options.scan, value.parse().ok()),
    },
    Setting {
        key: "nearscan.aggregate",
        values: "partitioned or datafusion",
        default: "partitioned",
        description: "Which operator groups rows: the one whose hash tables stay in the cache, \
                      where it can (partitioned), or DataFusion's",
        get: |options| options.aggregate.to_string(),
        set: |options, value| store(&mut options.aggregate, value.parse().ok()),
    },
    Setting {
        key: "nearscan.windows",
        values: "auto, on or off",
        default: "auto",
        description: "Whether joins and groups by a key in whose order files are written are \
                      computed window by window of that key, without distributing rows: where that \
                      is expected to save time (auto), wherever footers show such an order (on), \
                      or never (off)",
        get: |options| options.windows.to_string(),
        set: |options, value| store(&mut options.windows, value.parse().ok()),
    },
    Setting {
        key: "nearscan.join_order",
        values: "cost or datafusion",
        default: "cost",
        description: "Who orders joins: estimates of their cost (cost), or DataFusion, which keeps \
                      the order of the statement (datafusion)",
        get: |options| options.join_order.to_string(),
        set: |options, value| store(&mut options.join_order, value.parse().ok()),
    },
    Setting {
        key: "nearscan.statistics",
        values: "sampled or footer",
        default: "sampled",
        description: "What estimates know of files: also the different values of columns that \
                      joins, groups and equalities refer to, from dictionaries or samples of rows \
                      (sampled), or only what footers state (footer)",
        get: |options| options.statistics.to_string(),
        set: |options, value| store(&mut options.statistics, value.parse().ok()),
    },
    Setting {
        key: "nearscan.io.engine",
        values: "auto, io_uring or pread",
        default: "auto",
        description: "What sends reads of local files to the system, for the whole engine: \
                      io_uring where it can be had (auto), it or an error, or pread on threads",
        get: |options| options.io.engine.to_string(),
        set: |options, value| store(&mut options.io.engine, value.parse().ok()),
    },
    Setting {
        key: "nearscan.io.queue_depth",
        values: "a whole number from 1 to 4096",
        default: "32",
        description: "Reads of local files in flight at once, for the whole engine",
        get: |options| options.io.queue_depth.to_string(),
        set: |options, value| store(&mut options.io.queue_depth, io::parse_depth(value)),
    },
    Setting {
        key: "nearscan.io.request_bytes",
        values: "a whole number from 4096 to 67108864, in steps of 4096",
        default: "1048576",
        description: "Bytes of the largest request; longer reads are several, for the whole engine",
        get: |options| options.io.request_bytes.to_string(),
        set: |options, value| store(&mut options.io.request_bytes, io::parse_request(value)),
    },
    Setting {
        key: "nearscan.io.direct",
        values: "auto, never or always",
        default: "auto",
        description: "When reads go past the page cache, for the whole engine: for what is not in \
                      it of files that memory cannot hold (auto), never, or always",
        get: |options| options.io.direct.to_string(),
        set: |options, value| store(&mut options.io.direct, value.parse().ok()),
    },
    Setting {
        key: "nearscan.corrections",
        values: "all, none, or names of nearscan.corrections with commas between",
        default: "all",
        description: "Which wrong answers and needless refusals of DataFusion are corrected",
        get: |options| options.corrections.to_string(),
        set: |options, value| store(&mut options.corrections, value.parse().ok()),
    },
    Setting {
        key: "nearscan.host.decode_bytes_per_s",
        values: RATE_VALUES,
        default: MEASURED,
        description: "Compressed bytes a second that one core decodes, beside what values cost, \
                      for the estimates of the cost model",
        get: |options| shown_rate(options.host.decode_bytes_per_s),
        set: |options, value| store(&mut options.host.decode_bytes_per_s, parse_rate(value)),
    },
    Setting {
        key: "nearscan.host.decode_values_per_s",
        values: RATE_VALUES,
        default: MEASURED,
        description: "Values a second that one core decodes and filters, beside what bytes cost, \
                      for the same estimates",
        get: |options| shown_rate(options.host.decode_values_per_s),
        set: |options, value| store(&mut options.host.decode_values_per_s, parse_rate(value)),
    },
    Setting {
        key: "nearscan.host.merge_rows_per_s",
        values: RATE_VALUES,
        default: MEASURED,
        description: "Rows a second that one core merges, for the same estimates",
        get: |options| shown_rate(options.host.merge_rows_per_s),
        set: |options, value| store(&mut options.host.merge_rows_per_s, parse_rate(value)),
    },
    Setting {
        key: "nearscan.host.result_bytes_per_s",
        values: RATE_VALUES,
        default: MEASURED,
        description: "Bytes a second that one core converts from a drive's result into arrays, \
                      for the same estimates",
        get: |options| shown_rate(options.host.result_bytes_per_s),
        set: |options, value| store(&mut options.host.result_bytes_per_s, parse_rate(value)),
    },
];

/// The valid values of a rate.
const RATE_VALUES: &str = "a whole number above 0, or measured";

/// The word for a rate that is not set.
const MEASURED: &str = "measured";

impl NearscanOptions {
    /// Returns the corrections of DataFusion that a session with these options has.
    #[must_use]
    pub fn corrections_of(options: &ConfigOptions) -> CorrectionSet {
        options.extensions.get::<Self>().map_or(CorrectionSet::ALL, |options| options.corrections)
    }

    /// Sets the setting `key`, written with or without the prefix `nearscan.`.
    ///
    /// # Errors
    /// [`SettingError`] if there is no such key or the setting does not take the value.
    pub fn set_value(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let setting = find(key)?;
        (setting.set)(self, value.trim()).ok_or_else(|| SettingError::InvalidValue {
            key: setting.key,
            value: value.to_owned(),
            expected: setting.values,
        })
    }

    /// Gives the setting `key`, written with or without the prefix, its default value.
    ///
    /// # Errors
    /// [`SettingError::UnknownKey`] if there is no such key.
    pub fn reset(&mut self, key: &str) -> Result<(), SettingError> {
        let setting = find(key)?;
        self.set_value(setting.key, setting.default)
    }
}

impl ConfigExtension for NearscanOptions {
    const PREFIX: &'static str = PREFIX;
}

impl ExtensionOptions for NearscanOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), DataFusionError> {
        self.set_value(key, value).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        SETTINGS
            .iter()
            .map(|setting| ConfigEntry {
                key: setting.key.to_owned(),
                value: Some(setting.value(self)),
                description: setting.description,
            })
            .collect()
    }
}

/// Implements `Display` and `FromStr` for values that are words; case does not matter.
macro_rules! impl_words {
    ($type:ty { $($value:ident = $word:literal),+ $(,)? }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$value => $word),+ })
            }
        }

        impl FromStr for $type {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok(Self::$value),)+
                    _ => Err(()),
                }
            }
        }
    };
}
impl_words!(PushdownMode { Auto = "auto", Force = "force", Off = "off" });
impl_words!(ScanReader { Fused = "fused", DataFusion = "datafusion" });
impl_words!(StatisticsSource { Sampled = "sampled", Footer = "footer" });
impl_words!(WindowMode { Auto = "auto", On = "on", Off = "off" });
impl_words!(JoinOrder { Cost = "cost", DataFusion = "datafusion" });
impl_words!(AggregateOperator { Partitioned = "partitioned", DataFusion = "datafusion" });

impl fmt::Display for DriveChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl FromStr for DriveChoice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "" => Err(()),
            any if any.eq_ignore_ascii_case("any") => Ok(Self::Any),
            name => Ok(Self::Named(name.to_owned())),
        }
    }
}

/// Finds the row of a key, written with or without the prefix.
fn find(key: &str) -> Result<&'static Setting, SettingError> {
    let full = match key.strip_prefix(PREFIX) {
        Some(rest) if rest.starts_with('.') => key.to_owned(),
        _ => format!("{PREFIX}.{key}"),
    };
    match SETTINGS.iter().find(|setting| setting.key == full) {
        Some(setting) => Ok(setting),
        None => Err(SettingError::UnknownKey { key: full }),
    }
}

fn store<T>(slot: &mut T, value: Option<T>) -> Option<()> {
    *slot = value?;
    Some(())
}

fn parse_switch<T>(text: &str, yes: T, no: T) -> Option<T> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Some(yes),
        "false" | "off" | "0" => Some(no),
        _ => None,
    }
}

fn shown_rate(rate: Option<u64>) -> String {
    rate.map_or_else(|| MEASURED.to_owned(), |rate| rate.to_string())
}

fn parse_rate(text: &str) -> Option<Option<u64>> {
    if text.eq_ignore_ascii_case(MEASURED) {
        return Some(None);
    }
    text.parse().ok().filter(|rate| *rate > 0).map(Some)
}

fn parse_timeout(text: &str) -> Option<Duration> {
    let timeout = humantime::parse_duration(text).ok()?;
    (Duration::from_millis(1)..=TIMEOUT_MAX).contains(&timeout).then_some(timeout)
}
