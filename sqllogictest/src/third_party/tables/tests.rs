// SPDX-License-Identifier: Apache-2.0
//! Tests changing tables, and the copies that queries read.

use super::*;
use crate::settings::EMULATED;

struct Session {
    engine: Engine,
    tables: Tables,
    folder: tempfile::TempDir,
}

impl Session {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = EMULATED.engine().await.unwrap();
        let tables = Tables::new(folder.path().to_owned(), 7);
        Self { engine, tables, folder }
    }

    async fn change(&mut self, sql: &str) {
        self.engine.sql(sql).await.unwrap().collect().await.unwrap();
        self.tables.adopt(&self.engine).await;
    }

    /// The only value of a query, and the units that ran on the drive.
    async fn ask(&mut self, sql: &str) -> (String, u64) {
        self.tables.refresh(&self.engine).await;
        let result = self.engine.sql(sql).await.unwrap().collect().await.unwrap();
        let value = crate::render::rows(&result.batches[0]).unwrap().remove(0);
        (value, result.profile.pushdown().units_drive)
    }
}

#[tokio::test]
async fn queries_run_on_the_drive_and_see_every_change() {
    let mut session = Session::open().await;
    session
        .change("CREATE TABLE t(a INT, b VARCHAR) AS VALUES (1, 'x'), (2, 'y'), (3, NULL)")
        .await;
    session.change("CREATE VIEW v AS SELECT a FROM t WHERE b <> 'x'").await;
    let (count, units) = session.ask("SELECT count(*) FROM t WHERE a > 1").await;
    assert_eq!(count, "2");
    assert!(units > 0, "no unit ran on the drive");
    session.change("INSERT INTO t VALUES (4, 'z')").await;
    assert_eq!(session.ask("SELECT count(*) FROM t WHERE a > 1").await.0, "3");
    session.change("UPDATE t SET b = 'x' WHERE a = 4").await;
    assert_eq!(session.ask("SELECT count(*) FROM t WHERE b = 'x'").await.0, "2");
    let (sum, units) = session.ask("SELECT sum(a) FROM v").await;
    assert_eq!(sum, "2");
    assert!(units > 0, "a view does not read the copy");
    session.change("DELETE FROM t WHERE a < 4").await;
    assert_eq!(session.ask("SELECT count(*) FROM t WHERE a > 0").await.0, "1");
    session.change("DROP TABLE t").await;
    session.change("CREATE TABLE t(a INT) AS VALUES (9)").await;
    assert_eq!(session.ask("SELECT a FROM t WHERE a > 0").await.0, "9");
    assert_eq!(session.tables.written(), 5);
}

#[tokio::test]
async fn what_did_not_change_is_not_copied_again() {
    let mut session = Session::open().await;
    session.change("CREATE TABLE t(a INT) AS VALUES (1), (2)").await;
    session.change("CREATE TABLE u(a INT) AS VALUES (1), (2)").await;
    for _ in 0..3 {
        assert_eq!(session.ask("SELECT count(*) FROM t, u WHERE t.a = u.a").await.0, "2");
    }
    session.change("INSERT INTO u VALUES (3)").await;
    assert_eq!(session.ask("SELECT count(*) FROM u WHERE a > 2").await.0, "1");
    assert_eq!(session.tables.written(), 3);
}

#[tokio::test]
async fn empty_table_has_a_copy_too() {
    let mut session = Session::open().await;
    session.change("CREATE TABLE t(a INT NOT NULL, b DOUBLE, c DATE, d DECIMAL(10, 2))").await;
    assert_eq!(session.ask("SELECT count(*) FROM t WHERE a > 1").await.0, "0");
    session.change("INSERT INTO t VALUES (1, 0.5, DATE '2020-01-02', 1.25)").await;
    session.change("INSERT INTO t SELECT a + 1, b, c, d FROM t").await;
    assert_eq!(session.ask("SELECT sum(d) FROM t WHERE a > 0").await.0, "2.50");
    assert!(session.tables.kept().is_empty(), "{:?}", session.tables.kept());
}

#[tokio::test]
async fn other_files_are_copied() {
    let mut session = Session::open().await;
    let path = session.folder.path().join("a.csv");
    fs::write(&path, "a,b\n1,x\n2,y\n").unwrap();
    let location = path.display();
    session.change(&format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{location}'")).await;
    let (count, units) = session.ask("SELECT count(*) FROM t WHERE a > 1").await;
    assert_eq!(count, "1");
    assert!(units > 0, "no unit ran on the drive");
}

#[tokio::test]
async fn what_parquet_does_not_keep_stays_in_memory() {
    let mut session = Session::open().await;
    session.change("CREATE TABLE t(a INT, b INTERVAL) AS VALUES (1, INTERVAL '1 day')").await;
    assert_eq!(session.ask("SELECT count(*) FROM t WHERE a > 0").await, ("1".to_owned(), 0));
    assert_eq!(session.tables.kept().values().sum::<u64>(), 1);
    assert_eq!(session.tables.written(), 0);
}
