// SPDX-License-Identifier: Apache-2.0
//! Defines [`Event`], what a line of the audit log says, and writes the line.

use std::borrow::Cow;

use serde::Serialize;

use crate::text;

/// Bytes of one field of a line, at most, before they are escaped; the rest is cut off.
const FIELD_BYTES_MAX: usize = 1024;

/// Fields of a line that hold text from outside.
const FIELDS: usize = 5;

/// Bytes of one line, at most: a byte is escaped to six at the longest, and what is around the
/// fields has less than 256.
pub const LINE_BYTES_MAX: usize = 6 * FIELDS * FIELD_BYTES_MAX + 256;

/// Something that a client did or was kept from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// Whether it changes anything.
    pub kind: Kind,
    /// Who; empty when that is not known.
    pub client: &'a str,
    /// From where.
    pub peer: &'a str,
    /// What, as `put` or `reset`.
    pub action: &'a str,
    /// What it was done to; empty for the whole drive.
    pub object: &'a str,
    /// What came of it.
    pub outcome: Outcome<'a>,
    /// Bytes that it was about.
    pub bytes: u64,
}

/// Whether something is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is.
    Change,
    /// It is not.
    Read,
}

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It may happen, and is about to.
    Allowed,
    /// It happened.
    Done,
    /// It may not happen, for this reason.
    Denied(&'a str),
    /// It was begun, and did not happen or not as a whole, for this reason.
    Failed(&'a str),
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    client: Cow<'a, str>,
    peer: Cow<'a, str>,
    action: Cow<'a, str>,
    object: Cow<'a, str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    bytes: u64,
}

impl Event<'_> {
    /// Whether it belongs in the log.
    pub(super) fn is_recorded(&self) -> bool {
        match (self.kind, self.outcome) {
            (Kind::Change, _) | (Kind::Read, Outcome::Denied(_)) => true,
            (Kind::Read, Outcome::Allowed | Outcome::Done | Outcome::Failed(_)) => false,
        }
    }

    /// Its line, with the end of the line.
    pub(super) fn line(&self, unix_ns: u64) -> Vec<u8> {
        let (outcome, reason) = match self.outcome {
            Outcome::Allowed => ("allowed", None),
            Outcome::Done => ("done", None),
            Outcome::Denied(reason) => ("denied", Some(cut(reason))),
            Outcome::Failed(reason) => ("failed", Some(cut(reason))),
        };
        let line = Line {
            time: rfc_3339(unix_ns),
            client: cut(self.client),
            peer: cut(self.peer),
            action: cut(self.action),
            object: cut(self.object),
            outcome,
            reason,
            bytes: self.bytes,
        };
        // Texts and a number can always be written.
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// As much of a text as a field may have.
fn cut(text: &str) -> Cow<'_, str> {
    text::cut(text, FIELD_BYTES_MAX)
}

/// A time as RFC 3339 has it, in UTC, with milliseconds.
fn rfc_3339(unix_ns: u64) -> String {
    let ms = unix_ns / 1_000_000;
    let (second_of_day, ms) = (ms / 1000 % 86_400, ms % 1000);
    let (year, month, day) = civil(unix_ns / 1_000_000_000 / 86_400);
    let (hour, minute, second) =
        (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of a day since 1970.
fn civil(day: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut year, mut left) = (1970, day);
    // A time in ns ends in 2554.
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::text::CUT;

    fn event<'a>() -> Event<'a> {
        Event {
            kind: Kind::Change,
            client: "etl",
            peer: "10.0.0.7:51234",
            action: "put",
            object: "sales/1.parquet",
            outcome: Outcome::Done,
            bytes: 4096,
        }
    }

    fn text(event: &Event<'_>) -> String {
        String::from_utf8(event.line(1_700_000_000_123_456_789)).unwrap()
    }

    #[test]
    fn line_has_the_stated_fields_in_order() {
        let expected = [
            r#"{"time":"2023-11-14T22:13:20.123Z","client":"etl","peer":"10.0.0.7:51234","#,
            r#""action":"put","object":"sales/1.parquet","outcome":"done","bytes":4096}"#,
            "\n",
        ];
        assert_eq!(text(&event()), expected.concat());
        let denied = Event { outcome: Outcome::Denied("no \"scope\""), ..event() };
        let line = text(&denied);
        assert!(line.contains(r#""outcome":"denied","reason":"no \"scope\"","bytes""#), "{line}");
    }

    #[rstest]
    #[case("two\nlines\r\n", "two\nlines\r\n")]
    #[case("\"},{\"client\":\"root", "\"},{\"client\":\"root")]
    #[case("\0\u{1b}[31m\u{7f}\\", "\0\u{1b}[31m\u{7f}\\")]
    #[case("größe 数据 \u{2028}", "größe 数据 \u{2028}")]
    fn text_of_a_client_stays_within_its_field(#[case] object: &str, #[case] expected: &str) {
        let line = text(&Event { object, ..event() });
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.ends_with("}\n"), "{line}");
        let back: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["object"], expected);
        assert_eq!(back["client"], "etl");
    }

    #[rstest]
    #[case("\0")]
    #[case("\"")]
    #[case("数")]
    #[case("x")]
    fn line_is_bounded_whatever_a_client_says(#[case] sign: &str) {
        let long = sign.repeat(100_000);
        let (client, peer, action, object) = (&*long, &*long, &*long, &*long);
        let outcome = Outcome::Failed(&long);
        let bytes = u64::MAX;
        let line =
            text(&Event { kind: Kind::Change, client, peer, action, object, outcome, bytes });
        assert!(line.len() <= LINE_BYTES_MAX, "{}", line.len());
        let back: Value = serde_json::from_str(&line).unwrap();
        let object = back["object"].as_str().unwrap();
        assert!(object.ends_with(CUT) && object.len() > FIELD_BYTES_MAX - 8, "{object}");
        let fits = sign.repeat(FIELD_BYTES_MAX / sign.len());
        let back: Value = serde_json::from_str(&text(&Event { object: &fits, ..event() })).unwrap();
        assert_eq!(back["object"], fits);
    }

    // From `date -u -d @SECONDS`.
    #[rstest]
    #[case(0, "1970-01-01T00:00:00.000Z")]
    #[case(68_169_599, "1972-02-28T23:59:59.000Z")]
    #[case(68_169_600, "1972-02-29T00:00:00.000Z")]
    #[case(951_868_800, "2000-03-01T00:00:00.000Z")]
    #[case(1_767_225_599, "2025-12-31T23:59:59.000Z")]
    #[case(1_767_225_600, "2026-01-01T00:00:00.000Z")]
    #[case(4_107_542_400, "2100-03-01T00:00:00.000Z")]
    fn time_is_written_as_rfc_3339(#[case] seconds: u64, #[case] expected: &str) {
        assert_eq!(rfc_3339(seconds * 1_000_000_000), expected);
    }

    #[rstest]
    #[case(Kind::Change, Outcome::Allowed, true)]
    #[case(Kind::Change, Outcome::Done, true)]
    #[case(Kind::Change, Outcome::Denied(""), true)]
    #[case(Kind::Change, Outcome::Failed(""), true)]
    #[case(Kind::Read, Outcome::Allowed, false)]
    #[case(Kind::Read, Outcome::Done, false)]
    #[case(Kind::Read, Outcome::Denied(""), true)]
    #[case(Kind::Read, Outcome::Failed(""), false)]
    fn reads_are_recorded_when_denied(
        #[case] kind: Kind,
        #[case] outcome: Outcome<'_>,
        #[case] expected: bool,
    ) {
        assert_eq!(Event { kind, outcome, ..event() }.is_recorded(), expected);
    }
}
