// SPDX-License-Identifier: Apache-2.0
//! Describes what a drive can run, as data: the optimizer decides from it without calling the
//! drive.

use nearscan_command::{
    Chunk, Codec, Encodings, Fragment, Function, Op, Output, PhysicalType, TestOp, limits,
};

/// The capabilities of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Version of this description.
    pub version: u32,
    /// Stored types.
    pub physical_types: Vec<PhysicalType>,
    /// Codecs.
    pub codecs: Vec<Codec>,
    /// Encodings.
    pub encodings: Encodings,
    /// Operations of predicate and projection.
    pub operations: Vec<Op>,
    /// Comparisons of strings with literals.
    pub tests: Vec<TestOp>,
    /// Aggregate functions.
    pub functions: Vec<Function>,
    /// Columns of one command.
    pub columns_max: u32,
    /// Steps of one program.
    pub steps_max: u32,
    /// Aggregate slots of one command.
    pub aggregates_max: u32,
    /// Group keys of one command.
    pub keys_max: u32,
    /// Largest dictionary page of a group key, in compressed bytes, that the drive is given.
    pub key_dictionary_bytes_max: u64,
    /// Largest dictionary page, in compressed bytes, that the drive is given.
    pub dictionary_bytes_max: u64,
    /// Bytes of the key filters of one command; 0 when the drive takes none.
    pub key_bits_bytes_max: u32,
    /// Inputs of one merge command; 0 when the drive cannot merge.
    pub merge_inputs_max: u32,
    /// Columns of each scan whose result is merged: the image that merges may have fewer lanes.
    pub merge_columns_max: u32,
    /// Whether the drive writes compact blocks when a command allows them.
    pub compact_results: bool,
    /// Commands that may be in flight at once.
    pub in_flight_max: u32,
    /// Device memory, in bytes; 0 when it is not separate from the host's.
    pub memory_bytes: u64,
    /// Whether the drive is part of `auto` only because the user attached it.
    pub emulated: bool,
}

/// What an image can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageAbility {
    /// Columns of one scan.
    pub columns_max: u32,
    /// Inputs of one merge; 0 when it does not merge.
    pub merge_inputs_max: u32,
}

impl ImageAbility {
    /// Whether it merges.
    pub const fn merges(&self) -> bool {
        self.merge_inputs_max > 0
    }
}

impl Capabilities {
    /// The capabilities of a drive with the scan kernel that has one of these images loaded, the
    /// one that a command needs. Merges are those of the first one that merges.
    pub fn of_images(images: impl IntoIterator<Item = ImageAbility> + Clone) -> Self {
        let columns = images.clone().into_iter().map(|image| image.columns_max).max();
        let merging = images.into_iter().find(ImageAbility::merges).unwrap_or_default();
        Self {
            columns_max: columns.unwrap_or(0).min(limits::COLUMNS_MAX),
            merge_inputs_max: merging.merge_inputs_max,
            merge_columns_max: merging.columns_max.min(limits::COLUMNS_MAX),
            ..Self::of_scan_kernel()
        }
    }
}

/// The part of a fragment or chunk that a drive cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// A stored type.
    Type(String),
    /// An encoding.
    Encoding(String),
    /// A codec.
    Codec(String),
    /// An operation, or too many of them; key filters that are too large.
    Expression(String),
    /// An aggregate function, or too many of them.
    Function(String),
    /// Too many groups, or too many keys.
    GroupCardinality(String),
    /// A dictionary too large.
    DictionarySize(String),
}

impl Capabilities {
    /// Returns the capabilities of a drive with the whole scan kernel.
    pub fn of_scan_kernel() -> Self {
        Self {
            version: 1,
            physical_types: PhysicalType::ALL.iter().map(|(ty, _)| *ty).collect(),
            codecs: Codec::SCAN.to_vec(),
            encodings: Encodings::ALL,
            operations: Op::ALL.iter().map(|(op, _)| *op).collect(),
            tests: TestOp::ALL.iter().map(|(test, _)| *test).collect(),
            functions: Function::ALL.iter().map(|(function, _)| *function).collect(),
            columns_max: limits::COLUMNS_MAX,
            steps_max: limits::STEPS_MAX,
            aggregates_max: limits::AGGREGATES_MAX,
            keys_max: limits::KEYS_MAX,
            // 1023 strings of up to 64 bytes.
            key_dictionary_bytes_max: 64 * 1024,
            dictionary_bytes_max: 64 << 20,
            key_bits_bytes_max: limits::KEY_BITS_BYTES_MAX,
            merge_inputs_max: 0,
            merge_columns_max: limits::COLUMNS_MAX,
            compact_results: true,
            in_flight_max: 64,
            memory_bytes: 4 << 30,
            emulated: false,
        }
    }

    /// Whether the drive can run a fragment, whatever the file.
    ///
    /// # Errors
    /// The first thing that it cannot.
    pub fn admits(&self, fragment: &Fragment) -> Result<(), Refused> {
        let above = |what: &str, count: usize, limit: u32| {
            (count as u64 > u64::from(limit))
                .then(|| format!("{count} {what}, the limit is {limit}"))
        };
        if let Some(detail) = above("columns", fragment.columns.len(), self.columns_max) {
            return Err(Refused::Expression(detail));
        }
        for program in [&fragment.predicate, &fragment.projection] {
            if let Some(detail) = above("steps", program.steps.len(), self.steps_max) {
                return Err(Refused::Expression(detail));
            }
            if let Some(step) = program.steps.iter().find(|s| !self.operations.contains(&s.op)) {
                return Err(Refused::Expression(format!("{:?}", step.op)));
            }
        }
        if let Some(test) = fragment.tests.iter().find(|test| !self.tests.contains(&test.op)) {
            return Err(Refused::Expression(format!("string test {:?}", test.op)));
        }
        if !self.admits_key_bits(fragment.key_bits_bytes()) {
            let (bytes, limit) = (fragment.key_bits_bytes(), self.key_bits_bytes_max);
            let detail = format!("{bytes} bytes of key filters, the limit is {limit}");
            return Err(Refused::Expression(detail));
        }
        if let Output::States { keys, aggregates } = &fragment.output {
            if let Some(detail) = above("group keys", keys.len(), self.keys_max) {
                return Err(Refused::GroupCardinality(detail));
            }
            if let Some(detail) = above("aggregates", aggregates.len(), self.aggregates_max) {
                return Err(Refused::Function(detail));
            }
            let unknown = aggregates.iter().find(|slot| !self.functions.contains(&slot.function));
            if let Some(slot) = unknown {
                return Err(Refused::Function(format!("{:?}", slot.function)));
            }
        }
        Ok(())
    }

    /// Whether the drive takes so many bytes of key filters.
    pub fn admits_key_bits(&self, bytes: u64) -> bool {
        bytes <= u64::from(self.key_bits_bytes_max)
    }

    /// Whether the drive can merge the results of so many scans.
    pub fn admits_merge(&self, inputs: usize) -> bool {
        inputs as u64 <= u64::from(self.merge_inputs_max)
    }

    /// Whether the drive can merge the results of scans of so many columns.
    pub fn admits_merge_of_columns(&self, columns: usize) -> bool {
        columns as u64 <= u64::from(self.merge_columns_max)
    }

    /// Whether the drive can read a column chunk.
    ///
    /// # Errors
    /// The first thing that it cannot.
    pub fn admits_chunk(&self, chunk: &Chunk) -> Result<(), Refused> {
        if !self.physical_types.contains(&chunk.physical_type) {
            return Err(Refused::Type(format!("{:?}", chunk.physical_type)));
        }
        if !self.codecs.contains(&chunk.codec) {
            return Err(Refused::Codec(format!("{:?}", chunk.codec)));
        }
        if !self.encodings.contains_all(chunk.encodings) {
            return Err(Refused::Encoding(format!("{:?}", chunk.encodings)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_those_of_an_image_that_merges() {
        let scans = ImageAbility { columns_max: 7, merge_inputs_max: 0 };
        let merges = ImageAbility { columns_max: 5, merge_inputs_max: 16 };
        let can = Capabilities::of_images([scans, merges]);
        assert_eq!((can.columns_max, can.merge_columns_max, can.merge_inputs_max), (7, 5, 16));
        assert_eq!(Capabilities::of_images([scans]).merge_inputs_max, 0);
    }
}
