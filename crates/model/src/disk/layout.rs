//! Where a sector lies: cylinder, head and angle.
//!
//! Angles are *phases*: a revolution is [`REVOLUTION`] = 60e9 of them whatever the speed, because a
//! minute has 60e9 ns and `rpm` revolutions, so that a nanosecond turns the platter by exactly
//! `rpm` phases. No period is ever rounded, and no error adds up over a day.
//!
//! Tracks are numbered cylinder by cylinder, head by head, from the outside. Each is skewed against
//! the one before it by the time of a switch. Laid end to end, tracks and skews form one long
//! *path*; the angle of a sector is its path modulo a revolution, and a sequential transfer takes
//! the difference of two paths.
//!
//! ```text
//!   path   |== track 0 ==|skew|== track 1 ==|skew|== track 2 ==| ...
//! ```

use super::params::DiskParams;
use std::cell::Cell;

/// Phases of a revolution.
pub(super) const REVOLUTION: u64 = 60_000_000_000;

/// A track's place under the heads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Number of the track, from the outside.
    pub track: u64,
    /// Number of the cylinder, from the outside.
    pub cylinder: u64,
}

/// An angle in few bits, rounded down: 2^32 are a revolution, so that what is ahead of what is a
/// subtraction, and the lowest [`TURN_SPARE`] bits are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn(u32);

/// Bits of a [`Turn`] that are not used, so that an angle becomes one within 64 bits.
const TURN_SPARE: u32 = 5;

impl Turn {
    /// Of an angle below a revolution.
    #[inline]
    pub fn of(angle: u64) -> Self {
        Self((((angle << (u32::BITS - TURN_SPARE)) / REVOLUTION) << TURN_SPARE) as u32)
    }

    /// How far this is ahead of another at least, 2^32 a revolution: both were rounded.
    #[inline]
    pub fn ahead_at_least(self, other: Self) -> u32 {
        self.0.wrapping_sub(other.0).saturating_sub(1 << TURN_SPARE)
    }
}

#[derive(Debug)]
struct Zone {
    first_sector: u64,
    first_track: u64,
    sectors_per_track: u64,
    /// Path of the first sector.
    path: u64,
}

/// Where the head meets a sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The track that it is on.
    pub place: Place,
    /// Phase of its beginning, below [`REVOLUTION`].
    pub angle: u64,
}

/// The start of whatever sector was asked for last: of each command and cached write that waits, a
/// scheduler asks again and again.
#[derive(Clone, Debug)]
pub(super) struct Remembered(Cell<(u64, Start)>);

impl Remembered {
    /// This sector's, already.
    pub fn of(sector: u64, start: Start) -> Self {
        Self(Cell::new((sector, start)))
    }
}

impl Default for Remembered {
    fn default() -> Self {
        // No sector has this number.
        let nowhere = Start { place: Place { track: 0, cylinder: 0 }, angle: 0 };
        Self(Cell::new((u64::MAX, nowhere)))
    }
}

impl Remembered {
    /// Where the head meets the sector.
    #[inline]
    pub fn start(&self, layout: &Layout, sector: u64) -> Start {
        let (remembered, start) = self.0.get();
        if remembered == sector {
            return start;
        }
        let start = layout.start(sector);
        self.0.set((sector, start));
        start
    }
}

/// Zones, tracks and skew of one disk.
#[derive(Debug)]
pub(super) struct Layout {
    zones: Vec<Zone>,
    rpm: u64,
    /// What a phase takes, in 2^-64 ns, rounded down.
    ns_per_phase: u64,
    surfaces: u64,
    cylinders: u64,
    skew: u64,
}

impl Layout {
    /// Lays out `sectors` sectors.
    pub fn new(params: &DiskParams, sectors: u64) -> Self {
        let (rpm, surfaces) = (u64::from(params.rpm), u64::from(params.surfaces));
        let skew = (params.track_to_track_ns + params.write_settle_ns) * rpm;
        let per_track: Vec<u64> =
            (0..params.zones).map(|zone| sectors_per_track(params, skew, zone)).collect();
        let per_cylinder_of_all: u64 = per_track.iter().map(|count| count * surfaces).sum();
        let zone_cylinders = sectors.div_ceil(per_cylinder_of_all);
        let zone_tracks = zone_cylinders * surfaces;
        let (mut first_sector, mut path) = (0, 0);
        let zones = (0..)
            .zip(per_track)
            .map(|(number, sectors_per_track)| {
                let first_track = number * zone_tracks;
                let zone = Zone { first_sector, first_track, sectors_per_track, path };
                first_sector += zone_tracks * sectors_per_track;
                path += zone_tracks * (REVOLUTION + skew);
                zone
            })
            .collect();
        let cylinders = zone_cylinders * u64::from(params.zones);
        let ns_per_phase = u64::MAX / rpm;
        Self { zones, rpm, ns_per_phase, surfaces, cylinders, skew }
    }

    /// How many cylinders there are.
    pub fn cylinders(&self) -> u64 {
        self.cylinders
    }

    /// Sectors of the longest track.
    pub fn track_sectors_max(&self) -> u64 {
        self.zones[0].sectors_per_track
    }

    /// The track of a sector.
    #[inline]
    pub fn place(&self, sector: u64) -> Place {
        let zone = self.zone_of(sector);
        let track = zone.first_track + (sector - zone.first_sector) / zone.sectors_per_track;
        Place { track, cylinder: track / self.surfaces }
    }

    /// Where the head meets a sector: its place and the angle of its path.
    pub fn start(&self, sector: u64) -> Start {
        let (zone, on_zone, path) = self.part(sector, 0);
        let track = zone.first_track + on_zone;
        let place = Place { track, cylinder: track / self.surfaces };
        Start { place, angle: path % REVOLUTION }
    }

    /// Path of the beginning of a sector.
    #[inline]
    pub fn path(&self, sector: u64) -> u64 {
        self.path_of_part(sector, 0)
    }

    /// Path of the end of the sector before `sector`: a skew earlier than its beginning where a
    /// track ends between them.
    #[inline]
    pub fn path_before(&self, sector: u64) -> u64 {
        self.path_of_part(sector - 1, 1)
    }

    /// The first sector that a head at `path` has not passed to its end.
    #[inline]
    pub fn sector_at(&self, path: u64) -> u64 {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.path <= path) - 1];
        let (pitch, along) = (REVOLUTION + self.skew, path - zone.path);
        let on_track = ((along % pitch).min(REVOLUTION) * zone.sectors_per_track) / REVOLUTION;
        zone.first_sector + along / pitch * zone.sectors_per_track + on_track
    }

    /// Phase of the platter at `ns`.
    #[inline]
    pub fn phase_at(&self, ns: u64) -> u64 {
        ns % REVOLUTION * self.rpm % REVOLUTION
    }

    /// Time that `phases` take to pass, ns, rounded up.
    #[inline]
    pub fn nanoseconds(&self, phases: u64) -> u64 {
        let least = self.nanoseconds_at_least(phases);
        let left = phases - least * self.rpm;
        least + u64::from(left > 0) + u64::from(left > self.rpm)
    }

    /// [`nanoseconds`](Self::nanoseconds) or less, by two at most; neither divides.
    #[inline]
    pub fn nanoseconds_at_least(&self, phases: u64) -> u64 {
        ((u128::from(phases) * u128::from(self.ns_per_phase)) >> 64) as u64
    }

    /// Time of a revolution, ns, rounded down.
    pub fn revolution_ns(&self) -> u64 {
        REVOLUTION / self.rpm
    }

    /// Phases that pass in `ns`.
    #[inline]
    pub fn phases(&self, ns: u64) -> u64 {
        ns * self.rpm
    }

    fn zone_of(&self, sector: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1]
    }

    /// Path of the `part`-th boundary (0 beginning, 1 end) of a sector.
    fn path_of_part(&self, sector: u64, part: u64) -> u64 {
        self.part(sector, part).2
    }

    /// The zone and its track of a sector, and the path of that boundary.
    #[inline]
    fn part(&self, sector: u64, part: u64) -> (&Zone, u64, u64) {
        let zone = self.zone_of(sector);
        let (track, on_track) = (
            (sector - zone.first_sector) / zone.sectors_per_track,
            (sector - zone.first_sector) % zone.sectors_per_track,
        );
        // Rounded up, so that `sector_at` finds a sector at its own path.
        let angle = ((on_track + part) * REVOLUTION).div_ceil(zone.sectors_per_track);
        (zone, track, zone.path + track * (REVOLUTION + self.skew) + angle)
    }
}

/// Sectors that make a track of the zone yield its sustained rate: a track and a skew pass in one
/// revolution and the skew.
fn sectors_per_track(params: &DiskParams, skew: u64, zone: u32) -> u64 {
    let fall = params.outer_bytes_per_s - params.inner_bytes_per_s;
    let steps = u64::from(params.zones.max(2) - 1);
    let rate = params.outer_bytes_per_s - fall * u64::from(zone) / steps;
    let pitch_s = (REVOLUTION + skew) as f64 / (f64::from(params.rpm) * 1e9);
    ((rate as f64 * pitch_s / f64::from(params.sector_bytes)).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::params;

    fn layout() -> (Layout, u64) {
        let params = params();
        let sectors = params.capacity_bytes / u64::from(params.sector_bytes);
        (Layout::new(&params, sectors), sectors)
    }

    #[test]
    fn a_path_leads_back_to_its_sector_and_never_runs_backwards() {
        let (layout, sectors) = layout();
        let mut rng = block::Rng::new(1, 0);
        let remembered = Remembered::default();
        for _ in 0..100_000 {
            let sector = 1 + rng.below(sectors - 1);
            assert_eq!(layout.sector_at(layout.path(sector)), sector);
            assert!(layout.path_before(sector) <= layout.path(sector));
            assert!(layout.path(sector - 1) < layout.path_before(sector));
            let (here, before) = (layout.place(sector).track, layout.place(sector - 1).track);
            let gap = layout.path(sector) - layout.path_before(sector);
            assert_eq!(gap, (here - before) * layout.skew, "a skew is where a track ends");
            for _ in 0..2 {
                let Start { place, angle } = remembered.start(&layout, sector);
                assert_eq!(place, layout.place(sector));
                assert_eq!(angle, layout.path(sector) % REVOLUTION, "remembered or not");
            }
        }
    }

    #[test]
    fn a_turn_is_never_further_ahead_than_its_angle_and_hardly_nearer() {
        let mut rng = block::Rng::new(2, 0);
        for round in 0..100_000 {
            let near = if round % 2 == 0 { REVOLUTION } else { 2000 };
            let (from, distance) = (rng.below(REVOLUTION), rng.below(near));
            let turn = Turn::of((from + distance) % REVOLUTION);
            let ahead = turn.ahead_at_least(Turn::of(from));
            let phases = ((u128::from(ahead) * u128::from(REVOLUTION)) >> 32) as u64;
            assert!(phases <= distance, "{from} {distance}: {phases}");
            assert!(distance - phases < 1000, "2^-27 revolutions are 447 phases: {distance}");
        }
    }

    #[test]
    fn the_platter_turns_exactly_rpm_times_a_minute() {
        let (layout, _) = layout();
        assert_eq!(layout.phase_at(60_000_000_000), 0);
        assert_eq!(layout.phase_at(60_000_000_000 * 1_000_000), 0, "two years later still");
        let quarter_revolution_ns = 60_000_000_000 / 7200 / 4;
        let quarter = layout.phase_at(quarter_revolution_ns);
        assert!(quarter.abs_diff(REVOLUTION / 4) < 7200);
        let mut rng = block::Rng::new(4, 0);
        for _ in 0..100_000 {
            let whole = rng.below(1 << 40) * 7200;
            for phases in [whole, whole + 1, whole + rng.below(7200)] {
                assert_eq!(layout.nanoseconds(phases), phases.div_ceil(7200));
            }
        }
    }
}
