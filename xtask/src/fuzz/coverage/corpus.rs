// SPDX-License-Identifier: Apache-2.0
//! Selects the inputs of a small corpus, by the notes of libFuzzer's merge.
//!
//! The notes are a number of files, a number that does not matter here, the files, and for each a
//! line `STARTED index bytes` and a line `FT index feature..`. One that crashes has no second line:
//! libFuzzer starts anew behind it, and says nothing of it at the end.

use std::collections::HashSet;

/// An input and what it reaches.
#[derive(Debug, Default, Clone)]
struct Input {
    bytes: u64,
    features: HashSet<u32>,
    /// Whether its run began and did not end.
    has_crashed: bool,
}

/// The files with inputs whose runs began and did not end.
pub(super) fn crashing(notes: &str) -> Vec<&str> {
    let (files, inputs) = read(notes);
    let pairs = files.into_iter().zip(inputs);
    pairs.filter(|(_, input)| input.has_crashed).map(|(file, _)| file).collect()
}

/// The files that reach the most for their bytes, `bytes_max` together at most; each is taken for
/// what those before it do not reach.
pub(super) fn choose(notes: &str, bytes_max: u64) -> Vec<String> {
    let (files, mut inputs) = read(notes);
    let mut kept = Vec::new();
    let mut left = bytes_max;
    loop {
        let worth = |input: &Input| input.features.len() as u64 * 1_000_000 / input.bytes.max(1);
        let fits = inputs.iter().enumerate();
        let fits = fits.filter(|(_, input)| !input.features.is_empty() && input.bytes <= left);
        let Some((best, _)) = fits.max_by_key(|(_, input)| worth(input)) else { break };
        let taken = std::mem::take(&mut inputs[best]);
        left -= taken.bytes;
        kept.push(files[best].to_owned());
        for input in &mut inputs {
            input.features.retain(|feature| !taken.features.contains(feature));
        }
    }
    kept
}

fn read(notes: &str) -> (Vec<&str>, Vec<Input>) {
    let mut lines = notes.lines();
    let count = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
    let files: Vec<&str> = lines.by_ref().skip(1).take(count).collect();
    let mut inputs = vec![Input::default(); files.len()];
    for line in lines {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let index = words.next().and_then(|word| word.parse::<usize>().ok());
        let Some(input) = index.and_then(|index| inputs.get_mut(index)) else { continue };
        let mut numbers = words.filter_map(|word| word.parse().ok());
        match kind {
            "STARTED" => {
                input.bytes = numbers.next().map_or(0, u64::from);
                input.has_crashed = true;
            }
            "FT" => {
                input.features = numbers.collect();
                input.has_crashed = false;
            }
            _ => {}
        }
    }
    (files, inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: &str = "4\n0\na\nb\nc\nd\nSTARTED 0 100\nFT 0 1 2 3\nCOV 0 1\n\
        STARTED 1 10\nFT 1 2 3\nSTARTED 2 30\nFT 2 1 4\nSTARTED 3 6\nFT 3 3\n";

    #[test]
    fn keeps_what_reaches_the_most_for_its_bytes() {
        // Both of `b`'s edges for ten bytes, then what `c` adds; `a` and `d` add nothing.
        assert_eq!(choose(NOTES, 1000), ["b", "c"]);
    }

    #[test]
    fn input_without_an_end_has_crashed() {
        // `b` crashed, and libFuzzer went on behind it; the run of `d` was cut off.
        let notes = "4\n0\na\nb\nc\nd\nSTARTED 0 100\nFT 0 1 2 3\nCOV 0 1\n\
            STARTED 1 10\nSTARTED 2 30\nFT 2\nSTARTED 3 6\n";
        assert_eq!(crashing(notes), ["b", "d"]);
        assert!(crashing(NOTES).is_empty());
        assert!(crashing("2\n0\na\nb\n").is_empty());
    }

    #[test]
    fn keeps_no_more_bytes_than_it_may() {
        assert_eq!(choose(NOTES, 39), ["b"]);
        assert_eq!(choose(NOTES, 9), ["d"]);
        assert!(choose(NOTES, 4).is_empty());
        assert!(choose("", 4).is_empty());
    }
}
