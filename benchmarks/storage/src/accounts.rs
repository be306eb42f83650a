// SPDX-License-Identifier: Apache-2.0
//! Makes the table of the experiments, {account, name, age, sex, balance}, as Arrow batches.
//!
//! The balances are the numbers from 0 to the number of rows in cents, each once, in the order of a
//! pseudo-random permutation. So `balance < x` has as many rows as `x` has cents, and they are
//! spread over the whole table. The accounts are another permutation of as many numbers.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use nearscan::arrow::{
    array::{
        ArrayRef, AsArray, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringBuilder,
    },
    compute::cast,
    csv::Writer,
    datatypes::{DataType, Decimal128Type, Field, Int32Type, Int64Type, Schema, SchemaRef},
};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;

/// Rows of a batch.
const BATCH_ROWS: u64 = 1 << 16;

/// The first account.
const ACCOUNT_MIN: u64 = 1_000_000_000;

/// The type of balances: DECIMAL(12, 2).
const BALANCE: DataType = DataType::Decimal128(12, 2);

const FIRST: [&str; 32] = [
    "Ada", "Alan", "Barbara", "Claude", "Clara", "Donald", "Edgar", "Emmy", "Frances", "George",
    "Grace", "Hedy", "Ida", "Ivan", "Jean", "John", "Kathleen", "Kurt", "Leslie", "Lotfi",
    "Margaret", "Mary", "Niklaus", "Noor", "Olga", "Peter", "Radia", "Rosa", "Sofia", "Tim",
    "Ursula", "Wei",
];
const SYLLABLES: [&str; 32] = [
    "ba", "ber", "bro", "chen", "da", "dor", "el", "far", "ga", "gor", "ha", "hol", "in", "jo",
    "ka", "kov", "la", "lin", "ma", "mer", "na", "no", "os", "pa", "ra", "ros", "sa", "ski", "ta",
    "ton", "va", "wel",
];

/// A table of so many rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accounts {
    pub(crate) rows: u64,
}

/// What the rows of an answer add up to, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sum {
    pub(crate) rows: u64,
    /// The sum of the hashes of the rows, modulo 2^64.
    hashes: u64,
}

/// What some columns add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) rows: u64,
    pub(crate) accounts: i128,
    pub(crate) cents: i128,
}

impl Accounts {
    /// The columns.
    pub(crate) fn schema() -> SchemaRef {
        let field = |name: &str, kind| Field::new(name, kind, false);
        Arc::new(Schema::new(vec![
            field("account", DataType::Int64),
            field("name", DataType::Utf8),
            field("age", DataType::Int32),
            field("sex", DataType::Utf8),
            field("balance", BALANCE),
        ]))
    }

    /// The rows, batch by batch.
    pub(crate) fn batches(self) -> impl Iterator<Item = Result<RecordBatch, Error>> {
        let starts = (0..self.rows).step_by(usize::try_from(BATCH_ROWS).unwrap_or(1));
        starts.map(move |start| self.batch(start..self.rows.min(start + BATCH_ROWS)))
    }

    /// Rows as CSV with a line of names, and what they add up to.
    pub(crate) fn csv(self, rows: Range<u64>) -> Result<(Bytes, Totals), Error> {
        let batch = self.batch(rows)?;
        let mut csv = Vec::new();
        let mut writer = Writer::new(&mut csv);
        writer.write(&batch).map_err(Error::prepare)?;
        drop(writer);
        let accounts = batch.column(0).as_primitive::<Int64Type>();
        let balances = batch.column(4).as_primitive::<Decimal128Type>();
        let totals = Totals {
            rows: batch.num_rows() as u64,
            accounts: accounts.values().iter().copied().map(i128::from).sum(),
            cents: balances.values().iter().sum(),
        };
        Ok((csv.into(), totals))
    }

    fn batch(self, rows: Range<u64>) -> Result<RecordBatch, Error> {
        let (accounts, balances) = (self.permutation(1), self.permutation(2));
        let mut names = StringBuilder::new();
        let mut sexes = StringBuilder::new();
        let mut ages = Vec::new();
        for row in rows.clone() {
            let hash = mix(row);
            let part = |shift: u32| usize::try_from(hash >> shift & 31).unwrap_or(0);
            names.append_value(format!(
                "{} {}{}{}",
                FIRST[part(0)],
                SYLLABLES[part(5)],
                SYLLABLES[part(10)],
                SYLLABLES[part(15)],
            ));
            sexes.append_value(if hash >> 20 & 1 == 0 { "f" } else { "m" });
            ages.push(18 + i32::try_from(hash >> 32).unwrap_or_default().rem_euclid(80));
        }
        let accounts = rows.clone().map(|row| signed(ACCOUNT_MIN + accounts.of(row)));
        let balances = rows.map(|row| i128::from(balances.of(row)));
        let balances = Decimal128Array::from_iter_values(balances).with_data_type(BALANCE);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(accounts)),
            Arc::new(names.finish()),
            Arc::new(Int32Array::from(ages)),
            Arc::new(sexes.finish()),
            Arc::new(balances),
        ];
        RecordBatch::try_new(Self::schema(), columns).map_err(Error::prepare)
    }

    fn permutation(self, key: u64) -> Permutation {
        Permutation::new(self.rows, key)
    }
}

impl Sum {
    /// Adds the rows of a batch whose balance is below so many cents.
    pub(crate) fn add(&mut self, batch: &RecordBatch, cents: u64) -> Result<(), Error> {
        let text = |index: usize| cast(batch.column(index), &DataType::Utf8);
        let (names, sexes) = (text(1), text(3));
        let (names, sexes) = (names.map_err(Error::prepare)?, sexes.map_err(Error::prepare)?);
        let (names, sexes) = (names.as_string::<i32>(), sexes.as_string::<i32>());
        let accounts = batch.column(0).as_primitive::<Int64Type>();
        let ages = batch.column(2).as_primitive::<Int32Type>();
        let balances = batch.column(4).as_primitive::<Decimal128Type>();
        for row in 0..batch.num_rows() {
            let balance = balances.value(row);
            if balance >= i128::from(cents) {
                continue;
            }
            let balance = u64::try_from(balance).unwrap_or(u64::MAX);
            let account = accounts.value(row).cast_unsigned();
            let age = u64::from(ages.value(row).cast_unsigned());
            let mut hash = xxh3_64(names.value(row).as_bytes());
            for value in [account, age, xxh3_64(sexes.value(row).as_bytes()), balance] {
                hash = mix(hash ^ value);
            }
            self.rows += 1;
            self.hashes = self.hashes.wrapping_add(hash);
        }
        Ok(())
    }
}

/// A pseudo-random permutation of the numbers below a bound: a Feistel network of four rounds over
/// the next power of four, applied until the result is below the bound.
#[derive(Debug, Clone, Copy)]
struct Permutation {
    bound: u64,
    key: u64,
    half_bits: u32,
}

impl Permutation {
    fn new(bound: u64, key: u64) -> Self {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Self { bound, key, half_bits: bits.div_ceil(2).max(1) }
    }

    fn of(self, number: u64) -> u64 {
        let mut number = number;
        loop {
            number = self.once(number);
            if number < self.bound {
                return number;
            }
        }
    }

    fn once(self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for round in 0..4 {
            let mixed = mix(right ^ self.key << 40 ^ round << 56);
            (left, right) = (right, left ^ (mixed & mask));
        }
        left << self.half_bits | right
    }
}

/// Mixes all bits of a number (splitmix64).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(1)]
    #[case(2)]
    #[case(1000)]
    #[case(4096)]
    #[case(70_001)]
    fn permutation_has_each_number_once(#[case] bound: u64) {
        let permutation = Permutation::new(bound, 1);
        let mut all: Vec<u64> = (0..bound).map(|number| permutation.of(number)).collect();
        let is_sorted = all.is_sorted();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..bound));
        assert!(bound < 1000 || !is_sorted);
    }

    #[test]
    fn predicate_has_as_many_rows_as_cents_in_every_part_of_the_table() {
        let accounts = Accounts { rows: 200_000 };
        let mut all = Sum::default();
        for batch in accounts.batches() {
            let batch = batch.unwrap();
            let mut part = Sum::default();
            part.add(&batch, 20_000).unwrap();
            let share = part.rows as f64 / batch.num_rows() as f64;
            assert!((0.08..0.12).contains(&share), "{share}");
            all.add(&batch, 20_000).unwrap();
        }
        assert_eq!(all.rows, 20_000);
    }

    #[test]
    fn sum_is_of_rows_in_any_order_and_sees_a_value_in_another_row() {
        let batch = Accounts { rows: 1000 }.batch(0..1000).unwrap();
        let sum = |batches: &[RecordBatch]| {
            let mut sum = Sum::default();
            batches.iter().for_each(|batch| sum.add(batch, 1000).unwrap());
            sum
        };
        let whole = sum(std::slice::from_ref(&batch));
        assert_eq!(sum(&[batch.slice(600, 400), batch.slice(0, 600)]), whole);
        let mut columns = batch.columns().to_vec();
        let ages = columns[2].as_primitive::<Int32Type>();
        let turned: Int32Array = ages.iter().rev().collect();
        columns[2] = Arc::new(turned);
        let other = RecordBatch::try_new(Accounts::schema(), columns).unwrap();
        assert_ne!(sum(&[other]), whole);
    }
}
