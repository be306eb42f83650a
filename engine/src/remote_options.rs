// SPDX-License-Identifier: Apache-2.0
//! Reads the settings of a connection from the parameters of a drive URL: the token, how the
//! connection is encrypted, and how fast its link is.

use std::fs;

use nearscan_remote::{LinkLimit, Options, Security, Tls, TlsOptions};

use crate::drive_spec::DriveSpec;

/// Reads the settings of a connection.
///
/// # Errors
/// The reason, if a file cannot be read, or parameters contradict each other.
pub(crate) fn of(spec: &DriveSpec) -> Result<Options, String> {
    let security = Security { token: token(spec)?, tls: tls(spec)? };
    Ok(Options { security, link: link(spec)?, ..Options::default() })
}

fn link(spec: &DriveSpec) -> Result<LinkLimit, String> {
    let rate = spec.param("rate").map(LinkLimit::parse_rate).transpose();
    let latency = spec.param("latency").map(LinkLimit::parse_latency).transpose();
    Ok(LinkLimit {
        bytes_per_s: rate.map_err(|error| error.to_string())?,
        latency: latency.map_err(|error| error.to_string())?.unwrap_or_default(),
    })
}

fn token(spec: &DriveSpec) -> Result<Option<String>, String> {
    match (spec.param("token"), spec.param("token_file")) {
        (Some(_), Some(_)) => Err("it has a token and a token_file".to_owned()),
        (Some(token), None) => Ok(Some(token.to_owned())),
        (None, Some(path)) => {
            let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            Ok(Some(text.trim().to_owned()))
        }
        (None, None) => Ok(None),
    }
}

fn tls(spec: &DriveSpec) -> Result<Tls, String> {
    let read = |name: &str| -> Result<Option<Vec<u8>>, String> {
        let Some(path) = spec.param(name) else { return Ok(None) };
        fs::read(path).map(Some).map_err(|error| format!("{path}: {error}"))
    };
    let identity = match (read("certificate")?, read("key")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err("a certificate and its key go together".to_owned()),
    };
    let options = TlsOptions {
        authorities: read("ca")?.unwrap_or_default(),
        server_name: spec.param("server_name").map(str::to_owned),
        identity,
    };
    let is_plain = options == TlsOptions::default();
    match spec.param("tls") {
        Some("off") if is_plain => Ok(Tls::Off),
        Some("off") => Err("it has certificates, and tls=off".to_owned()),
        None if is_plain => Ok(Tls::Beyond),
        _ => Ok(Tls::On(options)),
    }
}
