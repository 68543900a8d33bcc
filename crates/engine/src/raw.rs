//! System calls that other rooms need, in safe clothes. Nothing here decides anything.

mod command;
mod device;
mod extents;
mod file;
mod loops;
mod mapper;
mod mounts;
mod residency;
mod thread;

pub use command::{NvmeAnswer, NvmeCommand, ScsiAnswer, nvme_admin, scsi_read};
pub use device::{
    device_bytes, discard_device, drop_device_cache, is_gone, is_read_only, logical_block_bytes,
    optimal_io_bytes, physical_block_bytes,
};
pub use extents::{ExtentFlags, FileExtent, allocation, extents, holes};
pub use file::{
    Advice, DirectAlignment, FileLock, advise, allocate, direct_alignment, discard, punch_hole,
    sync_directory_of, take_descriptor, try_lock, try_lock_shared, zero_range,
};
pub use loops::{LoopBacking, LoopDevice, loop_backing};
pub use mapper::{HEAD_BYTES as MAPPED_HEAD_BYTES, MapQuestion, mapped};
pub use mounts::{forget_btrfs, mount, unmount};
pub use residency::{Residency, residency};
pub use thread::{
    CpuTime, give_freed_memory_back, own_descriptors, pin_to_cpu, process_cpu, thread_cpu_ns,
    trim_memory,
};
