// SPDX-License-Identifier: Apache-2.0
//! The services whose object stores are known by the scheme of their URLs.
//!
//! A scheme says the service and nothing else: `https://` is a web server, also where its host is
//! one of Amazon's.

use crate::servers::SCHEME;

/// A kind of object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// It is made from the environment.
    Cloud(Cloud),
    /// A server of a drive and of objects.
    Drive,
}

/// A kind of object store that is made from the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cloud {
    S3,
    Google,
    Azure,
    Web,
}

impl Service {
    /// The service of a scheme in lower case; none for a local file, or an unknown scheme.
    pub(super) fn of(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" | "s3a" => Some(Self::Cloud(Cloud::S3)),
            "gs" => Some(Self::Cloud(Cloud::Google)),
            "az" | "azure" | "adl" | "abfs" | "abfss" => Some(Self::Cloud(Cloud::Azure)),
            "http" | "https" => Some(Self::Cloud(Cloud::Web)),
            SCHEME => Some(Self::Drive),
            _ => None,
        }
    }

    /// Returns the service's term for the part of a URL that contains objects.
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::Cloud(Cloud::S3 | Cloud::Google) => "bucket",
            Self::Cloud(Cloud::Azure) => "container",
            Self::Cloud(Cloud::Web) => "host",
            Self::Drive => "server",
        }
    }
}
