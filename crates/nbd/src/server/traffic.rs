//! What clients asked for, counted when it is answered.

use crate::protocol::{Command, Request};

/// Upper bounds of the classes in which latencies are counted, in nanoseconds: 10 us to 10 s in
/// steps of 1, 2, 5.
pub const LATENCY_BOUNDS_NS: [u64; 19] = {
    let mut bounds = [0; 19];
    let (mut decade, mut at) = (10_000, 0);
    while at < bounds.len() {
        bounds[at] = decade * [1, 2, 5][at % 3];
        if at % 3 == 2 {
            decade *= 10;
        }
        at += 1;
    }
    bounds
};

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Kind {
    /// To be sent data.
    Read,
    /// To store data.
    Write,
    /// To zero a range.
    WriteZeroes,
    /// To give up a range.
    Trim,
    /// To make durable what was answered.
    Flush,
    /// To read ahead, which nothing is done for.
    Cache,
    /// To be told what is allocated.
    BlockStatus,
}

impl Kind {
    /// All of them, in the order of [`Traffic::kinds`].
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Write,
        Self::WriteZeroes,
        Self::Trim,
        Self::Flush,
        Self::Cache,
        Self::BlockStatus,
    ];

    /// As metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteZeroes => "write_zeroes",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::Cache => "cache",
            Self::BlockStatus => "block_status",
        }
    }

    fn of(command: Command) -> Self {
        match command {
            Command::Read(_) => Self::Read,
            Command::Write => Self::Write,
            Command::WriteZeroes(_) => Self::WriteZeroes,
            Command::Trim => Self::Trim,
            Command::Flush => Self::Flush,
            Command::Cache => Self::Cache,
            Command::BlockStatus(_) => Self::BlockStatus,
        }
    }
}

/// The requests of one kind that were answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// How many, those that failed included.
    pub requests: u64,
    /// Bytes that they were about.
    pub bytes: u64,
    /// Those that failed.
    pub failures: u64,
    /// How many took no longer than each of [`LATENCY_BOUNDS_NS`] and longer than the one before;
    /// longer ones last.
    pub latencies: [u64; LATENCY_BOUNDS_NS.len() + 1],
    /// All that they took, from the whole head of a request to its answer, in nanoseconds.
    pub latency_ns: u64,
    /// The longest of them.
    pub latency_ns_max: u64,
}

/// What a server has answered since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Clients that found a place.
    pub clients: u64,
    /// Clients that were disconnected because they did not finish their handshake, or a write.
    pub dismissed: u64,
    /// Clients that were told that all places are taken.
    pub turned_away: u64,
    /// Clients that are connected now.
    pub connections: u64,
    /// A flush failed, or a forced write: no change is acknowledged any more.
    pub refuses_changes: bool,
    /// A flush is at the engine now.
    pub flush_under_way: bool,
    /// By kind.
    pub kinds: [Tally; Kind::ALL.len()],
}

impl Traffic {
    /// The requests of one kind.
    pub fn of(&self, kind: Kind) -> &Tally {
        &self.kinds[kind as usize]
    }

    /// Requests that failed.
    pub fn failures(&self) -> u64 {
        self.kinds.iter().map(|tally| tally.failures).sum()
    }

    /// Counts an answer that took so long.
    pub fn count(&mut self, request: &Request, outcome: Outcome, took_ns: u64) {
        let tally = &mut self.kinds[Kind::of(request.command) as usize];
        tally.requests += 1;
        tally.bytes += u64::from(request.bytes);
        tally.failures += u64::from(outcome == Outcome::Failed);
        let class = LATENCY_BOUNDS_NS.iter().position(|&bound| took_ns <= bound);
        tally.latencies[class.unwrap_or(LATENCY_BOUNDS_NS.len())] += 1;
        tally.latency_ns += took_ns;
        tally.latency_ns_max = tally.latency_ns_max.max(took_ns);
    }
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// What was asked for is done.
    Done,
    /// It is not.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Durability;

    #[test]
    fn latencies_are_counted_in_the_first_class_that_holds_them() {
        assert_eq!(LATENCY_BOUNDS_NS[..4], [10_000, 20_000, 50_000, 100_000]);
        assert_eq!(LATENCY_BOUNDS_NS[18], 10_000_000_000);
        let mut traffic = Traffic::default();
        let durability = Durability::Cached;
        let command = Command::Trim;
        let request = Request { cookie: 1, command, offset: 0, bytes: 7, durability };
        for (took_ns, outcome) in
            [(10_000, Outcome::Done), (10_001, Outcome::Failed), (u64::MAX >> 1, Outcome::Done)]
        {
            traffic.count(&request, outcome, took_ns);
        }
        let tally = traffic.of(Kind::Trim);
        assert_eq!((tally.requests, tally.bytes, tally.failures), (3, 21, 1));
        assert_eq!((tally.latencies[0], tally.latencies[1], tally.latencies[19]), (1, 1, 1));
        assert_eq!(tally.latency_ns_max, u64::MAX >> 1);
        assert_eq!(traffic.failures(), 1);
        for (place, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }
}
