//! The translation layer of a drive-managed shingled disk, as Aghayev and Desnoyers found it by
//! experiment ("Skylight", FAST 2015): zones mapped statically, a log at the outer diameter (the
//! media cache) for what is not written in zone order, and cleaning that rewrites whole zones.
//!
//! ```text
//!   platter   |--- media cache ---|-- zone 0 --|-- zone 1 --| ...
//! ```
//!
//! A zone written from its beginning on streams in place. Everything else is appended to the log,
//! in entries of a few writes with a record each; between two of them the platter turns on. The map
//! of the log holds so many pieces. When the log or its map is full, the zone of the oldest entry
//! is read, merged with its pieces in the log and written back before the write goes on. Left out:
//! where in the log there is room (it is counted, not mapped), and the staging of a zone whose
//! stream breaks off (its old rest counts as merged).

use super::mechanism::Span;
use crate::{FastCache, FastCacheKind};
use std::collections::{BTreeMap, VecDeque};

/// Where the written part of a home address lies in the log.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    log: u64,
}

impl Piece {
    /// Where `span` lies in the log, of this piece that begins at `first`.
    fn part(&self, first: u64, span: Span) -> Span {
        let log = self.log + (span.first - first);
        Span { first: log, end: log + span.sectors() }
    }
}

/// Home addresses to places on the platter. All in sectors.
#[derive(Debug)]
pub(super) struct Translation {
    zone_sectors: u64,
    log_sectors: u64,
    log_head: u64,
    log_used: u64,
    /// Pieces that the map holds at most.
    pieces_max: u64,
    /// Sectors that were ever written to it.
    taken: u64,
    /// By first home sector; never overlapping.
    pieces: BTreeMap<u64, Piece>,
    /// Log sectors that each zone would free.
    owed: BTreeMap<u64, u64>,
    /// Zones with data in the log, the longest waiting first.
    order: VecDeque<u64>,
    /// Where a zone that is being streamed goes on.
    stream: Option<u64>,
}

impl Translation {
    pub fn new(zone_sectors: u64, log_sectors: u64, pieces_max: u64) -> Self {
        Self {
            zone_sectors,
            log_sectors,
            log_head: 0,
            log_used: 0,
            pieces_max,
            taken: 0,
            pieces: BTreeMap::new(),
            owed: BTreeMap::new(),
            order: VecDeque::new(),
            stream: None,
        }
    }

    /// Where a read finds the span: in the log if all of it is in one piece there, else at home.
    pub fn place(&self, home: Span) -> Span {
        if let Some((&first, piece)) = self.pieces.range(..=home.first).next_back()
            && home.end <= piece.end
        {
            return piece.part(first, home);
        }
        self.at_home(home)
    }

    /// Whether a part of the span, but not all of it, is in one piece of the log.
    pub fn is_scattered(&self, home: Span) -> bool {
        let Some((_, piece)) = self.pieces.range(..home.end).next_back() else { return false };
        piece.end > home.first && self.place(home) == self.at_home(home)
    }

    /// The places of the span's parts, in its order.
    pub fn places(&self, home: Span) -> Vec<Span> {
        let (mut places, mut at) = (Vec::new(), home.first);
        let before = self.pieces.range(..=home.first).next_back();
        let within = self.pieces.range(home.first + 1..home.end);
        for (&first, piece) in
            before.into_iter().chain(within).filter(|(_, it)| it.end > home.first)
        {
            if at < first {
                places.push(self.at_home(Span { first: at, end: first }));
            }
            let part = Span { first: at.max(first), end: piece.end.min(home.end) };
            places.push(piece.part(first, part));
            at = part.end;
        }
        if at < home.end {
            places.push(self.at_home(Span { first: at, end: home.end }));
        }
        places
    }

    /// The zone that must be cleaned before the span can be written, if the log or its map is full.
    pub fn zone_to_clean(&self, home: Span) -> Option<u64> {
        // A write into the middle of a piece makes two more.
        let room = self.log_used + home.sectors() <= self.log_sectors
            && self.pieces.len() as u64 + 2 <= self.pieces_max;
        if room || self.streams(home) { None } else { self.order.front().copied() }
    }

    /// The zones that idle time is used for, one after the other.
    pub fn dirty_zones(&self) -> impl Iterator<Item = u64> {
        self.order.iter().copied()
    }

    /// Pieces of a zone in the log, in the log's order.
    pub fn pieces_of(&self, zone: u64) -> Vec<Span> {
        let first = zone * self.zone_sectors;
        // A piece that begins in an earlier zone ends there: writes are cut at a zone's end.
        let pieces = self.pieces.range(first..first + self.zone_sectors);
        let mut places: Vec<Span> = pieces
            .map(|(&first, piece)| Span { first: piece.log, end: piece.log + (piece.end - first) })
            .collect();
        places.sort_unstable_by_key(|place| place.first);
        places
    }

    /// How the log stands when `cleaned` zones are clean again. If its map is the first to be full,
    /// it holds no more than as many pieces of the present mean size.
    pub fn stands(&self, sector_bytes: u64, cleaned: &[u64]) -> FastCache {
        let owed: u64 = cleaned.iter().filter_map(|zone| self.owed.get(zone)).sum();
        let of_map = u128::from(self.log_used) * u128::from(self.pieces_max)
            / self.pieces.len().max(1) as u128;
        let capacity_sectors = match self.log_used {
            0 => self.log_sectors,
            _ => u64::try_from(of_map).unwrap_or(u64::MAX).min(self.log_sectors),
        };
        FastCache {
            kind: FastCacheKind::Media,
            capacity_bytes: capacity_sectors * sector_bytes,
            held_bytes: (self.log_used - owed) * sector_bytes,
            taken_bytes: self.taken * sector_bytes,
        }
    }

    /// Where on the platter a zone lies.
    pub fn zone(&self, zone: u64) -> Span {
        let first = zone * self.zone_sectors;
        self.at_home(Span { first, end: first + self.zone_sectors })
    }

    /// Sectors from `first` to the end of its zone: a write in place ends there.
    pub fn to_zone_end(&self, first: u64) -> u64 {
        self.zone_sectors - first % self.zone_sectors
    }

    /// Forgets the log's entries of a zone that has been rewritten.
    pub fn cleaned(&mut self, zone: u64) {
        let first = zone * self.zone_sectors;
        self.forget(Span { first, end: first + self.zone_sectors });
        self.log_used -= self.owed.remove(&zone).expect("a dirty zone owes log space");
        self.order.retain(|&other| other != zone);
    }

    /// Where a write of the span would go.
    pub fn target(&self, home: Span) -> Span {
        if self.streams(home) {
            return self.at_home(home);
        }
        let fits = self.log_head + home.sectors() <= self.log_sectors;
        let log = if fits { self.log_head } else { 0 };
        Span { first: log, end: log + home.sectors() }
    }

    /// Notes that the span is being written and says where.
    pub fn write(&mut self, home: Span) -> Span {
        self.forget(home);
        let target = self.target(home);
        if self.streams(home) {
            self.stream = Some(home.end);
            return target;
        }
        let Span { first: log, end } = target;
        self.log_head = end;
        self.log_used += home.sectors();
        self.taken += home.sectors();
        self.pieces.insert(home.first, Piece { end: home.end, log });
        let zone = home.first / self.zone_sectors;
        *self.owed.entry(zone).or_insert_with(|| {
            self.order.push_back(zone);
            0
        }) += home.sectors();
        target
    }

    /// Whether the span goes to its place, not into the log.
    pub fn streams(&self, home: Span) -> bool {
        home.first.is_multiple_of(self.zone_sectors) || self.stream == Some(home.first)
    }

    /// Where the span lies when nothing of it is in the log.
    pub fn at_home(&self, home: Span) -> Span {
        Span { first: self.log_sectors + home.first, end: self.log_sectors + home.end }
    }

    /// Cuts the span out of the map.
    fn forget(&mut self, span: Span) {
        while let Some((&first, &piece)) = self.pieces.range(..span.end).next_back()
            && piece.end > span.first
        {
            self.pieces.remove(&first);
            if piece.end > span.end {
                let log = piece.log + (span.end - first);
                self.pieces.insert(span.end, Piece { end: piece.end, log });
            }
            if first < span.first {
                self.pieces.insert(first, Piece { end: span.first, log: piece.log });
            }
        }
    }
}
