//! The runner on drives that fail: which cell it ends, and what the record says of it.

use crate::{
    runner::{MIB, THREE_CELLS, lab, log},
    scripted::{Kind, Lab, Life, Scripted, Watcher, cell},
};
use block::IoError;
use lab::{runner::RunError, workload::OnError};
use record::{Flag, Record, State};
use std::rc::Rc;

fn stopping(target: &Scripted, cells: &str) -> Lab {
    lab(target, cells).with(|options| options.on_error = Some(OnError::Stop))
}

/// A drive of which reads fail that meet this block.
fn with_bad_block(offset: u64) -> Scripted {
    Scripted::calm().failing(move |at| {
        (at.kind == Kind::Read && at.offset == offset).then_some(IoError::Medium)
    })
}

/// Reads sequentially, and writes anywhere.
const TWO_CELLS: &str = "[[cell]]\nname = 'all'\nop = 'read'\npattern = 'seq'\nbound = '2000'\n\
    [[cell]]\nname = 'writes'\nop = 'write'\nbound = '2000'";

/// One bad sector ended a whole run: "No cell was measured".
#[test]
fn a_bad_block_fails_its_cell_and_the_others_are_measured() {
    let bad = 1000 * 4096;
    let lab = lab(&with_bad_block(bad), TWO_CELLS);
    let mut record = lab.record();
    let failed = lab.go_on(&mut record, &mut Watcher::default()).expect_err("a cell failed");
    let passes: Vec<(&str, u32)> =
        record.failed.iter().map(|cell| (cell.name.as_str(), cell.pass)).collect();
    assert_eq!(passes, [("all", 0), ("all", 1), ("all", 2)]);
    for cell in &record.failed {
        assert_eq!((cell.errors.count, cell.errors.first[0].offset), (1, bad));
        assert_eq!(cell.errors.latency.as_ref().map(|latency| latency.n), Some(1));
        assert!(cell.reason.starts_with("read of 4 KiB at offset 4096000 of scripted failed: "));
    }
    let names: Vec<&str> = record.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!((names, record.cells[0].passes.len()), (vec!["writes"], 3));
    assert_eq!((record.state, record.error.clone()), (State::Failed, Some(failed.to_string())));
    assert!(failed.to_string().starts_with("all: read of 4 KiB at offset 4096000 of scripted"));

    // The sector is mended: what goes on measures what is missing, and nothing else.
    let again = Lab { targets: vec![Scripted::calm()], ..lab };
    again.go_on(&mut record, &mut Watcher::default()).expect("all is well");
    assert_eq!((record.state, record.failed.len()), (State::Complete, 0));
    let passes: Vec<usize> = record.cells.iter().map(|cell| cell.passes.len()).collect();
    assert_eq!(passes, [3, 3]);
}

#[test]
fn errors_that_are_counted_are_in_no_rate_and_no_latency() {
    let bad = 1000 * 4096;
    let slow_to_fail = Scripted::new(move |at| match at.offset {
        offset if at.kind == Kind::Read && offset == bad => 30_000_000,
        _ => 100_000,
    });
    let drive = slow_to_fail
        .failing(move |at| (at.kind == Kind::Read && at.offset == bad).then_some(IoError::Os(5)));
    let lab = lab(&drive, TWO_CELLS).once().with(|options| options.on_error = Some(OnError::Count));
    let mut record = lab.record();
    lab.go_on(&mut record, &mut Watcher::default()).expect("they are counted");
    assert_eq!((record.state, record.failed.len()), (State::Complete, 0));
    let all = cell(&record, "all");
    assert_eq!((all.total.operations, all.total.errors), (1999, 1));
    let errors = all.errors.as_ref().expect("one failed");
    assert_eq!((errors.count, errors.first[0].offset), (1, bad));
    assert_eq!(errors.latency.as_ref().map(|latency| latency.max_ns), Some(30_000_000));
    assert_eq!(
        all.latency.as_ref().map(|latency| (latency.n, latency.max_ns)),
        Some((1999, 100_000))
    );
    assert_eq!(all.flags.iter().filter(|flag| **flag == Flag::IoErrors).count(), 1);
    let writes = cell(&record, "writes");
    assert!(writes.errors.is_none() && !writes.flags.contains(&Flag::IoErrors));
}

/// Where every request failed there was no rate to divide by.
#[test]
fn a_cell_of_which_nothing_succeeds_has_failed_even_where_errors_are_counted() {
    let drive = Scripted::calm().failing(|at| (at.kind == Kind::Read).then_some(IoError::Medium));
    let lab = lab(&drive, TWO_CELLS).once().with(|options| options.on_error = Some(OnError::Count));
    let mut record = lab.record();
    lab.go_on(&mut record, &mut Watcher::default()).expect_err("one cell failed");
    assert_eq!((record.failed.len(), record.failed[0].errors.count), (1, 2000));
    assert_eq!(record.failed[0].errors.first.len(), 8);
    assert_eq!(record.cells.len(), 1);
}

/// A drive that was pulled out was called "the end of the target was reached: put `fill = 1`".
#[test]
fn a_target_that_is_gone_ends_the_run_whatever_was_asked() {
    for on_error in [OnError::Stop, OnError::Cell, OnError::Count] {
        let pulled = |life: &Life| (life.requests > 3000).then(|| "it is gone".to_owned());
        let drive = Scripted::calm()
            .failing(|at| (at.number >= 3000).then_some(IoError::Short))
            .with(|facts| facts.vanished = Rc::new(pulled));
        let lab = lab(&drive, TWO_CELLS).once().with(|options| options.on_error = Some(on_error));
        let mut record = lab.record();
        let failed = lab.go_on(&mut record, &mut Watcher::default()).expect_err("it is gone");
        assert_eq!(failed, RunError::Failed("it is gone".to_owned()), "{on_error}");
        assert_eq!(record.error.as_deref(), Some("it is gone"));
        assert_eq!(record.cells.len(), 1, "what was measured is kept");
    }
}

/// A bad sector under the fill ended the run before its first cell.
#[test]
fn an_area_that_cannot_be_filled_everywhere_is_measured_where_it_can() {
    let bad = 5 * MIB;
    let drive = || {
        Scripted::calm().failing(move |at| {
            let is_bad = at.offset <= bad && bad < at.offset + u64::from(at.bytes);
            (at.kind == Kind::Write && is_bad).then_some(IoError::Medium)
        })
    };
    let cells = "[[cell]]\nname = 'reads'\nop = 'read'\nbound = '100'";
    let filled = |on_error| {
        let lab = lab(&drive(), cells).head("fill = 1").once();
        let lab = lab.with(|options| options.on_error = Some(on_error));
        let mut record = lab.record();
        (lab.go_on(&mut record, &mut Watcher::default()), record)
    };
    let (outcome, record) = filled(OnError::Cell);
    assert_eq!(outcome, Ok(()));
    let said = |record: &Record| {
        let mut warnings = record.targets[0].warnings.iter();
        warnings.any(|warning| warning.text.starts_with("the tested area is not filled everywhere"))
    };
    assert!(said(&record) && record.cells.len() == 1);
    let (outcome, record) = filled(OnError::Stop);
    assert!(outcome.is_err() && !said(&record));
}

#[test]
fn a_failing_operation_ends_the_run_says_which_and_keeps_earlier_cells() {
    let cases = [
        (Kind::Read, IoError::Medium, "no readable data"),
        (Kind::Write, IoError::Os(28), "No space left on device"),
        (Kind::Write, IoError::Offline, "the drive is gone"),
    ];
    for (kind, error, cause) in cases {
        let drive = Scripted::calm()
            .failing(move |at| (at.number >= 10_000 && at.kind == kind).then_some(error));
        let lab = stopping(&drive, THREE_CELLS);
        let mut record = lab.record();
        let mut watcher = Watcher::default();
        let failed = lab.go_on(&mut record, &mut watcher).expect_err("the drive fails");
        let RunError::Failed(sentence) = &failed else { panic!("{failed:?}") };
        let offset = log(&drive)
            .iter()
            .enumerate()
            .find(|(number, at)| *number >= 10_000 && at.kind == kind)
            .map(|(_, at)| at.offset)
            .expect("it failed");
        let verb = if kind == Kind::Read { "read" } else { "write" };
        let start = format!("{verb} of 4 KiB at offset {offset} of scripted failed: ");
        assert!(sentence.starts_with(&start) && sentence.contains(cause), "{sentence}");
        assert_eq!((record.state, record.error.as_ref()), (State::Failed, Some(sentence)));
        let passes: usize = record.cells.iter().map(|cell| cell.passes.len()).sum();
        assert!(passes >= 3, "10,000 operations are three passes and a bit: {passes}");
        assert!(record.cells.iter().all(|cell| {
            cell.passes.iter().all(|pass| pass.total.operations == 3000 && pass.total.errors == 0)
        }));
    }
}

/// A flush has no offset, but the sentence named one: that of an operation before it, or 0.
#[test]
fn a_failing_flush_is_called_a_flush_and_nothing_else() {
    let cells = [
        "[[cell]]\nop = 'write'\nbound = '100'\nflush = 'timed'",
        "[[cell]]\nop = 'write'\nbound = '100'\nflush_every = 8",
        "[[cell]]\nop = 'commit'\nbound = '100'",
    ];
    for cells in cells {
        let drive =
            Scripted::calm().failing(|at| (at.kind == Kind::Flush).then_some(IoError::Os(5)));
        let lab = stopping(&drive, cells);
        let mut record = lab.record();
        let failed = lab.go_on(&mut record, &mut Watcher::default()).expect_err("no flush");
        let sentence = failed.to_string();
        assert!(sentence.starts_with("flush of scripted failed: Input/output error"), "{sentence}");
    }
}
