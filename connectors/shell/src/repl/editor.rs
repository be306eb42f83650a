// SPDX-License-Identifier: Apache-2.0
//! Reads statements from the terminal with an editor of lines.
//!
//! A terminal without a cursor that can be moved (`TERM=dumb`), or output that goes elsewhere, gets
//! lines without an editor.

use std::{
    env,
    io::{self, BufRead, IsTerminal},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use nearscan::{Ending, Engine};
use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, EditMode, Emacs, InputMode, KeyCode, KeyModifiers,
    Keybindings, MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, ValidationResult,
    Validator, Vi, default_emacs_keybindings, default_vi_insert_keybindings,
    default_vi_normal_keybindings,
};

use super::{
    complete::SqlCompleter,
    highlight::SqlHighlighter,
    history::SafeHistory,
    is_command,
    lexer::open_brackets,
    prompt::{CONTINUED, ShellPrompt},
    vocabulary::Vocabulary,
};
use crate::{
    choices::EditKeys,
    failure::{Failure, Result, say, show},
    script, style,
};

const MENU: &str = "completions";

/// What the user did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entered {
    /// Wrote statements or a command.
    Text(String),
    /// Pressed Ctrl-C, which cleared the line.
    Cleared,
    /// Left.
    End,
}

/// The source of statements.
pub(super) struct LineEditor {
    engine: Engine,
    /// None on a terminal without an editor.
    editor: Option<Reedline>,
    keys: EditKeys,
}

impl LineEditor {
    /// Makes the editor, with the statements of earlier sessions in a file.
    pub(super) fn open(
        engine: &Engine,
        vocabulary: Arc<Mutex<Vocabulary>>,
        history: Option<PathBuf>,
    ) -> Result<Self> {
        let keys = EditKeys::Emacs;
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let editor = match is_dumb || !io::stdout().is_terminal() {
            true => None,
            false => Some(editor(engine, vocabulary, opened(history)?, keys)),
        };
        Ok(Self { engine: engine.clone(), editor, keys })
    }

    /// Waits for the next statements.
    pub(super) fn read(&mut self, keys: EditKeys) -> Result<Entered> {
        let prompt = ShellPrompt::of(&self.engine);
        let Some(editor) = self.editor.take() else {
            return plain_lines(&self.engine, &prompt);
        };
        let editor = match keys == self.keys {
            true => editor,
            false => editor.with_edit_mode(edit_mode(keys)),
        };
        self.keys = keys;
        let signal = self.editor.insert(editor).read_line(&prompt);
        match signal.map_err(|error| terminal_failure(&error))? {
            Signal::Success(text) => Ok(Entered::Text(text)),
            Signal::CtrlD => Ok(Entered::End),
            _ => Ok(Entered::Cleared),
        }
    }

    /// Writes the history to its file: a shell that is killed later keeps it.
    pub(super) fn save(&mut self) {
        let Some(editor) = &mut self.editor else { return };
        if let Err(error) = editor.sync_history() {
            say(&format!("error: cannot write the history\n  detail: {error}"));
        }
    }
}

fn opened(file: Option<PathBuf>) -> Result<SafeHistory> {
    let failure =
        |error| Failure::Usage(format!("error: cannot keep a history\n  detail: {error}"));
    let Some(path) = file else { return SafeHistory::in_memory().map_err(failure) };
    let shown = path.display().to_string();
    SafeHistory::open(path).or_else(|error| {
        say(&format!("error: cannot read history '{shown}'\n  detail: {error}"));
        SafeHistory::in_memory().map_err(failure)
    })
}

fn editor(
    engine: &Engine,
    vocabulary: Arc<Mutex<Vocabulary>>,
    history: SafeHistory,
    keys: EditKeys,
) -> Reedline {
    let menu = ColumnarMenu::default()
        .with_name(MENU)
        // The tables of a statement may stand behind the cursor.
        .with_input_mode(InputMode::FullBuffer)
        .with_marker("> ")
        .with_text_style(Style::new())
        .with_selected_text_style(Style::new().reverse())
        .with_description_text_style(Style::new().dimmed());
    let mut editor = Reedline::create();
    // Without colours a hint would look like what is written.
    if style::is_coloured() {
        let hinter = DefaultHinter::default().with_style(Color::DarkGray.normal());
        editor = editor.with_hinter(Box::new(hinter));
    }
    editor
        .with_history(Box::new(history))
        // A statement behind a space is not kept.
        .with_history_exclusion_prefix(Some(" ".to_owned()))
        .with_validator(Box::new(StatementValidator { engine: engine.clone() }))
        .with_completer(Box::new(SqlCompleter { vocabulary }))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_highlighter(Box::new(SqlHighlighter))
        .with_ansi_colors(style::is_coloured())
        .use_bracketed_paste(true)
        .with_edit_mode(edit_mode(keys))
}

fn edit_mode(keys: EditKeys) -> Box<dyn EditMode> {
    match keys {
        EditKeys::Emacs => {
            let mut bindings = default_emacs_keybindings();
            bind(&mut bindings);
            Box::new(Emacs::new(bindings))
        }
        EditKeys::Vi => {
            let mut insert = default_vi_insert_keybindings();
            bind(&mut insert);
            Box::new(Vi::new(insert, default_vi_normal_keybindings()))
        }
    }
}

/// Tab completes, and Alt-Enter begins a line also where the statement is complete.
///
/// So does Ctrl-J, which the line ends of text are that was typed while a statement ran: reedline
/// would run the first statement of it and drop the others.
fn bind(bindings: &mut Keybindings) {
    let complete = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.to_owned()),
        ReedlineEvent::MenuNext,
    ]);
    bindings.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    bindings.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    bindings.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line.clone());
    bindings.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), new_line);
}

/// Tells the editor when a statement is complete.
struct StatementValidator {
    engine: Engine,
}

impl Validator for StatementValidator {
    fn validate(&self, text: &str) -> ValidationResult {
        match is_complete(&self.engine, text) {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

/// Whether a text is to be run: a command, or statements that all end, with no bracket open. A
/// second semicolon ends them with a bracket open too.
fn is_complete(engine: &Engine, text: &str) -> bool {
    let is_ended_twice = || {
        let text = text.trim_end().strip_suffix(';').map(str::trim_end);
        text.is_some_and(|text| text.ends_with(';'))
    };
    is_command(text)
        || script::ends_with_command(engine, text)
        || match engine.ending(text) {
            Ending::Blank => true,
            Ending::Closed => open_brackets(text) == 0 || is_ended_twice(),
            Ending::Open => false,
        }
}

fn plain_lines(engine: &Engine, prompt: &ShellPrompt) -> Result<Entered> {
    let failed = |error: io::Error| terminal_failure(&error);
    let mut text = String::new();
    loop {
        show(&if text.is_empty() { prompt.plain() } else { CONTINUED.to_owned() });
        if io::stdin().lock().read_line(&mut text).map_err(failed)? == 0 {
            return Ok(if text.trim().is_empty() { Entered::End } else { Entered::Text(text) });
        }
        if is_complete(engine, &text) {
            return Ok(Entered::Text(text.trim_end().to_owned()));
        }
    }
}

fn terminal_failure(error: &io::Error) -> Failure {
    Failure::Usage(format!("error: cannot read from the terminal\n  detail: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("", true)]
    #[case("-- comment", true)]
    #[case("SELECT 1", false)]
    #[case("SELECT 1;", true)]
    #[case("SELECT (1;", false)]
    #[case("SELECT (1;\n;", true)]
    #[case("SELECT $$a(b$$;", true)]
    #[case("SELECT 1;\n.timer on", true)]
    #[case("quit;", true)]
    #[case("SELECT ';", false)]
    #[case("SELECT ')';", true)]
    #[case(".tables", true)]
    #[case("quit", true)]
    #[tokio::test]
    async fn statement_is_complete_with_its_end_and_no_open_bracket(
        #[case] text: &str,
        #[case] expected: bool,
    ) {
        let engine = Engine::builder().build().await.unwrap();
        assert_eq!(is_complete(&engine, text), expected);
    }
}
