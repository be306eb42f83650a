// SPDX-License-Identifier: Apache-2.0
//! Shows the rates of both servers and their ratio, as text and as JSON.

use serde_json::{Value, json};

use crate::servers::Encryption;

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Pairs for each row.
    pub rounds: u32,
    /// The rows, by kind of connection and object.
    pub rows: Vec<Row>,
}

/// The pairs of one object over one kind of connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The kind of connection.
    pub encryption: Encryption,
    /// Bytes of the object.
    pub bytes: u64,
    /// Rates of pairs in bytes per second: of ours, of nginx.
    pub pairs: Vec<[f64; 2]>,
}

/// A median and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A quarter of the values are below it.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// A quarter of the values are above it.
    pub upper: f64,
}

impl Spread {
    /// Of these values; zeros if there are none.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let at = |numerator: usize| {
            let index = (values.len().saturating_sub(1) * numerator).div_ceil(4);
            values.get(index).copied().unwrap_or_default()
        };
        Self { lower: at(1), median: at(2), upper: at(3) }
    }
}

impl Row {
    pub(crate) fn new(encryption: Encryption, bytes: u64) -> Self {
        Self { encryption, bytes, pairs: Vec::new() }
    }

    pub(crate) fn add(&mut self, rates: [f64; 2]) {
        self.pairs.push(rates);
    }

    /// The rate of ours in bytes per second.
    #[must_use]
    pub fn ours(&self) -> Spread {
        Spread::of(self.pairs.iter().map(|[ours, _]| *ours))
    }

    /// The rate of nginx in bytes per second.
    #[must_use]
    pub fn nginx(&self) -> Spread {
        Spread::of(self.pairs.iter().map(|[_, nginx]| *nginx))
    }

    /// The ratio of ours to nginx, pair by pair.
    #[must_use]
    pub fn ratio(&self) -> Spread {
        Spread::of(self.pairs.iter().map(|[ours, nginx]| ours / nginx))
    }
}

/// Bytes as a round number.
fn shown(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (unit, shift) in units {
        let whole = bytes >> shift;
        if whole > 0 && whole << shift == bytes {
            return format!("{whole} {unit}");
        }
    }
    format!("{bytes} B")
}

impl Report {
    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let rounds = self.rounds;
        let mut text = format!(
            "whole objects out of the page cache, server and client on one processor each, \
             medians of {rounds} pairs, quartiles of the ratio\n\n"
        );
        text.push_str("connection    object   nearscan MB/s   nginx MB/s   ratio   quartiles\n");
        for row in &self.rows {
            let connection = match row.encryption {
                Encryption::None => "plain",
                Encryption::Tls => "TLS",
            };
            let (ours, nginx, ratio) = (row.ours(), row.nginx(), row.ratio());
            text.push_str(&format!(
                "{connection:10}{:>10}{:>16.0}{:>13.0}{:>8.2}   {:.2} to {:.2}\n",
                shown(row.bytes),
                ours.median / 1e6,
                nginx.median / 1e6,
                ratio.median,
                ratio.lower,
                ratio.upper,
            ));
        }
        text
    }

    /// The report for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|row| {
            let spread = |spread: Spread| {
                json!({"lower": spread.lower, "median": spread.median, "upper": spread.upper})
            };
            json!({
                "connection": match row.encryption {
                    Encryption::None => "plain",
                    Encryption::Tls => "tls",
                },
                "object_bytes": row.bytes,
                "nearscan_bytes_per_second": spread(row.ours()),
                "nginx_bytes_per_second": spread(row.nginx()),
                "ratio": spread(row.ratio()),
            })
        }).collect();
        json!({"rounds": self.rounds, "rows": rows})
    }
}
