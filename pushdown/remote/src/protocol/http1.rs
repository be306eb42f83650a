// SPDX-License-Identifier: Apache-2.0
//! Defines the requests for the bytes of one object that are made over HTTP/1.1, at the address of
//! the server:
//!
//! ```text
//! GET /objects/PARTITION/COLLECTION/NAME HTTP/1.1
//! Authorization: Bearer TOKEN      if the server asks for one
//! If-Match: "VERSION"              if another version will not do
//! Range: bytes=FIRST-LAST          if not all bytes are wanted
//! ```
//!
//! The answer has the bytes as its body, the version as `ETag`, and the description of the object
//! as [`DESCRIPTION`]. An answer that is an error has its kind and its text as `grpc-status` and
//! `grpc-message`, as the answers of gRPC have. Names are percent-encoded.

use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

use super::objects::ObjectName;

/// The start of the path.
const ROOT: &str = "/objects/";

/// The header with the description of the object, an `ObjectInfo` in percent-encoded bytes.
pub(crate) const DESCRIPTION: &str = "nearscan-object";

/// Most bytes of the head of a request or of an answer.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;

/// Most headers of a request or of an answer.
pub(crate) const HEADERS_MAX: usize = 64;

/// What stays as it is in a path.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The path of an object.
pub(crate) fn path_of(name: &ObjectName) -> String {
    let parts = [name.partition(), &name.collection, &name.name];
    let parts = parts.map(|part| percent_encode(part.as_bytes(), ENCODED).to_string());
    format!("{ROOT}{}", parts.join("/"))
}

/// The object that a path names.
pub(crate) fn name_of(path: &str) -> Option<ObjectName> {
    let mut parts = path.strip_prefix(ROOT)?.splitn(3, '/').map(|part| {
        let decoded = percent_decode(part.as_bytes()).decode_utf8();
        decoded.ok().map(|part| part.into_owned())
    });
    let (partition, collection, name) = (parts.next()??, parts.next()??, parts.next()??);
    Some(ObjectName { partition, collection, name })
}

/// Bytes as text.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    percent_encode(bytes, ENCODED).to_string()
}

/// The bytes of such a text.
pub(crate) fn bytes_of(text: &[u8]) -> Vec<u8> {
    percent_decode(text).collect()
}

/// The value of `Range` for a range that is not empty.
pub(crate) fn text_of_range(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end.saturating_sub(1))
}

/// The range that a value of `Range` stands for, if it is one range with both of its ends.
pub(crate) fn range_of(text: &str) -> Option<Range<u64>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    (first <= last).then(|| Some(first..last.checked_add(1)?))?
}

/// The version that a value of `If-Match` or `ETag` stands for.
pub(crate) fn version_of(text: &str) -> Option<u64> {
    text.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "c", "a", "/objects/default/c/a")]
    #[case("p", "c.1", "a/b c", "/objects/p/c.1/a%2Fb%20c")]
    #[case("p", "c", "\u{e4}%\"", "/objects/p/c/%C3%A4%25%22")]
    fn path_is_that_of_the_object(
        #[case] partition: &str,
        #[case] collection: &str,
        #[case] name: &str,
        #[case] path: &str,
    ) {
        let name = ObjectName {
            partition: partition.to_owned(),
            collection: collection.to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(path_of(&name), path);
        let found = name_of(path).unwrap();
        assert_eq!(found.partition(), name.partition());
        assert_eq!((found.collection, found.name), (name.collection, name.name));
    }

    #[test]
    fn names_with_plain_slashes_are_found_too() {
        assert_eq!(name_of("/objects/p/c/a/b").unwrap().name, "a/b");
        for wrong in ["/objects/p/c", "/object/p/c/a", "/objects/p/c/%ff", ""] {
            assert_eq!(name_of(wrong), None, "{wrong}");
        }
    }

    #[rstest]
    #[case("bytes=0-0", Some(0..1))]
    #[case("bytes=5-9", Some(5..10))]
    #[case("bytes=5-", None)]
    #[case("bytes=-5", None)]
    #[case("bytes=9-5", None)]
    #[case("bytes=0-1,3-4", None)]
    #[case("bytes=0-18446744073709551615", None)]
    fn range_has_both_ends(#[case] text: &str, #[case] expected: Option<Range<u64>>) {
        assert_eq!(range_of(text), expected);
        if let Some(range) = expected {
            assert_eq!(text_of_range(&range), text);
        }
    }

    #[test]
    fn version_is_quoted_and_bytes_are_text() {
        assert_eq!(version_of("\"17\""), Some(17));
        assert_eq!(version_of("17"), None);
        assert_eq!(version_of("*"), None);
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes_of(text_of(&bytes).as_bytes()), bytes);
    }
}
