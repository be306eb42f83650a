// SPDX-License-Identifier: Apache-2.0
//! Draws the profile of a statement as a tree of operators, with rows, bytes and time beside them.
//!
//! ```text
//! SortExec                         5 rows      0.1 ms
//! └─ AggregateExec                 5 rows      2.4 ms
//!    └─ DriveScanExec: table=t   412 rows      1.1 ms   media 12.3 MiB, link 1.2 KiB
//! ```
//!
//! Times are the processor's in an operator, over all partitions; what a model says is not shown
//! here.

use std::time::Duration;

use nearscan::{OperatorProfile, QueryProfile, units::format_bytes};
use unicode_width::UnicodeWidthStr;

/// Most characters of an operator with its branch.
const LABEL_MAX: usize = 44;

/// One operator.
struct Line {
    label: String,
    rows: String,
    time: String,
    bytes: String,
}

/// Returns the tree.
pub(crate) fn draw(profile: &QueryProfile) -> String {
    let mut lines = Vec::new();
    push(&profile.root, "", "", &mut lines);
    let width = |of: fn(&Line) -> &str| lines.iter().map(|it| of(it).width()).max().unwrap_or(0);
    let (labels, rows) = (width(|it| &it.label), width(|it| &it.rows));
    let times = width(|it| &it.time);
    let mut text = String::new();
    for Line { label, rows: count, time, bytes } in &lines {
        let fill = " ".repeat(labels - label.width());
        let line = format!("{label}{fill}  {count:>rows$}  {time:>times$}  {bytes}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Adds an operator and those below it; `first` stands before its own line, `rest` before theirs.
fn push(operator: &OperatorProfile, first: &str, rest: &str, lines: &mut Vec<Line>) {
    let count = |name: &str| operator.metrics.get(name).map(|metric| metric.value);
    let rows = count("output_rows").map_or_else(String::new, |rows| match rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    });
    let time = count("elapsed_compute").map(Duration::from_nanos);
    let time = time.map_or_else(String::new, |it| format!("{:.1} ms", it.as_secs_f64() * 1e3));
    let sizes = [("read", "bytes_scanned"), ("media", "media_bytes"), ("link", "link_bytes")];
    let bytes: Vec<String> = sizes
        .iter()
        .filter_map(|(word, name)| {
            let bytes = count(name).filter(|bytes| *bytes > 0)?;
            Some(format!("{word} {}", format_bytes(bytes)))
        })
        .collect();
    let label = shortened(&format!("{first}{}", operator.line));
    lines.push(Line { label, rows, time, bytes: bytes.join(", ") });
    for (index, child) in operator.children.iter().enumerate() {
        let (branch, below) = match index + 1 == operator.children.len() {
            true => ("└─ ", "   "),
            false => ("├─ ", "│  "),
        };
        push(child, &format!("{rest}{branch}"), &format!("{rest}{below}"), lines);
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LABEL_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearscan::Engine;

    #[tokio::test]
    async fn operators_are_drawn_below_those_that_read_from_them() {
        let engine = Engine::builder().threads(1).build().await.unwrap();
        let sql = "SELECT a.value FROM range(0, 7) AS a JOIN range(0, 5) AS b USING (value)";
        let result = engine.sql(sql).await.unwrap().collect().await.unwrap();
        let tree = draw(&result.profile);
        let lines: Vec<&str> = tree.lines().collect();
        let join = lines.iter().position(|line| line.contains("HashJoinExec")).unwrap();
        assert!(lines[join].contains("5 rows"), "{tree}");
        let below = &lines[join + 1..];
        assert!(below[0].trim_start().starts_with("├─ "), "{tree}");
        assert!(below.iter().any(|line| line.trim_start().starts_with("└─ ")), "{tree}");
    }
}
