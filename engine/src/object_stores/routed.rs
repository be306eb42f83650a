// SPDX-License-Identifier: Apache-2.0
//! The objects of several servers as one object store, so that one scan can read files of all.
//!
//! DataFusion's listing table has one store. The locations of a table on several servers are
//! therefore given to it below one URL of the engine, whose paths begin with the server:
//!
//! ```text
//! drive://a:1/c/t.parquet    =>    drives://each/a:1/c/t.parquet
//! ```
//!
//! [`RoutedStore`] hands each request to the store of the server that its path names.
//!
//! # Invariants
//!
//! - No user reads or writes the URL of the engine: [`check_url`](super::check_url) refuses it, the
//!   store writes nothing, and errors name the URLs of the servers.
//! - An object is at one path, and is the same object at its own server.

use std::{fmt, ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::{
    common::DataFusionError,
    object_store::{
        CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
        ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, path::Path,
    },
};
use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use url::{Position, Url};

use super::of_servers::ServerStores;
use crate::{
    error::PathError,
    servers::{SCHEME, address_of, split_server},
};

/// The engine's URL in front of the server.
const ROUTED_URL: &str = "drives://each/";

/// The locations of one table as DataFusion can read them: those of objects of several servers
/// below one URL, others as they are.
///
/// # Errors
/// [`PathError::SeveralStores`] if they are of several stores, of which not all are servers.
pub(crate) fn routed(locations: &[String]) -> std::result::Result<Vec<String>, PathError> {
    let store = |location: &str| match Url::parse(location) {
        Ok(url) if location.contains("://") && url.scheme() != "file" => {
            url[..Position::BeforePath].to_owned()
        }
        _ => String::new(),
    };
    let Some((first, rest)) = locations.split_first() else { return Ok(Vec::new()) };
    let is_other = |location: &&String| store(location) != store(first);
    let Some(other) = rest.iter().find(is_other) else { return Ok(locations.to_vec()) };
    let below_one = |location: &String| -> Option<String> {
        let url = Url::parse(location).ok().filter(|url| url.scheme() == SCHEME)?;
        Some(format!("{ROUTED_URL}{}{}", address_of(&url), url.path()))
    };
    let several = || PathError::SeveralStores { first: first.clone(), other: other.clone() };
    locations.iter().map(below_one).collect::<Option<_>>().ok_or_else(several)
}

/// An error of DataFusion in which the engine's URL is that of the user.
pub(crate) fn with_urls_of_servers(error: DataFusionError) -> DataFusionError {
    let named = |text: String| text.replace(ROUTED_URL, "drive://");
    match error {
        DataFusionError::Plan(text) => DataFusionError::Plan(named(text)),
        DataFusionError::Execution(text) => DataFusionError::Execution(named(text)),
        DataFusionError::Internal(text) => DataFusionError::Internal(named(text)),
        DataFusionError::Context(text, inner) => {
            DataFusionError::Context(named(text), Box::new(with_urls_of_servers(*inner)))
        }
        DataFusionError::Diagnostic(diagnostic, inner) => {
            DataFusionError::Diagnostic(diagnostic, Box::new(with_urls_of_servers(*inner)))
        }
        other => other,
    }
}

/// The stores of an engine's servers as one.
#[derive(Debug)]
pub(super) struct RoutedStore {
    of_servers: ServerStores,
}

/// One server of the store.
struct Route {
    server: String,
    store: Arc<dyn ObjectStore>,
}

impl Route {
    /// A path of the server as one of the routed store.
    fn outer(&self, location: &Path) -> Path {
        let path = format!("{}/{location}", self.server);
        // Both parts were paths before.
        Path::parse(&path).unwrap_or_else(|_| Path::from(path))
    }

    fn outer_meta(&self, object: ObjectMeta) -> ObjectMeta {
        ObjectMeta { location: self.outer(&object.location), ..object }
    }
}

impl RoutedStore {
    pub(super) fn new(of_servers: ServerStores) -> Self {
        Self { of_servers }
    }

    /// The server that a path names, and the path there. No request is sent.
    fn route(&self, location: &Path) -> Result<(Route, Path)> {
        let parsed = split_server(location).and_then(|(server, path)| {
            let url = Url::parse(&format!("{SCHEME}://{server}")).ok()?;
            Some((server.to_owned(), url, path))
        });
        let Some((server, url, path)) = parsed else {
            let source = format!("{location} names no server").into();
            return Err(Error::Generic { store: "drive", source });
        };
        Ok((Route { server, store: self.of_servers.store(&url) }, path))
    }
}

fn not_written() -> Error {
    Error::NotImplemented {
        operation: "writes to several servers".to_owned(),
        implementer: "drive".to_owned(),
    }
}

/// Such that a path behind it and a slash is a URL of a user.
impl fmt::Display for RoutedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}:/")
    }
}

#[async_trait]
impl ObjectStore for RoutedStore {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(not_written())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(not_written())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (route, path) = self.route(location)?;
        let got = route.store.get_opts(&path, options).await?;
        Ok(GetResult { meta: route.outer_meta(got.meta.clone()), ..got })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (route, path) = self.route(location)?;
        route.store.get_ranges(&path, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations.and_then(|_| async { Err(not_written()) }).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let root = Path::default();
        match self.route(prefix.unwrap_or(&root)) {
            Ok((route, path)) => {
                let listed = route.store.list(Some(&path));
                listed.map_ok(move |object| route.outer_meta(object)).boxed()
            }
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let root = Path::default();
        let (route, path) = self.route(prefix.unwrap_or(&root))?;
        let listed = route.store.list_with_delimiter(Some(&path)).await?;
        Ok(ListResult {
            common_prefixes: listed.common_prefixes.iter().map(|it| route.outer(it)).collect(),
            objects: listed.objects.into_iter().map(|it| route.outer_meta(it)).collect(),
        })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(not_written())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn locations(given: &[&str]) -> Vec<String> {
        given.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn locations_of_several_servers_are_below_one_url() {
        let given = locations(&["drive://a:1/c/", "drive://[::1]:2/c/a%20b.parquet"]);
        let below = ["drives://each/a:1/c/", "drives://each/[::1]:2/c/a%20b.parquet"];
        assert_eq!(routed(&given).unwrap(), below);
    }

    #[rstest]
    #[case(&["drive://a:1/c/", "drive://a:1/d/"])]
    #[case(&["/a.parquet", "b.parquet", "file:///c.parquet"])]
    #[case(&["s3://bucket/a"])]
    #[case(&[])]
    fn locations_of_one_store_stay_as_they_are(#[case] given: &[&str]) {
        assert_eq!(routed(&locations(given)).unwrap(), given);
    }

    #[rstest]
    #[case(&["drive://a:1/c/", "/c/"])]
    #[case(&["s3://a/c/", "s3://b/c/"])]
    #[case(&["drive://a:1/c/", "drive://b:1/c/", "https://b:1/c/"])]
    fn locations_of_several_other_stores_are_an_error(#[case] given: &[&str]) {
        let error = routed(&locations(given)).unwrap_err();
        assert!(matches!(error, PathError::SeveralStores { .. }), "{error:?}");
    }

    #[test]
    fn error_has_the_url_of_the_user() {
        let text = "No files found at drives://each/a:1/c/. Cannot infer schema";
        let inner = Box::new(DataFusionError::Plan(text.to_owned()));
        let error = with_urls_of_servers(DataFusionError::Context("x".to_owned(), inner));
        assert!(error.to_string().contains("at drive://a:1/c/."), "{error}");
    }
}
