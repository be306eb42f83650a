// SPDX-License-Identifier: Apache-2.0
//! Parses drive URLs, the arguments of `--drive [NAME=]URL` and
//! [`EngineBuilder::drive`](crate::EngineBuilder::drive).
//!
//! ```text
//! cpu:
//! emulated:[?root=DIR&seed=N&profile=PROFILE&cus=N&lanes=N&merge_cus=N&memory=BYTES
//!             &hot_block_reads=N&faults=SPEC&process=PROCESS]
//! xrt:INDEX-or-BDF?xclbin=FILE[&merge_xclbin=FILE&root=MOUNT]
//! remote://HOST:PORT[?token=TOKEN|token_file=FILE&tls=on|off&ca=FILE&server_name=NAME
//!             &certificate=FILE&key=FILE&rate=RATE&latency=TIME]
//! remote:unix:PATH[?..]
//! ```
//!
//! `process` selects the process in which an emulated drive runs: `shared` is this one, and `own`
//! is a separate one, as for drives that use a vendor's runtime.
//!
//! A [`DriveSpec`] holds text only: nothing is opened here, and the code that opens the drive
//! checks a parameter beyond its shape. Values are percent-decoded. A token never appears in
//! `Debug` or `Display`.

use std::{collections::BTreeMap, fmt};

/// The kind of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DriveScheme {
    /// The host's own processor, running commands in place of a drive.
    Cpu,
    /// A SmartSSD in software.
    Emulated,
    /// A SmartSSD reached through XRT.
    Xrt,
    /// A drive that another process or machine serves over a socket.
    Remote,
}

impl DriveScheme {
    const ALL: [Self; 4] = [Self::Cpu, Self::Emulated, Self::Xrt, Self::Remote];

    /// The scheme as written in front of the colon; it is also the name of a drive that is given
    /// none.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Emulated => "emulated",
            Self::Xrt => "xrt",
            Self::Remote => "remote",
        }
    }

    /// Parameters of the scheme, with the shapes of their values.
    fn parameters(self) -> &'static [(&'static str, Shape)] {
        match self {
            Self::Cpu => &[],
            Self::Emulated => &[
                ("root", Shape::Text),
                ("seed", Shape::Number { min: 0, max: u64::MAX }),
                ("cus", Shape::Number { min: 1, max: 15 }),
                ("lanes", Shape::Number { min: 1, max: 16 }),
                ("merge_cus", Shape::Number { min: 0, max: 15 }),
                ("profile", Shape::Text),
                ("memory", Shape::Number { min: 1 << 20, max: u64::MAX }),
                ("hot_block_reads", Shape::Number { min: 0, max: 4_294_967_295 }),
                ("faults", Shape::Text),
                (PROCESS, Shape::OneOf(&["shared", "own"])),
            ],
            Self::Xrt => {
                &[("xclbin", Shape::Text), ("merge_xclbin", Shape::Text), ("root", Shape::Text)]
            }
            Self::Remote => &[
                ("token", Shape::Text),
                ("token_file", Shape::Text),
                ("tls", Shape::OneOf(&["on", "off"])),
                ("ca", Shape::Text),
                ("server_name", Shape::Text),
                ("certificate", Shape::Text),
                ("key", Shape::Text),
                ("rate", Shape::Text),
                ("latency", Shape::Text),
            ],
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            Self::Cpu | Self::Emulated | Self::Remote => &[],
            Self::Xrt => &["xclbin"],
        }
    }

    /// The syntax of a URL of this scheme.
    fn usage(self) -> &'static str {
        match self {
            Self::Cpu => "cpu:",
            Self::Emulated => {
                "emulated:[?root=DIR&seed=N&profile=PROFILE&cus=N&lanes=N&merge_cus=N\
                 &memory=BYTES&hot_block_reads=N&faults=SPEC&process=PROCESS]"
            }
            Self::Xrt => "xrt:INDEX-or-BDF?xclbin=FILE[&merge_xclbin=FILE&root=MOUNT]",
            Self::Remote => {
                "remote://HOST:PORT or remote:unix:PATH, either with \
                 [?token=TOKEN|token_file=FILE&tls=on|off&ca=FILE&server_name=NAME\
                 &certificate=FILE&key=FILE&rate=RATE&latency=TIME]"
            }
        }
    }
}

/// A drive the user asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct DriveSpec {
    /// Name of the drive in settings, plans and tables; unique within an engine.
    pub name: String,
    /// Kind of the drive.
    pub scheme: DriveScheme,
    /// Empty for `cpu` and `emulated`, device index or address for `xrt`, `host:port` or
    /// `unix:path` for `remote`.
    pub target: String,
    /// Parameters by name, percent-decoded.
    pub params: BTreeMap<String, String>,
}

/// The reason why a drive URL was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid drive URL '{url}'")]
pub struct DriveSpecError {
    /// The URL as it was written, without the value of any token.
    pub url: String,
    /// The error in it.
    pub reason: String,
    /// The syntax of such a URL.
    pub usage: String,
}

/// The shape of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Number { min: u64, max: u64 },
    OneOf(&'static [&'static str]),
}

/// The parameter that selects the process of a drive.
pub(crate) const PROCESS: &str = "process";

impl DriveSpec {
    /// Reads `[NAME=]URL`; a drive without a name is called by its scheme.
    ///
    /// # Errors
    /// [`DriveSpecError`] if the scheme, the target or a parameter is not one of those above.
    pub fn parse(text: &str) -> Result<Self, DriveSpecError> {
        let (name, url) = split_name(text);
        let refuse = |scheme: Option<DriveScheme>, reason: String| DriveSpecError {
            url: redact(text),
            reason,
            usage: usage(scheme),
        };
        let (word, rest) = match url.split_once(':') {
            Some(parts) => parts,
            // Users often type `--drive emulated` without the colon, which is unambiguous.
            None => (url, ""),
        };
        let scheme = DriveScheme::ALL
            .into_iter()
            .find(|scheme| scheme.as_str() == word)
            .ok_or_else(|| refuse(None, format!("unknown scheme '{}'", redact(word))))?;
        let (target, query) = rest.split_once('?').unwrap_or((rest, ""));
        let target = parse_target(scheme, target).map_err(|why| refuse(Some(scheme), why))?;
        let params = parse_params(scheme, query).map_err(|why| refuse(Some(scheme), why))?;
        let name = match name {
            Some("") => return Err(refuse(Some(scheme), "the name is empty".to_owned())),
            Some(name) if !is_plain_name(name) => {
                let name = redact(name);
                let why =
                    format!("the name '{name}' has other signs than letters, digits, _ and -");
                return Err(refuse(Some(scheme), why));
            }
            Some(name) if name.eq_ignore_ascii_case("any") => {
                let why = "'any' stands for all drives and names none".to_owned();
                return Err(refuse(Some(scheme), why));
            }
            Some(name) => name.to_owned(),
            None => scheme.as_str().to_owned(),
        };
        Ok(Self { name, scheme, target, params })
    }

    /// Returns the value of a parameter, if it was given.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// Formats the URL for another program: without the name, with the values encoded.
    pub(crate) fn url(&self) -> String {
        let mut url = format!("{}:{}{}", self.scheme.as_str(), self.slashes(), self.target);
        for (index, (name, value)) in self.params.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            url.push_str(&format!("{separator}{name}={}", percent_encode(value)));
        }
        url
    }

    /// The text in front of the target.
    fn slashes(&self) -> &'static str {
        match self.scheme {
            DriveScheme::Remote if !self.target.starts_with(UNIX) => "//",
            DriveScheme::Remote | DriveScheme::Cpu | DriveScheme::Emulated | DriveScheme::Xrt => "",
        }
    }
}

/// Prefix of a target that is a Unix socket.
const UNIX: &str = "unix:";

impl fmt::Display for DriveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, slashes) = (self.scheme.as_str(), self.slashes());
        write!(f, "{}={scheme}:{slashes}{}", self.name, self.target)?;
        for (index, (name, value)) in self.params.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            let value = if name == "token" { "..." } else { value };
            write!(f, "{separator}{name}={value}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DriveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DriveSpec({self})")
    }
}

/// Splits `NAME=` off; an equals sign after a colon or a question mark belongs to the URL.
fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, url)) if !name.contains([':', '?', '/']) => (Some(name), url),
        _ => (None, text),
    }
}

/// Whether `name` needs no quotes in plans and settings.
fn is_plain_name(name: &str) -> bool {
    name.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-'))
}

fn usage(scheme: Option<DriveScheme>) -> String {
    let all = || DriveScheme::ALL.map(DriveScheme::usage).join(", ");
    scheme.map_or_else(all, |scheme| scheme.usage().to_owned())
}

/// Removes the values of all tokens from a URL that goes into an error message.
fn redact(text: &str) -> String {
    let mut parts = text.split("token=");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for after in parts {
        let rest = after.find('&').map_or("", |end| &after[end..]);
        shown.push_str(&format!("token=...{rest}"));
    }
    shown
}

fn parse_target(scheme: DriveScheme, target: &str) -> Result<String, String> {
    match scheme {
        DriveScheme::Cpu | DriveScheme::Emulated => {
            // Users know the spelling `emulated://?seed=7` from other programs.
            match target.trim_matches('/') {
                "" => Ok(String::new()),
                other => Err(format!("'{other}' is out of place: the scheme takes no target")),
            }
        }
        DriveScheme::Xrt => {
            let is_index = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit());
            if is_index || is_bdf(target) {
                Ok(target.to_owned())
            } else {
                Err(format!(
                    "'{target}' is neither a device index nor an address like 0000:3b:00.1"
                ))
            }
        }
        DriveScheme::Remote if target.starts_with(UNIX) => match target.len() > UNIX.len() {
            true => Ok(target.to_owned()),
            false => Err("the path of the socket is missing".to_owned()),
        },
        DriveScheme::Remote => {
            let host_port = target.strip_prefix("//").unwrap_or(target).trim_end_matches('/');
            match host_port.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(host_port.to_owned())
                }
                _ => Err(format!("'{host_port}' is neither HOST:PORT nor unix:PATH")),
            }
        }
    }
}

/// Whether `text` is a PCI address: `[domain:]bus:device.function`, all hexadecimal.
fn is_bdf(text: &str) -> bool {
    let is_hex = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (bus, slot) = match parts.as_slice() {
        [bus, slot] => (*bus, *slot),
        [domain, bus, slot] if is_hex(domain, 4) => (*bus, *slot),
        _ => return false,
    };
    let Some((device, function)) = slot.split_once('.') else {
        return false;
    };
    is_hex(bus, 2) && is_hex(device, 2) && is_hex(function, 1)
}

fn parse_params(scheme: DriveScheme, query: &str) -> Result<BTreeMap<String, String>, String> {
    let mut params = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("parameter '{pair}' has no value"))?;
        let known = scheme.parameters();
        let Some((_, shape)) = known.iter().find(|(known, _)| *known == name) else {
            return Err(format!("unknown parameter '{name}'"));
        };
        let value = percent_decode(value)
            .ok_or_else(|| format!("parameter '{name}' is not percent-encoded text"))?;
        check_shape(name, &value, *shape)?;
        if params.insert(name.to_owned(), value).is_some() {
            return Err(format!("parameter '{name}' is given twice"));
        }
    }
    match scheme.required().iter().find(|name| !params.contains_key(**name)) {
        Some(missing) => Err(format!("parameter '{missing}' is missing")),
        None => Ok(params),
    }
}

fn check_shape(name: &str, value: &str, shape: Shape) -> Result<(), String> {
    match shape {
        Shape::Text if value.is_empty() => Err(format!("parameter '{name}' is empty")),
        Shape::Text => Ok(()),
        Shape::OneOf(words) if words.contains(&value) => Ok(()),
        Shape::OneOf(words) => {
            Err(format!("parameter '{name}' is not one of {}: '{value}'", words.join(", ")))
        }
        Shape::Number { min, max } => match value.parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(()),
            _ if max == u64::MAX => Err(format!("parameter '{name}' is not a number: '{value}'")),
            _ => Err(format!("parameter '{name}' is not a number from {min} to {max}: '{value}'")),
        },
    }
}

/// Decodes `%41` to `A`; returns nothing if an escape is cut short or the bytes are not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            // `from_str_radix` takes a sign for a digit.
            let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Encodes every character that has a meaning in a URL; the inverse of [`percent_decode`].
fn percent_encode(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' | b',' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02x}"),
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("cpu:", "cpu=cpu:")]
    #[case("cpu", "cpu=cpu:")]
    #[case("emulated:", "emulated=emulated:")]
    #[case("emulated", "emulated=emulated:")]
    #[case("emulated:?seed=7&cus=4", "emulated=emulated:?cus=4&seed=7")]
    #[case("emulated://?seed=7", "emulated=emulated:?seed=7")]
    #[case("fast=emulated:?root=/data%20x", "fast=emulated:?root=/data x")]
    #[case("emulated:?faults=kernel_timeout@0.1", "emulated=emulated:?faults=kernel_timeout@0.1")]
    #[case("xrt:0?xclbin=scan.xclbin", "xrt=xrt:0?xclbin=scan.xclbin")]
    #[case("a=xrt:0000:3b:00.1?xclbin=s&root=/mnt", "a=xrt:0000:3b:00.1?root=/mnt&xclbin=s")]
    #[case("xrt:3b:00.1?xclbin=s", "xrt=xrt:3b:00.1?xclbin=s")]
    #[case("remote://storage:7000", "remote=remote://storage:7000")]
    #[case("far=remote://[::1]:7000?token=abc", "far=remote://[::1]:7000?token=...")]
    #[case("remote:unix:/run/drive", "remote=remote:unix:/run/drive")]
    #[case("emulated:?process=own", "emulated=emulated:?process=own")]
    fn reads_url(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(DriveSpec::parse(text).unwrap().to_string(), shown);
    }

    #[rstest]
    #[case("smart:", "unknown scheme 'smart'")]
    #[case("", "unknown scheme ''")]
    #[case("=emulated:", "the name is empty")]
    #[case("my drive=cpu:", "the name 'my drive' has other signs than letters, digits, _ and -")]
    #[case("any=emulated:", "'any' stands for all drives and names none")]
    #[case("cpu:?seed=1", "unknown parameter 'seed'")]
    #[case("cpu:0", "'0' is out of place: the scheme takes no target")]
    #[case("emulated:?sead=1", "unknown parameter 'sead'")]
    #[case("emulated:?seed", "parameter 'seed' has no value")]
    #[case("emulated:?seed=x", "parameter 'seed' is not a number: 'x'")]
    #[case("emulated:?seed=1&seed=2", "parameter 'seed' is given twice")]
    #[case("emulated:?cus=16", "parameter 'cus' is not a number from 1 to 15: '16'")]
    #[case("emulated:?cus=0", "parameter 'cus' is not a number from 1 to 15: '0'")]
    #[case(
        "emulated:?hot_block_reads=4294967296",
        "parameter 'hot_block_reads' is not a number from 0 to 4294967295: '4294967296'"
    )]
    #[case("emulated:?root=", "parameter 'root' is empty")]
    #[case("emulated:?root=%4", "parameter 'root' is not percent-encoded text")]
    #[case("emulated:?root=%+4", "parameter 'root' is not percent-encoded text")]
    #[case("emulated:?root=%ff", "parameter 'root' is not percent-encoded text")]
    #[case("xrt:0", "parameter 'xclbin' is missing")]
    #[case("xrt:?xclbin=s", "'' is neither a device index nor an address like 0000:3b:00.1")]
    #[case(
        "xrt:3b:0.1?xclbin=s",
        "'3b:0.1' is neither a device index nor an address like 0000:3b:00.1"
    )]
    #[case("emulated:?process=mine", "parameter 'process' is not one of shared, own: 'mine'")]
    #[case("remote:", "'' is neither HOST:PORT nor unix:PATH")]
    #[case("remote://storage", "'storage' is neither HOST:PORT nor unix:PATH")]
    #[case("remote://storage:70000", "'storage:70000' is neither HOST:PORT nor unix:PATH")]
    #[case("remote:unix:", "the path of the socket is missing")]
    fn refuses_url(#[case] text: &str, #[case] reason: &str) {
        assert_eq!(DriveSpec::parse(text).unwrap_err().reason, reason);
    }

    #[rstest]
    #[case("fast=emulated:?root=/data%20x%26y&seed=7", "emulated:?root=/data%20x%26y&seed=7")]
    #[case("xrt:0000:3b:00.1?xclbin=s%3f.xclbin", "xrt:0000:3b:00.1?xclbin=s%3f.xclbin")]
    #[case("remote://storage:7000?token=a%26b", "remote://storage:7000?token=a%26b")]
    #[case("remote:unix:/run/drive", "remote:unix:/run/drive")]
    fn formatted_url_parses_to_the_same_spec(#[case] text: &str, #[case] url: &str) {
        let spec = DriveSpec::parse(text).unwrap();
        assert_eq!(spec.url(), url);
        let again = DriveSpec::parse(url).unwrap();
        assert_eq!((again.scheme, again.target), (spec.scheme, spec.target));
        assert_eq!(again.params, spec.params);
    }

    #[test]
    fn unknown_scheme_lists_every_way_to_write_a_url() {
        let usage = DriveSpec::parse("smart:").unwrap_err().usage;
        for scheme in DriveScheme::ALL {
            assert!(usage.contains(scheme.usage()), "{usage}");
        }
    }

    #[test]
    fn token_is_kept_but_never_shown() {
        let spec = DriveSpec::parse("remote://storage:7000?token=abc").unwrap();
        assert_eq!(spec.param("token"), Some("abc"));
        assert!(!format!("{spec:?} {spec}").contains("abc"));
        let error = DriveSpec::parse("remote://storage?token=abc").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("abc"));
        for lacking in ["remote?token=abc", "remote?a&token=abc"] {
            let error = DriveSpec::parse(lacking).unwrap_err();
            assert!(!format!("{error} {}", error.reason).contains("abc"), "{error:?}");
        }
        let twice = DriveSpec::parse("remote://storage:7000?token=abc&token=xyz").unwrap_err();
        assert!(!format!("{twice} {twice:?}").contains("xyz"), "{twice}");
    }
}
