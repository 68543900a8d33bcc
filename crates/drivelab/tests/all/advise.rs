//! What to buy: rankings that repeat, that agree with the model when it is asked directly, and what
//! is wrong with a question.

use crate::common;

use common::{Bench, Call, Outcome, assert_one_sentence};
use serde_json::Value;
use std::path::Path;

/// The day of every question here.
const TODAY: &str = "2026-11-23";

/// 70 % reads of 8 KiB, for 1000 USD, of what `words` name, at any price that was ever asked.
fn advise(words: &[&str]) -> Outcome {
    let question = ["advise", "--read", "70", "--block", "8K", "--budget", "1000USD"];
    let ages = ["--as-of", TODAY, "--price-age", "100"];
    Call::new(question, Path::new("/")).and(ages).and(words).done()
}

fn answer(words: &[&str]) -> Value {
    let text = advise(&[words, &["--json"]].concat()).succeeded().stdout;
    serde_json::from_str(&text).expect("one JSON document")
}

fn places<'a>(answer: &'a Value, list: &str) -> &'a Vec<Value> {
    answer[list].as_array().expect("a list")
}

fn named<'a>(answer: &'a Value, list: &str, name: &str) -> &'a Value {
    let found = places(answer, list).iter().find(|place| place["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}: {answer:#}"))
}

fn number(place: &Value, key: &str) -> f64 {
    place[key].as_f64().unwrap_or_else(|| panic!("no {key}: {place:#}"))
}

/// What was run as it stands costs its price over the rate that it then had, the others over the
/// rate that is computed; and what was not run comes after what was.
#[test]
fn every_cost_is_the_price_over_the_rate_of_the_mix_and_the_least_comes_first() {
    let answer = answer(&["mtron-mobi-32", "sata-750"]);
    let ranked = places(&answer, "ranked");
    assert!(ranked.len() > 20, "{} places", ranked.len());
    let mut last = 0.0;
    let checked = ranked.iter().take_while(|place| !place["check_iops"].is_null()).count();
    assert!(ranked[checked..].iter().all(|place| place["check_iops"].is_null()), "{ranked:#?}");
    for (at, place) in ranked.iter().enumerate() {
        let mix = 1.0 / (0.7 / number(place, "read_iops") + 0.3 / number(place, "write_iops"));
        assert!((number(place, "computed_iops") / mix - 1.0).abs() < 1e-9, "{place:#}");
        let iops = place["check_iops"].as_f64().unwrap_or(mix);
        assert!((number(place, "iops") / iops - 1.0).abs() < 1e-9, "{place:#}");
        let cost = number(place, "price") / iops;
        if at == checked {
            last = 0.0;
        }
        assert!((number(place, "price_per_iops") / cost - 1.0).abs() < 1e-9, "{place:#}");
        assert!(cost >= last, "{place:#}");
        last = cost;
    }
    // Two of 500 and seven of 130 are what 1000 buys.
    let dear =
        |name: &str| assert_eq!(named(&answer, "refused", name)["reason"], "budget", "{name}");
    dear("3xmtron-mobi-32/raid5");
    dear("8xsata-750/raid0");
    named(&answer, "ranked", "2xmtron-mobi-32/raid1");
    named(&answer, "ranked", "7xsata-750/raid0");
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let words =
        ["--capacity", "20GB", "--writes-per-day", "50GB", "intel-x25e-32", "2xsata-750/raid0"];
    let [one, two] = [(), ()].map(|()| advise(&words).succeeded().stdout);
    assert_eq!(one, two);
    for part in ["Why", "What would change it", "Assumed", "CMU 2008, Table I"] {
        assert!(one.contains(part), "{part}: {one}");
    }
    assert!(one.lines().all(|line| line.chars().count() <= 80), "{one}");
}

/// The modelled mix, run as anybody would run it, on drives of full size: what advise computed of
/// two rates of small ones lies within 20 % of it (docs/guide/advice.md), and what it found by
/// running the mix itself within 5 %.
#[test]
fn what_is_promised_is_what_the_model_does_when_it_is_asked_directly() {
    let bench = Bench::new();
    let method = "name = \"mix\"\ntitle = \"a mix\"\nabout = \"A mix.\"\nlayout = \"list\"\norder = \"fixed\"\n\
                  span = \"capacity\"\nfill = 0\ngrade = \"normal\"\n[[cell]]\nname = \"mix\"\nop = \"mixed:70\"\n\
                  pattern = \"random\"\nblock = \"8KiB\"\ndepth = 32\nio = \"direct\"\ndata = \"random\"\n";
    // A quick run of the block-mapped drive strays by 5 % from seed to seed, as its interval says.
    bench.file("mix.toml", method);
    let names = ["intel-x25e-32", "mtron-mobi-32", "2xsata-750/raid0"];
    let answer = answer(&names);
    for name in names {
        let place = named(&answer, "ranked", name);
        let stack = place["basis"]["stack"].as_str().expect("a stack");
        let words = ["run", &format!("model:{stack}"), "--seed", "3", "--method", "mix.toml"];
        bench.drivelab(words).done().succeeded();
        let seen = number(common::cell(&bench.record("last"), "mix"), "iops");
        let off = |key: &str| number(place, key) / seen - 1.0;
        assert!(off("computed_iops").abs() < 0.20, "{name}: {place:#}, and {seen} when asked");
        assert!(off("check_iops").abs() < 0.05, "{name}: {place:#}, and {seen} when asked");
    }
}

/// 16 GB x 100,000 cycles = 1.6e15 bytes; 8 KiB at random erase a unit of 1 MiB or more each. In
/// line, through a managed volume, they last.
#[test]
fn what_would_be_worn_out_is_left_out_with_its_years() {
    let words = ["--writes-per-day", "100GB", "--capacity", "8GB", "mtron-mobi-16", "sata-750"];
    let answer = answer(&words);
    let worn = named(&answer, "refused", "mtron-mobi-16");
    assert_eq!(worn["reason"], "lifetime");
    assert!(number(worn, "years") < 1.0, "{worn:#}");
    let managed = places(&answer, "ranked").iter().find(|place| {
        place["name"].as_str().is_some_and(|name| name.starts_with("mtron-mobi-16/flash"))
    });
    let managed = managed.expect("a managed volume");
    let years = 1.6e15 / (number(managed, "wear_bytes_per_host_byte") * 100e9 * 365.0);
    assert!((number(managed, "years") / years - 1.0).abs() < 1e-3, "{managed:#}");
    assert!(years > 5.0);
    let disk = named(&answer, "ranked", "sata-750");
    assert_eq!((&disk["wears"], &disk["years"]), (&false.into(), &Value::Null));
}

/// Without a word about prices `advise` once recommended drives of 2008 at what they cost in 2008,
/// before any that can be bought. They may be looked at; nobody can buy them.
#[test]
fn a_drive_of_2008_at_its_price_of_2008_is_shown_and_not_recommended() {
    let question = ["advise", "--read", "70", "--block", "8K", "--budget", "1000USD", "--as-of"];
    let ask = |words: &[&str]| Call::new(question, Path::new("/")).and(words).done().succeeded();
    let names = ["nvme-tlc:state=fresh", "qlc:state=fresh", "sata-750"];
    let json = |day: &str, more: &[&str]| -> Value {
        let text = ask(&[&[day, "--json"], &names[..], more].concat()).stdout;
        serde_json::from_str(&text).expect("one JSON document")
    };
    let today = json(TODAY, &[]);
    let first = &places(&today, "ranked")[0];
    let asked = first["price_asked"].as_str().expect("a date");
    assert!(asked.starts_with("202"), "{first:#}");
    let old = named(&today, "compared", "sata-750");
    assert_eq!((&old["price"], &old["price_asked"]), (&130.0.into(), &"2008".into()));
    assert!(places(&today, "ranked").iter().all(|place| place["price_asked"] != "2008"));
    let page = ask(&[&[TODAY], &names[..]].concat()).stdout;
    let (to_buy, rest) = page.split_once("For comparison, at prices of 2008").expect(&page);
    assert!(!to_buy.contains("sata-750") && rest.contains("sata-750"), "{page}");
    // A price grows old: what was young enough to buy at is not so for ever.
    let later = json("2028-02", &[]);
    assert!(places(&later, "ranked").is_empty(), "{later:#}");
    let because = later["because"][0].as_str().expect("a sentence");
    assert!(because.contains("older than 2 years") && because.contains("--price"), "{because}");
    // And one that is given is of today.
    let given = json("2028-02", &["--price", "sata-750=20USD"]);
    assert_eq!(named(&given, "ranked", "sata-750")["price"], 20.0);
}

/// A managed volume once came first, checked by its bare drive, whose own check was 32 % off, or by
/// nothing: what was computed for it was never run. Now the first three are run as they stand, and
/// those that were not come after them.
#[test]
fn the_first_three_are_run_as_they_stand() {
    let volume = "nvme-tlc/flash:spare=50%";
    let answer = answer(&["--capacity", "400GB", "2xnvme-tlc/raid0", volume]);
    let first = places(&answer, "ranked");
    assert_eq!(first.len(), 2, "{first:#?}");
    assert!(first.iter().any(|place| place["basis"]["kind"] == "computed"), "{first:#?}");
    for place in first {
        let off = number(place, "check_iops") / number(place, "computed_iops") - 1.0;
        assert!((number(place, "check_off") - off).abs() < 1e-9, "{place:#}");
    }
    let because = answer["because"].to_string();
    for place in first {
        let name = place["name"].as_str().expect("a name");
        assert!(because.contains(&format!("{name} does ")), "{name}: {because}");
    }
    // A volume of all of a disk cannot be run: it says so, and comes after the disk.
    let disk = advise(&["sata-750:write-cache=on/flash:spare=50%", "sata-750:write-cache=on"]);
    let page = disk.succeeded().stdout;
    assert!(page.contains("Not checked, and so ranked below what was"), "{page}");
    assert!(!page.contains("costs -"), "{page}");
}

/// The computed rate of a managed volume on a drive of today was three times what the volume did
/// when it was run, full or not: the drive cleans as well.
#[test]
fn what_is_computed_of_a_volume_on_a_drive_that_maps_pages_is_what_it_does() {
    for capacity in ["300GB", "719GB"] {
        let answer = answer(&["--capacity", capacity, "nvme-tlc/flash:spare=28%"]);
        let place = &places(&answer, "ranked")[0];
        assert!(number(place, "check_off").abs() < 0.25, "{capacity}: {place:#}");
    }
}

/// What a drive that maps pages does while it is new was taken for what it does: 217,000 writes a
/// second of 4 KiB, and the layer was said to help up to a fill of 77 %.
#[test]
fn a_prediction_is_of_a_drive_that_is_long_in_use_unless_a_new_one_is_named() {
    let predicted = |drive: &str| {
        let words = ["flash", "predict", drive];
        Call::new(words, Path::new("/")).done().succeeded().stdout
    };
    let aged = predicted("model:nvme-tlc");
    for part in ["after long use", "up to a fill of 4", "this table is full"] {
        assert!(aged.contains(part), "{part}: {aged}");
    }
    // What names its size was refused by advise, for a small drive was to be so large.
    let half = predicted("model:nvme-tlc:capacity=500GB");
    assert!(half.contains("after long use") && half.contains("up to a fill of 4"), "{half}");
    let new = predicted("model:nvme-tlc:state=fresh");
    assert!(!new.contains("after long use") && new.contains("up to a fill of 7"), "{new}");
}

#[test]
fn what_has_no_price_in_the_currency_stands_apart_until_it_gets_one() {
    let question = ["advise", "--read", "70", "--block", "8K", "--budget", "300EUR", "--json"];
    let ask = |words: &[&str]| -> Value {
        let text = Call::new(question, Path::new("/")).and(words).done().succeeded().stdout;
        serde_json::from_str(&text).expect("one JSON document")
    };
    let given = ask(&["sata-750", "mtron-mobi-32", "--price", "sata-750=90EUR"]);
    let apart = named(&given, "unranked", "mtron-mobi-32");
    assert_eq!(apart["price_elsewhere"]["currency"], "USD");
    let first = &places(&given, "ranked")[0];
    let par = number(first, "price_per_iops") * number(apart, "iops");
    assert!((number(apart, "price_at_par") / par - 1.0).abs() < 1e-9, "{apart:#}");
    assert_eq!(named(&given, "ranked", "2xsata-750/raid0")["price"], 180.0);
    let none = ask(&["mtron-mobi-32"]);
    assert!(places(&none, "ranked").is_empty());
    assert!(none["because"][0].as_str().is_some_and(|text| text.contains("--price")), "{none:#}");
}

#[test]
fn a_run_is_ranked_by_what_it_measured_beside_models() {
    let bench = Bench::new();
    let run = ["run", "model:mtron-mobi-32", "--method", "bm-flash", "--set", "block=8K", "--set"];
    let run = bench.drivelab(run).and([
        "threads=32",
        "--seed",
        "1",
        "--label",
        "mine",
        "--price",
        "90USD",
    ]);
    run.done().succeeded();
    let question = ["advise", "--read", "70", "--block", "8K", "--budget", "1000USD", "--json"];
    let words = ["mine", "2xsata-750/raid0", "--price-age", "100", "--store"];
    let call = Call::new(question, Path::new("/")).and(words).and([bench.path("store.sqlite")]);
    let answer: Value = serde_json::from_str(&call.done().succeeded().stdout).expect("JSON");
    let mine = named(&answer, "ranked", "mine");
    assert_eq!((&mine["price"], &mine["basis"]["kind"]), (&90.0.into(), &"measured".into()));
    let record = bench.record("last");
    let cells = record["cells"].as_array().expect("cells");
    let read = cells.iter().find(|cell| cell["op"] == "read" && cell["pattern"] == "random");
    assert_eq!(mine["read_iops"], read.expect("random reads")["iops"]);
    // It has no cell of 16 KiB: what it has is said, and how to measure the rest.
    let question =
        ["advise", "--read", "70", "--block", "16K", "--budget", "1000USD", "mine", "--store"];
    let refused = Call::new(question, Path::new("/")).and([bench.path("store.sqlite")]).done();
    assert_eq!(refused.code, Some(2));
    let parts =
        ["no direct random reads and writes of 16 KiB", "8 KiB with 32", "--set block=16384"];
    assert_one_sentence(&refused.stderr, &parts);
}

/// 70 reads and 30 writes of 8 KiB, none of which follows another, up to 8 GB.
fn iolog() -> String {
    let line = |at: u64| {
        let op = if at % 10 < 7 { "read" } else { "write" };
        format!("{at} d {op} {} 8192\n", (at * 7919 % 1000 + 1) * 8_000_000 / 8192 * 8192 - 8192)
    };
    let lines: String = (0..1000).map(line).collect();
    format!("fio version 3 iolog\n0 d add\n0 d open\n{lines}1000 d close\n")
}

/// What a trace says can be said in words, too.
#[test]
fn a_trace_gets_the_answer_of_its_workload_said_in_words() {
    let bench = Bench::new();
    bench.file("a.iolog", iolog());
    let rest = ["--budget", "1000USD", "--as-of", TODAY, "--price-age", "100", "intel-x25e-32"];
    let ask = |words: &[&str], more: &[&str]| {
        let all = [&["advise"], words, &rest[..], more].concat();
        bench.drivelab_without_store(all).done().succeeded().stdout
    };
    let json = |words: &[&str]| -> Value {
        serde_json::from_str(&ask(words, &["--json"])).expect("one JSON document")
    };
    let traced = json(&["--trace", "a.iolog"]);
    // The last place is at 7.9999 GB, in whole blocks of 8 KiB.
    let room = 8_000_000_000_u64 / 8192 * 8192;
    assert_eq!(traced["question"]["capacity_bytes"], room);
    let said = json(&["--read", "70", "--block", "8K", "--capacity", &room.to_string()]);
    for list in ["ranked", "unranked", "refused"] {
        assert_eq!(traced[list], said[list], "{list}");
    }
    assert!(said["question"]["trace"].is_null());
    assert_eq!(traced["question"]["trace"]["title"], "a.iolog (fio iolog version 3)");
    let page = ask(&["--trace", "a.iolog"], &[]);
    for part in ["Of the trace", "70 % read; all are of 8 KiB", "Not taken: when it asks"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    // What is said beside a trace goes before what the trace says.
    let more = json(&["--trace", "a.iolog", "--capacity", "20GB", "--depth", "4"]);
    assert_eq!(more["question"]["capacity_bytes"], 20_000_000_000_u64);
    assert_eq!(more["question"]["depth"], 4);
}

#[test]
fn a_trace_that_is_no_workload_is_refused_with_the_cure() {
    let bench = Bench::new();
    bench.file("a.iolog", iolog());
    bench.file("empty.iolog", "fio version 3 iolog\n0 d add\n0 d open\n1 d close\n");
    bench.file("flush.iolog", "fio version 3 iolog\n0 d open\n1 d sync 0 0\n");
    let two = "128166372003061629,hm,0,Read,0,4096,100\n128166372013061629,hm,1,Read,0,4096,100\n";
    bench.file("two.csv", two);
    for (words, parts) in [
        (&["--trace", "absent.iolog"][..], &["cannot open the trace absent.iolog"][..]),
        (&["--trace", "empty.iolog"], &["no access to a drive", "name another trace"]),
        (&["--trace", "flush.iolog"], &["no reads and no writes", "name a trace that has"]),
        (&["--trace", "two.csv"], &["2 volumes", "choose one with --volume NAME"]),
        (&["--trace", "two.csv", "--volume", "hm.7"], &["--volume hm.7", "hm.0 (1)"]),
        (&["--trace", "a.iolog", "--read", "70"], &["--trace", "--read"]),
        (&["--volume", "hm.0"], &["--trace"]),
    ] {
        let advise = [&["advise", "--budget", "1000USD", "sata-750"], words].concat();
        let predict = [&["flash", "predict", "model:mtron-pro-32"], words].concat();
        for call in [advise, predict] {
            if call[0] == "flash" && words.contains(&"--read") {
                continue;
            }
            let outcome = bench.drivelab_without_store(&call).done();
            assert_eq!(outcome.code, Some(2), "{call:?}: {}", outcome.stderr);
            for part in parts {
                assert!(outcome.stderr.contains(part), "{call:?}: {}", outcome.stderr);
            }
        }
    }
}

/// A managed volume of less than a thousandth of a drive was looked for between a thousandth and
/// its own size, which ended in a panic: `min > max`.
#[test]
fn so_little_data_that_it_is_no_thousandth_of_a_drive_finds_room() {
    for capacity in ["8K", "1M", "12MB"] {
        let answer = answer(&["--capacity", capacity, "mtron-mobi-16"]);
        let volume = places(&answer, "ranked").iter().find(|place| {
            place["name"].as_str().is_some_and(|name| name.starts_with("mtron-mobi-16/flash"))
        });
        let volume = volume.unwrap_or_else(|| panic!("no volume: {answer:#}"));
        assert!(number(volume, "iops") > 0.0, "{volume:#}");
    }
}

#[test]
fn a_question_that_cannot_be_answered_is_refused_with_the_cure() {
    let question = ["advise", "--block", "8K"];
    for (words, parts) in [
        (
            &["--read", "70", "--budget", "1000"][..],
            &["--budget 1000 has no currency", "1000EUR"][..],
        ),
        (&["--read", "170", "--budget", "1000USD"], &["from 0 to 100"]),
        // It was taken as 0.7 % without a word.
        (&["--read", "0.7", "--budget", "1000USD"], &["write 70 for 70 %, or 0.7% if"]),
        (&["--read", "70", "--budget", "1000USD", "intel-x25"], &["no drive", "`intel-x25e-32`"]),
        (&["--read", "70", "--budget", "1000USD", "2xintel-x25e-23/raid0"], &["`intel-x25e-32`"]),
        (
            &["--read", "70", "--budget", "9USD", "sata-750"],
            &["nothing fits", "130 USD", "--budget"],
        ),
        (
            &["--read", "70", "--budget", "99EUR", "--price", "qlc=9USD"],
            &["in USD", "one currency"],
        ),
        (&["--read", "70", "--budget", "99EUR", "--price", "9EUR"], &["NAME=9EUR"]),
        (&["--read", "70", "--budget", "99EUR", "--price", "qlx=9EUR"], &["`qlc`"]),
        (&["--read", "70", "--budget", "99USD", "sata-750/ext4"], &["leave the file system out"]),
    ] {
        let outcome = Call::new(question, Path::new("/")).and(words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, parts);
    }
}
