// SPDX-License-Identifier: Apache-2.0
//! Lends the loaded image of a drive's FPGA to commands, and exchanges it when a command needs
//! another one.
//!
//! An FPGA holds one image at a time. A drive may have two: a wide one that scans, and one that
//! scans fewer columns and also merges. A command that the loaded image can run shares it with
//! others; any other command waits until nobody uses the image, and loads its own.
//!
//! ```text
//! scan, scan, merge, scan      commands in the order of their arrival
//! |---|
//! |---|        |-----|  |---|  the merge waits for both scans; the scan behind it waits for the
//!      |load|                  exchange, and then runs in the image of the merge
//! ```
//!
//! # Invariants
//!
//! - No image is exchanged while a command uses it.
//! - A command that arrives behind one that waits for an exchange waits too, so that none waits for
//!   ever.
//! - When a load fails, no image is loaded, and the next command tries again.

use std::{
    ops::Deref,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// The place of the one image that is loaded; `T` is what a drive knows of an image.
#[derive(Debug)]
pub struct ImageSlot<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    loaded: Option<Arc<T>>,
    users: usize,
    is_exchanging: bool,
}

/// The loaded image, lent to a command until this is dropped.
#[derive(Debug)]
pub struct LentImage<'a, T> {
    slot: &'a ImageSlot<T>,
    image: Arc<T>,
    was_loaded: bool,
}

impl<T> ImageSlot<T> {
    /// A slot with this image loaded.
    pub fn new(image: T) -> Self {
        let state = State { loaded: Some(Arc::new(image)), users: 0, is_exchanging: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The image that is loaded now; nothing during an exchange, and after one that failed.
    pub fn loaded(&self) -> Option<Arc<T>> {
        self.state().loaded.clone()
    }

    /// Lends the loaded image if `suits` says that it can run the command. Otherwise waits until
    /// nobody uses it, and lends what `load` makes of it.
    ///
    /// # Errors
    /// That of `load`.
    pub fn lend<E>(
        &self,
        suits: impl FnOnce(&T) -> bool,
        load: impl FnOnce(Option<Arc<T>>) -> Result<T, E>,
    ) -> Result<LentImage<'_, T>, E> {
        let state = self.state();
        let waited = self.changed.wait_while(state, |state| state.is_exchanging);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = state.loaded.clone().filter(|image| suits(image)) {
            state.users += 1;
            return Ok(LentImage { slot: self, image, was_loaded: false });
        }
        state.is_exchanging = true;
        let waited = self.changed.wait_while(state, |state| state.users > 0);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let before = state.loaded.take();
        drop(state);
        // Ends the exchange however `load` ends.
        let exchange = Exchange(self);
        let image = Arc::new(load(before)?);
        {
            let mut state = self.state();
            state.loaded = Some(Arc::clone(&image));
            state.users += 1;
        }
        drop(exchange);
        Ok(LentImage { slot: self, image, was_loaded: true })
    }

    /// Takes the image out, for good. Nobody may use it any more.
    pub fn unload(&self) -> Option<Arc<T>> {
        self.state().loaded.take()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An exchange that goes on; when it is dropped, other commands may go on.
struct Exchange<'a, T>(&'a ImageSlot<T>);

impl<T> Drop for Exchange<'_, T> {
    fn drop(&mut self) {
        self.0.state().is_exchanging = false;
        self.0.changed.notify_all();
    }
}

impl<T> LentImage<'_, T> {
    /// Whether it was loaded for this command.
    pub const fn was_loaded(&self) -> bool {
        self.was_loaded
    }
}

impl<T> Deref for LentImage<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.image
    }
}

impl<T> Drop for LentImage<'_, T> {
    fn drop(&mut self) {
        self.slot.state().users -= 1;
        self.slot.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        thread,
    };

    use super::*;

    /// Lends the image of that name, which is loaded if it is not there.
    fn lend<'a>(
        slot: &'a ImageSlot<&'static str>,
        name: &'static str,
    ) -> LentImage<'a, &'static str> {
        slot.lend(|loaded| *loaded == name, |_| Ok::<_, ()>(name)).unwrap()
    }

    #[test]
    fn loaded_image_is_shared_and_another_one_is_loaded() {
        let slot = ImageSlot::new("scan");
        {
            let (one, two) = (lend(&slot, "scan"), lend(&slot, "scan"));
            assert!(!one.was_loaded() && !two.was_loaded());
        }
        let other = lend(&slot, "merge");
        assert!(other.was_loaded());
        assert_eq!((*other, slot.loaded().as_deref()), ("merge", Some(&"merge")));
        assert!(!lend(&slot, "merge").was_loaded());
    }

    #[test]
    fn image_in_use_is_not_exchanged() {
        let slot = ImageSlot::new("scan");
        let lent = lend(&slot, "scan");
        thread::scope(|scope| {
            let merge = scope.spawn(|| drop(lend(&slot, "merge")));
            while !slot.state().is_exchanging {
                thread::yield_now();
            }
            // One more scan would run in the loaded image, but waits behind the merge.
            let scan = scope.spawn(|| lend(&slot, "scan").was_loaded());
            assert!(!merge.is_finished() && !scan.is_finished());
            assert_eq!(slot.loaded().as_deref(), Some(&"scan"));
            drop(lent);
            merge.join().unwrap();
            assert!(scan.join().unwrap());
        });
    }

    #[test]
    fn commands_of_both_images_in_many_threads_all_run_in_theirs() {
        let slot = ImageSlot::new("scan");
        let loads = AtomicU32::new(0);
        thread::scope(|scope| {
            for name in ["scan", "merge", "scan", "merge"] {
                let (slot, loads) = (&slot, &loads);
                scope.spawn(move || {
                    for _ in 0..100 {
                        let lent = lend(slot, name);
                        assert_eq!(*lent, name);
                        loads.fetch_add(u32::from(lent.was_loaded()), Ordering::Relaxed);
                    }
                });
            }
        });
        assert!((1..=400).contains(&loads.into_inner()));
        assert_eq!(slot.state().users, 0);
    }

    #[test]
    fn image_that_was_not_loaded_is_loaded_by_the_next_command() {
        let slot = ImageSlot::new("scan");
        let failed = slot.lend(|_| false, |before| Err::<&str, _>(before.is_some()));
        assert_eq!(failed.map(drop), Err(true));
        assert_eq!(slot.loaded(), None);
        let lent =
            slot.lend(|_| true, |before| if before.is_none() { Ok("scan") } else { Err(()) });
        assert!(lent.unwrap().was_loaded());
        assert_eq!(slot.unload().as_deref(), Some(&"scan"));
        assert_eq!(slot.loaded(), None);
    }
}
