//! What a host path costs.

use crate::WriteCaching;
use block::Geometry;

/// A controller, its driver and the path to it. All times are the host's, on top of the drive's.
///
/// A fit drives [`own_ns`](Self::own_ns) and [`own_ns_per_kib`](Self::own_ns_per_kib) on the
/// one-thread column, [`command_ns`](Self::command_ns) on the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortParams {
    /// The asking thread's own time a request (system call, block layer), ns. Seen at one thread,
    /// hidden behind the drive at many: it is latency, not a shared resource.
    pub own_ns: u64,
    /// The same for every KiB of a request's first command, ns.
    pub own_ns_per_kib: u64,
    /// In place of `own_ns` for a write, if a file system has to answer each by itself, ns.
    pub own_write_ns: Option<u64>,
    /// The controller driver's time a request, ns; latency as well. Where `serial_ns` is given that
    /// takes its place.
    pub driver_ns: u64,
    /// One serial host resource that every command of all drives passes, half of it on the way down
    /// and half on the way up, ns a command: an array driver's lock or the one processor that takes
    /// its interrupts.
    pub serial_ns: Option<u64>,
    /// Largest command, bytes: longer requests are cut.
    pub transfer_bytes_max: u32,
    /// What the controller adds to every command, serially for each drive, ns.
    pub command_ns: u64,
    /// Rate of the link that all drives share, if it is narrower than they are together, bytes per
    /// second.
    pub link_bytes_per_s: Option<u64>,
    /// Most that a host writes to all drives together, bytes per second, where something in it is
    /// slower than they are; its reads do not wait for that.
    pub write_bytes_per_s: Option<u64>,
    /// Answers that the controller gathers before it interrupts the host; without it tells each at
    /// once.
    pub gather: Option<Gather>,
    /// What becomes of a write with forced unit access.
    pub fua: Fua,
}

/// A controller that gathers answers: under load it interrupts its host once for all that come
/// within a time of the first (reply coalescing: `CoalescingTimeout` of `MPI2_CONFIG_PAGE_IOC_1`,
/// Linux, drivers/scsi/mpt3sas/mpi/mpi2_cnfg.h).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gather {
    /// From the first answer to the interrupt, ns.
    pub ns: u64,
    /// It does so while at least so many requests are outstanding.
    pub from: u32,
}

/// How a kernel makes one write durable on a drive whose write cache is on. Where that is off no
/// write needs it, and a kernel leaves the bit out (Linux, `submit_bio_noacct` in
/// block/blk-core.c).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fua {
    /// The bit goes to the drive, which SCSI and NVMe drives may be trusted with.
    Native,
    /// The write goes as any other, and a flush of the whole cache follows: libata does not trust
    /// drives with the bit (its parameter `fua` is 0 by default; drivers/ata/libata-core.c).
    Flush,
}

/// A drive as its port sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attached {
    /// The drive's contract.
    pub geometry: Geometry,
    /// Commands it takes at a time: 1 without a command queue, 32 with NCQ.
    pub commands: u32,
    /// Whether it says that it caches writes. One that keeps its cache through a power cut may say
    /// so too, and is then flushed like any other.
    pub write_cache: WriteCaching,
}

impl PortParams {
    /// # Panics
    /// Where a number cannot be built.
    pub(super) fn check(&self) {
        assert!(self.transfer_bytes_max >= 512, "a command of under a sector");
        assert!(self.transfer_bytes_max.is_multiple_of(512), "a command that splits a sector");
        assert!(self.link_bytes_per_s != Some(0), "a link of 0 B/s");
        assert!(self.write_bytes_per_s != Some(0), "writes of 0 B/s");
    }
}
