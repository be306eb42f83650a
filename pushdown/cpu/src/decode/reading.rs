// SPDX-License-Identifier: Apache-2.0
//! Converts stored bits to the numbers that they represent.

use nearscan_command::{Chunk, PhysicalType, ReadAs, Reading, Status, float_order, widened_float};

use crate::{simd::by_level, values::NumberValues};

/// Converts stored values to numbers, in place; those of 8 bytes without a sign stay bits until
/// [`widen`].
///
/// # Errors
/// [`Status::Corrupt`] when a number does not fit the bits that its reading gives it.
pub(crate) fn apply(values: &mut [i64], chunk: &Chunk) -> Result<(), Status> {
    match (chunk.reading.rule, chunk.physical_type) {
        (ReadAs::Unsigned, PhysicalType::Int32) => {
            values.iter_mut().for_each(|value| *value &= i64::from(u32::MAX));
        }
        (ReadAs::FloatOrder, PhysicalType::Float) => {
            order_floats(values);
        }
        (ReadAs::FloatOrder, _) => order_doubles(values),
        (ReadAs::Signed | ReadAs::Unsigned | ReadAs::BigEndian, _) => {}
    }
    let is_outside = is_bounded(chunk) && values.iter().any(|value| !fits(*value, chunk.reading));
    if is_outside { Err(Status::Corrupt) } else { Ok(()) }
}

by_level! {
    /// The places of floats of 4 bytes, which are the low half of each value.
    fn order_floats[](values: &mut [i64]) -> () {
        let float = |value: i64| {
            let [low @ .., _, _, _, _] = value.to_le_bytes();
            f32::from_le_bytes(low)
        };
        // The payload of a NaN has to be moved by hand.
        if values.iter().fold(false, |any, value| any | float(*value).is_nan()) {
            values.iter_mut().for_each(|value| *value = float_order(widened_float(float(*value))));
        } else {
            values.iter_mut().for_each(|value| *value = float_order(f64::from(float(*value))));
        }
    }
}

by_level! {
    fn order_doubles[](values: &mut [i64]) -> () {
        for value in values.iter_mut() {
            *value = float_order(f64::from_bits(value.cast_unsigned()));
        }
    }
}

/// Whether stored values of a chunk may be outside of the bits that its reading gives them.
pub(crate) fn is_bounded(chunk: &Chunk) -> bool {
    (1..64).contains(&chunk.reading.bits)
}

/// Whether a number fits its bits.
const fn fits(value: i64, reading: Reading) -> bool {
    let bits = reading.bits as u32;
    match reading.rule {
        _ if bits == 0 || bits >= 64 => true,
        ReadAs::Unsigned => value.cast_unsigned() >> bits == 0,
        ReadAs::Signed | ReadAs::FloatOrder | ReadAs::BigEndian => {
            value << (64 - bits) >> (64 - bits) == value
        }
    }
}

/// Whether values of a chunk may be wider than 64 bits with a sign.
pub(crate) fn is_wide(chunk: &Chunk) -> bool {
    chunk.reading.rule == ReadAs::Unsigned && chunk.physical_type == PhysicalType::Int64
}

/// The numbers that values represent, after [`apply`].
pub(crate) fn widen(values: Vec<i64>, chunk: &Chunk) -> NumberValues {
    if is_wide(chunk) && values.iter().any(|value| *value < 0) {
        let number = |value: i64| i128::from(value.cast_unsigned());
        return NumberValues::Wide(values.into_iter().map(number).collect());
    }
    NumberValues::Narrow(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::plain_chunk;

    fn chunk(physical_type: PhysicalType, rule: ReadAs, bits: u8) -> Chunk {
        plain_chunk(physical_type, Reading { rule, bits, length: 0 })
    }

    fn numbers(chunk: &Chunk, values: &[i64]) -> Result<Vec<i128>, Status> {
        let mut values = values.to_vec();
        apply(&mut values, chunk)?;
        Ok(match widen(values, chunk) {
            NumberValues::Narrow(values) => values.into_iter().map(i128::from).collect(),
            NumberValues::Wide(values) => values,
        })
    }

    #[test]
    fn unsigned_numbers_are_not_negative() {
        let int32 = chunk(PhysicalType::Int32, ReadAs::Unsigned, 0);
        assert_eq!(numbers(&int32, &[-1, 7]), Ok(vec![0xffff_ffff, 7]));
        let int64 = chunk(PhysicalType::Int64, ReadAs::Unsigned, 64);
        assert_eq!(numbers(&int64, &[-1, 7]), Ok(vec![i128::from(u64::MAX), 7]));
        let signed = chunk(PhysicalType::Int64, ReadAs::Signed, 0);
        assert_eq!(numbers(&signed, &[-1, 7]), Ok(vec![-1, 7]));
    }

    #[test]
    fn numbers_outside_of_their_bits_are_corrupt() {
        let signed = chunk(PhysicalType::Int32, ReadAs::Signed, 8);
        assert_eq!(numbers(&signed, &[-128, 127]), Ok(vec![-128, 127]));
        assert_eq!(numbers(&signed, &[128]), Err(Status::Corrupt));
        assert_eq!(numbers(&signed, &[0, -129]), Err(Status::Corrupt));
        let unsigned = chunk(PhysicalType::Int32, ReadAs::Unsigned, 16);
        assert_eq!(numbers(&unsigned, &[0xffff]), Ok(vec![0xffff]));
        assert_eq!(numbers(&unsigned, &[0x1_0000]), Err(Status::Corrupt));
        assert_eq!(numbers(&unsigned, &[-1]), Err(Status::Corrupt));
        let wide = chunk(PhysicalType::Int64, ReadAs::Unsigned, 63);
        assert_eq!(numbers(&wide, &[-1]), Err(Status::Corrupt));
    }

    #[test]
    fn float_is_its_place_in_the_total_order() {
        let double = chunk(PhysicalType::Double, ReadAs::FloatOrder, 0);
        let bits = |number: f64| number.to_bits().cast_signed();
        let places = numbers(&double, &[bits(-1.5), bits(-0.0), bits(0.0), bits(1.5)]).unwrap();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        let float = chunk(PhysicalType::Float, ReadAs::FloatOrder, 0);
        let bits = i64::from((-1.5f32).to_bits().cast_signed());
        assert_eq!(numbers(&float, &[bits]).unwrap(), places[..1]);
    }
}
