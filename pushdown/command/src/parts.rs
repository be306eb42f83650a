// SPDX-License-Identifier: Apache-2.0
//! Cuts a merge into parts for a drive's kernels, and joins their results.
//!
//! Parts are not visible outside of a drive: it returns one result, as if one kernel had merged.

use crate::{
    error::Error,
    limits::MERGE_PARTS_MAX,
    result::{Counters, ResultHeader},
    status::Status,
};

/// One of the parts that a drive cuts a merge into. The rows of all parts, one after the other, are
/// those of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MergePart {
    /// Which part, from 0 on.
    pub part: u16,
    /// Their number, up to [`MERGE_PARTS_MAX`].
    pub parts: u16,
}

impl MergePart {
    /// A merge that is not cut.
    pub const WHOLE: Self = Self { part: 0, parts: 1 };

    /// Room that the result of this part is given, where that of all of them has `bytes_max`. A
    /// part that finds too little, because its strings are longer than those of the others, makes
    /// the merge run again as a whole.
    pub fn room_bytes(self, bytes_max: u64) -> u64 {
        match self {
            Self::WHOLE => bytes_max,
            Self { parts, .. } => {
                (bytes_max / u64::from(parts)).next_multiple_of(8) + PART_ROOM_BYTES
            }
        }
    }
}

/// Room of a part beside its share of the output's: its own header, and the ends of its last block,
/// which are padded in each column. No lease pays for it: a drive would keep it aside for each of
/// its merge units.
const PART_ROOM_BYTES: u64 = 1024;

/// The limits by which a drive cuts merges into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeCut {
    /// Units that merge.
    pub units: u32,
    /// Rows that make one more part worth its search.
    pub part_rows: u64,
}

impl MergeCut {
    /// Rows that make one more part worth its search, where nothing else is known.
    pub const PART_ROWS: u64 = 1 << 14;

    /// Parts that a merge of so many rows is cut into: one for each unit, as far as a command can
    /// name them, but none that is hardly worth the search for its cuts.
    pub fn parts(&self, rows: u64) -> u16 {
        let worth = rows / self.part_rows.max(1);
        let units = self.units.clamp(1, MERGE_PARTS_MAX);
        let parts = worth.clamp(1, units.into());
        u16::try_from(parts).unwrap_or(1)
    }
}

/// The results of all parts of a merge as one: their payloads one after the other, under one
/// header. Where parts have failed it is the header of the first of those.
///
/// The checksum of the payload comes from those of the parts, not from their bytes: a byte that has
/// changed since its kernel wrote it is still detected in the whole.
///
/// # Errors
/// [`Error`] when a part is no result, there is none, or their rows are too many to count.
pub fn join_parts(parts: &[impl AsRef<[u8]>]) -> Result<Vec<u8>, Error> {
    let mut joined: Option<ResultHeader> = None;
    let mut payload = Vec::new();
    for part in parts {
        let part = part.as_ref();
        let header = ResultHeader::decode(part)?;
        if header.status != Status::Ok {
            return Ok(header.encode());
        }
        let first = usize::try_from(ResultHeader::BYTES).unwrap_or(usize::MAX);
        let bytes = part.get(first..).unwrap_or_default();
        if bytes.len() as u64 != header.payload_bytes {
            return Err(Error::Inconsistent { what: "a part is not as long as it says" });
        }
        payload.extend_from_slice(bytes);
        joined = Some(match joined {
            None => header,
            Some(before) => ResultHeader {
                rows_out: before.rows_out.checked_add(header.rows_out).ok_or(
                    Error::Inconsistent { what: "the parts have more rows than can be counted" },
                )?,
                payload_checksum: crc32c::crc32c_combine(
                    before.payload_checksum,
                    header.payload_checksum,
                    bytes.len(),
                ),
                counters: before.counters.plus(&header.counters),
                ..before
            },
        });
    }
    let Some(header) = joined else {
        return Err(Error::Inconsistent { what: "a merge has at least one part" });
    };
    let header = ResultHeader { payload_bytes: payload.len() as u64, ..header };
    let mut result = header.encode();
    result.append(&mut payload);
    Ok(result)
}

impl Counters {
    /// The sums of the counters of both; of a merge, also the steps of its one lane. A sum that is
    /// too large ends at the largest number: counters say how much was done, and no row depends on
    /// them.
    fn plus(&self, other: &Self) -> Self {
        Self {
            lines_read: self.lines_read.saturating_add(other.lines_read),
            pages: self.pages.saturating_add(other.pages),
            bytes_decompressed: self.bytes_decompressed.saturating_add(other.bytes_decompressed),
            snappy_tokens: self.snappy_tokens.saturating_add(other.snappy_tokens),
            snappy_tokens_lane_max: self
                .snappy_tokens_lane_max
                .saturating_add(other.snappy_tokens_lane_max),
            values_decoded: self.values_decoded.saturating_add(other.values_decoded),
            decode_steps_lane_max: self
                .decode_steps_lane_max
                .saturating_add(other.decode_steps_lane_max),
            dictionary_entries: self.dictionary_entries.saturating_add(other.dictionary_entries),
            dictionary_reads: self.dictionary_reads.saturating_add(other.dictionary_reads),
            rows_filtered: self.rows_filtered.saturating_add(other.rows_filtered),
            rows_projected: self.rows_projected.saturating_add(other.rows_projected),
            rows_aggregated: self.rows_aggregated.saturating_add(other.rows_aggregated),
            string_words: self.string_words.saturating_add(other.string_words),
            payload_words: self.payload_words.saturating_add(other.payload_words),
            blocks: self.blocks.saturating_add(other.blocks),
            key_words: self.key_words.saturating_add(other.key_words),
            filter_iterations: self.filter_iterations.saturating_add(other.filter_iterations),
            project_iterations: self.project_iterations.saturating_add(other.project_iterations),
            aggregate_iterations: self
                .aggregate_iterations
                .saturating_add(other.aggregate_iterations),
            write_iterations: self.write_iterations.saturating_add(other.write_iterations),
            decode_iterations_lane_max: self
                .decode_iterations_lane_max
                .saturating_add(other.decode_iterations_lane_max),
            dictionary_iterations_lane_max: self
                .dictionary_iterations_lane_max
                .saturating_add(other.dictionary_iterations_lane_max),
            page_iterations_lane_max: self
                .page_iterations_lane_max
                .saturating_add(other.page_iterations_lane_max),
            memory_read_iterations: self
                .memory_read_iterations
                .saturating_add(other.memory_read_iterations),
            memory_write_iterations: self
                .memory_write_iterations
                .saturating_add(other.memory_write_iterations),
            memory_reads: self.memory_reads.saturating_add(other.memory_reads),
            dictionary_pairs: self.dictionary_pairs.saturating_add(other.dictionary_pairs),
            loader_iterations_max: self
                .loader_iterations_max
                .saturating_add(other.loader_iterations_max),
            loader_words: self.loader_words.saturating_add(other.loader_words),
            memory_waits: self.memory_waits.saturating_add(other.memory_waits),
            memory_writes: self.memory_writes.saturating_add(other.memory_writes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Envelope;
    use crate::result::{ResultView, ResultWriter, Value};
    use crate::types::Width;

    /// A result of numbers, with counters that show it.
    fn part(numbers: &[i128]) -> Vec<u8> {
        let mut writer = ResultWriter::new(vec![Width::W64]);
        for number in numbers {
            writer.push(vec![Value::Number(*number)]).unwrap();
        }
        let count = numbers.len() as u64;
        let counters = Counters { values_decoded: count, blocks: 1, ..Counters::default() };
        let header = ResultHeader::failed(&Envelope::default(), Status::Ok);
        writer.finish(ResultHeader {
            rows_in: 9,
            rows_kept: 7,
            rows_out: count,
            counters,
            ..header
        })
    }

    #[test]
    fn rows_counters_and_checksums_are_those_of_all_parts() {
        let joined = join_parts(&[part(&[1, 2]), part(&[]), part(&[3, 4, 5])]).unwrap();
        let view = ResultView::parse(&joined, &[Width::W64]).unwrap();
        let numbers: Vec<_> = view
            .blocks
            .iter()
            .flat_map(|block| (0..block.rows as usize).map(|row| block.columns[0].number(row)))
            .collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5].map(Some));
        assert_eq!((view.header.rows_in, view.header.rows_kept, view.header.rows_out), (9, 7, 5));
        assert_eq!(view.header.counters.values_decoded, 5);
    }

    #[test]
    fn changed_byte_of_a_part_is_detected_in_the_whole() {
        let mut changed = part(&[3, 4, 5]);
        *changed.last_mut().unwrap() ^= 1;
        for parts in [[changed.clone(), part(&[1])], [part(&[1]), changed.clone()]] {
            let joined = join_parts(&parts).unwrap();
            let error = ResultView::parse(&joined, &[Width::W64]).unwrap_err();
            assert!(matches!(error, Error::Checksum { part: "result payload", .. }), "{error}");
        }
    }

    #[test]
    fn row_counts_that_overflow_are_an_error() {
        let header = ResultHeader::decode(&part(&[1])).unwrap();
        let counters = Counters { lines_read: u64::MAX, write_iterations: 7, ..header.counters };
        let busy = ResultHeader { payload_bytes: 0, counters, ..header }.encode();
        let joined = join_parts(&[&busy, &busy]).unwrap();
        let sum = ResultHeader::decode(&joined).unwrap().counters;
        assert_eq!((sum.lines_read, sum.write_iterations, sum.values_decoded), (u64::MAX, 14, 2));
        let many = ResultHeader { payload_bytes: 0, rows_out: u64::MAX, ..header }.encode();
        let what = "the parts have more rows than can be counted";
        assert_eq!(join_parts(&[&many, &many]), Err(Error::Inconsistent { what }));
    }

    #[test]
    fn failed_part_becomes_the_result() {
        let failed = |status| ResultHeader::failed(&Envelope::default(), status).encode();
        let parts = [part(&[1]), failed(Status::NotSorted), failed(Status::Corrupt)];
        let joined = join_parts(&parts).unwrap();
        assert_eq!(joined, failed(Status::NotSorted));
    }

    #[test]
    fn only_large_merges_are_cut() {
        let cut = MergeCut { units: 3, part_rows: 100 };
        let parts = [0, 99, 100, 200, 299, 1_000_000].map(|rows| cut.parts(rows));
        assert_eq!(parts, [1, 1, 1, 2, 2, 3]);
        let cut = MergeCut { units: 99, part_rows: 1 };
        assert_eq!(u32::from(cut.parts(1000)), MERGE_PARTS_MAX);
        assert_eq!(MergePart::WHOLE.room_bytes(100), 100);
        assert_eq!(MergePart { part: 1, parts: 3 }.room_bytes(100), 40 + 1024);
    }

    #[test]
    fn invalid_part_is_refused() {
        let none: [Vec<u8>; 0] = [];
        assert!(join_parts(&none).is_err());
        let whole = part(&[1, 2]);
        assert!(join_parts(&[&whole[..100]]).is_err());
        let what = "a part is not as long as it says";
        assert_eq!(join_parts(&[&whole[..whole.len() - 8]]), Err(Error::Inconsistent { what }));
    }
}
