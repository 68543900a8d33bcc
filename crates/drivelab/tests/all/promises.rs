//! `drivelab power-cut`: safe settings keep every promise, unsafe ones are found out, and what a
//! program does wrong is said in a sentence.

use crate::common;

use common::{Bench, Outcome, assert_one_sentence};
use record::PowerCuts;
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

/// A drive whose seeks do not make a test long.
const STACK: &str = "sata-tlc:capacity=6G";

fn cut(bench: &Bench, words: &[&str]) -> Outcome {
    let call = bench.drivelab(["power-cut", STACK]).and(words);
    call.variable("TMPDIR", bench.path("area").to_str().expect("text")).done()
}

fn cuts(record: &Value) -> PowerCuts {
    serde_json::from_value(record["power_cuts"].clone()).expect("rounds")
}

fn json(done: &Outcome) -> Value {
    serde_json::from_str(&done.stdout).expect("JSON")
}

#[test]
fn sqlite_keeps_its_promises_and_without_fsync_it_does_not() {
    need_power_cuts!();
    let bench = Bench::new();
    let safe = cut(&bench, &["--rounds", "4", "--json", "-"]);
    assert_eq!(safe.code, Some(0), "{}", safe.stderr);
    let safe = json(&safe);
    let cuts = cuts(&safe);
    assert_eq!((cuts.broken().count(), cuts.rounds.len()), (0, 4), "{safe:#}");
    assert!(cuts.promises().made > 4, "{safe:#}");
    let words = ["--rounds", "4", "--set", "synchronous=off", "--within", "300ms"];
    let unsafe_one = cut(&bench, &words);
    assert_eq!(unsafe_one.code, Some(1), "{}{}", unsafe_one.stdout, unsafe_one.stderr);
    let (said, again) = unsafe_one.stdout.split_once("to cut there again:\n  ").expect("a cure");
    assert!(again.starts_with("drivelab power-cut --store "), "{again}");
    assert!(again.contains(" sata-tlc:capacity=6G --set synchronous=off "), "{again}");
    assert!(said.lines().all(|line| line.len() <= 100), "{said}");
}

/// Drives have been sold that answer a flush and do nothing, and servers acknowledge one before it
/// is carried out. A database with every setting safe loses rows on both, and is found out; what is
/// wrong stands in the head and in the JSON, so that nobody takes it for a real drive's doing.
#[test]
fn drives_that_lie_about_flushes_are_found_out() {
    need_power_cuts!();
    let bench = Bench::new();
    for (how, told) in [("ignored", "ignores flushes"), ("early", "answers flushes too early")] {
        // A cut finds an early answer only just behind one: some one in three does, and what a
        // round finds is not drawn from the seed alone.
        let found = (1..=12).map(|seed| {
            let seed = seed.to_string();
            cut(&bench, &["--flushes", how, "--rounds", "4", "--seed", &seed])
        });
        let done = found.into_iter().find(|done| done.code != Some(0));
        let done = done.unwrap_or_else(|| panic!("{how}: 48 rounds found nothing"));
        assert_eq!(done.code, Some(1), "{how}: {}{}", done.stdout, done.stderr);
        let head = done.stdout.lines().next().expect("a head");
        assert!(head.contains(&format!("{told} (planted)")), "{head}");
        assert!(done.stdout.contains(&format!("--flushes {how}")), "{}", done.stdout);
        // The table of combinations said nothing of the fault.
        let words = ["--flushes", how, "--matrix", "--rounds", "1", "--within", "100ms"];
        let table = cut(&bench, &words).stdout;
        assert!(table.contains(&format!("{told} (planted): 1 combination of 1 round")), "{table}");
    }
    // A managed volume below the file system does not open again, and it is said why.
    let words = ["power-cut", "sata-tlc:capacity=6G/flash", "--flushes", "ignored", "--round", "3"];
    let call = bench.drivelab(words);
    let done = call.variable("TMPDIR", bench.path("area").to_str().expect("text")).done();
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("cannot be mounted; `flash`: "), "{}", done.stdout);
    let done = json(&cut(&bench, &["--flushes", "ignored", "--rounds", "1", "--json", "-"]));
    assert_eq!(cuts(&done).flushes, "ignored", "{done:#}");
    let wrong = cut(&bench, &["--flushes", "ignord"]);
    assert_eq!(wrong.code, Some(2));
    assert_one_sentence(&wrong.stderr, &["--flushes", "ignord", "`ignored`"]);
}

/// Parity and data of a row reach their drives apart. With every member a cut between the two shows
/// nowhere; without one, what that held of the row is worked out wrongly, however long ago it was
/// flushed.
#[test]
fn a_raid_5_that_comes_back_without_a_member_breaks_promises() {
    need_power_cuts!();
    let bench = Bench::new();
    let area = bench.path("area");
    let call = |words: &[&str]| {
        let stack = "3xsata-tlc:capacity=6G/raid5:chunk=16K";
        let call = bench.drivelab(["power-cut", stack]).and(words);
        call.variable("TMPDIR", area.to_str().expect("text")).done()
    };
    let whole = call(&["--rounds", "4", "--within", "300ms"]);
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    let found = (1..=6).map(|seed| {
        let words = ["--rounds", "4", "--within", "300ms", "--lose-member", "0", "--seed"];
        call(&[&words[..], &[&seed.to_string()]].concat())
    });
    let found = found.into_iter().find(|done| done.code != Some(0)).expect("a write hole");
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    assert!(found.stdout.contains("back without member 0"), "{}", found.stdout);
    for (stack, member, said) in [
        ("sata-tlc", "0", "is no array"),
        ("3xsata-tlc/raid5", "7", "7"),
        ("2xsata-tlc/raid0", "0", "without redundancy"),
    ] {
        let words = ["power-cut", stack, "--lose-member", member];
        bench.drivelab(words).done().refused(&["--lose-member", said]);
    }
}

#[test]
fn files_keep_their_promises() {
    need_power_cuts!();
    let bench = Bench::new();
    let done = cut(&bench, &["--rounds", "3", "--case", "files"]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("0 of 3 rounds broke one: fewer than 63.2 % of such cuts"));
}

#[test]
fn postgresql_keeps_its_promises() {
    need_power_cuts!();
    if !std::path::Path::new("/usr/lib/postgresql").exists() {
        return common::skip("PostgreSQL");
    }
    let bench = Bench::new();
    let done = cut(&bench, &["--rounds", "2", "--case", "postgresql"]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
}

/// The program of docs/reference/power-cut.md, and what others do wrong.
#[test]
fn a_program_of_ones_own_promises_and_checks_or_is_told_how() {
    need_power_cuts!();
    let bench = Bench::new();
    let page = include_str!("../../../../docs/reference/power-cut.md");
    let (_, from) = page.split_once("<!-- file: promises.sh -->\n```sh\n").expect("it is there");
    let (script, _) = from.split_once("```").expect("it ends");
    let script = bench.file("promises.sh", script);
    let script = script.to_str().expect("text");
    let done = cut(&bench, &["--rounds", "2", "--", "sh", script]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    for (program, said) in [
        ("sleep 100 #", "promised nothing within 1 s: it must print a line `ack ID`"),
        ("true #", "ended without a promise"),
        ("echo no room >&2; exit 3 #", "ended with exit status: 3: no room"),
        (
            "if [ $0 = run ]; then echo ack 1; sleep 9; else echo lost 7; fi #",
            "the check says `lost 7`: it must name each broken promise once",
        ),
        ("if [ $0 = run ]; then echo ack 1; sleep 9; else sleep 9; fi #", "the check did not end"),
    ] {
        let words = ["--rounds", "1", "--patience", "1s", "--within", "1ms", "--quiet"];
        let words = words.into_iter().chain(["--", "sh", "-c", program]);
        let done = cut(&bench, &words.collect::<Vec<_>>());
        assert_eq!(done.code, Some(2), "{program}: {}", done.stdout);
        assert!(done.stderr.contains(said), "{program}: {}", done.stderr);
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("it is there");
    let left =
        mounts.lines().find(|line| line.contains(bench.path("area").to_str().expect("text")));
    assert_eq!(left, None);
}

/// Where nbdfuse was missing, a drive with one letter wrong was answered with how to install that.
#[test]
fn what_cannot_be_had_is_refused_in_a_sentence() {
    let bench = Bench::new();
    for (words, said) in [
        (&["/dev/null"][..], "only the power of modelled drives"),
        (&["sata-tlc", "--case", "sqlit"], "Did you mean `sqlite`"),
        (&["sata-tlc", "--set", "sync=off"], "sqlite has no such setting"),
        (&["sata-tlc", "--set", "synchronous=offf"], "synchronous=off, normal, full or extra"),
        (&["sata-tlc", "--case", "files", "--set", "fsync=of"], "it has fsync=on or off"),
        (&["sata-tlc", "--fs", "ext4,xfs"], "--matrix cuts for each combination"),
        (&["sata-tlc", "--fs", "raw", "--kernel-flush", "off", "--", "true"], "has no file system"),
        // The last of four combinations: nothing is begun before it is understood.
        (&["sata-tlc", "--matrix", "--set", "synchronous=full,of"], "synchronous=off, normal"),
        (&["sata-tlc", "--matrix", "--fs", "ext4,ext5"], "ext5"),
        (&["sata-tlc", "--matrix", "--set", "synchronous=full,full"], "stands there twice"),
        (&["sata-tlk"], "sata-tlc"),
    ] {
        let all = ["power-cut"].iter().chain(words).copied();
        let done = bench.drivelab_without_store(all).done();
        assert_eq!(done.code, Some(2), "{words:?}: {}", done.stdout);
        assert_one_sentence(&done.stderr, &[said]);
    }
}

/// A virtual machine has a kernel of its own: it could not be given a mounted directory.
#[test]
fn a_program_attaches_the_drives_itself() {
    need_programs!("qemu-io");
    let bench = Bench::new();
    let page = include_str!("../../../../docs/reference/power-cut.md");
    let (_, from) = page.split_once("<!-- file: blocks.sh -->\n```sh\n").expect("an example");
    let program = bench.file("blocks.sh", from.split_once("```").expect("a fence").0);
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("ours");
    let call = |words: &[&str]| {
        let words = [words, &["--fs", "raw", "--rounds", "3", "--within", "300ms"]].concat();
        let program = program.to_str().expect("text");
        cut(&bench, &[&words[..], &["--", program]].concat())
    };
    let done = call(&[]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("0 of 3 rounds broke one"), "{}", done.stdout);
    assert!(done.stdout.contains("  none\n"), "{}", done.stdout);
    let done = call(&["--flushes", "ignored"]);
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    let done = cut(&bench, &["--fs", "raw"]);
    done.refused(&["--fs raw", "sqlite needs a file system", "a program of yours"]);
    assert_eq!(fs::read_dir(bench.path("area")).expect("it is there").count(), 0);
}

/// A case whose `power-cut` was killed before the case could ask to die with it worked on.
#[test]
fn a_case_that_nobody_listens_to_any_more_does_nothing() {
    let bench = Bench::new();
    let place = bench.path(".");
    let words = ["power-cut-case", "files", "--of", "1", "run", place.to_str().expect("text")];
    bench.drivelab_without_store(words).done().refused(&["files", "is gone"]);
}

/// Which settings are safe, and what that costs, took a call for each, and a table by hand.
#[test]
fn every_combination_is_a_run_and_a_line_with_its_rate() {
    need_power_cuts!();
    let bench = Bench::new();
    let words = ["--matrix", "--rounds", "2", "--within", "300ms", "--mount", "noatime;nodelalloc"];
    let done = cut(&bench, &[&words[..], &["--set", "synchronous=full,off", "--seed=4"]].concat());
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    let mut lines = done.stdout.lines();
    let head = lines.next().expect("a head");
    assert_eq!(head, format!("model:{STACK}: 4 combinations of 2 rounds, seed 4"));
    let heads = lines.next().expect("heads");
    assert!(heads.contains("broken rounds") && heads.contains("promises/s"), "{heads}");
    let lines: Vec<&str> = lines.collect();
    let names = ["noatime", "nodelalloc"].iter().flat_map(|mount| {
        ["full", "off"].map(|level| (format!("  mount={mount} synchronous={level}"), level))
    });
    let runs: Vec<(&str, &str)> = lines
        .iter()
        .zip(names)
        .map(|(line, (name, level))| {
            assert!(line.ends_with(&name) && line.len() <= 100, "{line}");
            let fields: Vec<&str> = line.split_whitespace().collect();
            let rate: f64 = fields[8].parse().expect("a rate");
            assert!(rate > 1.0, "{line}");
            assert_eq!(fields[0] == "0", level == "full", "{line}");
            (fields[9], level)
        })
        .collect();
    assert_eq!((lines.len(), runs.len()), (4, 4), "{}", done.stdout);
    for (id, level) in runs {
        let record = bench.record(id);
        assert_eq!(cuts(&record).program, format!("sqlite synchronous={level}"));
        // Each goes on, and is cut again, by words of its own.
        let command: Vec<&str> = record["command_line"]
            .as_array()
            .expect("words")
            .iter()
            .flat_map(Value::as_str)
            .collect();
        assert!(!command.contains(&"--matrix") && command.contains(&"--seed=4"), "{command:?}");
        let again = bench.drivelab(["power-cut", "--resume", id]).done();
        again.refused(&["has all its rounds", "drivelab show"]);
        let once: Vec<&str> = command
            .iter()
            .skip(1)
            .copied()
            .filter(|word| *word != "2" && *word != "--rounds")
            .collect();
        let once = bench.drivelab_without_store(once).and(["--round", "1"]);
        let once = once.variable("TMPDIR", bench.path("area").to_str().expect("text")).done();
        let codes = if level == "full" { [0, 0] } else { [0, 1] };
        assert!(codes.map(Some).contains(&once.code), "{}{}", once.stdout, once.stderr);
    }
}

/// Two hundred rounds take a quarter of an hour: what was found was printed and gone, and Ctrl-C or
/// a crash began them anew.
#[test]
fn rounds_are_a_run_that_goes_on_and_is_shown_and_compared() {
    need_power_cuts!();
    let bench = Bench::new();
    let area = bench.path("area");
    let area = area.to_str().expect("text");
    let words = ["power-cut", STACK, "--rounds", "5", "--within", "200ms", "--label", "night"];
    let living = bench.drivelab(words).variable("TMPDIR", area).start();
    let record = |named: &str| bench.record(named);
    let deadline = Instant::now() + Duration::from_secs(60);
    let has_begun = || {
        let listed = bench.drivelab(["history", "--json"]).done();
        listed.stdout.contains("\"broken_rounds\":[0,") && !cuts(&record("night")).rounds.is_empty()
    };
    while !has_begun() {
        assert!(Instant::now() < deadline, "no round was kept");
        thread::sleep(Duration::from_millis(50));
    }
    let meanwhile = bench.drivelab(["power-cut", "--resume", "night"]).done();
    assert_eq!(meanwhile.code, Some(2), "{}", meanwhile.stdout);
    living.signal("INT");
    let done = living.wait();
    let before = cuts(&record("night"));
    if before.rounds.len() < 5 {
        // No method measured it: `run` took it for one of its own.
        let by_run = bench.drivelab(["run", "--resume", "night"]).done();
        by_run.refused(&["of power cuts", "drivelab power-cut --resume"]);
    }
    if done.code == Some(130) {
        assert!(done.stderr.contains("drivelab power-cut --resume "), "{}", done.stderr);
        assert_eq!(record("night")["state"], "interrupted");
    }
    let resumed = bench.drivelab(["power-cut", "--resume", "night"]);
    let resumed = resumed.variable("TMPDIR", area).done();
    let after = cuts(&record("night"));
    if before.rounds.len() < 5 {
        assert_eq!(resumed.code, Some(0), "{}{}", resumed.stdout, resumed.stderr);
        assert!(resumed.stdout.contains("0 of 5 rounds broke one"), "{}", resumed.stdout);
    }
    assert_eq!(after.rounds[..before.rounds.len()], before.rounds);
    let numbers: Vec<u32> = after.rounds.iter().map(|round| round.round).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(record("night")["state"], "complete");
    let again = bench.drivelab(["power-cut", "--resume", "night"]).done();
    again.refused(&["has all its rounds", "drivelab show"]);
    // Another run, of a setting that loses rows.
    let words = ["--rounds", "5", "--set", "synchronous=off", "--within", "300ms"];
    let lost = cut(&bench, &words);
    assert_eq!(lost.code, Some(1), "{}{}", lost.stdout, lost.stderr);
    let shown = bench.drivelab(["show", "last"]).done().succeeded().stdout;
    assert!(shown.contains("sqlite synchronous=off: 5 rounds"), "{shown}");
    assert!(shown.contains("rounds broke one") && shown.contains("file system\n"), "{shown}");
    let listed = bench.drivelab(["history"]).done().succeeded().stdout;
    assert!(listed.contains("0 of 5 rounds broke a promise"), "{listed}");
    let compared = bench.drivelab(["compare", "night", "last"]).done().succeeded().stdout;
    assert!(compared.contains("0 of 5") && compared.contains("baseline"), "{compared}");
    let json = bench.drivelab(["compare", "night", "last", "--json"]).done().succeeded().json();
    let chance = json["others"][0]["chance"].as_f64().expect("a number");
    let verdict = json["others"][0]["verdict"].as_str().expect("a verdict");
    assert_eq!(chance < 0.05, verdict == "breaks more", "{json:#}");
    let words = ["compare", "night", "last", "--fail-on", "slower"];
    bench.drivelab(words).done().refused(&["--fail-on", "--json"]);
    let page = bench.path("page.html");
    let words = ["report", "night", "last", "--html", page.to_str().expect("text")];
    bench.drivelab(words).done().succeeded();
    let page = std::fs::read_to_string(&page).expect("a page");
    assert!(page.contains("Power cuts of run") && page.contains("sectors changed"));
    what_is_of_another_kind_is_refused(&bench);
}

/// After a run of power cuts called `night`.
fn what_is_of_another_kind_is_refused(bench: &Bench) {
    bench.small_run(["null:"]).done().succeeded();
    bench.drivelab(["compare", "night", "last"]).done().refused(&["of power cuts", "one kind"]);
    bench.drivelab(["compare", "night"]).done().refused(&["name another one"]);
    bench.drivelab(["power-cut", "--resume", "last"]).done().refused(&["drivelab run --resume"]);
    let words = ["power-cut", "--resume", "night", "--rounds", "9"];
    bench.drivelab(words).done().refused(&["--resume", "cannot be used with"]);
}

/// Processes that have `place` among their arguments.
fn processes(place: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("it is there").flatten();
    let words = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let texts = words.map(|words| String::from_utf8_lossy(&words).replace('\0', " "));
    texts.filter(|text| text.contains(place)).collect()
}

/// Starts rounds, kills drivelab when `is_at_work` says so, and has everything put back. Programs
/// in the folder `slow` come before those of the machine.
fn killed(words: &[&str], slow: Option<&str>, is_at_work: impl Fn(&[String]) -> bool) {
    let bench = Bench::new();
    let area = bench.path("area");
    let area = area.to_str().expect("text");
    let rounds = ["power-cut", STACK, "--rounds", "100", "--within", "9s"];
    let path = std::env::var("PATH").expect("a PATH");
    let slow = slow.map_or(String::new(), |folder| format!("{folder}:"));
    let call = bench.drivelab(rounds).and(words).variable("PATH", &format!("{slow}{path}"));
    let living = call.variable("TMPDIR", area).start();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_at_work(&processes(area)) {
        assert!(Instant::now() < deadline, "{words:?}: {:?}", processes(area));
        thread::sleep(Duration::from_millis(20));
    }
    living.signal("KILL");
    living.wait();
    bench.drivelab_without_store(["restore"]).done().succeeded();
    assert_eq!(processes(area), [""; 0], "{words:?}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("it is there");
    assert!(!mounts.contains(area), "{words:?}: {mounts}");
}

/// A server of PostgreSQL went on when drivelab and the case had been killed: `restore` said that
/// the mount was in use, and named nobody.
#[test]
fn a_killed_power_cut_leaves_no_database_behind() {
    need_power_cuts!("setpriv");
    if !std::path::Path::new("/usr/lib/postgresql").exists() {
        return common::skip("PostgreSQL");
    }
    let asks = |all: &[String]| all.iter().any(|words| words.contains("psql"));
    killed(&["--case", "postgresql"], None, asks);
    // Where the machine was busy, drivelab was killed before the server had asked to die with it.
    let place = Bench::new();
    let script = place.file("setpriv", "#!/bin/sh\nsleep 1\nexec /usr/bin/setpriv \"$@\"\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&script, executable).expect("it is ours");
    let folder = script.parent().expect("a folder");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("ours");
    killed(&["--case", "postgresql"], folder.to_str(), asks);
}

/// The kernel starts a script by its interpreter, so that no process has the program's name first.
#[test]
fn restore_ends_a_script_that_a_killed_power_cut_left() {
    need_power_cuts!();
    let place = Bench::new();
    // The first promise comes late enough to be seen at work, and a check ends: a cut that came too
    // soon is followed by another round.
    const SCRIPT: &str = "#!/bin/sh\n[ $1 = run ] || exit 0\n\
        while :; do sleep 1; echo ack $((n += 1)); done\n";
    let script = place.file("mine", SCRIPT);
    let program = script.to_str().expect("text");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&script, executable).expect("it is ours");
    killed(&["--", program], None, |all| all.iter().any(|words| words.contains(" run ")));
}
