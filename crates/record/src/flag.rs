//! Verdict flags: what a reader must know before trusting a number.

use serde::{Deserialize, Serialize};

macro_rules! flags {
    ($($(#[doc = $meaning:literal])+ $variant:ident $name:literal $(was $was:literal)? cure $cure:literal;)*) => {
        /// A verdict about a cell or a run, raised by an automatic check. The snake_case name is
        /// what stands in records and tables.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Flag { $($(#[doc = $meaning])+ $(#[serde(alias = $was)])? $variant,)* }

        impl Flag {
            /// Every flag, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in records and tables.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What it means, one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($meaning),+).trim_ascii(),)* }
            }

            /// What the user can do about it.
            pub fn cure(self) -> &'static str {
                match self { $(Self::$variant => $cure),* }
            }
        }
    };
}

flags! {
    /// The time or the bytes allowed did not suffice for the grade's precision or a steady rate.
    NotConverged "not_converged" cure "raise --max-time";
    /// Fewer operations or seconds than the grade's minimum: too short to say.
    Insufficient "insufficient" cure "raise --max-time or --size";
    /// The rate was still changing when the cell ended.
    Drifting "drifting" cure "raise --max-time, or precondition the drive";
    /// The rate changed for good while the cell ran: there are two rates, and the headline is one
    /// number.
    LeftSteadyState "left_steady_state" cure "run it again, for longer, to see which rate lasts";
    /// The beginning ran at another rate, by more than 10 %, and is not in the headline.
    WarmUp "warm_up" cure "count the beginning too where your workload has one";
    /// The worker's CPU was busy over 90 % of the time: the rate is the host's, not the drive's.
    CpuLimited "cpu_limited" cure "use more threads, larger blocks or the uring engine";
    /// The drive's time per operation is under five times the engine's own cost.
    EngineLimited "engine_limited" cure "compare with `drivelab run null:`; use more threads";
    /// The rate is within 5 % of what the negotiated link can carry.
    LinkLimited "link_limited" cure "check the slot, cable and port: the record names the link";
    /// The link is slower or narrower than drive and slot can do.
    LinkDegraded "link_degraded" cure "reseat the drive, or try another slot or cable";
    /// A block lay in more pages than one command takes.
    CutTransfers "cut_transfers" cure "try io = direct,hugepages";
    /// Reads came from the page cache, not from the drive.
    CacheServed "cache_served" cure "use --io direct";
    /// The data set fits into the host's memory and the cell is buffered.
    FitsInMemory "fits_in_memory" cure "raise --size above the memory, or use --io direct";
    /// Some of what was written lay only in the page cache when the time was over: a power cut
    /// would lose it.
    NotDurable "not_durable" cure "count the flush: --set flush=timed, or use --io direct";
    /// Other programs moved more than 2 % of the drive's sectors meanwhile.
    ForeignIo "foreign_io" cure "stop the other programs and run again";
    /// The hypervisor took more than 2 % of the CPU time meanwhile.
    Steal "steal" cure "run on a quieter host";
    /// The drive is virtual: its numbers are the hypervisor's and the neighbours' too.
    VirtualDisk "virtual_disk" cure "measure on the host itself to judge the drive";
    /// The bytes written were compressible.
    CompressibleData "compressible_data" cure "use --data random for the paired choice";
    /// The target stores compressible data faster: it compresses or deduplicates.
    CompressingTarget "compressing_target" cure "keep --data random; see the ratio in the warning";
    /// The target lives in memory: this measures memory, not a drive.
    MemoryBacked "memory_backed" cure "name a directory on a drive";
    /// The target is reached over a network.
    NetworkBacked "network_backed" cure "read the numbers as network and server together";
    /// The target passes through a user-space file system.
    FuseBacked "fuse_backed" cure "name a directory on the underlying file system";
    /// The target is a layered (overlay) file system.
    OverlayBacked "overlay_backed" cure "name a directory on the underlying file system";
    /// The file system copies on write, checksums or compresses below the page cache.
    CopyOnWrite "copy_on_write" cure "read the numbers as the file system's";
    /// The block device stack encrypts.
    Encrypted "encrypted" cure "read the numbers as drive and cipher together";
    /// The block device is backed by a file of another file system.
    LoopDevice "loop_device" cure "measure the underlying drive";
    /// The file has holes: reading them touches no drive.
    SparseFile "sparse_file" cure "copy the file with `cp --sparse=never`, or name a directory";
    /// The file has extents that were allocated but never written: reading them touches no drive.
    UnwrittenExtents "unwritten_extents" cure "write the file once, or name a directory";
    /// Over 5 % of sampled blocks are zero: the drive answers from its map.
    DeallocatedBlocks "deallocated_blocks" cure "precondition: write the drive once";
    /// The drive's volatile write cache was on: plain writes may be lost in a power cut.
    VolatileCache "volatile_cache" cure "read the sync-write cells for durable writes";
    /// A flush took under 20 us, or no longer after a write than after none, on a drive without
    /// known power-loss protection.
    LyingFlush "lying_flush" cure "do not trust this drive or hypervisor with commits until proven";
    /// Writes went into a fast cache, all the time or at first: a rate that does not last.
    Burst "burst" was "write_cliff" cure "run the saturation method for the rate that lasts";
    /// The rate was held at a number that latencies do not explain, or stepped down to one: a
    /// quota, not a drive.
    BurstCredit "burst_credit" cure "run longer than the credit lasts";
    /// The rate fell while the drive's temperature rose, or the drive says that it slowed itself
    /// down for heat.
    ThermalThrottling "thermal_throttling" cure "cool the drive and run again";
    /// The way to the drive (NBD, FUSE, a loop device) is not five times as fast as the cell, or
    /// even slower than it when it was measured by itself: the rate is the way's as much as the
    /// drive's.
    PathFloor "path_floor" cure "compare cells of the same path alone, or name a block device";
    /// Requests failed, and the rate and the latencies are those of the others.
    IoErrors "io_errors" cure "look at `dmesg` and at the drive's health";
    /// Nothing was answered for a time out of all proportion: the rate is a mean over both.
    Stalled "stalled" cure "look at `dmesg` for resets, and run again";
    /// An array copied, compared or rebuilt its members meanwhile, and had less for others.
    Resync "resync" cure "wait until the array is idle (/proc/mdstat), and run again";
    /// An array ran without one of its members.
    Degraded "degraded" cure "replace the missing member, let it rebuild, and run again";
    /// Writes had blocks allocated for them, which later writes to the same blocks will not.
    Allocating "allocating" cure "precondition: write the volume once before";
    /// The drive counted new errors of its own meanwhile, or warns that it is failing.
    DriveErrors "drive_errors" cure "save what is on the drive; `smartctl -x` says more";
    /// The asked-for queue depth was not reached.
    DepthNotReached "depth_not_reached" cure "read the achieved depth; use more threads or --engine uring";
    /// A partition or file system does not start on a physical block.
    Misaligned "misaligned" cure "repartition on a 1 MiB boundary";
    /// The system's rotational flag contradicts the measured seek time.
    RotationalMismatch "rotational_mismatch" cure "trust the probe; the flag is wrong";
    /// A closed loop hid stalls: latency from the intended start is far worse.
    CoordinatedOmission "coordinated_omission" cure "seek the rate that holds: --until 'p99<1ms'";
    /// The asked-for rate could not be kept.
    RateNotReached "rate_not_reached" cure "lower the rate";
}

impl std::fmt::Display for Flag {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_written_as_it_is_named() {
        for &flag in Flag::ALL {
            let written = serde_json::to_string(&flag).expect("a flag serialises");
            assert_eq!(written, format!("\"{}\"", flag.name()));
            assert!(!flag.meaning().is_empty() && !flag.cure().is_empty());
        }
    }
}
