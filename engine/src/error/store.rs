// SPDX-License-Identifier: Apache-2.0
//! The reasons why an object store cannot be used.
//!
//! An object that is not there is no such error but [`PathError::NotFound`](super::PathError), as
//! for local files. A [`StoreError`] passes through the libraries that read files as a source of
//! their errors, where [`StoreError::of`] finds it.

use datafusion::common::DataFusionError;

use crate::corruption::cause;

/// The error of an object store that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.primary())]
pub struct StoreError {
    /// URL of the object, or of its store.
    pub url: String,
    /// The kind of problem.
    pub problem: StoreProblem,
    /// The message of the store, its client or its settings; may be empty.
    pub reason: String,
}

/// The kinds of problems with an object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreProblem {
    /// The program was built without object stores.
    NotBuilt,
    /// The URL names no object, or the environment says something wrong about its store.
    Settings,
    /// No credentials were found.
    NoCredentials,
    /// The store did not accept the credentials, or they do not suffice.
    Refused,
    /// The server knows the client, which lacks a scope for this.
    OutOfScope,
    /// The server has no encryption, and the environment does not say that it may have none.
    Unencrypted,
    /// No server answers, or not in time.
    Unreachable,
    /// The store answered something else than it was asked for.
    Failed,
}

impl StoreError {
    /// The problem with a store that an error is about, if it is about one.
    pub(crate) fn of(error: &DataFusionError) -> Option<&Self> {
        cause(error)
    }

    fn primary(&self) -> String {
        let url = &self.url;
        match self.problem {
            StoreProblem::NotBuilt => format!("this program was built without support for '{url}'"),
            StoreProblem::Settings => format!("no object store can be made for '{url}'"),
            StoreProblem::NoCredentials => format!("there are no credentials for '{url}'"),
            StoreProblem::Refused | StoreProblem::OutOfScope => {
                format!("access to '{url}' was refused")
            }
            StoreProblem::Unencrypted => format!("the server of '{url}' does not use encryption"),
            StoreProblem::Unreachable => format!("the server of '{url}' does not answer"),
            StoreProblem::Failed => format!("the store of '{url}' failed"),
        }
    }

    /// Returns the message of the store, its client or its settings, if there is one.
    pub(super) fn detail(&self) -> Option<String> {
        (!self.reason.is_empty()).then(|| self.reason.clone())
    }

    /// Returns the advice for the problem, if there is some.
    pub(super) fn hint(&self) -> Option<String> {
        if self.url.starts_with("drive://") {
            return match self.problem {
                StoreProblem::NoCredentials | StoreProblem::Refused => Some(
                    "attach the drive with its token: --drive \
                     'remote://HOST:PORT?token_file=FILE'"
                        .to_owned(),
                ),
                StoreProblem::OutOfScope => Some(
                    "the scopes of a client are in the access file of its server, see \
                     nearscan drive grant --help"
                        .to_owned(),
                ),
                StoreProblem::Unreachable => Some(
                    "check the address; a drive that is attached may have ca=FILE and tls=off"
                        .to_owned(),
                ),
                StoreProblem::Settings => {
                    Some("drive://HOST:PORT/COLLECTION/NAME is an object of a server".to_owned())
                }
                StoreProblem::NotBuilt | StoreProblem::Unencrypted | StoreProblem::Failed => None,
            };
        }
        let settings = self.settings();
        match (self.problem, settings) {
            (StoreProblem::NotBuilt, _) => {
                Some("build it with the feature object-stores of the crate nearscan".to_owned())
            }
            (StoreProblem::NoCredentials | StoreProblem::Refused, Some(settings)) => {
                Some(format!("set {}", settings.credentials))
            }
            (StoreProblem::Unencrypted, Some(settings)) => Some(format!(
                "set {}ALLOW_HTTP=true to allow unencrypted connections",
                settings.prefix
            )),
            (StoreProblem::Unreachable, Some(settings)) => {
                Some(format!("check the network, and {}", settings.endpoint))
            }
            (StoreProblem::Settings, Some(settings)) => {
                Some(format!("check the URL, and the variables {}*", settings.prefix))
            }
            (StoreProblem::Unreachable | StoreProblem::Settings, None) => {
                Some("check the URL".to_owned())
            }
            (
                StoreProblem::NoCredentials | StoreProblem::Refused | StoreProblem::Unencrypted,
                None,
            )
            | (StoreProblem::OutOfScope | StoreProblem::Failed, _) => None,
        }
    }

    /// The variables of the environment for the URL's scheme, if it has any.
    fn settings(&self) -> Option<&'static Settings> {
        let (scheme, _) = self.url.split_once("://")?;
        SETTINGS.iter().find(|settings| settings.schemes.contains(&scheme))
    }
}

/// Variables of the environment that configure the stores of some schemes.
struct Settings {
    schemes: &'static [&'static str],
    prefix: &'static str,
    credentials: &'static str,
    endpoint: &'static str,
}

static SETTINGS: [Settings; 3] = [
    Settings {
        schemes: &["s3", "s3a"],
        prefix: "AWS_",
        credentials: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true \
                      for public data",
        endpoint: "AWS_ENDPOINT and AWS_REGION if they are set",
    },
    Settings {
        schemes: &["gs"],
        prefix: "GOOGLE_",
        credentials: "GOOGLE_SERVICE_ACCOUNT to the path of a key, or GOOGLE_SKIP_SIGNATURE=true \
                      for public data",
        endpoint: "GOOGLE_BASE_URL if it is set",
    },
    Settings {
        schemes: &["az", "azure", "adl", "abfs", "abfss"],
        prefix: "AZURE_",
        credentials: "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or \
                      AZURE_SKIP_SIGNATURE=true for public data",
        endpoint: "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ENDPOINT",
    },
];

impl From<StoreError> for DataFusionError {
    fn from(error: StoreError) -> Self {
        Self::External(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::{object_store::Error as ObjectStoreError, parquet::errors::ParquetError};
    use rstest::rstest;

    fn error(url: &str, problem: StoreProblem) -> StoreError {
        StoreError { url: url.to_owned(), problem, reason: String::new() }
    }

    #[rstest]
    #[case("s3://b/k", "set AWS_ACCESS_KEY_ID and ")]
    #[case("gs://b/k", "set GOOGLE_SERVICE_ACCOUNT to ")]
    #[case("abfss://c@a.dfs.core.windows.net/k", "set AZURE_STORAGE_ACCOUNT_NAME and ")]
    fn hint_names_the_variables_of_the_scheme(#[case] url: &str, #[case] hint: &str) {
        let hinted = error(url, StoreProblem::Refused).hint().unwrap();
        assert!(hinted.starts_with(hint), "{hinted}");
    }

    /// A client that the server knows has shown its token.
    #[test]
    fn hint_for_a_drive_is_its_token_unless_a_scope_is_missing() {
        let hint = |problem| error("drive://h:1/c/o", problem).hint().unwrap();
        assert!(hint(StoreProblem::Refused).contains("attach the drive with its token"));
        let scope = hint(StoreProblem::OutOfScope);
        assert!(scope.contains("scopes") && !scope.contains("token"), "{scope}");
    }

    #[test]
    fn web_server_has_no_variables() {
        assert_eq!(error("https://h/k", StoreProblem::Refused).hint(), None);
        let hint = error("https://h/k", StoreProblem::Unreachable).hint();
        assert_eq!(hint.as_deref(), Some("check the URL"));
    }

    #[test]
    fn is_found_in_errors_of_libraries() {
        let error = error("s3://b/k", StoreProblem::Unreachable);
        let source = error.clone().into();
        let parquet = ParquetError::from(ObjectStoreError::Generic { store: "s3", source });
        assert_eq!(StoreError::of(&parquet.into()), Some(&error));
        assert_eq!(StoreError::of(&DataFusionError::Plan(String::new())), None);
    }
}
