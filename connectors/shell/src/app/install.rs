// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan app install`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use nearscan_remote::{
    RemoteApplications,
    applications::{Package, Replace},
};

use super::server::failed;
use crate::failure::{Failure, Result, print};

/// Options of an installation.
#[derive(Debug, Clone, Args)]
pub(crate) struct InstallArgs {
    /// The component
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    component: PathBuf,

    /// Its manifest [default: manifest.toml beside the component]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    manifest: Option<PathBuf>,

    /// Its signature of Ed25519, 64 bytes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    signature: Option<PathBuf>,

    /// Take the place of an application of the same name
    #[arg(long)]
    replace: bool,

    /// Start it too
    #[arg(long)]
    start: bool,
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Failure::input(&path.display().to_string(), &error))
}

/// Reads what is installed; without the path of a manifest, it is beside the component.
///
/// # Errors
/// [`Failure::Usage`] if a file cannot be read, or is not what it should be.
pub(crate) fn package(
    component: &Path,
    manifest: Option<&Path>,
    signature: Option<&Path>,
) -> Result<Package> {
    let path = manifest.map_or_else(|| component.with_file_name("manifest.toml"), Path::to_owned);
    let manifest = String::from_utf8(read(&path)?).map_err(|_| {
        let path = path.display();
        Failure::Usage(format!("error: '{path}' is no manifest\n  detail: it is no text"))
    })?;
    let signature = match signature {
        None => None,
        Some(path) => {
            let bytes: Result<[u8; 64], _> = read(path)?.try_into();
            Some(bytes.map_err(|bytes: Vec<u8>| {
                let (path, length) = (path.display(), bytes.len());
                let text = "error: the signature cannot be used";
                Failure::Usage(format!("{text}\n  detail: '{path}' has {length} bytes, not 64"))
            })?)
        }
    };
    Ok(Package { manifest, component: read(component)?.into(), signature })
}

/// Installs an application, and says what was installed.
pub(super) async fn install(
    applications: &RemoteApplications,
    arguments: &InstallArgs,
) -> Result<()> {
    let InstallArgs { component, manifest, signature, .. } = arguments;
    let package = package(component, manifest.as_deref(), signature.as_deref())?;
    let replace = if arguments.replace { Replace::Same } else { Replace::Never };
    let shown = component.display().to_string();
    let installed = applications.install(package, replace).await;
    let installed = installed.map_err(|error| failed("install", &shown, &error))?;
    let name = &installed.name;
    if arguments.start {
        applications.start(name).await.map_err(|error| failed("start", name, &error))?;
    }
    let state = if arguments.start { "started".to_owned() } else { installed.state.to_string() };
    print(&format!("{name} {}: {state}", installed.version))
}
