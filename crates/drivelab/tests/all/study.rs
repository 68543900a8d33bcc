//! Studies from the command line: listed, refused with a cure, run on a target.

use crate::common;

use common::{
    Bench, Call, assert_one_sentence,
    browser::{Browser, reads_file},
    can_make_file_systems, names_in,
};
use std::{collections::BTreeSet, fs};
use tempfile::tempdir;

#[test]
fn the_list_says_what_each_study_asks() {
    let place = tempdir().expect("a place");
    let text = Call::new(["study"], place.path()).done().succeeded().stdout;
    for study in study::Study::ALL {
        assert!(text.contains(study.name()), "{text}");
    }
    assert!(text.matches('?').count() >= 5 && text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn what_cannot_be_run_is_refused_with_a_cure() {
    let place = tempdir().expect("a place");
    for (words, part) in [
        (&["study", "cmu2008"][..], "`cmu2009`"),
        (&["study", "cmu2009", "--table", "VIII"], "VII"),
        (&["study", "cmu2009", "--loop", "."], "--on with the directory"),
        (&["study", "latency2016", "--loop", "absent"], "name a directory"),
        (&["study", "latency2016", "--loop", ".", "--on", "."], "cannot be used with"),
        (&["study", "--claims"], "NAME"),
        (&["study", "cmu2009", "--size", "1G"], "--on"),
        (&["study", "martin2008", "--html", "absent/m.html"], "mkdir -p absent"),
    ] {
        let outcome = Call::new(words, place.path()).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, &[part]);
    }
}

#[test]
fn a_study_of_file_systems_makes_them_on_a_loop_device_and_puts_its_column_beside_the_published() {
    let bench = Bench::new();
    if !can_make_file_systems() {
        return;
    }
    let words = ["study", "latency2016", "--loop", "area", "--loop-size", "2G", "--quiet"];
    // One round of few writes: what is asked is where the values stand, not what they are.
    let short = ["--passes", "1", "--set", "bound=3", "--html", "l.html"];
    let text = bench.drivelab(words).and(short).done().succeeded().stdout;
    for part in [
        "Yours: a loop device of 2 GiB",
        "left out: --write-cache: a loop device has no write cache",
        "durable write 512 B ext4 cache on TRIM",
        "fs \\ discard",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Nothing tells the cache's settings apart, so that one value stands in both rows; and no claim
    // is made of it.
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {text}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    let (on, off) =
        (row("durable write 512 B raw cache on"), row("durable write 512 B raw cache off"));
    assert_eq!(on[0], off[0]);
    assert!(on[0].parse::<f64>().is_ok_and(|ms| ms > 0.0) && on.contains(&"0.44".to_owned()));
    assert!(off.contains(&"0.048".to_owned()), "{off:?}");
    let claims = text.split("judged by your medians").nth(1).expect("claims");
    assert_eq!(claims.matches("not checkable").count(), 2, "{claims}");
    let page = fs::read_to_string(bench.path("l.html")).expect("a page");
    assert!(page.contains("dd-latency: What each setting does"), "{page}");
    // The runs are kept like any other, and found where the text says: it named the user's own
    // store.
    let (_, command) = text.split_once(": `drivelab ").expect("how to show it");
    let (command, _) = command.split_once('`').expect("the command's end");
    let shown = Call::new(command.split_whitespace(), &bench.path(".")).done().succeeded().stdout;
    assert!(shown.contains("fs=ext4"), "{shown}");
    let history = bench.drivelab(["history", "--json"]).done().succeeded().stdout;
    assert_eq!(history.lines().filter(|line| line.contains("latency2016")).count(), 2, "{history}");
    assert!(names_in(&bench.path("area")).is_empty(), "the scratch file is gone");
}

#[test]
fn a_study_of_file_systems_on_a_model_or_a_loop_device_lists_every_command_before() {
    if !common::can_make_file_systems() {
        return;
    }
    need_programs!["nbdfuse"];
    let place = tempdir().expect("a place");
    let words = ["study", "latency2016", "--on", "model:intel-520-120", "--dry-run"];
    let text = Call::new(words, place.path()).done().succeeded().stdout;
    for part in ["drivelab serve model:intel-520-120:write-cache=off", "mkfs.xfs", "dd-bandwidth"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let words = ["study", "martin2008", "--loop", ".", "--dry-run"];
    let text = Call::new(words, place.path()).done().succeeded().stdout;
    for part in ["mkfs.ext3", "data=writeback", "write_cache", "measured with bonnie"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(names_in(place.path()).is_empty(), "nothing was made");
}

#[test]
fn a_study_of_file_systems_in_a_directory_takes_the_one_that_is_there_and_says_so() {
    let bench = Bench::new();
    let words = ["study", "latency2016", "--on", "area", "--set", "bound=2", "--quiet"];
    let text = bench.drivelab(words).done().succeeded().stdout;
    for part in [
        "Yours: area",
        "left out: discard, fs, write-cache: taken as they are here; --loop DIR",
        "durable write 512 B ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What was measured on one file system stood in the rows of all three.
    let rows = text.lines().filter(|line| line.starts_with("durable write 512 B "));
    let fs = |row: &str| row.split_whitespace().nth(4).expect("a file system").to_owned();
    let names: BTreeSet<String> = rows.map(fs).collect();
    assert_eq!(names.len(), 1, "{text}");
}

/// 13,102 MB/s of the page cache stood beside a disk's 84, in the row "specified" too, under "% of
/// spec." where the
/// study has percent of sequential, on ext2, and at one of the sizes that were measured.
#[test]
fn a_study_in_a_directory_says_what_each_rate_is_the_rate_of() {
    let bench = Bench::new();
    let words = ["study", "stfc2009", "--on", "area", "--size", "4M", "--passes", "1", "--quiet"];
    let few = ["--set", "block=1M..2M", "--json", "all.json"];
    let text = bench.drivelab(words).and(few).done().succeeded().stdout;
    for part in [
        "Random writes as percent of sequential ones, IOzone (% of sequential)",
        "Rate of: ",
        "synced: onto the drive, durable",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("ext2") || text.contains("the study's on ext2"), "{text}");
    let specified: Vec<&str> =
        text.lines().filter(|line| line.starts_with("specified seq. ")).collect();
    assert!(specified.len() >= 2, "{text}");
    // What stands there of the user's is a dash; then come the makers' figures.
    for word in specified.iter().flat_map(|row| row.split_whitespace()) {
        let figure: f64 = word.parse().unwrap_or(85.0);
        assert!([85.0, 100.0, 170.0, 250.0].contains(&figure), "{specified:?}");
    }
    let json = fs::read_to_string(bench.path("all.json")).expect("values");
    let values: Vec<serde_json::Value> = serde_json::from_str(&json).expect("JSON");
    let all = |key: &str| -> BTreeSet<String> {
        values.iter().map(|value| value["coordinates"][key].to_string()).collect()
    };
    let sizes = ["\"1048576\"", "\"2097152\""].map(str::to_owned);
    assert_eq!(all("block"), sizes.into());
    assert!(!all("config").contains("\"spec\""), "{json}");
    for value in &values {
        let says = |key: &str| value[key].as_array().is_some_and(|words| !words.is_empty());
        assert!(says("means") && value["flags"].is_array(), "{value}");
        let is_write = value["coordinates"]["op"].to_string().contains("write");
        let means = value["means"].to_string();
        assert!(!is_write || means.contains("onto the drive, durable"), "{value}");
    }
}

#[test]
fn a_study_with_a_price_and_a_data_sheet_fills_the_columns_of_both() {
    let bench = Bench::new();
    let words = ["study", "cmu2009", "--on", "model:intel-x25e-32/ext3:ram=16M", "--quiet"];
    let few = ["--size", "4M", "--passes", "1", "--set", "block=4K"];
    let known = ["--price", "100EUR", "--spec", "intel-x25e-32"];
    let text = bench.drivelab(words).and(few).and(known).done().succeeded().stdout;
    for part in ["Price for performance", "Your prices are in EUR", "100.00"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let refused = bench.drivelab(words).and(["--price", "100"]).done();
    assert_eq!(refused.code, Some(2));
    assert_one_sentence(&refused.stderr, &["has no currency"]);
}

/// On a device of 1 GiB the first method was measured; then the second found no room, and nothing
/// was printed.
#[test]
fn sizes_and_bytes_of_all_methods_are_looked_at_before_the_first_byte() {
    let bench = Bench::new();
    let refused = |words: &[&str], parts: &[&str]| {
        let outcome = bench.drivelab(words.iter().copied()).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, parts);
        assert_eq!(outcome.stdout, "");
        assert!(names_in(&bench.path("area")).is_empty(), "nothing was made");
    };
    let small = ["study", "latency2016", "--loop", "area", "--loop-size", "1G", "--dry-run"];
    refused(&small, &["dd-bandwidth", "needs a device of 1.4", "1 GiB", "--size"]);
    let much = ["study", "stfc2009", "--on", "area", "--size", "512M", "--passes", "40"];
    refused(&much, &["8 GiB unasked", "iozone-stfc", "dd-stream", "--max-written"]);
    let more = [&much[..], &["--max-written", "20G"]].concat();
    refused(&more, &["more than --max-written 20 GiB"]);
}

/// It made a folder `mysql:` and a history in it.
#[test]
fn an_address_of_something_else_is_no_store() {
    let bench = Bench::new();
    let before = names_in(&bench.path("."));
    for words in [
        &["history", "--store", "mysql://db/lab"][..],
        &["run", "area", "--store", "mysql://db"],
        &["study", "latency2016", "--on", "area", "--store", "mongodb://db/lab"],
        &["web", "--store", "https://db/lab"],
    ] {
        let outcome = Call::new(words, &bench.path(".")).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(
            &outcome.stderr,
            &["--store", "an address of something", "./history.db"],
        );
    }
    assert_eq!(names_in(&bench.path(".")), before);
}

#[test]
fn a_study_on_a_directory_puts_the_users_column_beside_the_published_drives() {
    let bench = Bench::new();
    let words =
        ["study", "easyco2007", "--on", "area", "--size", "16M", "--max-time", "4s", "--quiet"];
    // Two sizes and one thread, of the study's ten and three: time enough for each of six cells.
    let few = ["--set", "block=4K..8K", "--set", "threads=1"];
    let text = bench.drivelab(words).and(few).done().succeeded().stdout;
    assert!(text.contains("Yours: area") && text.contains("method bm-flash"), "{text}");
    for (row, printed) in [("read 4 KiB", ["10337", "9784"]), ("write 8 KiB", ["124", "125"])] {
        let line = text.lines().find_map(|line| line.strip_prefix(row));
        let fields: Vec<&str> =
            line.unwrap_or_else(|| panic!("{row}: {text}")).split_whitespace().collect();
        // The user's rate first, where there are enough of them half of its interval; then the
        // study's drives.
        assert!(fields[0].parse::<f64>().is_ok_and(|rate| rate > 0.0), "{text}");
        assert!(fields.ends_with(&printed), "{text}");
    }
    assert!(names_in(&bench.path("area")).is_empty(), "the scratch file is gone");
}

/// Sixty lines of cells that failed or were left out stood before the first table, two lines each
/// and the same sentence in all.
#[test]
fn what_was_measured_stands_before_what_was_not() {
    let bench = Bench::new();
    bench.file("there", "0123456789abcdef".repeat(1 << 20));
    let words = ["study", "easyco2007", "--on", "there", "--size", "16M", "--max-time", "4s"];
    let few = ["--set", "block=4K..8K", "--set", "threads=1", "--quiet"];
    let text = bench.drivelab(words).and(few).done().succeeded().stdout;
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("\nread 4 KiB") < at("left out: "), "{text}");
    assert_eq!(text.matches("left out: ").count(), 1, "{text}");
    for part in ["4 cells, random-write-4K-t1-q1 to seq-write-8K-t1-q1: ", "name a directory"] {
        assert!(text.replace("\n          ", " ").contains(part), "{part}: {text}");
    }
}

#[test]
fn a_study_as_a_page_has_its_charts_tables_claims_and_method() {
    let bench = Bench::new();
    let words = ["study", "latency2016", "--quiet", "--html", "l.html", "--svg", "pictures"];
    bench.drivelab(words).done().succeeded();
    let page = fs::read_to_string(bench.path("l.html")).expect("a page");
    for part in
        ["modelled", "0.048", "10.5", "hdparm", "contradicted", "Not the mean, which is 40.7"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let drawings = names_in(&bench.path("pictures"));
    assert_eq!(drawings.len(), page.matches("<figure").count(), "{drawings:?}");
    // What was printed and what the models give stood in two charts: nobody saw how far apart they
    // are.
    let drawing = fs::read_to_string(bench.path("pictures/latency.svg")).expect("one chart");
    for source in ["published", "modelled"] {
        assert_eq!(drawing.matches(&format!(", {source}: ")).count(), 30, "{source}: {drawing}");
    }
    let mut browser = need!(Browser::start(), "chromium");
    reads_file(&mut browser, &bench, "l.html");
}

/// "100 % within 10 %" counted fitted and predicted figures together, and stood beside 99.53 % on
/// the page.
#[test]
fn fitted_and_predicted_figures_are_told_apart_in_rows_and_summaries() {
    let bench = Bench::new();
    let words = ["study", "latency2016", "--quiet", "--json", "rows.json"];
    let text = bench.drivelab(words).done().succeeded().stdout;
    for part in ["- fitted", "- predicted", "19 of 20 within 10 %", "28 of 40 within 10 %"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("100 % within"), "{text}");
    let rows = fs::read_to_string(bench.path("rows.json")).expect("rows");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).expect("JSON");
    let modelled = rows.iter().filter(|row| row["kind"] == "modelled" && !row["value"].is_null());
    for row in modelled {
        assert!(row["basis"] == "fitted" || row["basis"] == "predicted", "{row}");
    }
}

#[test]
fn a_question_that_is_open_names_a_command_that_exists() {
    let place = tempdir().expect("a place");
    let mut asked = 0;
    for study in study::Study::ALL {
        for claim in study.file().claims {
            let Some(command) = &claim.command else { continue };
            let words = command.strip_prefix("drivelab ").expect("a command of ours");
            let words: Vec<&str> = words.split_whitespace().chain(["--help"]).collect();
            let outcome = Call::new(&words, place.path()).done();
            assert_eq!(outcome.code, Some(0), "{command}: {}", outcome.stderr);
            asked += 1;
        }
    }
    assert!(asked >= 4, "{asked} commands");
}
