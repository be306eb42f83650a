// SPDX-License-Identifier: Apache-2.0
//! Tests the interactive shell at a pseudo-terminal, as a user sees it: keys in, a screen out.

#![expect(clippy::disallowed_methods, reason = "what users wait for is what is tested")]

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use tempfile::TempDir;

const ROWS: u16 = 30;
const COLUMNS: u16 = 100;

/// Longest time until something has to be on the screen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time after which a prompt takes keys.
const SETTLED: Duration = Duration::from_millis(100);

/// Asks a terminal where its cursor is.
const WHERE: &[u8] = b"\x1b[6n";

const TAB: &str = "\t";
const ENTER: &str = "\r";
const UP: &str = "\x1b[A";
const ESCAPE: &str = "\x1b";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_R: &str = "\x12";

/// A program at a terminal.
struct Terminal {
    screen: Arc<Mutex<Screen>>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
}

/// What the program has written.
struct Screen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// How often something was written behind the last prompt.
    departures: usize,
}

impl Screen {
    fn process(&mut self, bytes: &[u8]) {
        let was_prompt = self.is_prompt();
        self.parser.process(bytes);
        self.bytes.extend_from_slice(bytes);
        self.departures += usize::from(was_prompt && !self.is_prompt());
    }

    /// Whether the last line is a prompt with nothing behind it.
    fn is_prompt(&self) -> bool {
        self.parser.screen().contents().trim_end().ends_with("nearscan>")
    }

    /// The prompts that are visible.
    fn prompts(&self) -> usize {
        let text = self.parser.screen().contents();
        text.lines().filter(|line| line.starts_with("nearscan>")).count()
    }
}

impl Terminal {
    /// Starts the shell in a folder, which also holds its history.
    fn start(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_nearscan"));
        command.args(arguments);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env("XDG_STATE_HOME", folder.join("state"));
        command.env("XDG_CONFIG_HOME", folder.join("config"));
        for name in ["NO_COLOR", "PAGER", "LESS"] {
            command.env_remove(name);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = vt100::Parser::new(ROWS, COLUMNS, 0);
        let screen = Screen { parser, bytes: Vec::new(), departures: 0 };
        let screen = Arc::new(Mutex::new(screen));
        let keys = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let (written, answers) = (Arc::clone(&screen), Arc::clone(&keys));
        let mut reader = pair.master.try_clone_reader().unwrap();
        thread::spawn(move || {
            // The terminal lives as long as its reader.
            let _master = pair.master;
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let mut screen = written.lock().unwrap();
                screen.process(&buffer[..count]);
                if buffer[..count].windows(WHERE.len()).any(|bytes| bytes == WHERE) {
                    let (row, column) = screen.parser.screen().cursor_position();
                    let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                    answers.lock().unwrap().write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        let terminal = Self { screen, keys, child };
        terminal.wait_for("nearscan");
        terminal.wait_for("> ");
        thread::sleep(SETTLED);
        terminal
    }

    fn send(&self, keys: &str) {
        self.keys.lock().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().parser.screen().contents()
    }

    /// All bytes so far.
    fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap().bytes).into_owned()
    }

    /// Waits until a text is on the screen.
    fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.text().contains(text) {
            let shown = self.text();
            assert!(start.elapsed() < PATIENCE, "no {text:?} on the screen:\n{shown}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys, and waits for a new prompt with nothing behind it. Keys that are pressed
    /// between two prompts may be lost, as they are for a user.
    fn enter(&self, keys: &str) {
        let state = || {
            let screen = self.screen.lock().unwrap();
            (screen.prompts(), screen.departures, screen.is_prompt())
        };
        let (prompts_before, departures_before, _) = state();
        self.send(keys);
        let start = Instant::now();
        loop {
            let (prompts, departures, is_prompt) = state();
            // Old prompts leave a screen that is full.
            if is_prompt && (departures > departures_before || prompts > prompts_before) {
                // The editor may still ask where the cursor is, and read the answer.
                thread::sleep(SETTLED);
                return;
            }
            let shown = self.text();
            assert!(start.elapsed() < PATIENCE, "no prompt on the screen:\n{shown}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs a statement, which writes the expected text, and waits for the prompt after it.
    fn run(&self, statement: &str, expected: &str) {
        self.enter(&format!("{statement}{ENTER}"));
        self.wait_for(expected);
    }

    /// Waits for the end of the program and returns its exit status.
    fn status(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(start.elapsed() < PATIENCE, "the program goes on:\n{}", self.text());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
    }
}

/// A folder with a table `people` of three rows.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("people.csv"), "name,height\nAda,165\nBob,\nCleo,172\n").unwrap();
    folder
}

#[test]
fn tab_completes_a_column_of_the_table_in_from() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &["people.csv"], &[]);
    terminal.send("SELECT name FROM people WHERE hei");
    terminal.send(TAB);
    terminal.wait_for("WHERE height");
    terminal.run(" > 170;", "Cleo");
    // In front of FROM, where the tables stand behind the cursor.
    terminal.send("SELECT  FROM people;");
    terminal.send(&"\x1b[D".repeat(" FROM people;".len()));
    terminal.send("max(hei");
    terminal.send(TAB);
    terminal.wait_for("max(height FROM people;");
    terminal.send(")");
    terminal.send(ENTER);
    terminal.wait_for("172");
}

#[test]
fn tab_completes_a_path_in_quotes() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.send("SELECT count(*) AS n FROM 'peo");
    terminal.send(TAB);
    terminal.wait_for("'people.csv'");
    terminal.run(";", "1 row");
}

#[test]
fn result_has_types_and_dimmed_nulls() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &["people.csv"], &[]);
    terminal.run("SELECT name, height FROM people ORDER BY name;", "3 rows");
    let text = terminal.text();
    let line = |word: &str| text.lines().position(|line| line.contains(word)).unwrap();
    assert_eq!(line("bigint"), line("| name") + 1, "{text}");
    assert!(terminal.bytes().contains("\x1b[2mNULL\x1b[0m"), "{:?}", terminal.bytes());
}

#[test]
fn no_color_leaves_no_colours() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &["people.csv"], &[("NO_COLOR", "1")]);
    terminal.run("SELECT name, height FROM people ORDER BY name;", "3 rows");
    let bytes = terminal.bytes();
    let is_colour = |sequence: &str| {
        let end = sequence.find(|sign: char| !sign.is_ascii_digit() && sign != ';');
        end.is_some_and(|end| {
            sequence[end..].starts_with('m') && !matches!(&sequence[..end], "" | "0")
        })
    };
    let colours: Vec<&str> = bytes.split("\x1b[").skip(1).filter(|it| is_colour(it)).collect();
    assert!(colours.is_empty(), "{colours:?}");
}

#[test]
fn statement_takes_several_lines_while_a_bracket_is_open() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.send("SELECT (1;");
    terminal.send(ENTER);
    terminal.wait_for("...>");
    terminal.enter(CTRL_C);
    terminal.run("SELECT (1\r + 41) AS answer;", "42");
}

#[test]
fn ctrl_c_ends_the_query_and_not_the_shell() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.send("SELECT count(*) AS n FROM range(0, 1000000000000000) WHERE value % 3 = 1;");
    terminal.send(ENTER);
    thread::sleep(Duration::from_millis(700));
    terminal.enter(CTRL_C);
    terminal.wait_for("interrupted");
    thread::sleep(Duration::from_millis(1100));
    terminal.enter(CTRL_C);
    terminal.run("SELECT 41 + 1 AS answer;", "42");
}

#[test]
fn second_ctrl_c_within_a_second_ends_the_program() {
    let folder = folder();
    let mut terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.send("SELECT count(*) AS n FROM range(0, 1000000000000000) WHERE value % 3 = 1;");
    terminal.send(ENTER);
    thread::sleep(Duration::from_millis(700));
    terminal.send(CTRL_C);
    thread::sleep(Duration::from_millis(200));
    terminal.send(CTRL_C);
    assert_eq!(terminal.status(), 130);
}

#[test]
fn long_result_goes_to_the_pager_and_a_short_one_does_not() {
    let folder = folder();
    let pager = folder.path().join("pager.sh");
    fs::write(&pager, "cat > paged.txt\necho paged\n").unwrap();
    let pager = format!("sh {}", pager.display());
    let terminal = Terminal::start(folder.path(), &[], &[("NEARSCAN_PAGER", &pager)]);
    terminal.run("SELECT value AS n FROM range(0, 3);", "3 rows");
    assert!(!folder.path().join("paged.txt").exists());
    terminal.run("SELECT value AS n FROM range(0, 5000) ORDER BY n;", "paged");
    let paged = fs::read_to_string(folder.path().join("paged.txt")).unwrap();
    assert!(paged.lines().any(|line| line.contains(" 4999 ")), "{paged}");
    assert!(paged.lines().count() >= 5000);
    terminal.run(".pager off", "nearscan>");
    terminal.run("SELECT value AS n FROM range(0, 4000) ORDER BY n;", "4000 rows, 40 shown");
}

#[test]
fn pager_that_the_user_leaves_ends_the_query_and_not_the_shell() {
    let folder = folder();
    let pager = [("NEARSCAN_PAGER", "head -n 3")];
    let terminal = Terminal::start(folder.path(), &[], &pager);
    terminal.run("SELECT value AS n FROM range(0, 1000000000000000);", "bigint");
    terminal.run("SELECT 41 + 1 AS answer;", "42");
}

#[test]
fn history_is_there_in_a_new_session_without_secrets() {
    let folder = folder();
    let mut terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.run("SELECT 7 * 6 AS answer;", "42");
    terminal
        .run("SELECT 'kept' AS a FROM range(0, 0) WHERE 'http://h?token=xyzzy' = '';", "0 rows");
    terminal.send(CTRL_D);
    assert_eq!(terminal.status(), 0);
    let kept = fs::read_to_string(folder.path().join("state/nearscan/history")).unwrap();
    assert!(kept.contains("7 * 6") && !kept.contains("xyzzy"), "{kept}");
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.send(UP);
    terminal.wait_for("'kept'");
    terminal.send(UP);
    terminal.wait_for("nearscan> SELECT 7 * 6 AS answer;");
    terminal.run("", "42");
    terminal.send(CTRL_R);
    terminal.send("kep");
    terminal.wait_for("(search: kep)");
    terminal.wait_for("'kept'");
}

#[test]
fn hint_is_the_statement_of_the_history_that_begins_so() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.run("SELECT 7 * 6 AS answer;", "42");
    terminal.send("SELECT 7");
    terminal.wait_for("nearscan> SELECT 7 * 6 AS answer;\n");
}

#[test]
fn keys_may_be_those_of_vi() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.run(".keys vi", ".keys vi");
    terminal.send("SELECT 41 AS answer;");
    terminal.wait_for("SELECT 41 AS answer;");
    terminal.send(ESCAPE);
    terminal.wait_for("nearscan: ");
    // To the first digit, and 52 in place of 41.
    terminal.send("0f4cw52");
    terminal.send(ENTER);
    terminal.wait_for(" 52 |");
}

#[test]
fn start_up_file_may_hold_commands() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("config/nearscan")).unwrap();
    let init = folder.path().join("config/nearscan/init.sql");
    fs::write(init, ".timer on\nCREATE TABLE t AS SELECT 42 AS answer;\n.mode vertical\n").unwrap();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.run("FROM t;", "planning");
    assert!(terminal.text().contains("ROW 1"), "{}", terminal.text());
}

#[test]
fn prompt_has_the_drive_and_the_mode() {
    let folder = folder();
    let drive = "fast=emulated:?root=.";
    let terminal = Terminal::start(folder.path(), &["--drive", drive], &[]);
    terminal.wait_for("nearscan(fast auto)> ");
    terminal.send("SET nearscan.pushdown.mode = 'force';");
    terminal.send(ENTER);
    terminal.wait_for("nearscan(fast force)> ");
}

#[test]
fn statements_typed_while_one_runs_are_not_lost() {
    let folder = folder();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.send(".watch 1 2 SELECT 'first' AS a;\r");
    terminal.wait_for("| first ");
    terminal.send("SELECT 20 + 1 AS a;\rSELECT 40 + 2 AS b;\r");
    terminal.wait_for("     ...> SELECT 40 + 2 AS b;");
    thread::sleep(SETTLED);
    terminal.send(ENTER);
    terminal.wait_for(" 21 |");
    terminal.wait_for(" 42 |");
}

#[test]
fn second_ctrl_c_in_the_pager_is_a_key_of_the_pager() {
    let folder = folder();
    let pager = folder.path().join("pager.sh");
    let script = "trap 'echo caught' INT\nhead -n 4\nuntil [ -e leave ]; do sleep 0.1; done\n";
    fs::write(&pager, script).unwrap();
    let pager = format!("sh {}", pager.display());
    let terminal = Terminal::start(folder.path(), &[], &[("NEARSCAN_PAGER", &pager)]);
    terminal.send("SELECT value AS n FROM range(0, 1000000000000000);\r");
    terminal.wait_for("bigint");
    for _ in 0..2 {
        terminal.send(CTRL_C);
        thread::sleep(Duration::from_millis(200));
    }
    terminal.wait_for("caught");
    fs::write(folder.path().join("leave"), "").unwrap();
    terminal.enter("");
    terminal.run("SELECT 40 + 2 AS answer;", " 42 |");
}

#[test]
fn failing_start_up_file_does_not_end_the_shell() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("config/nearscan")).unwrap();
    fs::write(folder.path().join("config/nearscan/init.sql"), ".open nothing.csv\n").unwrap();
    let terminal = Terminal::start(folder.path(), &[], &[]);
    terminal.wait_for("hint: the statement is in");
    terminal.run("SELECT 40 + 2 AS answer;", " 42 |");
}
