//! `drivelab devices`: what is told of the machine's block devices, to people and to programs.

use crate::common;

use common::{Call, LoopDevice, MIB, ROOT, skip, system};
use serde_json::Value;
use std::path::Path;

fn devices(words: &[&str]) -> Call {
    Call::new([&["devices"], words].concat(), Path::new("/"))
}

/// The schema, with what it takes from the record's.
fn schema() -> Value {
    let text = include_str!("../../../../docs/reference/devices.schema.json");
    let text = text.replace("record.schema.json#", "#");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    let record: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/record.schema.json"))
            .expect("JSON");
    for (name, part) in record["$defs"].as_object().expect("definitions") {
        schema["$defs"][name] = part.clone();
    }
    schema
}

fn as_json(words: &[&str]) -> Value {
    let text = devices(words).done().succeeded().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let schema = schema();
    jsonschema::meta::validate(&schema).expect("a schema of its draft");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let faults: Vec<String> =
        validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}\n{text}");
    document
}

fn one<'d>(document: &'d Value, name: &str) -> &'d Value {
    let devices = document["devices"].as_array().expect("devices");
    let is_it = |device: &&Value| device["name"] == name;
    devices.iter().find(is_it).unwrap_or_else(|| panic!("{name} is listed: {document}"))
}

#[test]
fn what_is_printed_for_programs_is_as_the_schema_says() {
    let document = as_json(&["--json"]);
    assert_eq!(document["format"], 1);
    as_json(&["--json", "--all"]);
    let page = include_str!("../../../../docs/reference/devices-format.md");
    for part in [&schema()["properties"], &schema()["$defs"]["device"]["properties"]] {
        for name in part.as_object().expect("properties").keys() {
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/reference/devices-format.md tells of {name}"
            );
        }
    }
}

/// What a device holds and who uses it was to be found out by refusals, one at a time.
#[test]
fn a_device_is_told_with_its_word_what_is_on_it_and_why_it_would_not_be_written() {
    let (Some(blank), Some(used)) =
        (LoopDevice::of_zeros(32 * MIB), LoopDevice::of_zeros(32 * MIB))
    else {
        return skip(ROOT);
    };
    need_programs!("mkfs.ext4");
    system("mkfs.ext4", &["-q", used.text()]);
    let document = as_json(&["--json"]);
    let (free, held) = (one(&document, blank.name()), one(&document, used.name()));
    assert_eq!((&free["destroy"], &free["writes"]), (&blank.name().into(), &true.into()), "{free}");
    assert_eq!(free["holds"].as_array().map(Vec::len), Some(0), "{free}");
    assert_eq!((&held["reads"], &held["writes"]), (&true.into(), &false.into()), "{held}");
    assert_eq!(held["holds"][0], "an ext4 file system", "{held}");
    let why = held["writes_refused"].as_str().expect("a reason");
    assert!(why.contains("it holds data") && why.contains("wipefs -a"), "{why}");
    let list = devices(&[]).done().succeeded().stdout;
    let row = |name: &str| {
        let row = list.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("{name} is listed:\n{list}")).to_owned()
    };
    assert!(row(blank.name()).contains(" rw"), "{list}");
    assert!(row(used.name()).contains(" r- ") && row(used.name()).contains("ext4"), "{list}");
    for name in [used.name(), used.text()] {
        let page = devices(&[name]).done().succeeded().stdout;
        assert!(page.contains("an ext4 file system") && page.contains("32 MiB"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
}

/// That sentence was one line of 112 columns, which a terminal of 80 broke in the middle of a word.
#[test]
fn an_ordinary_user_is_told_what_could_not_be_seen() {
    let Some(device) = LoopDevice::of_zeros(32 * MIB) else { return skip(ROOT) };
    need_programs!("setpriv", "chmod");
    // Others must be able to come to it.
    let place = tempfile::tempdir().expect("a directory");
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let program = place.path().join("drivelab");
    common::copy_of_drivelab(&program);
    system("chmod", &["-R", "a+rX", place.path().to_str().expect("plain names")]);
    let outcome = devices(&[]).through(&user, &program).done().succeeded();
    assert!(outcome.stdout.contains(device.name()), "{outcome:?}");
    let words = outcome.stdout.lines().skip_while(|line| !line.starts_with("Not seen: what is on"));
    let columns = words.map(|line| line.chars().count()).max();
    assert!(columns.is_some_and(|columns| columns <= 80), "{outcome:?}");
    let outcome = devices(&["--json"]).through(&user, &program).done().succeeded();
    let document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert!(document["unseen"].as_array().is_some_and(|unseen| !unseen.is_empty()));
    let device = one(&document, device.name());
    assert_eq!((&device["reads"], &device["holds"]), (&false.into(), &Value::Null), "{device}");
}

#[test]
fn a_device_that_is_not_there_is_refused_with_where_to_look() {
    let outcome = devices(&["sdzzz"]).done();
    outcome.refused(&["there is no block device `sdzzz`", "`drivelab devices` lists them"]);
}
