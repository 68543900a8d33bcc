//! Short sequences of requests, all of them; each cut at every event, in every way there is to cut whole
//! writes and tear them; each cut state recovered and held against the oracle.

use super::{
    bench::{Bench, create, extent, flush, media, open, read_all, small, write},
    oracle::{Covered, Oracle, Order},
};
use block::{Actor, Command, Drive, Durability, Engine, Instant, Request, Tag};
use flash::{Cleaning, Settings, Shape};
use model::{Choices, Grain};
use std::{collections::BTreeSet, ops::Range};

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u64),
    Fua(u64),
    Trim(u64),
    Flush,
}

const STEPS: [Step; 6] =
    [Step::Write(0), Step::Write(1), Step::Fua(0), Step::Fua(1), Step::Trim(0), Step::Flush];

const SECTORS: u64 = 16;

fn settings() -> Settings {
    Settings {
        queue_depth: 4,
        answer_ns: 500,
        chunks: 4,
        cleaning: Cleaning::Greedy,
        ..Settings::default()
    }
}

fn tiny() -> Shape {
    Shape {
        device_bytes: 1 << 20,
        exported_bytes: SECTORS * 512,
        segment_bytes: 32 << 10,
        chunk_bytes: 16 << 10,
        ..small()
    }
}

enum Issued {
    Change(Range<usize>, bool),
    Flush(Covered),
}

/// Runs the sequence and looks at every state that a cut at any event can leave. How many there were.
fn cut_everywhere(steps: &[Step], seed: u64) -> u64 {
    let mut bench = create(media(&tiny()), tiny(), settings(), seed);
    flush(&mut bench).expect("healthy");
    let mut oracle = Oracle::new(SECTORS, Order::Submission);
    let (mut cuts, mut done, mut value) = (0, Vec::new(), 0);
    for &step in steps {
        value += 1;
        let range = |block: u64| block * 8..block * 8 + 8;
        let (command, issued) = match step {
            Step::Flush => (Command::Flush, Issued::Flush(oracle.begin_flush())),
            Step::Trim(block) => {
                let offset = extent(range(block)).offset;
                let changes = oracle.issue(range(block), 0);
                (Command::Discard { offset, len: 4096 }, Issued::Change(changes, false))
            }
            Step::Write(block) | Step::Fua(block) => {
                let fua = matches!(step, Step::Fua(_));
                let durability = if fua { Durability::Fua } else { Durability::Cached };
                let changes = oracle.issue(range(block), value);
                (write(range(block), value, durability), Issued::Change(changes, fua))
            }
        };
        bench.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
        while done.is_empty() {
            cuts += cut_here(&bench, &oracle, steps);
            let next = bench.next_wakeup();
            bench.wait(next, &mut done);
        }
        done.clear();
        match issued {
            Issued::Change(changes, true) => oracle.end_fua(changes),
            Issued::Change(changes, false) => oracle.acknowledge(changes),
            Issued::Flush(covered) => oracle.end_flush(&covered),
        }
    }
    cuts + cut_here(&bench, &oracle, steps)
}

fn cut_here(bench: &Bench, oracle: &Oracle, steps: &[Step]) -> u64 {
    let (mut choices, mut cuts) = (Choices::default(), 0);
    loop {
        let mut medium = bench.engine.machine.media(Drive(0)).clone();
        medium.power_cut_with(Grain::Sector, &mut |count| choices.pick(count));
        let mut again = open(medium, settings(), 1);
        flush(&mut again).expect("it opens");
        let values = read_all(&mut again, SECTORS).expect("nothing is damaged");
        oracle.admits(&values).unwrap_or_else(|complaint| panic!("{steps:?}: {complaint}"));
        again.machine.audit();
        cuts += 1;
        if !choices.advance() {
            return cuts;
        }
    }
}

#[test]
fn every_sequence_of_three_requests_survives_every_cut() {
    let mut cuts = 0;
    for (number, first) in (0..).zip(STEPS) {
        for second in STEPS {
            for third in STEPS {
                cuts += cut_everywhere(&[first, second, third], number);
            }
        }
    }
    eprintln!("{cuts} cuts");
    assert!(cuts > 1_500, "{cuts} cuts");
}

/// Recovery itself, cut at every event in every way: what it leaves is what it would have found.
#[test]
fn recovery_cut_at_every_event_in_every_way_finds_the_same_again() {
    let mut bench = create(media(&tiny()), tiny(), settings(), 3);
    flush(&mut bench).expect("healthy");
    let mut oracle = Oracle::new(SECTORS, Order::Submission);
    for (block, value) in [(0, 1), (1, 2), (0, 3)] {
        let range = block * 8..block * 8 + 8;
        let changes = oracle.issue(range.clone(), value);
        super::bench::ask(&mut bench, write(range, value, Durability::Fua))
            .result
            .expect("healthy");
        oracle.end_fua(changes);
    }
    let medium = super::bench::cut(bench, 1);
    let mut recovering = open(medium, settings(), 1);
    let (mut done, mut cuts, mut steps) = (Vec::new(), 0, BTreeSet::new());
    recovering.submit(Request {
        tag: Tag(0),
        actor: Actor(0),
        drive: Drive(0),
        command: Command::Flush,
    });
    while done.is_empty() {
        steps.insert(recovering.machine.step());
        cuts += cut_here(&recovering, &oracle, &[]);
        let next = recovering.next_wakeup().max(Instant(recovering.now().0 + 1));
        recovering.wait(next, &mut done);
    }
    eprintln!("{cuts} cuts in {steps:?}");
    assert!(cuts > 20 && steps.len() >= 5, "{cuts} cuts in {steps:?}");
}
