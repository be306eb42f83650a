// SPDX-License-Identifier: Apache-2.0
//! The services whose object stores are known by the scheme of their URLs.
//!
//! A scheme says the service and nothing else: `https://` is a web server, also where its host is
//! one of Amazon's.

use crate::servers::SCHEME;

/// A kind of object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    GoogleCloud,
    Azure,
    Web,
    /// A server of a drive and of objects.
    Drive,
}

impl Service {
    /// The service of a scheme in lower case; none for a local file, or an unknown scheme.
    pub(super) fn of(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::GoogleCloud),
            "az" | "azure" | "adl" | "abfs" | "abfss" => Some(Self::Azure),
            "http" | "https" => Some(Self::Web),
            SCHEME => Some(Self::Drive),
            _ => None,
        }
    }

    /// Returns the service's term for the part of a URL that contains objects.
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::S3 | Self::GoogleCloud => "bucket",
            Self::Azure => "container",
            Self::Web => "host",
            Self::Drive => "server",
        }
    }
}
