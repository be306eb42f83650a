// SPDX-License-Identifier: Apache-2.0
//! Implements [`Listener`]: a bound socket, which is removed when it is no longer needed.

use std::{
    fs::Permissions,
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use tokio::net::{TcpListener, UnixListener};

use crate::{address::Address, error::Error};

/// A socket that clients can connect to.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    socket: Socket,
    file: Option<SocketFile>,
}

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds a socket. One of the file system is for its owner only; one that is left there by a
    /// server that is gone is replaced.
    ///
    /// # Errors
    /// [`Error::Listen`] with what the system says.
    pub async fn bind(address: &Address) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Listen {
            address: address.clone(),
            reason: error.to_string(),
        };
        match address {
            Address::Tcp(host_port) => {
                let listener = TcpListener::bind(host_port).await.map_err(failed)?;
                let address = Address::Tcp(listener.local_addr().map_err(failed)?.to_string());
                Ok(Self { address, socket: Socket::Tcp(listener), file: None })
            }
            Address::Unix(path) => {
                remove_left_over(path).map_err(failed)?;
                let listener = UnixListener::bind(path).map_err(failed)?;
                let file = SocketFile::of(path).map_err(failed)?;
                std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
                let socket = Socket::Unix(listener);
                Ok(Self { address: address.clone(), socket, file: Some(file) })
            }
        }
    }

    /// The address at which the server listens: with port 0 the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn into_parts(self) -> (Socket, Option<SocketFile>) {
        (self.socket, self.file)
    }
}

/// Removes a socket without a listener.
fn remove_left_over(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
    if !is_socket {
        // Binding reports any other file.
        return Ok(());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")),
    }
}

/// The file of a socket, removed on drop unless it is another's by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), inode: inode(path)? })
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|data| (data.dev(), data.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            // What cannot be removed is replaced by the next server.
            drop(std::fs::remove_file(&self.path));
        }
    }
}
