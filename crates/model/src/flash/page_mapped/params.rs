//! What a page-mapped drive is made of, in plain integers, and what of it cannot be built.

use crate::WriteCaching;
use std::fmt;

/// The mapping unit, bytes: every table of the drive counts in these. A NAND page holds one or
/// more.
pub const UNIT_BYTES: u32 = 4096;

/// What the controller does while a command's bytes are on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// Waits: a command and its bytes bound the rate together.
    Serial,
    /// Begins the next command: the slower of command and bytes bounds the rate.
    Overlapped,
}

/// Everything that tells one page-mapped drive from another.
///
/// What a host at depth 1 sees, on a drive with enough planes, and which parameter moves it alone:
///
/// | seen | made of | moved by |
/// |---|---|---|
/// | random read, fixed part | command + latency + `read_ns` + 4 KiB / channel | `read_ns` |
/// | random read, slope | s / `link_bytes_per_s` | `link_bytes_per_s` |
/// | reads per second at depth | 1 / (`read_command_ns` + s / `link_bytes_per_s`) | `read_command_ns` |
/// | sequential read | s / `stream_read_bytes_per_s` | the same |
/// | random write | `write_command_ns` + s / `random_write_bytes_per_s` | the same |
/// | sequential write | `write_command_ns` + s / `stream_write_bytes_per_s` | the same |
/// | FLUSH | what is left in the buffer + `flush_ns` | `flush_ns` |
/// | FUA, cache off | a program, or `write_through_ns` where it is given | `write_through_ns` |
///
/// At depth command and s / link bound the rate together, or, with [`Transfer::Overlapped`], the
/// slower of both.
///
/// Writes run so until the buffer is full, then at flash's own rate: planes x `nand_page_bytes` /
/// `program_ns`, over the write amplification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageMappedParams {
    /// What the host may address, bytes; a multiple of 512.
    pub capacity_bytes: u64,
    /// Flash beyond the exported capacity, in thousandths of the exported capacity: the trade's
    /// (physical - exported) / exported. 70 is the binary-to-decimal gap of a "256 GB" drive.
    pub over_provisioning_per_mille: u32,

    /// Buses between the controller and the flash.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of a die. Each works by itself: the model knows no multi-plane command.
    pub planes_per_die: u32,
    /// What one array read or one program moves, bytes: 4 KiB times a power of two.
    pub nand_page_bytes: u32,
    /// NAND pages that are erased together on one plane.
    pub pages_per_block: u32,

    /// From the array to a plane's register (tR), ns.
    pub read_ns: u64,
    /// How far the quickest and the slowest page are from `read_ns`, thousandths of it; pages lie
    /// evenly between. With two or three bits a cell it takes one to four comparisons to read a
    /// page.
    pub read_spread_per_mille: u32,
    /// Reads whose first try fails.
    pub read_retry: Option<ReadRetry>,
    /// Programs and erases that are set aside for a read; `None`: reads wait for the one that runs.
    pub suspend: Option<Suspend>,
    /// Times in which nothing is programmed; `None`: there are none.
    pub pause: Option<Pause>,
    /// Phases in which writes are let in more slowly than they come; `None`: there are none.
    pub throttle: Option<Throttle>,
    /// From the register to the array (tPROG), ns.
    pub program_ns: u64,
    /// Erasing a block (tBERS), ns.
    pub erase_ns: u64,
    /// Blocks of a plane that are erased one after the other at one go. While that lasts, a plane
    /// takes no write; what the write buffer does not hold waits. 1: each when it is due.
    pub erase_group: u32,
    /// Rate of one channel, bytes per second.
    pub channel_bytes_per_s: u64,

    /// What the controller spends on a read command before flash is asked, ns. Serial: with
    /// `link_bytes_per_s` and `transfer` it bounds reads per second at any depth.
    pub read_command_ns: u64,
    /// The same of a write, a flush or a discard, ns.
    pub write_command_ns: u64,
    /// Rate between host and buffer, bytes per second, one command at a time.
    pub link_bytes_per_s: u64,
    /// Whether the next command is begun while a command's bytes are on the link.
    pub transfer: Transfer,
    /// What the controller spends on a read beside other commands, ns: it delays each and bounds no
    /// rate.
    pub read_latency_ns: u64,
    /// The same of a write.
    pub write_latency_ns: u64,
    /// What a command takes longer than all that, on average, ns: exponentially distributed, beside
    /// other commands. Firmware that does something else first; published percentiles of writes
    /// into a buffer with room go up by as much for every nine.
    pub latency_tail_ns: u64,
    /// What a sequential reader gets at most; the drive then reads ahead, and such a read waits for
    /// no array. `None`: a sequential read is served as a random one.
    pub stream_read_bytes_per_s: Option<u64>,
    /// What a sequential writer gets at most; `None`: no limit but link and flash.
    pub stream_write_bytes_per_s: Option<u64>,
    /// What any other writer gets at most; `None`: no limit but link and flash.
    pub random_write_bytes_per_s: Option<u64>,
    /// Queues that these others wait in, each of an equal share of the addresses and with as much
    /// of the rate; 1 to 64. With more than one a write's latency depends on how many of those
    /// outstanding went to its queue.
    pub write_queues: u32,
    /// Commands the drive works on at once: 1 is a drive without command queue, 32 is NCQ.
    pub command_queue: u32,

    /// Memory for the map, bytes, at 4 B for each 4 KiB; what does not find room is read from
    /// flash. `None`: all of it does.
    pub map_memory_bytes: Option<u64>,

    /// Whether a write may be acknowledged out of the buffer.
    pub write_cache: WriteCaching,
    /// Memory that takes writes and drains into flash, bytes; at least one NAND page.
    pub write_buffer_bytes: u64,
    /// Whether that memory outlives a power cut.
    pub power_loss: PowerLoss,
    /// What a FLUSH costs on top of emptying the buffer, ns.
    pub flush_ns: u64,
    /// How long a FUA write, or any write with the cache off, takes to become durable after it was
    /// received, ns: by whatever way the controller has (a page at one bit a cell, a capacitor). 0:
    /// it waits for its program.
    pub write_through_ns: u64,

    /// How the cleaner picks what it empties next.
    pub cleaning: Cleaning,
    /// Superblocks kept free for the cleaner, the one being filled among them: 2 or more.
    pub reserve_superblocks: u32,
    /// A part of the flash run at one bit a cell, in front of the rest.
    pub slc_cache: Option<SlcCache>,
    /// Erases that a block is rated for.
    pub endurance_cycles: u32,
    /// Erases between the most and the least worn superblock before data that never changes is
    /// moved.
    pub wear_leveling_threshold: u32,
    /// What happened to the drive before time 0.
    pub state: State,
}

/// What a power cut does to the write buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerLoss {
    /// It is lost: FLUSH and FUA wait for flash.
    Volatile,
    /// Capacitors empty it into flash: FLUSH and FUA have nothing to wait for.
    Protected,
}

/// Which superblock is emptied next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cleaning {
    /// The one written longest ago.
    Fifo,
    /// The one with the fewest valid pages.
    Greedy,
    /// The one with the largest (1 - u) age / (1 + u), u its valid share (Rosenblum and Ousterhout,
    /// "The Design and Implementation of a Log-Structured File System", 1992).
    CostBenefit,
}

/// Reads that the drive has to try again, with other thresholds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRetry {
    /// How many of a million.
    pub per_million: u32,
    /// What each further try takes, ns. One in four needs one more, and so on.
    pub ns: u64,
    /// How far the shortest and the longest try are from that, thousandths of it: thresholds are
    /// gone through until one is right.
    pub spread_per_mille: u32,
}

/// How a read gets ahead of a program or an erase that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspend {
    /// How many of a thousand are set aside; the others are waited for. Published latencies under
    /// writes have two parts, and the shorter one is not all of it.
    pub per_mille: u32,
    /// What that takes a plane, ns.
    pub ns: u64,
    /// How far the shortest and the longest time are from that, thousandths of it: a program can be
    /// left between two of its pulses only.
    pub spread_per_mille: u32,
}

/// Times in which a drive programs nothing, whatever it has to: firmware that writes its own tables
/// down. Reads go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// How long, ns.
    pub ns: u64,
    /// From the end of one to the end of the next, ns.
    pub every_ns: u64,
}

/// Phases in which writes are let in more slowly than they come, as firmware does whose cleaner has
/// to catch up. The busier flash is, the longer they are; where more comes than flash takes, writes
/// are only spaced evenly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throttle {
    /// At how many thousandths of the rate at which they came in the turn before.
    pub share_per_mille: u32,
    /// From the start of one phase to the start of the next, ns.
    pub every_ns: u64,
    /// Above so many bytes a second little is held back, and no more let in afterwards than flash
    /// takes.
    pub below_bytes_per_s: Option<u64>,
}

/// Flash that takes writes at one bit a cell and is folded into the rest: while the drive idles, or
/// in competition with what the host writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlcCache {
    /// How much it always takes, bytes, on cells of its own.
    pub bytes: u64,
    /// How much more it takes on cells that hold nothing, bytes, on an empty drive. On a used one
    /// it is the share that is free.
    pub dynamic_bytes: u64,
    /// Bits that a cell of the rest holds.
    pub bits_per_cell: u32,
    /// Its program time, ns.
    pub program_ns: u64,
    /// What a plane needs to move a page into the rest, ns; `None`: a read and a program.
    pub fold_ns: Option<u64>,
}

/// The drive's past.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Never written.
    Fresh,
    /// The first part of the exported space was written over and over at random until nothing
    /// changed any more.
    Steady {
        /// How much of the exported capacity that is, in thousandths.
        used_per_mille: u32,
    },
}

/// Parameters of which no drive can be built, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadParams {
    /// The parameter of that name is 0.
    Zero(&'static str),
    /// More of them than the model has numbers for.
    TooManyPlanes {
        /// Of the whole drive.
        planes: u32,
        /// Of each.
        pages_per_block: u32,
    },
    /// A NAND page of so many bytes.
    NandPage(u32),
    /// A capacity of so many bytes, no whole sectors.
    SplitsSector(u64),
    /// A write buffer that holds no page.
    WriteBuffer {
        /// What it holds.
        bytes: u64,
        /// A page.
        page_bytes: u32,
    },
    /// More used than there is, in thousandths.
    Used(u32),
    /// Times that would be less than none: the parameter, and its spread in thousandths.
    Spread(&'static str, u32),
    /// Pauses of so many ns, which leave nothing of so many.
    Pause(u64, u64),
    /// A capacity of so many bytes, beyond the numbers of pages.
    TooLarge(u64),
    /// So many superblocks in reserve, fewer than cleaning needs.
    Reserve(u32),
    /// Fewer superblocks than hold the exported capacity.
    TooSmall {
        /// What the drive exports.
        capacity_bytes: u64,
        /// Its spare, in thousandths.
        over_provisioning_per_mille: u32,
        /// What it has.
        superblocks: u64,
        /// Of each.
        superblock_bytes: u64,
        /// What it needs.
        superblocks_min: u64,
        /// The smallest capacity that has room, in whole MiB; none has where this is `None`.
        capacity_mib_min: Option<u64>,
    },
}

impl fmt::Display for BadParams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(name) => write!(formatter, "{name} is 0, and there is no such drive"),
            Self::TooManyPlanes { planes, pages_per_block } => write!(
                formatter,
                "{planes} planes of {pages_per_block} pages a block: the model ends at 65536 of each"
            ),
            Self::NandPage(bytes) => write!(
                formatter,
                "nand_page_bytes {bytes}: it must be {UNIT_BYTES} times a power of two"
            ),
            Self::SplitsSector(bytes) => {
                write!(formatter, "capacity_bytes {bytes}: no multiple of 512")
            }
            Self::WriteBuffer { bytes, page_bytes } => write!(
                formatter,
                "write_buffer_bytes {bytes}: it must hold a NAND page of {page_bytes} bytes"
            ),
            Self::Used(per_mille) => {
                write!(formatter, "used_per_mille {per_mille}: a drive is full at 1000")
            }
            Self::Spread(name, per_mille) => {
                write!(formatter, "{name} {per_mille}: it ends at 1000")
            }
            Self::Pause(ns, every_ns) => {
                write!(formatter, "a pause of {ns} ns every {every_ns} ns: nothing is left")
            }
            Self::TooLarge(bytes) => write!(
                formatter,
                "capacity_bytes {bytes}: page numbers of 32 bits end at 16 TiB of flash"
            ),
            Self::Reserve(superblocks) => write!(
                formatter,
                "reserve_superblocks {superblocks}: the cleaner needs one to fill and one to end \
                 in, 2"
            ),
            Self::TooSmall {
                capacity_bytes,
                over_provisioning_per_mille,
                superblocks,
                superblock_bytes,
                superblocks_min,
                capacity_mib_min,
            } => {
                write!(
                    formatter,
                    "capacity_bytes {capacity_bytes} with over_provisioning_per_mille \
                     {over_provisioning_per_mille}: {superblocks} superblocks of {} KiB, and \
                     {superblocks_min} are needed to hold the exported capacity, the reserve and \
                     one to clean; ",
                    superblock_bytes / 1024
                )?;
                match capacity_mib_min {
                    None => formatter.write_str("no capacity has room for that: raise it"),
                    Some(mib) => write!(
                        formatter,
                        "the smallest capacity of such a drive is {mib} MiB, `capacity={mib}M`"
                    ),
                }
            }
        }
    }
}

impl std::error::Error for BadParams {}

impl PageMappedParams {
    /// Planes of the whole drive: how many arrays work at once.
    pub fn planes(&self) -> u32 {
        self.channels.saturating_mul(self.dies_per_channel).saturating_mul(self.planes_per_die)
    }

    /// Mapping units of a superblock: one block of every plane, filled and emptied together.
    pub fn units_per_superblock(&self) -> u64 {
        let units_per_page = u64::from(self.nand_page_bytes / UNIT_BYTES);
        u64::from(self.planes()) * u64::from(self.pages_per_block) * units_per_page
    }

    /// Superblocks of the whole drive. Flash that fills no superblock is left out.
    pub fn superblocks(&self) -> u64 {
        let physical = u128::from(self.capacity_bytes)
            * u128::from(1000 + self.over_provisioning_per_mille)
            / 1000;
        (physical / u128::from(self.units_per_superblock()) / u128::from(UNIT_BYTES)) as u64
    }

    /// Mapping units the host may address.
    pub fn units(&self) -> u64 {
        self.capacity_bytes.div_ceil(u64::from(UNIT_BYTES))
    }

    /// Mapping units that hold data at any time: all flash net of the open superblock and the
    /// reserve. What the closed form of write amplification calls the physical space.
    pub fn net_units(&self) -> u64 {
        self.superblocks().saturating_sub(u64::from(self.reserve_superblocks))
            * self.units_per_superblock()
    }

    /// Refuses what cannot be built or would come to a halt.
    pub(super) fn check(&self) -> Result<(), BadParams> {
        for (name, value) in [
            ("channels", u64::from(self.channels)),
            ("dies_per_channel", u64::from(self.dies_per_channel)),
            ("planes_per_die", u64::from(self.planes_per_die)),
            ("pages_per_block", u64::from(self.pages_per_block)),
            ("erase_group", u64::from(self.erase_group)),
            ("command_queue", u64::from(self.command_queue)),
            ("write_queues", u64::from(self.write_queues)),
            ("capacity_bytes", self.capacity_bytes),
            ("read_ns", self.read_ns),
            ("program_ns", self.program_ns),
            ("channel_bytes_per_s", self.channel_bytes_per_s),
            ("link_bytes_per_s", self.link_bytes_per_s),
            ("stream_read_bytes_per_s", self.stream_read_bytes_per_s.unwrap_or(1)),
            ("stream_write_bytes_per_s", self.stream_write_bytes_per_s.unwrap_or(1)),
            ("random_write_bytes_per_s", self.random_write_bytes_per_s.unwrap_or(1)),
            ("slc_cache program_ns", self.slc_cache.map_or(1, |cache| cache.program_ns)),
            ("slc_cache fold_ns", self.slc_cache.and_then(|cache| cache.fold_ns).unwrap_or(1)),
            ("throttle share_per_mille", self.throttle.map_or(1, |it| it.share_per_mille.into())),
            ("throttle every_ns", self.throttle.map_or(1, |it| it.every_ns)),
            ("bits_per_cell", self.slc_cache.map_or(1, |cache| cache.bits_per_cell.into())),
        ] {
            if value == 0 {
                return Err(BadParams::Zero(name));
            }
        }
        if self.planes() > 1 << 16 || self.pages_per_block > 1 << 16 {
            let (planes, pages_per_block) = (self.planes(), self.pages_per_block);
            return Err(BadParams::TooManyPlanes { planes, pages_per_block });
        }
        let page = self.nand_page_bytes;
        if !page.is_multiple_of(UNIT_BYTES) || !page.is_power_of_two() {
            return Err(BadParams::NandPage(page));
        }
        if !self.capacity_bytes.is_multiple_of(512) {
            return Err(BadParams::SplitsSector(self.capacity_bytes));
        }
        if self.write_buffer_bytes < u64::from(page) {
            let bytes = self.write_buffer_bytes;
            return Err(BadParams::WriteBuffer { bytes, page_bytes: page });
        }
        for (name, per_mille) in [
            ("read_spread_per_mille", self.read_spread_per_mille),
            ("retry spread_per_mille", self.read_retry.map_or(0, |retry| retry.spread_per_mille)),
            ("suspend spread_per_mille", self.suspend.map_or(0, |aside| aside.spread_per_mille)),
            ("throttle share_per_mille", self.throttle.map_or(0, |it| it.share_per_mille)),
        ] {
            if per_mille > 1000 {
                return Err(BadParams::Spread(name, per_mille));
            }
        }
        if let Some(Pause { ns, every_ns }) = self.pause
            && ns >= every_ns
        {
            return Err(BadParams::Pause(ns, every_ns));
        }
        if let State::Steady { used_per_mille } = self.state
            && used_per_mille > 1000
        {
            return Err(BadParams::Used(used_per_mille));
        }
        self.check_spare()
    }

    fn check_spare(&self) -> Result<(), BadParams> {
        let (superblocks, units) = (self.superblocks(), self.units_per_superblock());
        if superblocks * units >= u64::from(u32::MAX) {
            return Err(BadParams::TooLarge(self.capacity_bytes));
        }
        if self.reserve_superblocks < 2 {
            return Err(BadParams::Reserve(self.reserve_superblocks));
        }
        let superblocks_min = self.superblocks_needed();
        if superblocks < superblocks_min {
            return Err(BadParams::TooSmall {
                capacity_bytes: self.capacity_bytes,
                over_provisioning_per_mille: self.over_provisioning_per_mille,
                superblocks,
                superblock_bytes: units * u64::from(UNIT_BYTES),
                superblocks_min,
                capacity_mib_min: self.capacity_mib_min(),
            });
        }
        Ok(())
    }

    /// With less, all of the exported space being mapped, a victim may hold nothing but valid
    /// pages.
    fn superblocks_needed(&self) -> u64 {
        let exported = self.units().div_ceil(self.units_per_superblock());
        exported + u64::from(self.reserve_superblocks) + 1
    }

    /// The smallest capacity, in whole MiB, of which the spare share is enough; `None` where it
    /// never is.
    fn capacity_mib_min(&self) -> Option<u64> {
        let superblock_bytes = self.units_per_superblock() * u64::from(UNIT_BYTES);
        // From here on it is enough whatever is lost to rounding.
        let spare_bytes = superblock_bytes.checked_mul(u64::from(self.reserve_superblocks) + 3)?;
        let enough_bytes =
            spare_bytes.checked_mul(1000)?.checked_div(self.over_provisioning_per_mille.into())?;
        let fits = |mib: &u64| {
            let other = Self { capacity_bytes: mib << 20, ..self.clone() };
            other.superblocks() >= other.superblocks_needed()
        };
        let enough = enough_bytes.div_ceil(1 << 20);
        // One by one, but for drives that there are not.
        (1..=enough).step_by(1 + (enough >> 16) as usize).chain([enough]).find(fits)
    }
}
