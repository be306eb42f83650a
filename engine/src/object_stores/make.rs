// SPDX-License-Identifier: Apache-2.0
//! Makes the object store of a URL from the environment.
//!
//! The variables are those of the crate `object_store`: `AWS_*`, `GOOGLE_*` and `AZURE_*`, as in
//! other programs that are built on it. Files of settings such as `~/.aws/credentials` are not
//! read. A web server has no variables but those of proxies, and no credentials.
//!
//! # Invariants
//!
//! - A request that nobody answers fails after [`RETRY_TIME`] and the time of one more attempt,
//!   which is 30 seconds unless the environment says otherwise (`AWS_TIMEOUT`, for example).

use std::{sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, Result, RetryConfig, aws::AmazonS3Builder,
    azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder, http::HttpBuilder,
};
use url::{Position, Url};

use super::service::Cloud;

/// Attempts after the first one.
const RETRIES_MAX: usize = 3;

/// Time after the first attempt in which another one is begun.
const RETRY_TIME: Duration = Duration::from_secs(10);

/// The longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Makes a store; no request is sent.
///
/// # Errors
/// If the URL or the environment is not valid for the store.
pub(super) fn make(cloud: Cloud, url: &Url) -> Result<Arc<dyn ObjectStore>> {
    let root = url[..Position::BeforePath].to_owned();
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: BACKOFF_MAX, ..BackoffConfig::default() },
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIME,
    };
    Ok(match cloud {
        Cloud::S3 => {
            Arc::new(AmazonS3Builder::from_env().with_url(root).with_retry(retry).build()?)
        }
        Cloud::Google => {
            let builder = GoogleCloudStorageBuilder::from_env();
            Arc::new(builder.with_url(root).with_retry(retry).build()?)
        }
        Cloud::Azure => {
            Arc::new(MicrosoftAzureBuilder::from_env().with_url(root).with_retry(retry).build()?)
        }
        Cloud::Web => {
            // Whoever writes http:// wants no encryption.
            let options = ClientOptions::new().with_allow_http(true);
            let builder = HttpBuilder::new().with_url(root).with_client_options(options);
            Arc::new(builder.with_retry(retry).build()?)
        }
    })
}
