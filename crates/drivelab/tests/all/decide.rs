//! Numbers beside something: a data sheet, a price, another run. All on models, so that every
//! verdict repeats.

use crate::common;

use common::{Bench, Outcome};

/// A sheet of one line: random reads, up to so many a second.
fn sheet(value: &str, more: &str) -> String {
    format!(
        "name = \"X25-E\"\nsource = \"a test\"\n[[entry]]\nmetric = \"iops\"\nop = \"read\"\npattern = \"random\"\n\
         value = {value}\nunit = \"IOPS\"\nup_to = true\n{more}\n"
    )
}

/// A read and a write cell of 4 KiB on a modelled drive, three passes.
fn measure(bench: &Bench, target: &str, words: &[&str]) -> Outcome {
    let method = bench.path("small.toml");
    let call = bench.drivelab(["run", target, "--seed", "1", "--passes", "3", "--method"]);
    call.and([method]).and(words).done()
}

#[test]
fn a_data_sheet_is_held_against_a_run_while_it_is_made_and_afterwards() {
    let bench = Bench::new();
    bench.file("low.toml", sheet("100", "block = \"4KiB\""));
    bench.file("high.toml", sheet("9000000", "block = \"4KiB\""));
    let run = measure(&bench, "model:intel-x25e-32", &["--spec", "low.toml", "--fail-on", "spec"]);
    assert!(run.stdout.contains("Data sheet: X25-E (a test)"), "{}", run.stdout);
    assert!(run.succeeded().stdout.contains("pass"));
    let shown = bench.drivelab(["show", "last", "--spec", "high.toml"]).done().succeeded();
    assert!(shown.stdout.contains("fail"), "a failed entry alone is no error: {}", shown.stdout);
    let found = bench.drivelab(["show", "--spec", "high.toml", "--fail-on", "spec"]).done();
    assert_eq!(found.code, Some(1));
    common::assert_one_sentence(&found.stderr, &["found: 1 of 1 entries of the data sheet fail"]);
}

#[test]
fn verdicts_for_programs_say_what_the_page_says() {
    let bench = Bench::new();
    bench.file("low.toml", sheet("100", "block = \"4KiB\""));
    bench.file("deep.toml", sheet("100", "block = \"8KiB\"\ndepth = 32"));
    measure(&bench, "model:intel-x25e-32", &[]).succeeded();
    let read = |words: &[&str]| -> serde_json::Value {
        let text = bench.drivelab(["show", "last", "--json"]).and(words).done().succeeded().stdout;
        serde_json::from_str(&text).expect("one JSON document")
    };
    let record = read(&[]);
    let low = read(&["--spec", "low.toml", "--fail-on", "spec"]);
    assert_eq!(low["run"], record["id"]);
    let sheet = &low["sheets"][0];
    assert_eq!(
        (&sheet["target"], &sheet["name"]),
        (&"model:intel-x25e-32".into(), &"X25-E".into())
    );
    let entry = &sheet["entries"][0];
    assert_eq!((&entry["verdict"], &entry["figure"]), (&"pass".into(), &"100 IOPS".into()));
    assert_eq!(entry["measured"], common::cell(&record, "reads")["iops"]);
    assert_eq!(entry["conditions"]["block_bytes"], 4096);
    assert!(entry["conditions"].get("depth").is_none() && entry["cure"].is_null(), "{entry}");
    let deep = read(&["--spec", "deep.toml"]);
    let entry = &deep["sheets"][0]["entries"][0];
    assert_eq!((&entry["verdict"], &entry["measured"]), (&"not comparable".into(), &().into()));
    let cure = entry["cure"].as_str().expect("a cure");
    assert!(cure.contains("drivelab run"), "{cure}");
    let failed = bench.file("high.toml", self::sheet("9000000", "block = \"4KiB\""));
    let words = ["show", "--json", "--fail-on", "spec", "--spec"];
    let found = bench.drivelab(words).and([failed]).done();
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("\"verdict\": \"fail\""), "{}", found.stdout);
}

#[test]
fn a_sheet_that_nothing_can_be_compared_with_is_not_green_and_its_cure_makes_it_comparable() {
    let bench = Bench::new();
    bench.file("deep.toml", sheet("100", "block = \"8KiB\"\ndepth = 32\nspan = \"8GB\""));
    measure(&bench, "model:intel-x25e-32", &[]).succeeded();
    let shown = bench.drivelab(["show", "--spec", "deep.toml"]).done().succeeded();
    let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, cure) = words.split_once("drivelab run TARGET ").expect("a cure");
    let cure: Vec<&str> = cure.split(' ').collect();
    let checked = bench.drivelab(["show", "--spec", "deep.toml", "--fail-on", "spec"]).done();
    assert_eq!(checked.code, Some(2));
    common::assert_one_sentence(&checked.stderr, &["checked nothing"]);
    // What the note says to run makes it comparable.
    let words = ["--spec", "deep.toml", "--fail-on", "spec"];
    let run = measure(&bench, "model:intel-x25e-32", &[&cure[..], &words[..]].concat());
    assert!(run.stdout.contains("pass"), "{run:?}");
    run.succeeded();
}

#[test]
fn the_catalog_s_figures_are_a_data_sheet() {
    let bench = Bench::new();
    let run = measure(&bench, "model:intel-x25e-32", &["--spec", "catalog"]).succeeded();
    assert!(
        run.stdout.contains("Data sheet:") && run.stdout.contains("capacity"),
        "{}",
        run.stdout
    );
    let catalog = target::catalog::Catalog::built_in().expect("the catalog");
    let mut sheets = 0;
    for drive in catalog.drives() {
        let read = report::specification::Specification::of_catalog("x", drive.entry.text());
        sheets +=
            usize::from(read.unwrap_or_else(|bad| panic!("{}: {bad}", drive.name())).is_some());
    }
    assert!(sheets >= 8, "{sheets} drives have figures");
}

/// A drive with settings had no price and no data sheet: it was looked up as
/// `memoright-gt-16:port=onboard`.
#[test]
fn a_drive_with_settings_is_the_catalog_s_drive() {
    let bench = Bench::new();
    let target = "model:memoright-gt-16:port=onboard";
    let run = measure(&bench, target, &["--spec", "catalog"]).succeeded();
    assert!(run.stdout.contains("500 IOPS"), "{}", run.stdout);
    let table = bench.drivelab(["report", "last", "--table", "capacity"]).done().succeeded().stdout;
    assert!(table.contains("Price per GB, USD"), "{table}");
}

#[test]
fn a_figure_within_the_interval_is_inconclusive_and_no_finding() {
    let bench = Bench::new();
    measure(&bench, "model:hdd-7200-cmr", &[]).succeeded();
    let writes = common::cell(&bench.record("last"), "writes")["iops"].as_f64().expect("a rate");
    let sheet = sheet(&format!("{writes:.0}"), "").replace("\"read\"", "\"write\"");
    bench.file("exact.toml", sheet);
    let shown = bench.drivelab(["show", "--spec", "exact.toml", "--fail-on", "spec"]).done();
    let page = shown.succeeded().stdout;
    assert!(page.contains("inconclusive (1)"), "{page}");
    assert!(page.contains("(1) the 95 % interval holds the figure: raise --grade"), "{page}");
}

/// A STACK has `=` of its own: the sheet is what stands behind the whole of it.
#[test]
fn each_of_two_targets_can_have_its_own_sheet_and_price() {
    let bench = Bench::new();
    bench.file("low.toml", sheet("100", ""));
    let (one, two) = ("model:intel-x25e-32", "model:intel-x25e-32:write-cache=off");
    let words =
        ["--passes", "4", "--price", "model:intel-x25e-32:write-cache=off=90EUR", "--method"];
    let run = bench.drivelab(["run", one, two, "--spec", &format!("{two}=low.toml")]).and(words);
    let run = run.and([bench.path("small.toml")]).done().succeeded();
    assert_eq!(run.stdout.matches("Data sheet:").count(), 1, "{}", run.stdout);
    let record = bench.record("last");
    assert!(record["targets"][0]["price"].is_null());
    assert_eq!(record["targets"][1]["price"]["amount"], 90.0);
    let refused = bench.drivelab(["run", one, two, "--price", "90EUR"]).done();
    refused.refused(&["fits 2 targets", "write a price for each"]);
}

#[test]
fn bad_sheets_prices_and_findings_are_refused_before_anything_is_measured() {
    let bench = Bench::new();
    bench.file("metric.toml", sheet("1", "").replace("iops", "iopps"));
    bench.file("unit.toml", sheet("1", "").replace("\"IOPS\"", "\"IOP\""));
    let target = "model:intel-x25e-32";
    for (words, cure) in [
        (&["--spec", "metric.toml"][..], "Did you mean `iops`"),
        (&["--spec", "unit.toml"], "Did you mean `IOPS`"),
        (&["--spec", "absent.toml"], "cannot read the data sheet absent.toml"),
        (&["--spec", "intel-x25e"], "Did you mean `intel-x25e-32`"),
        (&["--spec", "hdd-7200-cmr"], "write them into a file"),
        (&["--fail-on", "spec"], "add --spec FILE"),
        (&["--fail-on", "driftin"], "Did you mean `drifting`"),
        (&["--price", "129"], "has no currency"),
        (&["--price", "other=129EUR"], "write one of model:intel-x25e-32"),
    ] {
        let outcome = measure(&bench, target, words);
        assert_eq!(outcome.code, Some(2), "{words:?}: {outcome:?}");
        common::assert_one_sentence(&outcome.stderr, &[cure]);
    }
    assert!(bench.history().is_empty());
}

#[test]
fn a_price_is_kept_in_the_record() {
    let bench = Bench::new();
    measure(&bench, "model:intel-x25e-32", &["--price", "129.50eur"]).succeeded();
    let price = &bench.record("last")["targets"][0]["price"];
    assert_eq!((price["amount"].as_f64(), price["currency"].as_str()), (Some(129.5), Some("EUR")));
}

#[test]
fn a_flag_can_be_a_finding() {
    let bench = Bench::new();
    bench.small_run(["area"]).done().succeeded();
    let flags = bench.record("last")["flags"].clone();
    let flags: Vec<&str> =
        flags.as_array().expect("flags").iter().filter_map(|f| f.as_str()).collect();
    let first = *flags.first().expect("0.6 s are too short for a cell without a flag");
    let found = bench.drivelab(["show", "--fail-on", first]).done();
    assert_eq!(found.code, Some(1));
    assert!(found.stderr.contains(&format!("found: {first}")), "{}", found.stderr);
    let other = record::Flag::ALL.iter().find(|flag| !flags.contains(&flag.name())).expect("one");
    bench.drivelab(["show", "--fail-on", other.name()]).done().succeeded();
}

#[test]
fn runs_made_apart_are_compared_with_their_environment_first_and_slower_can_be_a_finding() {
    let bench = Bench::new();
    measure(&bench, "model:intel-x25e-32", &["--label", "ssd"]).succeeded();
    measure(&bench, "model:hdd-7200-cmr", &["--label", "disk"]).succeeded();
    let page = bench.drivelab(["compare", "ssd", "disk"]).done().succeeded().stdout;
    let (target, ratio) = (page.find("model:hdd-7200-cmr"), page.find("ratio"));
    assert!(target.is_some() && target < ratio, "{page}");
    assert!(page.contains("Unpaired") && page.contains("slower"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    let json = bench.drivelab(["compare", "ssd", "disk", "--json"]).done().succeeded().json();
    let other = &json["others"][0];
    assert_eq!(other["design"], "unpaired");
    // Of reads a disk's cache holds so small an area; writes go to the platter.
    assert_eq!(other["cells"][1]["verdict"], "slower");
    assert!(other["cells"][1]["ratio"].as_f64().is_some_and(|ratio| ratio < 0.5));
    let found = bench.drivelab(["compare", "ssd", "disk", "--fail-on", "slower"]).done();
    assert_eq!(found.code, Some(1));
    common::assert_one_sentence(&found.stderr, &["slower"]);
    bench.drivelab(["compare", "ssd", "ssd", "--fail-on", "slower"]).done().succeeded();
}

/// The same drive, another seed: what is not the drive's must not become a verdict.
#[test]
fn the_same_drive_run_again_is_not_slower() {
    let bench = Bench::new();
    for seed in ["11", "12"] {
        let call =
            bench.drivelab(["run", "model:nvme-tlc", "--seed", seed, "--passes", "3", "--method"]);
        call.and([bench.path("small.toml")]).done().succeeded();
    }
    let json = bench.drivelab(["compare", "last~1", "last", "--json"]).done().succeeded().json();
    for cell in json["others"][0]["cells"].as_array().expect("cells") {
        assert!(cell["verdict"] == "same" || cell["verdict"] == "undecided", "{cell}");
    }
}

#[test]
fn two_targets_of_one_run_are_compared_in_pairs() {
    let bench = Bench::new();
    let both = ["run", "model:intel-x25e-32", "model:intel-x25m-80", "--seed", "3", "--method"];
    bench.drivelab(both).and([bench.path("small.toml")]).done().succeeded();
    let json = bench.drivelab(["compare", "last", "--json"]).done().succeeded().json();
    assert_eq!(json["others"][0]["design"], "paired");
    let record = bench.record("last");
    assert_eq!(json["others"][0]["cells"][0]["verdict"], record["paired"][0]["verdict"]);
    assert_eq!(json["others"][0]["cells"][0]["ratio"], record["paired"][0]["ratio"]);
}

#[test]
fn runs_without_a_common_cell_are_refused_with_the_cure() {
    let bench = Bench::new();
    measure(&bench, "model:intel-x25e-32", &["--label", "a", "--reads-only"]).succeeded();
    bench
        .drivelab(["compare", "a"])
        .done()
        .refused(&["compare needs two targets", "drivelab run A B"]);
    measure(&bench, "model:intel-x25e-32", &["--label", "b", "--set", "block=8K"]).succeeded();
    bench.drivelab(["compare", "a", "b"]).done().refused(&["no cell in common", "--set"]);
}

/// CMU 2008, Table VI, asks what a MB/s and an operation cost of eight drives: price over the row
/// of 4 KB.
#[test]
fn drives_of_the_cmu_study_get_its_table_of_prices_from_any_run() {
    let bench = Bench::new();
    measure(&bench, "model:intel-x25e-32", &["--label", "x25e"]).succeeded();
    let disk = "model:seagate-barracuda-7200.11-750";
    measure(&bench, disk, &["--label", "disk"]).succeeded();
    let words = ["report", "disk", "x25e", "--baseline", "disk", "--table"];
    let table = bench.drivelab(words).and(["price"]).done().succeeded().stdout;
    assert!(table.contains("Price per IOPS, USD"), "{table}");
    // The catalog prints $810: the price over the rate, as the study divides.
    let iops = common::cell(&bench.record("x25e"), "reads")["iops"].as_f64().expect("a rate");
    assert!(table.contains(&report::number::three_digits(810.0 / iops)), "{table}");
    let all = bench.drivelab(words).and(["all"]).done().succeeded().stdout;
    for kind in
        ["Speed-up over disk", "Same money, operations", "write-cache: two runs of one drive"]
    {
        assert!(all.contains(kind), "{kind}: {all}");
    }
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let files = ["--html", "r.html", "--xlsx", "r.xlsx", "--csv", "r.csv"];
    bench.drivelab(words).and(["price,mix"]).and(files).done().succeeded();
    let page = std::fs::read_to_string(bench.path("r.html")).expect("a page");
    assert!(page.contains("Derived tables") && page.contains("Price per IOPS, USD"));
    let csv = std::fs::read_to_string(bench.path("r.csv")).expect("a table");
    let prices = csv.lines().filter(|line| line.contains(",price: price,")).count();
    assert_eq!(prices, 4, "two cells of two drives");
    bench.drivelab(words).and(["pirce"]).done().refused(&["Did you mean `price`"]);
    let other = ["report", "disk", "--table", "price", "--baseline", "other"];
    bench.drivelab(other).done().refused(&["--baseline other", "write one of disk"]);
}
