// SPDX-License-Identifier: Apache-2.0
//! Registers the drives that an engine has attached, by name.

use std::sync::{Arc, RwLock};

use crate::drive::Drive;

/// Attached drives. Plans hold names; `execute` resolves them here.
#[derive(Debug, Default)]
pub struct Drives {
    attached: RwLock<Vec<(String, Arc<dyn Drive>)>>,
}

impl Drives {
    /// Attaches a drive under a name. A drive attached earlier under the same name is replaced and
    /// returned.
    pub fn attach(&self, name: impl Into<String>, drive: Arc<dyn Drive>) -> Option<Arc<dyn Drive>> {
        let name = name.into();
        let mut attached = self.write();
        match attached.iter_mut().find(|(other, _)| *other == name) {
            Some((_, slot)) => Some(std::mem::replace(slot, drive)),
            None => {
                attached.push((name, drive));
                None
            }
        }
    }

    /// The drive with this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Drive>> {
        self.list().into_iter().find(|(other, _)| other == name).map(|(_, drive)| drive)
    }

    /// Every drive, in the order of attaching.
    pub fn list(&self) -> Vec<(String, Arc<dyn Drive>)> {
        // A poisoned lock only means that another thread panicked between two whole states.
        self.attached.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<(String, Arc<dyn Drive>)>> {
        self.attached.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
