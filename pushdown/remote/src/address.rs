// SPDX-License-Identifier: Apache-2.0
//! Defines [`Address`], where a drive is served, and parses it.

use std::{fmt, path::PathBuf, str::FromStr};

/// The address at which a drive is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A socket in the file system: `unix:PATH`.
    Unix(PathBuf),
    /// A TCP port: `HOST:PORT`.
    Tcp(String),
}

/// Text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is neither unix:PATH nor HOST:PORT")]
pub struct AddressError {
    /// The given value.
    pub text: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError { text: text.to_owned() };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(wrong()) } else { Ok(Self::Unix(path.into())) };
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Self::Tcp(text.to_owned()))
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(host_port) => f.write_str(host_port),
        }
    }
}

impl Address {
    /// The URI that a channel is opened with.
    pub(crate) fn uri(&self) -> String {
        match self {
            Self::Unix(path) => format!("unix:{}", path.display()),
            Self::Tcp(host_port) => format!("http://{host_port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("unix:/run/drive.sock", "unix:/run/drive.sock")]
    #[case("unix:///run/drive.sock", "unix:/run/drive.sock")]
    #[case("unix:drive.sock", "unix:drive.sock")]
    #[case("storage:7000", "storage:7000")]
    #[case("[::1]:7000", "[::1]:7000")]
    fn addresses_are_read(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
    }

    #[rstest]
    #[case("")]
    #[case("unix:")]
    #[case("storage")]
    #[case(":7000")]
    #[case("storage:70000")]
    fn invalid_address_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<Address>(), Err(AddressError { text: text.to_owned() }));
    }
}
