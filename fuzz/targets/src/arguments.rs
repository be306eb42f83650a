// SPDX-License-Identifier: Apache-2.0
//! Implements the target `arguments`: values of the shell's options that the engine parses, which
//! are drive URLs and sizes.

use nearscan::{
    DriveSpec,
    units::{format_bytes, parse_bytes},
};

/// Reads a text as a drive URL and as a size. Whether it is one of them.
///
/// # Panics
/// When one does not come back as it was, or a token shows.
pub fn arguments(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let spec = DriveSpec::parse(&text);
    match &spec {
        Ok(spec) => url(spec, &text),
        Err(error) => {
            assert!(!error.usage.is_empty() && !error.reason.is_empty());
            let shown = format!("{error} {}", error.reason);
            let (_, query) = text.split_once('?').unwrap_or_default();
            for token in query.split('&').filter_map(|part| part.strip_prefix("token=")) {
                assert!(!shows(&shown, &text, token), "the token shows in {shown}");
            }
        }
    }
    let size = parse_bytes(&text);
    if let Ok(bytes) = size {
        assert!(parse_bytes(&format!("{bytes}")) == Ok(bytes), "plain bytes are a size");
        assert!(!format_bytes(bytes).is_empty());
    }
    spec.is_ok() || size.is_ok()
}

/// Whether a message shows the token of a text. A token of a few letters, or of replacement
/// characters, may be part of any text, and one that occurs twice is not secret.
fn shows(message: &str, text: &str, token: &str) -> bool {
    let letters = token.chars().filter(|sign| sign.is_alphanumeric()).count();
    letters >= 8 && text.matches(token).count() == 1 && message.contains(token)
}

fn url(spec: &DriveSpec, text: &str) {
    assert!(!spec.name.is_empty(), "a drive without a name");
    let shown = spec.to_string();
    if let Some(token) = spec.param("token") {
        assert!(!shows(&shown, text, token), "the token shows in {shown}");
        return;
    }
    // Shown values are not encoded, so those with signs that separate are not read back.
    if spec.params.values().any(|value| value.contains(['&', '%', '=', '?', '+'])) {
        return;
    }
    let back = DriveSpec::parse(&shown);
    assert_eq!(back.as_ref(), Ok(spec), "{shown} is read as another drive");
}
