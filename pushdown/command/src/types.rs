// SPDX-License-Identifier: Apache-2.0
//! The small closed sets of the format: physical types, codecs, encodings, widths.
//!
//! Where Parquet has numbers for them, ours are the same.

use crate::error::Error;

/// Declares an enum whose variants have fixed numbers on the wire.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $name:ident: $repr:ident ($what:literal) {
            $($(#[doc = $vdoc:literal])* $variant:ident = $code:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr($repr)]
        pub enum $name {
            $($(#[doc = $vdoc])* $variant = $code,)*
        }

        impl $name {
            /// Every variant, with its name, in the order of declaration.
            pub const ALL: &'static [(Self, &'static str)] =
                &[$((Self::$variant, stringify!($variant)),)*];

            /// What is said of each variant, in the same order: the page of documentation shows it.
            pub const DOCS: &'static [&'static str] = &[$(concat!($($vdoc),*),)*];

            /// The number on the wire.
            pub const fn code(self) -> $repr {
                self as $repr
            }

            /// The variant with this number on the wire.
            ///
            /// # Errors
            /// [`Error::UnknownCode`] when no variant has it.
            pub fn from_code(code: $repr) -> Result<Self, Error> {
                match code {
                    $($code => Ok(Self::$variant),)*
                    _ => Err(Error::UnknownCode { what: $what, value: u64::from(code) }),
                }
            }
        }
    };
}
pub(crate) use wire_enum;

wire_enum! {
    /// How a column is stored, numbered as in Parquet.
    PhysicalType: u8 ("physical type") {
        /// 4-byte integers: INT32, DATE, DECIMAL(<= 9).
        Int32 = 1,
        /// 8-byte integers: INT64, TIMESTAMP, DECIMAL(<= 18).
        Int64 = 2,
        /// Byte strings of any length.
        ByteArray = 6,
    }
}

impl PhysicalType {
    /// The kind of value that this type decodes to.
    pub const fn kind(self) -> ValueKind {
        match self {
            Self::Int32 | Self::Int64 => ValueKind::Integer,
            Self::ByteArray => ValueKind::Bytes,
        }
    }
}

wire_enum! {
    /// How pages are compressed, numbered as in Parquet.
    Codec: u8 ("codec") {
        /// Not at all.
        Uncompressed = 0,
        /// Raw Snappy, one block a page.
        Snappy = 1,
    }
}

wire_enum! {
    /// How the values of a page are encoded, numbered as in Parquet.
    Encoding: u8 ("encoding") {
        /// Values one after the other, little endian; byte arrays with a 4-byte length before each.
        Plain = 0,
        /// The old name of dictionary indexes (and, on a dictionary page, of plain values).
        PlainDictionary = 2,
        /// Runs and bit-packed groups: definition levels.
        Rle = 3,
        /// Indexes into the chunk's dictionary page, as runs and bit-packed groups.
        RleDictionary = 8,
    }
}

/// A set of [`Encoding`]s, one bit for each Parquet number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Encodings(u16);

impl Encodings {
    /// What the first scan kernel reads.
    pub const SCAN: Self = Self(
        1 << Encoding::Plain as u16
            | 1 << Encoding::PlainDictionary as u16
            | 1 << Encoding::Rle as u16
            | 1 << Encoding::RleDictionary as u16,
    );

    /// The set with these members.
    pub fn of(members: impl IntoIterator<Item = Encoding>) -> Self {
        Self(members.into_iter().fold(0, |bits, member| bits | 1 << member.code()))
    }

    /// The bits on the wire.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set with these bits.
    ///
    /// # Errors
    /// [`Error::UnknownCode`] when a bit stands for no encoding.
    pub fn from_bits(bits: u16) -> Result<Self, Error> {
        let known = Encoding::ALL.iter().fold(0, |all, (member, _)| all | 1 << member.code());
        if bits & !known == 0 {
            Ok(Self(bits))
        } else {
            Err(Error::UnknownCode { what: "set of encodings", value: u64::from(bits) })
        }
    }

    /// Whether the set has this member.
    pub const fn contains(self, member: Encoding) -> bool {
        self.0 & 1 << member as u16 != 0
    }

    /// Whether every member of `other` is in this set.
    pub const fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::fmt::Debug for Encodings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(Encoding::ALL.iter().filter(|(e, _)| self.contains(*e)).map(|(e, _)| e))
            .finish()
    }
}

wire_enum! {
    /// What a decoded value is, whatever its storage.
    ValueKind: u8 ("value kind") {
        /// A number of up to 64 bits: integers, dates, times, unscaled decimals.
        Integer = 0,
        /// A byte string.
        Bytes = 1,
    }
}

wire_enum! {
    /// The size of a result: what arithmetic must fit in, and how a value is written.
    Width: u8 ("width") {
        /// A truth value, written as one byte, 0 or 1.
        Bool = 0,
        /// 4 bytes, signed.
        W32 = 1,
        /// 8 bytes, signed.
        W64 = 2,
        /// 16 bytes, signed.
        W128 = 3,
        /// A byte string of any length.
        Bytes = 4,
    }
}

impl Width {
    /// Bytes of one written value; `None` for byte strings.
    pub const fn bytes(self) -> Option<u32> {
        match self {
            Self::Bool => Some(1),
            Self::W32 => Some(4),
            Self::W64 => Some(8),
            Self::W128 => Some(16),
            Self::Bytes => None,
        }
    }

    /// Whether arithmetic can have this width.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::W32 | Self::W64 | Self::W128)
    }

    /// Whether a number fits in this width.
    pub fn fits(self, value: i128) -> bool {
        match self {
            Self::W32 => i32::try_from(value).is_ok(),
            Self::W64 => i64::try_from(value).is_ok(),
            Self::W128 => true,
            Self::Bool => value == 0 || value == 1,
            Self::Bytes => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back_as_their_variants() {
        for (variant, name) in Encoding::ALL {
            assert_eq!(Encoding::from_code(variant.code()), Ok(*variant), "{name}");
        }
        assert!(Encoding::from_code(4).is_err());
    }

    #[test]
    fn encodings_refuse_bits_without_a_member() {
        assert_eq!(Encodings::from_bits(Encodings::SCAN.bits()), Ok(Encodings::SCAN));
        assert!(Encodings::from_bits(1 << 5).is_err());
        assert!(Encodings::SCAN.contains_all(Encodings::of([Encoding::Plain])));
        assert!(!Encodings::of([Encoding::Plain]).contains(Encoding::Rle));
    }

    #[test]
    fn widths_know_their_range() {
        assert!(Width::W32.fits(i128::from(i32::MIN)));
        assert!(!Width::W32.fits(i128::from(i32::MAX) + 1));
        assert!(!Width::W64.fits(i128::from(i64::MIN) - 1));
        assert!(Width::W128.fits(i128::MIN));
    }
}
