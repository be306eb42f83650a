// SPDX-License-Identifier: Apache-2.0
//! Defines [`Address`], where a drive is served, and parses it.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr};

/// The address at which a drive is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A socket in the file system: `unix:PATH`.
    Unix(PathBuf),
    /// A TCP port: `HOST:PORT`.
    Tcp(String),
}

/// How a channel is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    None,
    Tls,
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
    pub(crate) fn uri(&self, encryption: Encryption) -> String {
        match (self, encryption) {
            (Self::Unix(path), _) => format!("unix:{}", path.display()),
            (Self::Tcp(host_port), Encryption::None) => format!("http://{host_port}"),
            (Self::Tcp(host_port), Encryption::Tls) => format!("https://{host_port}"),
        }
    }

    /// Whether only programs of this machine can be at the address: it is a Unix socket, or names
    /// the loopback device.
    #[must_use]
    pub fn is_of_this_machine(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(host_port) => {
                let host = host_port.rsplit_once(':').map_or("", |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let is_loopback = |address: IpAddr| address.is_loopback();
                host.parse().map_or_else(|_| host.eq_ignore_ascii_case("localhost"), is_loopback)
            }
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
    #[case("unix:/run/drive.sock", true)]
    #[case("localhost:7000", true)]
    #[case("127.0.0.1:7000", true)]
    #[case("[::1]:7000", true)]
    #[case("0.0.0.0:7000", false)]
    #[case("[::]:7000", false)]
    #[case("storage:7000", false)]
    #[case("localhost.example:7000", false)]
    fn addresses_of_this_machine_are_known(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(text.parse::<Address>().unwrap().is_of_this_machine(), expected);
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
