//! The drive's side of the cable: what is done one command at a time, what beside others, how many
//! at once, and what comes in order.

use super::{PageMappedParams, Transfer, UNIT_BYTES};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Time a byte takes, as a fixed-point number: a multiplication where a rate would be a division.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Nanoseconds a byte, times 2^32.
    scaled: u64,
}

impl Pace {
    /// At `bytes_per_s`, to 2^-33 ns a byte.
    pub fn of_rate(bytes_per_s: u64) -> Self {
        let scaled =
            ((1_000_000_000u128 << 32) + u128::from(bytes_per_s / 2)) / u128::from(bytes_per_s);
        Self { scaled: u64::try_from(scaled).expect("a rate of at least 1 B/s") }
    }

    /// How long `bytes` take, ns, to the nearest.
    #[inline]
    pub fn time_of(&self, bytes: u32) -> u64 {
        ((u128::from(self.scaled) * u128::from(bytes) + (1 << 31)) >> 32) as u64
    }
}

/// Commands the drive works on at once.
#[derive(Debug)]
pub struct CommandQueue {
    /// When each of its places is free again; empty if the host cannot fill them all.
    places: BinaryHeap<Reverse<u64>>,
}

impl CommandQueue {
    /// Of `places` for a host that sends at most `queue_depth`.
    pub fn new(places: u32, queue_depth: u32) -> Self {
        let places = if places < queue_depth { places } else { 0 };
        Self { places: (0..places).map(|_| Reverse(0)).collect() }
    }

    /// Whether a command may have to wait for a place.
    #[inline]
    pub fn is_limited(&self) -> bool {
        !self.places.is_empty()
    }

    /// When a command that came at `now` is looked at.
    #[inline]
    pub fn admit(&self, now: u64) -> u64 {
        self.places.peek().map_or(now, |Reverse(free)| now.max(*free))
    }

    /// The command that was admitted last is done at `finished`.
    #[inline]
    pub fn occupy(&mut self, finished: u64) {
        if let Some(mut place) = self.places.peek_mut() {
            *place = Reverse(finished);
        }
    }
}

/// Streams that a drive tells apart.
const STREAMS: usize = 8;

/// A host that reads or writes in order.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stream {
    /// Where its next request starts, bytes; 0 is nobody's.
    next: u64,
    /// When what it was read ahead will be in the buffer.
    pub ready: u64,
}

/// The requests that came in order, lately.
#[derive(Debug, Default)]
pub struct Streams {
    streams: [Stream; STREAMS],
    oldest: usize,
}

impl Streams {
    /// The stream that a request at `offset` continues, moved on to its end; if none, one begins
    /// there.
    #[inline]
    pub fn follow(&mut self, offset: u64, bytes: u32) -> Option<&mut Stream> {
        let end = offset + u64::from(bytes);
        let known = self.streams.iter().position(|stream| stream.next == offset && offset != 0);
        match known {
            Some(number) => {
                self.streams[number].next = end;
                Some(&mut self.streams[number])
            }
            None => {
                self.streams[self.oldest] = Stream { next: end, ready: 0 };
                self.oldest = (self.oldest + 1) % STREAMS;
                None
            }
        }
    }
}

/// The stage between host and buffer: a command's serial part bounds the rate, its latency is
/// spent beside that of others.
#[derive(Debug)]
pub struct HostStage {
    read_command_ns: u64,
    write_command_ns: u64,
    read_latency_ns: u64,
    write_latency_ns: u64,
    link: Pace,
    transfer: Transfer,
    stream_read: Option<Pace>,
    stream_write: Pace,
    random_write: Pace,
    busy_until: u64,
    /// When each queue of random writes is empty; none if all writes share one.
    write_queues: Vec<u64>,
    reads: Streams,
    writes: Streams,
}

/// A write as the host stage sees it.
#[derive(Clone, Copy, Debug)]
pub struct WriteAtHost {
    /// When the drive has its bytes.
    pub arrived: u64,
    /// Its queue answers no sooner.
    pub answered: u64,
}

/// A read as the host stage sees it.
#[derive(Clone, Copy, Debug)]
pub struct ReadAtHost {
    /// When flash may start.
    pub start: u64,
    /// How long its bytes take on the link.
    pub link_ns: u64,
    /// When a sequential read's bytes are in the buffer, having been read ahead.
    pub read_ahead: Option<u64>,
}

impl HostStage {
    /// Idle.
    pub fn new(params: &PageMappedParams) -> Self {
        let no_faster_than_link = |cap: Option<u64>| {
            Pace::of_rate(
                cap.map_or(params.link_bytes_per_s, |cap| cap.min(params.link_bytes_per_s)),
            )
        };
        Self {
            read_command_ns: params.read_command_ns,
            write_command_ns: params.write_command_ns,
            read_latency_ns: params.read_latency_ns,
            write_latency_ns: params.write_latency_ns,
            link: Pace::of_rate(params.link_bytes_per_s),
            transfer: params.transfer,
            stream_read: params.stream_read_bytes_per_s.map(Pace::of_rate),
            stream_write: no_faster_than_link(params.stream_write_bytes_per_s),
            random_write: no_faster_than_link(params.random_write_bytes_per_s),
            busy_until: 0,
            write_queues: match params.write_queues {
                1 => Vec::new(),
                queues => vec![0; queues as usize],
            },
            reads: Streams::default(),
            writes: Streams::default(),
        }
    }

    /// What a command keeps the next one from, where it needs so much by itself and its bytes so
    /// much on the link.
    #[inline]
    fn takes(&self, command_ns: u64, bytes_ns: u64) -> u64 {
        match self.transfer {
            Transfer::Serial => command_ns + bytes_ns,
            Transfer::Overlapped => command_ns.max(bytes_ns),
        }
    }

    /// A read's command, and its bytes' place on the link.
    #[inline]
    pub fn read(&mut self, at: u64, offset: u64, bytes: u32) -> ReadAtHost {
        let begun = at.max(self.busy_until);
        let start = begun + self.read_command_ns;
        let link_ns = self.link.time_of(bytes);
        self.busy_until = begun + self.takes(self.read_command_ns, link_ns);
        let read_ahead = self.stream_read.and_then(|pace| {
            let stream = self.reads.follow(offset, bytes)?;
            // While the host paused, the drive read on: as far as this request goes.
            stream.ready = (stream.ready + pace.time_of(bytes)).max(at);
            Some(stream.ready)
        });
        ReadAtHost { start: start + self.read_latency_ns, link_ns, read_ahead }
    }

    /// What a write takes in the controller beside others, after the buffer has it.
    #[inline]
    pub fn write_latency_ns(&self) -> u64 {
        self.write_latency_ns
    }

    /// A write's command and bytes.
    #[inline]
    pub fn write(&mut self, at: u64, offset: u64, bytes: u32) -> WriteAtHost {
        let continues = self.writes.follow(offset, bytes).is_some();
        let pace = if continues { self.stream_write } else { self.random_write };
        let bytes_ns = pace.time_of(bytes);
        let needs_ns = self.takes(self.write_command_ns, bytes_ns);
        let begun = at.max(self.busy_until);
        self.busy_until = begun + needs_ns;
        let arrived = begun + self.write_command_ns + bytes_ns;
        let mut seen = WriteAtHost { arrived, answered: arrived };
        if !continues && !self.write_queues.is_empty() {
            seen.answered = self.queue_up(at, offset, needs_ns);
        }
        seen
    }

    /// When the queue that `offset` belongs to has done with a write that all queues together would
    /// do in `needs_ns`.
    fn queue_up(&mut self, at: u64, offset: u64, needs_ns: u64) -> u64 {
        let queues = self.write_queues.len() as u64;
        // Fibonacci hashing: neighbours go to different queues, in no order.
        let spread = (offset / u64::from(UNIT_BYTES)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let number = spread % queues;
        let empty_at = &mut self.write_queues[number as usize];
        *empty_at = at.max(*empty_at) + needs_ns * queues;
        *empty_at
    }

    /// A command without data; when the drive has it.
    pub fn command(&mut self, at: u64) -> u64 {
        self.busy_until = at.max(self.busy_until) + self.write_command_ns;
        self.busy_until
    }

    /// How long a unit's bytes take on the link.
    #[inline]
    pub fn link_time_of(&self, bytes: u32) -> u64 {
        self.link.time_of(bytes)
    }
}
