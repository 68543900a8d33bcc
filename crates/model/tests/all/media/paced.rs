//! Pacing, on a clock that follows a script, and measured on the real one.

use super::drive::{request, sectors};
use block::{
    Command, Completion, Data, Drive, Effects, Engine, Geometry, Instant, Machine, Payload, Request,
};
use model::{Paced, STALL_NS, Sim, WallClock};
use std::{cell::RefCell, collections::VecDeque};
use testkit::Shuffling;

/// A clock that wakes late as scripted, and moves only when slept on.
#[derive(Default)]
struct Scripted {
    state: RefCell<(u64, VecDeque<u64>)>,
}

impl Scripted {
    fn late_by(script: &[u64]) -> Self {
        Self { state: RefCell::new((0, script.iter().copied().collect())) }
    }
}

impl WallClock for &Scripted {
    fn now(&self) -> Instant {
        Instant(self.state.borrow().0)
    }

    fn sleep_until(&self, until: Instant) -> Instant {
        assert!(until != Instant::NEVER);
        let (now, script) = &mut *self.state.borrow_mut();
        *now = (*now).max(until.0) + script.pop_front().unwrap_or(0);
        Instant(*now)
    }
}

/// Serves one request at a time, 100 us each, and begins the next when it wakes: a real queue.
#[derive(Default)]
struct Serial {
    queue: VecDeque<(Request, Instant)>,
    done_at: Option<Instant>,
}

const SERVICE_NS: u64 = 100_000;

impl Machine for Serial {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: 1 << 20,
            block_bytes: 512,
            transfer_bytes_max: 1 << 20,
            queue_depth: 64,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        self.queue.push_back((request, now));
        self.done_at.get_or_insert(now.after(SERVICE_NS));
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        let (request, issued) = self.queue.pop_front().expect("woken for a request");
        effects.up.push(Completion {
            tag: request.tag,
            issued,
            finished: now,
            result: Ok(()),
            payload: Payload::None,
        });
        self.done_at = (!self.queue.is_empty()).then(|| now.after(SERVICE_NS));
    }

    fn next_wakeup(&self) -> Instant {
        self.done_at.unwrap_or(Instant::NEVER)
    }
}

fn finish_times(engine: &mut impl Engine, count: u64) -> Vec<u64> {
    let mut done = Vec::new();
    for tag in 0..count {
        engine.submit(request(tag, Drive(0), Command::Flush));
    }
    while done.len() < count as usize {
        engine.wait(Instant::NEVER, &mut done);
    }
    done.iter().map(|answer| answer.finished.0).collect()
}

#[test]
fn lateness_is_seen_counted_and_never_adds_up() {
    let script = [3_000, 0, 90_000, 7_000, 250_000, 0, 2_000_000];
    let clock = Scripted::late_by(&script);
    let mut paced = Paced::new(Serial::default(), &clock);
    let finished = finish_times(&mut paced, 40);
    // The queue's own times are 100, 200, ... us: whoever wakes late hands out all that is due.
    let due: Vec<u64> = (1..=40).map(|number| number * SERVICE_NS).collect();
    let mut expected = Vec::new();
    let mut late = script.iter();
    while expected.len() < due.len() {
        let now = due[expected.len()] + late.next().unwrap_or(&0);
        expected.extend(due[expected.len()..].iter().take_while(|&&due| due <= now).map(|_| now));
    }
    assert_eq!(finished, expected);

    let errors: Vec<u64> = finished.iter().zip(&due).map(|(seen, due)| seen - due).collect();
    let lateness = paced.lateness();
    assert_eq!(lateness.count(), 40);
    assert_eq!(lateness.ns_max(), 2_000_000);
    let stalls = errors.iter().filter(|&&error| error > STALL_NS).count() as u64;
    assert!(stalls > 0);
    assert_eq!(lateness.stalls(), stalls);
    assert!(paced.lateness().to_string().contains(&format!("{stalls} later than 1 ms")));
}

#[test]
fn on_a_punctual_clock_pacing_is_the_virtual_clock() {
    let clock = Scripted::default();
    let mut paced = Paced::new(Shuffling::new(1 << 20, 3), &clock);
    let mut sim = Sim::new(Shuffling::new(1 << 20, 3));
    assert_eq!(finish_times(&mut paced, 16), finish_times(&mut sim, 16));
    assert_eq!((paced.lateness().ns_max(), paced.lateness().count()), (0, 16));
}

#[test]
fn a_wait_ends_at_its_instant_and_a_past_one_polls() {
    let clock = Scripted::default();
    let mut paced = Paced::new(Serial::default(), &clock);
    let mut done = Vec::new();
    paced.submit(request(1, Drive(0), Command::Flush));
    paced.wait(Instant(40_000), &mut done);
    assert_eq!((done.len(), paced.now()), (0, Instant(40_000)));
    assert_eq!(paced.next_wakeup(), Instant(SERVICE_NS));
    (&clock).sleep_until(Instant(150_000));
    paced.wait(Instant(0), &mut done);
    assert_eq!((done.len(), done[0].finished), (1, Instant(150_000)));
    assert_eq!(paced.lateness().ns_max(), 50_000);
}

#[test]
fn a_request_is_issued_when_it_is_submitted_not_when_somebody_last_waited() {
    let clock = Scripted::default();
    let mut paced = Paced::new(Serial::default(), &clock);
    (&clock).sleep_until(Instant(1_000_000));
    let finished = finish_times(&mut paced, 1);
    assert_eq!(finished, [1_000_000 + SERVICE_NS]);
}

#[test]
#[should_panic(expected = "stalled")]
fn waiting_for_ever_for_nothing_is_refused() {
    let clock = Scripted::default();
    Paced::new(Serial::default(), &clock).wait(Instant::NEVER, &mut Vec::new());
}

/// Sleeps until 60 us before the time, then spins.
struct Real(std::time::Instant);

impl WallClock for Real {
    fn now(&self) -> Instant {
        Instant(self.0.elapsed().as_nanos() as u64)
    }

    fn sleep_until(&self, until: Instant) -> Instant {
        let early = until.since(self.now()).saturating_sub(60_000);
        std::thread::sleep(std::time::Duration::from_nanos(early));
        while self.now() < until {
            std::hint::spin_loop();
        }
        self.now()
    }
}

/// A measurement, to be read:
/// `cargo test -p drivelab-model --release -- --ignored --nocapture timing_error`.
#[test]
#[ignore = "a measurement on the real clock"]
fn the_timing_error_on_the_real_clock() {
    for depth in [1, 8] {
        let clock = Real(std::time::Instant::now());
        let mut paced = Paced::new(Shuffling::new(1 << 20, 3), clock);
        let (mut done, mut submitted) = (Vec::new(), 0);
        while paced.lateness().count() < 20_000 {
            while submitted < paced.lateness().count() + depth {
                let command = Command::Read { at: sectors(0, 1), into: Payload::None };
                paced.submit(request(submitted, Drive(0), command));
                submitted += 1;
            }
            done.clear();
            paced.wait(Instant::NEVER, &mut done);
        }
        eprintln!("depth {depth}: {}", paced.lateness());
    }
}
