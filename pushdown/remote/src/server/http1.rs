// SPDX-License-Identifier: Apache-2.0
//! Answers reads of objects over HTTP/1.1, which is as fast as a web server is: the bytes go from
//! the page cache to the socket without a copy.
//!
//! Connections that begin with `GET` are taken before gRPC sees them; what is sent over them is in
//! [`crate::protocol::http1`]. They pass the same gate as all other requests. There are none where
//! connections are encrypted or throttled, since the bytes have to pass through this process then,
//! and clients read by gRPC.
//!
//! # Invariants
//!
//! - A thread of the runtime does not wait for a device: what is not in the page cache is read on a
//!   thread that may block, before it is sent. Only pages that are evicted in between are read by
//!   the one that sends. Before Linux 6.5, which tells what is cached, all is read so.
//! - A request counts as running until its last byte was handed to the system.
//! - Where clients need not say who they are, the request names the server by an address, against
//!   DNS rebinding: a web page that got hold of the address through a name of its own cannot ask
//!   for objects. Nor can it embed them (`nosniff`, `Cross-Origin-Resource-Policy`).
//! - A connection without a whole request for [`Http1Patience::request`], or without a byte taken
//!   within an answer for [`Http1Patience::taking`], is closed: a client that is there reads on
//!   over another one.
//! - What is denied is recorded as what gRPC denies is.

mod connection;
mod request;

use std::{io, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, stream};
use tokio::{net::TcpStream, sync::mpsc, time::timeout};

use super::{Served, Stage, service::Service};
use connection::Connection;

#[cfg(feature = "fuzz")]
pub(crate) use connection::{head_of, refusal, take_head};
#[cfg(feature = "fuzz")]
pub(crate) use request::Request;

/// How long a server waits for a client over HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http1Patience {
    /// For the whole head of a request, from the end of the answer before it on.
    pub request: Duration,
    /// Until it takes some of the bytes that it has asked for. A query may rest for long; but a
    /// client that is gone would hold its place for a quarter of an hour.
    pub taking: Duration,
}

impl Default for Http1Patience {
    fn default() -> Self {
        Self { request: Duration::from_secs(60), taking: Duration::from_secs(300) }
    }
}

/// Connections that wait for gRPC to take them.
const WAITING_CONNECTIONS: usize = 64;

/// The first byte of `GET`; connections of gRPC begin with `P`.
const FIRST_BYTE: u8 = b'G';

/// Takes the connections that read objects over HTTP/1.1 and passes on all others.
pub(super) fn without_http1(
    served: Arc<Served>,
    service: Service,
    patience: Http1Patience,
    incoming: impl Stream<Item = io::Result<TcpStream>> + Send + 'static,
) -> impl Stream<Item = io::Result<TcpStream>> {
    let (others, waiting) = mpsc::channel(WAITING_CONNECTIONS);
    let sorting = async move {
        let mut incoming = std::pin::pin!(incoming);
        loop {
            let stream = tokio::select! {
                stream = incoming.next() => stream,
                () = served.reached(Stage::Ending) => None,
                () = others.closed() => None,
            };
            // The listener is closed with the stream.
            let Some(stream) = stream else { return };
            let stream = match stream {
                Ok(stream) => stream,
                Err(error) => {
                    // No task is started for a failed accept, and none is accepted until the error
                    // was received.
                    tokio::select! {
                        sent = others.send(Err(error)) => if sent.is_err() { return },
                        () = served.reached(Stage::Ending) => return,
                    }
                    continue;
                }
            };
            let (served, service, others) = (Arc::clone(&served), service.clone(), others.clone());
            // It ends with its client, or with the server.
            drop(tokio::spawn(async move {
                tokio::select! {
                    () = sort(stream, service, patience, others) => {}
                    () = served.reached(Stage::Ending) => {}
                }
            }));
        }
    };
    // It ends with the server.
    drop(tokio::spawn(sorting));
    stream::unfold(waiting, |mut waiting| async move {
        waiting.recv().await.map(|stream| (stream, waiting))
    })
}

/// Serves a connection, or passes it on.
async fn sort(
    stream: TcpStream,
    service: Service,
    patience: Http1Patience,
    others: mpsc::Sender<io::Result<TcpStream>>,
) {
    let mut first = [0];
    match timeout(patience.request, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == [FIRST_BYTE] => {
            let connection = Connection { stream, received: Vec::new(), patience };
            if let Err(error) = connection.serve(&service).await {
                tracing::debug!(%error, "a connection over HTTP/1.1 has ended");
            }
        }
        Ok(Ok(_)) => drop(others.send(Ok(stream)).await),
        Ok(Err(_)) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use nearscan_cpu::{CpuDrive, Options};
    use tokio::{
        runtime::Handle,
        sync::{Notify, watch},
    };

    use super::*;
    use crate::{
        access::Access,
        server::{HostMemory, applications::Installed, gate::Gate},
    };

    fn served() -> (Arc<Served>, watch::Sender<Stage>) {
        let (sender, stage) = watch::channel(Stage::Serving);
        let served = Served {
            drive: Arc::new(CpuDrive::start(Options::with_threads(1)).unwrap()),
            objects: None,
            applications: Installed::new(None),
            instance: bytes::Bytes::new(),
            budget: Arc::new(HostMemory { free: AtomicU64::new(0) }),
            stage,
            running: watch::Sender::new(0),
            ended: Notify::new(),
        };
        (Arc::new(served), sender)
    }

    #[tokio::test]
    async fn errors_of_accepting_wait_in_order_and_make_no_task() {
        const ERRORS: usize = 3 * WAITING_CONNECTIONS;
        let (served, _sender) = served();
        let gate = Gate { access: Arc::new(Access::anyone()), audit: None };
        let service = Service::new(Arc::clone(&served), gate);
        let before = Handle::current().metrics().num_alive_tasks();
        let errors = (0..ERRORS).map(|number| Err(io::Error::other(number.to_string())));
        let incoming = stream::iter(errors).chain(stream::pending());
        let others = without_http1(served, service, Http1Patience::default(), incoming);
        let mut others = std::pin::pin!(others);
        for number in 0..ERRORS {
            let error = others.next().await.unwrap().unwrap_err();
            assert_eq!(error.to_string(), number.to_string());
            tokio::task::yield_now().await;
            assert_eq!(Handle::current().metrics().num_alive_tasks(), before + 1);
        }
    }
}
