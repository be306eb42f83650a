// SPDX-License-Identifier: Apache-2.0
//! Implements [`Alarm`], which wakes the task of one direction of a stream.
//!
//! A timer of the runtime is up to 2 ms late, which is more than most links take. So a task that
//! waits for less than [`FINE_MAX`] is woken by a thread as well, which is late by what the system
//! needs to wake one, about 0.1 ms. There is one thread for all links of the process; it begins
//! with the first wait. Which of the two comes first does not matter, for the time is read again.
//!
//! Virtual time has no use for the thread, and does not bear it: while the thread is about to wake
//! a task, a paused clock sees nothing to do and moves on to the next timer.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    pin::Pin,
    sync::{Arc, Condvar, LazyLock, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use nearscan_drive::clock::Stopwatch;
use tokio::time::{Instant, Sleep, sleep_until};

/// A wait that is longer is left to the runtime's timer alone, which is late by 2 % at most then.
/// It also bounds how long the thread keeps a wait that is no longer wanted.
const FINE_MAX: Duration = Duration::from_millis(100);

/// The waits of the process; nothing when the system has no thread for them.
static WAITS: LazyLock<Option<Arc<Waits>>> = LazyLock::new(Waits::start);

/// What the streams of a link wait with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timers {
    /// The runtime's timers and a thread: late by about 0.1 ms.
    Fine,
    /// The runtime's timers alone: late by up to 2 ms, and right in virtual time.
    Runtime,
}

/// Waits for a point in time, which may be another one each time.
#[derive(Debug)]
pub(super) struct Alarm {
    timers: Timers,
    coarse: Option<Pin<Box<Sleep>>>,
    fine: Option<(Instant, Call)>,
}

impl Alarm {
    pub(super) fn new(timers: Timers) -> Self {
        Self { timers, coarse: None, fine: None }
    }

    /// Whether `at` has come; otherwise the task is woken when it does.
    pub(super) fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        match self.timers {
            Timers::Fine => self.call_at(cx.waker(), at, left),
            Timers::Runtime => {}
        }
        let sleep = self.coarse.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }

    fn call_at(&mut self, waker: &Waker, at: Instant, left: Duration) {
        match &self.fine {
            Some((known_at, call)) if *known_at == at => call.renew(waker),
            _ if left > FINE_MAX => {}
            _ => {
                let Some(waits) = &*WAITS else { return };
                if let Some((_, call)) = self.fine.replace((at, waits.add(left, waker))) {
                    call.cancel();
                }
            }
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some((_, call)) = &self.fine {
            call.cancel();
        }
    }
}

/// A task to be woken, unless it no longer waits.
#[derive(Debug, Clone)]
struct Call(Arc<Mutex<Option<Waker>>>);

impl Call {
    /// Another task may wait now; it does nothing once the time has come.
    fn renew(&self, waker: &Waker) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = waiting.as_mut() {
            known.clone_from(waker);
        }
    }

    fn cancel(&self) {
        drop(self.take());
    }

    fn take(&self) -> Option<Waker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What the thread waits for.
#[derive(Debug)]
struct Waits {
    /// Times count from here.
    watch: Stopwatch,
    due: Mutex<BinaryHeap<Reverse<Due>>>,
    /// Told of a wait that ends before the others.
    changed: Condvar,
}

/// A call and its time.
#[derive(Debug)]
struct Due {
    at: Duration,
    call: Call,
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Due {}

impl Waits {
    fn start() -> Option<Arc<Self>> {
        let (due, changed) = (Mutex::default(), Condvar::new());
        let waits = Arc::new(Self { watch: Stopwatch::start(), due, changed });
        let work = {
            let waits = Arc::clone(&waits);
            move || waits.run()
        };
        let started = std::thread::Builder::new().name("link timer".to_owned()).spawn(work);
        match started {
            Ok(_detached) => Some(waits),
            Err(error) => {
                tracing::warn!(%error, "links are late by up to 2 ms, for want of a thread");
                None
            }
        }
    }

    fn add(&self, left: Duration, waker: &Waker) -> Call {
        let call = Call(Arc::new(Mutex::new(Some(waker.clone()))));
        let new = Due { at: self.watch.elapsed() + left, call: call.clone() };
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = due.peek().is_none_or(|Reverse(first)| new < *first);
        due.push(Reverse(new));
        drop(due);
        if is_first {
            self.changed.notify_one();
        }
        call
    }

    fn run(&self) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = self.watch.elapsed();
            let left = due.peek().map(|Reverse(first)| first.at.saturating_sub(now));
            due = match left {
                None => self.changed.wait(due).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    let first = due.pop();
                    drop(due);
                    // Without the lock: a waker is foreign code.
                    if let Some(waker) = first.and_then(|Reverse(first)| first.call.take()) {
                        waker.wake();
                    }
                    self.due.lock().unwrap_or_else(PoisonError::into_inner)
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(due, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// How late an alarm is, the median of many.
    async fn lateness(timers: Timers, wait: Duration) -> Duration {
        let mut late = Vec::new();
        let mut alarm = Alarm::new(timers);
        for _ in 0..51 {
            let at = Instant::now() + wait;
            poll_fn(|cx| alarm.poll_until(cx, at)).await;
            late.push(Instant::now().duration_since(at));
        }
        late.sort_unstable();
        late[25]
    }

    #[tokio::test]
    async fn short_wait_is_late_by_less_than_a_timer_of_the_runtime() {
        let wait = Duration::from_micros(300);
        let fine = lateness(Timers::Fine, wait).await;
        let coarse = lateness(Timers::Runtime, wait).await;
        assert!(fine * 2 < coarse, "{fine:?} and {coarse:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn virtual_time_is_waited_for() {
        for wait_ms in [1, 50, 99, 100, 101, 5_000] {
            let at = Instant::now() + Duration::from_millis(wait_ms);
            let mut alarm = Alarm::new(Timers::Runtime);
            poll_fn(|cx| alarm.poll_until(cx, at)).await;
            assert_eq!(Instant::now(), at);
        }
    }

    #[tokio::test]
    async fn later_time_replaces_an_earlier_one() {
        let mut alarm = Alarm::new(Timers::Fine);
        let start = Instant::now();
        let (soon, late) = (start + Duration::from_millis(50), start + Duration::from_millis(90));
        let polled = poll_fn(|cx| Poll::Ready(alarm.poll_until(cx, soon))).await;
        assert!(polled.is_pending());
        poll_fn(|cx| alarm.poll_until(cx, late)).await;
        assert!(start.elapsed() >= Duration::from_millis(90));
        assert!(alarm.fine.as_ref().is_none_or(|(at, _)| *at == late));
    }

    #[test]
    fn calls_come_in_the_order_of_their_times() {
        let call = || Call(Arc::default());
        let mut due = BinaryHeap::new();
        for at in [3, 1, 2].map(Duration::from_secs) {
            due.push(Reverse(Due { at, call: call() }));
        }
        let seconds = std::iter::from_fn(|| due.pop()).map(|Reverse(due)| due.at.as_secs());
        assert_eq!(seconds.collect::<Vec<_>>(), [1, 2, 3]);
    }
}
