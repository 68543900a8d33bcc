//! Read-ahead: after a read the head stays on its track and goes on reading into a segment of the
//! cache, until another command calls it away or the segment is full. A sequential reader finds its
//! next request there, or passing under the head this moment, so it runs at the rate of the medium
//! whatever its request size.
//!
//! Where the reading has got to is computed from the time when somebody asks, not by events.

use super::{
    layout::Place,
    mechanism::{Action, Mechanism, Span},
};

/// Whether a read may take the stream along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Join {
    /// The heads have chosen it.
    Chosen,
    /// If nobody else should come first.
    IfCheapest,
}

/// The segment being filled.
#[derive(Debug)]
struct Stream {
    /// Oldest sector kept.
    first: u64,
    /// Everything before `from` is in memory from here on, ns.
    memory_at: u64,
    /// The head meets the beginning of this sector at `since` ...
    from: u64,
    since: u64,
    /// ... having this path behind it, ...
    path: u64,
    /// ... and stops before this sector, at `full_at`.
    limit: u64,
    full_at: u64,
}

/// Streams the drive remembers.
#[derive(Debug)]
pub(super) struct ReadCache {
    stream: Option<Stream>,
    /// Earlier streams, the longest unused first.
    segments: Vec<Span>,
    segments_max: usize,
    /// How far a stream runs ahead, sectors.
    ahead: u64,
    /// How far it runs on whoever waits, sectors.
    ahead_min: u64,
    /// End of the platter.
    end: u64,
}

impl ReadCache {
    pub fn new(segments: u32, ahead: u64, ahead_min: u64, end: u64) -> Self {
        let ahead = if segments == 0 { 0 } else { ahead.max(ahead_min) };
        let segments_max = segments.saturating_sub(1) as usize;
        let segments = Vec::with_capacity(segments_max + 1);
        Self { stream: None, segments, segments_max, ahead, ahead_min: ahead_min.min(ahead), end }
    }

    /// Whether the whole span is in memory at `now`.
    pub fn holds(&mut self, mechanism: &Mechanism, span: Span, now: u64) -> bool {
        if let Some(stream) = &self.stream {
            let ever = Span { first: stream.first, end: stream.limit };
            let may_hold = ever.holds(span) && stream.memory_at <= now;
            if may_hold && span.end <= stream.reached(mechanism, now) {
                return true;
            }
        }
        let Some(at) = self.segments.iter().position(|segment| segment.holds(span)) else {
            return false;
        };
        self.segments[at..].rotate_left(1);
        true
    }

    /// Whether the stream is reading towards the span.
    pub fn can_join(&self, span: Span) -> bool {
        let within = |stream: &Stream| (stream.first..=stream.limit).contains(&span.first);
        self.ahead > 0 && self.stream.as_ref().is_some_and(within)
    }

    /// When the span will have passed under the head, if the stream is reading towards it or can be
    /// made to go on.
    pub fn join(&mut self, mechanism: &Mechanism, span: Span, now: u64) -> Option<u64> {
        if !self.can_join(span) {
            return None;
        }
        let stream = self.stream.as_mut()?;
        let wanted = (span.end + self.ahead).min(self.end);
        if now < stream.full_at {
            stream.run_to(mechanism, stream.limit.max(wanted));
        } else if stream.limit < self.end && stream.limit <= span.end + self.ahead / 2 {
            // The platter has turned on: the next sector has to come round again.
            stream.resume(mechanism, now);
            stream.run_to(mechanism, wanted);
        }
        // The segment slides along with its reader, and keeps as much behind as it reads ahead: in
        // a queue the earlier of two requests may come second.
        stream.first = stream.first.max(span.first.saturating_sub(self.ahead));
        Some(stream.passed_at(mechanism, span.end))
    }

    /// Starts to read ahead of a read that ends at `now` with `span`. Says when other commands may
    /// have the head.
    pub fn start(&mut self, mechanism: &Mechanism, span: Span, now: u64) -> u64 {
        let path = mechanism.layout.path_before(span.end);
        let Span { first, end: from } = span;
        let (memory_at, since, full_at) = (now, now, now);
        let mut stream = Stream { first, memory_at, from, since, path, limit: from, full_at };
        stream.run_to(mechanism, (from + self.ahead).min(self.end));
        self.stream = Some(stream);
        self.release_at(mechanism, span)
    }

    /// When the least read-ahead behind `span` is done.
    pub fn release_at(&self, mechanism: &Mechanism, span: Span) -> u64 {
        let stream = self.stream.as_ref().expect("called for a running stream");
        stream.passed_at(mechanism, (span.end + self.ahead_min).min(stream.limit))
    }

    /// The place of the head if it is reading ahead.
    pub fn head(&self, mechanism: &Mechanism, now: u64) -> Option<Place> {
        let stream = self.stream.as_ref()?;
        let last = stream.reached(mechanism, now).min(stream.limit - 1);
        Some(mechanism.layout.place(last))
    }

    /// The head is called away: what has been read stays as a segment.
    pub fn stop(&mut self, mechanism: &Mechanism, now: u64) {
        let Some(stream) = self.stream.take() else { return };
        let end = stream.reached(mechanism, now);
        if self.segments_max > 0 && stream.first < end {
            if self.segments.len() == self.segments_max {
                self.segments.remove(0);
            }
            self.segments.push(Span { first: stream.first, end });
        }
    }

    /// Forgets what overlaps a write.
    pub fn forget(&mut self, span: Span) {
        // Few writes overlap anything: then none is moved.
        if self.segments.iter().any(|segment| segment.overlaps(span)) {
            self.segments.retain(|segment| !segment.overlaps(span));
        }
        if let Some(stream) = &mut self.stream
            && (Span { first: stream.first, end: stream.limit }).overlaps(span)
        {
            // The head goes on, but nothing behind it counts.
            stream.first = stream.limit;
        }
    }
}

impl Stream {
    fn run_to(&mut self, mechanism: &Mechanism, limit: u64) {
        self.limit = limit.max(self.from);
        self.full_at = self.passed_at(mechanism, self.limit);
    }

    fn resume(&mut self, mechanism: &Mechanism, now: u64) {
        let here = mechanism.layout.place(self.limit - 1);
        self.memory_at = self.full_at;
        self.since = mechanism.begin(here, now, self.limit, Action::Read, 0);
        self.from = self.limit;
        self.path = mechanism.layout.path(self.limit);
    }

    /// The first sector that is not in memory yet.
    fn reached(&self, mechanism: &Mechanism, now: u64) -> u64 {
        if now >= self.full_at {
            return self.limit;
        }
        let passed = mechanism.layout.phases(now.saturating_sub(self.since));
        mechanism.layout.sector_at(self.path + passed).clamp(self.from, self.limit)
    }

    /// When the head has passed everything before `end`.
    fn passed_at(&self, mechanism: &Mechanism, end: u64) -> u64 {
        if end <= self.from {
            return self.memory_at;
        }
        self.since + mechanism.layout.nanoseconds(mechanism.layout.path_before(end) - self.path)
    }
}
