// SPDX-License-Identifier: Apache-2.0
//! Defines the small enums of the format: physical types, codecs, encodings, widths.
//!
//! The numbers are those of Parquet for everything that Parquet numbers.

use crate::error::Error;

/// Declares an enum whose variants have fixed numbers on the wire. Variants `of_files_only` have
/// numbers in Parquet, but are not on the wire.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $name:ident: $repr:ident ($what:literal) {
            $($(#[doc = $vdoc:literal])* $variant:ident = $code:literal,)*
        }
        $(of_files_only {
            $($(#[doc = $fdoc:literal])* $of_file:ident = $number:literal,)*
        })?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr($repr)]
        pub enum $name {
            $($(#[doc = $vdoc])* $variant = $code,)*
            $($($(#[doc = $fdoc])* $of_file = $number,)*)?
        }

        impl $name {
            /// Every variant on the wire, with its name, in the order of declaration.
            pub const ALL: &'static [(Self, &'static str)] =
                &[$((Self::$variant, stringify!($variant)),)*];

            /// The doc comment of each variant, in the same order, for the page of documentation.
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
    /// The physical type of a column, numbered as in Parquet.
    PhysicalType: u8 ("physical type") {
        /// Truth values, a bit each.
        Boolean = 0,
        /// 4-byte integers: INT32, DATE, DECIMAL(<= 9).
        Int32 = 1,
        /// 8-byte integers: INT64, TIMESTAMP, DECIMAL(<= 18).
        Int64 = 2,
        /// 4-byte IEEE numbers.
        Float = 4,
        /// 8-byte IEEE numbers.
        Double = 5,
        /// Byte strings of any length.
        ByteArray = 6,
        /// Byte strings of one length: DECIMAL.
        FixedLenByteArray = 7,
    }
}

impl PhysicalType {
    /// The kind of value that this type decodes to.
    pub const fn kind(self) -> ValueKind {
        match self {
            Self::Boolean
            | Self::Int32
            | Self::Int64
            | Self::Float
            | Self::Double
            | Self::FixedLenByteArray => ValueKind::Integer,
            Self::ByteArray => ValueKind::Bytes,
        }
    }

    /// Bytes of one plain value, at least; 0 where several share a byte.
    pub const fn plain_bytes_min(self, length: u16) -> u64 {
        match self {
            Self::Boolean => 0,
            Self::Int32 | Self::Float | Self::ByteArray => 4,
            Self::Int64 | Self::Double => 8,
            Self::FixedLenByteArray => length as u64,
        }
    }
}

wire_enum! {
    /// The rule by which the bytes of a stored value represent a number.
    ReadAs: u8 ("reading") {
        /// Two's complement, little endian; a truth value is 0 or 1. Byte strings stay as they are.
        Signed = 0,
        /// Little endian without a sign: INT(32, false), INT(64, false).
        Unsigned = 1,
        /// A float by its place in IEEE's total order: the bits of the 8-byte number, all but the
        /// sign flipped where it is set, as two's complement. A 4-byte number is widened first.
        FloatOrder = 2,
        /// Two's complement, big endian, of a fixed number of bytes: DECIMAL.
        BigEndian = 3,
    }
}

/// The reading of the stored values of a column chunk as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The rule by which bytes represent a number.
    pub rule: ReadAs,
    /// Bits that the number must fit in (signed or not, as the rule says), else the chunk is
    /// [`Corrupt`](crate::Status::Corrupt); 0 for as many as are stored.
    pub bits: u8,
    /// Bytes of one value of [`PhysicalType::FixedLenByteArray`], else 0.
    pub length: u16,
}

impl Reading {
    /// Signed numbers as wide as they are stored, and byte strings.
    pub const PLAIN: Self = Self { rule: ReadAs::Signed, bits: 0, length: 0 };
}

impl Default for Reading {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// The place of a number in IEEE's total order, as [`ReadAs::FloatOrder`] has it.
pub const fn float_order(number: f64) -> i64 {
    order_of_bits(number.to_bits().cast_signed())
}

/// The number at a place in IEEE's total order.
pub const fn float_at(order: i64) -> f64 {
    f64::from_bits(order_of_bits(order).cast_unsigned())
}

/// Its own inverse.
const fn order_of_bits(bits: i64) -> i64 {
    bits ^ ((bits >> 63) & i64::MAX)
}

/// The bits of a 4-byte number as those of the 8-byte number that equals it; a NaN keeps its sign
/// and its payload, which a conversion need not.
pub const fn widened_float(number: f32) -> f64 {
    let bits = number.to_bits();
    if bits & 0x7f80_0000 == 0x7f80_0000 {
        let sign = ((bits >> 31) as u64) << 63;
        let payload = ((bits & 0x007f_ffff) as u64) << 29;
        return f64::from_bits(sign | 0x7ff0_0000_0000_0000 | payload);
    }
    number as f64
}

wire_enum! {
    /// The compression of pages, numbered as in Parquet.
    Codec: u8 ("codec") {
        /// Not at all.
        Uncompressed = 0,
        /// Raw Snappy, one block a page.
        Snappy = 1,
        /// Gzip, whole members.
        Gzip = 2,
        /// Brotli.
        Brotli = 4,
        /// Zstandard, whole frames.
        Zstd = 6,
        /// The block format of LZ4, one block a page, without a frame.
        Lz4Raw = 7,
    }
}

impl Codec {
    /// The codecs of the scan kernel.
    pub const SCAN: &'static [Self] = &[Self::Uncompressed, Self::Snappy, Self::Lz4Raw];
}

wire_enum! {
    /// The encoding of the values of a page, numbered as in Parquet.
    Encoding: u8 ("encoding") {
        /// Values one after the other, little endian; byte arrays with a 4-byte length before each.
        Plain = 0,
        /// The old name of dictionary indexes (and, on a dictionary page, of plain values).
        PlainDictionary = 2,
        /// Runs and bit-packed groups: definition levels, and truth values behind a 4-byte length.
        Rle = 3,
        /// Definition levels of old writers, a bit each, the highest bit of a byte first.
        BitPacked = 4,
        /// Differences of integers, bit-packed in blocks of miniblocks.
        DeltaBinaryPacked = 5,
        /// Indexes into the chunk's dictionary page, as runs and bit-packed groups.
        RleDictionary = 8,
        /// The first bytes of all values, then the second ones, and so on.
        ByteStreamSplit = 9,
    }
    of_files_only {
        /// The lengths of all byte strings as differences, then their bytes.
        DeltaLengthByteArray = 6,
        /// How many bytes each string has in common with the one before, as differences, then the
        /// bytes behind those as in [`Encoding::DeltaLengthByteArray`].
        DeltaByteArray = 7,
    }
}

impl Encoding {
    /// The encoding that has this number in Parquet, on the wire or not.
    pub fn of_file(number: u8) -> Option<Self> {
        match number {
            6 => Some(Self::DeltaLengthByteArray),
            7 => Some(Self::DeltaByteArray),
            _ => Self::from_code(number).ok(),
        }
    }
}

/// A set of [`Encoding`]s, one bit for each Parquet number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Encodings(u16);

impl Encodings {
    /// The encodings that common writers use by default.
    pub const SCAN: Self = Self(
        1 << Encoding::Plain as u16
            | 1 << Encoding::PlainDictionary as u16
            | 1 << Encoding::Rle as u16
            | 1 << Encoding::RleDictionary as u16,
    );

    /// Every encoding of the format: what a command can have, and a drive at most reads.
    pub const ALL: Self = Self(
        Self::SCAN.0
            | 1 << Encoding::BitPacked as u16
            | 1 << Encoding::DeltaBinaryPacked as u16
            | 1 << Encoding::ByteStreamSplit as u16,
    );

    /// What the host reads by itself, without commands.
    pub const HOST: Self = Self(
        Self::ALL.0
            | 1 << Encoding::DeltaLengthByteArray as u16
            | 1 << Encoding::DeltaByteArray as u16,
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
    /// [`Error::UnknownCode`] if a bit has no encoding on the wire.
    pub fn from_bits(bits: u16) -> Result<Self, Error> {
        Self(bits).check().map(|()| Self(bits))
    }

    /// Checks that a command can have this set.
    ///
    /// # Errors
    /// [`Error::UnknownCode`] if a bit has no encoding on the wire.
    pub(crate) fn check(self) -> Result<(), Error> {
        match Self::ALL.contains_all(self) {
            true => Ok(()),
            false => Err(Error::UnknownCode { what: "set of encodings", value: u64::from(self.0) }),
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
            .entries((0..16).filter_map(Encoding::of_file).filter(|member| self.contains(*member)))
            .finish()
    }
}

wire_enum! {
    /// The kind of a decoded value, whatever its storage.
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

wire_enum! {
    /// The form of the blocks of a result.
    BlockForm: u32 ("form of blocks") {
        /// Every value in the width of its column.
        Plain = 0,
        /// Differences, lengths and codes of as few bits as a block needs.
        Compact = 1,
    }
}

wire_enum! {
    /// The way in which the values of a column of a compact block follow.
    Packing: u8 ("packing") {
        /// Numbers in the width of the column.
        Plain = 0,
        /// Differences of numbers from `base`.
        Differences = 1,
        /// Differences of the lengths of byte strings from `base`; then the strings.
        Lengths = 2,
        /// Codes of byte strings; then the lengths of those that are new, and these strings.
        Codes = 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_a_round_trip() {
        for (variant, name) in Encoding::ALL {
            assert_eq!(Encoding::from_code(variant.code()), Ok(*variant), "{name}");
        }
        assert!(Encoding::from_code(10).is_err());
    }

    #[test]
    fn encodings_of_files_only_are_not_on_the_wire() {
        for encoding in [Encoding::DeltaLengthByteArray, Encoding::DeltaByteArray] {
            assert_eq!(Encoding::of_file(encoding.code()), Some(encoding));
            assert!(Encoding::from_code(encoding.code()).is_err());
            assert!(Encoding::ALL.iter().all(|(member, _)| *member != encoding));
            assert!(Encodings::HOST.contains(encoding) && !Encodings::ALL.contains(encoding));
            assert!(Encodings::from_bits(Encodings::of([encoding]).bits()).is_err());
            assert_eq!(format!("{:?}", Encodings::of([encoding])), format!("{{{encoding:?}}}"));
        }
        assert!(Encodings::from_bits(Encodings::HOST.bits()).is_err());
        assert!(Encodings::HOST.contains_all(Encodings::ALL));
        assert_eq!(Encoding::of_file(9), Some(Encoding::ByteStreamSplit));
        assert_eq!(Encoding::of_file(10), None);
    }

    #[test]
    fn encodings_refuse_bits_without_a_member() {
        assert_eq!(Encodings::from_bits(Encodings::SCAN.bits()), Ok(Encodings::SCAN));
        assert!(Encodings::from_bits(1 << 10).is_err());
        let all = Encodings::of(Encoding::ALL.iter().map(|(member, _)| *member));
        assert_eq!(all, Encodings::ALL);
        assert!(Encodings::SCAN.contains_all(Encodings::of([Encoding::Plain])));
        assert!(!Encodings::of([Encoding::Plain]).contains(Encoding::Rle));
    }

    #[test]
    fn places_of_floats_follow_the_total_order() {
        let numbers = [
            -f64::NAN,
            f64::NEG_INFINITY,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::INFINITY,
            f64::NAN,
        ];
        for pair in numbers.windows(2) {
            assert!(float_order(pair[0]) < float_order(pair[1]), "{pair:?}");
        }
        for number in numbers {
            assert_eq!(float_at(float_order(number)).to_bits(), number.to_bits());
        }
    }

    #[test]
    fn widened_float_is_the_same_number() {
        for number in [0.0, -0.0, 1.5, f32::MIN_POSITIVE, 1e-45, -f32::MAX, f32::INFINITY] {
            assert_eq!(widened_float(number).to_bits(), f64::from(number).to_bits());
        }
        let signalling = widened_float(f32::from_bits(0xff80_0001));
        assert_eq!(signalling.to_bits(), 0xfff0_0000_2000_0000);
    }

    #[test]
    fn widths_know_their_range() {
        assert!(Width::W32.fits(i128::from(i32::MIN)));
        assert!(!Width::W32.fits(i128::from(i32::MAX) + 1));
        assert!(!Width::W64.fits(i128::from(i64::MIN) - 1));
        assert!(Width::W128.fits(i128::MIN));
    }
}
