// SPDX-License-Identifier: Apache-2.0
//! IN and NOT IN of subqueries with NULL, in every place of a condition.

use rstest::rstest;

use crate::support::{engine, engine_with_drive, rows_of, text};

/// `id` and `z` of one table, `id`, `z` and `g` of another.
const TABLES: [(&str, &str); 3] = [
    ("o", "(1, 10, 1), (2, 20, 2), (NULL, 30, 1), (4, 40, 3)) AS t(id, z, g)"),
    ("i", "(1, 5, 1), (NULL, 15, 2), (7, 35, 3)) AS t(id, z, g)"),
    ("whole", "(1, 5), (7, 35)) AS t(id, z)"),
];

#[rstest]
#[case::column("id NOT IN (SELECT id FROM i)", "")]
#[case::column_without_null("id NOT IN (SELECT id FROM whole)", "20 40")]
#[case::column_of_none("id NOT IN (SELECT id FROM whole WHERE z > 99)", "10 20 30 40")]
#[case::constant("3 NOT IN (SELECT id FROM i)", "")]
#[case::constant_that_is_in("7 NOT IN (SELECT id FROM whole)", "")]
#[case::constant_that_is_not("3 NOT IN (SELECT id FROM whole)", "10 20 30 40")]
#[case::null("NULLIF(1, 1) NOT IN (SELECT id FROM whole)", "")]
#[case::null_of_none("NULLIF(1, 1) NOT IN (SELECT id FROM i WHERE z > 99)", "10 20 30 40")]
#[case::correlated("id NOT IN (SELECT id FROM i WHERE i.g = o.g)", "40")]
#[case::constant_correlated("3 NOT IN (SELECT id FROM i WHERE i.g = o.g)", "10 30 40")]
#[case::correlated_by_more("id NOT IN (SELECT id FROM i WHERE i.z < o.z)", "")]
#[case::correlated_by_less("id NOT IN (SELECT id FROM i WHERE i.z > o.z + 10)", "10 20 30 40")]
#[case::turned("NOT (id IN (SELECT id FROM whole))", "20 40")]
#[case::turned_twice("NOT (id NOT IN (SELECT id FROM i))", "10")]
#[case::in_or("id NOT IN (SELECT id FROM i) OR z = 40", "40")]
#[case::in_or_without_null("id NOT IN (SELECT id FROM whole) OR z = 10", "10 20 40")]
#[case::is_null("(id NOT IN (SELECT id FROM i)) IS NULL", "20 30 40")]
#[case::is_null_without_null("(id IN (SELECT id FROM whole)) IS NULL", "30")]
#[case::is_false("(id IN (SELECT id FROM whole)) IS FALSE", "20 40")]
#[case::case("CASE WHEN id IN (SELECT id FROM i) THEN false ELSE true END", "20 30 40")]
#[case::compared("(id IN (SELECT id FROM i)) = (z = 10)", "10")]
#[case::of_greatest("id NOT IN (SELECT max(id) FROM i WHERE i.g = o.g)", "40")]
#[case::of_groups("id NOT IN (SELECT g FROM i GROUP BY g HAVING count(id) > 0)", "20 40")]
#[case::inside("z IN (SELECT z FROM o AS p WHERE p.id NOT IN (SELECT id FROM whole))", "20 40")]
#[case::in_is_as_before("id IN (SELECT id FROM i) OR z = 40", "10 40")]
#[tokio::test]
async fn unknown_is_neither_in_nor_not(
    #[case] condition: &str,
    #[case] expected: &str,
    #[values("none", "force")] drive: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let engine = if drive == "none" { engine().await } else { engine_with_drive(drive).await };
    for (name, rows) in TABLES {
        let path = folder.path().join(name).with_extension("parquet").display().to_string();
        text(&engine, &format!("COPY (SELECT * FROM (VALUES {rows}) TO '{path}'")).await;
        engine.register(name, &path).await.unwrap();
    }
    let found = rows_of(&engine, &format!("SELECT z FROM o WHERE {condition} ORDER BY z")).await;
    assert_eq!(found.join(" "), expected, "{condition}");
}
