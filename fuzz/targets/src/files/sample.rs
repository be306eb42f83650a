// SPDX-License-Identifier: Apache-2.0
//! Parses a Parquet file into its structures, and writes it again with some numbers changed.
//!
//! A [`Corruption`] changes one number in one structure. All other numbers stay consistent: a
//! header that grows moves the bytes behind it, and offsets and lengths elsewhere follow.

use super::thrift::{self, Path, Value};

/// Around a file, and behind the length of its footer.
const MAGIC: &[u8; 4] = b"PAR1";

/// Numbers of fields, as `parquet.thrift` has them.
mod field {
    pub(super) const ROW_GROUPS: i16 = 4;
    pub(super) const COLUMNS: i16 = 1;
    pub(super) const GROUP_OFFSET: i16 = 5;
    pub(super) const GROUP_COMPRESSED: i16 = 6;
    pub(super) const CHUNK_OFFSET: i16 = 2;
    pub(super) const META: i16 = 3;
    pub(super) const OFFSET_INDEX: [i16; 2] = [4, 5];
    pub(super) const COLUMN_INDEX: [i16; 2] = [6, 7];
    pub(super) const META_COMPRESSED: i16 = 7;
    pub(super) const META_OFFSETS: [i16; 3] = [9, 10, 11];
    pub(super) const DATA_PAGE: i16 = 9;
    pub(super) const DICTIONARY_PAGE: i16 = 11;
    pub(super) const PAGE_COMPRESSED: i16 = 3;
    pub(super) const LOCATIONS: i16 = 1;
    pub(super) const LOCATION_OFFSET: i16 = 1;
    pub(super) const LOCATION_COMPRESSED: i16 = 2;
}

/// The kind of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    PageHeader,
    ColumnIndex,
    OffsetIndex,
    Footer,
}

/// A structure, and where it is in the file.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    end: usize,
    tree: Value,
    places: Vec<Path>,
}

/// A wrong number in one structure.
#[derive(Debug, Clone)]
pub(crate) struct Corruption {
    /// Which structure of the sample.
    pub(crate) structure: usize,
    /// Which of its places.
    pub(crate) place: usize,
    /// The wrong number.
    pub(crate) number: i64,
}

/// A file in parts.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    bytes: &'static [u8],
    structures: Vec<Structure>,
}

impl Structure {
    /// Numbers that can be changed.
    pub(crate) fn places(&self) -> &[Path] {
        &self.places
    }

    /// The number that the original file has at a place.
    pub(crate) fn original(&self, place: usize) -> i64 {
        self.tree.at(&self.places[place]).and_then(Value::said).expect("a place says something")
    }
}

impl Sample {
    /// Takes a file apart; nothing if it is not what it should be.
    pub(crate) fn parse(name: &'static str, bytes: &'static [u8]) -> Option<Self> {
        let end = bytes.len().checked_sub(8)?;
        let length = u32::from_le_bytes(bytes.get(end..end + 4)?.try_into().ok()?);
        let start = end.checked_sub(length as usize)?;
        let mut structures = Vec::new();
        let footer = read(bytes, Kind::Footer, start)?;
        for group in footer.tree.indexes(&[field::ROW_GROUPS]) {
            let group = [field::ROW_GROUPS, group];
            for column in footer.tree.indexes(&[group[0], group[1], field::COLUMNS]) {
                let chunk =
                    Chunk { footer: &footer.tree, path: vec![group[0], group[1], 1, column] };
                chunk.read(bytes, &mut structures)?;
            }
        }
        structures.push(footer);
        structures.sort_by_key(|structure| structure.start);
        Some(Self { name, bytes, structures })
    }

    /// The structures, in the order of the file; the last one is the footer.
    pub(crate) fn structures(&self) -> &[Structure] {
        &self.structures
    }

    /// The file as it is.
    #[cfg(test)]
    pub(crate) const fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// The file with these corruptions.
    pub(crate) fn with(&self, corruptions: &[Corruption]) -> Vec<u8> {
        let mut written = Vec::with_capacity(self.bytes.len() + 64);
        let mut moves = Moves(vec![]);
        let mut end = 0;
        for (number, structure) in self.structures.iter().enumerate() {
            written.extend(&self.bytes[end..structure.start]);
            let mut tree = structure.tree.clone();
            match structure.kind {
                Kind::Footer => moves.follow_in_footer(&mut tree),
                Kind::OffsetIndex => moves.follow_in_offsets(&mut tree),
                Kind::PageHeader | Kind::ColumnIndex => {}
            }
            for corruption in corruptions.iter().filter(|corruption| corruption.structure == number)
            {
                if let Some(value) = tree.at_mut(&structure.places[corruption.place]) {
                    value.say(corruption.number);
                }
            }
            let start = written.len();
            written.extend(tree.to_bytes());
            end = structure.end;
            let position = |at: usize| i64::try_from(at).expect("a file is short");
            moves.0.push((position(end), position(written.len())));
            if structure.kind == Kind::Footer {
                let length = u32::try_from(written.len() - start).expect("a footer is short");
                written.extend(length.to_le_bytes());
            }
        }
        written.extend(MAGIC);
        written
    }
}

fn read(bytes: &[u8], kind: Kind, start: usize) -> Option<Structure> {
    let mut rest = bytes.get(start..)?;
    let tree = thrift::read(&mut rest)?;
    let places = tree.places();
    Some(Structure { kind, start, end: bytes.len() - rest.len(), tree, places })
}

/// A column chunk in the footer.
struct Chunk<'a> {
    footer: &'a Value,
    path: Path,
}

impl Chunk<'_> {
    fn int(&self, fields: &[i16]) -> Option<usize> {
        self.footer.int(&[&self.path, fields].concat()).and_then(|it| usize::try_from(it).ok())
    }

    fn read(&self, bytes: &[u8], structures: &mut Vec<Structure>) -> Option<()> {
        let first = self.int(&[field::META, field::DATA_PAGE])?;
        let dictionary = self.int(&[field::META, field::DICTIONARY_PAGE]).filter(|at| *at > 0);
        let mut at = dictionary.map_or(first, |dictionary| dictionary.min(first));
        let end = at + self.int(&[field::META, field::META_COMPRESSED])?;
        while at < end {
            let header = read(bytes, Kind::PageHeader, at)?;
            let length = header.tree.int(&[field::PAGE_COMPRESSED])?;
            at = header.end + usize::try_from(length).ok()?;
            structures.push(header);
        }
        for (kind, fields) in
            [(Kind::OffsetIndex, field::OFFSET_INDEX), (Kind::ColumnIndex, field::COLUMN_INDEX)]
        {
            if let Some(at) = self.int(&fields[..1]) {
                structures.push(read(bytes, kind, at)?);
            }
        }
        Some(())
    }
}

/// Ends of structures, before and after.
struct Moves(Vec<(i64, i64)>);

impl Moves {
    fn of(&self, offset: i64) -> i64 {
        let before = self.0.iter().rev().find(|(end, _)| *end <= offset);
        before.map_or(offset, |(end, now)| offset + now - end)
    }

    fn offset(&self, tree: &mut Value, path: &[i16]) {
        if let Some(offset) = tree.int(path).filter(|offset| *offset > 0)
            && let Some(value) = tree.at_mut(path)
        {
            value.say(self.of(offset));
        }
    }

    /// Moves an offset, and corrects the length beside it.
    fn range(&self, tree: &mut Value, offset: &[i16], length: &[i16]) {
        if let (Some(start), Some(bytes)) = (tree.int(offset), tree.int(length))
            && let Some(value) = tree.at_mut(length)
        {
            value.say(self.of(start + bytes) - self.of(start));
        }
        self.offset(tree, offset);
    }

    fn follow_in_footer(&self, tree: &mut Value) {
        for group in tree.indexes(&[field::ROW_GROUPS]) {
            let of_group = |last| [field::ROW_GROUPS, group, last];
            self.range(tree, &of_group(field::GROUP_OFFSET), &of_group(field::GROUP_COMPRESSED));
            for column in tree.indexes(&of_group(field::COLUMNS)) {
                let chunk = [field::ROW_GROUPS, group, field::COLUMNS, column];
                let at = |fields: &[i16]| [&chunk, fields].concat();
                let meta = |last| at(&[field::META, last]);
                let dictionary = meta(field::DICTIONARY_PAGE);
                let start = match tree.int(&dictionary) {
                    Some(1..) => dictionary,
                    _ => meta(field::DATA_PAGE),
                };
                self.range(tree, &start, &meta(field::META_COMPRESSED));
                for last in field::META_OFFSETS {
                    if meta(last) != start {
                        self.offset(tree, &meta(last));
                    }
                }
                self.offset(tree, &at(&[field::CHUNK_OFFSET]));
                for [offset, length] in [field::OFFSET_INDEX, field::COLUMN_INDEX] {
                    self.range(tree, &at(&[offset]), &at(&[length]));
                }
            }
        }
    }

    fn follow_in_offsets(&self, tree: &mut Value) {
        for page in tree.indexes(&[field::LOCATIONS]) {
            let of_page = |last| [field::LOCATIONS, page, last];
            let (offset, length) = (field::LOCATION_OFFSET, field::LOCATION_COMPRESSED);
            self.range(tree, &of_page(offset), &of_page(length));
        }
    }
}
