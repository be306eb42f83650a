// SPDX-License-Identifier: Apache-2.0
//! Sends text to a pager once it is longer than the screen.
//!
//! ```text
//! held --longer than the screen--> running --the user quits--> left
//!   |                                  |
//!   |  no program                      | end
//!   +-----------> refused              v
//!   | end           |              the user has quit
//!   v               v
//! written directly, or dropped
//! ```
//!
//! No more is held than what decides. A running pager takes its text through a pipe, so a user who
//! reads slowly holds up the query rather than filling memory. It does not know what the text is.

use std::{
    io::{self, BufWriter, Write},
    mem,
    process::{Child, ChildStdin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Sink, program::Program, screen::Screen};
use crate::{interrupt::SharedScreen, style::Colour};

/// The pager of one result. Its copies are the same one.
#[derive(Clone)]
pub(super) struct Pager(Arc<Mutex<State>>);

/// How much text is written without a pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threshold {
    /// Any text has a pager.
    Nothing,
    /// As many lines as the screen has; longer lines are cut.
    Lines(Screen),
    /// As many lines as the screen has; longer lines are continued below.
    WrappedLines(Screen),
}

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nobody has seen it yet.
    Held,
    /// A pager has the screen.
    Running,
    /// The user has quit the pager.
    Left,
    /// There is no pager.
    Refused,
}

struct State {
    threshold: Threshold,
    program: Option<Program>,
    /// Where text without a pager goes; it is dropped if the result has a short form.
    direct: Option<Sink>,
    place: Place,
    held: Vec<u8>,
    running: Option<Running>,
    lines: usize,
    column: usize,
}

struct Running {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    screen: SharedScreen,
}

/// Lines of the screen that the prompt takes.
const PROMPT_LINES: usize = 1;

impl Pager {
    pub(super) fn new(
        threshold: Threshold,
        program: Option<Program>,
        direct: Option<Sink>,
    ) -> Self {
        Self(Arc::new(Mutex::new(State {
            threshold,
            program,
            direct,
            place: Place::Held,
            held: Vec::new(),
            running: None,
            lines: 0,
            column: 0,
        })))
    }

    /// Returns a sink that leads here. That a pager was quit is no closed output.
    pub(super) fn sink(&self) -> Sink {
        // What is here must not wait there: the pager flushes after every batch.
        let inner = BufWriter::with_capacity(0, Box::new(self.clone()) as Box<dyn Write + Send>);
        Sink { inner, is_closed: Arc::default() }
    }

    /// Whether the pager shows styles, or what it is without one.
    pub(super) fn colour(&self, terminal: Colour) -> Colour {
        match &self.state().program {
            Some(program) if !program.shows_styles() => Colour::Off,
            Some(_) | None => terminal,
        }
    }

    pub(super) fn place(&self) -> Place {
        self.state().place
    }

    /// Writes what was too short for a pager, or waits until the user has quit.
    pub(super) fn end(&self) -> io::Result<()> {
        self.state().end()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.state().write(bytes)?;
        Ok(bytes.len())
    }

    /// Passes on what a running pager can show; what is held stays held.
    fn flush(&mut self) -> io::Result<()> {
        self.state().flush()
    }
}

impl State {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.place {
            Place::Held => {
                self.held.extend_from_slice(bytes);
                self.count(bytes);
                if self.is_long() { self.start() } else { Ok(()) }
            }
            Place::Running => {
                let written = self.running.as_mut().map_or(Ok(()), |it| it.stdin.write_all(bytes));
                self.note(written)
            }
            Place::Left => Err(io::ErrorKind::BrokenPipe.into()),
            Place::Refused => self.direct.as_mut().map_or(Ok(()), |sink| sink.write_all(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.place {
            Place::Held => Ok(()),
            Place::Running => {
                let flushed = self.running.as_mut().map_or(Ok(()), |it| it.stdin.flush());
                self.note(flushed)
            }
            Place::Left => Err(io::ErrorKind::BrokenPipe.into()),
            Place::Refused => self.direct.as_mut().map_or(Ok(()), Sink::flush),
        }
    }

    /// Adds up the lines that a terminal needs. Styles count as if they were seen, which may call
    /// the pager a little early.
    fn count(&mut self, bytes: &[u8]) {
        let width_max = match self.threshold {
            Threshold::Nothing | Threshold::Lines(_) => usize::MAX,
            Threshold::WrappedLines(screen) => screen.width,
        };
        for byte in bytes {
            if *byte == b'\n' {
                self.lines += 1;
                self.column = 0;
                continue;
            }
            // The bytes 10xxxxxx continue a sign of UTF-8.
            self.column += usize::from(byte & 0xC0 != 0x80);
            if self.column > width_max {
                self.lines += 1;
                self.column = 1;
            }
        }
    }

    fn is_long(&self) -> bool {
        match self.threshold {
            Threshold::Nothing => true,
            Threshold::Lines(screen) | Threshold::WrappedLines(screen) => {
                self.lines + PROMPT_LINES > screen.height
            }
        }
    }

    /// Starts the pager with what was held.
    fn start(&mut self) -> io::Result<()> {
        self.running = self.program.as_ref().and_then(Running::start);
        self.place = if self.running.is_some() { Place::Running } else { Place::Refused };
        let held = mem::take(&mut self.held);
        self.write(&held)
    }

    fn note(&mut self, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.place = Place::Left;
        }
        result
    }

    fn end(&mut self) -> io::Result<()> {
        let flushed = match (self.place, &mut self.direct) {
            (Place::Held | Place::Refused, Some(direct)) => {
                direct.write_all(&self.held).and_then(|()| direct.flush())
            }
            (Place::Held | Place::Refused, None) => Ok(()),
            (Place::Running | Place::Left, _) => self.flush(),
        };
        self.held.clear();
        match self.running.take() {
            Some(running) => {
                running.wait();
                // The last lines of a result that the user has seen enough of are not missed.
                if self.place == Place::Left { Ok(()) } else { flushed }
            }
            None => flushed,
        }
    }
}

/// A query that fails or is interrupted leaves its pager open: the prompt must wait for the screen.
impl Drop for State {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.wait();
        }
    }
}

impl Running {
    fn start(program: &Program) -> Option<Self> {
        let mut child = program.start().ok()?;
        let stdin = BufWriter::new(child.stdin.take()?);
        Some(Self { child, stdin, screen: SharedScreen::begin() })
    }

    /// Closes the pipe and waits until the user has quit.
    fn wait(self) {
        let Self { mut child, stdin, screen } = self;
        drop(stdin);
        // How the program ends is between it and the user.
        let _status = child.wait();
        drop(screen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SCREEN: Screen = Screen { width: 4, height: 3 };

    #[rstest]
    #[case::fits(Threshold::Lines(SCREEN), "a\nb\n", Place::Held)]
    #[case::one_line_too_many(Threshold::Lines(SCREEN), "a\nb\nc\n", Place::Refused)]
    #[case::long_line_is_cut(Threshold::Lines(SCREEN), "123456789\n", Place::Held)]
    #[case::long_line_fits(Threshold::WrappedLines(SCREEN), "12345678\n", Place::Held)]
    #[case::long_line_does_not(Threshold::WrappedLines(SCREEN), "123456789\n", Place::Refused)]
    #[case::signs_are_no_bytes(Threshold::WrappedLines(SCREEN), "ääääääää\n", Place::Held)]
    #[case::always(Threshold::Nothing, "a", Place::Refused)]
    fn pager_is_called_for_what_the_screen_cannot_show(
        #[case] threshold: Threshold,
        #[case] text: &str,
        #[case] expected: Place,
    ) {
        let mut pager = Pager::new(threshold, None, None);
        pager.write_all(text.as_bytes()).unwrap();
        assert_eq!(pager.place(), expected);
    }

    #[test]
    fn styles_are_for_pagers_that_show_them() {
        let pager = |name: &str| {
            let program = Program::chosen(|variable| (variable == "PAGER").then(|| name.into()));
            Pager::new(Threshold::Nothing, program, None)
        };
        assert_eq!(pager("less").colour(Colour::On), Colour::On);
        assert_eq!(pager("less").colour(Colour::Off), Colour::Off);
        assert_eq!(pager("more").colour(Colour::On), Colour::Off);
        assert_eq!(pager(" ").colour(Colour::On), Colour::On);
    }
}
