// SPDX-License-Identifier: Apache-2.0
//! Keeps the installed applications.
//!
//! An application is an object of the system: its bytes are the component, and its manifest, its
//! state and its hash are attributes, which are committed with the bytes. So an application is
//! installed as a whole or not at all, and its state survives a restart.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use bytes::Bytes;
use nearscan_store::{Condition, Error as StoreError, ObjectInfo, Store};

use crate::{
    call::StopSign,
    error::{Error, Result},
    journal::{Journal, What},
    limits::{COMPONENT_BYTES_MAX, Limits},
    manifest::Manifest,
    signature::{Signature, Trust, sha256},
    system::{self, APPLICATIONS},
};

/// The most applications.
const APPLICATIONS_MAX: usize = 1000;

const MANIFEST: &str = "manifest";
const STATE: &str = "state";
const SHA256: &str = "sha256";
const SIGNATURE: &str = "signature";

/// Whether an application can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was never started.
    Installed,
    /// It can be called.
    Started,
    /// It was stopped.
    Stopped,
}

impl State {
    /// Its name, which never changes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Started => "started",
            Self::Stopped => "stopped",
        }
    }

    fn of_name(name: &[u8]) -> Option<Self> {
        let all = [Self::Installed, Self::Started, Self::Stopped];
        all.into_iter().find(|state| state.name().as_bytes() == name)
    }
}

/// What is installed: a manifest, a component and perhaps a signature of both.
#[derive(Debug, Clone)]
pub struct Package {
    /// The manifest, in TOML.
    pub manifest: String,
    /// The component.
    pub component: Bytes,
    /// The signature, of [`signed_bytes`](crate::signed_bytes).
    pub signature: Option<Signature>,
}

/// What happens to an application of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// It stays, and the request is an error.
    Never,
    /// It is replaced. Its calls that run are stopped; it stays started if it was.
    Same,
}

/// An installed application.
#[derive(Debug, Clone)]
pub struct Application {
    /// Its manifest.
    pub manifest: Manifest,
    /// Whether it can be called.
    pub state: State,
    /// The SHA-256 of its component, in hexadecimal digits.
    pub sha256: String,
    /// Whether it came with a signature that was trusted when it was installed.
    pub signed: Signed,
    /// The object with its component.
    pub object: ObjectInfo,
    /// Stops its calls.
    pub(crate) stop: Arc<StopSign>,
}

/// Whether a package had a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It had one that was trusted.
    Yes,
    /// It had none.
    No,
}

/// A package that may be installed.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) manifest: Manifest,
    pub(crate) sha256: String,
    package: Package,
}

impl Checked {
    /// Checks everything that can be seen without compiling the component.
    pub(crate) fn new(package: Package, ceiling: &Limits, trust: &Trust) -> Result<Self> {
        let manifest = Manifest::parse(&package.manifest)?;
        manifest.limits.check(ceiling)?;
        let length = package.component.len() as u64;
        if length > COMPONENT_BYTES_MAX {
            let (what, limit) = ("the component", COMPONENT_BYTES_MAX);
            return Err(Error::TooLarge { what, length, limit });
        }
        let found = sha256(&package.component);
        if let Some(expected) = manifest.sha256.as_ref().filter(|hash| **hash != found) {
            return Err(Error::Hash { expected: expected.clone(), found });
        }
        trust.check(&package.manifest, &package.component, package.signature.as_ref())?;
        Ok(Self { manifest, sha256: found, package })
    }

    /// The component.
    pub(crate) fn component(&self) -> &[u8] {
        &self.package.component
    }
}

/// All applications.
#[derive(Debug)]
pub(crate) struct Registry {
    store: Store,
    all: RwLock<BTreeMap<String, Application>>,
}

impl Registry {
    /// Reads what is installed. An application that cannot be read is left out, and reported.
    pub(crate) fn open(store: &Store, journal: &Journal) -> Result<Self> {
        let mut all = BTreeMap::new();
        for object in store.list(&system::collection(APPLICATIONS)?, "", None, APPLICATIONS_MAX)? {
            let name = object.path.name().to_owned();
            match read(store, object) {
                Ok(application) => {
                    all.insert(name, application);
                }
                Err(error) => journal.note(&name, What::Failed { reason: error.to_string() }),
            }
        }
        Ok(Self { store: store.clone(), all: RwLock::new(all) })
    }

    fn lock(&self) -> RwLockReadGuard<'_, BTreeMap<String, Application>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, application: Application) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = all.insert(application.manifest.name.clone(), application);
        if let Some(replaced) = replaced {
            replaced.stop.put_up();
        }
    }

    pub(crate) fn all(&self) -> Vec<Application> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn get(&self, name: &str) -> Result<Application> {
        let missing = || Error::NotFound { what: format!("application {name}") };
        self.lock().get(name).cloned().ok_or_else(missing)
    }

    /// An application that can be called.
    pub(crate) fn started(&self, name: &str) -> Result<Application> {
        let application = self.get(name)?;
        match application.state {
            State::Started => Ok(application),
            State::Installed | State::Stopped => Err(Error::NotStarted { name: name.to_owned() }),
        }
    }

    /// Whether an application of the hash is installed.
    pub(crate) fn has(&self, sha256: &str) -> bool {
        self.lock().values().any(|application| application.sha256 == sha256)
    }

    pub(crate) fn install(&self, checked: Checked, replace: Replace) -> Result<Application> {
        let name = checked.manifest.name.clone();
        let what = || format!("application {name}");
        let old = self.lock().get(&name).map(|old| old.state);
        if old.is_none() && self.lock().len() >= APPLICATIONS_MAX {
            let reason = format!("there are {APPLICATIONS_MAX} already");
            return Err(Error::Invalid { what: "application", reason });
        }
        let condition = match replace {
            Replace::Never => Condition::Absent,
            Replace::Same => Condition::Always,
        };
        let state = old.unwrap_or(State::Installed);
        let Checked { manifest, sha256, package } = checked;
        let signature = package.signature.as_ref().map_or(&[][..], |signature| &signature.0);
        let path = system::object(APPLICATIONS, &name)?;
        let written = self.store.writer(&path, condition).and_then(|mut writer| {
            writer.attribute(MANIFEST, package.manifest.as_bytes())?;
            writer.attribute(STATE, state.name().as_bytes())?;
            writer.attribute(SHA256, sha256.as_bytes())?;
            writer.attribute(SIGNATURE, signature)?;
            writer.write(&package.component)?;
            writer.commit()
        });
        let object = match written {
            Ok(object) => object,
            Err(StoreError::Exists { .. }) => return Err(Error::Exists { what: what() }),
            Err(error) => return Err(error.into()),
        };
        let signed = if package.signature.is_some() { Signed::Yes } else { Signed::No };
        let stop = Arc::default();
        let application = Application { manifest, state, sha256, signed, object, stop };
        self.insert(application.clone());
        Ok(application)
    }

    /// Starts or stops an application.
    pub(crate) fn set_state(&self, name: &str, state: State) -> Result<()> {
        let old = self.get(name)?;
        let path = system::object(APPLICATIONS, name)?;
        self.store.set_attribute(&path, STATE, state.name().as_bytes())?;
        self.insert(Application { state, stop: Arc::default(), ..old });
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<Application> {
        let old = self.get(name)?;
        self.store.remove(&system::object(APPLICATIONS, name)?, Condition::Always)?;
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        old.stop.put_up();
        Ok(old)
    }

    /// Reads the component of an application.
    pub(crate) fn component(&self, application: &Application) -> Result<Bytes> {
        let component = self.store.reader(&application.object.path)?.read_all()?;
        let found = sha256(&component);
        match found == application.sha256 {
            true => Ok(component),
            false => Err(Error::Damaged {
                what: format!("application {}", application.manifest.name),
                reason: format!("its hash is {found}, and should be {}", application.sha256),
            }),
        }
    }
}

fn read(store: &Store, object: ObjectInfo) -> Result<Application> {
    let damaged = |reason: &str| Error::Damaged {
        what: format!("application {}", object.path.name()),
        reason: reason.to_owned(),
    };
    let attributes = store.attributes(&object.path)?;
    let text = |name: &str| {
        let value = attributes.get(name).and_then(|value| std::str::from_utf8(value).ok());
        value.ok_or_else(|| damaged(&format!("attribute {name} is missing")))
    };
    let manifest = Manifest::parse(text(MANIFEST)?)?;
    let state = State::of_name(text(STATE)?.as_bytes()).ok_or_else(|| damaged("unknown state"))?;
    let sha256 = text(SHA256)?.to_owned();
    let signed = match attributes.get(SIGNATURE).is_some_and(|value| !value.is_empty()) {
        true => Signed::Yes,
        false => Signed::No,
    };
    Ok(Application { manifest, state, sha256, signed, object, stop: Arc::default() })
}
