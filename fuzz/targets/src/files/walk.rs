// SPDX-License-Identifier: Apache-2.0
//! Tries the corruptions one by one: every number of every structure of every file with each of
//! some wrong numbers, and every length that a file may be cut to.
//!
//! A file with one corruption has to meet more than a file with several: a query over it returns
//! the same rows without a drive and with one, and an error about a page says where the page is.

use std::{
    any::Any,
    ops::AddAssign,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    SAMPLES,
    bench::{Bench, Ended, QUERIES},
    sample::{Corruption, Kind},
};

/// The share of the cases that is tried: one of each so many; 1 tries all.
#[derive(Debug, Clone, Copy)]
pub struct Every {
    /// Of the corrupt numbers.
    pub corruptions: usize,
    /// Of the files that are cut, or changed at their end.
    pub ends: usize,
}

/// The outcome of all queries.
#[derive(Debug, Default)]
pub struct Walk {
    /// Queries that returned rows, the same without a drive and with one.
    pub rows: u64,
    /// Queries that failed as they should.
    pub errors: u64,
    /// One line for each of the others, with the reason.
    pub wrong: Vec<String>,
}

impl Walk {
    /// Tries them, and reports each wrong outcome when it is found.
    ///
    /// # Panics
    /// When the engines do not start.
    pub fn of(every: Every, tell: &mut dyn FnMut(&str)) -> Self {
        let bench = Bench::start();
        let mut walk = Self::default();
        for damaged in every_corruption().step_by(every.corruptions) {
            for query in 0..QUERIES.len() {
                walk.note(&damaged, query, tell, || check_corrupt(&bench, &damaged, query));
            }
        }
        for damaged in every_end().step_by(every.ends) {
            walk.note(&damaged, 0, tell, || check_cut(&bench, &damaged));
        }
        walk
    }

    /// Number of queries that were run.
    pub fn queries(&self) -> u64 {
        self.rows + self.errors + self.wrong.len() as u64
    }

    fn note(
        &mut self,
        damaged: &Damaged,
        query: usize,
        tell: &mut dyn FnMut(&str),
        run: impl FnOnce() -> Result<Right, String>,
    ) {
        // A panic that leaves the engine is a finding; the walk continues.
        let run = catch_unwind(AssertUnwindSafe(run));
        match run.unwrap_or_else(|panic| Err(text_of(&*panic))) {
            Ok(Right::Rows) => self.rows.add_assign(1),
            Ok(Right::Error) => self.errors.add_assign(1),
            Err(why) => {
                let text = format!("{}, query {query}: {why}", damaged.what);
                tell(&text);
                self.wrong.push(text);
            }
        }
    }
}

/// A right outcome of a query.
enum Right {
    Rows,
    Error,
}

fn check_corrupt(bench: &Bench, damaged: &Damaged, query: usize) -> Result<Right, String> {
    match bench.run(&damaged.bytes, query) {
        [Ended::Rows(off), Ended::Rows(force)] if off == force => Ok(Right::Rows),
        [Ended::Rows(off), Ended::Rows(other)] => {
            Err(format!("{} rows, and {} others by us", off.len(), other.len()))
        }
        [Ended::Error(text), force] => {
            let has_place = text.contains(", row group ") && text.contains(", byte ");
            let (is_in_page, is_in_index) = (
                damaged.kind == Kind::PageHeader,
                matches!(damaged.kind, Kind::OffsetIndex | Kind::ColumnIndex),
            );
            // A drive has no use for some fields of headers, and for no index.
            match force {
                _ if is_in_page && !has_place => Err(format!("no place in {text}")),
                Ended::Rows(_) if !is_in_page && !is_in_index => {
                    Err(format!("by DataFusion alone: {text}"))
                }
                _ => Ok(Right::Error),
            }
        }
        [Ended::Rows(_), Ended::Error(text)] => Err(format!("by us alone: {text}")),
    }
}

fn check_cut(bench: &Bench, damaged: &Damaged) -> Result<Right, String> {
    match bench.run(&damaged.bytes, 0) {
        [Ended::Error(_), Ended::Error(_)] => Ok(Right::Error),
        _ => Err("rows of a file that is cut".to_owned()),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// One file with one corruption.
#[derive(Debug)]
struct Damaged {
    /// The file's name, the number's place, and both values.
    what: String,
    /// The file.
    bytes: Vec<u8>,
    /// The structure that is corrupt.
    kind: Kind,
}

/// Every number of every structure of every file, with each of its wrong values.
fn every_corruption() -> impl Iterator<Item = Damaged> {
    SAMPLES.iter().flat_map(|sample| {
        let structures = sample.structures().iter().enumerate();
        structures.flat_map(move |(number, structure)| {
            (0..structure.places().len()).flat_map(move |place| {
                let original = structure.original(place);
                wrong_numbers(original).into_iter().map(move |said| {
                    let path = &structure.places()[place];
                    let (name, kind, start) = (sample.name, structure.kind, structure.start);
                    let corruption = Corruption { structure: number, place, number: said };
                    let what =
                        format!("{name}, {kind:?} at {start}, {path:?}: {said} for {original}");
                    Damaged { what, bytes: sample.with(&[corruption]), kind }
                })
            })
        })
    })
}

/// The wrong values of a number: its neighbours, zero, and the limits of its types.
fn wrong_numbers(original: i64) -> Vec<i64> {
    let mut numbers = vec![
        original.wrapping_sub(1),
        original.wrapping_add(1),
        original.wrapping_mul(2),
        0,
        -1,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        i64::MAX,
        i64::MIN,
    ];
    numbers.retain(|number| *number != original);
    numbers.dedup();
    numbers
}

/// Each file cut short at each byte but the first, and with each of its last bytes changed.
fn every_end() -> impl Iterator<Item = Damaged> {
    SAMPLES.iter().flat_map(|sample| {
        let whole = sample.with(&[]);
        let (length, name) = (whole.len(), sample.name);
        let cut = (1..length).map({
            let whole = whole.clone();
            move |length| Damaged {
                what: format!("{name}, its first {length} bytes"),
                bytes: whole[..length].to_vec(),
                kind: Kind::Footer,
            }
        });
        let changed = (1..=8).map(move |back| {
            let mut bytes = whole.clone();
            bytes[length - back] ^= 0x41;
            let what = format!("{name}, byte {back} from the end");
            Damaged { what, bytes, kind: Kind::Footer }
        });
        cut.chain(changed)
    })
}
