//! Two targets: their passes alternate, and each cell ends with a verdict.

use crate::common;

use common::{Bench, LoopDevice, MIB, ROOT, cell};
use serde_json::Value;

/// Name and verdict of every cell.
fn verdicts(record: &Value) -> Vec<(&str, &str)> {
    let paired = record["paired"].as_array().expect("verdicts").iter();
    paired.filter_map(|pair| Some((pair["name"].as_str()?, pair["verdict"].as_str()?))).collect()
}

#[test]
fn two_targets_get_a_verdict_a_cell_from_alternating_passes() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("other")).expect("a directory");
    let outcome = bench.small_run(["area", "other", "--passes", "3"]).done().succeeded();
    let record = bench.record("last");
    let verdicts = verdicts(&record);
    assert_eq!(verdicts.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["reads", "writes"]);
    for (name, verdict) in &verdicts {
        assert!(["faster", "slower", "same", "undecided"].contains(verdict), "{name} {verdict}");
    }
    assert!(record["paired"].as_array().expect("pairs").iter().all(|pair| pair["n"] == 3));
    assert!(outcome.stdout.contains("Target 1 against target 0"), "{}", outcome.stdout);
    // Of each pair of neighbours one pass is of either target, and the first is not always the
    // same.
    let mut order: Vec<(u64, u64)> = Vec::new();
    for cell in record["cells"].as_array().expect("cells") {
        let target = cell["target"].as_u64().expect("an index");
        let passes = cell["passes"].as_array().expect("passes").iter();
        order.extend(passes.map(|pass| (pass["order"].as_u64().expect("an order"), target)));
    }
    order.sort_unstable();
    let turns: Vec<u64> = order.iter().map(|&(_, target)| target).collect();
    assert!(turns.len() == 12 && turns.chunks(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    assert!(turns.chunks(2).any(|pair| pair[0] == 0) && turns.chunks(2).any(|pair| pair[0] == 1));
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn the_same_directory_twice_is_no_error_and_never_faster_beyond_doubt_by_much() {
    let bench = Bench::new();
    bench.small_run(["area", "area", "--passes", "4"]).done().succeeded();
    let record = bench.record("last");
    for pair in record["paired"].as_array().expect("verdicts") {
        // Either the interval holds 1 (same, undecided), or noise moved a whole series of pairs:
        // then it is near 1.
        let ratio = pair["ratio"].as_f64().expect("a ratio");
        assert!((0.2..5.0).contains(&ratio), "{pair}");
        assert_eq!(pair["n"], 4);
    }
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

/// Its read cell met an empty scratch file: one target that may not be written kept the other from
/// being filled.
#[test]
fn a_target_that_cannot_do_what_the_other_can_leaves_the_cell_out_for_both() {
    let bench = Bench::new();
    common::fill(&bench.path("precious.img"), 16 * MIB);
    bench.small_run(["area", "precious.img"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(record["left_out"][0]["name"], "writes");
    assert_eq!(verdicts(&record).len(), 1);
}

#[test]
fn one_of_two_targets_that_is_refused_leaves_nothing_of_the_other() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let bench = Bench::new();
    let run = bench.small_run(["area", device.text()]).done();
    run.refused(&[device.text(), "--destroy"]);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
    assert!(bench.history().is_empty());
}

/// `--reads-only` on a directory ended with "the end of the target was reached": its scratch file
/// was not filled.
#[test]
fn read_cells_alone_read_a_scratch_file_that_was_filled() {
    let bench = Bench::new();
    bench.small_run(["area", "--reads-only"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(common::cell_names(&record), ["reads"]);
    assert!(!common::flags(&record["targets"][0]).contains(&"sparse_file"));
}

#[test]
fn both_targets_are_in_the_record_with_their_cells() {
    let bench = Bench::new();
    bench.small_run(["null:", "area", "--reads-only"]).done().succeeded();
    let record = bench.record("last");
    let kinds = [0, 1].map(|target| record["targets"][target]["kind"].clone());
    assert_eq!(kinds, ["null", "directory"]);
    assert_eq!(cell(&record, "reads")["target"], 0);
    let slower = &record["paired"][0]["ratio"];
    assert!(slower.as_f64().is_some_and(|ratio| ratio < 1.0), "a file is no faster than nothing");
}
