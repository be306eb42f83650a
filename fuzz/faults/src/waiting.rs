// SPDX-License-Identifier: Apache-2.0
//! Waits, with a bound, for what ends a little later than the query that began it.

use std::time::Duration;

use nearscan::drive::clock::Stopwatch;

/// How long is waited, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// What is not zero in the end.
pub(crate) async fn remains<T: PartialEq + Default>(
    patience: Duration,
    look: impl Fn() -> T,
) -> Option<T> {
    let waited = Stopwatch::start();
    loop {
        let is_over = waited.elapsed() >= patience;
        let found = look();
        if found == T::default() {
            return None;
        }
        if is_over {
            return Some(found);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
