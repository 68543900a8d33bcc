//! The types, the example and `docs/reference/record.schema.json` say the same.

use record::{Flag, Record};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/reference/record.schema.json"))
        .expect("JSON")
}

fn example_json() -> Value {
    serde_json::from_str(include_str!("../example.json")).expect("JSON")
}

/// Where and why `record` breaks the schema; empty when it does not.
fn complaints(record: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&schema()).expect("a schema of draft 2020-12");
    let complaint =
        |error: jsonschema::ValidationError| format!("{}: {error}", error.instance_path());
    validator.iter_errors(record).map(complaint).collect()
}

/// What the types make of the example: a field that only one of the two has shows up.
fn written(text: &str) -> Value {
    let record = Record::from_json(text, "test").expect("a record");
    serde_json::to_value(record).expect("serialises")
}

#[test]
fn the_schema_is_itself_valid() {
    jsonschema::meta::validate(&schema()).expect("a schema of its draft");
}

#[test]
fn a_fully_populated_record_is_written_as_the_schema_says() {
    let written = written(include_str!("../example.json"));
    assert_eq!(written, example_json(), "the types lose or invent a field");
    assert_eq!(complaints(&written), Vec::<String>::new());
}

/// The example measures rates; a run of power cuts has no cells.
#[test]
fn rounds_of_power_cuts_are_written_as_the_schema_says() {
    let mut cuts = example_json();
    cuts["power_cuts"] = json!({
        "program": "sqlite synchronous=off",
        "configuration": "fs=ext4",
        "flushes": "early",
        "fault": "answers flushes too early",
        "lost_member": 0,
        "first": 1,
        "last": 40,
        "rounds": [{
            "round": 1,
            "cut_after_s": 0.41,
            "sectors_changed": 96,
            "promises": { "made": 12, "lost": 1, "torn": 0 },
            "broken": "malformed",
            "file_system": "cannot be mounted",
            "mounted_after_s": 0.3,
        }],
    });
    let written = written(&cuts.to_string());
    assert_eq!(written, cuts, "the types lose or invent a field");
    assert_eq!(complaints(&written), Vec::<String>::new());
}

#[test]
fn the_example_fills_every_field_that_the_schema_knows() {
    let example = example_json();
    let schema = schema();
    let mut unfilled = Vec::new();
    look_for_unfilled(&schema, &schema, &[&example], "", &mut unfilled);
    // A complete run has no failures and replays nothing, measures rates and cuts no power, its
    // paths are text, its drives have no zones, and 24 flushes have no p99.
    let none = [
        ".cells[].errors",
        ".cells[].flush_latency.p99_ns",
        ".cells[].replay",
        ".error",
        ".failed",
        ".power_cuts",
        ".targets[].path_exact",
        ".targets[].stack[].queue.zoned",
    ];
    assert_eq!(unfilled, none);
}

/// Walks down the schema with all the example's values at that place.
fn look_for_unfilled(
    root: &Value,
    schema: &Value,
    values: &[&Value],
    path: &str,
    unfilled: &mut Vec<String>,
) {
    let values: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).collect();
    if values.is_empty() {
        return unfilled.push(path.to_owned());
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|text| text.strip_prefix("#/$defs/")) {
        return look_for_unfilled(root, &root["$defs"][name], &values, path, unfilled);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return look_for_unfilled(root, &choices[0], &values, path, unfilled);
    }
    if let Some(items) = schema.get("items") {
        let inner: Vec<&Value> =
            values.iter().filter_map(|value| value.as_array()).flatten().collect();
        return look_for_unfilled(root, items, &inner, &format!("{path}[]"), unfilled);
    }
    for (name, inner_schema) in schema["properties"].as_object().into_iter().flatten() {
        let inner: Vec<&Value> = values.iter().filter_map(|value| value.get(name)).collect();
        look_for_unfilled(root, inner_schema, &inner, &format!("{path}.{name}"), unfilled);
    }
}

/// What a run without errors has not.
#[test]
fn what_failed_is_written_as_the_schema_says() {
    let mut record = example_json();
    let latency = record["cells"][1]["latency"].clone();
    let first =
        json!([{"operation": "read", "offset": 2_048_000, "bytes": 4096, "reason": "Input"}]);
    let errors = json!({"count": 3, "first": first, "latency": latency});
    record["cells"][1]["errors"] = errors.clone();
    record["failed"] = json!([
        {"target": 0, "name": "seq", "pass": 2, "reason": "read of 4 KiB failed", "errors": errors}
    ]);
    assert_eq!(complaints(&record), Vec::<String>::new());
    let read = written(&record.to_string());
    assert_eq!(read["failed"], record["failed"]);
    assert_eq!(read["cells"][1]["errors"], record["cells"][1]["errors"]);
}

#[test]
fn a_minimal_record_without_any_optional_field_is_read_and_valid() {
    let minimal = json!({
        "format": "drivelab-record", "version": 1, "id": "00000000", "state": "running",
        "tool": {"name": "drivelab", "version": "0.1.0"}, "command_line": [], "labels": {},
        "started": "2026-11-21T20:15:00Z", "time": "wall", "seed": 0, "targets": [],
        "environment": {
            "host": {"name": "", "kernel": "", "architecture": "", "memory_bytes": 0,
                     "memory_available_bytes": 0, "load_1min": 0.0},
            "cpu": {"model": "", "online": 0, "pinned": []},
            "tools": {}
        },
        "method": {"name": "", "layout": "list", "grade": "quick", "text": "", "options": {},
                   "span_bytes": 0, "passes": 0},
        "calibration": [], "cells": [], "left_out": [], "paired": [], "flags": [], "warnings": []
    });
    assert_eq!(complaints(&minimal), Vec::<String>::new());
    assert_eq!(complaints(&written(&minimal.to_string())), Vec::<String>::new());
}

#[test]
fn every_flag_stands_in_the_schema_and_no_other() {
    let names: Vec<&str> = Flag::ALL.iter().map(|flag| flag.name()).collect();
    assert_eq!(schema()["$defs"]["flag"]["enum"], json!(names));
}

#[test]
fn a_field_required_by_the_schema_is_required_by_the_types() {
    let head = ["format", "version"]; // Their absence is another error, tested in file.rs.
    for name in schema()["required"].as_array().expect("a list").iter().filter_map(Value::as_str) {
        let mut broken = example_json();
        broken.as_object_mut().expect("an object").remove(name);
        assert!(!complaints(&broken).is_empty(), "{name} is missed");
        let error = Record::from_json(&broken.to_string(), "test").expect_err("a field is missing");
        assert!(head.contains(&name) || error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_broken_record_fails_at_the_broken_place() {
    for (pointer, wrong) in [
        ("/cells/0/iops", json!("fast")),
        ("/cells/0/iops", Value::Null),
        ("/cells/0/flags/0", json!("no_such_flag")),
        ("/cells/1/latency/histogram/0", json!([1])),
        ("/cells/1/passes/0/series/operations/0", json!(-1)),
        ("/state", json!("done")),
        ("/started", json!("yesterday")),
        ("/id", json!("XYZ")),
        ("/targets/0/kind", json!("tape")),
    ] {
        let mut broken = example_json();
        *broken.pointer_mut(pointer).expect("a place of the example") = wrong;
        let complaints = complaints(&broken);
        // An optional section is blamed as a whole: the place is then a parent's.
        let names_it = |text: &String| {
            let place = text.split(": ").next().unwrap_or("");
            !place.is_empty() && pointer.starts_with(place)
        };
        assert!(complaints.iter().any(names_it), "{pointer}: {complaints:?}");
    }
    let mut unknown = example_json();
    unknown["cells"][0]["watts"] = json!(3);
    assert!(!complaints(&unknown).is_empty(), "an undescribed field is found");
}

#[test]
fn the_document_names_every_section_and_every_flag() {
    let document = include_str!("../../../../docs/reference/record-format.md");
    let schema = schema();
    let sections = schema["properties"].as_object().expect("an object").keys().map(String::as_str);
    for name in sections.chain(Flag::ALL.iter().map(|flag| flag.name())) {
        assert!(
            document.contains(&format!("`{name}`")),
            "`{name}` is not in docs/reference/record-format.md"
        );
    }
}

#[test]
fn the_document_gives_each_flag_its_meaning_and_cure() {
    let document = include_str!("../../../../docs/reference/record-format.md");
    for flag in Flag::ALL {
        let row = format!("| `{flag}` | {} | {} |", flag.meaning(), flag.cure());
        assert!(document.contains(&row), "docs/reference/record-format.md should say\n{row}");
    }
}
