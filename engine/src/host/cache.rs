// SPDX-License-Identifier: Apache-2.0
//! Caches the rates of a core between runs, as lines `name value` of a file in the user's cache
//! folder.
//!
//! The first line identifies the machine and the version. A file of another machine or version, a
//! damaged file, and a folder that cannot be written are not errors: the host is measured again.
//! Builds of one version share a file, so remove it after a change of what is measured.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nearscan_optimizer::cost::CoreRates;

use crate::cache_folder;

/// Returns the path of the file; nothing if there is no cache folder.
pub(super) fn file() -> Option<PathBuf> {
    // A debug build has other rates, and both builds may be in use.
    let name = if cfg!(debug_assertions) { "host-debug" } else { "host" };
    Some(cache_folder::of_user()?.join(name))
}

/// Describes the machine and the program's version on one line; rates of another one are not used.
pub(super) fn machine() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores, {model}", env!("CARGO_PKG_VERSION"))
}

/// Reads the rates in a file, if they are of this machine.
pub(super) fn read(file: &Path, machine: &str) -> Option<CoreRates> {
    parse(&fs::read_to_string(file).ok()?, machine)
}

/// Writes the rates to a file, if it can be written.
pub(super) fn write(file: &Path, machine: &str, rates: &CoreRates) {
    if let Err(error) = cache_folder::replace(file, &text(machine, rates)) {
        tracing::debug!(%error, file = %file.display(), "the rates of the host were not cached");
    }
}

fn text(machine: &str, rates: &CoreRates) -> String {
    let lines = rows(rates).map(|(name, rate)| format!("{name} {rate:.0}\n"));
    format!("{machine}\n{}", lines.concat())
}

fn rows(rates: &CoreRates) -> [(&'static str, f64); 4] {
    [
        ("decode_bytes_per_s", rates.decode_bytes_per_s),
        ("decode_values_per_s", rates.decode_values_per_s),
        ("merge_rows_per_s", rates.merge_rows_per_s),
        ("result_bytes_per_s", rates.result_bytes_per_s),
    ]
}

fn parse(text: &str, machine: &str) -> Option<CoreRates> {
    let mut lines = text.lines();
    if lines.next() != Some(machine) {
        return None;
    }
    let mut rate = |name: &str| {
        let (found, value) = lines.next()?.split_once(' ')?;
        let value: f64 = value.parse().ok()?;
        (found == name && value.is_finite() && value >= 1.0).then_some(value)
    };
    Some(CoreRates {
        decode_bytes_per_s: rate("decode_bytes_per_s")?,
        decode_values_per_s: rate("decode_values_per_s")?,
        merge_rows_per_s: rate("merge_rows_per_s")?,
        result_bytes_per_s: rate("result_bytes_per_s")?,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const RATES: CoreRates = CoreRates {
        decode_bytes_per_s: 1e9,
        decode_values_per_s: 2e8,
        merge_rows_per_s: 3e7,
        result_bytes_per_s: 4e9,
    };

    #[test]
    fn written_rates_are_read_back_on_the_same_machine() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below").join("host");
        assert_eq!(read(&file, "a machine"), None);
        write(&file, "a machine", &RATES);
        assert_eq!(read(&file, "a machine"), Some(RATES));
        assert_eq!(read(&file, "another machine"), None);
        let names = fs::read_dir(file.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1, "no temporary file is left");
    }

    #[test]
    fn write_to_an_unusable_folder_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, "").unwrap();
        let file = in_the_way.join("host");
        write(&file, "a machine", &RATES);
        assert_eq!(read(&file, "a machine"), None);
    }

    #[rstest]
    #[case::empty("", "")]
    #[case::cut_off("result_bytes_per_s 4000000000\n", "")]
    #[case::no_number("merge_rows_per_s 30000000", "merge_rows_per_s fast")]
    #[case::no_rate("merge_rows_per_s 30000000", "merge_rows_per_s 0")]
    #[case::no_end("merge_rows_per_s 30000000", "merge_rows_per_s inf")]
    #[case::another_name("merge_rows_per_s", "rows_merged_per_s")]
    fn damaged_file_is_ignored(#[case] from: &str, #[case] to: &str) {
        let good = text("a machine", &RATES);
        assert_eq!(parse(&good, "a machine"), Some(RATES));
        let damaged = if from.is_empty() { String::new() } else { good.replace(from, to) };
        assert_ne!(damaged, good);
        assert_eq!(parse(&damaged, "a machine"), None);
    }

    #[test]
    fn machine_description_is_one_line() {
        assert_eq!(machine().lines().count(), 1);
        assert_eq!(machine(), machine());
    }
}
