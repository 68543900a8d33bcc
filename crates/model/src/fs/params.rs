//! What a file system, its kernel and its host are, as plain numbers.

/// Which file system, as far as its own metadata and order of write-back differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// No journal; dirty pages leave in file order.
    Ext2,
    /// The journal of JBD: descriptor and metadata, then a commit record.
    Ext3 {
        /// What the journal demands of file data.
        data: DataMode,
    },
    /// As ext3 with JBD2; with delayed allocation, data leaves in file order.
    Ext4,
    /// A log of records that need no commit record of their own.
    Xfs {
        /// Whether the superblock's counters stay out of the log.
        lazy_count: LazyCount,
    },
}

/// ext3's `data=` mount option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataMode {
    /// Data reaches the drive before the transaction that it belongs to commits: every commit
    /// writes it, in the order in which it was dirtied (`journal_submit_data_buffers` of the
    /// kernel's `fs/jbd/commit.c`).
    Ordered,
    /// Data is left to the kernel's write-back.
    Writeback,
}

/// XFS' `lazy-count` format option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LazyCount {
    /// The superblock is logged only at unmount (`lazy-count=1`).
    On,
    /// Every allocation logs the superblock too (`lazy-count=0`).
    Off,
}

/// Whether a commit is fenced by FLUSH commands to the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// The drive's volatile cache is flushed before and after the commit (`barrier=1`).
    On,
    /// It is trusted (`barrier=0`, `nobarrier`).
    Off,
}

/// Whether freed blocks are reported to the drive (`-o discard`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discard {
    /// Truncation sends a discard.
    On,
    /// It does not.
    Off,
}

/// The order in which the block layer hands queued requests to the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elevator {
    /// As they came.
    Noop,
    /// By offset in one direction, reads before writes, writes after two batches of reads.
    Deadline,
    /// Sorted as [`Elevator::Deadline`]; its time slices between processes do nothing to a file
    /// used alone.
    Cfq,
    /// Sorted as [`Elevator::Deadline`]; its pauses after a read protect a reader from other
    /// processes' writes, and there are none here.
    Anticipatory,
    /// As they came, and at once: a [`crate::Elevator`] below orders them, and the bound of each
    /// direction is on what is at it.
    Below,
}

/// Kernels that differ in what they let become dirty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// 2.6 up to 2.6.21, and RHEL 5: write-back from 10 % of memory, writers wait at 40 %.
    Linux2_6,
    /// 2.6.22 to 2.6.29: 5 % and 10 %.
    Linux2_6_22,
    /// 2.6.30 to today: 10 % and 20 %.
    Linux2_6_30,
}

impl Kernel {
    /// The one that a version is of; today's where none is said.
    pub fn of_version(version: Option<(u32, u32, u32)>) -> Self {
        match version {
            Some(version) if version < (2, 6, 22) => Self::Linux2_6,
            Some(version) if version < (2, 6, 30) => Self::Linux2_6_22,
            _ => Self::Linux2_6_30,
        }
    }
}

/// A file system with its kernel and its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSystemParams {
    /// Which file system.
    pub kind: Kind,
    /// Whether commits flush the drive.
    pub barrier: Barrier,
    /// Whether truncation discards.
    pub discard: Discard,
    /// Memory for the page cache, bytes. The dirty percentages are of this.
    pub ram_bytes: u64,
    /// Share of memory above which write-back starts, % (`vm.dirty_background_ratio`).
    pub dirty_background_percent: u32,
    /// Share of memory at which writers wait for write-back, % (`vm.dirty_ratio`).
    pub dirty_percent: u32,
    /// Age at which dirty pages are written back however few they are, ns
    /// (`vm.dirty_expire_centisecs`, 30 s since 2.5).
    pub dirty_expire_ns: u64,
    /// Time from a transaction's start to its commit, ns (ext3 and ext4: `commit=5`, seconds; ext2
    /// has none).
    pub commit_interval_ns: u64,
    /// Largest read-ahead window, bytes (`read_ahead_kb`, 128 KiB).
    pub read_ahead_bytes: u64,
    /// Processors that those who waited for a commit share when it has ended; 0: each has its own.
    pub processors: u32,
    /// Order of dispatch.
    pub elevator: Elevator,
    /// Requests that the block layer queues for one direction before who submits must wait
    /// (`/sys/block/*/queue/nr_requests`, 128).
    pub queued_requests_max: u32,
    /// Requests that the driver gives to the device at a time: 31 for NCQ under libata, 1 without a
    /// command queue.
    pub device_queue_depth: u32,
    /// Largest request to the device, bytes (`max_sectors_kb`, 512 KiB).
    pub request_bytes_max: u32,
    /// Processor time of one read or write call beyond the copy, ns.
    pub call_ns: u64,
    /// Rate at which the processor copies between the page cache and the caller, bytes per second.
    pub copy_bytes_per_s: u64,
}

impl FileSystemParams {
    /// The defaults of `kernel` for `kind` on a host with `ram_bytes` of memory.
    ///
    /// Dirty percentages: `mm/page-writeback.c` of each kernel (10/40; "Reduce default dirty ratio"
    /// of 2.6.22; "writeback: double the dirty thresholds" of 2.6.30). Elevator: anticipatory was
    /// the default before 2.6.18 and CFQ after it; both sort alike here. ext3 mounted without
    /// barriers until 3.1, ext2 flushes on fsync since 3.x. XFS syncs its log every 30 s
    /// (`fs.xfs.xfssyncd_centisecs`).
    ///
    /// Processor: a call takes 0.4 us (CMU 2008, Table II, ioDrive: 16 reads of 4 KiB take 5.1 us
    /// longer than one of 64 KiB, 0.34 us each; 0.38 us measured for a cached read of 4 KiB under
    /// Linux 6.18), a copy runs at half of the 5 GB/s that STREAM, counting each byte twice,
    /// reports for hosts with DDR2 memory.
    pub fn of(kernel: Kernel, kind: Kind, ram_bytes: u64) -> Self {
        let (dirty_background_percent, dirty_percent) = match kernel {
            Kernel::Linux2_6 => (10, 40),
            Kernel::Linux2_6_22 => (5, 10),
            Kernel::Linux2_6_30 => (10, 20),
        };
        let barrier = match (kind, kernel) {
            (Kind::Ext4 | Kind::Xfs { .. }, _) | (_, Kernel::Linux2_6_30) => Barrier::On,
            (Kind::Ext2 | Kind::Ext3 { .. }, _) => Barrier::Off,
        };
        Self {
            kind,
            barrier,
            discard: Discard::Off,
            ram_bytes,
            dirty_background_percent,
            dirty_percent,
            dirty_expire_ns: 30_000_000_000,
            commit_interval_ns: if let Kind::Xfs { .. } = kind { 30 } else { 5 } * 1_000_000_000,
            read_ahead_bytes: 128 << 10,
            processors: 0,
            elevator: Elevator::Cfq,
            queued_requests_max: 128,
            device_queue_depth: 31,
            request_bytes_max: 512 << 10,
            call_ns: 400,
            copy_bytes_per_s: 2_500_000_000,
        }
    }

    /// Asserts that the numbers fit together.
    ///
    /// # Panics
    /// When they do not.
    pub fn check(&self) {
        assert!(self.ram_bytes >= 1 << 20, "a page cache under 1 MiB");
        let dirty = self.dirty_background_percent..=self.dirty_percent;
        assert!(!dirty.is_empty() && self.dirty_percent <= 100, "dirty shares {dirty:?} %");
        assert!(self.dirty_background_percent > 0, "write-back from the first byte");
        assert!(self.dirty_expire_ns > 0 && self.commit_interval_ns > 0, "an interval of no time");
        assert!(self.queued_requests_max > 0 && self.device_queue_depth > 0, "a queue of nothing");
        let (ahead, request) = (self.read_ahead_bytes, self.request_bytes_max);
        assert!(ahead.is_multiple_of(super::PAGE_BYTES), "read-ahead of {ahead} B splits a page");
        assert!(
            request > 0 && u64::from(request).is_multiple_of(super::PAGE_BYTES),
            "requests of {request} B split a page"
        );
        assert!(self.call_ns > 0, "a call that takes no time makes a run endless");
        assert!(self.copy_bytes_per_s > 0, "a copy that never ends");
    }
}
