// SPDX-License-Identifier: Apache-2.0
//! Defines the errors of the engine, by cause, each with the three parts that a user reads.
//!
//! *Primary* (`Display`) says what is wrong, *detail* says where and with what, *hint* says what to
//! do about it. Each part begins in lower case and has no full stop; a detail that quotes
//! DataFusion or the user keeps the original letters.
//!
//! The private module `classify` sorts DataFusion's errors into causes: by type if there is one,
//! otherwise by wording. The original error stays reachable as `source`.

mod classify;
mod store;

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use datafusion::common::DataFusionError;
use nearscan_dialect::DialectError;

use crate::{drive_spec::DriveSpecError, settings::SettingError};

pub(crate) use classify::ErrorContext;
pub use store::{StoreError, StoreProblem};

/// Result of an engine call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an engine call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not SQL.
    #[error("syntax error{}", at(.place))]
    Syntax {
        /// The tokens that the parser expected and found.
        message: String,
        /// The place, if the parser reports one.
        place: Option<Box<Place>>,
    },
    /// A call that takes one statement was given none or several.
    #[error("expected one statement, found {found}")]
    StatementCount {
        /// Number of statements in the text.
        found: usize,
    },
    /// There is no such table.
    #[error("table '{}' not found", .0.name)]
    TableNotFound(Box<Missing>),
    /// There is no such column.
    #[error("column '{}' not found", .0.name)]
    ColumnNotFound(Box<Missing>),
    /// There is no such function, or it does not take these arguments.
    #[error("function '{}' not found", .0.name)]
    FunctionNotFound(Box<Missing>),
    /// A column is neither a grouping key nor inside of an aggregate.
    #[error("column '{column}' is neither grouped nor aggregated")]
    NotGrouped {
        /// Name of the column, with its table.
        column: String,
    },
    /// The name is taken.
    #[error("table '{name}' already exists")]
    TableExists {
        /// Name of the table.
        name: String,
    },
    /// A convenience of the dialect is used in a way that it does not have.
    #[error(transparent)]
    Dialect(Box<DialectError>),
    /// A path cannot be made into a table.
    #[error(transparent)]
    Path(#[from] PathError),
    /// An object store cannot be used.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// The values do not match the parameters of the statement.
    #[error(transparent)]
    Parameter(ParameterError),
    /// The query was cancelled.
    #[error("the query was cancelled")]
    Cancelled,
    /// The query exceeded its timeout.
    #[error("the query took longer than {}", seconds(*after))]
    Timeout {
        /// The timeout.
        after: Duration,
    },
    /// The session does not permit the statement.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// No setting has this key.
    #[error("unknown setting '{}'", .0.name)]
    SettingNotFound(Box<Missing>),
    /// A setting was given a wrong value, or cannot be changed.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A setting of DataFusion was given a wrong key or value.
    #[error("invalid setting")]
    Configuration(#[source] Box<DataFusionError>),
    /// A drive URL is wrong.
    #[error(transparent)]
    DriveSpec(Box<DriveSpecError>),
    /// Two drives have one name.
    #[error("two drives are named '{name}'")]
    DriveNameTaken {
        /// The name.
        name: String,
    },
    /// A drive cannot be opened.
    #[error("drive '{name}' cannot be opened")]
    Drive {
        /// The drive's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The query exceeded the memory limit.
    #[error("memory limit reached")]
    Memory(#[source] Box<DataFusionError>),
    /// The query exceeded the disk limit for temporary files.
    #[error("disk limit for temporary files reached")]
    Disk(#[source] Box<DataFusionError>),
    /// A file has invalid contents, or ends early.
    #[error("data cannot be read")]
    Data(#[source] Box<DataFusionError>),
    /// Reading or writing failed.
    #[error("input or output failed")]
    Io(#[source] Box<DataFusionError>),
    /// The statement is SQL that this version does not run.
    #[error("not supported")]
    Unsupported(#[source] Box<DataFusionError>),
    /// The statement does not make sense: types, names, scopes.
    #[error("invalid statement")]
    Plan(#[source] Box<DataFusionError>),
    /// The statement failed while it ran: overflow, division by zero, a cast.
    #[error("statement failed")]
    Execution(#[source] Box<DataFusionError>),
    /// An invariant of the program was broken; a defect.
    #[error("internal error")]
    Internal(#[source] Box<DataFusionError>),
}

const _: () = assert!(size_of::<Error>() <= 64);

/// The place of an error in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// The whole line, without its end.
    pub text: String,
}

/// A name that was not found, with the names that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The name that was looked up.
    pub name: String,
    /// Similar names, the most similar first.
    pub similar: Vec<String>,
    /// All existing names, if they are known.
    pub known: Vec<String>,
}

/// The reason why a path cannot be made into a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing is there.
    #[error("file '{}' not found", .0.display())]
    NotFound(PathBuf),
    /// A folder or pattern has no readable file.
    #[error("no data files in '{}'", .0.display())]
    Empty(PathBuf),
    /// A folder holds files of several formats.
    #[error("'{}' holds files of several formats", path.display())]
    Mixed {
        /// The folder.
        path: PathBuf,
        /// The formats, as extensions.
        formats: Vec<&'static str>,
    },
    /// The locations of one table are in several places that cannot be read together.
    #[error("a table cannot be in '{first}' and in '{other}'")]
    SeveralStores {
        /// The first location.
        first: String,
        /// The first one that is elsewhere.
        other: String,
    },
    /// No object store is registered for the URL.
    #[error("'{url}' is not a local file")]
    NotLocal {
        /// The URL.
        url: String,
    },
}

/// A mismatch between the values and the parameters of a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A parameter has no value.
    #[error("parameter {name} has no value")]
    Missing {
        /// The parameter.
        name: String,
        /// All parameters of the statement.
        names: Vec<String>,
    },
    /// A value has no parameter.
    #[error("the statement has no parameter {name}")]
    Unknown {
        /// The parameter that the value was given for.
        name: String,
        /// All parameters of the statement.
        names: Vec<String>,
    },
    /// A value cannot be cast to the type of its parameter.
    #[error("the value of parameter {name} has the wrong type")]
    Type {
        /// The parameter.
        name: String,
        /// The reason why the value cannot be cast.
        reason: String,
    },
}

/// An operation that a session does not permit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The statement would change something.
    #[error("the session is read-only")]
    ReadOnly {
        /// The statement, as SQL calls it.
        what: String,
    },
    /// A file is not below an allowed root.
    #[error("'{location}' is outside of the folders that this session may read")]
    Outside {
        /// The path, pattern or URL.
        location: String,
    },
}

impl From<AccessError> for DataFusionError {
    fn from(error: AccessError) -> Self {
        Self::External(error.into())
    }
}

impl Error {
    /// Returns the detail: where the error is and with what values, if `Display` does not say it.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Syntax { message, place } => Some(match place {
                Some(place) => format!("{message}\n{place}"),
                None => message.clone(),
            }),
            Self::TableNotFound(missing) => missing.detail("tables"),
            Self::ColumnNotFound(missing) => missing.detail("columns"),
            Self::FunctionNotFound(missing) => missing.detail("functions"),
            Self::Setting(SettingError::InvalidValue { expected, .. }) => {
                Some(format!("it takes {expected}"))
            }
            Self::Setting(SettingError::Impossible { reason, .. }) => Some(reason.to_string()),
            Self::Path(PathError::Mixed { formats, .. }) => Some(formats.join(", ")),
            Self::Path(PathError::SeveralStores { .. }) => {
                let reason = "only objects of servers (drive://HOST:PORT/..) may be of several";
                Some(reason.to_owned())
            }
            Self::DriveSpec(error) => Some(error.reason.clone()),
            Self::Store(error) => error.detail(),
            Self::Dialect(error) => error.detail(),
            Self::NotGrouped { .. } => {
                let reason = "PRIMARY KEY and UNIQUE are not enforced, so a key of a table does \
                              not determine its other columns";
                Some(reason.to_owned())
            }
            Self::Parameter(
                ParameterError::Missing { names, .. } | ParameterError::Unknown { names, .. },
            ) => Some(match names.as_slice() {
                [] => "it has no parameters".to_owned(),
                names => format!("parameters: {}", names.join(", ")),
            }),
            Self::Parameter(ParameterError::Type { reason, .. }) => Some(reason.clone()),
            Self::Access(AccessError::ReadOnly { what }) => {
                Some(format!("{what} is not a read-only statement"))
            }
            Self::StatementCount { .. }
            | Self::TableExists { .. }
            | Self::Access(AccessError::Outside { .. })
            | Self::Cancelled
            | Self::Timeout { .. }
            | Self::Path(_)
            | Self::Setting(_)
            | Self::SettingNotFound(_)
            | Self::DriveNameTaken { .. } => None,
            Self::Drive { reason, .. } => Some(reason.clone()),
            Self::Data(source) => Some(classify::message_about_file(source)),
            Self::Configuration(source)
            | Self::Memory(source)
            | Self::Disk(source)
            | Self::Io(source)
            | Self::Unsupported(source)
            | Self::Plan(source)
            | Self::Execution(source)
            | Self::Internal(source) => Some(classify::message(source.find_root())),
        }
    }

    /// Returns the hint: a way to solve the problem, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::TableNotFound(missing) | Self::ColumnNotFound(missing) => {
                return missing.hint();
            }
            Self::FunctionNotFound(missing) => {
                let list = "SHOW FUNCTIONS lists all of them".to_owned();
                return missing.hint().or(Some(list));
            }
            Self::NotGrouped { column } => {
                return Some(format!("add {column} to GROUP BY, or use first_value({column})"));
            }
            Self::StatementCount { found: 0 } => "pass one statement",
            Self::StatementCount { .. } => "run them one by one, or as a script",
            Self::TableExists { .. } => "use CREATE OR REPLACE, or DROP TABLE first",
            Self::Store(error) => return error.hint(),
            Self::Dialect(error) => return error.hint(),
            Self::Path(PathError::NotFound(path)) if is_url(path) => {
                "check the bucket and the path, which are case-sensitive"
            }
            Self::Path(PathError::NotFound(_)) => "check the path and the folder you are in",
            Self::Path(PathError::Empty(_)) => {
                "name the files with a pattern such as 'folder/*.parquet'"
            }
            Self::Path(PathError::Mixed { .. }) => {
                "choose one format with a pattern such as 'folder/*.parquet'"
            }
            Self::Path(PathError::SeveralStores { .. }) => {
                "make a table of each location, and a view with UNION ALL over them"
            }
            Self::Path(PathError::NotLocal { .. }) => {
                "copy the data to a local folder, or register an object store for the URL"
            }
            Self::Timeout { .. } => "raise the timeout, or let the query read less",
            Self::Access(AccessError::ReadOnly { .. }) => "run it in a session that may write",
            Self::Access(AccessError::Outside { .. }) => {
                "name a file below an allowed root, or have its table registered"
            }
            Self::SettingNotFound(missing) => {
                let list = "SHOW ALL lists all settings and their values".to_owned();
                return missing.hint().or(Some(list));
            }
            Self::Setting(SettingError::UnknownKey { .. }) => {
                "SELECT * FROM nearscan.settings lists all of them"
            }
            Self::Setting(SettingError::OfEngine { .. }) => {
                "set it where the engine is made, or in its first session"
            }
            Self::Setting(SettingError::Impossible { .. }) => {
                "with auto, files are read with pread where there is no io_uring"
            }
            Self::Configuration(_) => "SHOW ALL lists all settings and their values",
            Self::DriveSpec(error) => return Some(format!("write {}", error.usage)),
            Self::Drive { .. } => "omit --drive to run everything on the CPU",
            Self::DriveNameTaken { .. } => "give each drive its own name: NAME=URL",
            Self::Memory(_) => {
                "raise the limit (--memory-limit, or SET datafusion.runtime.memory_limit = '4G') \
                 or use fewer threads (--threads)"
            }
            Self::Disk(_) => {
                "raise the limit (SET datafusion.runtime.max_temp_directory_size = '200G') or \
                 choose another disk (--temp-directory)"
            }
            Self::Internal(_) => "this is a defect: please report it together with the statement",
            Self::Syntax { .. }
            | Self::Setting(SettingError::InvalidValue { .. })
            | Self::Parameter(_)
            | Self::Cancelled
            | Self::Data(_)
            | Self::Io(_)
            | Self::Unsupported(_)
            | Self::Plan(_)
            | Self::Execution(_) => return None,
        };
        Some(hint.to_owned())
    }

    /// Formats all parts, one a line, without a newline after the last:
    ///
    /// ```text
    /// error: table 'lineitm' not found
    ///   detail: tables: lineitem, orders
    ///   hint: did you mean 'lineitem'?
    /// ```
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!("error: {self}");
        let parts = [("detail", self.detail()), ("hint", self.hint())];
        for (label, part) in parts {
            let Some(part) = part else { continue };
            let mut lines = part.lines();
            text.push_str(&format!("\n  {label}: {}", lines.next().unwrap_or_default()));
            for line in lines {
                text.push_str(&format!("\n{:width$}{line}", "", width = label.len() + 4));
            }
        }
        text
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        ErrorContext::default().classify(error)
    }
}

impl From<DriveSpecError> for Error {
    fn from(error: DriveSpecError) -> Self {
        Self::DriveSpec(Box::new(error))
    }
}

impl fmt::Display for Place {
    /// Writes the line, and below it a caret under the column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = usize::try_from(self.column).unwrap_or(1).max(1);
        // Tabs are kept, so that the caret is below its character whatever their width is.
        let indent: String = self
            .text
            .chars()
            .chain(std::iter::repeat(' '))
            .take(column - 1)
            .map(|sign| if sign == '\t' { '\t' } else { ' ' })
            .collect();
        write!(f, "{}\n{indent}^", self.text)
    }
}

impl Missing {
    fn detail(&self, what: &str) -> Option<String> {
        /// Largest number of names that are listed; a list of a thousand tables does not help.
        const NAMES_MAX: usize = 20;
        if self.known.is_empty() {
            return None;
        }
        let shown = &self.known[..self.known.len().min(NAMES_MAX)];
        let mut text = format!("{what}: {}", shown.join(", "));
        if self.known.len() > NAMES_MAX {
            text.push_str(&format!(" and {} more", self.known.len() - NAMES_MAX));
        }
        Some(text)
    }

    fn hint(&self) -> Option<String> {
        let quoted: Vec<String> = self.similar.iter().map(|name| format!("'{name}'")).collect();
        (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
    }
}

fn is_url(path: &Path) -> bool {
    path.to_string_lossy().contains("://")
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn at(place: &Option<Box<Place>>) -> String {
    place.as_ref().map_or_else(String::new, |place| {
        format!(" at line {}, column {}", place.line, place.column)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_three_parts_with_the_caret_below_the_error() {
        let place = Place { line: 2, column: 3, text: "\tx y".to_owned() };
        let error = Error::Syntax { message: "no".to_owned(), place: Some(Box::new(place)) };
        let expected = "error: syntax error at line 2, column 3\n  detail: no\n          \tx y\n          \t ^";
        assert_eq!(error.render(), expected);
    }

    #[test]
    fn detail_lists_names_up_to_a_limit() {
        let missing = Missing {
            name: "a".to_owned(),
            similar: vec!["b".to_owned(), "c".to_owned()],
            known: (0..23).map(|index| format!("t{index}")).collect(),
        };
        let error = Error::TableNotFound(Box::new(missing));
        assert!(error.detail().unwrap().ends_with("t19 and 3 more"));
        assert_eq!(error.hint().unwrap(), "did you mean 'b' or 'c'?");
    }

    #[test]
    fn render_omits_empty_parts() {
        let error = Error::StatementCount { found: 0 };
        assert_eq!(
            error.render(),
            "error: expected one statement, found 0\n  hint: pass one statement"
        );
        let error = Error::Plan(Box::new(DataFusionError::Plan("x".to_owned())));
        assert_eq!(error.render(), "error: invalid statement\n  detail: x");
    }
}
