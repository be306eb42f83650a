// SPDX-License-Identifier: Apache-2.0
//! Gives fuzzers the handlers that clients register.
//!
//! # Panics
//! When what must hold of a handler does not.

use nearscan_applications::{Beginning, fuzz};
use prost::Message;

use crate::{
    protocol::applications::{Handler, Register},
    server::handler_of,
};

/// Reads what a client says of a handler, as a server does. What it is shown of the handler is what
/// it has said. Whether that is a handler.
pub fn registered(bytes: &[u8]) -> bool {
    let Ok(register) = Register::decode(bytes) else { return false };
    let Ok((handler, beginning)) = handler_of(register.clone()) else { return false };
    let shown = Handler::from(&(handler.clone(), 7));
    let Handler { name, application, filter, position } = shown;
    assert_eq!((&name, &application, position), (&register.name, &register.application, 7));
    assert_eq!(filter, register.filter, "a filter comes back");
    let after = match beginning {
        Beginning::Now => None,
        Beginning::Oldest => Some(0),
        Beginning::After(number) => Some(number),
    };
    assert_eq!(after, register.after, "it begins where it was said");
    fuzz::handler(&handler)
}
