// SPDX-License-Identifier: Apache-2.0
//! Implements the interfaces `log`, `clock` and `events`.

use nearscan_drive::clock::unix_ns;

use super::guest::Guest;
use crate::{
    bindings::{
        Stop,
        nearscan::drive::{clock, events, log},
    },
    call::Level,
    limits::PAYLOAD_BYTES_MAX,
    manifest::check_name,
    refusal::Refusal,
};

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Error => Level::Error,
            log::Level::Warn => Level::Warn,
            log::Level::Info => Level::Info,
            log::Level::Debug => Level::Debug,
        };
        self.log.line(level, &message);
        Ok(())
    }
}

impl clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(unix_ns())
    }

    fn elapsed(&mut self) -> wasmtime::Result<u64> {
        Ok(u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl events::Host for Guest {
    fn emit(&mut self, name: String, payload: Vec<u8>) -> Result<(), Stop> {
        check_name(&name).map_err(Refusal::Invalid)?;
        if payload.len() > PAYLOAD_BYTES_MAX {
            let text = format!("the payload has {} bytes", payload.len());
            return Err(Refusal::TooLarge(text).into());
        }
        Ok(self.drive.publisher.emit(&self.call, &name, payload)?)
    }
}
