//! Several drives as one: RAID 0, 1, 5, 6 and 10.
//!
//! ```text
//!   request --> plan.rs: which pieces of which members    (layout.rs: where they lie)
//!                 |  a write of a parity level: locks.rs, then
//!                 |-- phase 1: read old data and parity, or the rest of the row
//!                 '-- phase 2: write data and parity, adjacent rows in one command
//! ```
//!
//! The host's cost of all this is not here: it is the port's serial time a command. A member that fails
//! leaves the array degraded; what cannot be had any more is an error for the asker.

mod layout;
mod locks;
mod params;
mod plan;
mod rebuild;

pub use params::{ArrayParams, Level, Rebuild};

use crate::Outbox;
use block::{
    Actor, Command, Completion, Drive, Durability, Effects, Extent, Geometry, Instant, IoError,
    Machine, Payload, Request, Slots, Tag,
};
use layout::{Layout, Members};
use locks::{Locks, Stripes};
use plan::{Load, Lost, Missing, Piece, Plan};

/// Longest request, bytes: bm-flash asks for 4 MiB.
const TRANSFER_BYTES_MAX: u32 = 4 << 20;
/// How much of a member a rebuild does at a time, bytes.
const REBUILD_STEP_BYTES: u64 = 1 << 20;
/// What refusing a request takes, ns: no answer may come in no time.
const REFUSAL_NS: u64 = 1_000;

/// The array, a machine over its members. Budget: 300 ns a member command.
#[derive(Debug)]
pub struct Array {
    layout: Layout,
    geometry: Geometry,
    missing: Missing,
    rebuild: Option<Progress>,
    plan: Plan,
    locks: Locks,
    load: Load,
    operations: Slots<Operation>,
    commands: Slots<Sent>,
    refusals: Outbox,
    granted: Vec<u32>,
}

/// A request from above, or a step of the rebuild.
#[derive(Debug)]
struct Operation {
    tag: Tag,
    actor: Actor,
    issued: Instant,
    kind: Kind,
    offset: u64,
    bytes: u64,
    payload: Payload,
    phase: Phase,
    outstanding: u32,
    /// Members that could not be read for this operation.
    avoid: Members,
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
    /// When the next step may begin; never while one is under way.
    next_at: Instant,
    begun_at: Instant,
}

impl Array {
    /// Of members with these contracts, the first being drive 0 below. The smallest rules the capacity.
    ///
    /// # Panics
    /// When the level cannot be built of them.
    pub fn new(params: ArrayParams, members: &[Geometry]) -> Self {
        params.check(members.len());
        let least = |of: fn(&Geometry) -> u64| members.iter().map(of).min().expect("members");
        let layout =
            Layout::new(&params, members.len() as u64, least(|member| member.capacity_bytes));
        let commands_max = commands_max(&layout);
        let below = least(|member| u64::from(member.queue_depth)) as u32;
        assert!(
            below >= 2 * commands_max,
            "members take {below} requests, {commands_max} make one"
        );
        let queue_depth = below / commands_max - 1; // One operation is the rebuild's.
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
        let everything = below * members.len() as u32;
        Self {
            layout,
            geometry,
            missing: Missing { always: 0, rebuilding: None },
            rebuild: None,
            plan: Plan::new(layout),
            locks: Locks::new(queue_depth + 1),
            load: Load { outstanding: vec![0; members.len()], heads: vec![0; members.len()] },
            operations: Slots::new(queue_depth + 1),
            commands: Slots::new(everything),
            refusals: Outbox::new(queue_depth),
            granted: Vec::with_capacity(queue_depth as usize),
        }
    }

    /// How many members hold nothing, or not everything yet.
    pub fn missing_members(&self) -> u32 {
        self.missing.always.count_ones() + u32::from(self.missing.rebuilding.is_some())
    }

    /// Fails `member`, as if it had been pulled out. The last copy of something cannot be failed: then
    /// this says so and nothing changes.
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
        assert!(self.missing.always & bit != 0, "member {member} has not failed");
        assert!(self.rebuild.is_none(), "one rebuild at a time");
        assert!(pace.idle_bytes_per_s > 0 && pace.busy_bytes_per_s > 0, "a rebuild at 0 B/s");
        self.missing.always &= !bit;
        self.missing.rebuilding = Some((u64::from(member), 0));
        self.rebuild = Some(Progress { pace, next_at: now.after(1), begun_at: now });
    }

    /// Marks `member` as failed if the rest can do without it.
    fn lose(&mut self, member: u64) -> bool {
        let bit = 1 << member;
        let lost = self.missing.at(u64::MAX) | bit;
        let partner = match self.layout.level {
            Level::Raid10 if self.layout.members.is_multiple_of(2) => 1 << (member ^ 1),
            _ => Members::MAX,
        };
        let losses_max = match self.layout.level {
            Level::Raid10 if self.layout.members.is_multiple_of(2) => 1,
            _ => self.layout.losses(),
        };
        if u64::from((lost & (partner | bit)).count_ones()) > losses_max {
            return false;
        }
        self.missing.always |= bit;
        if self.missing.rebuilding.is_some_and(|(rebuilding, _)| rebuilding == member) {
            self.missing.rebuilding = None;
            self.rebuild = None;
        }
        true
    }

    /// Begins an operation, unless its stripes are held by another.
    fn begin(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        let changes = matches!(operation.kind, Kind::Write(_) | Kind::Rebuild);
        let stripes = changes.then(|| stripes_of(&self.layout, operation));
        if stripes.is_none_or(|stripes| self.locks.acquire(stripes, number)) {
            self.advance(now, number, effects);
        }
    }

    /// Sends an operation's next phase.
    fn advance(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        let around = self.missing.always | operation.avoid;
        let missing = Missing { always: around, ..self.missing };
        let (kind, offset, bytes) = (operation.kind, operation.offset, operation.bytes);
        let planned = match (kind, operation.phase) {
            (Kind::Read, _) => {
                operation.phase = Phase::Reading;
                self.plan.read(offset, bytes, missing, &self.load)
            }
            (Kind::Write(_), Phase::Queued) => {
                operation.phase = Phase::Reading;
                self.plan.read_before(offset, bytes, missing)
            }
            (Kind::Write(_), _) => {
                operation.phase = Phase::Changing;
                self.plan.write(offset, bytes, self.missing)
            }
            (Kind::Rebuild, Phase::Queued) => {
                operation.phase = Phase::Reading;
                self.plan_rebuild_read(number, missing)
            }
            (Kind::Rebuild, _) => {
                operation.phase = Phase::Changing;
                self.plan_rebuild_write(number);
                Ok(())
            }
            (Kind::Flush | Kind::Discard, _) => {
                operation.phase = Phase::Changing;
                self.plan.everywhere(kind == Kind::Discard, offset, bytes, self.missing);
                Ok(())
            }
        };
        match planned {
            Err(Lost) => self.refuse(now, number, effects),
            Ok(()) if self.plan.pieces.is_empty() => self.advance_empty(now, number, effects),
            Ok(()) => self.send(number, effects),
        }
    }

    /// A phase without anything to do: go on, or be done.
    fn advance_empty(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        if self.operations.get_mut(number).phase == Phase::Reading {
            return self.advance(now, number, effects);
        }
        self.finish(now, now.after(REFUSAL_NS), number, effects);
    }

    /// Sends the plan's pieces to their members.
    fn send(&mut self, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        operation.outstanding = self.plan.pieces.len() as u32;
        let is_reading = operation.phase == Phase::Reading;
        for &piece in &self.plan.pieces {
            let Piece { member, offset, bytes } = piece;
            let tag = Tag(u64::from(self.commands.insert(Sent { operation: number, piece })));
            self.load.outstanding[member as usize] += 1;
            self.load.heads[member as usize] = offset + bytes;
            let at = Extent { offset, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
            let command = match operation.kind {
                _ if is_reading => Command::Read { at, into: Payload::None },
                Kind::Write(durability) => Command::Write { at, from: Payload::None, durability },
                Kind::Rebuild => {
                    let durability = Durability::Cached;
                    Command::Write { at, from: Payload::None, durability }
                }
                Kind::Flush => Command::Flush,
                Kind::Discard => Command::Discard { offset, len: bytes },
                Kind::Read => unreachable!("a read has one phase"),
            };
            let drive = Drive(member as u16);
            effects.down.push(Request { tag, actor: operation.actor, drive, command });
        }
    }

    /// Notes a member's error, and loses the member where that is what it means.
    fn note_error(&mut self, number: u32, member: u64, error: IoError) {
        let operation = self.operations.get_mut(number);
        let is_reading = operation.phase == Phase::Reading;
        operation.error = Some(error);
        operation.avoid |= 1 << member;
        let is_gone = !is_reading || error == IoError::Offline;
        let already = self.missing.at(u64::MAX) >> member & 1 == 1;
        let survives = already || !is_gone || self.lose(member);
        self.operations.get_mut(number).survives &= survives && self.layout.losses() > 0;
    }

    /// Everything an operation had sent is back.
    fn step(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        if !operation.survives {
            return self.finish(now, now, number, effects);
        }
        match (operation.kind, operation.phase) {
            (_, Phase::Reading) if operation.error.is_some() => {
                // Again, around the member that could not be read.
                operation.error = None;
                operation.phase = Phase::Queued;
                self.advance(now, number, effects);
            }
            (Kind::Write(_) | Kind::Rebuild, Phase::Reading) => self.advance(now, number, effects),
            _ => {
                // What was written is complete without the member that is lost.
                operation.error = None;
                self.finish(now, now, number, effects);
            }
        }
    }

    fn refuse(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        operation.error = operation.error.or(Some(IoError::Offline));
        self.finish(now, now.after(REFUSAL_NS), number, effects);
    }

    /// Answers an operation and lets those go on that waited for its stripes.
    fn finish(&mut self, now: Instant, finished: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.remove(number);
        let kind = operation.kind;
        if kind == Kind::Rebuild {
            self.end_rebuild_step(now, &operation);
        } else {
            let Operation { tag, issued, payload, error, .. } = operation;
            let result = error.map_or(Ok(()), Err);
            let completion = Completion { tag, issued, finished, result, payload };
            if finished > now {
                self.refusals.put(completion);
            } else {
                effects.up.push(completion);
            }
        }
        if matches!(kind, Kind::Write(_) | Kind::Rebuild) {
            self.locks.release(number, &mut self.granted);
            while let Some(next) = self.granted.pop() {
                self.advance(now, next, effects);
            }
        }
    }
}

impl Machine for Array {
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
        assert!(matches!(payload, Payload::None), "an array carries no data yet");
        let operation = Operation {
            tag: request.tag,
            actor: request.actor,
            issued: now,
            payload,
            ..Operation::of(kind, offset, bytes)
        };
        let number = self.operations.insert(operation);
        self.begin(now, number, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let number = u32::try_from(completion.tag.0).expect("our own tag");
        let Sent { operation, piece } = self.commands.remove(number);
        self.load.outstanding[piece.member as usize] -= 1;
        if let Err(error) = completion.result {
            self.note_error(operation, piece.member, error);
        }
        let waiting = self.operations.get_mut(operation);
        waiting.outstanding -= 1;
        if waiting.outstanding == 0 {
            self.step(now, operation, effects);
        }
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.refusals.release(now, effects);
        self.go_on_rebuilding(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        let rebuild = self.rebuild.map_or(Instant::NEVER, |progress| progress.next_at);
        self.refusals.next().min(rebuild)
    }
}

impl Operation {
    fn of(kind: Kind, offset: u64, bytes: u64) -> Self {
        Self {
            tag: Tag(0),
            actor: Actor(u16::MAX),
            issued: Instant(0),
            kind,
            offset,
            bytes,
            payload: Payload::None,
            phase: Phase::Queued,
            outstanding: 0,
            avoid: 0,
            error: None,
            survives: true,
        }
    }
}

/// Commands for one member that one operation makes at most.
fn commands_max(layout: &Layout) -> u32 {
    let row_bytes = layout.chunk_bytes * layout.data();
    let rows = u64::from(TRANSFER_BYTES_MAX) / row_bytes + 2;
    let commands = match layout.level {
        // Adjacent rows are one command.
        Level::Raid0 | Level::Raid1 => 1,
        // Any chunk may be read from either copy.
        Level::Raid10 => 2 * rows + 2,
        // A run of rows ends where the member holds parity; the first and the last row are three bands
        // of columns each.
        Level::Raid5 | Level::Raid6 => layout.parities() * rows / layout.members + 8,
    };
    commands as u32
}

/// What a write or a step of the rebuild locks.
fn stripes_of(layout: &Layout, operation: &Operation) -> Stripes {
    let chunk_bytes = layout.chunk_bytes;
    let (offset, end) = (operation.offset, operation.offset + operation.bytes);
    let (first_chunk, last_chunk) = (offset / chunk_bytes, (end - 1) / chunk_bytes);
    let (first_row, last_row) = match layout.level {
        _ if operation.kind == Kind::Rebuild => (first_chunk, last_chunk),
        Level::Raid1 => (first_chunk, last_chunk),
        Level::Raid10 => (layout.near_copy(first_chunk, 0).0, layout.near_copy(last_chunk, 1).0),
        Level::Raid0 | Level::Raid5 | Level::Raid6 => {
            (first_chunk / layout.data(), last_chunk / layout.data())
        }
    };
    let (from, to) = if first_chunk == last_chunk {
        (offset % chunk_bytes, (end - 1) % chunk_bytes + 1)
    } else {
        (0, chunk_bytes)
    };
    let excludes_all = layout.parities() > 0 || operation.kind == Kind::Rebuild;
    Stripes { first_row, last_row, from, to, excludes_all }
}
