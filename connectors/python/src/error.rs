// SPDX-License-Identifier: Apache-2.0
//! Makes exceptions of the package, which follow PEP 249, of the engine's errors.
//!
//! The classes are Python's (`nearscan/errors.py`): each has the parts `primary`, `detail`, `hint`
//! and `position`.

use nearscan::Error;
use pyo3::{prelude::*, sync::PyOnceLock, types::PyModule};

const MODULE: &str = "nearscan.errors";

static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The exception for an error of the engine.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let position = match error {
        Error::Syntax { place: Some(place), .. } => Some((place.line, place.column)),
        _ => None,
    };
    let (detail, hint) = (error.detail(), error.hint());
    let parts = (error.to_string(), detail, hint, position);
    make(py, class_of(error), parts)
}

/// An exception of a class of the package.
pub(crate) fn raise(
    py: Python<'_>,
    class: &str,
    primary: &str,
    detail: Option<&str>,
    hint: Option<&str>,
) -> PyErr {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    make(py, class, (primary.to_owned(), owned(detail), owned(hint), None))
}

/// Primary, detail, hint, and the line and column in the statement.
type Parts = (String, Option<String>, Option<String>, Option<(u64, u64)>);

fn make(py: Python<'_>, class: &str, parts: Parts) -> PyErr {
    let classes = CLASSES.get_or_try_init(py, || py.import(MODULE).map(Bound::unbind));
    let exception = classes.and_then(|classes| classes.bind(py).getattr(class)?.call1(parts));
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception for a panic of the engine.
pub(crate) fn panicked(py: Python<'_>) -> PyErr {
    raise(py, "InternalError", "the engine panicked", None, Some("this is a defect: report it"))
}

/// The class of an error, as PEP 249 sorts them.
const fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Cancelled => "Interrupted",
        Error::Data(_) | Error::Execution(_) => "DataError",
        Error::Unsupported(_) => "NotSupportedError",
        Error::Internal(_) => "InternalError",
        Error::Path(_)
        | Error::Store(_)
        | Error::Timeout { .. }
        | Error::Access(_)
        | Error::DriveSpec(_)
        | Error::DriveNameTaken { .. }
        | Error::Drive { .. }
        | Error::Memory(_)
        | Error::Disk(_)
        | Error::Io(_) => "OperationalError",
        _ => "ProgrammingError",
    }
}
