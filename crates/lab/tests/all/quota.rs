//! What a method of a quota needs of the runner: a bound that ends when a rate fell, a rest, a rate
//! of another cell.

use crate::scripted::{Lab, Scripted};
use lab::{method::Method, plan::Options};
use record::Record;

const MS: u64 = 1_000_000;

/// 1 ms a read for so long, then 10 ms, one at a time: 1,000 and 100 a second.
fn falling(after_s: u64) -> Scripted {
    let service = move |at: &crate::scripted::Service| {
        if at.pass_ns < after_s * 1000 * MS { MS } else { 10 * MS }
    };
    Scripted::new(service).scripted(|script| script.parallelism = 1)
}

fn seconds(record: &Record, name: &str) -> f64 {
    let cell = record.cells.iter().find(|cell| cell.name == name).expect("it ran");
    cell.passes[0].total.seconds
}

#[test]
fn a_cell_that_drains_ends_soon_after_its_rate_fell_and_else_when_its_seconds_are_over() {
    let cell = "[[cell]]\nname = 'burst'\nop = 'read'\nbound = 'drain'\nseconds = 200";
    for (after_s, least, most) in [(5, 15.0, 17.0), (100, 120.0, 122.0), (300, 200.0, 200.5)] {
        let record = Lab::new(&falling(after_s), cell).once().run();
        let seen = seconds(&record, "burst");
        assert!((least..most).contains(&seen), "a fall after {after_s} s: {seen} s");
    }
}

#[test]
fn a_cells_own_seconds_are_kept_and_its_rest_lies_before_it() {
    let cells = "[[cell]]\nname = 'one'\nop = 'read'\nseconds = 7\n\
                 [[cell]]\nname = 'two'\nop = 'read'\nseconds = 3\nrest = 40";
    let lab = Lab::new(&Scripted::calm(), cells).head("order = 'fixed'").once();
    let record = lab.run();
    assert!((seconds(&record, "one") - 7.0).abs() < 0.2);
    assert!((seconds(&record, "two") - 3.0).abs() < 0.2);
    let [one, two] = [0, 1].map(|at| &record.cells[at].passes[0]);
    let between = two.started_s - one.started_s - one.total.seconds;
    assert!((between - 40.0).abs() < 1e-6, "{between} s");
    // What the plan says before.
    let [least, most] = [lab.plan().seconds.0, lab.plan().seconds.1];
    assert!((least - 50.0).abs() < 0.1 && (most - 50.0).abs() < 0.1, "{least} to {most} s");
    let page = lab.plan().outline();
    assert!(page.cells[1].course.contains("a rest of 40 s first"), "{}", page.cells[1].course);
}

#[test]
fn a_limit_on_the_run_cuts_the_longest_cells_and_rests_first() {
    let cells = "[[cell]]\nname = 'one'\nop = 'read'\nseconds = 200\n\
                 [[cell]]\nname = 'two'\nop = 'read'\nseconds = 4\nrest = 40";
    let lab = Lab::new(&Scripted::calm(), cells).once();
    let plan = lab.with(|options| options.seconds_max = Some(64.0)).plan();
    let seconds = |at: usize| plan.cells[at].seconds.expect("its own");
    assert!((seconds(0) - 30.0).abs() < 0.01 && (plan.cells[1].rest_s - 30.0).abs() < 0.01);
    assert_eq!(seconds(1), 4.0);
}

#[test]
fn a_rate_that_is_a_share_of_another_cells_is_asked_for_and_kept_in_the_record() {
    let cells = "[[cell]]\nname = 'all'\nop = 'read'\nseconds = 5\n\
                 [[cell]]\nname = 'half'\nop = 'read'\nseconds = 5\nrate_of = '50 % of all'";
    let drive = Scripted::new(|_| MS).scripted(|script| script.parallelism = 1);
    let record = Lab::new(&drive, cells).head("order = 'fixed'").once().run();
    assert!((record.cells[0].iops - 1000.0).abs() < 5.0, "{}", record.cells[0].iops);
    assert!((record.cells[1].iops - 500.0).abs() < 5.0, "{}", record.cells[1].iops);
    let asked = record.cells[1].coordinates["rate"].as_f64().expect("a number");
    assert!((asked - 0.5 * record.cells[0].iops).abs() < 0.11);
}

#[test]
fn a_share_of_what_is_no_rate_is_refused_or_left_out() {
    let parse = |cells: &str| Method::parse("test", &crate::scripted::method(cells), &[]);
    let refusals = [
        ("[[cell]]\nop = 'read'\nrate_of = '95 % of all'", "no cell before it"),
        ("[[cell]]\nop = 'read'\nrate_of = 'all'", "95 % of read-4K"),
        ("[[cell]]\nop = 'read'\nrate_of = '0 % of all'", "1 to 1000 %"),
        ("[[cell]]\nop = 'read'\nrest = -1", "rest = -1"),
        ("[[cell]]\nop = 'read'\nseconds = 0", "seconds = 0"),
    ];
    for (cells, told) in refusals {
        let said = parse(cells).expect_err(cells).to_string();
        assert!(said.contains(told), "{said}");
    }
    let cells = "[[cell]]\nname = 'all'\nop = 'write'\n\
                 [[cell]]\nname = 'half'\nop = 'read'\nrate_of = '50 % of all'\nseconds = 1";
    let lab = Lab::new(&Scripted::calm(), cells).head("order = 'fixed'").once();
    let lab = lab.with(|options: &mut Options| options.reads_only = true);
    let record = lab.run();
    let half = record.left_out.iter().find(|cell| cell.name == "half").expect("left out");
    assert!(half.reason.contains("all, which has none"), "{}", half.reason);
}
