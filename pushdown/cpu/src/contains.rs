// SPDX-License-Identifier: Apache-2.0
//! Finds a piece of text in the strings of a batch.
//!
//! Strings of a page are one behind the other, so their memory is searched as a whole: that takes
//! the time of reading it, where a search in each string takes the time of a call. What is found
//! between two strings, or across the end of one, is not in any.

use memchr::memmem::Finder;

use crate::values::{Strings, View};

/// Memory of a run of strings, as a multiple of their bytes, that is searched as a whole.
const MEMORY_MAX: usize = 2;

/// Bytes between two strings, which hold the length of the next one.
const GAP_BYTES: usize = 8;

/// Calls `visit` with each of the first `rows` rows that hold the piece, in ascending order.
pub(crate) fn rows_with(
    piece: &Finder<'_>,
    strings: &Strings,
    rows: usize,
    mut visit: impl FnMut(usize),
) {
    let views = &strings.views[..rows];
    let mut first = 0;
    while let Some(run) = Run::from(views, first, piece.needle().len()) {
        let Some(memory) = strings.buffers.get(run.buffer as usize) else { return };
        if run.is_dense() {
            in_run(piece, memory, views, &run, &mut visit);
        } else {
            let holds = |row: &usize| piece.find(strings.get(*row)).is_some();
            (run.first..run.end).filter(holds).for_each(&mut visit);
        }
        first = run.end;
    }
}

/// Rows whose strings are one behind the other in a buffer, and rows between them whose strings are
/// shorter than what is looked for.
struct Run {
    first: usize,
    /// The row behind the last one.
    end: usize,
    buffer: u32,
    /// The memory from the first string on, to the end of the last.
    memory_start: usize,
    memory_end: usize,
    /// Strings that are long enough, and their bytes.
    strings: usize,
    bytes: usize,
}

impl Run {
    /// The run that begins with the first row from `first` on that is long enough.
    fn from(views: &[View], first: usize, length_min: usize) -> Option<Self> {
        let is_long = |view: &View| view.length as usize >= length_min;
        let first = first + views[first..].iter().position(is_long)?;
        let view = views[first];
        let mut run = Self {
            first,
            end: views.len(),
            buffer: view.buffer,
            memory_start: view.start as usize,
            memory_end: view.start as usize,
            strings: 0,
            bytes: 0,
        };
        for (row, view) in views.iter().enumerate().skip(first).filter(|(_, view)| is_long(view)) {
            let start = view.start as usize;
            if view.buffer != run.buffer || start < run.memory_end {
                run.end = row;
                break;
            }
            run.memory_end = start + view.length as usize;
            run.strings += 1;
            run.bytes += view.length as usize;
        }
        Some(run)
    }

    /// Whether most of the memory are strings of the run.
    const fn is_dense(&self) -> bool {
        let memory = self.memory_end - self.memory_start;
        memory <= MEMORY_MAX * (self.bytes + GAP_BYTES * self.strings)
    }
}

/// Searches the memory of a run.
fn in_run(
    piece: &Finder<'_>,
    memory: &[u8],
    views: &[View],
    run: &Run,
    visit: &mut impl FnMut(usize),
) {
    let length = piece.needle().len();
    let mut rows = (run.first..run.end)
        .map(|row| (row, views[row]))
        .filter(|(_, view)| view.length as usize >= length)
        .map(|(row, view)| (row, view.start as usize, (view.start + view.length) as usize));
    let Some((mut row, mut start, mut end)) = rows.next() else { return };
    let mut at = run.memory_start;
    while let Some(found) = piece.find(&memory[at..run.memory_end]).map(|found| at + found) {
        while end <= found {
            let Some(next) = rows.next() else { return };
            (row, start, end) = next;
        }
        at = if found < start {
            start
        } else {
            if found + length <= end {
                visit(row);
            }
            // Nothing behind it that is found in this string says more.
            end
        };
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// Strings of `a`, `b` and `c` in two buffers, with `gap` bytes before each.
    fn strings(gap: usize) -> Strings {
        let mut state = 7_u32;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let mut buffers = vec![Vec::new(), Vec::new()];
        let mut views = Vec::new();
        for row in 0..2000_u32 {
            let buffer = row / 1500;
            let bytes = &mut buffers[buffer as usize];
            bytes.extend(std::iter::repeat_n(b'a', gap));
            let start = u32::try_from(bytes.len()).unwrap();
            let length = draw(9);
            bytes.extend((0..length).map(|_| [b'a', b'b', b'c'][draw(3) as usize]));
            views.push(View { buffer, start, length });
        }
        Strings { buffers: buffers.into_iter().map(Bytes::from).collect(), views, validity: None }
    }

    fn check(strings: &Strings, rows: usize) {
        for piece in ["a", "abc", "ca", "abcabc", "bbbbbbbb", "aaaaaaaaa"] {
            let finder = Finder::new(piece);
            let mut found = Vec::new();
            rows_with(&finder, strings, rows, |row| found.push(row));
            let holds = |row: &usize| finder.find(strings.get(*row)).is_some();
            assert_eq!(found, (0..rows).filter(holds).collect::<Vec<_>>(), "{piece}");
        }
    }

    #[test]
    fn rows_are_those_of_a_search_in_each_string() {
        for gap in [0, 4, 100] {
            check(&strings(gap), 2000);
            check(&strings(gap), 1);
        }
    }

    #[test]
    fn strings_in_any_order_with_nulls_in_between_are_searched() {
        let mut strings = strings(4);
        for row in (0..2000).step_by(7) {
            strings.views[row] = View::default();
        }
        check(&strings, 2000);
        strings.views.sort_by_key(|view| view.start % 19);
        check(&strings, 2000);
        strings.views = strings.views.iter().copied().step_by(50).collect();
        check(&strings, 40);
        strings.views.fill(View::default());
        strings.buffers.clear();
        check(&strings, 40);
    }
}
