//! The runner with a thread a worker, on the wall clock: how they end together, whatever happens to
//! one of them.

use crate::scripted::{Fate, Lab, Scripted, Walled, Watcher};
use block::IoError;
use lab::runner::{RunError, run};
use record::Record;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const QUICK: Fate = Fate::Done(Duration::from_micros(200));

fn walled(fates: impl Fn(usize, u64) -> Fate + Send + Sync + 'static) -> Walled {
    Walled::new(Scripted::calm().facts.info, fates)
}

/// One pass of `cells` on the target.
fn go(target: &Walled, cells: &str, watcher: &mut Watcher) -> (Record, Result<(), RunError>) {
    // The scripted drive only lends its facts to the plan.
    let lab = Lab::new(&Scripted::calm(), cells).head("seconds_max = 6").once();
    let mut record = lab.record();
    let outcome = run(&lab.plan(), &mut [Box::new(target.clone())], &mut record, watcher);
    (record, outcome)
}

#[test]
fn every_worker_does_its_operations_and_the_last_one_flushes_for_all() {
    let target = walled(|_, _| QUICK);
    let cells = "[[cell]]\nop = 'write'\nbound = '100'\nthreads = 3\nflush = 'timed'";
    let (record, outcome) = go(&target, cells, &mut Watcher::default());
    assert_eq!(outcome, Ok(()));
    assert_eq!(record.cells[0].total.operations, 300);
    assert_eq!(target.flushes.load(Ordering::Relaxed), 1);
    assert!(record.cells[0].passes[0].flush_s.is_some());
    let counted: u64 = record.cells[0].passes[0].series.operations.iter().sum();
    assert!(counted <= 300);
}

#[test]
fn workers_of_unequal_speed_stop_when_the_first_has_written_its_bytes() {
    let target = walled(|worker, _| match worker {
        0 => QUICK,
        _ => Fate::Done(Duration::from_millis(2)),
    });
    let cells = "[[cell]]\nop = 'write'\nthreads = 2\nblock = '1MiB'";
    let lab = Lab::new(&Scripted::calm(), cells).head("written_max = '2GiB'").once();
    let mut record = lab.record();
    let mut targets: [Box<dyn lab::target::Target>; 1] = [Box::new(target.clone())];
    run(&lab.plan(), &mut targets, &mut record, &mut Watcher::default()).expect("a run");
    let written = target.written_bytes.load(Ordering::Relaxed);
    assert!((1 << 30..2 << 30).contains(&written), "{written}");
    assert_eq!(record.cells[0].total.bytes, written);
}

#[test]
fn a_worker_that_fails_stops_the_others() {
    let target = walled(|worker, number| match (worker, number) {
        (1, 20) => Fate::Fails(IoError::Medium),
        _ => QUICK,
    });
    let (_, outcome) = go(&target, "[[cell]]\nop = 'read'\nthreads = 3", &mut Watcher::default());
    assert!(matches!(outcome, Err(RunError::Failed(sentence)) if sentence.contains(": read of")));
}

#[test]
fn a_worker_without_a_seat_ends_the_run_with_its_reason() {
    let target = Walled { refused: Some(2), ..walled(|_, _| QUICK) };
    let (_, outcome) = go(&target, "[[cell]]\nop = 'read'\nthreads = 3", &mut Watcher::default());
    assert!(matches!(outcome, Err(RunError::Target(error)) if error.message.contains("fewer")));
}

#[test]
fn an_interrupt_does_not_wait_for_a_worker_that_hangs_in_the_kernel() {
    let released = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&released);
    let target = walled(move |worker, number| {
        if (worker, number) == (0, 300) {
            std::thread::sleep(Duration::from_secs(20));
            gate.store(true, Ordering::Relaxed);
        }
        QUICK
    });
    let mut watcher = Watcher { interrupt_after: Some(4), ..Watcher::default() };
    let (_, outcome) = go(&target, "[[cell]]\nop = 'read'\nthreads = 2", &mut watcher);
    assert_eq!(outcome, Err(RunError::Interrupted));
    assert!(!released.load(Ordering::Relaxed), "it waited for the worker");
}

/// A worker that panicked never reported again, and the run waited for it for ever: for its seat
/// because the others kept the channel open, later for its ticks.
#[test]
fn a_bug_in_one_worker_ends_the_run_with_its_panic() {
    for bad in [1, 200] {
        let target = walled(move |worker, number| match (worker, number) {
            (1, number) if number == bad => Fate::Panics,
            _ => QUICK,
        });
        let cells = "[[cell]]\nop = 'read'\nthreads = 3";
        let run = || go(&target, cells, &mut Watcher::default());
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the bug shows");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a scripted bug"));
    }
    let seatless = Walled { broken: Some(2), ..walled(|_, _| QUICK) };
    let cells = "[[cell]]\nop = 'read'\nthreads = 3";
    let run = || go(&seatless, cells, &mut Watcher::default());
    catch_unwind(AssertUnwindSafe(run)).expect_err("the bug shows");
}
