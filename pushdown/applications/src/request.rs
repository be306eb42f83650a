// SPDX-License-Identifier: Apache-2.0
//! Reads and writes the lines of the command object and the response object.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    signature::sha256,
};

/// The longest line of a request, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The longest id of a request, in bytes.
pub(crate) const ID_LENGTH_MAX: usize = 200;

/// A request, as a line of the command object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Chosen by the writer; each is answered once.
    pub(crate) id: String,
    pub(crate) application: String,
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    body_base64: Option<String>,
}

impl Request {
    /// Reads a line.
    pub(crate) fn read(line: &[u8]) -> std::result::Result<Self, String> {
        if line.len() > LINE_BYTES_MAX {
            return Err(format!("the line has more than {LINE_BYTES_MAX} bytes"));
        }
        let request: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match request.id.len() {
            1..=ID_LENGTH_MAX if !request.id.starts_with('?') => Ok(request),
            _ => Err(format!("the id is not 1 to {ID_LENGTH_MAX} bytes that begin with no '?'")),
        }
    }

    /// The body of the request.
    pub(crate) fn body(&self) -> std::result::Result<Vec<u8>, String> {
        match (&self.body, &self.body_base64) {
            (Some(_), Some(_)) => Err("there are two bodies".to_owned()),
            (Some(text), None) => Ok(text.clone().into_bytes()),
            (None, Some(text)) => BASE64_STANDARD.decode(text).map_err(|error| error.to_string()),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// The id of a line that is no request.
pub(crate) fn id_of_garbage(line: &[u8]) -> String {
    format!("?{}", &sha256(line)[..16])
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// It was done.
    Done,
    /// The application said that it cannot be done.
    Failed,
    /// The application broke a rule.
    Fault,
    /// It was not run.
    Refused,
}

/// An answer, as a line of the response object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Answer {
    id: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Answer {
    /// The answer to a request that was run, or could not be.
    pub(crate) fn new(id: &str, outcome: Result<Vec<u8>>) -> Self {
        let id = id.to_owned();
        match outcome {
            Ok(bytes) => {
                let (body, body_base64) = match String::from_utf8(bytes) {
                    Ok(text) => (Some(text), None),
                    Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
                };
                Self { id, status: Status::Done, body, body_base64, error: None }
            }
            Err(Error::Failed { message, .. }) => Self::without_body(id, Status::Failed, message),
            Err(error @ Error::Fault { .. }) => {
                Self::without_body(id, Status::Fault, error.to_string())
            }
            Err(error) => Self::without_body(id, Status::Refused, error.to_string()),
        }
    }

    /// The answer to a line that is no request.
    pub(crate) fn refused(id: &str, reason: String) -> Self {
        Self::without_body(id.to_owned(), Status::Refused, reason)
    }

    fn without_body(id: String, status: Status, error: String) -> Self {
        Self { id, status, body: None, body_base64: None, error: Some(error) }
    }

    /// The id of the request.
    #[cfg(feature = "fuzz")]
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The line, with its end.
    pub(crate) fn line(&self) -> Vec<u8> {
        // A struct of texts can always be written.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The ids of the lines of a response object.
pub(crate) fn answered(lines: &[u8]) -> impl Iterator<Item = String> {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    let ids =
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    ids.map(|Id { id }| id)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"id":"1","application":"a"}"#, b"")]
    #[case(r#"{"id":"1","application":"a","body":"x"}"#, b"x")]
    #[case(r#"{"id":"1","application":"a","body_base64":"/wA="}"#, &[255, 0])]
    fn body_is_text_or_base64(#[case] line: &str, #[case] expected: &[u8]) {
        assert_eq!(Request::read(line.as_bytes()).unwrap().body().unwrap(), expected);
    }

    #[rstest]
    #[case("")]
    #[case("hello")]
    #[case(r#"{"application":"a"}"#)]
    #[case(r#"{"id":"","application":"a"}"#)]
    #[case(r#"{"id":"?1","application":"a"}"#)]
    #[case(r#"{"id":"1","application":"a","shell":"sh"}"#)]
    #[case(&format!(r#"{{"id":"1","application":"a","body":"{}"}}"#, "x".repeat(70_000)))]
    fn other_lines_are_no_requests(#[case] line: &str) {
        assert!(Request::read(line.as_bytes()).is_err());
    }

    #[test]
    fn ids_of_answers_are_found_again() {
        let answers = [
            Answer::new("1", Ok(vec![255])),
            Answer::new("2", Err(Error::Closed)),
            Answer::refused("?3", "no".to_owned()),
        ];
        let mut lines: Vec<u8> = answers.iter().flat_map(Answer::line).collect();
        lines.extend(b"garbage\n");
        assert_eq!(answered(&lines).collect::<Vec<_>>(), ["1", "2", "?3"]);
    }
}
