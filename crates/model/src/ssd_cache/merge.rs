//! Neighbours that wait for the same drive are merged into one command, as the block layer of an
//! operating system does: the blocks of a long write that goes through, what is cleaned in order.

use super::{Sent, SsdCache};
use block::{Command, Durability, Extent, Payload, Request};

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
    pub(super) fn next_merged(&mut self, side: usize) -> Option<(Request, Sent)> {
        let (first, sent) = self.waiting[side].pop_front()?;
        let (Some((at, durability)), Sent::Piece { .. }) = (transfer(&first.command), sent) else {
            return Some((first, sent));
        };
        let mut bytes = at.bytes;
        let mut behind = Vec::new();
        while let Some((next, Sent::Piece { .. })) = self.waiting[side].front()
            && let Some((more, its)) = transfer(&next.command)
            && (its, next.actor) == (durability, first.actor)
            && more.offset == at.offset + u64::from(bytes)
            && bytes + more.bytes <= self.transfer_bytes_max[side]
        {
            bytes += more.bytes;
            behind.extend(self.waiting[side].pop_front());
        }
        if behind.is_empty() {
            return Some((first, sent));
        }
        let at = Extent { bytes, ..at };
        let Request { tag, actor, drive, .. } = first;
        let mut whole = self.buffer(bytes.into());
        let mut from = 0;
        let mut parts = Vec::with_capacity(behind.len() + 1);
        for (request, sent) in [(first, sent)].into_iter().chain(behind) {
            let Sent::Piece { piece, at, bytes } = sent else { unreachable!("pieces alone merge") };
            let (Command::Read { into: payload, .. } | Command::Write { from: payload, .. }) =
                request.command
            else {
                unreachable!("transfers alone merge")
            };
            let to = from + bytes as usize;
            if durability.is_some()
                && let (Payload::Bytes(whole), Payload::Bytes(own)) = (&mut whole, &payload)
            {
                whole.bytes_mut()[from..to].copy_from_slice(&own.bytes()[..to - from]);
            }
            from = to;
            parts.push(Part { piece, at, bytes, payload });
        }
        let command = match durability {
            Some(durability) => Command::Write { at, from: whole, durability },
            None => Command::Read { at, into: whole },
        };
        Some((Request { tag, actor, drive, command }, Sent::Merged(self.merged.insert(parts))))
    }

    /// A merged command has come back: each piece's share of it, in the piece's own memory.
    pub(super) fn split(&mut self, parts: u32, whole: &Payload) -> Vec<Part> {
        let mut parts = self.merged.remove(parts);
        let mut from = 0;
        for Part { bytes, payload, .. } in &mut parts {
            let to = from + *bytes as usize;
            if let (Payload::Bytes(whole), Payload::Bytes(own)) = (whole, payload) {
                own.bytes_mut()[..to - from].copy_from_slice(&whole.bytes()[from..to]);
            }
            from = to;
        }
        parts
    }
}

/// Where a command reads or writes, and how durably it writes.
fn transfer(command: &Command) -> Option<(Extent, Option<Durability>)> {
    match command {
        Command::Read { at, .. } => Some((*at, None)),
        Command::Write { at, durability, .. } => Some((*at, Some(*durability))),
        Command::Flush | Command::Discard { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        MapPlace, WriteMode,
        ssd_cache::{DISKS, FLASH, SsdCacheParams, Takes},
    };
    use block::{Actor, Data, Effects, Geometry, Instant, Machine, Tag};

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
            pause_ns: 0,
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
        let sent: Vec<u32> = std::iter::from_fn(|| cache.next_merged(1))
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
        assert_eq!(transfer(&effects.down[0].command), Some((at, Some(durability))));
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
