// SPDX-License-Identifier: Apache-2.0
//! Settings from every side: builder, SET, SHOW, RESET, the system table.

use nearscan::{Engine, Error, settings::PushdownMode};

use crate::support::{engine, failure, text};

const SHOW: &str = "SHOW nearscan.pushdown.mode";

#[tokio::test]
async fn are_set_shown_and_reset_by_sql() {
    let engine = engine().await;
    assert_eq!(text(&engine, SHOW).await, "name value\nnearscan.pushdown.mode auto");
    engine.sql("SET nearscan.pushdown.mode = force").await.unwrap();
    assert_eq!(text(&engine, SHOW).await, "name value\nnearscan.pushdown.mode force");
    assert_eq!(engine.options().pushdown.mode, PushdownMode::Force);
    let row = "SELECT value, \"default\" FROM nearscan.settings WHERE name LIKE '%pushdown.mode'";
    assert_eq!(text(&engine, row).await, "value default\nforce auto");
    assert_eq!(text(&engine, "RESET nearscan.pushdown.mode").await, "");
    assert_eq!(engine.options().pushdown.mode, PushdownMode::Auto);
}

#[tokio::test]
async fn survive_a_new_memory_limit() {
    let engine = engine().await;
    engine.sql("SET nearscan.pushdown.mode = off").await.unwrap();
    engine.sql("SET datafusion.runtime.memory_limit = '1G'").await.unwrap();
    assert_eq!(engine.options().pushdown.mode, PushdownMode::Off);
    assert_eq!(text(&engine, "SELECT count(*) FROM nearscan.settings").await, "count(*)\n19");
}

#[tokio::test]
async fn corrections_are_listed_with_their_state() {
    let engine = engine().await;
    engine.sql("SET nearscan.corrections = 'protect_limits'").await.unwrap();
    let sql = "SELECT state, count(*) FROM nearscan.corrections GROUP BY state ORDER BY state";
    assert_eq!(text(&engine, sql).await, "state count(*)\noff 36\non 1");
    let sql = "SELECT upstream_issue, versions FROM nearscan.corrections \
               WHERE name = 'rewrite_bitwise_negation'";
    let expected = "upstream_issue versions\napache/datafusion#24665 55.2";
    assert_eq!(text(&engine, sql).await, expected);
    let refused = failure(&engine, "SET nearscan.corrections = 'nothing'").await;
    assert!(refused.starts_with("error: invalid value 'nothing' for setting"), "{refused}");
}

#[tokio::test]
async fn wrong_ones_are_refused_wherever_they_come_from() {
    let engine = engine().await;
    let expected = "error: invalid value 'so' for setting 'nearscan.pushdown.mode'\n  \
                    detail: it takes auto, force or off";
    assert_eq!(failure(&engine, "SET nearscan.pushdown.mode = so").await, expected);
    let built = Engine::builder().set("nearscan.pushdown.mode", "so").build().await;
    assert_eq!(built.unwrap_err().render(), expected);
    let error = engine.set("nearscan.nothing", "1").await.unwrap_err();
    assert!(matches!(error, Error::SettingNotFound(_)), "{error:?}");
    let error = failure(&engine, "SET nearscan.pushdown.mod = 'off'").await;
    let expected = "error: unknown setting 'nearscan.pushdown.mod'\n  \
                    hint: did you mean 'nearscan.pushdown.mode'?";
    assert_eq!(error, expected);
    let shown = failure(&engine, "SHOW nearscan.pushdown.mod").await;
    assert_eq!(shown, expected);
    let error = failure(&engine, "RESET nearscan.nothing").await;
    assert!(error.starts_with("error: unknown setting 'nearscan.nothing'"), "{error}");
    let error = engine.set("datafusion.nothing", "1").await.unwrap_err();
    assert!(matches!(error, Error::SettingNotFound(_)), "{error:?}");
}

#[tokio::test]
async fn drives_need_names_of_their_own() {
    let builder = Engine::builder().drive("a=cpu:").unwrap();
    let error = builder.drive("a=emulated:").unwrap_err();
    assert!(matches!(&error, Error::DriveNameTaken { name } if name == "a"), "{error:?}");
    let error = Engine::builder().drive("floppy:").unwrap_err();
    assert!(matches!(&error, Error::DriveSpec(_)), "{error:?}");
}
