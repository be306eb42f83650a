// SPDX-License-Identifier: Apache-2.0
//! Keeps what a ring has registered: the parts of one pool, and files.
//!
//! A registered file is open in the kernel until it is taken out. So a ring is interrupted when a
//! file of its table is closed, and takes it out before it waits again; one that is idle just
//! then does so when it is used next. A ring without a free slot uses the file's descriptor.

use std::{os::fd::AsRawFd, sync::Arc};

use io_uring::IoUring;

use crate::{
    backend::Request,
    file::{Access, WeakFile},
    interrupt::Interrupt,
    target::Registered,
};

/// A file in the ring's table.
#[derive(Debug)]
struct Slot {
    key: (u64, Access),
    file: WeakFile,
}

/// What a ring has registered.
#[derive(Debug, Default)]
pub(super) struct Registers {
    /// The number of the pool.
    pool: Option<u64>,
    slots: Vec<Option<Slot>>,
    used: usize,
}

impl Registers {
    pub(super) fn new(pool: Option<u64>, files: usize) -> Self {
        Self { pool, slots: (0..files).map(|_| None).collect(), used: 0 }
    }

    /// The registered buffer that memory is a part of.
    pub(super) fn part(&self, registered: Option<Registered>) -> Option<u16> {
        registered.filter(|part| Some(part.pool) == self.pool).map(|part| part.index)
    }

    /// The place of a request's file, which gets one if there is one.
    pub(super) fn slot<I: Interrupt + 'static>(
        &mut self,
        ring: &IoUring,
        request: &Request,
        on_close: &Arc<I>,
    ) -> Option<u32> {
        let key = request.file.key(request.access);
        let is_same = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.key == key);
        if let Some(place) = self.slots.iter().position(is_same) {
            return u32::try_from(place).ok();
        }
        if self.used == self.slots.len() {
            return None;
        }
        let place = self.slots.iter().position(Option::is_none)?;
        let number = u32::try_from(place).ok()?;
        let handle = request.file.handle(request.access).as_raw_fd();
        ring.submitter().register_files_update(number, &[handle]).ok()?;
        request.file.on_close(Arc::<I>::downgrade(on_close));
        self.slots[place] = Some(Slot { key, file: request.file.downgrade() });
        self.used += 1;
        Some(number)
    }

    /// Takes out the files that were closed. Requests in flight keep theirs open.
    pub(super) fn release_closed(&mut self, ring: &IoUring) {
        if self.used == 0 {
            return;
        }
        for (number, place) in (0_u32..).zip(&mut self.slots) {
            if place.as_ref().is_some_and(|slot| slot.file.is_closed())
                && ring.submitter().register_files_update(number, &[-1]).is_ok()
            {
                *place = None;
                self.used -= 1;
            }
        }
    }
}
