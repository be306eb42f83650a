// SPDX-License-Identifier: Apache-2.0
//! Checks that a pool waits instead of growing, is fair, and returns what it was charged.

use std::{
    error::Error as StdError,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    task::{Context, Poll, Waker},
    thread,
};

use futures::{Future, executor::block_on};
use nearscan_io::{Charge, Error, Pool, PoolOptions, Target, Unlimited};

/// A grant of so many bytes.
#[derive(Debug)]
pub(crate) struct Limited(pub(crate) AtomicU64);

impl Limited {
    pub(crate) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(bytes)))
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Charge for Limited {
    fn try_grow(&self, bytes: u64) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let taken =
            self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|left| format!("{left} bytes are left").into())
    }

    fn shrink(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::SeqCst);
    }
}

fn pool(buffers: usize) -> Pool {
    let options = PoolOptions { buffer_bytes: 5000, buffers };
    Pool::new(options, &(Arc::new(Unlimited) as _)).unwrap()
}

#[test]
fn pool_is_charged_until_its_last_buffer_is_gone() {
    let limited = Limited::new(100_000);
    let charge: Arc<dyn Charge> = Arc::<Limited>::clone(&limited);
    let options = PoolOptions { buffer_bytes: 5000, buffers: 3 };
    let pool = Pool::new(options, &charge).unwrap();
    assert_eq!((pool.buffer_bytes(), pool.bytes(), limited.left()), (8192, 24_576, 75_424));
    match Pool::new(PoolOptions { buffers: 100, ..options }, &charge) {
        Err(error @ Error::Memory { bytes: 819_200, .. }) => {
            assert_eq!(error.detail().unwrap(), "75424 bytes are left");
        }
        other => panic!("{other:?}"),
    }
    let last = pool.try_take().unwrap();
    drop(pool);
    assert_eq!(limited.left(), 75_424);
    drop(last);
    assert_eq!(limited.left(), 100_000);
}

#[test]
fn empty_pool_waits_for_a_buffer() {
    let pool = pool(2);
    let (first, second) = (pool.try_take().unwrap(), pool.try_take().unwrap());
    assert_ne!(first.pointer(), second.pointer());
    assert!(first.pointer().addr().is_multiple_of(4096));
    assert!(pool.try_take().is_none());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let taken = pool.take_blocking();
            sender.send(taken.pointer().addr()).unwrap();
        });
        assert!(receiver.try_recv().is_err());
        let expected = first.pointer().addr();
        drop(first);
        assert_eq!(receiver.recv(), Ok(expected));
    });
    assert_eq!(pool.free(), 1);
}

#[test]
fn who_asks_first_is_served_first_also_if_others_leave() {
    let pool = pool(1);
    let only = pool.try_take().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut waits: Vec<_> = (0..3).map(|_| Box::pin(pool.take())).collect();
    for wait in &mut waits {
        assert!(wait.as_mut().poll(&mut context).is_pending());
    }
    drop(only);
    // The second may not overtake, and neither may who did not wait.
    assert!(waits[1].as_mut().poll(&mut context).is_pending());
    assert!(pool.try_take().is_none());
    assert!(Box::pin(pool.take()).as_mut().poll(&mut context).is_pending());
    // The first leaves: it is the second's turn.
    drop(waits.remove(0));
    let Poll::Ready(taken) = waits[0].as_mut().poll(&mut context) else {
        panic!("a buffer is free")
    };
    assert!(waits[1].as_mut().poll(&mut context).is_pending());
    drop(taken);
    assert!(waits[1].as_mut().poll(&mut context).is_ready());
}

#[test]
fn many_threads_share_few_buffers() {
    let pool = pool(3);
    thread::scope(|scope| {
        for number in 1..9 {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..200 {
                    let mut buffer = block_on(pool.take());
                    buffer.fill(number);
                    assert!(buffer.iter().all(|byte| *byte == number));
                }
            });
        }
    });
    assert_eq!(pool.free(), 3);
}
