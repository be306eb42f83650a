// SPDX-License-Identifier: Apache-2.0
//! Chooses between `io_uring` and `pread`, and reports the choice.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    backend::Backend,
    error::Error,
    options::{Engine, Feature, Options, Report},
    pool::Pool,
    ring::{Facts, Issuer, Ring},
    threads::{Port, Threads},
};

/// Puts a backend around another: how tests inject faults.
pub type Wrap = Arc<dyn Fn(Box<dyn Backend>) -> Box<dyn Backend> + Send + Sync>;

/// What backends are made of.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    /// Within their limits.
    pub(crate) options: Options,
    pub(crate) pool: Option<Pool>,
    pub(crate) wrap: Option<Wrap>,
    /// Started when first needed.
    pub(crate) threads: Option<Arc<Threads>>,
}

/// What a backend has.
#[derive(Debug)]
pub(crate) struct Found {
    at_start: Report,
    is_iopoll_refused: Arc<AtomicBool>,
}

impl Found {
    /// As it is by now.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.at_start.clone();
        if self.is_iopoll_refused.load(Ordering::Relaxed) {
            report.iopoll = Feature::off("the device is not polled");
        }
        report
    }
}

impl Parts {
    /// Makes a backend.
    ///
    /// # Errors
    /// [`Error::Ring`] if there is no ring and nothing else will do; [`Error::Thread`].
    pub(crate) fn make(&mut self, issuer: Issuer) -> Result<(Box<dyn Backend>, Found), Error> {
        let (backend, report) = match self.options.engine {
            Engine::Pread => self.pread("it was asked for".to_owned())?,
            Engine::Auto => match Ring::new(&self.options, issuer, self.pool.as_ref()) {
                Ok((ring, facts)) => self.ring(ring, facts),
                Err(reason) => self.pread(reason)?,
            },
            Engine::IoUring => {
                let ring = Ring::new(&self.options, issuer, self.pool.as_ref());
                let (ring, facts) = ring.map_err(|reason| Error::Ring { reason })?;
                self.ring(ring, facts)
            }
        };
        let backend = match &self.wrap {
            Some(wrap) => wrap(backend),
            None => backend,
        };
        Ok((backend, report))
    }

    fn ring(&self, ring: Ring, facts: Facts) -> (Box<dyn Backend>, Found) {
        let report = self.report(Engine::IoUring, facts);
        (Box::new(ring), report)
    }

    fn pread(&mut self, reason: String) -> Result<(Box<dyn Backend>, Found), Error> {
        let threads = match &self.threads {
            Some(threads) => Arc::clone(threads),
            None => Threads::start(self.options.threads)?,
        };
        let port = Port::new(&threads);
        self.threads = Some(threads);
        let none = || Feature::off("the engine is pread");
        let facts = Facts {
            reason,
            registered_buffers: none(),
            registered_files: none(),
            sqpoll: none(),
            iopoll: none(),
            is_iopoll_refused: Arc::default(),
        };
        Ok((Box::new(port), self.report(Engine::Pread, facts)))
    }

    fn report(&self, engine: Engine, facts: Facts) -> Found {
        let at_start = Report {
            engine,
            reason: facts.reason,
            queue_depth: self.options.queue_depth,
            request_bytes: self.options.request_bytes,
            direct: self.options.direct,
            registered_buffers: facts.registered_buffers,
            registered_files: facts.registered_files,
            sqpoll: facts.sqpoll,
            iopoll: facts.iopoll,
        };
        Found { at_start, is_iopoll_refused: facts.is_iopoll_refused }
    }
}
