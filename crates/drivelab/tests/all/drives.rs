//! `drivelab drives`: the catalog on screen, and proposals from measured runs.

use crate::common;

use common::{Bench, Call, cell};
use serde_json::Value;
use std::{fs, path::Path};

fn shown(words: &[&str]) -> String {
    Call::new(words, Path::new("/"))
        .variable("XDG_CONFIG_HOME", "/absent")
        .done()
        .succeeded()
        .stdout
}

fn catalog() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");
    let files = fs::read_dir(folder).expect("the catalog").flatten();
    let names = files.map(|file| file.file_name().into_string().expect("a plain name"));
    names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect()
}

#[test]
fn the_list_names_every_drive_within_80_columns() {
    let list = shown(&["drives"]);
    let names = catalog();
    assert!(names.len() > 20);
    for name in &names {
        let starts = |line: &str| line.starts_with(&format!("{name} "));
        assert_eq!(list.lines().filter(|line| starts(line)).count(), 1, "{name}");
    }
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
}

#[test]
fn a_drives_page_has_every_number_with_unit_and_source_within_80_columns() {
    for name in catalog() {
        let page = shown(&["drives", &name]);
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        assert!(
            page.contains("\nParameters, ") && page.starts_with(&format!("{name}: ")),
            "{page}"
        );
        let is_generic = page.contains("generic, not fitted\n");
        assert_eq!(is_generic, page.contains("Generic, not fitted"), "{page}");
    }
    let pro = shown(&["drives", "mtron-pro-32"]);
    for words in [
        "random_read   16,000 IOPS",
        " us  fit: EasyCo 2007",
        " 64  assumed: 4 MiB",
        "highpoint2320; another",
    ] {
        assert!(pro.contains(words), "{words}: {pro}");
    }
    assert!(shown(&["drives", "memoright-gt-16"]).contains("$510, 31.9 USD a GB, of 2008"));
    assert!(shown(&["drives", "onboard"]).contains("transfer_max"));
    assert!(shown(&["drives", "md"]).contains("serial"));
}

#[test]
fn what_is_not_in_the_catalog_is_refused_with_the_nearest() {
    let refuse = |words: &[&str], told: &[&str]| {
        Call::new(words, Path::new("/")).done().refused(told);
    };
    refuse(&["drives", "intel-x25"], &["`intel-x25`", "intel-x25e-32", "drivelab drives"]);
    refuse(&["drives", "fit"], &["RUN", "drivelab drives"]);
    let bench = Bench::new();
    bench.small_run(["area"]).done().succeeded();
    let fit = bench.drivelab_without_store(["drives", "fit", "last", "--store", "store.sqlite"]);
    fit.done().refused(&["has no direct random reads of three sizes", "--method bm-flash"]);
    let fit = bench.drivelab_without_store(["drives", "fit", "last~3", "--store", "store.sqlite"]);
    fit.done().refused(&["`last~3`", "1 run"]);
}

/// A model's record as if its drive had been on the bench: no model is proposed from a model.
fn as_real(mut record: Value) -> Value {
    record["targets"][0]["kind"] = "block_device".into();
    record
}

/// A run over `model:8xintel-x25e-32/raid5` gave one SSD of eight times the rate.
#[test]
fn models_arrays_and_volumes_are_no_drives_to_be_proposed() {
    let bench = Bench::new();
    let fit = |record: &str| {
        bench.drivelab_without_store(["drives", "fit", record, "--store", "store.sqlite"]).done()
    };
    for target in ["model:intel-x25e-32", "model:8xintel-x25e-32/raid5"] {
        bench.small_run([target]).done().succeeded();
        fit("last").refused(&["modelled drives", target, "drivelab drives NAME"]);
    }
    let array = as_real(bench.record("last"));
    let file = bench.file("array.json", array.to_string());
    fit(&file.to_string_lossy()).refused(&["an array", "one drive by itself"]);
    bench.small_run(["memory:64M"]).done().succeeded();
    fit("last").refused(&["no drive", "one drive by itself"]);
}

/// The proposal, put into the catalog, gives the rates that it was made from.
#[test]
fn a_proposal_measures_as_the_drive_that_it_was_made_from() {
    const READS: [&str; 3] = ["random-read-4K-t1-q1", "random-read-64K-t1-q1", "seq-read-1M-t1-q1"];
    const WRITES: [&str; 2] = ["random-write-64K-t1-q1", "seq-write-1M-t1-q1"];
    // A disk needs more seconds for as many operations, and its cache takes what a short cell
    // writes.
    let cases = [
        ("nvme-plp", "40s", [&READS[..], &WRITES[..]].concat()),
        ("wd-1002fbys", "1000s", READS.into()),
    ];
    for (name, max_time, cells) in cases {
        let bench = Bench::new();
        let run = |target: &str| {
            let words = ["run", target, "--method", "bm-flash", "--seed", "4", "--size", "1G"];
            let config = bench.path("config");
            let call = bench.drivelab(words).and(["--max-time", max_time, "--quiet"]);
            call.variable("XDG_CONFIG_HOME", &config.to_string_lossy()).done().succeeded();
            bench.record("last")
        };
        let real = run(&format!("model:{name}"));
        let file = bench.file("real.json", as_real(real.clone()).to_string());
        let fit = bench.drivelab_without_store(["drives", "fit", &file.to_string_lossy()]);
        let toml = fit.done().succeeded().stdout;
        let own = toml.lines().find_map(|line| line.strip_prefix("name = ")).expect("a name");
        let own = own.trim_matches('"').to_owned();
        fs::create_dir_all(bench.path("config/drivelab/drives")).expect("a folder");
        bench.file("config/drivelab/drives/own.toml", &toml);
        let model = run(&format!("model:{own}"));
        for cell_name in cells {
            let rate = |record| cell(record, cell_name)["iops"].as_f64().expect("a rate");
            let ratio = rate(&model) / rate(&real);
            assert!((ratio - 1.0).abs() < 0.2, "{name}, {cell_name}: {ratio} of the real rate");
        }
    }
}

/// A hypervisor calls its drives rotating when nobody told it better, and flash was proposed as a
/// disk of 7,200 rpm.
#[test]
fn what_answers_faster_than_a_disk_turns_is_proposed_as_flash_whatever_the_kernel_calls_it() {
    let bench = Bench::new();
    let run = ["run", "model:sata-tlc", "--method", "bm-flash", "--size", "1G", "--quiet"];
    bench.drivelab(run).and(["--max-time", "20s"]).done().succeeded();
    let mut record = bench.record("last");
    let layers = record["targets"][0]["stack"].as_array_mut().expect("layers");
    let drive = layers.iter_mut().find(|layer| layer["kind"] == "drive").expect("a drive");
    drive["queue"]["rotational"] = true.into();
    let file = bench.file("virtual.json", as_real(record).to_string());
    let toml = bench.drivelab_without_store(["drives", "fit", &file.to_string_lossy()]);
    let toml = toml.done().succeeded().stdout;
    assert!(toml.contains("kind = \"page-mapped\""), "{toml}");
    assert!(toml.contains("The kernel calls the drive rotating"), "{toml}");
}
