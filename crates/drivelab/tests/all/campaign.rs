//! Campaigns on modelled drives: every task once, whoever is killed, and the same numbers however
//! it ran.

use crate::common;

use common::{Bench, assert_one_sentence};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// Two drives x two depths, three times: twelve tasks of some ten milliseconds.
const SWEEP: &str = "targets = [\"model:{drive}\"]\nmethods = [\"small.toml\"]\nrepetitions = 3\n\
                     [vary]\ndrive = [\"intel-x25e-32\", \"hdd-7200-cmr\"]\n\
                     [set]\ndepth = [1, 4]\n[run]\nmax_time = \"0.5s\"\n";

/// Whole files in a directory. One that a killed worker was writing has a dot before its name.
pub fn files(directory: &Path) -> usize {
    let is_whole = |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(b".");
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter(|entry| entry.as_ref().is_ok_and(|entry| is_whole(&entry.file_name()))).count()
}

/// Completion hashes by task; each task has one result and no attempt beyond `attempts_max`.
pub fn hashes(directory: &Path, tasks: u32, attempts_max: u32) -> BTreeMap<u32, String> {
    let read = |name: String| -> Value {
        let text = fs::read_to_string(directory.join(&name)).unwrap_or_else(|_| panic!("{name}"));
        serde_json::from_str(&text).expect("JSON")
    };
    let one = |task: u32| {
        let answer = read(format!("results/{task}.json"));
        assert_eq!(answer["task"], task);
        assert!(answer["attempt"].as_u64().expect("a number") <= u64::from(attempts_max));
        let record = read(answer["record"].as_str().expect("a record").to_owned());
        assert_eq!(record["campaign"]["task"], task);
        assert_eq!(record["campaign"]["of"], tasks);
        assert_eq!(record["state"], "complete");
        let hash = record["targets"][0]["completions"]["hash"].as_str().expect("a model's");
        assert_eq!(answer["completions"], hash);
        (task, hash.to_owned())
    };
    assert_eq!(files(&directory.join("results")), tasks as usize);
    (0..tasks).map(one).collect()
}

#[test]
fn a_campaign_gives_the_same_completions_with_one_worker_two_or_a_process_a_task() {
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP);
    let begin = |directory: &str, workers: &str| {
        let words = ["campaign", "sweep.toml", "--directory", directory, "--workers", workers];
        bench.drivelab_without_store(words).done().succeeded().stdout
    };
    let page = begin("one", "1");
    assert!(page.starts_with("sweep: 12 of 12 tasks complete\n"), "{page}");
    assert!(page.contains("\nmodel:hdd-7200-cmr ") && page.contains("\ndepth=4 "), "{page}");
    assert!(page.lines().count() <= 24 && page.lines().all(|line| line.chars().count() <= 80));
    begin("two", "2");
    let one = hashes(&bench.path("one"), 12, 1);
    assert_eq!(hashes(&bench.path("two"), 12, 1), one);
    // Four treatments that differ, and repetitions that do.
    let different: std::collections::BTreeSet<_> = one.values().collect();
    assert_eq!(different.len(), 12);
    // The directory of a third, and processes as an array of five would start them.
    let begin = ["campaign", "sweep.toml", "--directory", "many", "--dry-run"];
    let page = bench.drivelab_without_store(begin).done().succeeded().stdout;
    assert!(page.starts_with("sweep: 12 tasks, into many\n"), "{page}");
    assert!(!bench.path("many").exists(), "a dry run makes nothing");
    copy_without_results(&bench.path("one"), &bench.path("many"));
    let elements = (0..5).map(|task: u32| {
        let words = ["campaign", "run", "many", "--every", "5", "--task"];
        bench.drivelab_without_store(words).and([task.to_string()]).start()
    });
    for element in elements.collect::<Vec<_>>() {
        element.wait().succeeded();
    }
    assert_eq!(hashes(&bench.path("many"), 12, 1), one);
}

/// The same tasks, none of them begun.
fn copy_without_results(from: &Path, to: &Path) {
    for name in ["claims", "results", "failures", "records", "beats", "methods"] {
        fs::create_dir_all(to.join(name)).expect("a directory");
    }
    for name in ["campaign.json", "campaign.toml", "tasks.jsonl", "methods/small.toml"] {
        fs::copy(from.join(name), to.join(name)).expect("a copy");
    }
}

#[test]
fn a_campaign_that_is_killed_and_resumed_has_every_task_once() {
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP.replace("repetitions = 3", "repetitions = 10"));
    let whole = ["campaign", "sweep.toml", "--directory", "whole"];
    bench.drivelab_without_store(whole).done().succeeded();
    let words = ["campaign", "sweep.toml", "--directory", "cut"];
    let mut living = bench.drivelab_without_store(words).start();
    let done = || files(&bench.path("cut/results"));
    living.wait_until("some tasks are done", || done() >= 5);
    living.signal("KILL");
    drop(living);
    let before = done();
    assert!(before < 40, "it was killed too late to show anything");
    let status = ["campaign", "status", "cut"];
    let page = bench.drivelab_without_store(status).done().succeeded().stdout;
    assert!(page.starts_with(&format!("sweep: {before} of 40 tasks complete, ")), "{page}");
    let page = bench.drivelab_without_store(["campaign", "resume", "cut"]).done().succeeded();
    assert!(page.stdout.starts_with("sweep: 40 of 40 tasks complete\n"), "{}", page.stdout);
    assert_eq!(hashes(&bench.path("cut"), 40, 2), hashes(&bench.path("whole"), 40, 1));
}

#[test]
fn a_task_that_fails_is_told_with_its_sentence_and_tried_again_by_resume() {
    let bench = Bench::new();
    let text = "targets = [\"null:\", \"area/later\"]\nmethods = [\"small.toml\"]\n\
                [run]\nmax_time = \"0.5s\"\n";
    bench.file("odd.toml", text);
    let outcome = bench.drivelab_without_store(["campaign", "odd.toml"]).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let head = outcome.stdout.lines().next();
    assert_eq!(head, Some("odd: 1 of 2 tasks complete, 1 failed"), "{}", outcome.stdout);
    let (_, failed) = outcome.stdout.split_once("\nFailed\n").expect("a list");
    assert!(failed.contains("area/later small.toml, on "), "{failed}");
    assert!(outcome.stderr.contains("drivelab campaign resume "), "{}", outcome.stderr);
    fs::create_dir(bench.path("area/later")).expect("a directory");
    let resume = ["campaign", "resume", "odd.campaign"];
    let page = bench.drivelab_without_store(resume).done().succeeded().stdout;
    assert!(page.starts_with("odd: 2 of 2 tasks complete\n"), "{page}");
    assert_eq!(fs::read_dir(bench.path("area/later")).expect("it").count(), 0, "nothing is left");
}

#[test]
fn what_cannot_be_a_campaign_is_refused_in_one_sentence_with_the_cure() {
    let bench = Bench::new();
    bench.file("key.toml", "targets = [\"null:\"]\nmethod = \"quick\"\n");
    bench.file("drive.toml", "targets = [\"model:mtron-pro-23\"]\n");
    bench.file("set.toml", "targets = [\"null:\"]\n[set]\ndepht = 4\n");
    bench.file("method.toml", "targets = [\"null:\"]\nmethods = [\"quik\"]\n");
    bench.file("good.toml", "targets = [\"null:\"]\n");
    fs::create_dir(bench.path("good.campaign")).expect("a directory");
    let cases: [(&[&str], &str); 9] = [
        (&["key.toml"], "line 2: there is no key `method` here. Did you mean `methods`"),
        (&["drive.toml"], "mtron-pro-32"),
        (&["set.toml"], "depth"),
        (&["method.toml"], "quick"),
        (&["nowhere.toml"], "cannot read the campaign file nowhere.toml"),
        (&["good.toml"], "`drivelab campaign resume good.campaign`"),
        (&["status", "area"], "name the directory that `drivelab campaign FILE` made"),
        (&["run", "area", "--task", "0"], "there is no campaign in area"),
        (&["run", "area"], "--task"),
    ];
    for (words, cure) in cases {
        let outcome = bench.drivelab_without_store(["campaign"]).and(words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {outcome:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
    let made = fs::read_dir(bench.path(".")).expect("the place").flatten();
    let made = made.filter(|entry| entry.file_name().to_string_lossy().contains(".campaign"));
    assert_eq!(made.count(), 1, "nothing was made");
}

/// Three loads on one target, of which each waits for the others before each cell; and one that
/// cannot begin, for which nobody waits.
#[test]
fn tasks_that_are_to_run_together_begin_each_step_at_one_moment() {
    let bench = Bench::new();
    let text = "targets = [\"null:\"]\nmethods = [\"small.toml\"]\ntogether = true\n\
                [set]\ndepth = [1, 2, 3]\n[run]\nmax_time = \"0.5s\"\n";
    bench.file("together.toml", text);
    bench.drivelab_without_store(["campaign", "together.toml"]).done().succeeded();
    let place = bench.path("together.campaign");
    let names = |name: &str| -> Vec<String> {
        let entries = fs::read_dir(place.join(name)).expect("a directory").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names("together"), ["1-0", "1-0.start", "1-1", "1-1.start"]);
    assert_eq!(names("together/1-0"), ["0", "1", "2"]);
    for task in 0..3 {
        let text = fs::read_to_string(place.join(format!("records/{task}-1.json"))).expect("one");
        assert!(!text.contains("of its steps began after"), "task {task}");
    }
    let merged = ["campaign", "result", "together.campaign", "--merged"];
    let page = bench.drivelab_without_store(merged).done().succeeded().stdout;
    assert!(page.contains("averaged") && page.contains("p99"), "{page}");
    bench.file("odd.toml", text.replace("\"null:\"", "\"null:\", \"area/nowhere\""));
    let outcome = bench.drivelab_without_store(["campaign", "odd.toml"]).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stdout.starts_with("odd: 3 of 6 tasks complete, 3 failed"), "{outcome:?}");
}

#[test]
fn a_campaign_is_printed_for_kubernetes_and_ssh_and_told_what_is_missing() {
    let bench = Bench::new();
    bench.file("k.toml", "targets = [\"/dev/target\"]\n[kubernetes]\nimage = \"r/drivelab\"\n");
    let words = ["campaign", "k.toml", "--print", "kubernetes"];
    let outcome = bench.drivelab_without_store(words).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["directory_claim = \"campaigns\"", "[kubernetes]"]);
    assert!(!bench.path("k.campaign").exists());
    let text = "targets = [\"/dev/target\"]\nrepetitions = 7\n[run]\nreads_only = true\n\
                [kubernetes]\nimage = \"r/drivelab\"\ndirectory_claim = \"campaigns\"\n\
                target_claim = \"disk\"\nblock = true\n";
    bench.file("k.toml", text);
    let page = bench.drivelab_without_store(words).done().succeeded().stdout;
    for line in [
        "  completionMode: Indexed",
        "  completions: 7",
        "            - \"$(JOB_COMPLETION_INDEX)\"",
        "              devicePath: /dev/target",
        "            claimName: \"disk\"",
    ] {
        assert!(page.lines().any(|it| it == line), "`{line}` is missing:\n{page}");
    }
    bench.file("s.toml", "targets = [\"null:\"]\n");
    let words = ["campaign", "s.toml", "--print", "ssh"];
    let outcome = bench.drivelab_without_store(words).done();
    assert_one_sentence(&outcome.stderr, &["hosts = [\"node1\", \"node2\"]"]);
    bench.file("s.toml", "targets = [\"null:\"]\nhosts = [\"n1\", \"n2\"]\n");
    let page = bench.drivelab_without_store(words).done().succeeded().stdout;
    assert!(page.starts_with("ssh n1 '") && page.ends_with(" &\nwait\n"), "{page}");
    assert!(page.contains("--task 0 --every 1"), "{page}");
    // Neither is this machine: a task alone is refused, an element passes it over.
    let run = ["campaign", "run", "s.campaign", "--task", "0"];
    let outcome = bench.drivelab_without_store(run).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["task 0 is for host n"]);
    bench.drivelab_without_store(run).and(["--every", "1"]).done().succeeded();
}

/// A repetition of three: each waits for all, so all must be able to run at once.
#[test]
fn tasks_that_would_wait_for_each_other_for_ever_are_refused_before_anything_is_made() {
    let bench = Bench::new();
    let text = "targets = [\"/dev/target\"]\ntogether = true\n[set]\ndepth = [1, 2, 3]\n\
                [run]\nreads_only = true\n[kubernetes]\nimage = \"r/drivelab\"\n\
                directory_claim = \"campaigns\"\nparallelism = 2\n";
    bench.file("k.toml", text);
    let kubernetes = ["campaign", "k.toml", "--print", "kubernetes"];
    let outcome = bench.drivelab_without_store(kubernetes).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_one_sentence(&outcome.stderr, &["let kubernetes.parallelism be 3", "`together`"]);
    let hosts = text.replace("together", "hosts = [\"n1\", \"n2\"]\ntogether");
    bench.file("s.toml", hosts);
    let outcome = bench.drivelab_without_store(["campaign", "s.toml", "--print", "ssh"]).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_one_sentence(&outcome.stderr, &["3 tasks of a repetition", "leave out `together`"]);
    for name in ["k.campaign", "s.campaign"] {
        assert!(!bench.path(name).exists(), "{name} was made");
    }
    bench.file("k.toml", text.replace("parallelism = 2\n", "").replace("3]", "3, 4, 5]"));
    let page = bench.drivelab_without_store(kubernetes).done().succeeded().stdout;
    assert!(page.contains("  parallelism: 5\n"), "{page}");
}

/// The runs of a campaign in a history besides: here a file, which the campaign's file names.
#[test]
fn what_a_campaign_measured_is_in_the_history_that_it_names_once() {
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP);
    bench
        .drivelab_without_store(["campaign", "sweep.toml", "--store", "all.db"])
        .done()
        .succeeded();
    let listed = || {
        let words = ["history", "--json", "--campaign", "sweep", "--store", "all.db"];
        let lines = bench.drivelab_without_store(words).done().succeeded().stdout;
        lines.lines().count()
    };
    assert_eq!(listed(), 12);
    let push = ["campaign", "push", "sweep.campaign"];
    let outcome = bench.drivelab_without_store(push).variable("DRIVELAB_STORE", "").done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["names no `store`", "--store postgresql://"]);
    let again = bench.drivelab_without_store(push).and(["--store", "all.db"]).done().succeeded();
    assert!(again.stdout.starts_with("pushed 0 runs to "), "{}", again.stdout);
    assert!(again.stdout.ends_with("; 12 were there already\n"), "{}", again.stdout);
    bench.file("own.toml", format!("store = \"own.db\"\n{SWEEP}"));
    bench.drivelab_without_store(["campaign", "own.toml"]).done().succeeded();
    fs::remove_file(bench.path("own.db")).expect("it was made");
    bench.drivelab_without_store(["campaign", "resume", "own.campaign"]).done().succeeded();
    let words = ["history", "--json", "--store", "own.db"];
    let lines = bench.drivelab_without_store(words).done().succeeded().stdout;
    assert_eq!(lines.lines().count(), 12, "what was missing is brought there");
    assert_eq!(listed(), 12);
}

#[test]
fn the_page_of_a_campaign_has_its_chart_and_every_row() {
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP);
    bench.drivelab_without_store(["campaign", "sweep.toml"]).done().succeeded();
    let words =
        ["campaign", "result", "sweep.campaign", "--html", "sweep.html", "--json", "r.json"];
    bench.drivelab_without_store(words).done().succeeded();
    let page = fs::read_to_string(bench.path("sweep.html")).expect("a page");
    assert!(page.contains("Campaign sweep") && page.contains("<svg"), "no chart");
    assert!(page.contains("model:hdd-7200-cmr depth=4"));
    let rows = fs::read_to_string(bench.path("r.json")).expect("rows");
    let rows: Vec<Value> = serde_json::from_str(&rows).expect("JSON");
    assert_eq!(rows.len(), 8, "four treatments of two cells");
    assert!(rows.iter().all(|row| row["n"] == 3 && row["iops"].as_f64().expect("a rate") > 0.0));
}
