// SPDX-License-Identifier: Apache-2.0
//! Tests the settings: what each takes, and how it is shown.

use datafusion::config::ConfigOptions;
use rstest::rstest;

use super::*;

#[test]
fn documented_defaults_are_the_actual_ones() {
    let options = NearscanOptions::default();
    for setting in SETTINGS {
        assert_eq!(setting.value(&options), setting.default, "{}", setting.key);
    }
}

#[rstest]
#[case("nearscan.pushdown.mode", "FORCE", "force")]
#[case("pushdown.mode", "off", "off")]
#[case("nearscan.pushdown.drive", "fast", "fast")]
#[case("nearscan.pushdown.drive", "ANY", "any")]
#[case("nearscan.pushdown.verify", "on", "true")]
#[case("nearscan.pushdown.allow_float_reorder", "1", "true")]
#[case("nearscan.pushdown.timeout", "250ms", "250ms")]
#[case("nearscan.pushdown.timeout", " 2min ", "2m")]
#[case("nearscan.windows", "ON", "on")]
#[case("nearscan.windows", "off", "off")]
#[case("nearscan.statistics", "Footer", "footer")]
#[case("nearscan.io.engine", "IO_URING", "io_uring")]
#[case("nearscan.io.engine", "pread", "pread")]
#[case("nearscan.io.queue_depth", "4096", "4096")]
#[case("nearscan.io.request_bytes", "4096", "4096")]
#[case("io.request_bytes", "67108864", "67108864")]
#[case("nearscan.io.direct", "always", "always")]
#[case("nearscan.host.decode_bytes_per_s", "2000000000", "2000000000")]
#[case("nearscan.host.decode_values_per_s", "5", "5")]
#[case("nearscan.host.merge_rows_per_s", "18446744073709551615", "18446744073709551615")]
#[case("nearscan.host.result_bytes_per_s", "Measured", "measured")]
fn takes_value(#[case] key: &str, #[case] value: &str, #[case] shown: &str) {
    let mut options = NearscanOptions::default();
    options.set_value(key, value).unwrap();
    assert_eq!(find(key).unwrap().value(&options), shown);
    options.reset(key).unwrap();
    assert_eq!(options, NearscanOptions::default());
}

#[rstest]
#[case("nearscan.pushdown.mode", "sometimes")]
#[case("nearscan.pushdown.drive", "")]
#[case("nearscan.pushdown.verify", "maybe")]
#[case("nearscan.pushdown.timeout", "5")]
#[case("nearscan.pushdown.timeout", "0s")]
#[case("nearscan.pushdown.timeout", "2days")]
#[case("nearscan.statistics", "none")]
#[case("nearscan.io.engine", "aio")]
#[case("nearscan.io.queue_depth", "0")]
#[case("nearscan.io.queue_depth", "4097")]
#[case("nearscan.io.request_bytes", "4097")]
#[case("nearscan.io.request_bytes", "0")]
#[case("nearscan.io.request_bytes", "67112960")]
#[case("nearscan.io.direct", "true")]
#[case("nearscan.host.merge_rows_per_s", "0")]
#[case("nearscan.host.decode_bytes_per_s", "-1")]
#[case("nearscan.host.decode_values_per_s", "1e9")]
#[case("nearscan.host.result_bytes_per_s", "")]
fn refuses_value_and_keeps_the_old_one(#[case] key: &'static str, #[case] value: &str) {
    let mut options = NearscanOptions::default();
    let error = options.set_value(key, value).unwrap_err();
    let expected = find(key).unwrap().values;
    assert_eq!(error, SettingError::InvalidValue { key, value: value.to_owned(), expected });
    assert_eq!(options, NearscanOptions::default());
}

#[test]
fn refuses_unknown_key() {
    let error = NearscanOptions::default().set_value("pushdown.mod", "off").unwrap_err();
    assert_eq!(error, SettingError::UnknownKey { key: "nearscan.pushdown.mod".to_owned() });
}

#[test]
fn options_are_an_extension_of_datafusions_configuration() {
    let mut config = ConfigOptions::new();
    config.extensions.insert(NearscanOptions::default());
    config.set("nearscan.pushdown.mode", "force").unwrap();
    let options = config.extensions.get::<NearscanOptions>().unwrap();
    assert_eq!(options.pushdown.mode, PushdownMode::Force);
    let shown = config.entries().into_iter().find(|entry| entry.key == SETTINGS[0].key);
    assert_eq!(shown.unwrap().value.as_deref(), Some("force"));
    let error = config.set("nearscan.pushdown.mode", "sometimes").unwrap_err();
    let DataFusionError::External(source) = error else { panic!("{error}") };
    assert!(source.downcast_ref::<SettingError>().is_some());
}
