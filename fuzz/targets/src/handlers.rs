// SPDX-License-Identifier: Apache-2.0
//! Implements the target `handlers`: handlers as clients register them, and as they are kept.

use nearscan_applications::fuzz;
use nearscan_remote::fuzz::handlers as registered;

/// A handler as it is kept.
const KEPT: &str = r#"{"name":"h","application":"a","filter":{"kinds":["created","fault"],
    "collection":"raw","prefix":"in/","suffixes":[".csv"],"application":"a","name":"fuel"}}"#;

/// Handlers as clients register them: fields 1 and 2 are names, 3 the filter, 4 where it begins.
/// Fields of the filter are kinds, collection, prefix, suffixes, application and name.
const REGISTERED: [&[u8]; 3] = [
    b"\x0a\x01h\x12\x01a\x1a\x04\x0a\x02\x01\x02",
    b"\x0a\x01h\x12\x01a\x1a\x15\x0a\x01\x05\x12\x03raw\x1a\x03in/\x22\x04.csv\x2a\x00\x20\x07",
    b"\x0a\x01h\x12\x01a\x1a\x15\x0a\x01\x02\x12\x10_system/commands\x20\x00",
];

/// Reads a handler: the first byte says in which form. Whether it could be registered.
///
/// # Panics
/// When what must hold of a handler does not.
pub fn handlers(bytes: &[u8]) -> bool {
    let Some((form, bytes)) = bytes.split_first() else { return false };
    match form % 2 {
        0 => registered::registered(bytes),
        _ => fuzz::kept_handler(bytes),
    }
}

/// Inputs to begin a corpus with.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let registered = REGISTERED.iter().map(|bytes| [&[0], *bytes].concat());
    registered.chain([[&[1], KEPT.as_bytes()].concat()]).collect()
}
