//! Whatever the policy: everything is served once, and as what was asked for.

use super::rig::{Bench, extent, policies, read, write};
use block::{Command, Instant, Machine};
use model::{ElevatorParams, elevator::Policy};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    Ask { actor: u16, kind: u8, block: u64, blocks: u32 },
    Answer(usize),
    Pass(u64),
}

fn a_step() -> impl Strategy<Value = Step> {
    let ask = (0..4u16, 0..20u8, 0..64u64, 1..4u32);
    prop_oneof![
        4 => ask.prop_map(|(actor, kind, block, blocks)| Step::Ask { actor, kind, block, blocks }),
        2 => any::<usize>().prop_map(Step::Answer),
        1 => (0..20_000_000u64).prop_map(Step::Pass),
    ]
}

fn a_policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(policies().to_vec())
}

/// What was asked for and is not answered yet: direction or kind, first byte, bytes.
type Asked = BTreeMap<u64, (u8, u64, u64)>;

/// One request at the device is answered: the answers that come of it tile its extent.
fn answer(bench: &mut Bench, place: usize, asked: &mut Asked, bytes_max: u64) {
    let request = bench.answer(place);
    let (offset, bytes) = extent(&request.command);
    let answers = std::mem::take(&mut bench.answers);
    assert!(!answers.is_empty(), "an answer from below is one for above");
    let mut end = offset;
    for done in &answers {
        let (kind, first, length) = asked.remove(&done.tag.0).expect("answered once");
        let as_sent = match &request.command {
            Command::Read { .. } => 0,
            Command::Write { .. } => 1,
            Command::Flush => 2,
            Command::Discard { .. } => 3,
        };
        assert_eq!(kind, as_sent, "what was asked for is what was sent");
        assert_eq!(first, end, "they lie side by side, in order");
        end += length;
    }
    assert_eq!(end, offset + bytes, "the bytes sent are the bytes asked for");
    assert!(answers.len() == 1 || bytes <= bytes_max, "{bytes} B is too long");
    assert!(
        answers.len() == 1
            || matches!(request.command, Command::Read { .. } | Command::Write { .. })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_request_is_answered_once_and_as_it_was_asked(
        policy in a_policy(),
        steps in prop::collection::vec(a_step(), 1..300),
        queued in 4..20u32,
        depth in 1..5u32,
    ) {
        let bytes_max = 32 << 10;
        let params = ElevatorParams {
            queued_requests_max: queued,
            request_bytes_max: bytes_max,
            ..ElevatorParams::of(policy, depth)
        };
        let mut bench = Bench::new(params);
        let mut asked = Asked::new();
        for step in steps {
            match step {
                Step::Ask { actor, kind, block, blocks } => {
                    let (offset, bytes) = (block * 4096, blocks * 4096);
                    let (kind, command) = match kind {
                        0 => (2, Command::Flush),
                        1 => (3, Command::Discard { offset, len: u64::from(bytes) }),
                        kind if kind % 2 == 0 => (0, read(offset, bytes)),
                        _ => (1, write(offset, bytes)),
                    };
                    let (offset, bytes) = extent(&command);
                    let tag = bench.ask(actor, command);
                    asked.insert(tag, (kind, offset, bytes));
                }
                Step::Answer(place) if !bench.at_device.is_empty() => {
                    let place = place % bench.at_device.len();
                    answer(&mut bench, place, &mut asked, u64::from(bytes_max));
                }
                Step::Answer(_) => {}
                Step::Pass(ns) => {
                    let until = bench.now.after(ns);
                    bench.pass(until);
                }
            }
            prop_assert!(bench.at_device.len() <= depth as usize);
        }
        // It ends in calm: nothing new, and everything is answered.
        while !asked.is_empty() {
            if bench.at_device.is_empty() {
                let next = bench.elevator.next_wakeup();
                prop_assert!(next != Instant::NEVER, "{} forgotten", asked.len());
                bench.pass(next);
            } else {
                answer(&mut bench, 0, &mut asked, u64::from(bytes_max));
            }
        }
        prop_assert!(bench.at_device.is_empty());
    }
}

#[test]
fn pieces_of_one_instant_become_one_request_whatever_the_order() {
    // 128 KiB in pieces of 4 KiB, the even ones first: each odd one closes a gap.
    for policy in policies() {
        let is_noop = policy == Policy::Noop;
        let mut bench = Bench::new(ElevatorParams::of(policy, 1));
        let places = (0..32).step_by(2).chain((1..32).step_by(2));
        places.for_each(|place| {
            bench.ask(0, read(place * 4096, 4096));
        });
        let sent = bench.serve_all(1000);
        // noop joins to the back alone: each odd piece continues the even one before it.
        assert_eq!(sent.len(), if is_noop { 16 } else { 1 });
        assert_eq!(bench.elevator.merged(), if is_noop { 16 } else { 31 });
        assert_eq!(bench.answers.len(), 32);
        assert_eq!(sent.iter().map(|one| extent(&one.command).1).sum::<u64>(), 128 << 10);
    }
}

#[test]
fn who_finds_the_queue_full_waits_outside_in_order() {
    for policy in policies() {
        let mut bench = Bench::new(ElevatorParams {
            queued_requests_max: 4,
            ..ElevatorParams::of(policy.clone(), 1)
        });
        // The last lies first on the device: from outside it cannot be sorted forward.
        let offsets = [80, 70, 60, 50, 40, 10u64];
        for offset in offsets {
            bench.ask(0, read(offset << 30, 4096));
        }
        let sent: Vec<u64> =
            bench.serve_all(1000).iter().map(|one| extent(&one.command).0 >> 30).collect();
        assert_eq!(sent.len(), 6, "{policy:?}");
        let place = |offset| sent.iter().position(|&other| other == offset);
        assert!(place(10) >= Some(2), "{policy:?}: {sent:?}");
    }
}
