//! `drivelab hybrid`: three workloads as people have them, each answer checked by whole replays.

use crate::common;

use block::Rng;
use common::{Bench, assert_one_sentence};
use serde_json::Value;

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

/// Rows of MSR Cambridge's form: time in 100 ns, host, disk, kind, offset, size, response time.
struct Made {
    text: String,
    rng: Rng,
    at: u64,
}

impl Made {
    fn new(seed: u64) -> Self {
        Self { text: String::new(), rng: Rng::new(seed, 0), at: 128_166_372_000_000_000 }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.rng.next() % end
    }

    fn row(&mut self, kind: &str, offset: u64, bytes: u64) {
        // Some 100 a second.
        self.at += 50_000 + self.below(100_000);
        self.text += &format!("{},host,0,{kind},{offset},{bytes},0\n", self.at);
    }

    /// A place among `count`, low ones far more often: the tenth that is asked most takes some two
    /// thirds.
    fn skewed(&mut self, count: u64) -> u64 {
        let share = self.below(1 << 20) as f64 / f64::from(1 << 20);
        (share.powi(5) * count as f64) as u64
    }
}

/// One SSD and three disks: many photographs that are seldom looked at again, a database of a
/// gigabyte, now and then a film.
fn home_server() -> String {
    let mut made = Made::new(1);
    let mut film = 100 * GIB;
    for at in 0..24_000 {
        match at % 20 {
            0..=11 => {
                let place = made.skewed(16_384) * 64 * KIB;
                made.row(if at % 4 == 3 { "Write" } else { "Read" }, place, 8 * KIB);
            }
            12..=14 => {
                film += 256 * KIB;
                made.row("Read", film, 256 * KIB);
            }
            _ => {
                let place = 2 * GIB + made.below(400_000) * 128 * KIB;
                made.row("Read", place, 64 * KIB);
            }
        }
    }
    made.text
}

/// Small files, each written and soon read, by users of whom few get most mail.
fn mail_server() -> String {
    let mut made = Made::new(2);
    for _ in 0..12_000 {
        let place = made.skewed(262_144) * 64 * KIB;
        made.row("Write", place, 16 * KIB);
        let place = made.skewed(262_144) * 64 * KIB;
        made.row("Read", place, 16 * KIB);
    }
    made.text
}

/// Metadata of 4 KiB that all ask for, and large files in order.
fn hpc() -> String {
    let mut made = Made::new(3);
    let mut large = [10 * GIB, 60 * GIB, 110 * GIB, 160 * GIB];
    for at in 0..24_000_usize {
        if at % 2 == 0 {
            let place = made.skewed(65_536) * 16 * KIB;
            made.row(if at % 8 == 6 { "Write" } else { "Read" }, place, 4 * KIB);
        } else {
            let file = &mut large[at / 2 % 4];
            *file += 1 << 20;
            let place = *file;
            made.row(if at % 16 == 5 { "Write" } else { "Read" }, place, 1 << 20);
        }
    }
    made.text
}

/// What a disk and an SSD cost.
const PRICES: [&str; 4] = ["--price", "hdd-7200-cmr=180EUR", "--price", "sata-tlc=170EUR"];

/// The answer and its page.
fn answer(bench: &Bench, trace: &str, disks: &str, more: &[&str]) -> (Value, String) {
    let words = ["hybrid", "--trace", trace, "--disks", disks, "--ssd", "sata-tlc", "--json"];
    let call = bench.drivelab_without_store(words).and(["answer.json"]).and(more);
    let page = call.done().succeeded().stdout;
    let json = std::fs::read_to_string(bench.path("answer.json")).expect("is written");
    (serde_json::from_str(&json).expect("JSON"), page)
}

/// Ways that were replayed whole: name, reckoned, replayed.
fn checked(answer: &Value) -> Vec<(String, f64, f64)> {
    let ways = answer["ways"].as_array().expect("ways").iter();
    let checked = ways.filter_map(|way| {
        let replayed = way["checked_iops"].as_f64()?;
        // Of a tier nothing is reckoned.
        let reckoned = way["iops"].as_f64().unwrap_or(f64::NAN);
        Some((way["name"].as_str()?.to_owned(), reckoned, replayed))
    });
    checked.collect()
}

#[test]
fn three_workloads_get_an_answer_that_a_whole_replay_bears_out() {
    let bench = Bench::new();
    for (name, trace, disks_of, caches) in [
        ("home.csv", home_server(), "3xhdd-7200-cmr/raid5", ["--mode", "writeback"]),
        ("mail.csv", mail_server(), "2xhdd-7200-cmr/raid1", ["--policy", "lru"]),
        ("hpc.csv", hpc(), "4xhdd-7200-cmr/raid0", ["--size", "1G"]),
    ] {
        bench.file(name, trace);
        let more: Vec<&str> = PRICES.into_iter().chain(caches).collect();
        let (answer, page) = answer(&bench, name, disks_of, &more);
        let checked = checked(&answer);
        let ways = answer["ways"].as_array().expect("ways");
        assert_eq!(checked.len(), ways.len(), "{name}: a short trace is replayed on every way");
        // The order is that of the replays, and flash alone is reckoned as it is replayed.
        assert!(checked.is_sorted_by(|a, b| a.2 >= b.2), "{name}: {checked:?}");
        let alone = checked.iter().find(|(way, ..)| way == "sata-tlc alone").expect("a way");
        assert!((alone.1 / alone.2 - 1.0).abs() < 0.1, "{name}: {alone:?}");
        let of = |wanted: &str| checked.iter().find(|(way, ..)| way.contains(wanted));
        let (disks, back) = (of("disks alone").expect("a way"), of("writeback").expect("a way"));
        assert!(back.2 > disks.2, "{name}: {checked:?}");
        ways_beside(ways, name);
        for_the_price_of_the_disks(&answer, name);
        assert!(page.lines().count() <= 24, "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
}

/// Of every way that has disks and flash: what is told of it, and whether what was reckoned to be
/// written to flash is what the replay wrote there.
fn ways_beside(ways: &[Value], trace: &str) {
    let [mut pins, mut tiers] = [0; 2];
    for way in ways {
        let name = way["name"].as_str().expect("a name");
        let stack = way["stack"].as_str().expect("a STACK");
        let written = way["checked_flash_bytes_per_request"].as_f64();
        assert_eq!(written.is_some(), stack.contains("ssd="), "{trace}, {name}");
        let of_price = way["price"].as_f64().expect("known") / rate(way);
        let told = way["price_per_iops"].as_f64().expect("known");
        assert!((told / of_price - 1.0).abs() < 1e-9, "{trace}, {name}");
        if stack.contains("/tier:") {
            tiers += 1;
            // A replay alone tells of it, wear included.
            assert!(way["iops"].is_null() && way["per_request"].is_null(), "{way}");
            assert!(way["flash_lasts_years"].is_f64() && rate(way) > 0.0, "{way}");
            assert!(way["power_cut"].as_str().is_some_and(|left| left.contains("map")), "{way}");
        } else if let Some(written) = written {
            let reckoned = way["per_request"]["flash_bytes"].as_f64().expect("loads");
            assert!(
                (reckoned / written - 1.0).abs() < 0.1,
                "{trace}, {name}: {reckoned}, {written}"
            );
        }
        if stack.contains("/pin:") {
            pins += 1;
            assert_eq!(way["without_ssd"], "the range is lost", "{way}");
        }
    }
    assert!(pins >= 1 && tiers == 1, "{trace}: {pins} pinned ranges and {tiers} tiers");
}

fn rate(way: &Value) -> f64 {
    way["checked_iops"].as_f64().expect("replayed")
}

/// 180 EUR a disk buys as many SSDs of 170: the number, and the way that it is.
fn for_the_price_of_the_disks(answer: &Value, trace: &str) {
    let disks = answer["disks"].as_str().expect("disks");
    let disks: u64 = disks.split_once('x').expect("several").0.parse().expect("a number");
    let bought = &answer["all_flash_for_the_disks_price"][0];
    assert_eq!(bought["count"], disks, "{trace}: {bought}");
    assert_eq!(bought["holds"], true, "{trace}: {bought}");
    let name = format!("{disks}x sata-tlc alone");
    let ways = answer["ways"].as_array().expect("ways");
    assert!(ways.iter().any(|way| way["name"] == name.as_str()), "{trace}: no {name}");
}

#[test]
fn a_method_is_a_workload_too() {
    let bench = Bench::new();
    let text = "name = \"commits\"\ntitle = \"commits\"\nabout = \"commits\"\nspan = \"1GiB\"\n\
                [[cell]]\nname = \"a\"\nop = \"commit\"\npattern = \"random\"\nblock = \"8KiB\"\n\
                bound = \"2000\"\n";
    bench.file("commits.toml", text);
    let words = ["hybrid", "--disks", "2xhdd-7200-cmr/raid1", "--ssd", "sata-tlc", "--method"];
    let json = ["--json", "-"];
    let call = bench.drivelab_without_store(words).and(["commits.toml"]).and(json);
    let answer: Value = serde_json::from_str(&call.done().succeeded().stdout).expect("JSON");
    let checked = checked(&answer);
    assert!(checked.len() > 3 && checked[0].2 > 0.0, "{checked:?}");
    assert!(answer["ways"][0]["flash_lasts_years"].is_null(), "a method has no pace");
    let outcome = bench.drivelab_without_store(words).and(["otlp"]).done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_one_sentence(&outcome.stderr, &["oltp"]);
}

/// A cluster's files: names that all ask for, many small files and a few large ones, durable.
const CLUSTER: &str = r#"
name = "cluster"
title = "small and large files"
about = "small and large files"
order = "fixed"
span = "1MiB"
fill = 0

[defaults]
threads = 4

[defaults.tree]
files = 400
file_size = "lognormal:16KiB:2.5"
directories = 20
sync = "both"

[[cell]]
name = "create"
op = "create"

[[cell]]
name = "rename"
op = "rename"
pattern = "random"

[[cell]]
name = "delete"
op = "unlink"
pattern = "random"
"#;

/// Methods on files were refused, so that nobody was told what metadata or small files on flash
/// would bring. Each way is the whole run that `drivelab run` makes of it.
#[test]
fn a_method_on_files_says_what_each_part_of_a_file_system_gains_on_flash() {
    let bench = Bench::new();
    bench.file("cluster.toml", CLUSTER);
    for (layer, log) in [("ext4", "journal-on"), ("xfs:ram=64M", "log-on")] {
        let words = ["hybrid", "--disks", "4xhdd-7200-cmr/raid5", "--ssd", "sata-tlc", "--fs"];
        let more = ["--method", "cluster.toml", "--json", "answer.json", "--html", "page.html"];
        let call = bench.drivelab_without_store(words).and([layer]).and(more).and(PRICES);
        let page = call.and(["--force"]).done().succeeded().stdout;
        assert!(page.lines().count() <= 24, "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        let json = std::fs::read_to_string(bench.path("answer.json")).expect("is written");
        let answer: Value = serde_json::from_str(&json).expect("JSON");
        let ways = answer["ways"].as_array().expect("ways");
        let rates: Vec<f64> = ways.iter().map(|way| way["iops"].as_f64().expect("run")).collect();
        assert!(rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
        assert_eq!((ways.len(), answer["left_out"].as_array().map(Vec::len)), (7, Some(0)));
        let of = |name: &str| ways.iter().find(|way| way["name"] == name).expect(name);
        let rate = |name: &str| of(name)["iops"].as_f64().expect("run");
        let small = "sata-tlc metadata, small";
        assert!(rate(small) > rate("sata-tlc metadata"), "{rates:?}");
        assert!(rate("sata-tlc metadata") > 2.0 * rate("disks alone"), "{rates:?}");
        assert_eq!(of("sata-tlc metadata")["without_ssd"], "all is lost");
        assert_eq!(of("sata-tlc 1 GiB writethrough")["without_ssd"], "nothing is lost");
        assert!(of("sata-tlc journal")["stack"].as_str().is_some_and(|it| it.contains(log)));
        for name in [small, "disks alone"] {
            is_what_a_run_finds(&bench, of(name));
        }
    }
    let html = std::fs::read_to_string(bench.path("page.html")).expect("is written");
    assert!(html.contains("metadata, small") && html.contains("without the SSD"));
}

/// The same cells at the same rates, for `hybrid` has the seed and the pass of this run.
fn is_what_a_run_finds(bench: &Bench, way: &Value) {
    let target = format!("model:{}", way["stack"].as_str().expect("a STACK"));
    let words = ["run", &target, "--method", "cluster.toml", "--passes", "1", "--json", "-"];
    let call = bench.drivelab(words).and(["--seed", "1", "--quiet", "--yes"]);
    let run: Value = serde_json::from_str(&call.done().succeeded().stdout).expect("JSON");
    let cells = run["cells"].as_array().expect("cells");
    let found = way["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), found.len());
    let mut seconds = 0.0;
    for (cell, found) in cells.iter().zip(found) {
        assert_eq!((&cell["name"], &cell["iops"]), (&found["name"], &found["iops"]), "{way}");
        seconds += 400.0 / cell["iops"].as_f64().expect("a rate");
    }
    let together = way["iops"].as_f64().expect("a rate");
    assert!((together * seconds / 1200.0 - 1.0).abs() < 1e-9, "{way}");
}

/// Bonnie's bytes are no blocks of a model: its answer was that of eight cells, and did not say so.
#[test]
fn cells_that_run_on_no_model_are_named_with_the_reason() {
    let bench = Bench::new();
    let words = ["hybrid", "--method", "bonnie", "--disks", "2xhdd-7200-cmr/raid1", "--ssd"];
    let page = bench.drivelab_without_store(words).and(["sata-tlc"]).done().succeeded().stdout;
    assert!(page.contains("left out: put-byte, get-byte: block = 1 B"), "{page}");
}

#[test]
fn commands_set_up_the_best_place_and_options_of_the_other_sort_are_refused() {
    let bench = Bench::new();
    bench.file("cluster.toml", CLUSTER);
    bench.file("a.csv", "128166372000000000,host,0,Read,4096,4096,0\n");
    let words = ["hybrid", "--disks", "4xhdd-7200-cmr/raid5", "--ssd", "sata-tlc"];
    let asked = |more: Words| bench.drivelab_without_store(words).and(more).done();
    let page =
        asked(&["--method", "cluster.toml", "--commands", "--small", "8K"]).succeeded().stdout;
    assert!(page.contains("zfs set special_small_blocks=8192 tank"), "{page}");
    let page = asked(&["--method", "cluster.toml", "--details"]).succeeded().stdout;
    assert!(page.contains("What is left") && page.contains("rename"), "{page}");
    let files: Words = &["--method", "cluster.toml"];
    let blocks: Words = &["--trace", "a.csv"];
    let cases: [(Words, Words, &str); 8] = [
        (files, &["--depth", "4"], "leave it out"),
        (files, &["--policy", "lru"], "leave it out"),
        (files, &["--checks", "1"], "leave it out"),
        (files, &["--fs", "ext5"], "Did you mean `ext3` or `ext4`"),
        (files, &["--fs", "ext4:metadata-on=sata-tlc"], "leave `metadata-on=` out"),
        (files, &["--fs", "xfs:rum=1G"], "Did you mean `ram`"),
        (blocks, &["--fs", "ext4"], "--fs is for a method on files"),
        (blocks, &["--small", "4K"], "--small is for a method on files"),
    ];
    for (workload, more, cure) in cases {
        let outcome = bench.drivelab_without_store(words).and(workload).and(more).done();
        assert_eq!(outcome.code, Some(2), "{cure}: {outcome:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
}

/// The smallest cache that was asked for had 64 blocks with its map among them, and the layer wants
/// 64 beside it: a trace that touched 4 MiB, or 64 MiB of which a sixteenth was a size, had no
/// answer but an error about `cache:size=4 MiB`.
#[test]
fn flash_for_the_price_of_the_disks_that_does_not_hold_the_data_is_no_way() {
    let bench = Bench::new();
    bench.file("far.csv", "128166372000000000,host,0,Read,2000000000000,4096,0\n".repeat(40));
    let words =
        ["hybrid", "--trace", "far.csv", "--disks", "2xhdd-7200-cmr/raid1", "--checks", "0"];
    let prices = ["--ssd", "sata-tlc", "--price", "hdd-7200-cmr=50EUR", "--price"];
    for (price, said) in [("sata-tlc=90EUR", "1x sata-tlc, whose"), ("sata-tlc=101EUR", "not one")]
    {
        let call = bench.drivelab_without_store(words).and(prices).and([price]);
        let page = call.done().succeeded().stdout;
        assert!(page.contains(said), "{page}");
        assert!(!page.contains(" tier"), "a tier that was not replayed has no number: {page}");
    }
}

type Words = &'static [&'static str];

#[test]
fn what_cannot_be_answered_is_refused_in_one_sentence_with_the_cure() {
    let bench = Bench::new();
    bench.file("a.csv", "128166372000000000,host,0,Read,4096,4096,0\n");
    let disks: Words = &["--disks", "2xhdd-7200-cmr/raid1"];
    let ssd: Words = &["--ssd", "sata-tlc"];
    let cases: [(Words, Words, Words, &str); 8] = [
        (disks, &["--ssd", "nvme-tcl"], &[], "Did you mean `nvme-tlc`"),
        (disks, &["--ssd", "hdd-7200-cmr"], &[], "is no flash drive"),
        (&["--disks", "hdd-7200-cmr/ext4"], ssd, &[], "name disks and their array"),
        (&["--disks", "hdd-7200-crm"], ssd, &[], "hdd-7200-cmr"),
        (disks, ssd, &["--policy", "lfu"], "policies are fifo, lru"),
        (disks, ssd, &["--mode", "writebak"], "writeback"),
        (disks, ssd, &["--block", "60K"], "a power of two from 4K to 1M"),
        (disks, ssd, &["--price", "nvme-tlc=75EUR"], "neither one of the disks nor an --ssd"),
    ];
    for (disks, ssd, more, cure) in cases {
        let words = ["hybrid", "--trace", "a.csv"];
        let outcome = bench.drivelab_without_store(words).and(disks).and(ssd).and(more).done();
        assert_eq!(outcome.code, Some(2), "{cure}: {outcome:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
    let large = ["hybrid", "--trace", "a.csv", "--disks", "sata-750", "--ssd", "nvme-tlc"];
    let outcome = bench.drivelab_without_store(large).done();
    assert_one_sentence(&outcome.stderr, &["holds less than they", "more disks"]);
}

#[test]
fn a_trace_that_never_repeats_is_told_that_no_cache_helps() {
    let bench = Bench::new();
    let mut made = Made::new(4);
    for at in 0..4000_u64 {
        made.row("Read", at * 7919 % 4000 * 1024 * KIB, 4 * KIB);
    }
    bench.file("once.csv", made.text);
    let words = ["hybrid", "--trace", "once.csv", "--disks", "2xhdd-7200-cmr/raid0", "--ssd"];
    let call = bench.drivelab_without_store(words).and(["sata-tlc", "--checks", "0"]);
    let page = call.done().succeeded().stdout;
    assert!(page.contains("No cache helps"), "{page}");
    assert!(page.lines().count() <= 24, "{page}");
}
