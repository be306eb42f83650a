// SPDX-License-Identifier: Apache-2.0
//! Defines [`Command`], a fragment bound to one unit of work, and its encoding.

use crate::{
    error::Error,
    fragment::{Fragment, Output},
    frame::{self, envelope_of},
    input::OutputRef,
    key_filter,
    layout::{ColumnRecord, HEADER_BYTES, ReadingRecord, opcode, section, uses},
    limits,
    reference::{output_record, read_inputs, read_output, write_inputs, write_output},
    requests::MediaPlan,
    types::{BlockForm, Codec, Encodings, PhysicalType, ReadAs, Reading, ValueKind},
    unit::{Chunk, Unit},
    wire::{SectionReader, SectionWriter, mode_of, read_fragment, write_fragment},
};

pub use crate::envelope::Envelope;

/// A fragment bound to one unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The request envelope.
    pub envelope: Envelope,
    /// The fragment.
    pub fragment: Fragment,
    /// The unit of work.
    pub unit: Unit,
    /// The destination of the result.
    pub output: OutputRef,
    /// The form that blocks of the result may have: [`BlockForm::Compact`] allows both. Only rows
    /// that go to the host may be compact.
    pub form: BlockForm,
}

impl Command {
    /// Binds `fragment` to `unit`; the result goes to the host in plain blocks, with room for
    /// [`Unit::output_bytes`].
    ///
    /// # Errors
    /// The errors of [`Fragment::check`] and [`Unit::check`].
    pub fn bind(fragment: &Fragment, unit: Unit, envelope: Envelope) -> Result<Self, Error> {
        fragment.check()?;
        unit.check(fragment)?;
        let output = OutputRef::HostBuffer { bytes_max: unit.output_bytes(fragment) };
        let form = BlockForm::Plain;
        Ok(Self { envelope, fragment: fragment.clone(), unit, output, form })
    }

    /// The same with compact blocks allowed, if it returns rows: states are plain.
    #[must_use]
    pub fn compact(self) -> Self {
        match self.fragment.output {
            Output::Rows { .. } => Self { form: BlockForm::Compact, ..self },
            Output::States { .. } => self,
        }
    }

    /// Bytes of device memory beside input and output.
    pub fn scratch_bytes(&self) -> u64 {
        self.unit.scratch_bytes(&self.fragment)
    }

    /// Bytes of device memory that the inputs take, with what is read around them.
    pub fn input_bytes(&self) -> u64 {
        MediaPlan::of(&self.unit.inputs).bytes
    }

    /// Bytes of device memory that the command takes in all: inputs, scratch, and room for the
    /// result.
    pub fn device_bytes(&self) -> u64 {
        let work = self.input_bytes().saturating_add(self.scratch_bytes());
        work.saturating_add(self.output.bytes_max())
    }

    /// The bytes a kernel reads: the command, and the bits of key filters behind it.
    ///
    /// # Errors
    /// [`Error::Limit`] when they are more than a kernel can hold.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut sections = SectionWriter::default();
        write_inputs(&self.unit.inputs, &mut sections);
        self.write_columns(&mut sections);
        write_fragment(&self.fragment, &mut sections);
        let (mode, rows_max) = mode_of(&self.fragment.output);
        write_output(&self.output, mode, rows_max, self.form, &mut sections);
        let work = frame::Work {
            opcode: opcode::SCAN,
            hash: self.fragment.hash(),
            rows: self.unit.rows,
            scratch_bytes: self.scratch_bytes(),
            bytes_max: limits::COMMAND_BYTES_MAX,
        };
        let mut bytes = frame::seal(&self.envelope, &work, sections)?;
        bytes.append(&mut key_filter::trailer(&self.fragment.key_filters));
        Ok(bytes)
    }

    fn write_columns(&self, sections: &mut SectionWriter) {
        let scratch = self.unit.scratch(&self.fragment);
        let lanes = self.unit.chunks.iter().zip(&self.fragment.columns).zip(scratch).enumerate();
        let records: Vec<ColumnRecord> = lanes
            .map(|(index, ((chunk, column), lane))| {
                let tests = || self.fragment.tests.iter();
                let position = |test: &crate::StringTest| usize::from(test.column) == index;
                let first = tests().position(position).unwrap_or(0);
                let codes = match &self.fragment.output {
                    Output::States { keys, .. } => {
                        let coded = keys.iter().filter_map(crate::Key::code_column);
                        coded.into_iter().any(|column| usize::from(column) == index)
                    }
                    Output::Rows { .. } => false,
                };
                let shown = column.kind == ValueKind::Bytes && self.fragment.shows_bytes_of(index);
                ColumnRecord {
                    input: chunk.input,
                    physical_type: chunk.physical_type.code(),
                    definition_level_max: chunk.definition_level_max,
                    codec: chunk.codec.code(),
                    value_kind: column.kind.code(),
                    encodings: chunk.encodings.bits(),
                    offset: chunk.offset,
                    length: chunk.length,
                    uncompressed_bytes: chunk.uncompressed_bytes,
                    dictionary_bytes: chunk.dictionary_bytes,
                    scratch_offset: lane.offset,
                    scratch_bytes: lane.bytes,
                    test_first: u16::try_from(first).unwrap_or(u16::MAX),
                    test_count: u16::try_from(tests().filter(|test| position(test)).count())
                        .unwrap_or(u16::MAX),
                    uses: u16::from(codes) * uses::CODES + u16::from(shown) * uses::BYTES,
                    ..ColumnRecord::default()
                }
            })
            .collect();
        sections.records(section::COLUMNS, records.into_iter());
        let readings = self.unit.chunks.iter().map(|chunk| chunk.reading);
        if readings.clone().any(|reading| reading != Reading::PLAIN) {
            let record = |Reading { rule, bits, length }| ReadingRecord {
                rule: rule.code(),
                bits,
                length,
                reserved: 0,
            };
            sections.records(section::READINGS, readings.map(record));
        }
    }

    /// Reads what [`Command::encode`] wrote.
    ///
    /// # Errors
    /// The first error in the bytes; never panics.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::decode_first(bytes)?.0)
    }

    /// Reads the command at the start of `bytes`; gives what is behind its last bit, too.
    pub(crate) fn decode_first(all: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (header, bytes) = frame::open(all, opcode::SCAN, limits::COMMAND_BYTES_MAX)?;
        let behind = all.get(bytes.len()..).unwrap_or_default();
        let is_known = |kind| !section::OF_MERGES_ONLY.contains(&kind);
        let sections = SectionReader::open(bytes, HEADER_BYTES, header.section_count, is_known)?;
        let output = output_record(&sections)?;
        let columns: Vec<ColumnRecord> = sections.records(section::COLUMNS)?;
        let kinds = columns
            .iter()
            .map(|column| ValueKind::from_code(column.value_kind))
            .collect::<Result<_, _>>()?;
        let rows_max = (output.rows_max != u64::MAX).then_some(output.rows_max);
        let fragment = read_fragment(&sections, output.mode, rows_max, Some(kinds), behind)?;
        let unit = Unit {
            rows: header.rows,
            inputs: read_inputs(&sections)?,
            chunks: read_chunks(&columns, &sections)?,
        };
        unit.check(&fragment)?;
        let line = u64::from(limits::SECTION_ALIGN);
        let bits = fragment.key_bits_bytes().next_multiple_of(line);
        let bits = usize::try_from(bits).unwrap_or(usize::MAX);
        let rest = behind.get(bits..).unwrap_or_default();
        let form = BlockForm::from_code(output.form)?;
        if form == BlockForm::Compact && matches!(fragment.output, Output::States { .. }) {
            return Err(Error::Inconsistent { what: "states are not compact" });
        }
        let envelope = envelope_of(&header);
        Ok((Self { envelope, fragment, unit, output: read_output(&output)?, form }, rest))
    }
}

fn read_chunks(
    columns: &[ColumnRecord],
    sections: &SectionReader<'_>,
) -> Result<Vec<Chunk>, Error> {
    let readings: Vec<ReadingRecord> = sections.records(section::READINGS)?;
    if readings.is_empty() {
        return columns.iter().map(|column| read_chunk(column, Reading::PLAIN)).collect();
    }
    if readings.len() != columns.len() {
        return Err(Error::Inconsistent { what: "there is one reading for each column" });
    }
    let chunk = |(column, reading): (&ColumnRecord, &ReadingRecord)| {
        let ReadingRecord { bits, length, .. } = *reading;
        read_chunk(column, Reading { rule: ReadAs::from_code(reading.rule)?, bits, length })
    };
    columns.iter().zip(&readings).map(chunk).collect()
}

fn read_chunk(record: &ColumnRecord, reading: Reading) -> Result<Chunk, Error> {
    Ok(Chunk {
        reading,
        input: record.input,
        offset: record.offset,
        length: record.length,
        uncompressed_bytes: record.uncompressed_bytes,
        physical_type: PhysicalType::from_code(record.physical_type)?,
        definition_level_max: record.definition_level_max,
        codec: Codec::from_code(record.codec)?,
        encodings: Encodings::from_bits(record.encodings)?,
        dictionary_bytes: record.dictionary_bytes,
    })
}
