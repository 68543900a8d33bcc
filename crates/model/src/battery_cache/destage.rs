//! From memory to the members: which rows, how much of them, and when memory gives them up.

use super::{
    BatteryCache, Command, Data, Drive, Effects, Extent, Flight, Instant, IoError, Payload,
    Request, Tag, memory::Row,
};
use crate::slab::Slab;
use block::{Actor, Buf, Durability};
use std::{collections::VecDeque, ops::Range};

/// Who asks for what no request from above asks for.
const OWN: Actor = Actor(u16::MAX);
/// As soon as so large a part of memory is with the members, they are flushed.
const FLUSH_SHARE: u64 = 8;

/// What is under way.
#[derive(Debug)]
pub(super) struct Destaging {
    jobs: Slab<Job>,
    jobs_count: u32,
    /// Commands below at most, and now.
    commands_max: u32,
    commands: u32,
    /// Commands that wait for their turn below.
    queued: VecDeque<Queued>,
    /// Where the next job is looked for.
    sweep: u64,
    /// Lines that are with the members, each with the number of its write.
    written: Vec<(u64, u64)>,
    /// Those that the flush under way covers.
    flushing: Vec<(u64, u64)>,
    is_flushing: bool,
    sequence: u64,
    /// What went wrong last.
    pub failure: Option<IoError>,
}

/// Adjacent rows that are written together.
#[derive(Debug)]
pub(super) struct Job {
    rows: Range<u64>,
    outstanding: u32,
    error: Option<IoError>,
    /// A row's bytes, where something of it had to be read.
    image: Payload,
}

/// A command of a job.
#[derive(Clone, Copy, Debug)]
struct Queued {
    job: u32,
    at: Extent,
    step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Reads what memory lacks of a row.
    Fill,
    Write,
}

impl Destaging {
    pub fn new(commands_max: u32) -> Self {
        Self {
            jobs: Slab::default(),
            jobs_count: 0,
            commands_max,
            commands: 0,
            queued: VecDeque::new(),
            sweep: 0,
            written: Vec::new(),
            flushing: Vec::new(),
            is_flushing: false,
            sequence: 0,
            failure: None,
        }
    }
}

impl BatteryCache {
    /// Begins what is to be begun.
    pub(super) fn destage(&mut self, now: Instant, effects: &mut Effects) {
        while self.wants_another(now)
            && let Some(row) = self.memory.next_ready(self.destaging.sweep)
        {
            self.begin(row);
        }
        self.send_queued(effects);
        if self.wants_flush() {
            self.flush_below(effects);
        }
    }

    /// Whether rows are written as fast as it goes.
    fn is_eager(&self) -> bool {
        let share = u64::from(self.params.eager_per_mille);
        let Destaging { jobs_count, is_flushing, written, .. } = &self.destaging;
        let comes_by_itself = *jobs_count > 0 || *is_flushing || !written.is_empty();
        // What is on its way makes room by itself: the rows that are being filled are left alone.
        self.memory.unsent() * 1000 > self.memory.lines_max * share
            || !self.waiting.is_empty() && !comes_by_itself
            || self.alone.is_some()
            || self.memory.has_doubtful()
    }

    fn wants_another(&self, now: Instant) -> bool {
        if self.is_eager() {
            return self.destaging.jobs_count < self.destaging.commands_max;
        }
        let is_aged = |since: Instant| since.after(self.params.age_ns) <= now;
        self.destaging.jobs_count == 0 && self.memory.oldest().is_some_and(is_aged)
    }

    /// When a row will have waited for long enough; never while something is under way, whose end
    /// says so.
    pub(super) fn next_by_age(&self) -> Instant {
        match self.memory.oldest() {
            Some(since) if self.destaging.jobs_count == 0 => since.after(self.params.age_ns),
            _ => Instant::NEVER,
        }
    }

    /// Whether nothing is under way below and nothing will begin without a new write.
    pub(super) fn is_at_rest(&self) -> bool {
        let Destaging { jobs_count, is_flushing, written, .. } = &self.destaging;
        *jobs_count == 0
            && !is_flushing
            && written.is_empty()
            && self.memory.next_ready(0).is_none()
    }

    /// Begins to write a row, with those after it if all of them are whole.
    fn begin(&mut self, first: u64) {
        let row_bytes = self.params.row.bytes();
        let rows_max = u64::from(self.geometry.transfer_bytes_max) / row_bytes;
        let is_whole = self.memory.is_whole(first);
        let mut end = first + 1;
        while is_whole && end - first < rows_max && self.memory.is_whole(end) {
            end += 1;
        }
        self.destaging.sweep = end;
        self.destaging.jobs_count += 1;
        let job = Job { rows: first..end, outstanding: 0, error: None, image: Payload::None };
        let job = self.destaging.jobs.insert(job);
        let began = self.memory.begin(first);
        for row in first + 1..end {
            self.memory.begin(row);
        }
        if is_whole {
            self.counters.whole_rows += end - first;
            self.queue(job, self.extent(first, 0..(end - first) * row_bytes), Step::Write);
        } else {
            self.begin_part(job, first, began);
        }
    }

    /// Parts of a row are written by themselves, or with the rest of it read before, where that
    /// takes fewer commands. So is a row whose parity a power cut may have left wrong.
    fn begin_part(&mut self, job: u32, row: u64, began: Row) {
        let shape = self.params.row;
        let row_bytes = shape.bytes();
        let runs = self.memory.runs(row);
        let alone: u64 = runs.iter().map(|run| shape.commands(run.start, run.end)).sum();
        let gap = match shape.parities {
            0 => None,
            _ => self.memory.gap(row, row_bytes),
        };
        let fill = gap.filter(|gap| {
            let reads = (gap.end - 1) / shape.chunk_bytes - gap.start / shape.chunk_bytes + 1;
            began.is_doubtful || reads + shape.commands(0, row_bytes) < alone
        });
        if let Some(gap) = fill {
            self.counters.filled_rows += 1;
            return self.queue(job, self.extent(row, gap), Step::Fill);
        }
        self.counters.part_rows += 1;
        for run in runs {
            self.queue(job, self.extent(row, run), Step::Write);
        }
    }

    /// A range of bytes of a row.
    fn extent(&self, row: u64, range: Range<u64>) -> Extent {
        let offset = row * self.params.row.bytes() + range.start;
        Extent { offset, bytes: (range.end - range.start) as u32 }
    }

    fn buffer(&self, bytes: u64) -> Payload {
        match self.geometry.data {
            Data::Stored => Payload::Bytes(Buf::zeroed(bytes as usize)),
            Data::TimingOnly => Payload::None,
        }
    }

    fn queue(&mut self, job: u32, at: Extent, step: Step) {
        self.destaging.jobs.get_mut(job).outstanding += 1;
        self.destaging.queued.push_back(Queued { job, at, step });
    }

    fn send_queued(&mut self, effects: &mut Effects) {
        while self.destaging.commands < self.destaging.commands_max
            && let Some(Queued { job, at, step }) = self.destaging.queued.pop_front()
        {
            self.destaging.commands += 1;
            if step == Step::Fill {
                let into = self.buffer(self.params.row.bytes());
                self.send(Flight::Fill { job, at }, Command::Read { at, into }, effects);
                continue;
            }
            let own = self.destaging.jobs.get_mut(job);
            let mut from = match std::mem::replace(&mut own.image, Payload::None) {
                Payload::None => self.buffer(at.bytes.into()),
                image => image,
            };
            // As it is now: what was written meanwhile may go with it.
            self.memory.overlay(&mut from, at);
            let command = Command::Write { at, from, durability: Durability::Cached };
            self.send(Flight::Write { job }, command, effects);
        }
    }

    pub(super) fn send(&mut self, flight: Flight, command: Command, effects: &mut Effects) {
        let tag = Tag(self.flights.insert(flight).into());
        effects.down.push(Request { tag, actor: OWN, drive: Drive(0), command });
    }

    /// What a row lacked has been read, into the begin of the buffer: the row goes out whole.
    pub(super) fn was_filled(
        &mut self,
        job: u32,
        at: Extent,
        result: Result<(), IoError>,
        payload: Payload,
    ) {
        self.destaging.commands -= 1;
        let own = self.destaging.jobs.get_mut(job);
        own.outstanding -= 1;
        let row = own.rows.start;
        if let Err(error) = result {
            own.error = Some(error);
            return self.end(job);
        }
        if let Payload::Bytes(mut image) = payload {
            let start = (at.offset - row * self.params.row.bytes()) as usize;
            image.bytes_mut().copy_within(0..at.bytes as usize, start);
            own.image = Payload::Bytes(image);
        }
        let whole = self.extent(row, 0..self.params.row.bytes());
        self.queue(job, whole, Step::Write);
    }

    pub(super) fn was_written(&mut self, job: u32, result: Result<(), IoError>) {
        self.destaging.commands -= 1;
        let own = self.destaging.jobs.get_mut(job);
        own.error = own.error.or(result.err());
        own.outstanding -= 1;
        if own.outstanding == 0 {
            self.end(job);
        }
    }

    fn end(&mut self, job: u32) {
        let Job { rows, error, .. } = self.destaging.jobs.remove(job);
        let Destaging { jobs_count, sequence, written, failure, .. } = &mut self.destaging;
        *jobs_count -= 1;
        *sequence += 1;
        *failure = failure.or(error);
        let number = error.is_none().then_some(*sequence);
        for row in rows {
            self.memory.end(row, number, |line| written.push((line, *sequence)));
        }
    }

    /// The members are flushed when much is with them, when somebody waits for room, and when
    /// nothing else is left to do.
    fn wants_flush(&self) -> bool {
        let Destaging { written, is_flushing, jobs_count, .. } = &self.destaging;
        if *is_flushing || written.is_empty() {
            return false;
        }
        written.len() as u64 >= self.memory.lines_max / FLUSH_SHARE
            || !self.waiting.is_empty()
            || *jobs_count == 0 && self.memory.next_ready(0).is_none()
    }

    fn flush_below(&mut self, effects: &mut Effects) {
        self.destaging.is_flushing = true;
        self.destaging.flushing = std::mem::take(&mut self.destaging.written);
        self.counters.flushes += 1;
        self.send(Flight::Flush, Command::Flush, effects);
    }

    /// What the flush covered is safe. Where it failed the lines stay: the battery has them.
    pub(super) fn was_flushed(&mut self, result: Result<(), IoError>) {
        self.destaging.is_flushing = false;
        let covered = std::mem::take(&mut self.destaging.flushing);
        match result {
            Ok(()) => {
                let stays = |(line, write): &(u64, u64)| self.memory.forget(*line, *write);
                self.destaging.written.extend(covered.into_iter().filter(stays));
            }
            Err(error) => self.destaging.failure = Some(error),
        }
    }
}
