//! Neighbours that wait for the same drive go as one command, as the block layer of an operating
//! system merges them: the blocks of a long write that goes through, or what is cleaned in order.

use super::{Sent, SsdCache};
use block::{Command, Extent, Payload, Request};

/// A piece's share of a command.
#[derive(Debug)]
pub(super) struct Part {
    pub piece: u32,
    /// Where in its parent's payload the bytes lie.
    pub at: u64,
    pub bytes: u64,
    /// Its own memory.
    pub payload: Payload,
}

impl SsdCache {
    /// The next command for a drive, with those behind it that go on where it ends.
    pub(super) fn next_joined(&mut self, side: usize) -> Option<(Request, Sent)> {
        let (first, sent) = self.waiting[side].pop_front()?;
        let joins = is_piece(&sent);
        let mut behind = Vec::new();
        let mut bytes = u64::from(first.command.transfer_bytes());
        while joins
            && self.goes_on(side, &first, bytes)
            && let Some(next) = self.waiting[side].pop_front()
        {
            bytes += u64::from(next.0.command.transfer_bytes());
            behind.push(next);
        }
        if behind.is_empty() {
            return Some((first, sent));
        }
        let at = Extent { bytes: bytes as u32, ..extent(&first.command).expect("it moves bytes") };
        let Request { tag, actor, drive, .. } = first;
        let durability = match &first.command {
            Command::Write { durability, .. } => Some(*durability),
            _ => None,
        };
        let mut whole = self.buffer(bytes);
        let mut from = 0;
        let mut parts = Vec::with_capacity(behind.len() + 1);
        for (request, sent) in [(first, sent)].into_iter().chain(behind) {
            let Sent::Piece { piece, at, bytes } = sent else { unreachable!("pieces alone join") };
            let (is_write, payload) = match request.command {
                Command::Write { from, .. } => (true, from),
                Command::Read { into, .. } => (false, into),
                _ => unreachable!("it moves bytes"),
            };
            if is_write && let (Payload::Bytes(to), Payload::Bytes(own)) = (&mut whole, &payload) {
                let length = bytes as usize;
                to.bytes_mut()[from..from + length].copy_from_slice(&own.bytes()[..length]);
            }
            from += bytes as usize;
            parts.push(Part { piece, at, bytes, payload });
        }
        let command = match durability {
            Some(durability) => Command::Write { at, from: whole, durability },
            None => Command::Read { at, into: whole },
        };
        Some((Request { tag, actor, drive, command }, Sent::Joined(self.joined.insert(parts))))
    }

    /// Whether the command in front goes on where one of so many bytes ends.
    fn goes_on(&self, side: usize, first: &Request, bytes: u64) -> bool {
        let Some((next, sent)) = self.waiting[side].front() else { return false };
        let (Some(at), Some(more)) = (extent(&first.command), extent(&next.command)) else {
            return false;
        };
        let alike = match (&first.command, &next.command) {
            (Command::Read { .. }, Command::Read { .. }) => true,
            (Command::Write { durability, .. }, Command::Write { durability: other, .. }) => {
                durability == other
            }
            _ => false,
        };
        alike
            && is_piece(sent)
            && next.actor == first.actor
            && more.offset == at.offset + bytes
            && bytes + u64::from(more.bytes) <= u64::from(self.transfer_bytes_max[side])
    }

    /// A joined command has come back: each piece's share of it, in the piece's own memory.
    pub(super) fn parted(&mut self, parts: u32, whole: &Payload) -> Vec<Part> {
        let mut parts = self.joined.remove(parts);
        let mut from = 0;
        for Part { bytes, payload, .. } in &mut parts {
            let length = *bytes as usize;
            if let (Payload::Bytes(whole), Payload::Bytes(own)) = (whole, payload) {
                own.bytes_mut()[..length].copy_from_slice(&whole.bytes()[from..from + length]);
            }
            from += length;
        }
        parts
    }
}

fn is_piece(sent: &Sent) -> bool {
    matches!(sent, Sent::Piece { .. })
}

fn extent(command: &Command) -> Option<Extent> {
    match command {
        Command::Read { at, .. } | Command::Write { at, .. } => Some(*at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        MapPlace, WriteMode,
        ssd_cache::{DISKS, FLASH, SsdCacheParams, Takes},
    };
    use block::{Actor, Data, Durability, Effects, Geometry, Instant, Machine, Tag};

    fn cache() -> SsdCache {
        let drive = |capacity_bytes| Geometry {
            capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 1 << 20,
            queue_depth: 32,
            data: Data::TimingOnly,
        };
        let params = SsdCacheParams {
            size_bytes: 8 << 20,
            block_bytes: 4096,
            mode: WriteMode::Through,
            policy: cache::Policy::Lru,
            map: MapPlace::Memory,
            bypass_bytes: 0,
            dirty_per_mille: 100,
            clean_per_mille: 100,
            takes: Takes::ReadsAndWrites,
        };
        SsdCache::new(params, drive(1 << 30), drive(16 << 20))
    }

    /// The map's last page ends where the first block begins: nobody else's command takes a piece
    /// along, and none is lost.
    #[test]
    fn a_piece_behind_a_page_of_the_map_goes_alone() {
        let mut cache = cache();
        let write = |offset, bytes| Command::Write {
            at: Extent { offset, bytes },
            from: Payload::None,
            durability: Durability::Cached,
        };
        let part = |piece| Sent::Piece { piece, at: 0, bytes: 4096 };
        let actor = Actor(u16::MAX);
        cache.send(FLASH, actor, write(0, 4096), Sent::Commit);
        cache.send(FLASH, actor, write(4096, 4096), part(0));
        cache.send(FLASH, actor, write(8192, 4096), part(1));
        cache.send(FLASH, actor, write(12_288, 4096), Sent::Commit);
        cache.send(FLASH, actor, write(16_384, 4096), part(2));
        cache.send(FLASH, Actor(1), write(20_480, 4096), part(3));
        cache.send(FLASH, Actor(1), Command::Flush, Sent::Parent(0));
        let sent: Vec<u32> = std::iter::from_fn(|| cache.next_joined(1))
            .map(|(request, _)| request.command.transfer_bytes())
            .collect();
        assert_eq!(sent, [4096, 8192, 4096, 4096, 4096, 0]);
    }

    /// On RAID-5 each block of a long write was a write of its own, which reads what it changes: a
    /// cache of 4 KiB blocks made creates of 1.5 MiB four times slower than the disks alone.
    #[test]
    fn a_long_write_that_goes_through_reaches_each_drive_as_one() {
        let mut cache = cache();
        let at = Extent { offset: 64 << 10, bytes: 512 << 10 };
        let (from, durability) = (Payload::None, Durability::Cached);
        let command = Command::Write { at, from, durability };
        let mut effects = Effects::default();
        let request = Request { tag: Tag(7), actor: Actor(0), drive: DISKS, command };
        cache.on_request(Instant(0), request, &mut effects);
        let bytes: Vec<u32> =
            effects.down.iter().map(|request| request.command.transfer_bytes()).collect();
        assert_eq!(bytes, [512 << 10; 2], "to the disks and to flash");
        assert_eq!(extent(&effects.down[0].command), Some(at));
        for request in std::mem::take(&mut effects.down) {
            let Request { tag, .. } = request;
            let (issued, finished, payload) = (Instant(0), Instant(1), Payload::None);
            let done = block::Completion { tag, issued, finished, result: Ok(()), payload };
            assert!(effects.up.is_empty());
            cache.on_completion(Instant(1), done, &mut effects);
        }
        assert_eq!(effects.up.len(), 1);
    }
}
