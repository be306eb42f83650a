// SPDX-License-Identifier: Apache-2.0
//! Writes a result to the screen if it fits there, and else to a pager.
//!
//! A result has a long form, which the pager shows, and may have a short one, which is for results
//! that fit on the screen and for users without a pager. Until that is decided both get all rows;
//! then the other one is dropped.

use std::io::Write;

use nearscan::arrow::array::RecordBatch;

use super::{
    ResultWriter, WriteError,
    pager::{Pager, Place},
};

/// A result for the screen or a pager.
pub(super) struct Paged {
    pager: Pager,
    /// Writes to the pager; none once it is known that there is none and the result is short.
    long: Option<Box<dyn ResultWriter>>,
    /// Writes to the screen.
    short: Option<Box<dyn ResultWriter>>,
}

impl Paged {
    /// `long` writes to a sink of the pager.
    pub(super) fn new(
        pager: Pager,
        long: Box<dyn ResultWriter>,
        short: Option<Box<dyn ResultWriter>>,
    ) -> Self {
        Self { pager, long: Some(long), short }
    }

    /// Drops the form that will not be shown.
    fn decide(&mut self) {
        match self.pager.place() {
            Place::Held => {}
            Place::Running | Place::Left => self.short = None,
            Place::Refused if self.short.is_some() => self.long = None,
            Place::Refused => {}
        }
    }

    /// Distinguishes a user who has quit the pager from a failure: the writers turn errors of the
    /// system into their own.
    fn unless_left<T>(&self, result: Result<T, WriteError>) -> Result<T, WriteError> {
        match self.pager.place() {
            Place::Left => Err(WriteError::Left),
            Place::Held | Place::Running | Place::Refused => result,
        }
    }
}

impl ResultWriter for Paged {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        if let Some(short) = &mut self.short {
            short.write(batch)?;
        }
        if let Some(long) = &mut self.long {
            let written = long.write(batch).and_then(|()| Ok(self.pager.flush()?));
            self.decide();
            self.unless_left(written)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        let finished = self.long.take().map_or(Ok(()), ResultWriter::finish);
        self.decide();
        let finished = self.unless_left(finished);
        let ended = self.pager.end();
        finished?;
        ended?;
        self.short.take().map_or(Ok(()), ResultWriter::finish)
    }

    fn has_screen(&self) -> bool {
        self.pager.place() == Place::Running
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf, process::Command};

    use super::*;
    use crate::{
        output::{
            pager::Threshold,
            preview::Preview,
            program::Program,
            screen::Screen,
            table::Table,
            testing::{Shared, batch},
            vertical::Vertical,
        },
        style::Colour,
    };
    use nearscan::arrow::datatypes::SchemaRef;
    use tempfile::TempDir;

    const SCREEN: Screen = Screen { width: 20, height: 10 };

    /// A terminal with a pager that a script stands for.
    struct Desk {
        folder: TempDir,
        screen: Shared,
    }

    impl Desk {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), screen: Shared::default() }
        }

        /// Makes a pager; `$1` is the file of [`Self::paged_text`].
        fn script(&self, text: &str) -> Option<Program> {
            let path = self.folder.path().join("pager");
            fs::write(&path, text).unwrap();
            self.program(&format!("sh {}", path.display()))
        }

        fn program(&self, command: &str) -> Option<Program> {
            let line = format!("{command} {}", self.file().display());
            Program::chosen(|name| (name == "NEARSCAN_PAGER").then(|| line.clone().into()))
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("text")
        }

        /// What the pager has read, if it ran.
        fn paged_text(&self) -> Option<String> {
            fs::read_to_string(self.file()).ok()
        }

        fn table(&self, threshold: Threshold, program: Option<Program>) -> Box<Paged> {
            let schema = batch(&[], &[]).schema();
            let pager = Pager::new(threshold, program, None);
            let sink = pager.sink();
            let long = Table::for_pager(sink, &schema, Colour::Off, SCREEN);
            let short = Preview::of_screen(self.screen.sink(), &schema, Colour::Off, SCREEN);
            Box::new(Paged::new(pager, Box::new(long), Some(Box::new(short))))
        }

        fn vertical(&self, program: Option<Program>) -> Box<Paged> {
            let schema: SchemaRef = batch(&[], &[]).schema();
            let threshold = Threshold::WrappedLines(Screen { width: 80, ..SCREEN });
            let pager = Pager::new(threshold, program, Some(self.screen.sink()));
            let long = Vertical::new(pager.sink(), &schema, Colour::Off);
            Box::new(Paged::new(pager, Box::new(long), None))
        }
    }

    fn rows(count: i64) -> RecordBatch {
        let numbers: Vec<Option<i64>> = (1..=count).map(Some).collect();
        batch(&numbers, &vec![Some("a text that is wider than the screen"); numbers.len()])
    }

    /// Copies its input to a file, all at once, when it has read everything.
    const COPY: &str = "cat > $1.part && mv $1.part $1";

    #[test]
    fn long_table_goes_to_the_pager_with_all_rows_and_columns() {
        let desk = Desk::new();
        let mut table = desk.table(Threshold::Lines(SCREEN), desk.script(COPY));
        table.write(&rows(3)).unwrap();
        assert!(!table.has_screen());
        table.write(&rows(100)).unwrap();
        assert!(table.has_screen());
        table.finish().unwrap();
        let text = desk.paged_text().unwrap();
        assert_eq!(text.lines().count(), 103 + 5, "{text}");
        assert!(text.contains("\n|    100 | a text that is wider than the screen |\n"), "{text}");
        assert!(text.contains("\n| bigint | varchar "), "{text}");
        assert_eq!(desk.screen.take(), "");
    }

    #[test]
    fn short_table_is_a_preview_on_the_screen() {
        let desk = Desk::new();
        let mut table = desk.table(Threshold::Lines(SCREEN), desk.script(COPY));
        table.write(&rows(4)).unwrap();
        table.finish().unwrap();
        assert_eq!(desk.paged_text(), None);
        let text = desk.screen.take();
        assert!(text.ends_with("\n4 rows\n"), "{text}");
        assert!(text.contains("…"), "{text}");
    }

    #[test]
    fn short_table_goes_to_the_pager_when_it_always_does() {
        let desk = Desk::new();
        let mut table = desk.table(Threshold::Nothing, desk.script(COPY));
        table.write(&rows(1)).unwrap();
        table.finish().unwrap();
        assert_eq!(desk.paged_text().unwrap().lines().count(), 1 + 5);
        assert_eq!(desk.screen.take(), "");
    }

    #[test]
    fn pager_gets_rows_as_they_come() {
        let desk = Desk::new();
        // The script and the test meet at a pipe with a name; the script does not wait for ever.
        Command::new("mkfifo").arg(desk.file()).status().unwrap();
        let mut vertical = desk.vertical(desk.script("timeout 10 sh -c \"head -c 11 > $1\""));
        vertical.write(&rows(10)).unwrap();
        assert!(vertical.has_screen());
        assert_eq!(desk.paged_text().as_deref(), Some("-[ ROW 1 ]-"));
    }

    #[test]
    fn user_who_quits_ends_the_result_without_a_failure() {
        let desk = Desk::new();
        let forms = [
            desk.table(Threshold::Lines(SCREEN), desk.script("exit 0")) as Box<dyn ResultWriter>,
            desk.vertical(desk.script("exit 1")),
        ];
        for mut writer in forms {
            // The program may take what fits into its pipe with it.
            let is_left = (0..1000).any(|_| match writer.write(&rows(1000)) {
                Ok(()) => false,
                Err(WriteError::Left) => true,
                Err(error) => panic!("{error}"),
            });
            assert!(is_left);
            assert!(!writer.has_screen());
            assert!(matches!(writer.write(&rows(1)), Err(WriteError::Left)));
            assert!(matches!(writer.finish(), Err(WriteError::Left)));
            assert_eq!(desk.screen.take(), "");
        }
    }

    #[test]
    fn table_without_a_pager_is_a_preview() {
        let desk = Desk::new();
        let missing = desk.program("/missing/pager");
        for program in [missing, None] {
            let mut table = desk.table(Threshold::Lines(SCREEN), program);
            table.write(&rows(100)).unwrap();
            assert!(!table.has_screen());
            table.write(&rows(1000)).unwrap();
            table.finish().unwrap();
            let text = desk.screen.take();
            assert!(text.ends_with("\n1100 rows, 40 shown\n"), "{text}");
        }
    }

    #[test]
    fn text_without_a_pager_or_shorter_than_the_screen_is_written_directly() {
        let desk = Desk::new();
        let missing = desk.program("/missing/pager");
        for (program, count) in [(missing, 100), (desk.script(COPY), 1)] {
            let mut vertical = desk.vertical(program);
            vertical.write(&rows(count)).unwrap();
            vertical.write(&rows(count)).unwrap();
            vertical.finish().unwrap();
            let rules = desk.screen.take().lines().filter(|line| line.starts_with("-[")).count();
            assert_eq!(i64::try_from(rules).unwrap(), 2 * count);
        }
        assert_eq!(desk.paged_text(), None);
    }

    #[test]
    fn result_that_is_dropped_waits_for_its_pager() {
        let desk = Desk::new();
        let mut vertical = desk.vertical(desk.script(COPY));
        vertical.write(&rows(100)).unwrap();
        drop(vertical);
        assert!(desk.paged_text().unwrap().contains("-[ ROW 100 ]-"));
    }
}
