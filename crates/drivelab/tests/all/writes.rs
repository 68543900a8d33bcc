//! What a run says that it may write and that it wrote, against what the device under it counted.

use crate::common;

use common::{Bench, LoopDevice, MIB, ROOT, system};
use std::{fs, path::Path};

/// Bytes that the kernel saw written to a block device: the seventh number of its `stat`, in
/// sectors of 512 B (Documentation/block/stat.rst).
fn written(device: &LoopDevice) -> u64 {
    let stat = fs::read_to_string(format!("/sys/block/{}/stat", device.name())).expect("a device");
    let sectors = stat.split_whitespace().nth(6).expect("seven numbers");
    sectors.parse::<u64>().expect("a number") * 512
}

/// The size behind `words` in a text.
fn size_after(text: &str, words: &str) -> u64 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no `{words}`: {text}"));
    let mut words = rest.split_whitespace();
    let number: f64 = words.next().and_then(|word| word.parse().ok()).expect("a number");
    let unit = words.next().map(|word| word.trim_end_matches([',', ';'])).expect("a unit");
    let unit = ["B", "KiB", "MiB", "GiB"].iter().position(|known| *known == unit).expect("known");
    (number * 1024f64.powi(unit as i32)) as u64
}

/// `run .` wrote 27 GiB before anybody had been told: now it says before what it may write, and at
/// its end what it wrote.
#[test]
fn what_a_run_says_that_it_wrote_is_what_the_device_counted() {
    let device = need!(LoopDevice::of_zeros(512 * MIB), ROOT);
    let whole = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device.text()];
    need!(system("mkfs.ext4", &whole), "mkfs.ext4");
    let mounted = need!(common::Mounted::new(&device.path, &[]), "ext4 in the kernel");
    let bench = Bench::new();
    let words =
        ["--size", "32M", "--max-written", "160M", "--max-time", "7s", "--set", "block=64K"];
    need!(system("sync", &[]), "sync");
    let before = written(&device);
    let run = bench.drivelab(["run", mounted.text()]).and(words).done().succeeded();
    need!(system("sync", &[]), "sync");
    let counted = written(&device) - before;
    assert_eq!(size_after(&run.stderr, "writes at most "), 160 * MIB, "{}", run.stderr);
    assert!(run.stderr.contains("32 MiB of it to fill the area first"), "{}", run.stderr);
    let said = size_after(&run.stderr, "\nwrote ");
    // The printed size has three digits; the file system adds its journal.
    assert!(said <= 160 * MIB && counted + MIB >= said, "said {said}, counted {counted}");
    assert!(counted <= said + 16 * MIB, "said {said}, counted {counted}");
    let written_first = run.stderr.find("writes at most").zip(run.stderr.find("[1/7]"));
    assert!(written_first.is_some_and(|(said, cell)| said < cell), "{}", run.stderr);
}

#[test]
fn a_quick_run_is_bounded_unless_more_is_asked_for_and_a_higher_grade_asks() {
    let bench = Bench::new();
    let plan = |words: &[&str]| {
        let call = bench.drivelab(["run", "area", "--dry-run"]).and(words);
        let text = call.done().succeeded().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let quick = plan(&[]);
    for words in [
        "writes at most 9 GiB to each target, 1 GiB of it to fill the area first",
        "--max-written allows more: the cells could use 37 GiB",
    ] {
        assert!(quick.contains(words), "{words}: {quick}");
    }
    assert!(plan(&["--max-written", "20G"]).contains("at most 20 GiB to each target"));
    assert!(plan(&["--grade", "normal"]).contains("needs --yes"));
    bench.drivelab(["run", "area", "--grade", "normal"]).done().refused(&["--yes", "writes up to"]);
    let rated =
        "name = 'd'\nsource = 's'\n[[entry]]\nmetric = 'endurance'\nvalue = 600\nunit = 'TB'\n";
    bench.file("sheet.toml", rated);
    let held = plan(&["--spec", "sheet.toml"]);
    assert!(held.contains("; 0.0016 % of the rated endurance of 600 TB"), "{held}");
    let run = ["run", "area", "--spec", "sheet.toml", "--size", "16M", "--max-time", "1.4s"];
    let run = bench.drivelab(run).done().succeeded();
    let (_, last) = run.stderr.split_once("\nwrote ").expect("it says so");
    let last = last.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        last.contains("16 MiB of it to fill") && last.contains("of the rated endurance"),
        "{last}"
    );
}

/// Nothing wears where nothing is written, and nothing is said of it.
#[test]
fn what_wears_nothing_has_no_bound_and_says_nothing() {
    let bench = Bench::new();
    for target in ["null:", "model:sata-tlc", "memory:64M"] {
        let run = bench.small_run([target]).done().succeeded();
        let says = |line: &str| line.starts_with("writes ") || line.starts_with("wrote ");
        assert!(!run.stderr.lines().any(says), "{target}: {}", run.stderr);
    }
    let model = bench.drivelab(["run", "model:sata-tlc", "--dry-run"]).done().succeeded().stdout;
    assert!(model.contains("nothing: there is no device") && !model.contains("max-written"));
}

/// Under `ulimit -f`, which batch systems set, a run ended by SIGXFSZ without a word and left its
/// scratch file.
#[test]
fn a_limit_on_the_size_of_files_is_told_and_nothing_stays() {
    need_programs!("prlimit");
    let bench = Bench::new();
    let binary = Path::new(common::DRIVELAB);
    let words = ["run", "new.img", "--size", "16M", "--max-time", "2s"];
    let run = bench.drivelab(words).through(&["prlimit", "--fsize=2097152"], binary).done();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("File too large") && last.contains("ulimit -f"), "{last}");
    assert!(!bench.path("new.img").exists(), "the scratch file stays");
}
