// SPDX-License-Identifier: Apache-2.0
//! Structures of Thrift's compact protocol, as the footers, page headers and indexes of Parquet
//! files are: read into a tree, and written again with one number changed.
//!
//! No structure has a meaning here: fields are numbers. Maps are left out, since Parquet has none.
//! A length is kept beside what it is the length of, so that it can be wrong.

/// Kinds, as written in the low half of a byte in front of a field, or of the items of a list.
mod kind {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BYTES: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// A value in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A truth value.
    Bool(bool),
    /// A byte.
    Byte(u8),
    /// An integer of 16, 32 or 64 bits; all are written alike.
    Int {
        /// Which of the three.
        kind: u8,
        /// The number, which may need more bits than the kind has.
        value: i64,
    },
    /// A floating-point number.
    Double([u8; 8]),
    /// Bytes, or text.
    Bytes {
        /// The bytes that follow the length.
        content: Vec<u8>,
        /// The length that is stated.
        length: i64,
    },
    /// Values of one kind.
    List {
        /// The kind of the list itself, and that of the items.
        kinds: (u8, u8),
        /// The items that follow the length.
        items: Vec<Value>,
        /// The number of items that is stated.
        length: i64,
    },
    /// Values by the numbers of their fields.
    Struct(Vec<(i16, Value)>),
}

/// The way from the root to a value: numbers of fields and of items.
pub(crate) type Path = Vec<i16>;

/// Reads a structure from the front of `bytes`, which loses it. Nothing if there is none.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<Value> {
    let mut fields = Vec::new();
    let mut last = 0;
    loop {
        let head = byte(bytes)?;
        if head == 0 {
            return Some(Value::Struct(fields));
        }
        let id = match head >> 4 {
            0 => i16::try_from(signed(bytes)?).ok()?,
            step => last + i16::from(step),
        };
        let value = match head & 15 {
            kind::TRUE => Value::Bool(true),
            kind::FALSE => Value::Bool(false),
            other => read_value(other, bytes)?,
        };
        fields.push((id, value));
        last = id;
    }
}

fn read_value(kind: u8, bytes: &mut &[u8]) -> Option<Value> {
    Some(match kind {
        kind::TRUE | kind::FALSE => Value::Bool(byte(bytes)? == kind::TRUE),
        kind::BYTE => Value::Byte(byte(bytes)?),
        kind::I16..=kind::I64 => Value::Int { kind, value: signed(bytes)? },
        kind::DOUBLE => Value::Double(bytes.split_off(..8)?.try_into().ok()?),
        kind::BYTES => {
            let length = unsigned(bytes)?;
            let content = bytes.split_off(..usize::try_from(length).ok()?)?.to_vec();
            Value::Bytes { content, length: length.cast_signed() }
        }
        kind::LIST | kind::SET => {
            let head = byte(bytes)?;
            let length = match head >> 4 {
                15 => unsigned(bytes)?.cast_signed(),
                length => i64::from(length),
            };
            let items = (0..length).map(|_| read_value(head & 15, bytes));
            Value::List { kinds: (kind, head & 15), items: items.collect::<Option<_>>()?, length }
        }
        kind::STRUCT => read(bytes)?,
        _ => return None,
    })
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

fn unsigned(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = unsigned(bytes)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

impl Value {
    /// The structure in bytes. Only structures stand alone.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Bool(true) => kind::TRUE,
            Self::Bool(false) => kind::FALSE,
            Self::Byte(_) => kind::BYTE,
            Self::Int { kind, .. } => *kind,
            Self::Double(_) => kind::DOUBLE,
            Self::Bytes { .. } => kind::BYTES,
            Self::List { kinds, .. } => kinds.0,
            Self::Struct(_) => kind::STRUCT,
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            // Of a field it is in the kind already, see below.
            Self::Bool(_) => bytes.push(self.kind()),
            Self::Byte(byte) => bytes.push(*byte),
            Self::Int { value, .. } => write_signed(*value, bytes),
            Self::Double(number) => bytes.extend(number),
            Self::Bytes { content, length } => {
                write_unsigned(length.cast_unsigned(), bytes);
                bytes.extend(content);
            }
            Self::List { kinds: (_, of), items, length } => {
                match u8::try_from(*length) {
                    Ok(length @ ..15) => bytes.push(length << 4 | of),
                    _ => {
                        bytes.push(0xf0 | of);
                        write_unsigned(length.cast_unsigned(), bytes);
                    }
                }
                items.iter().for_each(|item| item.write(bytes));
            }
            Self::Struct(fields) => {
                let mut last = 0;
                for (id, value) in fields {
                    match u8::try_from(id - last) {
                        Ok(step @ 1..16) => bytes.push(step << 4 | value.kind()),
                        _ => {
                            bytes.push(value.kind());
                            write_signed(i64::from(*id), bytes);
                        }
                    }
                    if !matches!(value, Self::Bool(_)) {
                        value.write(bytes);
                    }
                    last = *id;
                }
                bytes.push(0);
            }
        }
    }

    /// The value at the end of a path.
    pub(crate) fn at(&self, path: &[i16]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let next = match self {
            Self::Struct(fields) => &fields.iter().find(|(id, _)| id == first)?.1,
            Self::List { items, .. } => items.get(usize::try_from(*first).ok()?)?,
            _ => return None,
        };
        next.at(rest)
    }

    /// As [`at`](Self::at), to be changed.
    pub(crate) fn at_mut(&mut self, path: &[i16]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let next = match self {
            Self::Struct(fields) => &mut fields.iter_mut().find(|(id, _)| id == first)?.1,
            Self::List { items, .. } => items.get_mut(usize::try_from(*first).ok()?)?,
            _ => return None,
        };
        next.at_mut(rest)
    }

    /// The integer at the end of a path.
    pub(crate) fn int(&self, path: &[i16]) -> Option<i64> {
        match self.at(path)? {
            Self::Int { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// The items of the list at the end of a path, by number.
    pub(crate) fn indexes(&self, path: &[i16]) -> std::ops::Range<i16> {
        match self.at(path) {
            Some(Self::List { items, .. }) => 0..i16::try_from(items.len()).unwrap_or(i16::MAX),
            _ => 0..0,
        }
    }

    /// Returns the paths of all numbers that can be changed: an integer, a byte, a truth value or a
    /// length.
    pub(crate) fn places(&self) -> Vec<Path> {
        let mut places = Vec::new();
        self.collect_places(&mut Vec::new(), &mut places);
        places
    }

    fn collect_places(&self, path: &mut Path, places: &mut Vec<Path>) {
        let mut below = |id: i16, value: &Self| {
            path.push(id);
            value.collect_places(path, places);
            path.pop();
        };
        match self {
            Self::Struct(fields) => return fields.iter().for_each(|(id, value)| below(*id, value)),
            Self::List { items, .. } => (0..).zip(items).for_each(|(at, item)| below(at, item)),
            Self::Double(_) => return,
            Self::Bool(_) | Self::Byte(_) | Self::Int { .. } | Self::Bytes { .. } => {}
        }
        places.push(path.clone());
    }

    /// The number that is said here.
    pub(crate) fn said(&self) -> Option<i64> {
        match self {
            Self::Bool(said) => Some(i64::from(*said)),
            Self::Byte(said) => Some(i64::from(*said)),
            Self::Int { value, .. } => Some(*value),
            Self::Bytes { length, .. } | Self::List { length, .. } => Some(*length),
            Self::Double(_) | Self::Struct(_) => None,
        }
    }

    /// Says another number here.
    pub(crate) fn say(&mut self, number: i64) {
        match self {
            Self::Bool(said) => *said = number & 1 == 1,
            Self::Byte(said) => *said = number.to_le_bytes()[0],
            Self::Int { value, .. } => *value = number,
            Self::Bytes { length, .. } | Self::List { length, .. } => *length = number,
            Self::Double(_) | Self::Struct(_) => {}
        }
    }
}

fn write_unsigned(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(0x80 | number.to_le_bytes()[0]);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn write_signed(number: i64, bytes: &mut Vec<u8>) {
    write_unsigned((number << 1 ^ number >> 63).cast_unsigned(), bytes);
}
