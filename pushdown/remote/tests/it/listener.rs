// SPDX-License-Identifier: Apache-2.0
//! Tests the permissions and the removal of sockets.

use std::{os::unix::fs::PermissionsExt, sync::Arc};

use nearscan_remote::{Error, Listener};

use crate::bench::{Peer, Place, Served, Way, emulated, sums_up, wait};

#[test]
fn socket_is_for_its_owner_only_and_is_not_taken_away() {
    let place = Place::new(Way::Unix);
    let listener = wait(Listener::bind(&place.address)).unwrap();
    let path = place.folder.path().join("drive");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let error = wait(Listener::bind(&place.address)).unwrap_err();
    assert!(error.to_string().contains("another server listens there"), "{error}");
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn socket_that_dead_server_left_is_replaced() {
    let place = Place::new(Way::Unix);
    let (mut server, address) = Peer::serve(&place, &[]);
    server.kill();
    assert!(place.folder.path().join("drive").exists());
    let served = Served::with(emulated(""), place, nearscan_remote::ServerOptions::default());
    assert_eq!(served.address, address);
    assert!(sums_up(&served.connect()));
}

#[test]
fn file_other_than_a_socket_is_not_removed() {
    let place = Place::new(Way::Unix);
    let path = place.folder.path().join("drive");
    std::fs::write(&path, "mine").unwrap();
    let error = wait(Listener::bind(&place.address)).unwrap_err();
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn port_is_taken_once() {
    let place = Place::new(Way::Tcp);
    let served = Served::start(emulated(""), Way::Tcp);
    drop(place);
    let again = wait(Listener::bind(&served.address));
    assert!(matches!(again, Err(Error::Listen { .. })));
    drop(Arc::new(served));
}
