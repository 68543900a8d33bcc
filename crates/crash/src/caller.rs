//! A caller who keeps requests outstanding, believes their answers, and tells the oracle.

use super::{
    bench::{extent, image, values, write},
    oracle::{Covered, ENOSPC, Oracle, Order},
};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Instant, IoError, Request, Rng, Tag,
};
use std::{collections::BTreeMap, ops::Range};

/// Which requests a caller makes.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Requests split blocks.
    pub unaligned: bool,
    /// One request in so many is a flush, and one in so many is FUA.
    pub flush_one_in: u64,
    /// Few blocks take most writes.
    pub skewed: bool,
}

#[derive(Clone)]
enum Open {
    Change(Range<usize>, Range<u64>, bool),
    Flush(Covered),
    Read(Range<u64>, Vec<Option<u64>>),
}

/// Keeps some requests outstanding, no two of them on one block, and checks what it reads.
#[derive(Clone)]
pub struct Caller {
    pub oracle: Oracle,
    rng: Rng,
    sectors: u64,
    mix: Mix,
    open: BTreeMap<u64, Open>,
    next_tag: u64,
    pub failed: Vec<IoError>,
    pub acknowledged: u64,
}

impl Caller {
    pub fn new(seed: u64, sectors: u64, mix: Mix) -> Self {
        let order = if mix.unaligned { Order::Any } else { Order::Submission };
        let oracle = Oracle::new(sectors, order);
        let (open, rng) = (BTreeMap::new(), Rng::new(seed, 2));
        Self { oracle, rng, sectors, mix, open, next_tag: 1, failed: vec![], acknowledged: 0 }
    }

    fn range(&mut self) -> Option<Range<u64>> {
        let grain = if self.mix.unaligned { 1 } else { 8 };
        let places = self.sectors / grain;
        let hot = self.mix.skewed && self.rng.below(10) > 0;
        let places = if hot { places.div_ceil(10) } else { places };
        let first = self.rng.below(places);
        let long = self.rng.below(8) == 0;
        let count = 1 + self.rng.below(if long { 12 } else { 2 });
        let range = first * grain..((first + count) * grain).min(self.sectors);
        let blocks = |range: &Range<u64>| range.start / 8..range.end.div_ceil(8);
        let mine = blocks(&range);
        let busy = self.open.values().any(|open| match open {
            Open::Change(_, other, ..) | Open::Read(other, _) => {
                let other = blocks(other);
                mine.start < other.end && other.start < mine.end
            }
            Open::Flush(_) => false,
        });
        (!busy).then_some(range)
    }

    pub fn submit(&mut self, bench: &mut impl Engine) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let flush = self.rng.below(self.mix.flush_one_in) == 0;
        let Some(range) = self.range() else { return };
        let kind = self.rng.below(16);
        let (command, open) = if flush {
            (Command::Flush, Open::Flush(self.oracle.begin_flush()))
        } else if kind < 2 {
            let expected = range.clone().map(|sector| self.oracle.visible(sector)).collect();
            let (count, at) = (range.end - range.start, extent(range.clone()));
            (Command::Read { at, into: image(count, 77) }, Open::Read(range, expected))
        } else if kind == 2 {
            let at = extent(range.clone());
            let changes = self.oracle.issue(range.clone(), 0);
            let open = Open::Change(changes, range, false);
            (Command::Discard { offset: at.offset, len: u64::from(at.bytes) }, open)
        } else {
            let fua = self.rng.below(self.mix.flush_one_in) == 0;
            let value = if kind == 3 { 0 } else { tag };
            let changes = self.oracle.issue(range.clone(), value);
            let durability = if fua { Durability::Fua } else { Durability::Cached };
            (write(range.clone(), value, durability), Open::Change(changes, range, fua))
        };
        self.open.insert(tag, open);
        bench.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
    }

    pub fn take(&mut self, done: &mut Vec<Completion>) {
        for completion in done.drain(..) {
            assert!(completion.finished > completion.issued, "no request takes no time");
            let open = self.open.remove(&completion.tag.0).expect("the tag is open");
            if let Err(error) = completion.result {
                self.failed.push(error);
                if let Open::Change(changes, ..) = open {
                    self.oracle.fail(changes, error);
                }
                continue;
            }
            self.acknowledged += 1;
            match open {
                Open::Change(changes, _, true) => self.oracle.end_fua(changes),
                Open::Change(changes, _, false) => self.oracle.acknowledge(changes),
                Open::Flush(covered) => self.oracle.end_flush(&covered),
                Open::Read(range, expected) => {
                    let seen = values(&completion.payload, range.end - range.start);
                    for ((seen, expected), sector) in seen.iter().zip(expected).zip(range) {
                        let right = expected.is_none_or(|expected| expected == *seen);
                        assert!(right, "sector {sector} reads {seen}, not {expected:?}");
                    }
                }
            }
        }
    }

    /// These writes were refused, and their answers are on the way: as if they had not been made.
    pub fn expect_refusals(&mut self, tags: &[Tag]) {
        for tag in tags {
            if let Some(Open::Change(changes, ..)) = self.open.get(&tag.0) {
                self.oracle.fail(changes.clone(), ENOSPC);
            }
        }
    }

    /// Submits until `depth` requests are outstanding, or one would meet another on a block.
    pub fn fill(&mut self, bench: &mut impl Engine, depth: usize) {
        while self.open.len() < depth {
            let before = self.open.len();
            self.submit(bench);
            if self.open.len() == before {
                return;
            }
        }
    }

    /// Keeps `depth` requests outstanding until the clock says `until`.
    pub fn work(&mut self, bench: &mut impl Engine, depth: usize, until: Instant) {
        let mut done = Vec::new();
        while bench.now() < until {
            self.fill(bench, depth);
            bench.wait(until, &mut done);
            self.take(&mut done);
        }
    }

    /// Makes so many requests and waits for every answer.
    pub fn requests(&mut self, bench: &mut impl Engine, count: u64, depth: usize) {
        let (mut done, end) = (Vec::new(), self.next_tag + count);
        while self.next_tag < end {
            if self.open.len() < depth {
                self.submit(bench);
            } else {
                bench.wait(Instant::NEVER, &mut done);
                self.take(&mut done);
            }
        }
        self.finish(bench);
    }

    /// Waits for every answer.
    pub fn finish(&mut self, bench: &mut impl Engine) {
        let mut done = Vec::new();
        while !self.open.is_empty() {
            bench.wait(Instant::NEVER, &mut done);
            self.take(&mut done);
        }
    }

    /// The power was cut: what is outstanding is not answered any more.
    pub fn forget(&mut self) {
        self.open.clear();
    }
}
