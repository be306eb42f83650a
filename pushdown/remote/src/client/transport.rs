// SPDX-License-Identifier: Apache-2.0
//! Opens the channel to a server: plain or with TLS, and with the token of the client.
//!
//! # Invariants
//!
//! - A token is sent over TLS, a Unix socket or the loopback device only.

use std::{fmt, io};

use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tonic::{
    Request, Status,
    codegen::{Service, http::Uri},
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tower::service_fn;

use super::Options;
use crate::{
    address::{Address, Encryption},
    error::{Error, with_causes},
    link::{Link, Throttled},
    protocol::{CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, STREAM_WINDOW_BYTES},
};

/// What a client shows to the server, and demands of it.
#[derive(Clone, Default)]
pub struct Security {
    /// The token by which the server knows the client.
    pub token: Option<String>,
    /// Whether and how the connection is encrypted.
    pub tls: Tls,
}

/// Whether and how a connection is encrypted.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Tls {
    /// It is, but for Unix sockets and the loopback device, with the certificates of the system.
    #[default]
    Beyond,
    /// It is not. A token is not sent then, unless the server is on this machine.
    Off,
    /// It is.
    On(TlsOptions),
}

/// How a connection is encrypted.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Certificates of the authorities that are trusted, in PEM; those of the system if empty.
    pub authorities: Vec<u8>,
    /// The name in the server's certificate, if it is not the host of the address.
    pub server_name: Option<String>,
    /// The certificate of the client and its key, in PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "...");
        f.debug_struct("Security").field("token", &token).field("tls", &self.tls).finish()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beyond => "Beyond",
            Self::Off => "Off",
            Self::On(_) => "On(..)",
        })
    }
}

/// A channel that shows who the client is.
pub(super) type Transport = InterceptedService<Channel, Credentials>;

/// Adds the token to each request.
#[derive(Debug, Clone)]
pub(super) struct Credentials(Option<MetadataValue<Ascii>>);

impl Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// How the connection to an address is encrypted, if it is.
pub(super) fn tls_of(address: &Address, tls: &Tls) -> Option<TlsOptions> {
    match tls {
        Tls::Off => None,
        Tls::Beyond if address.is_of_this_machine() => None,
        Tls::Beyond => Some(TlsOptions::default()),
        Tls::On(options) => Some(options.clone()),
    }
}

/// Opens a channel.
pub(super) async fn open(
    address: &Address,
    options: &Options,
    link: &Link,
) -> Result<Transport, Error> {
    let security = &options.security;
    let unreachable = |reason: String| Error::Unreachable { address: address.clone(), reason };
    let refused = |reason: &str| {
        let reason = reason.to_owned();
        Error::Refused { address: address.clone(), reason }
    };
    let tls = tls_of(address, &security.tls);
    let is_safe = tls.is_some() || address.is_of_this_machine();
    let token = match &security.token {
        Some(_) if !is_safe => return Err(refused("a token is not sent without encryption")),
        Some(token) => {
            let value = MetadataValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|_| refused("the token has invalid characters"))?;
            value.set_sensitive(true);
            Some(value)
        }
        None => None,
    };
    let encryption = if tls.is_some() { Encryption::Tls } else { Encryption::None };
    let mut endpoint = Endpoint::from_shared(address.uri(encryption))
        .map_err(|error| unreachable(with_causes(&error)))?
        .connect_timeout(options.connect_timeout)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX);
    if let Some(tls) = tls {
        endpoint =
            endpoint.tls_config(config_of(&tls)).map_err(|error| refused(&with_causes(&error)))?;
    }
    let connecting = endpoint.connect_with_connector(connector(address, link));
    let channel = connecting.await.map_err(|error| unreachable(with_causes(&error)))?;
    Ok(InterceptedService::new(channel, Credentials(token)))
}

/// What opens a stream to the address, over the link.
fn connector(
    address: &Address,
    link: &Link,
) -> impl Service<Uri, Response = TokioIo<Throttled<Box<dyn Io>>>, Error = io::Error, Future: Send>
+ Send
+ Sync
+ 'static {
    let (address, link) = (address.clone(), link.clone());
    service_fn(move |_: Uri| {
        let (address, link) = (address.clone(), link.clone());
        async move {
            let stream: Box<dyn Io> = match &address {
                Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
                Address::Tcp(host_port) => {
                    let stream = TcpStream::connect(host_port).await?;
                    stream.set_nodelay(true)?;
                    Box::new(stream)
                }
            };
            Ok(TokioIo::new(link.throttle(stream)))
        }
    })
}

/// A stream of a socket.
trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

fn config_of(options: &TlsOptions) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new();
    config = match options.authorities.is_empty() {
        true => config.with_native_roots(),
        false => config.ca_certificate(Certificate::from_pem(&options.authorities)),
    };
    if let Some(name) = &options.server_name {
        config = config.domain_name(name);
    }
    if let Some((certificate, key)) = &options.identity {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    config
}
