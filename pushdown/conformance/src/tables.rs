// SPDX-License-Identifier: Apache-2.0
//! Generates random columns: every stored type, every way to write it, any share of NULLs.

use nearscan_command::ReadAs;

use crate::{
    data::{ColumnData, Presence, Values},
    pages::ChunkLayout,
    random::Random,
};

/// A column of `rows` values.
pub fn random_column(random: &mut Random, rows: usize) -> ColumnData {
    let presence = random.pick(&[Presence::Optional, Presence::Optional, Presence::Required]);
    let filler = Filler {
        rows,
        null_share: match presence {
            Presence::Required => 0,
            Presence::Optional => random.pick(&[0, 1, 5, 9, 10]),
        },
        has_runs: random.one_in(4),
        reach: random.pick(&[1, 3, 3, 100, 100_000]),
        has_extremes: random.one_in(8),
    };
    let values = filler.values(random);
    ColumnData { values, layout: ChunkLayout::random(random, presence) }
}

/// The distribution of the values of a column.
struct Filler {
    rows: usize,
    /// Tenths of the rows that are null.
    null_share: usize,
    /// Whether most values are those of the row before.
    has_runs: bool,
    /// The largest distance of numbers from zero.
    reach: i64,
    has_extremes: bool,
}

impl Filler {
    fn values(&self, random: &mut Random) -> Values {
        match random.below(12) {
            0..3 => Values::Int64(self.fill(random, |random| self.integer(random))),
            3..5 => Values::Int32(self.fill(random, |random| narrowed(self.integer(random), 32))),
            5..8 => Values::Bytes(self.fill(random, |random| self.text(random))),
            8 => Values::Boolean(self.fill(random, |random| self.integer(random) > 0)),
            9 => self.annotated(random),
            10 => self.floats(random),
            _ => self.decimals(random),
        }
    }

    fn fill<T: Clone>(
        &self,
        random: &mut Random,
        make: impl Fn(&mut Random) -> T,
    ) -> Vec<Option<T>> {
        let mut values: Vec<Option<T>> = Vec::with_capacity(self.rows);
        for _ in 0..self.rows {
            let value = match values.last() {
                Some(last) if self.has_runs && !random.one_in(20) => last.clone(),
                _ => (random.below(10) >= self.null_share).then(|| make(random)),
            };
            values.push(value);
        }
        values
    }

    fn integer(&self, random: &mut Random) -> i64 {
        if self.has_extremes && random.one_in(20) {
            random.pick(&[i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX)])
        } else {
            random.around_zero(self.reach)
        }
    }

    fn text(&self, random: &mut Random) -> Vec<u8> {
        let stems = ["", "a", "ab", "longer than eight bytes", "zebra", "ab\0", "ÿ"];
        let mut value = random.pick(&stems).as_bytes().to_vec();
        if self.reach > 3 {
            value.extend_from_slice(random.below(90).to_string().as_bytes());
        }
        value
    }

    fn annotated(&self, random: &mut Random) -> Values {
        let rule = random.pick(&[ReadAs::Signed, ReadAs::Unsigned]);
        match random.pick(&[8, 16, 32, 64]) {
            64 => Values::Unsigned64(self.fill(random, |random| {
                // The least there is becomes the greatest there is.
                let number = self.integer(random).unsigned_abs();
                if number == 1 << 63 { u64::MAX } else { number }
            })),
            bits => Values::Narrow {
                rule,
                bits,
                values: self.fill(random, |random| {
                    let number = narrowed(self.integer(random), bits);
                    match rule {
                        ReadAs::Unsigned if bits < 32 => number & ((1 << bits) - 1),
                        _ => number,
                    }
                }),
            },
        }
    }

    fn floats(&self, random: &mut Random) -> Values {
        let odd =
            [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -5e-324];
        let has_odd = self.has_extremes;
        let reach = self.reach;
        // Quarters of small numbers are exact in both widths.
        let whole =
            move |random: &mut Random| i32::try_from(random.around_zero(reach)).unwrap_or(0);
        if random.one_in(2) {
            return Values::Double(self.fill(random, |random| {
                match has_odd && random.one_in(10) {
                    true => random.pick(&odd),
                    false => f64::from(whole(random)) / 4.0,
                }
            }));
        }
        Values::Float(self.fill(random, |random| match has_odd && random.one_in(10) {
            // Other NaNs, and numbers that are normal in eight bytes only.
            true => {
                let exponent = random.pick(&[0, 0x7f80_0000]);
                f32::from_bits((random.word() & 0x807f_ffff) as u32 | exponent)
            }
            false => whole(random) as f32 / 4.0,
        }))
    }

    fn decimals(&self, random: &mut Random) -> Values {
        let length = 1 + random.index(16);
        let shift = 128 - 8 * u32::from(length);
        let values = self.fill(random, |random| {
            // Beyond 64 bits once in a while, if there is room.
            let high = i128::from(self.has_extremes && random.one_in(500)) << 70;
            (i128::from(self.integer(random)) + high) << shift >> shift
        });
        Values::Fixed { length, values }
    }
}

/// The lowest `bits` (at most 32) of a number, with the sign that is then there.
fn narrowed(number: i64, bits: u8) -> i32 {
    let shift = 64 - u32::from(bits);
    i32::try_from(number << shift >> shift).unwrap_or(0)
}
