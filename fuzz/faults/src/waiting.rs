// SPDX-License-Identifier: Apache-2.0
//! Waits, with a bound, for what ends a little later than the query that began it.

use std::time::Duration;

use nearscan::drive::clock::Stopwatch;

/// The longest wait, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the value that is not zero after the wait; nothing once it is zero.
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
