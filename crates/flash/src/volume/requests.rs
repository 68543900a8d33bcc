//! What clients asked and was not answered yet: how many requests, which of them wait for another
//! operation, and answers that are held back until their time has come.

use block::{Completion, Effects, Instant, IoError, Payload, Tag};
use std::collections::VecDeque;

/// Something that waits to be begun again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parked {
    Read(u32),
    Write(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Requests {
    queue_depth: usize,
    /// No answer comes sooner after its request, ns.
    answer_ns: u64,
    outstanding: usize,
    last_at: Instant,
    /// Writes that wait for a block that another one locked, and whatever waits for a chunk on its
    /// way.
    parked: VecDeque<Parked>,
    /// Answers whose time has not come, in order of it.
    later: VecDeque<Completion>,
    due: Vec<Completion>,
}

impl Requests {
    pub fn new(queue_depth: u32, answer_ns: u64, now: Instant) -> Self {
        Self {
            queue_depth: queue_depth as usize,
            answer_ns,
            outstanding: 0,
            last_at: now,
            parked: VecDeque::new(),
            later: VecDeque::new(),
            due: Vec::new(),
        }
    }

    /// One has come. It is answered once.
    pub fn accept(&mut self, now: Instant) {
        self.last_at = now;
        self.outstanding += 1;
        assert!(self.outstanding <= self.queue_depth, "queue depth exceeded");
    }

    /// How many are being worked on.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether none is.
    pub fn is_quiet(&self) -> bool {
        self.outstanding == 0
    }

    /// When the last one came.
    pub fn last_at(&self) -> Instant {
        self.last_at
    }

    /// It is begun again when everything has moved.
    pub fn park(&mut self, what: Parked) {
        self.parked.push_back(what);
        assert!(self.parked.len() <= self.outstanding, "{what:?} is parked twice");
    }

    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// The one that was parked first.
    pub fn unpark(&mut self) -> Option<Parked> {
        self.parked.pop_front()
    }

    /// Answers a request: now, or when the time that every request takes has passed.
    pub fn answer(
        &mut self,
        now: Instant,
        tag: Tag,
        issued: Instant,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.outstanding = self.outstanding.checked_sub(1).expect("a request is answered once");
        let due = issued.after(self.answer_ns);
        let finished = due.max(now);
        let completion = Completion { tag, issued, finished, result, payload };
        if due <= now {
            self.due.push(completion);
        } else {
            let after = self.later.iter().rposition(|other| other.finished <= finished);
            self.later.insert(after.map_or(0, |at| at + 1), completion);
        }
    }

    /// Those that were refused for want of room and do not know it yet.
    #[cfg(feature = "testing")]
    pub fn refused(&self) -> impl Iterator<Item = Tag> {
        let answers = self.later.iter().chain(&self.due);
        answers
            .filter(|answer| answer.result == Err(crate::down::NO_SPACE))
            .map(|answer| answer.tag)
    }

    /// When the next answer is due.
    pub fn next_wakeup(&self) -> Instant {
        self.later.front().map_or(Instant::NEVER, |answer| answer.finished)
    }

    /// Hands out the answers whose time has come.
    pub fn drain_into(&mut self, now: Instant, effects: &mut Effects) {
        effects.up.append(&mut self.due);
        while self.later.front().is_some_and(|answer| answer.finished <= now) {
            effects.up.extend(self.later.pop_front());
        }
    }
}
