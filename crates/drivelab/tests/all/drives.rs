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

/// A drive that nobody sells: twelve planes, a cache of 400 MiB, a buffer of 24 MiB.
const ATTIC: &str = r#"
name = "attic"
title = "Attic SSD"
kind = "page-mapped"
about = "Made up."
port = "none"
capacity = { value = 2, unit = "GiB" }

[parameters]
over_provisioning = { value = 9, unit = "percent", from = "assumed", source = "made up" }
channels = { value = 3, unit = "count", from = "assumed", source = "made up" }
dies_per_channel = { value = 4, unit = "count", from = "assumed", source = "made up" }
planes_per_die = { value = 1, unit = "count", from = "assumed", source = "made up" }
nand_page = { value = 16, unit = "KiB", from = "assumed", source = "made up" }
pages_per_block = { value = 128, unit = "count", from = "assumed", source = "made up" }
read = { value = 1000, unit = "us", from = "assumed", source = "made up" }
program = { value = 8, unit = "ms", from = "assumed", source = "made up" }
erase = { value = 5, unit = "ms", from = "assumed", source = "made up" }
channel_rate = { value = 400, unit = "MB/s", from = "assumed", source = "made up" }
read_command = { value = 40, unit = "us", from = "assumed", source = "made up" }
write_command = { value = 300, unit = "us", from = "assumed", source = "made up" }
link_rate = { value = 400, unit = "MB/s", from = "assumed", source = "made up" }
command_queue = { value = 64, unit = "count", from = "assumed", source = "made up" }
write_buffer = { value = 24, unit = "MiB", from = "assumed", source = "made up" }
flush = { value = 2, unit = "ms", from = "assumed", source = "made up" }
write_through = { value = 3, unit = "ms", from = "assumed", source = "made up" }
endurance = { value = 1500, unit = "count", from = "assumed", source = "made up" }
slc_cache = { value = 400, unit = "MiB", from = "assumed", source = "made up" }
slc_program = { value = 2, unit = "ms", from = "assumed", source = "made up" }
"#;

fn number_of(toml: &str, name: &str) -> f64 {
    let start = format!("{name} = {{ value = ");
    let line = toml.lines().find_map(|line| line.strip_prefix(&start));
    let value = line.unwrap_or_else(|| panic!("no {name}: {toml}")).split(',').next();
    value.and_then(|value| value.parse().ok()).expect("a number")
}

/// The oracle is the file that the drive was built of.
#[test]
fn a_fit_gives_back_the_numbers_of_the_drive_that_was_characterised() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("config/drivelab/drives")).expect("a folder");
    bench.file("config/drivelab/drives/attic.toml", ATTIC);
    let config = bench.path("config");
    // With this seed the search ended beside the best place: a link a fifth too fast.
    let run = |target: &str, method: &str| {
        let call = bench.drivelab(["run", target, "--method", method, "--seed", "7"]);
        let call = call.and(["--yes", "--quiet"]);
        call.variable("XDG_CONFIG_HOME", &config.to_string_lossy()).done().succeeded();
        bench.record("last")
    };
    let real = run("model:attic", "characterise");
    let file = bench.file("real.json", as_real(real.clone()).to_string());
    let fit = bench.drivelab_without_store(["drives", "fit", &file.to_string_lossy()]);
    let done = fit.done().succeeded();
    let toml = done.stdout;
    for (name, truth) in [
        ("read", 1000.0),
        ("program", 8000.0),
        ("slc_program", 2000.0),
        ("slc_cache", 400.0),
        ("write_buffer", 24.0),
        ("write_command", 300.0),
        ("link_rate", 400.0),
        ("write_through", 3000.0),
    ] {
        let ratio = number_of(&toml, name) / truth;
        assert!((ratio - 1.0).abs() < 0.1, "{name}: {ratio} of the truth");
    }
    let planes = number_of(&toml, "channels") * number_of(&toml, "dies_per_channel");
    assert!((planes / 12.0 - 1.0).abs() < 0.1, "{planes} planes");
    assert!(toml.matches("from = \"fit\"").count() <= 12, "{toml}");
    for mechanism in ["parallelism", "cliff position", "idle recovery", "mixed, predicted"] {
        assert!(toml.contains(&format!("#   {mechanism}")), "{mechanism}: {toml}");
        assert!(done.stderr.contains(mechanism), "{mechanism}: {}", done.stderr);
    }
    // It can be named at once.
    bench.file("config/drivelab/drives/own.toml", &toml);
    let model = run("model:my-attic-ssd", "characterise");
    for name in ["size-4K", "size-1M", "depth-q32", "fill", "scattered"] {
        // The headline may leave out a burst.
        let rate = |record| {
            let total = &cell(record, name)["passes"][0]["total"];
            total["operations"].as_f64().zip(total["seconds"].as_f64()).map(|(n, s)| n / s)
        };
        let ratio = rate(&model).expect("a rate") / rate(&real).expect("a rate");
        assert!((ratio - 1.0).abs() < 0.1, "{name}: {ratio} of the real rate");
    }
}

/// A run that left out what writes shows neither cache nor write times.
#[test]
fn a_characterisation_without_its_writes_is_refused_with_the_cure() {
    let bench = Bench::new();
    let run = ["run", "model:nvme-plp", "--method", "characterise", "--size", "1G", "--quiet"];
    bench.drivelab(run).and(["--reads-only", "--max-time", "5s"]).done().succeeded();
    let file = bench.file("reads.json", as_real(bench.record("last")).to_string());
    let fit = bench.drivelab_without_store(["drives", "fit", &file.to_string_lossy()]);
    fit.done().refused(&["no cells `fill`", "characterise", "--size"]);
}
