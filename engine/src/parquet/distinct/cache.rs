// SPDX-License-Identifier: Apache-2.0
//! Keeps the estimates of files between runs, a text file for each data file in the cache folder.
//!
//! ```text
//! nearscan statistics 2
//! /data/lineitem.parquet
//! 2453 1764185000123456789 9f86d081884c7d65     size, time of change, hash
//! 1500000 sample 1764185214 l_orderkey          different values, source, time, column
//! quantiles 1,12.5,50 l_quantity                least value to greatest, column
//! end
//! ```
//!
//! A data file has one of [`SLOTS`] places, by a hash of its path, and a later one replaces it
//! there: so the folder has a limit, and nothing has to be removed. A file for another path or
//! another identity, of another version, one that is damaged or cannot be read is as good as none,
//! and a folder that cannot be written to is no error. Two processes that write at once may lose
//! the counts of one of them.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use nearscan_optimizer::quantiles::Quantiles;

use super::known::{Columns, Counted, Hash, Identity, Source};
use crate::cache_folder;

/// The first line of a file, with the version of all that follows and of how values are counted.
const HEADER: &str = "nearscan statistics 2";

const QUANTILES: &str = "quantiles";
const END: &str = "end";

/// Files in the folder.
const SLOTS: u64 = 4096;

/// Bytes of a file: some hundred columns. Longer ones are not read, and not written.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Reads the counts of a data file; none if there are none of it as it is now.
pub(super) fn read(folder: &Path, path: &str, identity: &Identity) -> Columns {
    let mut text = String::new();
    let file = File::open(place(folder, path));
    match file.and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text)) {
        Ok(_) => parse(&text, path, identity).unwrap_or_default(),
        Err(_) => Columns::default(),
    }
}

/// Writes the counts of a data file that can be counted.
pub(super) fn write(folder: &Path, path: &str, identity: &Identity, columns: &Columns) {
    let text = text(path, identity, columns);
    let is_a_line = |text: &str| !text.contains('\n');
    let mut names = columns.counts.keys().chain(columns.quantiles.keys());
    if !is_a_line(path) || !names.all(|name| is_a_line(name)) {
        return;
    }
    let written = match text.len() as u64 >= FILE_BYTES_MAX {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => cache_folder::replace(&place(folder, path), &text),
    };
    if let Err(error) = written {
        tracing::debug!(%error, file = path, "the statistics of the file were not cached");
    }
}

/// The file for a data file.
fn place(folder: &Path, path: &str) -> PathBuf {
    let mut hash = Hash::default();
    hash.add_bytes(path.as_bytes());
    folder.join(format!("{:03x}", hash.0 % SLOTS))
}

fn text(path: &str, identity: &Identity, columns: &Columns) -> String {
    let counted = columns.counts.iter().filter_map(|(name, counted)| Some((name, (*counted)?)));
    let lines = counted.map(|(name, Counted { distinct, source, made_at_s })| {
        format!("{distinct} {} {made_at_s} {name}\n", source.word())
    });
    let quantiles = columns.quantiles.iter().filter_map(|(name, it)| Some((name, it.as_ref()?)));
    let quantiles = quantiles.map(|(name, quantiles)| {
        let places: Vec<String> =
            quantiles.places().iter().map(|place| format!("{place:?}")).collect();
        format!("{QUANTILES} {} {name}\n", places.join(","))
    });
    let lines: String = lines.chain(quantiles).collect();
    format!("{HEADER}\n{path}\n{}\n{lines}{END}\n", line_of(identity))
}

fn line_of(identity: &Identity) -> String {
    let Identity { size_bytes, modified_ns, hash } = identity;
    format!("{size_bytes} {modified_ns} {hash:016x}")
}

fn parse(text: &str, path: &str, identity: &Identity) -> Option<Columns> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let is_meant = lines.next() == Some(HEADER)
        && lines.next() == Some(path)
        && lines.next() == Some(line_of(identity).as_str());
    let mut columns = Columns::default();
    loop {
        let line = lines.next().filter(|_| is_meant)?;
        if line == END {
            return lines.next().is_none().then_some(columns);
        }
        if let Some(line) = line.strip_prefix(QUANTILES) {
            let (places, name) = line.strip_prefix(' ')?.split_once(' ')?;
            let places = places.split(',').map(|place| place.parse().ok());
            let quantiles = Quantiles::new(places.collect::<Option<_>>()?)?;
            columns.quantiles.insert(name.to_owned(), Some(quantiles));
            continue;
        }
        let mut words = line.splitn(4, ' ');
        let counted = Counted {
            distinct: words.next()?.parse().ok()?,
            source: Source::parse(words.next()?)?,
            made_at_s: words.next()?.parse().ok()?,
        };
        columns.counts.insert(words.next()?.to_owned(), Some(counted));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rstest::rstest;

    use super::*;

    const IDENTITY: Identity = Identity { size_bytes: 10, modified_ns: -5, hash: 0xabc };
    const PATH: &str = "/a folder/t.parquet";

    fn columns() -> Columns {
        let counted = |distinct, source| Some(Counted { distinct, source, made_at_s: 17 });
        let counts = [
            ("a".to_owned(), counted(5, Source::Dictionary)),
            ("b c".to_owned(), counted(u64::MAX, Source::Sample)),
        ];
        let quantiles = [("b c".to_owned(), Quantiles::new(vec![-1e300, 0.1, 7.0]))];
        Columns { counts: counts.into(), quantiles: quantiles.into() }
    }

    #[test]
    fn written_counts_are_read_back_for_the_same_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("below");
        assert_eq!(read(&folder, PATH, &IDENTITY), Columns::default());
        let mut written = columns();
        written.counts.insert("d".to_owned(), None);
        written.quantiles.insert("d".to_owned(), None);
        write(&folder, PATH, &IDENTITY, &written);
        assert_eq!(read(&folder, PATH, &IDENTITY), columns());
        for other in [
            Identity { size_bytes: 11, ..IDENTITY },
            Identity { modified_ns: -4, ..IDENTITY },
            Identity { hash: 0, ..IDENTITY },
        ] {
            assert_eq!(read(&folder, PATH, &other), Columns::default(), "{other:?}");
        }
        assert_eq!(read(&folder, "/b/t.parquet", &IDENTITY), Columns::default());
        // Even if it should be at the same place.
        fs::copy(place(&folder, PATH), place(&folder, "/b/t.parquet")).unwrap();
        assert_eq!(read(&folder, "/b/t.parquet", &IDENTITY), Columns::default());
        let names = fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 2, "no temporary file is left");
    }

    #[rstest]
    #[case::empty("", "")]
    #[case::cut_off("end\n", "")]
    #[case::cut_off_in_a_line("7.0 b c\nend\n", "")]
    #[case::more_behind("end\n", "end\n\n")]
    #[case::another_version("statistics 2", "statistics 1")]
    #[case::no_number("5 dictionary", "five dictionary")]
    #[case::negative("5 dictionary", "-5 dictionary")]
    #[case::too_large("18446744073709551615", "18446744073709551616")]
    #[case::another_source("dictionary", "rumour")]
    #[case::no_name(" 17 a", " 17")]
    #[case::place_that_is_no_number(",0.1,", ",one,")]
    #[case::places_in_another_order(",0.1,7.0 ", ",7.0,0.1 ")]
    #[case::quantiles_of_no_name(",7.0 b c", ",7.0")]
    fn damaged_file_is_as_good_as_none(#[case] from: &str, #[case] to: &str) {
        let good = text(PATH, &IDENTITY, &columns());
        assert_eq!(parse(&good, PATH, &IDENTITY), Some(columns()));
        let damaged = if from.is_empty() { String::new() } else { good.replace(from, to) };
        assert_ne!(damaged, good);
        assert_eq!(parse(&damaged, PATH, &IDENTITY), None);
    }

    #[test]
    fn file_that_is_no_text_or_too_long_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let long = text(PATH, &IDENTITY, &columns()).replace("end", &"x".repeat(100_000));
        for bytes in [vec![0xff; 9], long.into_bytes()] {
            fs::write(place(folder.path(), PATH), bytes).unwrap();
            assert_eq!(read(folder.path(), PATH, &IDENTITY), Columns::default());
        }
    }

    #[test]
    fn folder_that_cannot_be_used_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, "").unwrap();
        write(&in_the_way, PATH, &IDENTITY, &columns());
        assert_eq!(read(&in_the_way, PATH, &IDENTITY), Columns::default());
    }

    #[test]
    fn name_of_two_lines_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "/a\nb", &IDENTITY, &columns());
        let name = || "a\nend".to_owned();
        let Columns { counts, quantiles } = columns();
        let counts = counts.into_values().map(|it| (name(), it)).collect();
        let quantiles = quantiles.into_values().map(|it| (name(), it)).collect();
        let none = Columns::default;
        for columns in [Columns { counts, ..none() }, Columns { quantiles, ..none() }] {
            write(folder.path(), PATH, &IDENTITY, &columns);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
