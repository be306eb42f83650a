// SPDX-License-Identifier: Apache-2.0
//! Implements [`Link`], a proxy that strikes one frame of HTTP/2, or one part of HTTP/1.1.
//!
//! Two threads move the frames of a connection, one for each direction. All of them count under one
//! lock, so that a frame has one number whichever connection it is of.

use std::{
    collections::HashMap,
    io::{self, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{frames::Frames, parts::Parts};

/// Which way a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a client.
    ToServer,
    /// From the server.
    ToClient,
}

/// What strikes a frame, and its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is closed in the place of the frame.
    Closes,
    /// Neither side hears anything from then on, not even that the connection is closed.
    FallsSilent,
    /// The frame, and those behind it, are late by this time.
    IsLate(Duration),
}

/// The state of the link once the fault has struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Another connection works.
    Recovers,
    /// None does: all connections have the fault.
    StaysDown,
}

/// What a link counts and strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// The frames of HTTP/2. A connection over another protocol is closed.
    Http2,
    /// The heads and the parts of bodies of HTTP/1.1. The frames of HTTP/2 are passed on, and have
    /// no number.
    Http1,
}

/// A frame, or a part of HTTP/1.1, by its number among those that go its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which way it goes.
    pub direction: Direction,
    /// Frames of all connections that go this way before it.
    pub number: u64,
}

/// Which frame is struck, how, and what is then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strike {
    /// What strikes.
    pub fault: Fault,
    /// Where.
    pub place: Place,
    /// What is then.
    pub after: After,
}

/// A proxy before a server, on the loopback device.
#[derive(Debug)]
pub struct Link {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    wire: Wire,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    strike: Option<Strike>,
    to_server: u64,
    to_client: u64,
    /// The connection whose frame was struck.
    struck: Option<u64>,
    /// Both ends of each connection, by its number.
    ends: HashMap<u64, [TcpStream; 2]>,
    threads: Vec<JoinHandle<()>>,
    has_ended: bool,
}

impl State {
    /// Whether neither side of a connection hears anything.
    fn is_silent(&self, connection: u64) -> bool {
        let Some(Strike { fault: Fault::FallsSilent, after, .. }) = self.strike else {
            return false;
        };
        let is_struck = match after {
            After::Recovers => self.struck == Some(connection),
            After::StaysDown => self.struck.is_some(),
        };
        is_struck && !self.has_ended
    }

    /// Whether no connection is made any more.
    fn refuses(&self) -> bool {
        let fault = self.strike.map(|strike| (strike.fault, strike.after));
        self.struck.is_some() && fault == Some((Fault::Closes, After::StaysDown))
    }
}

impl Link {
    /// Opens a link to a server of HTTP/2, which is without faults.
    ///
    /// # Errors
    /// When there is no port for it.
    pub fn open(server: SocketAddr) -> io::Result<Self> {
        Self::open_for(server, Wire::Http2)
    }

    /// As [`Link::open`], for what is counted and struck.
    ///
    /// # Errors
    /// When there is no port for it.
    pub fn open_for(server: SocketAddr, wire: Wire) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { server, wire, state, changed });
        let accepting = Arc::clone(&shared);
        let acceptor = thread::Builder::new()
            .name("faulty link".to_owned())
            .spawn(move || accept(&accepting, &listener))?;
        Ok(Self { shared, address, acceptor: Some(acceptor) })
    }

    /// Strikes a frame; from now on they are counted.
    pub fn strike(&self, strike: Strike) {
        let mut state = self.shared.lock();
        (state.strike, state.to_server, state.to_client) = (Some(strike), 0, 0);
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the fault has struck.
    pub fn has_struck(&self) -> bool {
        self.shared.lock().struck.is_some()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let threads = {
            let mut state = self.shared.lock();
            state.has_ended = true;
            for ends in state.ends.values() {
                close(ends);
            }
            std::mem::take(&mut state.threads)
        };
        self.shared.changed.notify_all();
        // It wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        for thread in self.acceptor.take().into_iter().chain(threads) {
            drop(thread.join());
        }
    }
}

/// Closes both ends of a connection; one that is closed already stays so.
fn close(ends: &[TcpStream; 2]) {
    for end in ends {
        drop(end.shutdown(Shutdown::Both));
    }
}

/// Takes connections until the link ends.
fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for number in 0.. {
        let Ok((client, _)) = listener.accept() else { return };
        if shared.lock().has_ended {
            return;
        }
        // A connection that cannot be made is closed to its client.
        drop(connect(shared, number, client));
    }
}

/// Connects a client to the server.
fn connect(shared: &Arc<Shared>, number: u64, client: TcpStream) -> io::Result<()> {
    if shared.lock().refuses() {
        return Ok(());
    }
    let server = TcpStream::connect(shared.server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ends = [client.try_clone()?, server.try_clone()?];
    let to_server = (client.try_clone()?, server.try_clone()?);
    let to_client = (server, client);
    let spawn = |direction, (from, into)| {
        let shared = Arc::clone(shared);
        let body = move || shared.carry(number, direction, from, into);
        thread::Builder::new().name("faulty link".to_owned()).spawn(body)
    };
    let mut state = shared.lock();
    state.ends.insert(number, ends);
    let begun = [spawn(Direction::ToServer, to_server)?, spawn(Direction::ToClient, to_client)?];
    state.threads.extend(begun);
    if state.has_ended {
        state.ends.values().for_each(close);
    }
    Ok(())
}

/// What cuts the bytes of one direction of a connection.
enum Cutter {
    Frames(Frames<TcpStream>),
    Parts(Parts<TcpStream>),
}

impl Cutter {
    /// That of the protocol that a connection has. It waits for the first byte.
    fn of(from: TcpStream, direction: Direction, wire: Wire) -> io::Result<Self> {
        let (frames, first_of_http1): (fn(_) -> _, _) = match direction {
            Direction::ToServer => (Frames::of_client, b'G'),
            Direction::ToClient => (Frames::of_server, b'H'),
        };
        let mut first = [0];
        let is_http1 = wire == Wire::Http1 && from.peek(&mut first)? == 1;
        match is_http1 && first[0] == first_of_http1 {
            true => Ok(Self::Parts(Parts::new(from))),
            false => Ok(Self::Frames(frames(from))),
        }
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Frames(frames) => frames.next(),
            Self::Parts(parts) => parts.next(),
        }
    }

    fn wire(&self) -> Wire {
        match self {
            Self::Frames(_) => Wire::Http2,
            Self::Parts(_) => Wire::Http1,
        }
    }
}

/// What becomes of a frame.
enum Fate {
    Passes,
    /// It does not, and no other of its connection.
    Lost,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the frames of one direction of a connection until it ends.
    fn carry(&self, connection: u64, direction: Direction, from: TcpStream, mut into: TcpStream) {
        if let Ok(mut cutter) = Cutter::of(from, direction, self.wire) {
            while let Ok(Some(frame)) = cutter.next() {
                match self.fate(connection, direction, cutter.wire()) {
                    Fate::Lost => return,
                    Fate::Passes if into.write_all(&frame).is_err() => break,
                    Fate::Passes => {}
                }
            }
        }
        let state = self.lock();
        // Of one that is silent, neither side hears that the other has left.
        if !state.is_silent(connection)
            && let Some(ends) = state.ends.get(&connection)
        {
            close(ends);
        }
    }

    /// Counts a frame, and strikes it if it is the one.
    fn fate(&self, connection: u64, direction: Direction, wire: Wire) -> Fate {
        let mut state = self.lock();
        let counter = match direction {
            Direction::ToServer => &mut state.to_server,
            Direction::ToClient => &mut state.to_client,
        };
        let place = Place { direction, number: *counter };
        let is_counted = wire == self.wire;
        *counter += u64::from(is_counted);
        let Some(strike) = state.strike else { return Fate::Passes };
        let is_struck = is_counted && place == strike.place;
        if is_struck {
            state.struck = Some(connection);
        }
        match strike.fault {
            Fault::Closes if is_struck => {
                let ends = state.ends.iter();
                let all = strike.after == After::StaysDown;
                ends.filter(|(number, _)| all || **number == connection)
                    .for_each(|(_, ends)| close(ends));
                Fate::Lost
            }
            Fault::FallsSilent if state.is_silent(connection) => Fate::Lost,
            Fault::IsLate(time) if is_struck => {
                let waited = self.changed.wait_timeout_while(state, time, |it| !it.has_ended);
                drop(waited);
                Fate::Passes
            }
            Fault::Closes | Fault::FallsSilent | Fault::IsLate(_) => Fate::Passes,
        }
    }
}

#[cfg(test)]
mod tests;
