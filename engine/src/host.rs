// SPDX-License-Identifier: Apache-2.0
//! Measures the speed of one core of this machine for the cost model. It is measured once, when a
//! drive is attached and the cost model first needs it, and is cached for later runs.
//!
//! The rates are those of an idle core, taken from the fastest of a few passes; they do not depend
//! on how many cores are free. The module [`measure`] runs the passes, and [`cache`] stores the
//! rates. If both fail, the optimizer uses the rates of a typical server.

mod cache;
mod measure;

use std::sync::LazyLock;

use datafusion::{catalog::Session, common::runtime::SpawnedTask, prelude::SessionConfig};
use futures::lock::Mutex;
use nearscan_drive::clock::Stopwatch;
use nearscan_optimizer::{
    NearscanOptions, PushdownContext, core_rates,
    cost::{CoreRates, HostRates},
    settings::{HostOptions, PushdownMode},
};

/// The rates that were measured in this process or read from the cache; engines share them.
static RATES: LazyLock<Mutex<Option<CoreRates>>> = LazyLock::new(|| Mutex::new(None));

/// Gives the session the rates of its host, if the cost model needs them.
pub(crate) async fn calibrate(session: &dyn Session, context: &PushdownContext) {
    let options = session.config_options().extensions.get::<NearscanOptions>();
    let NearscanOptions { pushdown, host, .. } = options.cloned().unwrap_or_default();
    if pushdown.mode != PushdownMode::Auto || is_set(&host) || context.core_rates().is_some() {
        return;
    }
    if let Some(rates) = measured().await {
        context.set_core_rates(rates);
    }
}

/// Returns the rates of the host with the cores that a session uses: the settings' values,
/// otherwise the measured ones.
pub(crate) async fn rates(config: &SessionConfig) -> HostRates {
    let options = config.options().extensions.get::<NearscanOptions>();
    let options = options.map(|options| options.host).unwrap_or_default();
    let measured = if is_set(&options) { None } else { measured().await };
    HostRates::new(config.target_partitions(), core_rates(measured, &options))
}

/// Returns the measured rates of a core.
async fn measured() -> Option<CoreRates> {
    let mut known = RATES.lock().await;
    if known.is_none() {
        *known = SpawnedTask::spawn_blocking(cached_or_measured).await.ok().flatten();
    }
    *known
}

/// Whether the settings determine all rates.
fn is_set(options: &HostOptions) -> bool {
    let HostOptions {
        decode_bytes_per_s,
        decode_values_per_s,
        merge_rows_per_s,
        result_bytes_per_s,
    } = options;
    [decode_bytes_per_s, decode_values_per_s, merge_rows_per_s, result_bytes_per_s]
        .iter()
        .all(|rate| rate.is_some())
}

/// Returns the cached rates; if there are none, measures and caches them.
fn cached_or_measured() -> Option<CoreRates> {
    let file = cache::file();
    let machine = cache::machine();
    if let Some(rates) = file.as_deref().and_then(|file| cache::read(file, &machine)) {
        return Some(rates);
    }
    let watch = Stopwatch::start();
    let rates = measure::core_rates()?;
    tracing::debug!(?rates, elapsed = ?watch.elapsed(), "the host was measured");
    if let Some(file) = file {
        cache::write(&file, &machine, &rates);
    }
    Some(rates)
}
