// SPDX-License-Identifier: Apache-2.0
//! Tests a report of short arrays. Long ones are tested in `tests/it/pages.rs`.

use super::*;

fn report(elements: u64) -> Report {
    let options = Options { elements, seed: 1, host: HostLoops::Omitted };
    Report::new(options, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn figures_hold_on_a_million_elements() {
    let report = report(1 << 20);
    assert!(report.holds(), "{}", report.verdict());
    let text = report.to_text();
    assert!(text.ends_with("\n5 figures, 9 shapes and 7 targets hold.\n"), "{text}");
    assert!(text.contains("\n  Array Merge, all                  9.0 "), "{text}");
}

#[test]
fn fixed_costs_spoil_the_figures_of_short_arrays() {
    let report = report(64);
    assert!(!report.holds());
    assert!(report.verdict().starts_with("These do not hold: "), "{}", report.verdict());
    assert!(report.to_text().contains(": too much for figures of arrays so short."));
}

#[test]
fn another_seed_gives_other_arrays_and_the_same_figures() {
    let options = Options { elements: 1 << 18, seed: 9, host: HostLoops::Omitted };
    let other = Report::new(options, &mut |_| ControlFlow::Continue(())).unwrap();
    let one = report(1 << 18);
    for (one, other) in one.judgement.compared.iter().zip(&other.judgement.compared) {
        let (one, other) = (one.modelled.unwrap(), other.modelled.unwrap());
        assert!((one / other - 1.0).abs() < 0.01, "{one} {other}");
    }
}

#[test]
fn json_has_the_documented_shape() {
    let options = Options { elements: 4096, seed: 1, host: HostLoops::Measured };
    let report = Report::new(options, &mut |_| ControlFlow::Continue(())).unwrap();
    let json: Value = serde_json::from_str(&report.to_json().to_string()).unwrap();
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let expected = "assumptions builds_run calibrated compared elements fast_runs holds host \
                    parameters schedules seed shapes start_share tables targets time_source \
                    versions";
    assert_eq!(keys(&json), expected);
    assert_eq!(keys(&json["compared"][0]), "error figure holds modelled study");
    assert_eq!(keys(&json["host"]), "loops processor samples");
    assert_eq!(
        keys(&json["host"]["loops"][0]),
        "elements kernel seconds_measured seconds_measured_min"
    );
    assert_eq!(json["calibrated"].as_array().unwrap().len(), 7);
    assert_eq!(json["shapes"].as_array().unwrap().len(), 9);
    assert_eq!(json["holds"], report.holds());
    assert_eq!(json["tables"].as_array().unwrap().len(), 11);
    assert_eq!(
        (&json["fast_runs"], keys(&json["targets"][6])),
        (&json!(75), "holds name seen".into())
    );
    let first = &json["tables"][0]["rows"][0];
    assert_eq!((&first["buffer"], &first["study"]), (&json!("1 KiB"), &json!(8.8)));
}
