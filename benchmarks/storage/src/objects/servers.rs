// SPDX-License-Identifier: Apache-2.0
//! Starts both servers, each in a process of its own, and the clients that read from them.
//!
//! nginx has one worker and sends by `sendfile`; what it is not told is as it comes, but for the
//! log of requests, which ours has not either.

use std::{
    ffi::OsString,
    fs,
    io::Read,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use nearscan_drive::clock::{self, Stopwatch};
use nearscan_remote::{Options, RemoteDrive, RemoteStore, Security, Tls, TlsOptions};
use object_store::{Certificate, ClientOptions, ObjectStore, http::HttpBuilder};

use super::files::Objects;
use crate::{
    error::Error,
    processors::Processors,
    program::{OURS, Process, Program},
};

/// The name of nginx in reports and errors.
const NGINX: &str = "nginx";

/// The time in which a server has to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// They are not.
    None,
    /// With TLS.
    Tls,
}

/// A server and the client that reads from it.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) name: &'static str,
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The connection to ours.
    _drive: Option<RemoteDrive>,
    _process: Process,
}

/// A certificate for this machine and its key, as files and as text.
struct Certified {
    pem: String,
    certificate: PathBuf,
    key: PathBuf,
}

impl Certified {
    fn make(folder: &Path) -> Result<Self, Error> {
        let names = vec!["localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).map_err(Error::prepare)?;
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let pem = made.cert.pem();
        for (path, text) in [(&certificate, &pem), (&key, &made.signing_key.serialize_pem())] {
            fs::write(path, text).map_err(|error| Error::file("write", path, &error))?;
        }
        Ok(Self { pem, certificate, key })
    }
}

/// Starts both servers over the same objects: ours, then nginx.
pub(crate) fn start(
    objects: &Objects,
    folder: &Path,
    encryption: Encryption,
    processors: &Processors,
    (program, nginx): (&Program, &Path),
) -> Result<[Served; 2], Error> {
    let certified = match encryption {
        Encryption::None => None,
        Encryption::Tls => Some(Certified::make(folder)?),
    };
    Ok([
        start_ours(objects, certified.as_ref(), processors, program)?,
        start_nginx(objects, folder, certified.as_ref(), processors, nginx)?,
    ])
}

fn start_ours(
    objects: &Objects,
    certified: Option<&Certified>,
    processors: &Processors,
    program: &Program,
) -> Result<Served, Error> {
    let failed = |reason: String| Error::Server { server: OURS, reason };
    let tls_arguments = certified.map(|Certified { certificate, key, .. }| {
        ["--tls".into(), certificate.clone().into_os_string(), key.clone().into_os_string()]
    });
    let arguments: Vec<OsString> = tls_arguments.into_iter().flatten().collect();
    let (process, address) =
        program.start(&objects.store, "localhost:0", &arguments, processors)?;
    let tls = match certified {
        None => Tls::Off,
        Some(certified) => Tls::On(TlsOptions {
            authorities: certified.pem.clone().into_bytes(),
            server_name: Some("localhost".to_owned()),
            ..TlsOptions::default()
        }),
    };
    let options =
        Options { security: Security { tls, ..Security::default() }, ..Options::default() };
    let drive = RemoteDrive::connect(&address, options);
    let drive = drive.map_err(|error| failed(error.to_string()))?;
    let store = Arc::new(RemoteStore::new(&address.to_string(), drive.objects()));
    Ok(Served { name: OURS, store, _drive: Some(drive), _process: process })
}

/// What nginx says of its version, such as `nginx/1.22.1`.
pub(crate) fn nginx_version(nginx: &Path) -> Result<String, Error> {
    let failed = |reason: String| Error::NoNginx { program: nginx.to_owned(), reason };
    let output = Command::new(nginx).arg("-v").output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let version = said.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    let is_nginx = output.status.success() && version.starts_with("nginx/");
    is_nginx.then_some(version).ok_or_else(|| failed(format!("{}: {said}", output.status)))
}

fn start_nginx(
    objects: &Objects,
    folder: &Path,
    certified: Option<&Certified>,
    processors: &Processors,
    nginx: &Path,
) -> Result<Served, Error> {
    let failed = |reason: String| Error::Server { server: NGINX, reason };
    let port = free_port().map_err(|error| failed(error.to_string()))?;
    let settings = folder.join("nginx.conf");
    let text = settings_of(folder, &objects.files, port, certified);
    fs::write(&settings, text).map_err(|error| Error::file("write", &settings, &error))?;
    let mut command = processors.server(nginx);
    command.arg("-p").arg(folder).arg("-c").arg(&settings);
    command.arg("-e").arg(folder.join("nginx.log"));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut process = Process(child.map_err(|error| failed(error.to_string()))?);
    let watch = Stopwatch::start();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if process.0.try_wait().is_ok_and(|ended| ended.is_some()) || watch.elapsed() > PATIENCE {
            let mut said = String::new();
            drop(process.0.kill());
            if let Some(mut errors) = process.0.stderr.take() {
                drop(errors.read_to_string(&mut said));
            }
            return Err(failed(said.trim().to_owned()));
        }
        clock::pause(Duration::from_millis(10));
    }
    let mut options = ClientOptions::new().with_allow_http(true).with_timeout_disabled();
    let scheme = if certified.is_some() { "https" } else { "http" };
    if let Some(certified) = certified {
        let root = Certificate::from_pem(certified.pem.as_bytes());
        options = options.with_root_certificate(root.map_err(|error| failed(error.to_string()))?);
    }
    let url = format!("{scheme}://localhost:{port}/");
    let store = HttpBuilder::new().with_url(url).with_client_options(options).build();
    let store = Arc::new(store.map_err(|error| failed(error.to_string()))?);
    Ok(Served { name: NGINX, store, _drive: None, _process: process })
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn settings_of(folder: &Path, files: &Path, port: u16, certified: Option<&Certified>) -> String {
    let (folder, files) = (folder.display(), files.display());
    let (ssl, keys) = match certified {
        None => ("", String::new()),
        Some(Certified { certificate, key, .. }) => {
            let (certificate, key) = (certificate.display(), key.display());
            let keys =
                format!("ssl_certificate \"{certificate}\";\n    ssl_certificate_key \"{key}\";");
            (" ssl", keys)
        }
    };
    // One process, which ends when it is told to: no master, which would be left alone.
    format!(
        "daemon off;
master_process off;
worker_processes 1;
pid \"{folder}/nginx.pid\";
events {{}}
http {{
  access_log off;
  sendfile on;
  client_body_temp_path \"{folder}/body\";
  proxy_temp_path \"{folder}/proxy\";
  fastcgi_temp_path \"{folder}/fastcgi\";
  uwsgi_temp_path \"{folder}/uwsgi\";
  scgi_temp_path \"{folder}/scgi\";
  server {{
    listen 127.0.0.1:{port}{ssl};
    root \"{files}\";
    {keys}
  }}
}}
"
    )
}
