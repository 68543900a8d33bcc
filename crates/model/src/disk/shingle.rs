//! The translation layer of a drive-managed shingled disk, as Aghayev and Desnoyers found it by
//! experiment ("Skylight", FAST 2015): zones mapped statically, a log at the outer diameter (the
//! media cache) for what is not written in zone order, and cleaning that rewrites whole zones.
//!
//! ```text
//!   platter   |--- media cache ---|-- zone 0 --|-- zone 1 --| ...
//! ```
//!
//! A zone written from its beginning on streams in place. Everything else is appended to the log,
//! at the sequential rate, until the log is full; then the zone of the oldest entry is read, merged
//! and written back before the write goes on. Left out: the log's own map records, where in the log
//! there is room (it is counted, not mapped), and the staging of a zone whose stream breaks off
//! (its old rest counts as merged).

use super::mechanism::Span;
use crate::{FastCache, FastCacheKind};
use std::collections::{BTreeMap, VecDeque};

/// Where the written part of a home address lies in the log.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    log: u64,
}

/// Home addresses to places on the platter. All in sectors.
#[derive(Debug)]
pub(super) struct Translation {
    zone_sectors: u64,
    log_sectors: u64,
    log_head: u64,
    log_used: u64,
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
    pub fn new(zone_sectors: u64, log_sectors: u64) -> Self {
        Self {
            zone_sectors,
            log_sectors,
            log_head: 0,
            log_used: 0,
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
            let log = piece.log + (home.first - first);
            return Span { first: log, end: log + home.sectors() };
        }
        self.at_home(home)
    }

    /// The zone that must be cleaned before the span can be written, if the log is full.
    pub fn zone_to_clean(&self, home: Span) -> Option<u64> {
        let room = self.log_used + home.sectors() <= self.log_sectors;
        if room || self.streams(home) { None } else { self.order.front().copied() }
    }

    /// The zones that idle time is used for, one after the other.
    pub fn dirty_zones(&self) -> impl Iterator<Item = u64> {
        self.order.iter().copied()
    }

    /// Log sectors that a zone would free.
    pub fn owed_by(&self, zone: u64) -> u64 {
        self.owed.get(&zone).copied().unwrap_or(0)
    }

    /// How the log stands when `cleaned` sectors of it are free again.
    pub fn stands(&self, sector_bytes: u64, cleaned: u64) -> FastCache {
        FastCache {
            kind: FastCacheKind::Media,
            capacity_bytes: self.log_sectors * sector_bytes,
            held_bytes: (self.log_used - cleaned) * sector_bytes,
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

    fn streams(&self, home: Span) -> bool {
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
