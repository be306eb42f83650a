// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive grant`: it adds a client to the access file of a server.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use nearscan_remote::access::{Access, Scope, Scopes};

use crate::failure::{Failure, Result, print};

/// Options of a new client.
#[derive(Debug, Clone, Args)]
pub(crate) struct GrantArgs {
    /// The access file, made if there is none
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Name of the client
    name: String,

    /// What it may do: read, write, install, admin; may repeat
    #[arg(long, value_name = "SCOPE", required = true, value_delimiter = ',')]
    scope: Vec<Scope>,
}

/// Adds the client, and prints its token, which is in no file.
pub(crate) fn grant(arguments: &GrantArgs) -> Result<()> {
    let scopes: Scopes = arguments.scope.iter().copied().collect();
    let token = Access::grant(&arguments.file, &arguments.name, scopes);
    print(&token.map_err(|error| Failure::Usage(format!("error: {error}")))?.reveal())
}
