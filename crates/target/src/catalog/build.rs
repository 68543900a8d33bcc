//! The one place where a file's numbers become a model's.

use super::{BadCatalog, DriveEntry, DriveKind, HostEntry, quota::QUOTA_COMMANDS};
use block::Machine;
use model::{
    Attached, BatteryCacheParams, BlockMapped, BlockMappedParams, Cached, Disk, DiskParams, Fua,
    Gather, GatheredRow, PortParams, Quota, Shingling, WriteCaching,
    flash::page_mapped::{
        Cleaning, PageMapped, PageMappedParams, Pause, PowerLoss, ReadRetry, SlcCache, State,
        Suspend, Throttle, Transfer,
    },
};

/// What a STACK may change about a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriveSettings {
    /// `write-cache=`; as the catalog says where it is not set.
    pub write_cache: Option<WriteCaching>,
    /// `state=`.
    pub past: Option<Past>,
    /// `used=`, in thousandths of the capacity.
    pub used_per_mille: Option<u32>,
    /// `command-queue=`.
    pub command_queue: Option<u32>,
    /// `capacity=`: a flash drive with less flash behind the same controller, bytes.
    pub capacity_bytes: Option<u64>,
    /// `atomic-write=`: what a power cut does not tear, bytes.
    pub atomic_write_bytes: Option<u64>,
    /// `map-memory=`: of the map of a page-mapped drive, bytes.
    pub map_memory_bytes: Option<u64>,
    /// What the port leaves of it.
    pub port: PortLimits,
    /// Where the drive's random choices come from.
    pub seed: u64,
}

/// What a port leaves of each drive behind it. A drive has limits of its own; the lower one counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortLimits {
    /// Commands at a time.
    pub command_queue: Option<u32>,
    /// Rate of the drive's own link, bytes per second.
    pub link_bytes_per_s: Option<u64>,
}

fn at_most(own: u64, limit: Option<u64>) -> u64 {
    limit.map_or(own, |limit| own.min(limit))
}

/// How a drive is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Past {
    /// Never written.
    Fresh,
    /// Written at random until nothing changed any more.
    Steady,
}

impl DriveEntry {
    /// The drive, a machine without anything below it; at most `queue_depth` requests may be
    /// outstanding.
    ///
    /// # Errors
    /// When numbers contradict each other, or a setting is nothing to this kind of drive.
    pub fn build(
        &self,
        settings: &DriveSettings,
        queue_depth: u32,
    ) -> Result<Box<dyn Cached>, BadCatalog> {
        Ok(match self.kind {
            DriveKind::BlockMapped => {
                Box::new(BlockMapped::new(self.block_mapped(settings)?, queue_depth))
            }
            DriveKind::PageMapped => {
                let drive =
                    PageMapped::new(&self.page_mapped(settings)?, queue_depth, settings.seed);
                let cure = settings.capacity_bytes.map_or("", |_| "; name a larger `capacity=`");
                Box::new(drive.map_err(|bad| self.contradiction(&format!("{bad}{cure}")))?)
            }
            DriveKind::Disk => Box::new(Disk::new(self.disk(settings)?, queue_depth)),
            DriveKind::Quota => {
                Box::new(Quota::new(self.quota(settings)?, queue_depth, settings.seed))
            }
        })
    }

    /// What the drive erases, or writes anew, at once, bytes; none for a disk that writes wherever
    /// it is.
    pub fn erase_unit_bytes(&self) -> Option<u64> {
        match self.kind {
            DriveKind::BlockMapped => Some(self.entry.get("unit")),
            DriveKind::PageMapped => {
                Some(self.entry.get("nand_page") * self.entry.get("pages_per_block"))
            }
            DriveKind::Disk => self.entry.ask("shingled_zone"),
            DriveKind::Quota => None,
        }
    }

    /// Addressable bytes.
    pub fn capacity(&self, settings: &DriveSettings) -> u64 {
        settings.capacity_bytes.unwrap_or(self.capacity_bytes)
    }

    /// Commands that the drive takes at a time, for its port.
    pub fn commands(&self, settings: &DriveSettings) -> u32 {
        let own = settings.command_queue.unwrap_or(match self.kind {
            DriveKind::BlockMapped => 1,
            DriveKind::Quota => QUOTA_COMMANDS,
            _ => self.entry.get("command_queue") as u32,
        });
        settings.port.command_queue.map_or(own, |limit| own.min(limit))
    }

    /// `drive`, built of this entry, as its port sees it.
    pub(crate) fn attached(&self, drive: &dyn Machine, settings: &DriveSettings) -> Attached {
        let geometry = drive.geometry(block::Drive(0));
        let commands = self.commands(settings).min(geometry.queue_depth);
        Attached { geometry, commands, write_cache: self.write_cache(settings) }
    }

    /// Whether the drive's write cache is on: as it was set, or as the drive comes.
    pub(crate) fn write_cache(&self, settings: &DriveSettings) -> WriteCaching {
        settings.write_cache.unwrap_or_else(|| match self.kind {
            DriveKind::Disk if self.entry.get("write_cache") == 0 => WriteCaching::Off,
            DriveKind::Disk => WriteCaching::On,
            DriveKind::Quota => WriteCaching::Off,
            _ => match self.entry.word("write_cache") {
                Some("off") => WriteCaching::Off,
                _ => WriteCaching::On,
            },
        })
    }

    /// What completed writes the drive's cache holds that a power cut may take, bytes; 0 where
    /// none.
    pub fn volatile_bytes(&self, settings: &DriveSettings) -> u64 {
        if self.write_cache(settings) == WriteCaching::Off {
            return 0;
        }
        match self.kind {
            DriveKind::PageMapped if self.entry.word("power_loss") == Some("protected") => 0,
            DriveKind::PageMapped => self.entry.get("write_buffer"),
            DriveKind::BlockMapped => self.entry.get("buffer_lines") * self.entry.get("merge_free"),
            DriveKind::Disk => self.entry.get("write_cache"),
            DriveKind::Quota => 0,
        }
    }

    /// The numbers of a block-mapped drive.
    ///
    /// # Errors
    /// When they contradict each other.
    pub fn block_mapped(&self, settings: &DriveSettings) -> Result<BlockMappedParams, BadCatalog> {
        let entry = &self.entry;
        self.check_unpaged(settings)?;
        let params = BlockMappedParams {
            capacity_bytes: self.capacity(settings),
            command_ns: entry.get("command"),
            read_bytes_per_s: entry.get("read_rate"),
            granule_bytes: entry.ask("granule").unwrap_or(512) as u32,
            stream_read_bytes_per_s: entry.ask("stream_read_rate"),
            unit_bytes: entry.get("unit"),
            merge_ns: entry.get("merge"),
            merge_free_bytes: entry.get("merge_free"),
            write_bytes_per_s: entry.get("write_rate"),
            saved_from_bytes: entry.get("saved_from"),
            copy_ns_per_kib: entry.get("copy"),
            buffer_lines: entry.get("buffer_lines") as u32,
            write_caching: self.write_cache(settings),
        };
        let sectors = [params.unit_bytes, params.merge_free_bytes];
        if sectors.iter().any(|bytes| !bytes.is_multiple_of(512)) {
            return Err(self.contradiction("unit and merge_free are whole sectors of 512 B"));
        }
        if params.merge_free_bytes > params.saved_from_bytes
            || params.saved_from_bytes > params.unit_bytes
            || params.unit_bytes > params.capacity_bytes
        {
            let about =
                "merge_free, saved_from, unit and capacity are in this order, the smallest first";
            return Err(self.contradiction(about));
        }
        let program_ns_per_kib = model::nanoseconds_for(1024, params.write_bytes_per_s);
        let saved_ns =
            params.copy_ns_per_kib * (params.unit_bytes - params.saved_from_bytes) / 1024;
        if params.copy_ns_per_kib > program_ns_per_kib || saved_ns > params.merge_ns {
            let about = "copy saves more than the write_rate or the merge it is saved from takes";
            return Err(self.contradiction(about));
        }
        Ok(params)
    }

    /// The numbers of a page-mapped drive.
    ///
    /// # Errors
    /// When they contradict each other.
    pub fn page_mapped(&self, settings: &DriveSettings) -> Result<PageMappedParams, BadCatalog> {
        let entry = &self.entry;
        let per_mille = |name: &str| entry.ask(name).map(|millionths| (millionths / 1000) as u32);
        let slc_cache = self.slc_cache()?;
        let read_retry = self.read_retry(per_mille("retry_spread"))?;
        let past = settings.past.unwrap_or(match entry.word("state") {
            Some("steady") => Past::Steady,
            _ => Past::Fresh,
        });
        if past == Past::Fresh && settings.used_per_mille.is_some() {
            return Err(BadCatalog(format!(
                "`{}`: a fresh drive is not used: write `state=steady` beside `used=`",
                self.name()
            )));
        }
        let used_per_mille = settings.used_per_mille.or(per_mille("used")).unwrap_or(1000);
        Ok(PageMappedParams {
            capacity_bytes: self.capacity(settings),
            over_provisioning_per_mille: per_mille("over_provisioning").unwrap_or_default(),
            channels: entry.get("channels") as u32,
            dies_per_channel: entry.get("dies_per_channel") as u32,
            planes_per_die: entry.get("planes_per_die") as u32,
            nand_page_bytes: entry.get("nand_page") as u32,
            pages_per_block: entry.get("pages_per_block") as u32,
            read_ns: entry.get("read"),
            read_spread_per_mille: per_mille("read_spread").unwrap_or_default(),
            read_retry,
            suspend: self.suspend(per_mille("suspend_share"), per_mille("suspend_spread"))?,
            pause: self.pause()?,
            throttle: self.throttle(per_mille("throttle"))?,
            program_ns: entry.get("program"),
            erase_ns: entry.get("erase"),
            erase_group: entry.ask("erase_group").unwrap_or(1) as u32,
            channel_bytes_per_s: entry.get("channel_rate"),
            read_command_ns: entry.get("read_command"),
            write_command_ns: entry.get("write_command"),
            link_bytes_per_s: at_most(entry.get("link_rate"), settings.port.link_bytes_per_s),
            transfer: self.transfer(),
            read_latency_ns: entry.ask("read_latency").unwrap_or(0),
            write_latency_ns: entry.ask("write_latency").unwrap_or(0),
            latency_tail_ns: entry.ask("latency_tail").unwrap_or(0),
            stream_read_bytes_per_s: entry.ask("stream_read_rate"),
            stream_write_bytes_per_s: entry.ask("stream_write_rate"),
            random_write_bytes_per_s: entry.ask("random_write_rate"),
            write_queues: entry.ask("write_queues").unwrap_or(1) as u32,
            command_queue: self.commands(settings),
            map_memory_bytes: settings.map_memory_bytes.or(entry.ask("map_memory")),
            write_cache: self.write_cache(settings),
            write_buffer_bytes: entry.get("write_buffer"),
            power_loss: match entry.word("power_loss") {
                Some("protected") => PowerLoss::Protected,
                _ => PowerLoss::Volatile,
            },
            flush_ns: entry.get("flush"),
            write_through_ns: entry.get("write_through"),
            cleaning: match entry.word("cleaning") {
                Some("fifo") => Cleaning::Fifo,
                Some("cost-benefit") => Cleaning::CostBenefit,
                _ => Cleaning::Greedy,
            },
            reserve_superblocks: entry.ask("reserve").unwrap_or(2) as u32,
            slc_cache,
            endurance_cycles: entry.get("endurance") as u32,
            wear_leveling_threshold: entry.ask("wear_threshold").unwrap_or(100) as u32,
            state: match past {
                Past::Fresh => State::Fresh,
                Past::Steady => State::Steady { used_per_mille },
            },
        })
    }

    fn transfer(&self) -> Transfer {
        match self.entry.word("transfer") {
            Some("overlapped") => Transfer::Overlapped,
            _ => Transfer::Serial,
        }
    }

    fn slc_cache(&self) -> Result<Option<SlcCache>, BadCatalog> {
        let entry = &self.entry;
        let sizes = [entry.ask("slc_cache"), entry.ask("slc_dynamic")];
        match (sizes, entry.ask("slc_program")) {
            ([None, None], None) => {
                let mut alone = ["slc_fold", "bits_per_cell"].into_iter();
                match alone.find(|name| entry.ask(name).is_some()) {
                    None => Ok(None),
                    Some(name) => {
                        Err(self.contradiction(&format!("{name} needs slc_cache or slc_dynamic")))
                    }
                }
            }
            ([None, None], _) | (_, None) => {
                let about = "slc_cache or slc_dynamic, and slc_program need each other";
                Err(self.contradiction(about))
            }
            ([fixed, dynamic], Some(program_ns)) => Ok(Some(SlcCache {
                bytes: fixed.unwrap_or(0),
                dynamic_bytes: dynamic.unwrap_or(0),
                bits_per_cell: entry.ask("bits_per_cell").unwrap_or(3) as u32,
                program_ns,
                fold_ns: entry.ask("slc_fold"),
            })),
        }
    }

    fn suspend(
        &self,
        share: Option<u32>,
        spread: Option<u32>,
    ) -> Result<Option<Suspend>, BadCatalog> {
        let Some(ns) = self.entry.ask("suspend") else {
            let mut alone = [(share, "suspend_share"), (spread, "suspend_spread")].into_iter();
            return match alone.find(|(there, _)| there.is_some()) {
                None => Ok(None),
                Some((_, name)) => Err(self.contradiction(&format!("{name} needs suspend"))),
            };
        };
        let (per_mille, spread_per_mille) = (share.unwrap_or(1000), spread.unwrap_or(0));
        Ok(Some(Suspend { per_mille, ns, spread_per_mille }))
    }

    fn pause(&self) -> Result<Option<Pause>, BadCatalog> {
        match (self.entry.ask("pause"), self.entry.ask("pause_every")) {
            (None, None) => Ok(None),
            (Some(ns), Some(every_ns)) if ns < every_ns => Ok(Some(Pause { ns, every_ns })),
            (Some(_), Some(_)) => Err(self.contradiction("a pause is shorter than pause_every")),
            _ => Err(self.contradiction("pause and pause_every need each other")),
        }
    }

    fn throttle(&self, share: Option<u32>) -> Result<Option<Throttle>, BadCatalog> {
        let below_bytes_per_s = self.entry.ask("throttle_below");
        match (share, self.entry.ask("throttle_every")) {
            (None, None) if below_bytes_per_s.is_none() => Ok(None),
            (Some(share_per_mille), Some(every_ns)) => {
                Ok(Some(Throttle { share_per_mille, every_ns, below_bytes_per_s }))
            }
            (None, None) => Err(self.contradiction("throttle_below needs throttle")),
            _ => Err(self.contradiction("throttle and throttle_every need each other")),
        }
    }

    fn read_retry(&self, spread: Option<u32>) -> Result<Option<ReadRetry>, BadCatalog> {
        match (self.entry.ask("retry_share"), self.entry.ask("retry")) {
            (None, None) if spread.is_some() => {
                Err(self.contradiction("retry_spread needs retry_share and retry"))
            }
            (None, None) => Ok(None),
            (Some(share), Some(ns)) => {
                let (per_million, spread_per_mille) = (share as u32, spread.unwrap_or(0));
                Ok(Some(ReadRetry { per_million, ns, spread_per_mille }))
            }
            _ => Err(self.contradiction("retry_share and retry need each other")),
        }
    }

    /// The numbers of a disk.
    ///
    /// # Errors
    /// When they contradict each other.
    pub fn disk(&self, settings: &DriveSettings) -> Result<DiskParams, BadCatalog> {
        let entry = &self.entry;
        self.check_unpaged(settings)?;
        if settings.capacity_bytes.is_some() {
            return Err(BadCatalog(format!(
                "`{}` is a disk, and a smaller one would seek faster: leave `capacity=` out, and test less of it with `--size`",
                self.name()
            )));
        }
        let write_cache_bytes = entry.get("write_cache");
        let shingling = match (entry.ask("shingled_zone"), entry.ask("media_cache")) {
            (Some(zone_bytes), Some(media_cache_bytes)) => Some(Shingling {
                zone_bytes,
                media_cache_bytes,
                map_pieces: entry.ask("media_cache_pieces").unwrap_or(u64::MAX),
                entry_ns: entry.ask("media_cache_entry").unwrap_or(0),
                entry_writes: entry.ask("media_cache_writes").unwrap_or(1) as u32,
                idle_clean_ns: entry.ask("idle_clean").unwrap_or(1_000_000_000),
            }),
            (None, None) => None,
            _ => return Err(self.contradiction("shingled_zone and media_cache need each other")),
        };
        let params = DiskParams {
            capacity_bytes: self.capacity_bytes,
            sector_bytes: entry.ask("sector").unwrap_or(512) as u32,
            rpm: entry.get("rpm") as u32,
            surfaces: entry.get("surfaces") as u32,
            outer_bytes_per_s: entry.get("outer_rate"),
            inner_bytes_per_s: entry.get("inner_rate"),
            zones: entry.ask("zones").unwrap_or(16) as u32,
            track_to_track_ns: entry.get("track_to_track"),
            average_seek_ns: entry.get("average_seek"),
            full_stroke_ns: entry.get("full_stroke"),
            settle_ns: entry.ask("settle"),
            write_settle_ns: entry.ask("write_settle").unwrap_or(0),
            command_ns: entry.get("command"),
            link_bytes_per_s: at_most(entry.get("link_rate"), settings.port.link_bytes_per_s),
            command_queue_depth: self.commands(settings),
            age_limit_ns: entry.ask("age_limit").unwrap_or(1_000_000_000),
            forecast_error_ns: entry.ask("forecast_error").unwrap_or(0),
            age_weight_ppm: entry.ask("age_weight").unwrap_or(0) as u32,
            read_segments: entry.get("read_segments") as u32,
            read_segment_bytes: entry.ask("read_segment").unwrap_or(256 << 10),
            prefetch_min_bytes: entry.ask("prefetch_min").unwrap_or(0),
            write_caching: self.write_cache(settings),
            write_cache_bytes,
            write_cache_commands: entry.ask("write_cache_commands").unwrap_or(32) as u32,
            shingling,
        };
        self.check_disk(&params)?;
        Ok(params)
    }

    fn check_disk(&self, params: &DiskParams) -> Result<(), BadCatalog> {
        let seeks = [params.track_to_track_ns, params.average_seek_ns, params.full_stroke_ns];
        let sector_bytes = u64::from(params.sector_bytes);
        let whole = |bytes: u64| bytes.is_multiple_of(sector_bytes);
        let about = if !seeks.is_sorted() {
            "track_to_track, average_seek and full_stroke are in this order, the shortest first"
        } else if params.inner_bytes_per_s > params.outer_bytes_per_s {
            "the inner_rate is not above the outer_rate"
        } else if params.settle_ns.is_some_and(|settle| settle > params.average_seek_ns) {
            "the settle is part of the average_seek"
        } else if ![512, 4096].contains(&params.sector_bytes) {
            "a sector is of 512 B or 4096 B"
        } else if params.write_caching == WriteCaching::On
            && params.write_cache_bytes < 4 * sector_bytes
        {
            "its write_cache is too small to be on: write `write-cache=off`, or a larger one"
        } else if params.read_segments > 0 && params.read_segment_bytes < sector_bytes {
            "a read_segment holds a sector"
        } else if !tracks_can_be_counted(params) {
            "its rates are too low or its head switches too slow for so large a disk"
        } else if params.shingling.is_some_and(|shingling| {
            shingling.media_cache_bytes < shingling.zone_bytes
                || !whole(shingling.zone_bytes)
                || !whole(shingling.media_cache_bytes)
        }) {
            "media_cache is not below shingled_zone, and both are whole sectors"
        } else {
            return Ok(());
        };
        Err(self.contradiction(about))
    }

    pub(super) fn contradiction(&self, about: &str) -> BadCatalog {
        BadCatalog(format!("{}: `{}` cannot be built: {about}", self.entry.file, self.name()))
    }

    /// Refuses what only a page-mapped drive has.
    pub(super) fn check_unpaged(&self, settings: &DriveSettings) -> Result<(), BadCatalog> {
        let has_not = |what: &str| {
            let (name, kind) = (self.name(), self.kind.name());
            Err(BadCatalog(format!("`{name}` is a {kind} drive, which has no {what} out")))
        };
        if settings.past.is_some() || settings.used_per_mille.is_some() {
            return has_not("fresh and no steady state: leave `state=` and `used=`");
        }
        if settings.map_memory_bytes.is_some() {
            return has_not("map of pages: leave `map-memory=`");
        }
        Ok(())
    }
}

impl HostEntry {
    /// What it leaves of each drive.
    pub fn limits(&self) -> PortLimits {
        PortLimits {
            command_queue: self.entry.ask("command_queue").map(|count| count as u32),
            link_bytes_per_s: self.entry.ask("drive_link_rate"),
        }
    }

    /// The numbers of a port, with an array driver's serial time if there is an array.
    pub fn port(&self, serial_ns: Option<u64>) -> PortParams {
        PortParams {
            own_ns: self.entry.get("own"),
            own_ns_per_kib: self.entry.get("own_per_kib"),
            own_write_ns: self.entry.ask("own_write"),
            driver_ns: self.entry.get("driver"),
            serial_ns,
            transfer_bytes_max: (self.entry.get("transfer_max") / 512 * 512) as u32,
            command_ns: self.entry.get("command"),
            link_bytes_per_s: self.entry.ask("link_rate"),
            write_bytes_per_s: self.entry.ask("write_rate"),
            gather: self.entry.ask("gather").map(|ns| Gather {
                ns,
                from: self.entry.ask("gather_from").map_or(1, |count| count as u32),
            }),
            fua: match self.entry.word("fua") {
                Some("flush") => Fua::Flush,
                _ => Fua::Native,
            },
        }
    }

    /// An array driver's serial time a command, ns.
    pub fn serial_ns(&self) -> u64 {
        self.entry.get("serial")
    }

    /// Whether an array driver is a controller whose memory has a battery.
    pub fn has_memory(&self) -> bool {
        self.entry.ask("cache").is_some()
    }

    /// That memory over an array with such rows, of the size that the file says; none of any other
    /// driver.
    pub fn memory(&self, row: GatheredRow) -> Option<BatteryCacheParams> {
        Some(BatteryCacheParams {
            size_bytes: self.entry.ask("cache")?,
            row,
            command_ns: self.entry.get("cache_command"),
            bytes_per_s: self.entry.get("cache_rate"),
            eager_per_mille: (self.entry.get("cache_eager") / 1000) as u32,
            age_ns: self.entry.get("cache_age"),
            rows_max: self.entry.get("cache_rows") as u32,
        })
    }
}

/// Whether the way over all tracks, in the model's phases (60e9 a revolution), fits into 63 bits:
/// 100 TB at 100 MB/s do.
fn tracks_can_be_counted(params: &DiskParams) -> bool {
    const REVOLUTION: u128 = 60_000_000_000;
    let [rpm, surfaces, zones] = [params.rpm, params.surfaces, params.zones].map(u128::from);
    let revolution_bytes = u128::from(params.inner_bytes_per_s) * 60 / rpm;
    let track_sectors = (revolution_bytes / u128::from(params.sector_bytes)).max(1);
    let media_cache_bytes = params.shingling.map_or(0, |shingling| shingling.media_cache_bytes);
    let sectors =
        u128::from(params.capacity_bytes + media_cache_bytes) / u128::from(params.sector_bytes);
    let tracks = sectors / track_sectors + zones * surfaces;
    let skew = u128::from(params.track_to_track_ns + params.write_settle_ns) * rpm;
    tracks * (REVOLUTION + skew) < 1 << 63
}
