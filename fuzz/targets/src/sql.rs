// SPDX-License-Identifier: Apache-2.0
//! Implements the target `sql`: statements through the parser, the planner and our rule, without
//! execution.
//!
//! Bytes are either text, which is only cut and parsed, or words of [`WORDS`], one a byte, so that
//! a changed byte is another word and most inputs have the shape of a query. Those are planned
//! twice, without a drive and with one that takes all it can: a statement that has a plan has one
//! in both, with the same columns.

use std::cell::RefCell;

use nearscan::{Ending, Engine, Query};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::words::WORDS;

/// The first words of texts that are planned: nothing that changes the session or writes files.
const PLANNED: [&str; 4] = ["SELECT", "WITH", "VALUES", "EXPLAIN"];
/// Words of a statement, at most: planning takes longer than a line with more words, not more code.
const WORDS_MAX: usize = 96;

/// A query over the tables that are there, for a file of each.
const TABLES: &[(&str, &str)] = &[
    (
        "t",
        "SELECT value AS k, value % 7 AS v, CAST(value AS INT) AS i, \
         CAST(value AS DOUBLE) / 3 AS f, CAST(value AS DECIMAL(12, 2)) AS d, \
         concat('s', value % 5) AS s, DATE '1994-01-01' + CAST(value AS INT) AS e, \
         value % 2 = 0 AS b FROM generate_series(1, 40)",
    ),
    (
        "u",
        "SELECT value AS k, nullif(value % 3, 0) AS v, CAST(value AS SMALLINT) AS i, \
         concat('s', value) AS s, TIMESTAMP '2001-02-03 04:05:06' AS e \
         FROM generate_series(1, 9)",
    ),
];

/// Two engines over the same tables.
struct Engines {
    runtime: Runtime,
    plain: Engine,
    with_drive: Engine,
    _folder: TempDir,
}

thread_local! {
    static ENGINES: RefCell<Option<Engines>> = const { RefCell::new(None) };
}

/// Parses a text, or plans a row of words. Whether there is a statement, or a plan.
///
/// # Panics
/// When the engine does, or when only one of two engines has a plan.
pub fn sql(bytes: &[u8]) -> bool {
    let Some((kind, bytes)) = bytes.split_first() else { return false };
    ENGINES.with_borrow_mut(|engines| {
        let engines = engines.get_or_insert_with(Engines::start);
        match kind % 4 {
            0 => engines.parse(&String::from_utf8_lossy(bytes)),
            _ => engines.plan(&text_of(bytes)),
        }
    })
}

/// The words that bytes represent.
fn text_of(bytes: &[u8]) -> String {
    let word = |byte: &u8| WORDS[usize::from(*byte) % WORDS.len()];
    let words: Vec<&str> = bytes.iter().take(WORDS_MAX).map(word).collect();
    words.join(" ")
}

impl Engines {
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let folder = TempDir::new().expect("a folder for temporary files");
        let plain = Engine::builder()
            .set("nearscan.scan", "datafusion")
            .set("nearscan.aggregate", "datafusion");
        let plain = runtime.block_on(open(plain));
        for (name, query) in TABLES {
            let path = folder.path().join(name).with_extension("parquet");
            let copy = format!("COPY ({query}) TO '{}' STORED AS PARQUET", path.display());
            let written = async { plain.sql(&copy).await?.collect().await };
            runtime.block_on(written).expect("a table");
        }
        let builder = Engine::builder().drive("emulated:?profile=unlimited").expect("a drive");
        let builder = builder.set("nearscan.pushdown.mode", "force");
        let with_drive = runtime.block_on(open(builder));
        for engine in [&plain, &with_drive] {
            for (name, _) in TABLES {
                let path = folder.path().join(name).with_extension("parquet");
                let location = path.display().to_string();
                runtime.block_on(engine.register(name, &location)).expect("a table");
            }
        }
        Self { runtime, plain, with_drive, _folder: folder }
    }

    fn parse(&self, text: &str) -> bool {
        // The ending of a text is asked for with every line that a user types.
        let ending = self.plain.ending(text);
        let statements = self.plain.statements(text);
        assert!(ending != Ending::Blank || statements.is_empty(), "a statement of nothing");
        for statement in &statements {
            match statement {
                Ok(statement) => assert!(text.contains(statement.text()), "words from elsewhere"),
                Err(error) => assert!(!error.render().is_empty(), "an error without a text"),
            }
        }
        statements.iter().any(Result::is_ok)
    }

    fn plan(&self, text: &str) -> bool {
        self.parse(text);
        if !PLANNED.iter().any(|word| text.starts_with(word)) {
            return false;
        }
        let plan = |engine: &Engine| {
            self.runtime.block_on(async {
                let query: Query = engine.sql(text).await.ok()?;
                let profile = query.profile().await.ok()?;
                Some((query.schema(), profile))
            })
        };
        let (plain, with_drive) = (plan(&self.plain), plan(&self.with_drive));
        assert_eq!(
            plain.as_ref().map(|(schema, _)| schema),
            with_drive.as_ref().map(|(schema, _)| schema),
            "columns without a drive and with one, of: {text}"
        );
        plain.is_some()
    }
}

async fn open(builder: nearscan::EngineBuilder) -> Engine {
    builder.threads(1).build().await.expect("an engine")
}
