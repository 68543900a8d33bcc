//! Runs that were interrupted or killed, and go on.

use crate::{
    runner::{MIB, ROUNDS, THREE_CELLS, exact, lab, log, settling},
    scripted::{Kind, Scripted, Watcher, cell},
};
use lab::{plan::Options, runner::RunError};
use record::{Cell, PairedVerdict, Record, State};

fn passes_of(record: &Record) -> Vec<(String, u32, u64, u32)> {
    let each = |cell: &Cell| {
        let name = cell.name.clone();
        cell.passes
            .iter()
            .map(|pass| (name.clone(), pass.pass, pass.total.operations, pass.order))
            .collect::<Vec<_>>()
    };
    record.cells.iter().flat_map(each).collect()
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_resuming_does_just_the_rest() {
    let drive = || exact(137_000, 163_000, 350_000);
    let whole = lab(&drive(), THREE_CELLS).run();
    let mut last = 0;
    for interrupt_after in [0, 1, 6, 9, 20, 40] {
        let first = drive();
        let mut record = lab(&first, THREE_CELLS).record();
        let mut watcher = Watcher { interrupt_after: Some(interrupt_after), ..Watcher::default() };
        let outcome = lab(&first, THREE_CELLS).go_on(&mut record, &mut watcher);
        assert_eq!(outcome, Err(RunError::Interrupted), "after {interrupt_after}");
        assert_eq!(record.state, State::Interrupted);
        let kept = passes_of(&record).len();
        assert!(kept >= last && kept < 9, "{kept} passes after {interrupt_after} looks");
        last = kept;
        let second = drive();
        lab(&second, THREE_CELLS).go_on(&mut record, &mut Watcher::default()).expect("the rest");
        assert_eq!(second.life.borrow().opened, 9 - kept as u64, "passes done twice or not at all");
        assert_eq!((record.state, &record.error), (State::Complete, &None));
        assert_eq!(passes_of(&record), passes_of(&whole));
        for (resumed, uninterrupted) in record.cells.iter().zip(&whole.cells) {
            assert_eq!(resumed.iops, uninterrupted.iops);
            let histogram = |cell: &Cell| cell.latency.as_ref().map(|l| l.histogram.clone());
            assert_eq!(histogram(resumed), histogram(uninterrupted));
        }
    }
    assert!(last >= 3, "some interrupts come late");
}

/// Cells stood in the order in which they ran until a run had ended well.
#[test]
fn a_record_lists_cells_in_the_methods_order_even_when_it_was_interrupted() {
    let cells: String = (0..6)
        .map(|number| format!("[[cell]]\nname = 'c{number}'\nop = 'read'\nbound = '3000'\n"))
        .collect();
    let drive = exact(137_000, 1, 1);
    let lab = lab(&drive, &cells);
    let mut record = lab.record();
    let mut watcher = Watcher { interrupt_after: Some(28), ..Watcher::default() };
    lab.go_on(&mut record, &mut watcher).expect_err("interrupted");
    let names: Vec<&str> = record.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert!(names.len() >= 4 && names.is_sorted(), "{names:?}");
}

#[test]
fn what_an_interrupted_run_wrote_counts_when_it_is_resumed() {
    let cells = "[[cell]]\nname = 'w'\nop = 'write'\nbound = 'once'";
    let limit = 150 * MIB;
    let options = |options: &mut Options| {
        options.written_bytes_max = Some(limit);
        options.span_bytes = Some(64 * MIB);
    };
    let drive = Scripted::calm();
    let lab = lab(&drive, cells).with(options);
    let mut record = lab.record();
    let mut watcher = Watcher { interrupt_after: Some(30), ..Watcher::default() };
    lab.go_on(&mut record, &mut watcher).expect_err("interrupted");
    assert_eq!(cell(&record, "w").passes.len(), 1);
    lab.go_on(&mut record, &mut Watcher::default()).expect("the rest");
    let measured: u64 = cell(&record, "w").total.bytes;
    assert_eq!(measured, 128 * MIB, "a third pass would need 192 MiB");
    assert_eq!(record.left_out[0].name, "w");
}

/// An interrupted comparison had no verdicts, however many pairs it had.
#[test]
fn an_interrupted_comparison_says_what_its_pairs_say() {
    let (a, b) = (exact(137_000, 1, 1), exact(100_000, 1, 1));
    let lab = lab(&a, "[[cell]]\nname = 'r'\nop = 'read'\nbound = '5000'").against(&b);
    let mut record = lab.record();
    let mut watcher = Watcher { interrupt_after: Some(44), ..Watcher::default() };
    lab.go_on(&mut record, &mut watcher).expect_err("interrupted");
    let pair = &record.paired[0];
    assert!(pair.n >= 2 && pair.n < 4 && pair.verdict == PairedVerdict::Faster, "{pair:?}");
}

/// The question whether rounds are over came only after a pass that was made: a run killed between
/// the two measured another round when it was resumed.
#[test]
fn a_run_killed_in_its_last_round_resumes_to_nothing_more() {
    let whole = lab(&settling(), ROUNDS).head("order = 'fixed'").run();
    let mut killed = whole.clone();
    (killed.state, killed.rounds) = (State::Running, None);
    let again = settling();
    let lab = lab(&again, ROUNDS).head("order = 'fixed'");
    lab.go_on(&mut killed, &mut Watcher::default()).expect("nothing to do");
    assert_eq!(again.life.borrow().opened, 0);
    assert_eq!(killed.rounds, whole.rounds);
}

/// A run on a growing file was interrupted between the write that made the file and the read of it.
/// When it was resumed, the scratch file was new and empty, and the read failed at its end.
#[test]
fn a_chain_of_cells_on_one_file_is_rebuilt_when_it_is_resumed() {
    let cells = "[[cell]]\nname = 'w'\nop = 'write'\nbound = 'once'\nbefore = ['new_file']\n\
                 [[cell]]\nname = 'x'\nop = 'read'\nbound = 'once'\n\
                 [[cell]]\nname = 'r'\nop = 'read'\nbound = 'once'";
    let span = |options: &mut Options| options.span_bytes = Some(8 * MIB);
    let whole = lab(&Scripted::calm(), cells).with(span).once().run();
    let mut record = whole.clone();
    record.cells.retain(|cell| cell.name != "r");
    record.state = State::Interrupted;
    let again = Scripted::calm();
    let lab = lab(&again, cells).with(span).once();
    lab.go_on(&mut record, &mut Watcher::default()).expect("the rest");
    let log = log(&again);
    let of = |kind: Kind| log.iter().filter(|at| at.kind == kind).count() as u64;
    assert_eq!((of(Kind::Write), of(Kind::Read)), (8 * MIB / 4096, 8 * MIB / 4096));
    assert!(log.first().is_some_and(|at| at.kind == Kind::Write), "the file first");
    assert_eq!(passes_of(&record), passes_of(&whole), "repeated writes are not recorded");
}
