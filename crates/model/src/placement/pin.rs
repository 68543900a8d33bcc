//! A range of the volume on flash, all else on the disks.

use super::{
    DISKS, FLASH,
    carrier::{Asked, Carrier, Goes},
};
use crate::kind::Kind;
use block::{Completion, Drive, Effects, Geometry, Instant, Machine, Request};
use std::ops::Range;

/// Which range is pinned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinParams {
    /// Bytes of the volume that lie on flash.
    pub range: Range<u64>,
}

/// The layer, a machine over disks and flash. It keeps nothing of its own: where a byte lies
/// follows from its offset. Budget: 200 ns a request.
#[derive(Debug)]
pub struct Pin {
    range: Range<u64>,
    carrier: Carrier,
}

impl Pin {
    /// `disks` and `flash` are the contracts of drive 0 and 1 below. As large as the disks, of
    /// which the range's own place stays unused.
    ///
    /// # Panics
    /// When the range is empty, not on whole blocks, outside of the disks, or larger than flash.
    pub fn new(params: PinParams, disks: Geometry, flash: Geometry) -> Self {
        let PinParams { range } = params;
        let carrier = Carrier::new(disks, flash, disks.capacity_bytes);
        let block = u64::from(carrier.geometry.block_bytes);
        let is_whole = |end: &u64| end.is_multiple_of(block) || *end == disks.capacity_bytes;
        assert!(is_whole(&range.start) && is_whole(&range.end), "a range on whole blocks");
        assert!(range.start < range.end && range.end <= disks.capacity_bytes, "a range there is");
        assert!(range.end - range.start <= flash.capacity_bytes, "a range that flash holds");
        Self { range, carrier }
    }

    fn cut(&mut self, asked: Asked) {
        let Asked { parent, offset, bytes, .. } = asked;
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let Range { start: first, end: after } = self.range;
            let (drive, place, until) = match at {
                _ if at < first => (DISKS, at, first),
                _ if at < after => (FLASH, at - first, after),
                _ => (DISKS, at, end),
            };
            let bytes = until.min(end) - at;
            let is_whole = bytes == asked.bytes;
            self.carrier.carry(parent, Goes { from: at, bytes, drive, offset: place, is_whole });
            at += bytes;
        }
    }
}

impl Machine for Pin {
    fn geometry(&self, _: Drive) -> Geometry {
        self.carrier.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let asked = self.carrier.accept(now, request);
        if asked.kind != Kind::Flush {
            self.cut(asked);
        }
        self.carrier.pump(effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let own = self.carrier.came_back(now, completion, effects);
        debug_assert!(own.is_none(), "it asks for nothing itself");
        self.carrier.pump(effects);
    }

    fn on_wakeup(&mut self, _: Instant, _: &mut Effects) {}

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}
