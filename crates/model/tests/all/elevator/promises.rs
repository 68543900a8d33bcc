//! What each policy promises.

use super::rig::{Bench, MS, extent, policies, read, write};
use block::{Command, Instant, Machine, Rng};
use model::{
    ElevatorParams,
    elevator::{Cfq, Deadline, Policy},
};

#[test]
fn noop_keeps_the_order() {
    let mut rng = Rng::new(7, 0);
    let mut bench = Bench::new(ElevatorParams::of(Policy::Noop, 1));
    let asked: Vec<u64> = (0..100).map(|_| rng.below(1 << 20) * 8192).collect();
    for (number, &offset) in asked.iter().enumerate() {
        bench.ask(0, if number % 3 == 0 { write(offset, 4096) } else { read(offset, 4096) });
    }
    let sent: Vec<u64> = bench.serve_all(MS).iter().map(|one| extent(&one.command).0).collect();
    assert_eq!(sent, asked);
}

/// How long a read far away waits while every read that is done is followed by one near the head,
/// and the same number of writes waits beside.
fn wait_of_a_far_read(deadline: Deadline, service_ns: u64, beside_writes: bool) -> u64 {
    const NEAR: u64 = 40;
    let mut bench = Bench::new(ElevatorParams::of(Policy::Deadline(deadline), 1));
    let mut place = 0;
    for _ in 0..NEAR {
        bench.ask(1, read(place << 20, 4096));
        place += 1;
    }
    let far = bench.ask(0, read(1 << 39, 4096));
    if beside_writes {
        (0..NEAR).for_each(|number| {
            bench.ask(2, write((1 << 38) + (number << 20), 4096));
        });
    }
    bench.pass(bench.now);
    while bench.now < Instant(60_000 * MS) {
        bench.pass(bench.now.after(service_ns));
        let done = bench.answer(0);
        for answer in bench.answers.drain(..) {
            if answer.tag.0 == far {
                // It waited until its service began.
                return bench.now.0 - service_ns;
            }
        }
        match done.command {
            Command::Read { .. } => bench.ask(1, read(place << 20, 4096)),
            _ => bench.ask(2, write((1 << 38) + (place << 20), 4096)),
        };
        place += 1;
    }
    bench.now.0
}

#[test]
fn no_read_waits_for_longer_than_read_expire_and_the_batches_under_way() {
    let usual = Deadline::default();
    let batch_ns = |service_ns: u64| u64::from(usual.fifo_batch) * service_ns;
    for service_ns in [MS, 5 * MS, 12 * MS] {
        // What came before it is older: those that are overdue with it go first, each with a batch
        // of its own. They are 40, of which a batch takes 16.
        let older = 40u64.div_ceil(16);
        let limit = usual.read_expire_ns + (older + 1) * batch_ns(service_ns);
        let alone = wait_of_a_far_read(usual.clone(), service_ns, false);
        assert!(alone <= limit, "{service_ns} ns each: {} ms", alone / MS);
        // Writes have a batch for every two of reads.
        let beside = wait_of_a_far_read(usual.clone(), service_ns, true);
        let limit = usual.read_expire_ns + (older + 1) * 3 * batch_ns(service_ns) / 2;
        assert!(beside <= limit + batch_ns(service_ns), "beside writes: {} ms", beside / MS);
    }
    // It is the time that does it: without, the sweep stays where the others are.
    let patient = Deadline { read_expire_ns: 3_600_000 * MS, ..usual };
    assert!(wait_of_a_far_read(patient, 5 * MS, false) >= 60_000 * MS);
}

#[test]
fn deadline_lets_two_batches_of_reads_pass_over_writes() {
    let mut bench = Bench::new(ElevatorParams::of(Policy::Deadline(Deadline::default()), 1));
    for number in 0..100u64 {
        bench.ask(0, read(number << 20, 4096));
        bench.ask(0, write((1 << 38) + (number << 20), 4096));
    }
    let sent = bench.serve_all(1000);
    let is_read = |place: usize| matches!(sent[place].command, Command::Read { .. });
    assert!((0..32).all(is_read) && (48..80).all(is_read));
    assert!(!(32..48).any(is_read));
}

/// Reads of two readers, each with its next one ready a while after its last one's answer; how
/// often the device is sent from one to the other in 200 reads.
fn changes(policy: Policy, think_ns: u64) -> usize {
    let mut bench = Bench::new(ElevatorParams::of(policy, 1));
    let mut next = [0u64, 1 << 38];
    let mut wakes = [Some(Instant(0)); 2];
    let mut order = Vec::new();
    while order.len() < 200 {
        let due = wakes.iter().flatten().min().copied().unwrap_or(Instant::NEVER);
        if due <= bench.now {
            for (reader, wake) in wakes.iter_mut().enumerate() {
                if wake.is_some_and(|wake| wake <= bench.now) {
                    bench.ask(reader as u16, read(next[reader], 65_536));
                    next[reader] += 65_536;
                    *wake = None;
                }
            }
            bench.pass(bench.now);
        } else if bench.at_device.is_empty() {
            bench.pass(due.min(bench.elevator.next_wakeup()));
        } else {
            bench.pass(bench.now.after(MS));
            let done = bench.answer(0);
            bench.answers.clear();
            let reader = usize::from(done.actor.0);
            order.push(reader);
            wakes[reader] = Some(bench.now.after(think_ns));
        }
    }
    order.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[test]
fn readers_who_think_briefly_are_waited_for_by_cfq_and_anticipatory_alone() {
    for policy in policies() {
        let waits = matches!(policy, Policy::Cfq(_) | Policy::Anticipatory(_));
        let seen = changes(policy.clone(), MS / 10);
        assert!(if waits { seen <= 20 } else { seen >= 90 }, "{policy:?}: {seen}");
        // Who thinks for 20 ms is not waited for, once that is known.
        let seen = changes(policy.clone(), 20 * MS);
        assert!(seen >= 90, "{policy:?}: {seen}");
    }
    let impatient = Policy::Cfq(Cfq { slice_idle_ns: 0, ..Cfq::default() });
    assert!(changes(impatient, MS / 10) >= 90);
}

#[test]
fn a_reader_is_served_before_the_writes_that_wait() {
    for policy in policies() {
        let mut bench = Bench::new(ElevatorParams::of(policy.clone(), 1));
        (0..100u64).for_each(|number| {
            bench.ask(1, write(number << 20, 4096));
        });
        bench.pass(bench.now);
        bench.pass(Instant(MS));
        bench.ask(0, read(1 << 38, 4096));
        let sent = bench.serve_all(5 * MS);
        let place = sent.iter().position(|one| matches!(one.command, Command::Read { .. }));
        let place = place.expect("it is served");
        match policy {
            Policy::Noop => assert_eq!(place, 100),
            // The batch of 16 that has begun ends first.
            Policy::Deadline(_) => assert_eq!(place, 16),
            Policy::Cfq(_) => assert_eq!(place, 1),
            // Writes have 125 ms, of 5 ms each.
            Policy::Anticipatory(_) => assert!((20..30).contains(&place), "{place}"),
        }
    }
}
