// SPDX-License-Identifier: Apache-2.0
//! Implements the interface `output`: the rows of a table function, on their way to the query.

use nearscan_drive::clock::Stopwatch;

use super::guest::Guest;
use crate::{
    bindings::{Stop, nearscan::drive::output::Host},
    refusal::Refusal,
};

impl Host for Guest {
    async fn write(&mut self, piece: Vec<u8>) -> Result<(), Stop> {
        let Some(output) = &self.output else {
            let text = "no query reads this call".to_owned();
            return Err(Refusal::Unavailable(text).into());
        };
        let waiting = Stopwatch::start();
        let sent = output.send(piece).await;
        self.clock.add_waited(waiting.elapsed());
        sent.map_err(|_| Refusal::Unavailable("the query needs no more".to_owned()).into())
    }
}
