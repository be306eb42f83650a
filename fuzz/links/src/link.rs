// SPDX-License-Identifier: Apache-2.0
//! Implements [`Link`], a proxy that strikes one frame.
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

use crate::frames::Frames;

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

/// A frame, by its number among those that go its way.
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
    /// Opens a link to a server, which is without faults.
    ///
    /// # Errors
    /// When there is no port for it.
    pub fn open(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { server, state, changed });
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
    let to_server = (Frames::of_client(client.try_clone()?), server.try_clone()?);
    let to_client = (Frames::of_server(server), client);
    let spawn = |direction, (frames, into)| {
        let shared = Arc::clone(shared);
        let body = move || shared.carry(number, direction, frames, into);
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
    fn carry(
        &self,
        connection: u64,
        direction: Direction,
        mut frames: Frames<TcpStream>,
        mut into: TcpStream,
    ) {
        while let Ok(Some(frame)) = frames.next() {
            match self.fate(connection, direction) {
                Fate::Lost => return,
                Fate::Passes if into.write_all(&frame).is_err() => break,
                Fate::Passes => {}
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
    fn fate(&self, connection: u64, direction: Direction) -> Fate {
        let mut state = self.lock();
        let counter = match direction {
            Direction::ToServer => &mut state.to_server,
            Direction::ToClient => &mut state.to_client,
        };
        let place = Place { direction, number: *counter };
        *counter += 1;
        let Some(strike) = state.strike else { return Fate::Passes };
        let is_struck = place == strike.place;
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
mod tests {
    use std::io::Read;

    use super::*;

    /// A frame without content.
    const FRAME: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];

    /// The first frame of a client.
    fn first() -> Vec<u8> {
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &FRAME[..]].concat()
    }

    /// A link to a server that answers each frame with one.
    fn link(fault: Fault, direction: Direction, number: u64, after: After) -> Link {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = listener.local_addr().unwrap();
        drop(thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let mut answers = stream.try_clone().unwrap();
                drop(thread::spawn(move || {
                    let mut frames = Frames::of_client(stream);
                    while let Ok(Some(_)) = frames.next() {
                        if answers.write_all(&FRAME).is_err() {
                            return;
                        }
                    }
                }));
            }
        }));
        let link = Link::open(server).unwrap();
        link.strike(Strike { fault, place: Place { direction, number }, after });
        link
    }

    fn connect(link: &Link) -> TcpStream {
        let stream = TcpStream::connect(link.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        stream
    }

    /// Sends frames, and gives how many were answered before there was none.
    fn answered(stream: &mut TcpStream, frames: usize) -> (usize, io::Result<usize>) {
        let mut answer = [0; 9];
        drop(stream.write_all(&first()));
        for number in 0..frames {
            match stream.read(&mut answer) {
                Ok(9) => assert_eq!(answer, FRAME),
                ended => return (number, ended),
            }
            drop(stream.write_all(&FRAME));
        }
        (frames, Ok(9))
    }

    #[test]
    fn frame_before_which_it_closes_is_the_chosen_one_and_the_next_connection_works() {
        let link = link(Fault::Closes, Direction::ToServer, 3, After::Recovers);
        let mut stream = connect(&link);
        let (count, ended) = answered(&mut stream, 9);
        assert_eq!(count, 3);
        assert!(
            matches!(ended, Ok(0)) || ended.is_err_and(|error| error.raw_os_error() == Some(104))
        );
        assert!(link.has_struck());
        assert_eq!(answered(&mut connect(&link), 5).0, 5);
    }

    #[test]
    fn silent_link_answers_nothing_and_stays_open() {
        let link = link(Fault::FallsSilent, Direction::ToClient, 2, After::Recovers);
        let (count, ended) = answered(&mut connect(&link), 9);
        assert_eq!(count, 2);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(answered(&mut connect(&link), 5).0, 5);
    }

    #[test]
    fn link_that_stays_down_takes_no_other_connection() {
        let closed = link(Fault::Closes, Direction::ToClient, 0, After::StaysDown);
        for _ in 0..2 {
            assert_eq!(answered(&mut connect(&closed), 1).0, 0);
        }
        let silent = link(Fault::FallsSilent, Direction::ToServer, 0, After::StaysDown);
        for _ in 0..2 {
            let (count, ended) = answered(&mut connect(&silent), 1);
            assert_eq!((count, ended.unwrap_err().kind()), (0, io::ErrorKind::WouldBlock));
        }
    }

    #[test]
    fn late_frame_arrives_after_its_time() {
        let late = Duration::from_millis(300);
        let link = link(Fault::IsLate(late), Direction::ToClient, 0, After::Recovers);
        let mut stream = connect(&link);
        let (count, ended) = answered(&mut stream, 1);
        assert_eq!((count, ended.unwrap_err().kind()), (0, io::ErrorKind::WouldBlock));
        stream.set_read_timeout(Some(10 * late)).unwrap();
        let mut answer = [0; 9];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, FRAME);
    }

    #[test]
    fn link_without_its_place_passes_all_on() {
        let link = link(Fault::Closes, Direction::ToServer, 100, After::StaysDown);
        assert_eq!(answered(&mut connect(&link), 50).0, 50);
        assert!(!link.has_struck());
    }
}
