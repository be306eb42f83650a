// SPDX-License-Identifier: Apache-2.0
//! Defines [`MergeCommand`], which merges the sorted results of several scans into one sorted
//! result.
//!
//! It has two forms on the wire. What a host sends carries the scans themselves; what a kernel
//! reads has their results, where the drive has put them in its memory, and no scans.
//!
//! # Invariants
//!
//! - Every scan returns all its kept rows, and all scans return the same columns.
//! - A merge is one unit of work: it has one result, or one failure. A drive may cut it into parts
//!   for its kernels; the host does not see them.

use crate::{
    command::Command,
    envelope::Envelope,
    error::Error,
    fragment::Output,
    frame::{self, envelope_of},
    input::{InputRef, OutputRef},
    layout::{
        HEADER_BYTES, MergePartRecord, MergeRecord, OutputColumnRecord, SECTION_CRITICAL,
        SortKeyRecord, merge, opcode, output_mode, section, sort,
    },
    limits,
    parts::MergePart,
    program::{Operand, limit},
    reference::{output_record, read_inputs, read_output, write_inputs, write_output},
    types::{BlockForm, Width},
    unit::OUTPUT_BYTES_MAX,
    wire::{SectionReader, SectionWriter},
};

/// One key of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// Column of the output that the rows are ordered by: numbers by size, byte strings byte by
    /// byte, a prefix before the longer string.
    pub column: u16,
    /// Greater values come first.
    pub descending: bool,
    /// Nulls come before all values, whichever way these go; else behind them.
    pub nulls_first: bool,
}

/// The order and the limits of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Merge {
    /// The order of every input and of the output, the most significant key first. Rows that are
    /// equal in all keys are in the order of their inputs, and within an input in its order.
    pub keys: Vec<SortKey>,
    /// Whether a row that equals the one before it in all keys is left out; NULL equals NULL.
    pub distinct: bool,
}

impl Merge {
    /// A 64-bit hash of the merge and the fragments with these hashes: equal work has equal hashes
    /// on every machine.
    pub fn hash_over(&self, fragments: impl IntoIterator<Item = u64>) -> u64 {
        let mut words = vec![u64::from(self.distinct)];
        words.extend(self.keys.iter().map(|key| {
            let record = key_record(key);
            u64::from(record.column) << 16 | u64::from(record.flags)
        }));
        words.extend(fragments);
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        xxhash_rust::xxh3::xxh3_64(&bytes)
    }

    /// Checks the merge against the columns that it merges.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self, widths: &[Width]) -> Result<(), Error> {
        limit("keys of a merge", self.keys.len(), limits::MERGE_KEYS_MAX)?;
        if self.keys.is_empty() {
            return Err(Error::Inconsistent { what: "a merge has at least one key" });
        }
        for (index, key) in self.keys.iter().enumerate() {
            if usize::from(key.column) >= widths.len() {
                let count = widths.len() as u64;
                return Err(Error::Index { what: "key column", index: key.column.into(), count });
            }
            if self.keys[..index].iter().any(|other| other.column == key.column) {
                return Err(Error::Inconsistent { what: "a column is a key of a merge twice" });
            }
        }
        if self.distinct && self.keys.len() != widths.len() {
            let what = "a merge of distinct rows has every column as a key";
            return Err(Error::Inconsistent { what });
        }
        Ok(())
    }
}

/// Scans whose results the drive merges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeCommand {
    /// The request envelope. The scans are parts of the same work; their own envelopes identify
    /// their results.
    pub envelope: Envelope,
    /// The inputs; where they say that their results go does not matter, only how much room these
    /// have.
    pub scans: Vec<Command>,
    /// The merge of the results of the scans.
    pub merge: Merge,
    /// The destination of the merged result.
    pub output: OutputRef,
}

impl MergeCommand {
    /// A merge of `scans`; the result goes to the host, with as much room as those of the scans
    /// have together, but not more than [`OUTPUT_BYTES_MAX`].
    ///
    /// # Errors
    /// The first rule that is broken: how many scans and keys there may be, that scans give all
    /// their rows in the same columns, and what [`Merge::check`] finds.
    pub fn bind(scans: Vec<Command>, merge: Merge, envelope: Envelope) -> Result<Self, Error> {
        let room = |scan: &Command| scan.output.bytes_max();
        let room = scans.iter().map(room).fold(0, u64::saturating_add);
        let output = OutputRef::HostBuffer { bytes_max: room.min(OUTPUT_BYTES_MAX) };
        let command = Self { envelope, scans, merge, output };
        command.check()?;
        Ok(command)
    }

    fn check(&self) -> Result<(), Error> {
        limit("inputs of a merge", self.scans.len(), limits::MERGE_INPUTS_MAX)?;
        let Some(first) = self.scans.first() else {
            return Err(Error::Inconsistent { what: "a merge has at least one input" });
        };
        let gives_all = |scan: &Command| {
            matches!(scan.fragment.output, Output::Rows { limit: None, top: None, .. })
        };
        if !self.scans.iter().all(gives_all) {
            return Err(Error::Inconsistent { what: "a scan that is merged gives all its rows" });
        }
        if self.scans.iter().any(|scan| scan.form != BlockForm::Plain) {
            return Err(Error::Inconsistent { what: "a scan that is merged gives plain blocks" });
        }
        let widths = first.fragment.output_widths();
        if self.scans.iter().any(|scan| scan.fragment.output_widths() != widths) {
            return Err(Error::Inconsistent { what: "scans that are merged give equal columns" });
        }
        self.merge.check(&widths)
    }

    /// Widths of the columns of the result, which are those of every input.
    pub fn output_widths(&self) -> Vec<Width> {
        self.scans.first().map(|scan| scan.fragment.output_widths()).unwrap_or_default()
    }

    /// Rows of all units.
    pub fn rows(&self) -> u64 {
        self.scans.iter().map(|scan| scan.unit.rows).sum()
    }

    /// [`Merge::hash_over`] the fragments of the scans.
    pub fn hash(&self) -> u64 {
        self.merge.hash_over(self.scans.iter().map(|scan| scan.fragment.hash()))
    }

    /// Bytes of device memory beside the inputs of the scans and the merged result: what the scans
    /// work in, and their results, each from its own line.
    pub fn scratch_bytes(&self) -> u64 {
        let scan = |scan: &Command| {
            let result = scan.output.bytes_max().checked_next_multiple_of(64).unwrap_or(u64::MAX);
            result.saturating_add(scan.scratch_bytes())
        };
        self.scans.iter().map(scan).fold(0, u64::saturating_add)
    }

    /// Bytes of device memory that the command takes in all.
    pub fn device_bytes(&self) -> u64 {
        let inputs = self.scans.iter().map(Command::input_bytes).fold(0, u64::saturating_add);
        let work = inputs.saturating_add(self.scratch_bytes());
        work.saturating_add(self.output.bytes_max())
    }

    /// The bytes a drive reads, scans included.
    ///
    /// # Errors
    /// [`Error::Limit`] when a scan is longer than a kernel can hold.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let result =
            |scan: &Command| InputRef::Output { command_id: scan.envelope.command_id, port: 0 };
        let inputs: Vec<InputRef> = self.scans.iter().map(result).collect();
        let mut scans = Vec::new();
        for scan in &self.scans {
            scans.append(&mut scan.encode()?);
        }
        let mut sections = SectionWriter::default();
        self.write(&inputs, &self.output, &mut sections);
        sections.raw(section::SCANS, SECTION_CRITICAL, self.scan_count(), scans);
        self.seal(self.scratch_bytes(), limits::MERGE_COMMAND_BYTES_MAX, sections)
    }

    /// The bytes the kernel reads: the results of the scans, headers included, are in `inputs`, and
    /// the merged rows of `part` go to `output`.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] when there is not one input for each scan, or no such part.
    pub fn encode_for_kernel(
        &self,
        inputs: &[InputRef],
        output: &OutputRef,
        part: MergePart,
    ) -> Result<Vec<u8>, Error> {
        limit("parts of a merge", usize::from(part.parts), limits::MERGE_PARTS_MAX)?;
        if part.part >= part.parts {
            return Err(Error::Inconsistent { what: "a merge has no such part" });
        }
        if inputs.len() != self.scans.len() {
            return Err(Error::Inconsistent { what: "a merge has one input for each scan" });
        }
        let mut sections = SectionWriter::default();
        self.write(inputs, output, &mut sections);
        if part != MergePart::WHOLE {
            let MergePart { part, parts } = part;
            let record = MergePartRecord { part, parts, ..MergePartRecord::default() };
            sections.records(section::MERGE_PART, std::iter::once(record));
        }
        self.seal(0, limits::COMMAND_BYTES_MAX, sections)
    }

    fn scan_count(&self) -> u32 {
        u32::try_from(self.scans.len()).unwrap_or(u32::MAX)
    }

    fn write(&self, inputs: &[InputRef], output: &OutputRef, sections: &mut SectionWriter) {
        write_inputs(inputs, sections);
        let flags = u16::from(self.merge.distinct) * merge::DISTINCT;
        let record = MergeRecord { flags, ..MergeRecord::default() };
        sections.records(section::MERGE, std::iter::once(record));
        sections.records(section::MERGE_KEYS, self.merge.keys.iter().map(key_record));
        let column = |width: Width| OutputColumnRecord {
            operand: Operand::None.pack(),
            width: u16::from(width.code()),
            ..OutputColumnRecord::default()
        };
        sections.records(section::OUTPUT_COLUMNS, self.output_widths().into_iter().map(column));
        write_output(output, output_mode::ROWS, None, BlockForm::Plain, sections);
    }

    fn seal(
        &self,
        scratch_bytes: u64,
        bytes_max: u32,
        sections: SectionWriter,
    ) -> Result<Vec<u8>, Error> {
        let (opcode, hash, rows) = (opcode::MERGE, self.hash(), self.rows());
        let work = frame::Work { opcode, hash, rows, scratch_bytes, bytes_max };
        frame::seal(&self.envelope, &work, sections)
    }

    /// Reads what [`MergeCommand::encode`] wrote.
    ///
    /// # Errors
    /// The first error in the bytes; never panics.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes_max = limits::MERGE_COMMAND_BYTES_MAX;
        let (header, bytes) = frame::open(bytes, opcode::MERGE, bytes_max)?;
        let is_known = |kind| section::OF_MERGES.contains(&kind);
        let sections = SectionReader::open(bytes, HEADER_BYTES, header.section_count, is_known)?;
        let output = output_record(&sections)?;
        if output.mode != output_mode::ROWS || output.rows_max != u64::MAX {
            return Err(Error::Inconsistent { what: "a merge gives all rows" });
        }
        if BlockForm::from_code(output.form)? != BlockForm::Plain {
            return Err(Error::Inconsistent { what: "a merge gives plain blocks" });
        }
        let command = Self {
            envelope: envelope_of(&header),
            scans: read_scans(&sections)?,
            merge: read_merge(&sections)?,
            output: read_output(&output)?,
        };
        command.check()?;
        let inputs = read_inputs(&sections)?;
        let results = command
            .scans
            .iter()
            .map(|scan| InputRef::Output { command_id: scan.envelope.command_id, port: 0 });
        if !inputs.into_iter().eq(results) {
            return Err(Error::Inconsistent { what: "the inputs of a merge are not its scans" });
        }
        let columns: Vec<OutputColumnRecord> = sections.records(section::OUTPUT_COLUMNS)?;
        let widths = columns.iter().map(|column| u64::from(column.width));
        if !widths.eq(command.output_widths().iter().map(|width| u64::from(width.code()))) {
            return Err(Error::Inconsistent { what: "output columns are not those of the scans" });
        }
        if header.rows != command.rows() {
            return Err(Error::Inconsistent { what: "rows are not those of the scans" });
        }
        Ok(command)
    }
}

fn key_record(key: &SortKey) -> SortKeyRecord {
    let descending = u16::from(key.descending) * sort::DESCENDING;
    let nulls_first = u16::from(key.nulls_first) * sort::NULLS_FIRST;
    SortKeyRecord { column: key.column, flags: descending | nulls_first, reserved: 0 }
}

fn read_key(record: &SortKeyRecord) -> Result<SortKey, Error> {
    if record.flags & !(sort::DESCENDING | sort::NULLS_FIRST) != 0 {
        let value = u64::from(record.flags);
        return Err(Error::UnknownCode { what: "flags of a key", value });
    }
    Ok(SortKey {
        column: record.column,
        descending: record.flags & sort::DESCENDING != 0,
        nulls_first: record.flags & sort::NULLS_FIRST != 0,
    })
}

fn read_merge(sections: &SectionReader<'_>) -> Result<Merge, Error> {
    let record: MergeRecord = sections.one(section::MERGE, "MERGE")?;
    if record.flags & !merge::DISTINCT != 0 {
        let value = u64::from(record.flags);
        return Err(Error::UnknownCode { what: "flags of a merge", value });
    }
    let keys: Vec<SortKeyRecord> = sections.records(section::MERGE_KEYS)?;
    Ok(Merge {
        keys: keys.iter().map(read_key).collect::<Result<_, _>>()?,
        distinct: record.flags & merge::DISTINCT != 0,
    })
}

/// The commands of the section, which tile it.
fn read_scans(sections: &SectionReader<'_>) -> Result<Vec<Command>, Error> {
    let (count, mut rest) = sections.raw(section::SCANS);
    limit("inputs of a merge", count as usize, limits::MERGE_INPUTS_MAX)?;
    let mut scans = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let (scan, behind) = Command::decode_first(rest)?;
        scans.push(scan);
        rest = behind;
    }
    match rest.is_empty() {
        true => Ok(scans),
        false => Err(Error::Inconsistent { what: "there are bytes behind the scans of a merge" }),
    }
}
