// SPDX-License-Identifier: Apache-2.0
//! Publishes the events of the drive's flash to the handlers of applications, by polling.
//!
//! Their numbers are of one opening of the drive, so it begins with the first after a restart.

use std::{sync::Arc, time::Duration};

use nearscan_drive::{Drive, FlashEvent};
use tonic::Status;

use super::applications::Installed;

/// The polling interval.
const INTERVAL: Duration = Duration::from_secs(1);

/// Publishes events until the future is dropped.
pub(super) async fn publish(drive: Arc<dyn Drive>, applications: Installed) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(INTERVAL).await;
        let (drive, applications) = (Arc::clone(&drive), applications.clone());
        let publishing = tokio::task::spawn_blocking(move || {
            publish_all(&drive.flash_events(seen), seen, |event| applications.publish(event))
        });
        seen = publishing.await.unwrap_or(seen);
    }
}

/// Publishes the events behind the last one that was seen, and returns the last one that was
/// published. Those behind one that cannot be are for the next time.
fn publish_all(
    events: &[FlashEvent],
    mut seen: u64,
    publish: impl Fn(&FlashEvent) -> Result<(), Status>,
) -> u64 {
    for event in events {
        if let Err(status) = publish(event) {
            tracing::warn!(reason = status.message(), "events of the flash wait");
            break;
        }
        let missed = event.number - 1 - seen;
        if missed > 0 {
            tracing::warn!(missed, "events of the flash were dropped before they were published");
        }
        seen = event.number;
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use nearscan_drive::FlashEventKind;

    use super::*;

    #[test]
    fn event_that_cannot_be_published_is_published_later_with_those_behind_it() {
        let kind = FlashEventKind::GarbageCollection { bytes: 1 };
        let events = [3, 4, 5].map(|number| FlashEvent { number, block: 0, kind: kind.clone() });
        let published = RefCell::new(Vec::new());
        let publish = |event: &FlashEvent| {
            if event.number == 4 && published.borrow().len() < 2 {
                published.borrow_mut().push(0);
                return Err(Status::resource_exhausted("there are too many"));
            }
            published.borrow_mut().push(event.number);
            Ok(())
        };
        assert_eq!(publish_all(&events, 1, publish), 3);
        assert_eq!(publish_all(&events[1..], 3, publish), 5);
        assert_eq!(published.into_inner(), [3, 0, 4, 5]);
    }
}
