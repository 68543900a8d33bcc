//! Several drives as one: RAID 0, 1, 5, 6 and 10.
//!
//! ```text
//!   request --> plan.rs: which pieces of which members    (layout.rs: where they lie)
//!                 |  a write of a parity level: locks.rs, then
//!                 |-- phase 1: read old data and parity, or the rest of the row
//!                 '-- phase 2: write data and parity, adjacent rows in one command
//! ```
//!
//! The host's cost of all this is not here: it is the port's serial time a command. A member that
//! fails leaves the array degraded; what cannot be had any more is an error for the asker.

mod carrier;
mod layout;
mod locks;
mod losses;
mod missing;
mod operate;
mod params;
mod parity;
mod plan;
mod rebuild;

pub use params::{ArrayParams, Level, Rebuild};

use crate::Outbox;
use block::{
    Actor, Command, Completion, Data, Drive, Durability, Effects, Geometry, Instant, IoError,
    Machine, Payload, Request, Slots, Tag,
};
use carrier::Carrier;
use layout::{Layout, Members};
use locks::Locks;
use missing::{Absent, Missing};
use plan::{Load, Piece, Plan};
use std::collections::VecDeque;

/// Longest request, bytes: bm-flash asks for 4 MiB.
const TRANSFER_BYTES_MAX: u32 = 4 << 20;
/// How much of a member a rebuild does at a time, bytes.
const REBUILD_STEP_BYTES: u64 = 1 << 20;
/// What refusing a request takes, ns: no answer may come in no time.
const REFUSAL_NS: u64 = 1_000;

/// The array, a machine over its members. Budget: 300 ns a member command.
#[derive(Clone, Debug)]
pub struct Array {
    layout: Layout,
    geometry: Geometry,
    absent: Absent,
    rebuild: Option<Progress>,
    /// How many have begun.
    rebuilds: u64,
    plan: Plan,
    carrier: Carrier,
    locks: Locks,
    load: Load,
    operations: Slots<Operation>,
    commands: Slots<Sent>,
    refusals: Outbox,
    granted: Vec<u32>,
    /// The operation that reads row by row.
    row_by_row: Option<u32>,
    /// Those that wait to.
    patient: VecDeque<u32>,
}

/// A request from above, or a step of the rebuild.
#[derive(Clone, Debug)]
struct Operation {
    tag: Tag,
    actor: Actor,
    issued: Instant,
    kind: Kind,
    offset: u64,
    bytes: u64,
    payload: Payload,
    /// The rows in memory, while a parity level carries bytes.
    image: Vec<u8>,
    /// What reads have brought up so far, where a stamp stands for the contents.
    stamp: Option<u64>,
    phase: Phase,
    /// It holds its stripes, or waits for them.
    is_locked: bool,
    outstanding: u32,
    /// Members that were absent when its reads were planned.
    absent: Absent,
    /// Rows at which it found members unreadable.
    unreadable: Vec<(u64, Members)>,
    /// It reads row by row, to find out which.
    row_by_row: bool,
    error: Option<IoError>,
    /// What went wrong leaves the answer as it is.
    survives: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Read,
    Write(Durability),
    Flush,
    Discard,
    Rebuild,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Waiting for its stripes.
    Queued,
    /// Reading: all of a read, the first half of a write.
    Reading,
    /// Writing, flushing or discarding.
    Changing,
}

/// A command at its member.
#[derive(Clone, Copy, Debug)]
struct Sent {
    operation: u32,
    piece: Piece,
}

/// A rebuild under way.
#[derive(Clone, Copy, Debug)]
struct Progress {
    pace: Rebuild,
    /// Which rebuild of the array's life this is: a step of an earlier one counts for nothing.
    number: u64,
    /// When the next step may begin; never while one is under way.
    next_at: Instant,
    begun_at: Instant,
}

impl Array {
    /// Of members with these contracts, the first being drive 0 below. The smallest rules the
    /// capacity.
    ///
    /// # Panics
    /// When the level cannot be built of them.
    pub fn new(params: ArrayParams, members: &[Geometry]) -> Self {
        params.check(members.len());
        let least = |of: fn(&Geometry) -> u64| members.iter().map(of).min().expect("members");
        let layout =
            Layout::new(&params, members.len() as u64, least(|member| member.capacity_bytes));
        let commands_max = commands_max(&layout);
        let below = least(|member| u64::from(member.queue_depth));
        let reserve = row_by_row_max(&layout);
        // One operation is the rebuild's.
        let queue_depth = (below.saturating_sub(reserve) / commands_max).saturating_sub(1) as u32;
        assert!(
            queue_depth > 0,
            "members take {below} requests, one of the array's makes up to {reserve}"
        );
        let geometry = Geometry {
            capacity_bytes: layout.capacity_bytes(),
            block_bytes: members.iter().map(|member| member.block_bytes).max().expect("members"),
            transfer_bytes_max: TRANSFER_BYTES_MAX,
            queue_depth,
            data: members[0].data,
        };
        assert!(
            members.iter().all(|member| member.data == geometry.data),
            "members that store data beside members that do not"
        );
        assert!(
            params.level != Level::Raid6 || geometry.data == Data::TimingOnly,
            "RAID-6 models time alone: its second parity is not computed"
        );
        let everything = below as u32 * members.len() as u32;
        Self {
            layout,
            geometry,
            absent: Absent { always: 0, rebuilding: None },
            rebuild: None,
            rebuilds: 0,
            plan: Plan::new(layout),
            carrier: Carrier::new(layout),
            locks: Locks::new(queue_depth + 1),
            load: Load { outstanding: vec![0; members.len()], heads: vec![0; members.len()] },
            operations: Slots::new(queue_depth + 1),
            commands: Slots::new(everything),
            refusals: Outbox::new(queue_depth),
            granted: Vec::with_capacity(queue_depth as usize),
            row_by_row: None,
            patient: VecDeque::new(),
        }
    }

    /// How many members hold nothing, or not everything yet.
    pub fn missing_members(&self) -> u32 {
        self.absent.always.count_ones() + u32::from(self.absent.rebuilding.is_some())
    }

    /// Fails `member`, as if it had been pulled out. The last copy of something cannot be failed:
    /// then this says so and nothing changes.
    ///
    /// # Panics
    /// Without such a member.
    pub fn fail(&mut self, member: u16) -> bool {
        assert!(u64::from(member) < self.layout.members, "no member {member}");
        self.lose(u64::from(member))
    }

    /// Puts a new drive in the place of failed `member` and rebuilds it from `now` on.
    ///
    /// # Panics
    /// If the member has not failed, or another is being rebuilt.
    pub fn replace(&mut self, now: Instant, member: u16, pace: Rebuild) {
        let bit = 1 << member;
        assert!(self.absent.always & bit != 0, "member {member} has not failed");
        assert!(self.rebuild.is_none(), "one rebuild at a time");
        assert!(pace.idle_bytes_per_s > 0 && pace.busy_bytes_per_s > 0, "a rebuild at 0 B/s");
        self.absent.always &= !bit;
        self.absent.rebuilding = Some((u64::from(member), 0));
        self.rebuilds += 1;
        let (number, next_at) = (self.rebuilds, now.after(1));
        self.rebuild = Some(Progress { pace, number, next_at, begun_at: now });
    }
}

impl Machine for Array {
    #[inline]
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let (kind, offset, bytes, payload) = match request.command {
            Command::Read { at, into } => (Kind::Read, at.offset, u64::from(at.bytes), into),
            Command::Write { at, from, durability } => {
                (Kind::Write(durability), at.offset, u64::from(at.bytes), from)
            }
            Command::Flush => (Kind::Flush, 0, 0, Payload::None),
            Command::Discard { offset, len } => (Kind::Discard, offset, len, Payload::None),
        };
        assert!(offset + bytes <= self.geometry.capacity_bytes, "outside of the array");
        assert!(
            bytes > 0 && bytes <= u64::from(TRANSFER_BYTES_MAX)
                || matches!(kind, Kind::Flush | Kind::Discard),
            "a transfer of {bytes} B"
        );
        assert!(
            !matches!(payload, Payload::Stamp(_)) || self.layout.parities() == 0,
            "stamps have no parity"
        );
        let mut operation = Operation {
            tag: request.tag,
            actor: request.actor,
            issued: now,
            payload,
            ..Operation::of(kind, offset, bytes)
        };
        self.carrier.begin(&mut operation);
        let number = self.operations.insert(operation);
        self.begin(now, number, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let number = u32::try_from(completion.tag.0).expect("our own tag");
        let Sent { operation, piece } = self.commands.remove(number);
        self.load.outstanding[piece.member as usize] -= 1;
        if let Err(error) = completion.result {
            self.note_error(operation, piece, error);
        }
        let waiting = self.operations.get_mut(operation);
        let is_reading = waiting.phase == Phase::Reading && completion.result.is_ok();
        self.carrier.up(waiting, piece, completion.payload, is_reading);
        waiting.outstanding -= 1;
        if waiting.outstanding == 0 {
            self.step(now, operation, effects);
        }
    }

    #[inline]
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.refusals.release(now, effects);
        self.go_on_rebuilding(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        let rebuild = self.rebuild.map_or(Instant::NEVER, |progress| progress.next_at);
        self.refusals.next().min(rebuild)
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        Some(Box::new(self.clone()))
    }
}

impl Operation {
    /// What it cannot read.
    fn missing(&self) -> Missing<'_> {
        Missing { absent: self.absent, unreadable: &self.unreadable }
    }

    fn of(kind: Kind, offset: u64, bytes: u64) -> Self {
        Self {
            tag: Tag(0),
            actor: Actor(u16::MAX),
            issued: Instant(0),
            kind,
            offset,
            bytes,
            payload: Payload::None,
            image: Vec::new(),
            stamp: None,
            phase: Phase::Queued,
            is_locked: false,
            outstanding: 0,
            absent: Absent { always: 0, rebuilding: None },
            unreadable: Vec::new(),
            row_by_row: false,
            error: None,
            survives: true,
        }
    }
}

/// Commands for one member that one operation makes at most.
fn commands_max(layout: &Layout) -> u64 {
    match layout.level {
        // Adjacent rows are one command.
        Level::Raid0 | Level::Raid1 => 1,
        // Two where a rebuild has come half way through the rows.
        Level::Raid10 if layout.members.is_multiple_of(2) => 2,
        // Any chunk may be read from either copy.
        Level::Raid10 => row_by_row_max(layout),
        // A run of rows ends where the member holds parity; the first and the last row are three
        // bands of columns each.
        Level::Raid5 | Level::Raid6 => {
            layout.parities() * row_by_row_max(layout) / layout.members + 8
        }
    }
}

/// The same while adjacent rows are kept apart.
fn row_by_row_max(layout: &Layout) -> u64 {
    let row_bytes = match layout.level {
        Level::Raid0 | Level::Raid5 | Level::Raid6 => layout.chunk_bytes * layout.data(),
        Level::Raid1 => layout.chunk_bytes,
        Level::Raid10 => layout.chunk_bytes * layout.members / 2,
    };
    let rows = u64::from(TRANSFER_BYTES_MAX) / row_bytes + 2;
    rows.max(REBUILD_STEP_BYTES / layout.chunk_bytes) + 8
}
