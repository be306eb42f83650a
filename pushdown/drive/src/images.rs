// SPDX-License-Identifier: Apache-2.0
//! Lends the loaded image of a drive's FPGA to commands, and exchanges it when a command needs
//! another one.
//!
//! An FPGA holds one image at a time. A drive may have two: a wide one that scans, and one that
//! scans fewer columns and also merges. A command that the loaded image can run shares it with
//! others; any other command waits until no command uses the image, and loads its own.
//!
//! ```text
//! scan |---|
//! scan |-----|
//! merge      |load|---|      waits for both scans
//! scan            |--|       waits for the exchange, and runs in the image of the merge
//! ```
//!
//! # Invariants
//!
//! - No image is exchanged while a command uses it.
//! - No command begins while another one waits to exchange the image, so that the image is free
//!   when those that use it have ended. Which of several that wait is the next is not said.
//! - A command that is given up while it waits loads nothing.
//! - When a load fails, no image is loaded, and the next command tries again.

use std::{
    ops::Deref,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{capabilities::ImageAbility, drive::Work};

/// Interval at which a command that waits looks whether it is given up.
const TICK: Duration = Duration::from_millis(5);

/// The image to load for a command: of `images` the first that runs it; nothing when `loaded` runs
/// it, or none does.
pub fn image_needed<T>(
    work: &Work,
    loaded: &T,
    images: impl IntoIterator<Item = T>,
    ability: impl Fn(&T) -> ImageAbility,
) -> Option<T> {
    let runs = |image: &T| work.runs_in(&ability(image));
    if runs(loaded) { None } else { images.into_iter().find(runs) }
}

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
    /// Commands that wait.
    waiting: usize,
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
        let loaded = Some(Arc::new(image));
        let state = State { loaded, users: 0, is_exchanging: false, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The image that is loaded now; nothing during an exchange, and after one that failed.
    pub fn loaded(&self) -> Option<Arc<T>> {
        self.state().loaded.clone()
    }

    /// Lends the loaded image if `suits` says that it can run the command. Otherwise waits until
    /// no command uses it, and lends what `load` makes of it: a command may still look at the one
    /// before, but runs in it no more.
    ///
    /// # Errors
    /// The reason that `give_up` has while the command waits, or before it loads; that of `load`.
    pub fn lend<E>(
        &self,
        suits: impl FnOnce(&T) -> bool,
        give_up: impl Fn() -> Option<E>,
        load: impl FnOnce(Option<Arc<T>>) -> Result<T, E>,
    ) -> Result<LentImage<'_, T>, E> {
        let mut state = self.wait_while(|state| state.is_exchanging, &give_up)?;
        if let Some(image) = state.loaded.clone().filter(|image| suits(image)) {
            state.users += 1;
            return Ok(LentImage { slot: self, image, was_loaded: false });
        }
        state.is_exchanging = true;
        drop(state);
        // Ends the exchange, however that comes.
        let exchange = Exchange(self);
        let mut state = self.wait_while(|state| state.users > 0, &give_up)?;
        if let Some(reason) = give_up() {
            drop(state);
            return Err(reason);
        }
        let before = state.loaded.take();
        drop(state);
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

    fn wait_while<E>(
        &self,
        is_early: impl Fn(&State<T>) -> bool,
        give_up: &impl Fn() -> Option<E>,
    ) -> Result<MutexGuard<'_, State<T>>, E> {
        let mut state = self.state();
        state.waiting += 1;
        while is_early(&state) {
            if let Some(reason) = give_up() {
                state.waiting -= 1;
                return Err(reason);
            }
            let waited = self.changed.wait_timeout(state, TICK);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        Ok(state)
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
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicBool, AtomicU32, Ordering},
        thread,
    };

    use super::*;

    type Names = ImageSlot<&'static str>;

    /// Lends the image of that name, which is loaded if it is not there.
    fn lend<'a>(slot: &'a Names, name: &'static str) -> LentImage<'a, &'static str> {
        slot.lend(|loaded| *loaded == name, || None::<()>, |_| Ok(name)).unwrap()
    }

    fn until(slot: &Names, is_so: impl Fn(&State<&'static str>) -> bool) {
        while !is_so(&slot.state()) {
            thread::yield_now();
        }
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
    fn image_in_use_is_not_exchanged_and_no_command_begins_meanwhile() {
        let slot = ImageSlot::new("scan");
        let lent = lend(&slot, "scan");
        thread::scope(|scope| {
            let merge = scope.spawn(|| drop(lend(&slot, "merge")));
            until(&slot, |state| state.is_exchanging && state.waiting == 1);
            // One more scan would run in the loaded image, but waits behind the merge.
            let scan = scope.spawn(|| lend(&slot, "scan").was_loaded());
            until(&slot, |state| state.waiting == 2);
            assert_eq!(slot.loaded().as_deref(), Some(&"scan"));
            drop(lent);
            merge.join().unwrap();
            assert!(scan.join().unwrap());
        });
    }

    #[test]
    fn each_of_many_commands_runs_in_its_image_and_alone_with_it() {
        let slot = ImageSlot::new("scan");
        let (loads, users) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for name in ["scan", "merge", "scan", "merge"] {
                let (slot, loads, users) = (&slot, &loads, &users);
                scope.spawn(move || {
                    for _ in 0..100 {
                        let load = |_| {
                            loads.fetch_add(1, Ordering::SeqCst);
                            assert_eq!(users.load(Ordering::SeqCst), 0);
                            Ok(name)
                        };
                        let lent = slot.lend(|loaded| *loaded == name, || None::<()>, load);
                        let lent = lent.unwrap();
                        users.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(*lent, name);
                        loads.fetch_sub(u32::from(lent.was_loaded()), Ordering::SeqCst);
                        users.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(loads.into_inner(), 0);
        let state = slot.state();
        assert_eq!((state.users, state.waiting), (0, 0));
    }

    #[test]
    fn command_that_is_given_up_while_it_waits_loads_nothing() {
        let slot = ImageSlot::new("scan");
        let lent = lend(&slot, "scan");
        let is_given_up = AtomicBool::new(false);
        let wait = || {
            let give_up = || is_given_up.load(Ordering::SeqCst).then_some("cancelled");
            slot.lend(|loaded| *loaded == "merge", give_up, |_| Ok("merge")).map(drop)
        };
        thread::scope(|scope| {
            let first = scope.spawn(wait);
            until(&slot, |state| state.is_exchanging && state.waiting == 1);
            let behind = scope.spawn(wait);
            until(&slot, |state| state.waiting == 2);
            is_given_up.store(true, Ordering::SeqCst);
            assert_eq!(first.join().unwrap(), Err("cancelled"));
            assert_eq!(behind.join().unwrap(), Err("cancelled"));
        });
        // The image is free, but the command that was given up does not load it.
        drop(lent);
        assert_eq!(wait(), Err("cancelled"));
        assert!(!lend(&slot, "scan").was_loaded());
    }

    #[test]
    fn image_that_was_not_loaded_is_loaded_by_the_next_command() {
        let slot = ImageSlot::new("scan");
        let none = || None::<bool>;
        let failed = slot.lend(|_| false, none, |before| Err(before.is_some()));
        assert_eq!(failed.map(drop), Err(true));
        assert_eq!(slot.loaded(), None);
        let load = |before: Option<_>| if before.is_none() { Ok("scan") } else { Err(false) };
        assert!(slot.lend(|_| true, none, load).unwrap().was_loaded());
        assert_eq!(slot.unload().as_deref(), Some(&"scan"));
        assert_eq!(slot.loaded(), None);
    }

    #[test]
    fn load_that_panics_leaves_the_slot_to_the_next_command() {
        let slot = ImageSlot::new("scan");
        let load = |_| -> Result<&'static str, ()> { panic!("a load that panics") };
        let panics = || slot.lend(|_| false, || None, load).map(drop);
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(lend(&slot, "merge").was_loaded());
    }
}
