//! What a run leaves: a record that its schema takes, in the store, on stdout or in a file, and
//! text that fits.

use crate::common;

use common::{Bench, cell, cell_names, flags};
use serde_json::Value;
use std::fs;

/// Where and why a record breaks the schema.
fn complaints(record: &Value) -> Vec<String> {
    let schema = include_str!("../../../../docs/reference/record.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let complaint =
        |error: jsonschema::ValidationError| format!("{}: {error}", error.instance_path());
    validator.iter_errors(record).map(complaint).collect()
}

#[test]
fn with_json_to_stdout_the_record_alone_is_there_and_its_schema_takes_it() {
    let bench = Bench::new();
    let outcome = bench.small_run(["area", "--json", "-", "--seed", "7"]).done().succeeded();
    let record = outcome.json();
    assert_eq!(complaints(&record), Vec::<String>::new());
    assert_eq!(cell_names(&record), ["reads", "writes"]);
    assert_eq!((&record["state"], &record["seed"]), (&"complete".into(), &7.into()));
    assert_eq!(record["tool"]["version"], env!("CARGO_PKG_VERSION"));
    let words = record["command_line"].as_array().expect("words");
    assert!(words.contains(&"--seed".into()) && words.contains(&"area".into()), "{words:?}");
    for cell in ["reads", "writes"].map(|name| common::cell(&record, name)) {
        assert!(cell["iops"].as_f64().is_some_and(|iops| iops > 0.0), "{cell}");
        assert!(cell["latency"]["histogram"].as_array().is_some_and(|h| !h.is_empty()), "{cell}");
    }
    assert!(outcome.stderr.contains("[2/2]"), "talk goes to stderr: {}", outcome.stderr);
    assert_eq!(bench.record("last"), record, "the store holds the same");
}

#[test]
fn the_record_of_every_kind_of_run_fits_the_schema() {
    let bench = Bench::new();
    bench.small_run(["null:"]).done().succeeded();
    bench.small_run(["area", "area", "--passes", "2"]).done().succeeded();
    bench.small_run(["fresh.img"]).done().succeeded();
    for run in ["last", "last~1", "last~2"] {
        assert_eq!(complaints(&bench.record(run)), Vec::<String>::new(), "{run}");
    }
    assert!(!bench.path("fresh.img").exists(), "a new file is removed again");
}

#[test]
fn with_json_to_a_file_the_record_is_in_the_file_and_the_table_on_stdout() {
    let bench = Bench::new();
    let outcome = bench.small_run(["area", "--json", "run.json"]).done().succeeded();
    assert!(outcome.stdout.contains("random read 4 KiB"), "{}", outcome.stdout);
    let text = fs::read_to_string(bench.path("run.json")).expect("a file");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record, bench.record("last"));
    let shown = bench.drivelab(["show", "run.json"]).done().succeeded();
    assert_eq!(shown.stdout, outcome.stdout);
    // An old record is replaced.
    bench.small_run(["null:", "--json", "run.json"]).done().succeeded();
    let text = fs::read_to_string(bench.path("run.json")).expect("a file");
    let record: Value = serde_json::from_str(&text).expect("JSON alone");
    assert_eq!(record["targets"][0]["kind"], "null");
}

#[test]
fn a_run_is_found_by_all_its_names() {
    let bench = Bench::new();
    let labels = ["--label", "before", "--label", "bay=3"];
    let first = bench.small_run(["null:", "--seed", "1"]).and(labels).done().succeeded();
    let second = bench.small_run(["null:", "--seed", "2"]).done().succeeded();
    let id = bench.record("last~1")["id"].as_str().expect("an id").to_owned();
    let show = |run: &str| bench.drivelab(["show", run]).done().succeeded().stdout;
    for run in ["last~1", &id, &id[..6], "before", "bay=3", "3"] {
        assert_eq!(show(run), first.stdout, "{run}");
    }
    for run in [show("last"), bench.drivelab(["show"]).done().stdout] {
        assert_eq!(run, second.stdout);
    }
    let record = bench.record("before");
    assert_eq!(record["labels"], serde_json::json!({ "label": "before", "bay": "3" }));
}

#[test]
fn the_history_is_a_table_or_one_json_object_a_line() {
    let bench = Bench::new();
    let empty = bench.drivelab(["history"]).done().succeeded();
    assert_eq!(empty.stdout, "", "data goes to stdout, and there is none");
    assert!(empty.stderr.contains("drivelab run"), "{}", empty.stderr);
    for seed in ["1", "2", "3"] {
        bench.small_run(["null:", "--seed", seed]).done().succeeded();
    }
    let runs = bench.history();
    let newest: Vec<&Value> = runs.iter().map(|run| &run["id"]).collect();
    let expected = ["last", "last~1", "last~2"].map(|run| bench.record(run)["id"].clone());
    assert_eq!(newest, expected.iter().collect::<Vec<_>>());
    let limited = bench.drivelab(["history", "--json", "--limit", "2"]).done().succeeded();
    assert_eq!(limited.stdout.lines().count(), 2);
    let table = bench.drivelab(["history"]).done().succeeded().stdout;
    assert!(expected.iter().all(|id| table.contains(id.as_str().expect("an id"))), "{table}");
}

#[test]
fn piped_text_is_plain_and_at_most_eighty_columns_wide() {
    let bench = Bench::new();
    let run = bench.small_run(["area"]).variable("LANG", "C.UTF-8").done().succeeded();
    let shown = bench.drivelab(["show"]).variable("NO_COLOR", "1").done().succeeded();
    let history = bench.drivelab(["history"]).done().succeeded();
    let dry = bench.drivelab(["run", "area", "--dry-run"]).done().succeeded();
    let iozone = bench.drivelab(["run", "area", "--dry-run", "--method", "iozone"]);
    let iozone = iozone.done().succeeded();
    let texts = [&run, &shown, &history, &dry, &iozone];
    for text in texts.into_iter().flat_map(|outcome| [&outcome.stdout, &outcome.stderr]) {
        assert!(!text.contains('\x1b'), "{text:?}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }
    assert!(shown.stdout.is_ascii(), "a locale without UTF-8 gets ASCII: {}", shown.stdout);
}

#[test]
fn a_quiet_run_says_nothing_on_stderr() {
    let bench = Bench::new();
    let outcome = bench.small_run(["area", "--quiet"]).done().succeeded();
    assert_eq!(outcome.stderr, "");
    assert!(outcome.stdout.contains("random write 4 KiB"), "{}", outcome.stdout);
    let outcome = bench.small_run(["area", "-q", "--json", "-"]).done().succeeded();
    assert_eq!((outcome.stderr.as_str(), &outcome.json()["state"]), ("", &"complete".into()));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.small_run(["null:"]).done().succeeded();
    let shell = format!("'{}' show --store store.sqlite | true", env!("CARGO_BIN_EXE_drivelab"));
    for _ in 0..5 {
        let mut command = std::process::Command::new("sh");
        let command = command.args(["-c", &shell]).current_dir(bench.path(""));
        let outcome = command.output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
    }
}

#[test]
fn the_null_target_gives_the_engines_own_cost_as_a_cell() {
    let bench = Bench::new();
    let record = bench.small_run(["null:", "--json", "-"]).done().succeeded().json();
    assert_eq!(record["targets"][0]["kind"], "null");
    let reads = cell(&record, "reads");
    let iops = reads["iops"].as_f64().expect("a rate");
    assert!(iops > 1e5, "any machine does nothing more often than {iops} times a second");
    assert_eq!(reads["engine"], "null");
    let cost = record["calibration"][0]["ns_per_operation"].as_f64().expect("calibrated");
    assert!(cost > 0.0 && cost < 1e5, "{cost} ns");
    assert!(!flags(reads).contains(&"engine_limited"), "it is what is measured");
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    let bench = Bench::new();
    let seeded = |seed: &str| {
        let words = ["null:", "--seed", seed, "--json", "-"];
        let method = common::many_reads(5).replace("\"fixed\"", "\"random\"");
        let method = bench.file("random.toml", method);
        let run = bench.drivelab(["run"]).and(words).and(["--max-time", "0.4s", "--method"]);
        let record = run.and([method]).done().succeeded().json();
        let cells = record["cells"].as_array().expect("cells").clone();
        let order = |cell: &Value| {
            let passes = cell["passes"].as_array().expect("passes").iter();
            passes.map(|pass| pass["order"].as_u64().expect("an order")).collect::<Vec<_>>()
        };
        cells.iter().map(order).collect::<Vec<_>>()
    };
    let first = seeded("11");
    assert_eq!(first, seeded("11"));
    assert_ne!(first, seeded("12"));
}

/// The bar called a cell `random-read-4K-t1-q1`, the table `random read 4 KiB`, and of two targets
/// the pairs were called as in the bar again.
#[test]
fn a_cell_has_one_name_wherever_it_is_shown() {
    let bench = Bench::new();
    let run = bench.small_run(["area", "area", "--passes", "2"]).done().succeeded();
    let compared = bench.drivelab(["compare", "last"]).done().succeeded().stdout;
    for name in ["random read 4 KiB", "random write 4 KiB"] {
        let line = format!("{name}: ");
        assert!(run.stderr.lines().any(|said| said.contains(&line)), "{}", run.stderr);
        let rows = |text: &str| text.lines().filter(|row| row.starts_with(name)).count();
        assert_eq!(rows(&run.stdout), 3, "both targets, and the pair: {}", run.stdout);
        assert!(rows(&compared) >= 1, "{compared}");
    }
    let verdicts = compared.lines().find(|line| line.starts_with("cell ")).expect("a table");
    assert!(verdicts.contains("  ratio  verdict"), "{verdicts}");
}

/// After seven results came 39 lines of notes; what they said is asked for.
#[test]
fn a_run_is_shown_in_brief_and_explained_when_asked() {
    let bench = Bench::new();
    let run = bench.small_run(["area"]).done().succeeded();
    let id = bench.record("last")["id"].as_str().expect("an id").to_owned();
    // A long command is not cut, or it could not be pasted.
    let (_, more) = run.stdout.split_once("More:").expect("a command");
    let more = more.replace(" \\\n   ", "");
    assert!(more.trim().starts_with(&format!("drivelab show {id} --store ")), "{more}");
    assert!(more.ends_with(" --explain\n"), "{more}");
    assert!(!run.stdout.contains("Seen: ") && !run.stdout.contains("\nhost "), "{}", run.stdout);
    let all = bench.drivelab(["show", &id, "--explain"]).done().succeeded().stdout;
    assert!(all.contains("\nhost ") && all.contains(" Seen: ") && !all.contains("More:"), "{all}");
    // A run of no history is found where it was.
    let text = serde_json::to_string(&bench.record("last")).expect("JSON");
    bench.file("a run.json", text);
    let words = ["show", "a run.json", "--store", "other"];
    let shown = bench.drivelab_without_store(words).done().succeeded().stdout;
    assert!(
        shown.ends_with("More: drivelab show 'a run.json' --store other --explain\n"),
        "{shown}"
    );
}

/// A long label made three lines of a run; and in a pipe, where columns count for nothing, it is
/// whole.
#[test]
fn a_run_is_a_line_of_the_history() {
    let bench = Bench::new();
    let label = "before the new firmware, after the trim of last Tuesday, with the window open";
    bench.small_run(["null:", "--label", label]).done().succeeded();
    let table = bench.drivelab(["history"]).done().succeeded().stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[2].contains(label) && lines[2].contains(" ago  "), "{table}");
    assert!(lines[2].contains("random read 4 KiB ") && !table.contains("complete"), "{table}");
}
