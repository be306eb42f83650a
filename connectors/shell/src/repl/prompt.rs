// SPDX-License-Identifier: Apache-2.0
//! Draws the prompt: the program, and with drives their names and the mode of pushdown.

use std::borrow::Cow;

use nearscan::Engine;
use reedline::{
    Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, PromptViMode,
};

/// The prompt of the lines of a statement after the first.
pub(super) const CONTINUED: &str = "     ...> ";

/// Most drives whose names are in the prompt.
const NAMES_MAX: usize = 2;

/// The prompt before one statement.
pub(super) struct ShellPrompt {
    text: String,
}

impl ShellPrompt {
    /// The prompt for an engine's drives and settings.
    pub(super) fn of(engine: &Engine) -> Self {
        let names: Vec<&str> = engine.drive_specs().iter().map(|spec| spec.name.as_str()).collect();
        let drives = match names.len() {
            0 => return Self { text: "nearscan".to_owned() },
            1..=NAMES_MAX => names.join(","),
            count => format!("{count} drives"),
        };
        Self { text: format!("nearscan({drives} {})", engine.options().pushdown.mode) }
    }

    /// What a terminal without a line editor shows.
    pub(super) fn plain(&self) -> String {
        format!("{}> ", self.text)
    }
}

impl Prompt for ShellPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.text)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(match mode {
            PromptEditMode::Vi(PromptViMode::Normal) => ": ",
            _ => "> ",
        })
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(CONTINUED)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "search",
            PromptHistorySearchStatus::Failing => "not found",
        };
        Cow::Owned(format!("({found}: {}) ", search.term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn prompt_names_drives_and_mode() {
        let engine = Engine::builder().build().await.unwrap();
        assert_eq!(ShellPrompt::of(&engine).plain(), "nearscan> ");
        let folder = tempfile::tempdir().unwrap();
        let url = format!("fast=emulated:?root={}", folder.path().display());
        let engine = Engine::builder().drive(&url).unwrap().build().await.unwrap();
        engine.set("nearscan.pushdown.mode", "force").await.unwrap();
        assert_eq!(ShellPrompt::of(&engine).plain(), "nearscan(fast force)> ");
    }
}
