// SPDX-License-Identifier: Apache-2.0
//! Estimates the different values of a column from those of some of its parts.
//!
//! A part is what was counted together: a row group whose dictionary has so many entries, a sample
//! of rows that follow one another, a file of a table. The values of parts may be the same ones or
//! others, and how much of each is what the ranges of the parts tell.
//!
//! # The formula
//!
//! Of `N` values that are equally frequent, `n` draws show
//!
//! ```text
//! D(N, n) = N (1 - (1 - 1/N)^n)
//! ```
//!
//! different ones. It grows with `N`, from 1 to `n`, so the `d` different values of a part with `n`
//! values tell the `N` that it was drawn from.
//!
//! A column of `V` values consists of `c = V / n` parts. Let `l` be the mean length of the range of
//! a part, and `u` the length of the union of all ranges. Then `k = c l / u` parts, between 1 and
//! `c`, lie over one another at a place of the union, on the average. The column is taken for
//! `c / k` blocks that have no value in common, of `k` parts each, which are drawn from the same
//! `N` values:
//!
//! ```text
//! total = c/k D(N, k n)
//! ```
//!
//! Both ends are what they should be. Sorted rows have parts that do not overlap, `k = 1`, and
//! `total = c d`: counts add up. Rows in random order have `k = c`, and `total = D(N, V)`: the
//! values of one part are those of all others. Without ranges, `k = c` is assumed.
//!
//! # What it does not do
//!
//! It assumes that values are equally frequent within a part. Rare values of a skewed column are
//! missing in the parts, so the total is too low then: by how much, the tests say.

use std::iter;

use parquet::{
    basic::{ConvertedType, LogicalType, Type},
    file::metadata::ColumnChunkMetaData,
};

/// Bytes of a text that its place is made of, behind those that all bounds have in common.
const PLACE_BYTES: usize = 8;

/// Halvings of the interval in which a logarithm is searched: more than the digits of `f64`.
const HALVINGS: u32 = 64;

/// The fraction of all parts that lie over one another where rows are in random order: the ranges
/// of samples are a little shorter than those of all values.
const MIXED: f64 = 0.75;

/// No column has more different values than these.
const VALUES_MAX: f64 = 1e19;

/// A part of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Values that are not NULL.
    pub values: f64,
    /// How many of them are different.
    pub distinct: f64,
    /// The least and the greatest one, as places of a [`Scale`].
    pub range: Option<(f64, f64)>,
}

/// A column that has parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// Values that are not NULL.
    pub values: f64,
    /// The ranges of its row groups or files: of all that have values, or none.
    pub ranges: Vec<(f64, f64)>,
    /// The distance of neighbouring places.
    pub step: f64,
}

impl Whole {
    /// Whether parts overlap nearly everywhere, so that they are one sample of the column.
    pub fn is_mixed(&self, parts: &[Part]) -> bool {
        let count = f64::from(u32::try_from(parts.len()).unwrap_or(u32::MAX)).max(1.0);
        let values = parts.iter().map(|part| part.values).sum::<f64>() / count;
        let count = (self.values / values.max(1.0)).max(1.0);
        self.overlap(parts, count) >= MIXED * count
    }

    /// Estimates the different values of the column; none without a part that has values.
    pub fn distinct(&self, parts: &[Part]) -> Option<f64> {
        let parts: Vec<Part> = parts.iter().copied().filter(|part| part.values >= 1.0).collect();
        let number = f64::from(u32::try_from(parts.len()).ok()?);
        let mean = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>() / number;
        let (values, distinct) = (mean(|part| part.values), mean(|part| part.distinct));
        if parts.is_empty() {
            return None;
        }
        let distinct = distinct.clamp(1.0, values);
        let count = (self.values / values).max(1.0);
        let together = self.overlap(&parts, count);
        let drawn = together * values;
        let total = match domain(distinct, values) {
            Some(domain) => count / together * drawn_from(domain, drawn),
            None => count * values,
        };
        let seen = parts.iter().map(|part| part.distinct).fold(1.0, f64::max);
        let all = self.values.max(1.0);
        Some(total.max(seen).min(all).min(self.places().unwrap_or(all)))
    }

    /// How many of `count` parts lie over one another.
    fn overlap(&self, parts: &[Part], count: f64) -> f64 {
        let ranges: Vec<(f64, f64)> = parts.iter().filter_map(|part| part.range).collect();
        let number = u32::try_from(ranges.len()).map_or(0.0, f64::from);
        let lengths: f64 = ranges.iter().map(|(least, most)| most - least + self.step).sum();
        let union = self.union();
        match number > 0.0 && union > 0.0 {
            true => (count * lengths / number / union).clamp(1.0, count),
            false => count,
        }
    }

    /// The length of the union of the ranges.
    fn union(&self) -> f64 {
        let mut ranges = self.ranges.clone();
        ranges.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut end = f64::NEG_INFINITY;
        let lengths = ranges.into_iter().map(|(least, most)| {
            let (from, to) = (least.max(end), most + self.step);
            end = end.max(to);
            (to - from).max(0.0)
        });
        lengths.sum()
    }

    /// There are no more whole numbers than the ranges have places.
    fn places(&self) -> Option<f64> {
        let places = self.union() / self.step;
        (self.step > 0.0 && places >= 1.0).then_some(places)
    }
}

/// The different values among `draws` of `domain` ones.
fn drawn_from(domain: f64, draws: f64) -> f64 {
    match domain <= 1.0 {
        true => 1.0,
        false => domain * -(draws * (-1.0 / domain).ln_1p()).exp_m1(),
    }
}

/// The number of values of which `draws` show so many different ones; none if all are different.
fn domain(distinct: f64, draws: f64) -> Option<f64> {
    if distinct >= draws * (1.0 - 1e-9) {
        return None;
    }
    let (mut least, mut most) = (distinct.ln(), VALUES_MAX.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        match drawn_from(middle.exp(), draws) < distinct {
            true => least = middle,
            false => most = middle,
        }
    }
    Some(most.exp())
}

/// Makes numbers of the values of a column, by which ranges can be compared and have a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int32,
    Int64,
    Float,
    Double,
    /// Texts and other bytes, behind so many that the bounds have in common.
    Bytes(usize),
}

impl Scale {
    /// Returns the scale of the values of chunks; none if they have no order that it knows.
    pub fn of<'a>(mut chunks: impl Iterator<Item = &'a ColumnChunkMetaData>) -> Option<Self> {
        let first = chunks.next()?;
        let column = first.column_descr();
        let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
            || column.converted_type() == ConvertedType::DECIMAL;
        let kind = match column.physical_type() {
            Type::INT32 => Kind::Int32,
            Type::INT64 => Kind::Int64,
            Type::FLOAT => Kind::Float,
            Type::DOUBLE => Kind::Double,
            // The bytes of numbers are in another order.
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY if !is_decimal => {
                Kind::Bytes(common_prefix(iter::once(first).chain(chunks))?)
            }
            _ => return None,
        };
        Some(Self { kind })
    }

    /// The distance of neighbouring values; 0 of those that are not whole numbers.
    pub fn step(self) -> f64 {
        match self.kind {
            Kind::Int32 | Kind::Int64 => 1.0,
            Kind::Float | Kind::Double | Kind::Bytes(_) => 0.0,
        }
    }

    /// Returns the place of a value in PLAIN encoding, without its length.
    #[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
    pub fn place(self, value: &[u8]) -> Option<f64> {
        let place = match self.kind {
            Kind::Int32 => f64::from(i32::from_le_bytes(value.try_into().ok()?)),
            Kind::Int64 => i64::from_le_bytes(value.try_into().ok()?) as f64,
            Kind::Float => f64::from(f32::from_le_bytes(value.try_into().ok()?)),
            Kind::Double => f64::from_le_bytes(value.try_into().ok()?),
            Kind::Bytes(common) => {
                let mut bytes = [0; PLACE_BYTES];
                let behind = value.get(common..).unwrap_or_default();
                bytes.iter_mut().zip(behind).for_each(|(byte, from)| *byte = *from);
                u64::from_be_bytes(bytes) as f64
            }
        };
        place.is_finite().then_some(place)
    }

    /// Returns the range that the bounds of a chunk state.
    pub fn range(self, chunk: &ColumnChunkMetaData) -> Option<(f64, f64)> {
        let (least, most) = bounds(chunk)?;
        let range = (self.place(least)?, self.place(most)?);
        (range.0 <= range.1).then_some(range)
    }
}

fn bounds(chunk: &ColumnChunkMetaData) -> Option<(&[u8], &[u8])> {
    let stated = chunk.statistics()?;
    stated.min_bytes_opt().zip(stated.max_bytes_opt())
}

/// The length of the longest prefix that all bounds have; none without bounds.
fn common_prefix<'a>(chunks: impl Iterator<Item = &'a ColumnChunkMetaData>) -> Option<usize> {
    let mut texts = chunks.filter_map(bounds).flat_map(|(least, most)| [least, most]);
    let first = texts.next()?;
    Some(texts.fold(first.len(), |length, text| {
        let same = first[..length].iter().zip(text).take_while(|(one, other)| one == other);
        same.count()
    }))
}

/// Values of a chunk that are not NULL, as far as its statistics tell.
pub fn values_of(chunk: &ColumnChunkMetaData) -> u64 {
    let nulls = chunk.statistics().and_then(|stated| stated.null_count_opt()).unwrap_or(0);
    u64::try_from(chunk.num_values()).unwrap_or(0).saturating_sub(nulls)
}

#[cfg(test)]
mod tests;
