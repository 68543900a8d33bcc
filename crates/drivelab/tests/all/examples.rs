//! What lies in `examples/` and `action.yml` does what it says, with the programs it is made for.

use crate::common;
use crate::help::house;

use common::{Bench, DRIVELAB, Outcome, names_in};
use serde_json::Value;
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};
use testkit::has;

/// Started in the bench, with a history of its own.
fn command(bench: &Bench, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(bench.path("")).stdin(Stdio::null());
    command.env("XDG_DATA_HOME", bench.path("data")).env("HOME", bench.path("home"));
    command
}

/// The action's script, with two modelled drives.
fn compared(bench: &Bench, base: &str, head: &str) -> Outcome {
    let output = command(bench, &house().join("examples/action/compare.sh"))
        .env("DRIVELAB", DRIVELAB)
        .env("BASE", base)
        .env("HEAD", head)
        .env("GRADE", "quick")
        .env("ARGUMENTS", "--max-time 2s --seed 1")
        .env("RUNNER_TEMP", bench.path(""))
        .env("GITHUB_STEP_SUMMARY", bench.path("summary.md"))
        .env("GITHUB_OUTPUT", bench.path("output"))
        .output();
    output.expect("bash is there").into()
}

#[test]
fn the_action_ends_with_an_error_where_the_head_is_slower_and_writes_a_summary() {
    let bench = Bench::new();
    let outcome = compared(&bench, "model:nvme-tlc", "model:sata-tlc");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("slower"), "{outcome:?}");
    let summary = fs::read_to_string(bench.path("summary.md")).expect("a summary");
    assert!(summary.starts_with("### drivelab: found what fails this step (slower)\n"));
    assert!(summary.contains("model:sata-tlc against"), "{summary}");
    assert!(summary.contains("| cell | rate |"), "{summary}");
    let told = fs::read_to_string(bench.path("output")).expect("outputs");
    let record = told.trim().strip_prefix("record=").expect("where the record is");
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    assert_eq!(record["targets"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_action_ends_well_where_the_head_is_no_slower_and_says_why_it_could_not_run() {
    let bench = Bench::new();
    let outcome = compared(&bench, "model:sata-tlc", "model:nvme-tlc");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let summary = fs::read_to_string(bench.path("summary.md")).expect("a summary");
    assert!(summary.starts_with("### drivelab: nothing found\n"), "{summary}");
    let refused = compared(&bench, "model:sata-tlc", "model:nvme-tcl");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("`nvme-tlc`"), "{refused:?}");
}

/// A release is a directory here, since curl reads those, too.
#[test]
fn the_action_fetches_a_release_and_refuses_one_of_another_sum() {
    if !has("curl") {
        return testkit::skip("curl");
    }
    let bench = Bench::new();
    let release = bench.path("releases/v9.8.7");
    fs::create_dir_all(&release).expect("a directory");
    let name = "drivelab-9.8.7-x86_64-linux";
    fs::write(release.join(name), "#!/bin/sh\necho fetched\n").expect("written");
    let summed = Command::new("sha256sum").arg(name).current_dir(&release).output();
    fs::write(release.join("SHA256SUMS"), summed.expect("sums").stdout).expect("written");
    let fetched = |tag: &str| {
        let output = command(&bench, &house().join("examples/action/fetch.sh"))
            .arg(bench.path("fetched"))
            .env("REPOSITORY", "owner/drivelab")
            .env("RELEASE", tag)
            .env("RELEASES", format!("file://{}", bench.path("releases").display()))
            .output();
        Outcome::from(output.expect("bash is there"))
    };
    fetched("v9.8.7").succeeded();
    let said = Command::new(bench.path("fetched")).output().expect("it can be run");
    assert_eq!(said.stdout, b"fetched\n");
    let absent = fetched("main");
    assert_eq!(absent.code, Some(2), "{absent:?}");
    assert!(absent.stderr.contains("call the action by one"), "{absent:?}");
    fs::remove_file(bench.path("fetched")).expect("it was fetched");
    fs::write(release.join(name), "#!/bin/sh\necho another\n").expect("written");
    assert_eq!(fetched("v9.8.7").code, Some(1));
    assert!(!bench.path("fetched").exists(), "it is not installed");
}

/// The action's file names the scripts as they are, and YAML can be read.
#[test]
fn the_action_and_the_workflow_are_yaml_and_call_what_is_there() {
    let action = fs::read_to_string(house().join("action.yml")).expect("an action");
    for script in ["examples/action/compare.sh", "examples/action/fetch.sh"] {
        assert!(action.contains(&format!("$GITHUB_ACTION_PATH/{script}")), "{script}");
        assert!(house().join(script).is_file());
    }
    let read =
        "import sys, yaml\nfor name in sys.argv[1:]: assert yaml.safe_load(open(name)), name";
    let python = Path::new("/usr/bin/python3");
    let has_yaml = Command::new(python).args(["-c", "import yaml"]).output();
    if !has_yaml.is_ok_and(|output| output.status.success()) {
        return testkit::skip("python3-yaml");
    }
    let output = Command::new(python)
        .args(["-c", read])
        .args(["action.yml", ".github/workflows/release.yml"])
        .current_dir(house())
        .output();
    Outcome::from(output.expect("Python starts")).succeeded();
}

/// A directory that has the program under its name, before others in PATH.
fn path_with_drivelab(bench: &Bench) -> String {
    let directory = bench.path("bin");
    fs::create_dir_all(&directory).expect("a directory");
    symlink(DRIVELAB, directory.join("drivelab")).expect("a link");
    format!("{}:{}", directory.display(), env::var("PATH").unwrap_or_default())
}

#[test]
fn reframe_runs_the_check_and_takes_every_cell_for_a_performance_variable() {
    if !has("reframe") {
        return testkit::skip("reframe (pip install reframe-hpc)");
    }
    let bench = Bench::new();
    let path = path_with_drivelab(&bench);
    let checked = |words: &[&str]| {
        let output = command(&bench, Path::new("reframe"))
            .args(["--nocolor", "--performance-report", "--prefix"])
            .arg(bench.path("reframe"))
            .args(["--report-file", "report.json", "--run", "--checkpath"])
            .arg(house().join("examples/reframe/drivelab_check.py"))
            .args(["-S", "DrivelabCheck.target=model:nvme-tlc"])
            .args(words)
            .env("PATH", &path)
            .output();
        Outcome::from(output.expect("reframe starts"))
    };
    let outcome = checked(&["-S", "DrivelabCheck.words=--max-time,2s"]).succeeded();
    assert!(outcome.stdout.contains("PASSED"), "{outcome:?}");
    let quick = bench.drivelab(["run", "model:nvme-tlc", "--max-time", "2s", "--quiet", "--json"]);
    let record = quick.and(["-"]).done().succeeded().json();
    let cells = record["cells"].as_array().expect("cells");
    assert!(cells.len() > 5);
    for cell in cells {
        let name = cell["name"].as_str().expect("a name");
        assert!(outcome.stdout.contains(&format!("P: {name}: ")), "{name}: {outcome:?}");
    }
    // What cannot be run is no result.
    let failed = checked(&["-S", "DrivelabCheck.method=absent"]);
    assert_ne!(failed.code, Some(0), "{failed:?}");
}

#[test]
fn ansible_installs_measures_and_collects_the_records_and_leaves_nothing_else() {
    if !has("ansible-playbook") {
        return testkit::skip("ansible-core");
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("home")).expect("a directory");
    fs::create_dir(bench.path("temporary")).expect("a directory");
    let settings = serde_json::json!({
        "drivelab_program": DRIVELAB,
        "drivelab_path": bench.path("installed"),
        "drivelab_target": "model:nvme-tlc",
        "drivelab_arguments": ["--max-time", "2s"],
        "drivelab_records": bench.path("records"),
    });
    let played = || {
        let output = command(&bench, Path::new("ansible-playbook"))
            .args(["--inventory", "localhost,", "--connection", "local", "--extra-vars"])
            .arg(settings.to_string())
            .arg(house().join("examples/ansible/measure.yml"))
            .env("LC_ALL", "C.UTF-8")
            .env("TMPDIR", bench.path("temporary"))
            .output();
        Outcome::from(output.expect("ansible starts")).succeeded()
    };
    played();
    let again = played();
    assert!(again.stdout.contains("changed=0"), "a second time changes nothing: {again:?}");
    let shown = bench.drivelab(["show", "records/localhost.json"]).done().succeeded();
    assert!(shown.stdout.contains("model:nvme-tlc"), "{shown:?}");
    assert!(bench.path("installed").is_file());
    let left = names_in(&bench.path("temporary"));
    assert!(left.is_empty(), "{left:?}");
}
