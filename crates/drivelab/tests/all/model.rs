//! `model:STACK`: any drive on the bench, in virtual time, with the same methods, tables and
//! records.

use crate::common;

use common::{Bench, Outcome, assert_one_sentence, cell, flags};
use serde_json::Value;
use std::{fs, path::PathBuf};

/// One stack of each kind that there is, and a method's settings that it can take.
const STACKS: [&str; 12] = [
    "mtron-pro-32",
    "mtron-pro-32:port=onboard,write-cache=off",
    "intel-x25e-32:state=steady,used=75%,command-queue=4,seed=7",
    "wd-1002fbys",
    "4xmtron-pro-32+4xmtron-mobi-32/raid5:chunk=64K",
    "2xintel-520-120/raid0:chunk=128K,driver=lsi",
    "2xwd-1002fbys/raid1",
    "4xsata-tlc/raid6:driver=highpoint",
    "4xnvme-plp/raid10:degraded=1,rebuild=on",
    "3xmtron-pro-32/raid5:degraded=2,rebuild=50MB,layout=left-symmetric",
    "intel-520-120:write-cache=off/ext4:ram=64M,discard=on",
    "hdd-smr",
];

/// The small method on a model.
fn small(bench: &Bench, stack: &str, words: &[&str]) -> Outcome {
    let target = format!("model:{stack}");
    let words = words.iter().copied();
    bench.small_run([target.as_str(), "--seed", "9"]).and(words).done().succeeded()
}

/// Where a user's drive called `file` would lie, and the catalog's text of `name`.
fn own_drive(bench: &Bench, file: &str, name: &str) -> (PathBuf, String) {
    let folder = bench.path("config/drivelab/drives");
    fs::create_dir_all(&folder).expect("a folder");
    let house = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text = fs::read_to_string(format!("{house}/catalog/{name}.toml")).expect("a drive");
    (folder.join(file), text)
}

fn completions(record: &Value) -> (&str, u64) {
    let completions = &record["targets"][0]["completions"];
    let hash = completions["hash"].as_str().expect("a model has a hash");
    (hash, completions["count"].as_u64().expect("a count"))
}

#[test]
fn every_kind_of_stack_runs_and_leaves_a_record_of_virtual_time() {
    let bench = Bench::new();
    for stack in STACKS {
        let outcome = small(&bench, stack, &[]);
        assert!(outcome.stdout.contains("virtual"), "{stack}: {}", outcome.stdout);
        let record = bench.record("last");
        assert_eq!(
            (&record["time"], &record["targets"][0]["kind"]),
            (&"virtual".into(), &"model".into())
        );
        for name in ["reads", "writes"] {
            let cell = cell(&record, name);
            assert_eq!(cell["engine"], "sim");
            assert!(cell["iops"].as_f64().expect("a rate") > 10.0, "{stack}: {cell}");
            assert!(cell["cpu"].is_null(), "{stack}: virtual time costs no processor");
            let hosts = ["cpu_limited", "engine_limited", "steal", "foreign_io", "burst_credit"];
            assert!(!flags(cell).iter().any(|flag| hosts.contains(flag)), "{stack}: {cell}");
        }
        let (hash, count) = completions(&record);
        assert!(hash.len() == 16 && count > 16, "{stack}: the fill alone is 16 completions");
    }
}

#[test]
fn file_system_layers_go_through_a_page_cache_of_their_own() {
    let bench = Bench::new();
    let layers = [
        "ext2:ram=1G",
        "ext3:ram=1G,data=writeback,kernel=2.6.24",
        "ext4:ram=1G,barrier=off,elevator=noop",
        "xfs:ram=1G,barrier=on,lazy-count=0,read-ahead=64K",
    ];
    for layer in layers {
        let stack = format!("wd-1002fbys/{layer}");
        let direct = small(&bench, &stack, &[]);
        let cached = small(&bench, &stack, &["--io", "buffered"]);
        assert_eq!((direct.code, cached.code), (Some(0), Some(0)));
        let rate = |run: &str| cell(&bench.record(run), "reads")["iops"].as_f64().expect("a rate");
        let (direct, cached) = (rate("last~1"), rate("last"));
        assert!(cached > 100.0 * direct, "{layer}: {cached} cached, {direct} from the disk");
        let record = bench.record("last");
        let told = flags(cell(&record, "reads"));
        assert!(told.contains(&"fits_in_memory") && told.contains(&"cache_served"), "{told:?}");
    }
}

#[test]
fn a_table_in_virtual_time_says_so_and_nothing_of_the_host() {
    let bench = Bench::new();
    let table = small(&bench, "4xmtron-pro-32/raid5", &[]).stdout;
    let record = bench.record("last");
    let (hash, _) = completions(&record);
    assert!(table.contains(" in virtual time") && table.contains("; volume 96"), "{table}");
    let all = bench.drivelab(["show", "last", "--explain"]).done().succeeded().stdout;
    assert!(all.contains("time   virtual time: the same seed") && all.contains(hash), "{all}");
    for word in ["\nhost", "kvm", "engine null"] {
        assert!(!table.contains(word) && !all.contains(word), "{word}: {all}");
    }
}

#[test]
fn the_same_command_twice_completes_the_same_and_another_seed_does_not() {
    let bench = Bench::new();
    for stack in ["intel-x25e-32:state=steady", "4xwd-1002fbys/raid5/xfs:ram=64M"] {
        let hash = |words: &[&str]| {
            small(&bench, stack, words);
            completions(&bench.record("last")).0.to_owned()
        };
        assert_eq!(hash(&[]), hash(&[]), "{stack}");
        let target = format!("model:{stack}");
        bench.small_run([target.as_str(), "--seed", "10"]).done().succeeded();
        assert_ne!(completions(&bench.record("last")).0, hash(&[]), "{stack}");
    }
}

#[test]
fn a_model_wears_nothing_so_that_nobody_is_asked() {
    let bench = Bench::new();
    let words =
        ["run", "model:sata-tlc", "--method", "saturation", "--max-time", "0.4s", "--seed", "1"];
    bench.drivelab(words).done().succeeded();
    let plan = bench.drivelab(words).and(["--dry-run"]).done().succeeded();
    assert!(plan.stdout.contains("nothing: there is no device"), "{}", plan.stdout);
}

#[test]
fn two_models_are_compared_as_two_drives_are() {
    let bench = Bench::new();
    let run = ["model:mtron-pro-32", "model:mtron-mobi-32", "--seed", "3"];
    bench.small_run(run).and(["--grade", "normal"]).done().succeeded();
    let record = bench.record("last");
    let paired = record["paired"].as_array().expect("verdicts");
    let reads = paired.iter().find(|pair| pair["name"] == "reads").expect("a verdict on reads");
    assert_eq!(reads["verdict"], "slower", "the MOBI is some 8 % slower: {reads}");
    assert!(record["targets"][1]["completions"]["count"].as_u64() > Some(0));
}

#[test]
fn members_of_different_size_are_noted_once() {
    let bench = Bench::new();
    small(&bench, "mtron-pro-32+intel-x25m-80+wd-1002fbys/raid5", &[]);
    let record = bench.record("last");
    let warnings = record["targets"][0]["warnings"].as_array().expect("a list");
    let told = warnings.iter().filter(|warning| {
        warning["text"].as_str().expect("a sentence").contains("the smallest rules")
    });
    assert_eq!(told.count(), 1, "{warnings:?}");
    let bytes = record["targets"][0]["capacity_bytes"].as_u64().expect("a size");
    assert!((63_000_000_000..64_000_000_000).contains(&bytes), "two times 32 GB: {bytes}");
}

#[test]
fn a_users_own_drive_is_listed_shown_and_measured_and_a_bad_one_is_named() {
    let bench = Bench::new();
    let (own, pro) = own_drive(&bench, "attic.toml", "mtron-pro-32");
    let config = bench.path("config");
    let at_home = |words: &[&str]| {
        let words = words.iter().copied();
        bench.drivelab_without_store(words).variable("XDG_CONFIG_HOME", &config.to_string_lossy())
    };
    fs::write(&own, pro.replace("\"mtron-pro-32\"", "\"attic\"")).expect("a file");
    let list = at_home(&["drives"]).done().succeeded();
    assert!(list.stdout.lines().any(|line| line.starts_with("attic ")), "{}", list.stdout);
    let page = at_home(&["drives", "attic"]).done().succeeded();
    assert!(page.stdout.contains("attic.toml"), "{}", page.stdout);
    let dry = at_home(&["run", "model:attic", "--dry-run"]).done().succeeded();
    assert!(dry.stdout.contains("model:attic"), "{}", dry.stdout);

    let at = pro.lines().position(|line| line.starts_with("command = ")).expect("a parameter");
    let wrong = |line: (usize, &str)| match line {
        (number, text) if number == at => text.replace("\"us\"", "\"MiB\"") + "\n",
        (_, text) => text.to_owned() + "\n",
    };
    fs::write(&own, pro.lines().enumerate().map(wrong).collect::<String>()).expect("a file");
    let line = format!("attic.toml, line {}:", at + 1);
    let words = [line.as_str(), "`parameters.command.unit`", "ns, us, ms, s"];
    // One broken file once took all drives away: it alone is left out, and the others are there.
    let left_out = |list: Outcome, words: &[&str]| {
        assert!(list.stdout.contains("mtron-pro-32") && !list.stdout.contains("attic"), "{list:?}");
        for word in words {
            assert!(list.stderr.contains(word), "{word}: {list:?}");
        }
    };
    left_out(at_home(&["drives"]).done().succeeded(), &words);
    // Whoever asks for it is told what is wrong with the file, and that there is no such drive.
    let refused = |words: &[&str], said: &[&str]| {
        let asked = at_home(words).done();
        assert!(asked.code == Some(2) && asked.stdout.is_empty(), "{asked:?}");
        let lines: Vec<&str> = asked.stderr.lines().collect();
        let [warning, refusal] = lines[..] else { panic!("{asked:?}") };
        assert!(refusal.contains("there is no drive `attic`"), "{asked:?}");
        for word in said {
            assert!(warning.contains(word), "{word}: {asked:?}");
        }
    };
    refused(&["run", "model:attic", "--dry-run"], &words);
    fs::write(&own, pro.replace("merge = {", "merg = {")).expect("a file");
    refused(&["drives", "attic"], &["attic.toml, line ", "`parameters.merge` is missing"]);
    fs::write(&own, pro.replace("merge = {", "merg = 1\nmerge = {")).expect("a file");
    refused(&["drives", "attic"], &["attic.toml, line ", "`parameters.merg`"]);
    fs::write(&own, &pro).expect("a file");
    let list = at_home(&["drives"]).done().succeeded();
    left_out(list, &["attic.toml", "mtron-pro-32", "is taken"]);
}

/// A stack that could not be held in memory was built until the kernel killed it, and its
/// neighbours waited.
#[test]
fn what_no_memory_holds_is_refused_before_it_is_built() {
    let bench = Bench::new();
    let (own, tlc) = own_drive(&bench, "vast.toml", "sata-tlc");
    let at = tlc.lines().position(|line| line.starts_with("capacity")).expect("a capacity");
    let larger = |(number, line): (usize, &str)| match number {
        number if number == at => "capacity = { value = 15, unit = \"TB\" }\n".to_owned(),
        _ => line.replace("\"sata-tlc\"", "\"vast\"") + "\n",
    };
    let vast = tlc.lines().enumerate().map(larger).collect::<String>();
    fs::write(own, vast).expect("a file");
    let config = bench.path("config");
    let run = |words: &[&str]| {
        let words = words.iter().copied();
        bench.drivelab(words).variable("XDG_CONFIG_HOME", &config.to_string_lossy()).done()
    };
    let steady = ["run", "model:64xvast:state=steady/raid0", "--size", "1GiB", "--method", "quick"];
    let fresh = ["run", "model:64xvast/raid0", "--size", "800TiB", "--method", "quick"];
    for (words, cure) in [(steady, "leave `state=steady` out"), (fresh, "lower --size")] {
        // They take no memory until they are written, and a plan writes nothing.
        run(&[&words[..], &["--dry-run"]].concat()).succeeded();
        let outcome = run(&words);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert_one_sentence(&outcome.stderr, &["TiB of flash", "of memory", "this machine", cure]);
    }
}
