// SPDX-License-Identifier: Apache-2.0
//! Checks what the statements of a session may do: change something, and open files.
//!
//! An [`Access`] checks each logical plan before it is executed, and each file that a statement
//! names. It resolves names first: it follows symbolic links and removes `..`. It does not protect
//! against a link that another program puts below an allowed folder while a statement is planned.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use datafusion::{
    common::{DataFusionError, tree_node::TreeNodeRecursion},
    logical_expr::{DdlStatement, LogicalPlan, Statement, WriteOp},
};
use url::Url;

use crate::{
    error::{AccessError, PathError},
    files,
};

/// Prefixes of the settings that limit what a query takes of the machine.
const LIMITS: [&str; 3] = ["datafusion.runtime.", "datafusion.execution.", "nearscan.host."];

/// The setting with one of these prefixes that limits nothing.
const TIME_ZONE: &str = "datafusion.execution.time_zone";

/// The permissions of statements; by default they may do anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    is_read_only: bool,
    /// Roots below which files may be opened; if empty, any file may be.
    roots: Vec<Root>,
}

#[derive(Debug, Clone)]
enum Root {
    /// A folder, without links.
    Folder(PathBuf),
    /// A URL that ends with a slash.
    Url(String),
}

impl Access {
    /// Refuses statements that change something from now on.
    pub(crate) fn refuse_writes(&mut self) {
        self.is_read_only = true;
    }

    /// Adds a place where files may be opened.
    ///
    /// # Errors
    /// [`PathError`] if it does not exist, or is no URL.
    pub(crate) fn allow(&mut self, root: &str) -> Result<(), PathError> {
        let root = match remote(root)? {
            Some(url) => Root::Url(format!("{}/", url.as_str().trim_end_matches('/'))),
            None => Root::Folder(canonical(&files::local_path(root)?)?),
        };
        self.roots.push(root);
        Ok(())
    }

    /// Whether some files and URLs may not be opened.
    pub(crate) fn restricts_locations(&self) -> bool {
        !self.roots.is_empty()
    }

    /// Refuses a plan that changes something, or names a file that may not be opened.
    pub(crate) fn check_plan(&self, plan: &LogicalPlan) -> Result<(), DataFusionError> {
        if !self.is_read_only && self.roots.is_empty() {
            return Ok(());
        }
        plan.apply_with_subqueries(|node| {
            match node {
                LogicalPlan::Ddl(ddl) => {
                    self.check_write(ddl_name(ddl))?;
                    if let DdlStatement::CreateExternalTable(create) = ddl {
                        let mut locations = create.locations.iter();
                        locations.try_for_each(|it| self.check_location(it))?;
                    }
                }
                LogicalPlan::Dml(dml) => self.check_write(dml_name(&dml.op))?,
                LogicalPlan::Copy(copy) => {
                    self.check_write("COPY TO")?;
                    self.check_output(&copy.output_url)?;
                }
                LogicalPlan::Statement(Statement::SetVariable(set)) => {
                    self.check_setting(&set.variable.to_lowercase())?;
                }
                LogicalPlan::Statement(Statement::ResetVariable(reset)) => {
                    self.check_setting(&reset.variable.to_lowercase())?;
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map(|_| ())
    }

    fn check_write(&self, what: &str) -> Result<(), DataFusionError> {
        match self.is_read_only {
            true => Err(AccessError::ReadOnly { what: what.to_owned() }.into()),
            false => Ok(()),
        }
    }

    /// Refuses to call what may change something, at a place that is not below an allowed root.
    pub(crate) fn check_call(&self, what: &str, location: &str) -> Result<(), DataFusionError> {
        self.check_write(what)?;
        self.check_location(location)
    }

    /// Refuses to change a setting that limits something, where that is refused.
    pub(crate) fn check_setting(&self, key: &str) -> Result<(), DataFusionError> {
        let is_limit = key != TIME_ZONE && LIMITS.iter().any(|prefix| key.starts_with(prefix));
        match self.is_read_only && is_limit {
            true => Err(AccessError::ReadOnly { what: format!("SET {key}") }.into()),
            false => Ok(()),
        }
    }

    /// Refuses a file, folder, pattern or URL that is not below an allowed root.
    pub(crate) fn check_location(&self, location: &str) -> Result<(), DataFusionError> {
        match self.roots.is_empty() || self.is_allowed(location)? {
            true => Ok(()),
            false => Err(AccessError::Outside { location: location.to_owned() }.into()),
        }
    }

    /// Refuses to write a file that would not be below an allowed root.
    fn check_output(&self, location: &str) -> Result<(), DataFusionError> {
        let is_new = || {
            let path = files::local_path(location).ok()?;
            let parent =
                path.ancestors().skip(1).find(|it| it.as_os_str().is_empty() || it.exists());
            let parent = parent.filter(|it| !it.as_os_str().is_empty());
            let has_dots = path.components().any(|part| part == Component::ParentDir);
            let parent = fs::canonicalize(parent.unwrap_or_else(|| Path::new("."))).ok()?;
            Some(!has_dots && !path.exists() && self.has_folder_of(&parent))
        };
        match self.roots.is_empty() || is_new() == Some(true) {
            true => Ok(()),
            false => self.check_location(location),
        }
    }

    fn is_allowed(&self, location: &str) -> Result<bool, DataFusionError> {
        let external = |error: PathError| DataFusionError::External(error.into());
        if let Some(url) = remote(location).map_err(external)? {
            // Parsing has removed the dots, and `has_escaped_dots` refuses encoded ones.
            let is_below = |root: &Root| match root {
                Root::Url(root) => url.as_str().starts_with(root.as_str()),
                Root::Folder(_) => false,
            };
            return Ok(self.roots.iter().any(is_below) && !has_escaped_dots(&url));
        }
        let fixed = files::fixed_part(&files::local_path(location).map_err(external)?);
        // A missing file is refused like a forbidden one, so that the error does not reveal which
        // files exist.
        let Ok(start) = fs::canonicalize(&fixed) else { return Ok(false) };
        Ok(self.has_folder_of(&start) && self.holds_what_links_lead_to(&start))
    }

    /// Whether a path without links is below a root.
    fn has_folder_of(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| matches!(root, Root::Folder(root) if path.starts_with(root)))
    }

    /// Whether no link below a folder leads out of the roots.
    fn holds_what_links_lead_to(&self, path: &Path) -> bool {
        let Ok(entries) = fs::read_dir(path) else { return true };
        entries.flatten().all(|entry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => fs::canonicalize(entry.path())
                .is_ok_and(|target| self.has_folder_of(&target) && !target.is_dir()),
            Ok(kind) if kind.is_dir() => self.holds_what_links_lead_to(&entry.path()),
            _ => true,
        })
    }
}

fn ddl_name(ddl: &DdlStatement) -> &'static str {
    match ddl {
        DdlStatement::CreateExternalTable(_) => "CREATE EXTERNAL TABLE",
        DdlStatement::CreateMemoryTable(_) => "CREATE TABLE",
        DdlStatement::CreateView(_) => "CREATE VIEW",
        DdlStatement::CreateCatalogSchema(_) => "CREATE SCHEMA",
        DdlStatement::CreateCatalog(_) => "CREATE DATABASE",
        DdlStatement::CreateIndex(_) => "CREATE INDEX",
        DdlStatement::DropTable(_) => "DROP TABLE",
        DdlStatement::DropView(_) => "DROP VIEW",
        DdlStatement::DropCatalogSchema(_) => "DROP SCHEMA",
        DdlStatement::CreateFunction(_) => "CREATE FUNCTION",
        DdlStatement::DropFunction(_) => "DROP FUNCTION",
    }
}

fn dml_name(operation: &WriteOp) -> &'static str {
    match operation {
        WriteOp::Insert(_) => "INSERT INTO",
        WriteOp::Delete => "DELETE",
        WriteOp::Update => "UPDATE",
        WriteOp::Ctas => "CREATE TABLE",
        WriteOp::Truncate => "TRUNCATE",
        // The enum is non-exhaustive: MERGE INTO, and later additions.
        _ => "MERGE INTO",
    }
}

/// Parses a location as a URL; nothing if it is a local file.
fn remote(location: &str) -> Result<Option<Url>, PathError> {
    match location.split_once("://") {
        None | Some(("file", _)) => Ok(None),
        Some(_) => match Url::parse(location) {
            Ok(url) => Ok(Some(url)),
            Err(_) => Err(PathError::NotLocal { url: location.to_owned() }),
        },
    }
}

fn has_escaped_dots(url: &Url) -> bool {
    url.path().to_ascii_lowercase().contains("%2e")
}

fn canonical(path: &Path) -> Result<PathBuf, PathError> {
    fs::canonicalize(path).map_err(|_| PathError::NotFound(path.to_owned()))
}
