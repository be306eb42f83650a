// SPDX-License-Identifier: Apache-2.0
//! Measures how fast one thread decompresses Snappy: our decoder against the crate `snap`.
//!
//! ```text
//! cargo bench -p nearscan-cpu --bench snappy
//! ```
//!
//! A body is what the encoder of `snap` makes of a page of seeded values, which are like those of
//! Parquet files. Both decoders write into the same buffer, in pairs, ours and theirs, theirs and
//! ours, and so on, so that what the machine does besides meets both alike. Speeds are of the bytes
//! that a body becomes, by medians; a ratio is the median of the ratios of the pairs, and above 1
//! ours is faster. Without `--bench`, as under `cargo test`, a run is tiny, to see that it runs. A
//! word among the arguments picks the lines that start with it.
#![expect(clippy::unwrap_used, reason = "a panic shows where")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

use nearscan_conformance::Random;
use nearscan_cpu::snappy;
use nearscan_drive::clock::Stopwatch;

const PAGE_BYTES: usize = 1 << 20;
const PAGE_BYTES_TINY: usize = 1 << 12;
const PAIRS: usize = 31;

/// Pages that are decompressed for one time.
const PAGES: usize = 4;

/// Whose decoder runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Snap,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_full = arguments.iter().any(|argument| argument == "--bench");
    let mut words = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let prefix = words.next().map_or("", String::as_str);
    let (bytes, pairs) = if is_full { (PAGE_BYTES, PAIRS) } else { (PAGE_BYTES_TINY, 1) };
    println!("{:30} packed   ours GB/s   snap GB/s   ratio", "page");
    for (name, value) in PAGE_KINDS {
        if name.starts_with(prefix) {
            measure(name, &page(*value, bytes), pairs);
        }
    }
}

/// Appends one more value to a page.
type Value = fn(&mut Random, &mut Vec<u8>);

const PAGE_KINDS: &[(&str, Value)] = &[
    ("decimals below 10^7, i64", decimal),
    ("keys below 200,000, i64", key),
    ("ascending keys, i64", ascending_key),
    ("times within ten minutes, i64", time),
    ("dates, i32", date),
    ("codes of 17 bits", code),
    ("codes of 3 bits of one value", skewed_code),
    ("sentences", sentence),
    ("names with numbers", numbered_name),
    ("flags of one letter", flag),
    ("one value", zero),
];

fn page(value: Value, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(7);
    let mut page = Vec::new();
    while page.len() < bytes {
        value(&mut random, &mut page);
    }
    page
}

fn decimal(random: &mut Random, page: &mut Vec<u8>) {
    page.extend((random.below(10_000_000) as u64).to_le_bytes());
}

fn key(random: &mut Random, page: &mut Vec<u8>) {
    page.extend((random.below(200_000) as u64).to_le_bytes());
}

fn ascending_key(_: &mut Random, page: &mut Vec<u8>) {
    page.extend((1_000_000 + page.len() as u64 / 8).to_le_bytes());
}

/// Microseconds, a whole second, of which literals of three and of four bytes come.
fn time(random: &mut Random, page: &mut Vec<u8>) {
    page.extend((random.below(600) as u64 * 1_000_000).to_le_bytes());
}

fn date(random: &mut Random, page: &mut Vec<u8>) {
    page.extend(&(8036 + random.below(2526) as u64).to_le_bytes()[..4]);
}

/// Eight codes of 17 bits.
fn code(random: &mut Random, page: &mut Vec<u8>) {
    (0..17).for_each(|_| page.push(random.word().to_le_bytes()[0]));
}

/// Eight codes of 3 bits, most of them the same.
fn skewed_code(random: &mut Random, page: &mut Vec<u8>) {
    let mut codes = 0;
    for place in 0..8 {
        if random.one_in(20) {
            codes |= (random.word() & 7) << (3 * place);
        }
    }
    page.extend(&codes.to_le_bytes()[..3]);
}

fn sentence(random: &mut Random, page: &mut Vec<u8>) {
    let words = [
        "carefully",
        "final",
        "deposits",
        "requests",
        "sleep",
        "above",
        "the",
        "furiously",
        "quick",
        "ideas",
        "theodolites",
        "pinto",
        "beans",
        "accounts",
        "packages",
        "regular",
        "express",
        "ironic",
        "bold",
        "even",
        "silent",
        "pending",
        "slyly",
        "blithely",
        "haggle",
        "nag",
        "along",
        "according",
        "to",
        "never",
        "unusual",
        "dependencies",
        "foxes",
        "instructions",
    ];
    let text: Vec<&str> = (0..2 + random.below(6)).map(|_| random.pick(&words)).collect();
    push_text(page, &text.join(if random.one_in(8) { ", " } else { " " }));
}

fn numbered_name(random: &mut Random, page: &mut Vec<u8>) {
    push_text(page, &format!("Clerk#{:09}", random.below(1000)));
}

fn flag(random: &mut Random, page: &mut Vec<u8>) {
    push_text(page, random.pick(&["A", "N", "R"]));
}

fn zero(_: &mut Random, page: &mut Vec<u8>) {
    page.push(0);
}

/// A string as it is in a page of plain values.
fn push_text(page: &mut Vec<u8>, text: &str) {
    page.extend(&(text.len() as u64).to_le_bytes()[..4]);
    page.extend(text.as_bytes());
}

/// Decompresses a page by both sides in turn and prints a line.
fn measure(name: &str, page: &[u8], pairs: usize) {
    let body = snap::raw::Encoder::new().compress_vec(page).unwrap();
    let mut out = vec![0; page.len()];
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let mut sides = [Side::Ours, Side::Snap];
        sides.rotate_left(pair % 2);
        let times = sides.map(|side| (side, bytes_per_ns(side, &body, &mut out)));
        assert!(out == page, "{name}");
        let of = |side| times.iter().find(|(of, _)| *of == side).unwrap().1;
        ours.push(of(Side::Ours));
        theirs.push(of(Side::Snap));
        ratios.push(of(Side::Ours) / of(Side::Snap));
    }
    println!(
        "{name:30} {:5.0}% {:11.2} {:11.2} {:7.2}",
        body.len() as f64 * 100.0 / page.len() as f64,
        median(ours),
        median(theirs),
        median(ratios),
    );
}

fn bytes_per_ns(side: Side, body: &[u8], out: &mut [u8]) -> f64 {
    let watch = Stopwatch::start();
    for _ in 0..PAGES {
        match side {
            Side::Ours => snappy::decompress(body, out).unwrap(),
            Side::Snap => {
                let length = snap::raw::Decoder::new().decompress(body, out).unwrap();
                assert_eq!(length, out.len());
            }
        }
    }
    (PAGES * out.len()) as f64 / watch.elapsed().as_nanos() as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
