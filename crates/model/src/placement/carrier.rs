//! Requests that are carried out in parts, each on one of two drives, and answered when the last
//! part is.

use super::{DISKS, FLASH, TRANSFER_BYTES_MAX};
use crate::{kind::Kind, slab::Slab};
use block::{
    Actor, Buf, Command, Completion, Data, Drive, Durability, Effects, Extent, Geometry, Instant,
    IoError, Payload, Request, Tag,
};
use std::{collections::VecDeque, ops::Range};

/// Who asks for what no request from above asks for.
const OWN: Actor = Actor(u16::MAX);

/// Requests under way and their parts.
#[derive(Debug)]
pub(super) struct Carrier {
    pub geometry: Geometry,
    depth: [u32; 2],
    parents: Slab<Parent>,
    parts: Slab<Part>,
    waiting: [VecDeque<(Request, u32)>; 2],
    under_way: [u32; 2],
}

/// A request from above.
#[derive(Debug)]
struct Parent {
    tag: Tag,
    actor: Actor,
    issued: Instant,
    kind: Kind,
    offset: u64,
    payload: Payload,
    outstanding: u32,
    error: Option<IoError>,
}

/// What was accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub parent: u32,
    pub kind: Kind,
    pub offset: u64,
    pub bytes: u64,
}

/// A command below.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Whose, and where in its bytes this begins; `None` is the layer's own.
    of: Option<(u32, u64)>,
    drive: Drive,
    offset: u64,
    bytes: u64,
    changes: bool,
    /// The request's own memory went down with it.
    is_whole: bool,
}

/// Where a part of a request goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goes {
    /// Of the volume.
    pub from: u64,
    pub bytes: u64,
    pub drive: Drive,
    /// On the drive.
    pub offset: u64,
    /// The only part, so that the request's own memory goes with it.
    pub is_whole: bool,
}

impl Carrier {
    /// Over these two drives, with so many bytes above.
    ///
    /// # Panics
    /// When one of the two stores bytes and the other does not.
    pub fn new(disks: Geometry, flash: Geometry, capacity_bytes: u64) -> Self {
        assert_eq!(disks.data, flash.data, "one keeps bytes and the other does not");
        let transfer = disks.transfer_bytes_max.min(flash.transfer_bytes_max);
        let geometry = Geometry {
            capacity_bytes,
            block_bytes: disks.block_bytes.max(flash.block_bytes),
            transfer_bytes_max: transfer.min(TRANSFER_BYTES_MAX),
            ..disks
        };
        Self {
            geometry,
            depth: [disks.queue_depth, flash.queue_depth],
            parents: Slab::default(),
            parts: Slab::default(),
            waiting: [VecDeque::new(), VecDeque::new()],
            under_way: [0; 2],
        }
    }

    /// Takes a request in. Nothing is done about it yet, but for a flush, which goes to both
    /// drives.
    pub fn accept(&mut self, now: Instant, request: Request) -> Asked {
        let (kind, offset, bytes, payload) = Kind::split(request.command);
        assert!(offset + bytes <= self.geometry.capacity_bytes, "outside of the volume");
        assert!(!matches!(payload, Payload::Stamp(_)), "a layer that carries bytes");
        let parent = self.parents.insert(Parent {
            tag: request.tag,
            actor: request.actor,
            issued: now,
            kind,
            offset,
            payload,
            outstanding: 0,
            error: None,
        });
        if kind == Kind::Flush {
            for drive in [DISKS, FLASH] {
                self.carry(parent, Goes { from: 0, bytes: 0, drive, offset: 0, is_whole: false });
            }
        }
        Asked { parent, kind, offset, bytes }
    }

    /// Sends a part of a request down.
    pub fn carry(&mut self, parent: u32, goes: Goes) {
        let Goes { from, bytes, drive, offset, is_whole } = goes;
        let own = self.parents.get_mut(parent);
        own.outstanding += 1;
        let at = from - own.offset;
        let extent = Extent { offset, bytes: bytes as u32 };
        let (actor, kind) = (own.actor, own.kind);
        let is_transfer = matches!(kind, Kind::Read | Kind::Write(_));
        let payload = match is_transfer {
            true if is_whole => std::mem::replace(&mut own.payload, Payload::None),
            true => part_of(&own.payload, at, bytes, kind != Kind::Read),
            false => Payload::None,
        };
        let command = match kind {
            Kind::Read => Command::Read { at: extent, into: payload },
            Kind::Write(durability) => Command::Write { at: extent, from: payload, durability },
            Kind::Flush => Command::Flush,
            Kind::Discard => Command::Discard { offset, len: bytes },
        };
        let changes = matches!(kind, Kind::Write(_) | Kind::Discard);
        let of = Some((parent, at));
        self.send(actor, command, Part { of, drive, offset, bytes, changes, is_whole });
    }

    /// A part of a request waits outside, so that the request is not answered.
    pub fn hold(&mut self, parent: u32) {
        self.parents.get_mut(parent).outstanding += 1;
    }

    /// What waited has been carried.
    pub fn release(&mut self, parent: u32) {
        self.parents.get_mut(parent).outstanding -= 1;
    }

    /// Reads or writes something of the layer's own; a write is cached.
    pub fn transfer(&mut self, drive: Drive, at: Extent, payload: Payload, is_write: bool) {
        let command = match is_write {
            true => Command::Write { at, from: payload, durability: Durability::Cached },
            false => Command::Read { at, into: payload },
        };
        let (offset, bytes) = (at.offset, u64::from(at.bytes));
        let changes = is_write;
        let part = Part { of: None, drive, offset, bytes, changes, is_whole: true };
        self.send(OWN, command, part);
    }

    /// Flushes a drive for the layer itself.
    pub fn flush(&mut self, drive: Drive) {
        let (offset, bytes, changes) = (0, 0, false);
        let part = Part { of: None, drive, offset, bytes, changes, is_whole: false };
        self.send(OWN, Command::Flush, part);
    }

    /// Memory for a transfer, where bytes are kept.
    pub fn buffer(&self, bytes: u64) -> Payload {
        match self.geometry.data {
            Data::TimingOnly => Payload::None,
            Data::Stored => Payload::Bytes(Buf::zeroed(bytes as usize)),
        }
    }

    /// Whether a request's part touches this range of a drive: to change it, or at all.
    pub fn touches(&self, drive: Drive, range: &Range<u64>, only_changes: bool) -> bool {
        self.parts.iter().any(|part| {
            part.of.is_some()
                && part.drive == drive
                && (part.changes || !only_changes)
                && part.offset < range.end
                && range.start < part.offset + part.bytes
        })
    }

    fn send(&mut self, actor: Actor, command: Command, part: Part) {
        let drive = part.drive;
        let number = self.parts.insert(part);
        let request = Request { tag: Tag(0), actor, drive, command };
        self.waiting[usize::from(drive.0)].push_back((request, number));
    }

    /// Passes on what the drives can take.
    pub fn pump(&mut self, effects: &mut Effects) {
        for side in 0..2 {
            while self.under_way[side] < self.depth[side]
                && let Some((request, number)) = self.waiting[side].pop_front()
            {
                self.under_way[side] += 1;
                effects.down.push(Request { tag: Tag(number.into()), ..request });
            }
        }
    }

    /// A command has come back: the answer, if it is one of the layer's own.
    pub fn came_back(
        &mut self,
        now: Instant,
        completion: Completion,
        effects: &mut Effects,
    ) -> Option<(Result<(), IoError>, Payload)> {
        let Completion { tag, result, payload, .. } = completion;
        let part = self.parts.remove(u32::try_from(tag.0).expect("our own tag"));
        self.under_way[usize::from(part.drive.0)] -= 1;
        let Some((number, at)) = part.of else { return Some((result, payload)) };
        let parent = self.parents.get_mut(number);
        parent.error = parent.error.or(result.err());
        parent.outstanding -= 1;
        if part.is_whole {
            parent.payload = payload;
        } else if parent.kind == Kind::Read
            && let (Payload::Bytes(from), Payload::Bytes(to)) = (&payload, &mut parent.payload)
        {
            let (at, bytes) = (at as usize, part.bytes as usize);
            to.bytes_mut()[at..at + bytes].copy_from_slice(&from.bytes()[..bytes]);
        }
        if parent.outstanding == 0 {
            let Parent { tag, issued, payload, error, .. } = self.parents.remove(number);
            let result = error.map_or(Ok(()), Err);
            effects.up.push(Completion { tag, issued, finished: now, result, payload });
        }
        None
    }
}

/// Memory for a part of a request; of a write, with the part's bytes.
fn part_of(whole: &Payload, at: u64, bytes: u64, with_bytes: bool) -> Payload {
    let Payload::Bytes(whole) = whole else { return Payload::None };
    let mut part = Buf::zeroed(bytes as usize);
    if with_bytes {
        let (at, bytes) = (at as usize, bytes as usize);
        part.bytes_mut()[..bytes].copy_from_slice(&whole.bytes()[at..at + bytes]);
    }
    Payload::Bytes(part)
}
