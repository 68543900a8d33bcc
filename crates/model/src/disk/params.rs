//! What a disk is made of: the numbers of its data sheet, and the few that a data sheet does not
//! give.

use super::TRANSFER_BYTES_MAX;

/// Whether a write is acknowledged out of the drive's memory (`hdparm -W 1`) or from the medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteCaching {
    /// Acknowledged on receipt, written later in the order that costs least.
    On,
    /// Acknowledged when it is on the medium.
    Off,
}

/// A rotating disk. Take the geometry, rates and seek times from the data sheet;
/// [`DiskParams::settle_ns`], [`DiskParams::prefetch_min_bytes`],
/// [`DiskParams::forecast_error_ns`], [`DiskParams::age_weight_ppm`] and
/// [`DiskParams::write_cache_commands`] are what a fit may move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskParams {
    /// What the host can address, bytes; a multiple of `sector_bytes`.
    pub capacity_bytes: u64,
    /// Logical sector, bytes: 512 or 4096.
    pub sector_bytes: u32,
    /// Revolutions a minute.
    pub rpm: u32,
    /// Recording surfaces (heads). Sets how many cylinders the capacity takes.
    pub surfaces: u32,
    /// Sustained rate of the outermost zone, bytes per second: what a long transfer sees, track
    /// switches included.
    pub outer_bytes_per_s: u64,
    /// Sustained rate of the innermost zone, bytes per second.
    pub inner_bytes_per_s: u64,
    /// Recording zones, all of the same number of cylinders; the rate falls linearly from the first
    /// to the last.
    pub zones: u32,
    /// Read seek to the next cylinder, and the switch to another head, ns. Tracks are skewed by
    /// this and `write_settle_ns`, so that a transfer goes on across a track's end.
    pub track_to_track_ns: u64,
    /// Average read seek, ns: taken as the seek over a third of the stroke, which is the mean
    /// distance between two random cylinders.
    pub average_seek_ns: u64,
    /// Read seek from the outermost to the innermost cylinder, ns.
    pub full_stroke_ns: u64,
    /// Constant part of every seek of two cylinders or more, ns. Without it the curve starts from
    /// `track_to_track_ns`. The number to fit from random reads over a short span.
    pub settle_ns: Option<u64>,
    /// What a head needs on top before it may write, ns: average write seek less average read seek.
    pub write_settle_ns: u64,
    /// The controller's time a command, ns. One command at a time.
    pub command_ns: u64,
    /// Rate of the interface, bytes per second.
    pub link_bytes_per_s: u64,
    /// Commands the drive takes and reorders (NCQ, TCQ): shortest positioning time first. 1 is
    /// first in, first out.
    pub command_queue_depth: u32,
    /// Every other time a command that has waited this long is served before all shorter ones, the
    /// longest waiting first, ns.
    pub age_limit_ns: u64,
    /// How far the drive's forecast of a positioning time is off, ns: evenly spread up to this. The
    /// more, the less a deep queue gains; 0 forecasts exactly. To fit from random reads by depth.
    pub forecast_error_ns: u64,
    /// Part of its wait that is taken off a command's forecast, ppm. The more, the nearer to first
    /// in, first out. To fit from the latency percentiles of a deep queue, or from random reads
    /// beside streams.
    pub age_weight_ppm: u32,
    /// Segments of the read cache: sequential streams that are remembered. 0 switches read-ahead
    /// off.
    pub read_segments: u32,
    /// Size of a segment, bytes: how far the drive reads ahead of its reader.
    pub read_segment_bytes: u64,
    /// Read on this far after every media read before any other command is served, bytes: MINIMUM
    /// PRE-FETCH of the Caching mode page (SCSI Block Commands, SBC-3). 0: read-ahead gives way at
    /// once.
    pub prefetch_min_bytes: u64,
    /// Whether writes are cached.
    pub write_caching: WriteCaching,
    /// Memory for cached writes, bytes; at least four tracks make sequential writes stream.
    pub write_cache_bytes: u64,
    /// Cached writes at most, adjacent ones counted once. The more, the shorter the way to the
    /// next.
    pub write_cache_commands: u32,
    /// A drive-managed shingled disk's translation layer; `None` is conventional recording.
    pub shingling: Option<Shingling>,
}

/// Drive-managed shingled recording. Tracks overlap like roof tiles, so that a zone is rewritten as
/// a whole; random writes go to a log, the media cache, until it is full (Aghayev and Desnoyers,
/// "Skylight: A Window on Shingled Disk Operation", FAST 2015).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shingling {
    /// Zone (Skylight's band), bytes: the unit of rewriting.
    pub zone_bytes: u64,
    /// Media cache at the outer diameter, bytes, not part of the capacity.
    pub media_cache_bytes: u64,
    /// Pieces of data that the map of the media cache holds; `u64::MAX` is no limit. A piece is a
    /// cached write, or what is left of it.
    pub map_pieces: u64,
    /// Time between two entries of the media cache, ns. The platter turns on meanwhile, so anything
    /// above 0 costs a turn.
    pub entry_ns: u64,
    /// Cached writes of an entry at most.
    pub entry_writes: u32,
    /// Idle time after which zones are cleaned in the background, ns. A command that comes while
    /// a zone is being read has it given up; one that comes while it is written waits for its end.
    pub idle_clean_ns: u64,
}

impl DiskParams {
    /// # Panics
    /// Where a number contradicts another or cannot be built.
    pub(super) fn check(&self) {
        assert!(matches!(self.sector_bytes, 512 | 4096), "sector of {} B", self.sector_bytes);
        let sector_bytes = u64::from(self.sector_bytes);
        assert!(self.capacity_bytes >= 1 << 20, "a disk of {} B", self.capacity_bytes);
        assert!(self.capacity_bytes.is_multiple_of(sector_bytes), "capacity splits a sector");
        assert!((1_000..=30_000).contains(&self.rpm), "{} rpm", self.rpm);
        assert!(self.surfaces > 0 && self.zones > 0, "no surface or no zone");
        assert!(0 < self.inner_bytes_per_s, "a rate of 0 B/s");
        assert!(self.inner_bytes_per_s <= self.outer_bytes_per_s, "the inner zone is the slower");
        assert!(self.track_to_track_ns > 0, "a head that switches in no time");
        assert!(self.track_to_track_ns <= self.average_seek_ns, "seeks grow with distance");
        assert!(self.average_seek_ns <= self.full_stroke_ns, "seeks grow with distance");
        assert!(self.full_stroke_ns < 1 << 32, "a seek of over 4 s");
        assert!(
            self.settle_ns.is_none_or(|settle| settle <= self.average_seek_ns),
            "the settle is part of the average seek"
        );
        assert!(
            self.command_ns > 0 && self.link_bytes_per_s > 0,
            "an interface that costs nothing"
        );
        assert!(self.forecast_error_ns < 1 << 32, "a forecast that is off by over 4 s");
        assert!(self.age_weight_ppm <= 1_000_000, "a wait that counts for more than it is");
        assert!((1..=256).contains(&self.command_queue_depth), "queue of 1 to 256 commands");
        if self.write_caching == WriteCaching::On {
            assert!(self.write_cache_commands > 0, "a write cache for no command");
            assert!(self.write_cache_bytes >= 4 * sector_bytes, "a write cache under four sectors");
        }
        if self.read_segments > 0 {
            assert!(self.read_segment_bytes >= sector_bytes, "a segment under a sector");
        }
        if let Some(shingling) = self.shingling {
            assert!(shingling.zone_bytes >= 1 << 20, "a shingled zone under 1 MiB");
            assert!(shingling.zone_bytes.is_multiple_of(sector_bytes), "a zone splits a sector");
            assert!(shingling.map_pieces >= 2, "a map that no write fits into");
            assert!(shingling.entry_writes > 0, "an entry of no write");
            assert!(
                shingling.media_cache_bytes >= shingling.zone_bytes.max(TRANSFER_BYTES_MAX.into())
                    && shingling.media_cache_bytes.is_multiple_of(sector_bytes),
                "a media cache under a zone or a transfer, or one that splits a sector"
            );
        }
    }
}
