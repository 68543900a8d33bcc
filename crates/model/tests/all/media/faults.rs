//! Each fault through the front door: what it does, when, and that it is counted.

use super::drive::{ask, request, sectors};
use block::{Buf, Command, Drive, Durability, Engine, Instant, IoError, Payload, Rng};
use model::{Contents, Fault, FaultPlan, Faults, Media, Operation, Rig, Sim, When, Witness};
use testkit::Shuffling;

const SECTORS: u64 = 32;
const BYTES: u64 = SECTORS * 512;
const EIO: IoError = IoError::Os(5);

type Faulty = Sim<Rig<Shuffling>>;

fn faulty(contents: Contents, plan: &FaultPlan) -> Faulty {
    let media = Media::new(BYTES, 512, contents);
    let faults = Faults::new(plan.clone(), Drive(0));
    Sim::new(Rig::new(Shuffling::new(BYTES, 1), vec![media]).with_faults(Drive(0), faults))
}

fn stamps(plan: &FaultPlan) -> Faulty {
    faulty(Contents::Stamps, plan)
}

fn injected(sim: &Faulty) -> u64 {
    sim.machine.faults(Drive(0)).injected_count()
}

fn write(sim: &mut Faulty, first: u64, count: u64, stamp: u64) -> Result<(), IoError> {
    let durability = Durability::Cached;
    let command =
        Command::Write { at: sectors(first, count), from: Payload::Stamp(stamp), durability };
    ask(sim, command).result
}

fn read(sim: &mut Faulty, sector: u64) -> Result<u64, IoError> {
    let answer = ask(sim, Command::Read { at: sectors(sector, 1), into: Payload::Stamp(0) });
    let Payload::Stamp(stamp) = answer.payload else { panic!("a stamp comes back") };
    answer.result.map(|()| stamp)
}

fn read_all(sim: &mut Faulty) -> Vec<u64> {
    (0..SECTORS).map(|sector| read(sim, sector).expect("no more faults")).collect()
}

/// Twelve requests of all kinds, one after the other; which of them failed, and how.
fn twelve(sim: &mut Faulty) -> Vec<(usize, IoError)> {
    let commands = (0..12u64).map(|number| match number % 4 {
        0 => Command::Write {
            at: sectors(number, 2),
            from: Payload::Stamp(number + 1),
            durability: Durability::Fua,
        },
        1 => Command::Read { at: sectors(number, 1), into: Payload::Stamp(0) },
        2 => Command::Flush,
        _ => Command::Discard { offset: number * 512, len: 512 },
    });
    let results = commands.map(|command| ask(sim, command).result).enumerate();
    results.filter_map(|(number, result)| Some((number, result.err()?))).collect()
}

#[test]
fn failing_at_every_request_in_turn_ends_with_the_run_that_nothing_struck() {
    let mut runs = 0;
    for nth in 1.. {
        let plan = FaultPlan::new(0).with(Fault::Error(Operation::Any), When::Nth(nth));
        let mut sim = stamps(&plan);
        let failed = twelve(&mut sim);
        if injected(&sim) == 0 {
            assert!(failed.is_empty());
            break;
        }
        let struck = nth as usize - 1;
        let error = if struck % 4 == 1 { IoError::Medium } else { EIO };
        assert_eq!(failed, [(struck, error)], "{plan}");
        runs += 1;
    }
    assert_eq!(runs, 12);
}

#[test]
fn an_error_strikes_only_its_operation_and_every_so_many() {
    let cases = [
        (Operation::Read, vec![5]),
        (Operation::Write, vec![4]),
        (Operation::Flush, vec![6]),
        (Operation::Discard, vec![7]),
        (Operation::Any, vec![1, 3, 5, 7, 9, 11]),
    ];
    for (operation, expected) in cases {
        let plan = FaultPlan::new(0).with(Fault::Error(operation), When::Every(2));
        let failed: Vec<usize> = twelve(&mut stamps(&plan)).iter().map(|&(at, _)| at).collect();
        assert_eq!(failed, expected, "{plan}");
    }
}

#[test]
fn a_failed_flush_covers_nothing() {
    let plan = FaultPlan::new(0).with(Fault::Error(Operation::Flush), When::Nth(1));
    let mut sim = stamps(&plan);
    write(&mut sim, 0, 1, 7).expect("healthy");
    assert_eq!(ask(&mut sim, Command::Flush).result, Err(EIO));
    assert!(sim.machine.media(Drive(0)).is_at_risk());
    assert_eq!(ask(&mut sim, Command::Flush).result, Ok(()));
    assert!(!sim.machine.media(Drive(0)).is_at_risk());
}

#[test]
fn a_write_that_completes_while_a_flush_is_on_its_way_can_still_be_lost() {
    let mut late = 0;
    for seed in 0..100 {
        let media = Media::new(BYTES, 512, Contents::Stamps);
        let mut sim = Sim::with_media(Shuffling::new(BYTES, seed), vec![media]);
        let (at, durability) = (sectors(0, 1), Durability::Cached);
        sim.submit(request(1, Drive(0), Command::Flush));
        let write = Command::Write { at, from: Payload::Stamp(7), durability };
        sim.submit(request(2, Drive(0), write));
        let mut done = Vec::new();
        while done.len() < 2 {
            sim.wait(Instant::NEVER, &mut done);
        }
        late += u64::from(done[1].tag.0 == 1);
        assert!(sim.machine.media(Drive(0)).is_at_risk(), "seed {seed}");
    }
    assert!(late > 20, "the flush completed last in {late} of 100");
}

#[test]
fn a_failed_write_may_have_stored_any_of_its_sectors() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let plan = FaultPlan::new(seed).with(Fault::Error(Operation::Write), When::Nth(1));
        let mut sim = stamps(&plan);
        assert_eq!(write(&mut sim, 0, 2, 7), Err(EIO));
        seen.insert((0..2).map(|at| read(&mut sim, at).expect("readable")).collect::<Vec<u64>>());
    }
    assert_eq!(seen, [[0, 0], [0, 7], [7, 0], [7, 7]].map(Vec::from).into());
}

#[test]
fn a_latent_error_lasts_until_its_sectors_are_rewritten() {
    let plan = FaultPlan::new(3).with(Fault::LatentError { sectors: 2 }, When::Nth(2));
    let mut sim = stamps(&plan);
    write(&mut sim, 0, 8, 7).expect("healthy");
    assert_eq!(read(&mut sim, 0), Ok(7));
    let whole = |sim: &mut Faulty| {
        ask(sim, Command::Read { at: sectors(0, 8), into: Payload::Stamp(0) }).result
    };
    assert_eq!(whole(&mut sim), Err(IoError::Medium));
    assert_eq!(whole(&mut sim), Err(IoError::Medium), "and again");
    let bad: Vec<u64> = (0..8).filter(|&sector| read(&mut sim, sector).is_err()).collect();
    assert!(matches!(bad[..], [a, b] if b == a + 1) || bad == [7], "{bad:?}");
    for &sector in &bad {
        write(&mut sim, sector, 1, 8).expect("writes succeed");
    }
    assert_eq!(read(&mut sim, bad[0]), Ok(8));
    assert_eq!(injected(&sim), 1);
}

#[test]
fn a_timing_only_drive_has_latent_errors_too() {
    let plan = FaultPlan::new(3).with(Fault::LatentError { sectors: 1 }, When::Nth(1));
    let mut sim = faulty(Contents::Nothing, &plan);
    let at = sectors(4, 1);
    let read = || Command::Read { at, into: Payload::None };
    assert_eq!(ask(&mut sim, read()).result, Err(IoError::Medium));
    assert_eq!(ask(&mut sim, read()).result, Err(IoError::Medium));
    let durability = Durability::Cached;
    assert_eq!(
        ask(&mut sim, Command::Write { at, from: Payload::None, durability }).result,
        Ok(())
    );
    assert_eq!(ask(&mut sim, read()).result, Ok(()));
}

#[test]
fn a_lost_write_is_acknowledged_and_nowhere() {
    let plan = FaultPlan::new(0).with(Fault::LostWrite, When::Nth(2));
    let mut sim = stamps(&plan);
    for stamp in 1..=3 {
        write(&mut sim, stamp * 4, 2, stamp).expect("acknowledged");
    }
    let mut expected = vec![0; SECTORS as usize];
    for at in [4, 5] {
        (expected[at], expected[at + 8]) = (1, 3);
    }
    assert_eq!(read_all(&mut sim), expected);
    assert_eq!(injected(&sim), 1);
}

#[test]
fn a_misdirected_write_lies_at_another_place_and_the_right_one_is_as_it_was() {
    let mut places = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let plan = FaultPlan::new(seed).with(Fault::MisdirectedWrite, When::Nth(1));
        let mut sim = stamps(&plan);
        write(&mut sim, 8, 3, 7).expect("acknowledged");
        let all = read_all(&mut sim);
        let hit: Vec<u64> = (0..SECTORS).filter(|&sector| all[sector as usize] == 7).collect();
        assert!(hit.len() == 3 && hit[2] == hit[0] + 2 && hit[0] != 8, "{plan}: {hit:?}");
        places.insert(hit[0]);
    }
    assert_eq!(places.len() as u64, SECTORS - 3, "every place but the right one");
}

#[test]
fn bit_rot_is_silent_and_stays() {
    let plan = FaultPlan::new(5).with(Fault::BitRot, When::Nth(2));
    let mut sim = faulty(Contents::Bytes, &plan);
    let mut buffer = Buf::zeroed(8 * 512);
    Rng::new(1, 1).fill(buffer.bytes_mut());
    let original = buffer.bytes().to_vec();
    let (at, durability) = (sectors(8, 8), Durability::Cached);
    let mut payload =
        ask(&mut sim, Command::Write { at, from: Payload::Bytes(buffer), durability }).payload;
    let mut flipped = Vec::new();
    for _ in 0..3 {
        let answer = ask(&mut sim, Command::Read { at, into: payload });
        assert_eq!(answer.result, Ok(()));
        let Payload::Bytes(read) = &answer.payload else { panic!("bytes") };
        let bits = |(a, b): (&u8, &u8)| (a ^ b).count_ones();
        flipped.push(original.iter().zip(read.bytes()).map(bits).sum::<u32>());
        payload = answer.payload;
    }
    assert_eq!(flipped, [0, 1, 1]);
}

#[test]
fn a_slow_request_takes_so_many_times_as_long() {
    let latencies = |plan: &FaultPlan| -> Vec<u64> {
        let mut sim = stamps(plan);
        let latency = |_| {
            let answer = ask(&mut sim, Command::Flush);
            answer.finished.since(answer.issued)
        };
        (0..6).map(latency).collect()
    };
    let healthy = latencies(&FaultPlan::new(0));
    let slow = Fault::Slow { times: 20 };
    let third = latencies(&FaultPlan::new(0).with(slow, When::Nth(3)));
    for number in 0..6 {
        assert_eq!(third[number], healthy[number] * if number == 2 { 20 } else { 1 });
    }
    // From after the second answer until within the fourth.
    let from = healthy[0] + healthy[1];
    let period = When::During(Instant(from), Instant(from + healthy[2] * 20 + 1));
    let period = latencies(&FaultPlan::new(0).with(slow, period));
    for number in 0..6 {
        assert_eq!(period[number], healthy[number] * if matches!(number, 2 | 3) { 20 } else { 1 });
    }
}

#[test]
fn a_drive_that_goes_takes_what_is_in_flight_with_it() {
    let instants = When::During(Instant(1), Instant::NEVER);
    for when in [When::Nth(3), instants] {
        let mut sim = stamps(&FaultPlan::new(0).with(Fault::Gone, when));
        let mut done = Vec::new();
        for tag in 0..3 {
            sim.submit(request(tag, Drive(0), Command::Flush));
        }
        while done.len() < 3 {
            sim.wait(Instant::NEVER, &mut done);
        }
        assert!(done.iter().all(|answer| answer.result == Err(IoError::Offline)), "{done:?}");
        assert!(done.iter().all(|answer| answer.finished > answer.issued));
        assert_eq!(write(&mut sim, 0, 1, 1), Err(IoError::Offline));
        assert_eq!(injected(&sim), 1);
    }
}

#[test]
fn a_rule_draws_for_itself_whatever_the_others_do() {
    let lost = |plan: FaultPlan| {
        let mut sim = stamps(&plan);
        for sector in 0..SECTORS {
            write(&mut sim, sector, 1, 1).expect("acknowledged");
        }
        (read_all(&mut sim), injected(&sim))
    };
    let plan = || FaultPlan::new(11).with(Fault::LostWrite, When::OneIn(3));
    let (alone, count) = lost(plan());
    assert_eq!(alone.iter().filter(|&&stamp| stamp == 0).count() as u64, count);
    assert!((4..20).contains(&count), "{count} of 32 at one in three");
    assert_eq!(lost(plan().with(Fault::Slow { times: 2 }, When::OneIn(2))).0, alone);
    // A second rule of the same kind strikes others too.
    let twice = lost(plan().with(Fault::LostWrite, When::OneIn(3))).0;
    assert!(twice.iter().filter(|&&stamp| stamp == 0).count() as u64 > count);
    assert_ne!(lost(FaultPlan::new(12).with(Fault::LostWrite, When::OneIn(3))).0, alone);
}

#[test]
fn a_plan_says_what_it_is_and_counts_by_rule() {
    let plan = FaultPlan::new(9)
        .with(Fault::Error(Operation::Write), When::Every(2))
        .with(Fault::Slow { times: 4 }, When::During(Instant(5), Instant::NEVER))
        .with(Fault::LatentError { sectors: 3 }, When::OneIn(100));
    let text = "seed 9: write error, every 2nd; 4 times slower, from 5 ns on; \
                latent error of 3 sectors, one in 100";
    assert_eq!(plan.to_string(), text);
    assert_eq!(FaultPlan::new(1).to_string(), "seed 1: no faults");
    let mut witness = Witness::new(stamps(&plan));
    for stamp in 1..=4 {
        let (at, durability) = (sectors(0, 1), Durability::Cached);
        ask(&mut witness, Command::Write { at, from: Payload::Stamp(stamp), durability });
    }
    let counts: Vec<u64> =
        witness.engine.machine.faults(Drive(0)).injected().map(|(_, count)| count).collect();
    assert_eq!(counts, [2, 3, 0]);
}

#[test]
#[should_panic(expected = "a rule that never strikes")]
fn the_zeroth_request_is_refused() {
    let _ = FaultPlan::new(0).with(Fault::LostWrite, When::Nth(0));
}
