//! What an elevator is, as the plain numbers that the kernel gives names to.
//!
//! Defaults are those of Linux 2.6.18 to 4.x, which kept them all that time: `Documentation/block/`
//! (`deadline-iosched.txt`, `as-iosched.txt`, `cfq-iosched.txt`, `queue-sysfs.txt`) and the
//! constants at the head of `block/{deadline,as,cfq}-iosched.c`.

const MS: u64 = 1_000_000;

/// The block layer's request queue of one device, and the elevator that orders it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElevatorParams {
    /// In which order requests go to the driver.
    pub policy: Policy,
    /// Requests of one direction that the queue holds, at the device included; who asks for more
    /// waits (`nr_requests`, 128).
    pub queued_requests_max: u32,
    /// Largest request that merging makes, bytes (`max_sectors_kb`, 512 KiB). A longer one that
    /// comes as one passes whole: the port cuts it.
    pub request_bytes_max: u32,
    /// Requests that the driver has at a time: 31 for NCQ under libata, 1 without a command queue.
    pub device_queue_depth: u32,
}

impl ElevatorParams {
    /// A policy with the kernel's queue around it.
    pub fn of(policy: Policy, device_queue_depth: u32) -> Self {
        Self { policy, queued_requests_max: 128, request_bytes_max: 512 << 10, device_queue_depth }
    }

    /// # Panics
    /// Where a number cannot be built.
    pub(super) fn check(&self) {
        assert!(self.queued_requests_max > 0 && self.device_queue_depth > 0, "a queue of nothing");
        assert!(self.request_bytes_max > 0, "requests of no bytes");
        match &self.policy {
            Policy::Noop => {}
            Policy::Deadline(deadline) => assert!(deadline.fifo_batch > 0, "batches of nothing"),
            Policy::Cfq(cfq) => {
                assert!(cfq.quantum > 0, "a queue that may ask for nothing");
                assert!(cfq.slice_sync_ns > 0 && cfq.slice_async_ns > 0, "slices of no time");
            }
            Policy::Anticipatory(anticipatory) => {
                let Anticipatory { read_batch_expire_ns, write_batch_expire_ns, .. } = anticipatory;
                assert!(*read_batch_expire_ns > 0 && *write_batch_expire_ns > 0, "empty batches");
            }
        }
    }
}

/// The order of dispatch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Policy {
    /// As they came (`block/noop-iosched.c`).
    Noop,
    /// By place, in batches of one direction; the oldest first where it has waited too long
    /// (`block/deadline-iosched.c`).
    Deadline(Deadline),
    /// Time slices, one process at a time (`block/cfq-iosched.c`).
    Cfq(Cfq),
    /// By place, with a pause for the next read of whoever read last (`block/as-iosched.c`, until
    /// 2.6.32).
    Anticipatory(Anticipatory),
}

/// Numbers of [`Policy::Deadline`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// After this a read is overdue, ns (`read_expire`, 500 ms).
    pub read_expire_ns: u64,
    /// The same for a write, ns (`write_expire`, 5 s).
    pub write_expire_ns: u64,
    /// Batches of reads that may pass over waiting writes (`writes_starved`, 2).
    pub writes_starved: u32,
    /// Requests of a batch (`fifo_batch`, 16).
    pub fifo_batch: u32,
    /// Whether a request joins one that follows it on the device (`front_merges`, 1).
    pub front_merges: bool,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            read_expire_ns: 500 * MS,
            write_expire_ns: 5000 * MS,
            writes_starved: 2,
            fifo_batch: 16,
            front_merges: true,
        }
    }
}

/// Numbers of [`Policy::Cfq`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cfq {
    /// Requests that a process has at the device while others wait (`quantum`, 4); four times as
    /// many while none does.
    pub quantum: u32,
    /// Time of a reading process, ns (`slice_sync`, 100 ms).
    pub slice_sync_ns: u64,
    /// Time of the writes, ns (`slice_async`, 40 ms).
    pub slice_async_ns: u64,
    /// Requests of a slice of writes, per priority step (`slice_async_rq`, 2): eight times as many
    /// at the priority that every process has unless told otherwise.
    pub slice_async_rq: u32,
    /// How long the device waits for a process's next read, ns (`slice_idle`, 8 ms); 2 ms at most
    /// for one that seeks.
    pub slice_idle_ns: u64,
    /// After this a read is served first in its slice, ns (`fifo_expire_sync`, 125 ms).
    pub fifo_expire_sync_ns: u64,
    /// The same for a write, ns (`fifo_expire_async`, 250 ms).
    pub fifo_expire_async_ns: u64,
    /// How far back the head is sent, bytes (`back_seek_max`, 16 MiB).
    pub back_seek_bytes_max: u64,
    /// What a way back costs against a way forth (`back_seek_penalty`, 2).
    pub back_seek_penalty: u64,
}

impl Default for Cfq {
    fn default() -> Self {
        Self {
            quantum: 4,
            slice_sync_ns: 100 * MS,
            slice_async_ns: 40 * MS,
            slice_async_rq: 2,
            slice_idle_ns: 8 * MS,
            fifo_expire_sync_ns: 125 * MS,
            fifo_expire_async_ns: 250 * MS,
            back_seek_bytes_max: 16 << 20,
            back_seek_penalty: 2,
        }
    }
}

/// Numbers of [`Policy::Anticipatory`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anticipatory {
    /// After this a read is overdue, ns (`read_expire`, 125 ms).
    pub read_expire_ns: u64,
    /// The same for a write, ns (`write_expire`, 250 ms).
    pub write_expire_ns: u64,
    /// Time of reads while writes wait, ns (`read_batch_expire`, 500 ms).
    pub read_batch_expire_ns: u64,
    /// Time of writes while reads wait, ns (`write_batch_expire`, 125 ms).
    pub write_batch_expire_ns: u64,
    /// How long the device waits for the next read of whoever read last, ns (`antic_expire`, 6 ms
    /// at 1000 ticks a second: `HZ / 150`).
    pub antic_expire_ns: u64,
}

impl Default for Anticipatory {
    fn default() -> Self {
        Self {
            read_expire_ns: 125 * MS,
            write_expire_ns: 250 * MS,
            read_batch_expire_ns: 500 * MS,
            write_batch_expire_ns: 125 * MS,
            antic_expire_ns: 6 * MS,
        }
    }
}
