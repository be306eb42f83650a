// SPDX-License-Identifier: Apache-2.0
//! Shows the rates of both servers and their ratio, as text and as JSON.

use serde_json::{Value, json};

use super::servers::Encryption;
use crate::spread::Spread;

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Pairs for each row.
    pub rounds: u32,
    /// What nginx says of its version.
    pub nginx_version: String,
    /// The congestion control of TCP: `bbr` paces the loopback device too, so that pairs differ
    /// more than with `cubic` or `reno`.
    pub congestion_control: String,
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
        let Self { rounds, nginx_version, congestion_control, .. } = self;
        let mut text = format!(
            "whole objects out of the page cache, server and client on one processor each, \
             beside {nginx_version}\n\
             measured, medians of {rounds} pairs, quartiles of the ratio, TCP with \
             {congestion_control}\n\n"
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
        json!({
            "rounds": self.rounds,
            "nginx_version": self.nginx_version,
            "congestion_control": self.congestion_control,
            "rows": rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn report() -> Report {
        let pairs = vec![[1e9, 2e9], [3e9, 2e9], [2e9, 2e9], [4e9, 2e9], [2.5e9, 2.5e9]];
        let row = |encryption, bytes| Row { encryption, bytes, pairs: pairs.clone() };
        Report {
            rounds: 5,
            nginx_version: "nginx/1.0".to_owned(),
            congestion_control: "cubic".to_owned(),
            rows: vec![row(Encryption::None, 8 << 20), row(Encryption::Tls, 1000)],
        }
    }

    #[test]
    fn ratio_is_the_median_of_those_of_the_pairs() {
        let row = &report().rows[0];
        assert_eq!(row.ratio(), Spread { lower: 1.0, median: 1.0, upper: 1.5 });
        assert_eq!(row.ours().median, 2.5e9);
        assert_eq!(row.nginx(), Spread { lower: 2e9, median: 2e9, upper: 2e9 });
        let nothing = Row::new(Encryption::None, 1).ratio();
        assert_eq!(nothing, Spread { lower: 0.0, median: 0.0, upper: 0.0 });
    }

    #[test]
    fn report_has_a_line_for_each_object_and_connection() {
        let text = report().to_text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("beside nginx/1.0"), "{text}");
        assert!(lines[1].ends_with("TCP with cubic"), "{text}");
        let rows = [
            "plain          8 MiB            2500         2000    1.00   1.00 to 1.50",
            "TLS           1000 B            2500         2000    1.00   1.00 to 1.50",
        ];
        assert_eq!(lines[4..], rows, "{text}");
        let json = report().to_json();
        assert_eq!(json["rows"][1]["connection"], "tls");
        assert_eq!(json["rows"][0]["object_bytes"], 8 << 20);
        assert_eq!(json["rows"][0]["ratio"]["upper"], 1.5);
    }

    #[rstest]
    #[case(64 << 10, "64 KiB")]
    #[case(1 << 30, "1 GiB")]
    #[case((1 << 20) + 1, "1048577 B")]
    #[case(0, "0 B")]
    fn bytes_are_a_round_number_where_they_are_one(#[case] bytes: u64, #[case] text: &str) {
        assert_eq!(shown(bytes), text);
    }
}
