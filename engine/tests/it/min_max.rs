// SPDX-License-Identifier: Apache-2.0
//! MIN and MAX of floating-point numbers that are no usual ones.

use rstest::rstest;

use crate::support::{engine_with_drive, rows_of, text};

#[rstest]
#[tokio::test]
async fn of_a_group_are_those_of_its_rows_alone(
    #[values("off", "force")] mode: &str,
    #[values("DOUBLE", "FLOAT")] of: &str,
    #[values(1, 4)] partitions: usize,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive(mode).await;
    let rows = "(VALUES (1, '-inf'), (2, 'inf'), (3, 'nan'), (3, '5'), (4, '5'), (4, 'nan'), \
                (5, '0'), (5, '-0'), (6, NULL), (7, NULL), (7, '-inf'), (8, '-nan'), (8, '-inf'))";
    let select = format!("SELECT g, CAST(x AS {of}) AS x FROM {rows} AS v(g, x)");
    let options = "'format.max_row_group_size' '2', 'format.compression' 'snappy'";
    let copied = format!("COPY ({select}) TO '{path}' STORED AS PARQUET OPTIONS ({options})");
    text(&engine, &copied).await;
    engine.register("t", &path).await.unwrap();
    text(&engine, &format!("SET datafusion.execution.target_partitions = {partitions}")).await;
    text(&engine, "SET datafusion.execution.batch_size = 1").await;

    let both = "min(x) AS low, max(x) AS high FROM t";
    let groups = rows_of(&engine, &format!("SELECT g, {both} GROUP BY g ORDER BY g")).await;
    assert_eq!(groups.len(), 8);
    for (found, g) in groups.iter().zip(1..) {
        let alone = text(&engine, &format!("SELECT {g} AS g, {both} WHERE g = {g}")).await;
        assert_eq!(alone.lines().last(), Some(found.as_str()));
    }
    assert_eq!(groups[..5], ["1 -inf -inf", "2 inf inf", "3 5.0 NaN", "4 5.0 NaN", "5 -0.0 0.0"]);
    let best = "SELECT g, max(x) FROM t WHERE g < 3 GROUP BY g ORDER BY max(x) LIMIT 1";
    assert_eq!(text(&engine, best).await.lines().last(), Some("1 -inf"));
}
