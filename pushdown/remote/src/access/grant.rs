// SPDX-License-Identifier: Apache-2.0
//! Adds a client to an access file.
//!
//! The file is replaced as a whole, so a reader sees it with or without the client, also after a
//! crash. What is in it, comments too, stays as it is. Two who add clients at once wait for each
//! other.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::{
    error::{AccessError, Problem},
    file::{check_name, parse, read_text},
    scope::{Scope, Scopes},
    token::Token,
};

/// Adds a client, with a new token. The file is made when there is none.
pub(super) fn grant(path: &Path, name: &str, scopes: Scopes) -> Result<Token, AccessError> {
    let wrong = |field: &'static str, problem: Problem| {
        let path = path.to_owned();
        Err(AccessError::Grant { path, field, problem })
    };
    if let Err(problem) = check_name(name) {
        return wrong("name", problem);
    }
    let failed = |reason: io::Error| AccessError::Write { path: path.to_owned(), reason };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = File::open(folder).map_err(failed)?;
    // The file itself is another one after each change, so its folder is what is locked.
    folder.lock().map_err(failed)?;
    let mut text = match read_text(path) {
        Err(AccessError::Read { reason, .. }) if reason.kind() == io::ErrorKind::NotFound => {
            "# SPDX-License-Identifier: Apache-2.0\n".to_owned()
        }
        text => text?,
    };
    parse(path, &text)?;
    let token = Token::random().map_err(AccessError::Random)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&block(name, &token, scopes));
    match parse(path, &text) {
        Err(AccessError::Field { field, problem, .. }) => return wrong(field, problem),
        clients => drop(clients?),
    }
    replace(path, &text, &folder).map_err(failed)?;
    Ok(token)
}

/// The text of a client.
fn block(name: &str, token: &Token, scopes: Scopes) -> String {
    let scopes: Vec<String> = scopes.iter().map(quoted).collect();
    let (digest, scopes) = (token.digest(), scopes.join(", "));
    format!("\n[[client]]\nname = \"{name}\"\ntoken_sha256 = \"{digest}\"\nscopes = [{scopes}]\n")
}

fn quoted(scope: Scope) -> String {
    format!("\"{scope}\"")
}

/// Replaces a file as a whole.
fn replace(path: &Path, text: &str, folder: &File) -> io::Result<()> {
    let new = Beside::make(path)?;
    (&new.file).write_all(text.as_bytes())?;
    new.file.sync_all()?;
    fs::rename(&new.path, path)?;
    folder.sync_all()
}

/// A file that becomes another one, and is removed on drop unless it has.
struct Beside {
    path: PathBuf,
    file: File,
}

impl Beside {
    fn make(path: &Path) -> io::Result<Self> {
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(format!(".{}.new", uuid::Uuid::new_v4().simple()));
        let path = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // There is none once it has become the other.
        drop(fs::remove_file(&self.path));
    }
}
