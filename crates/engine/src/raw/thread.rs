//! Processor time, and where a thread runs.

use rustix::{
    thread::{CpuSet, UnshareFlags, sched_setaffinity, unshare_unsafe},
    time::{ClockId, clock_gettime},
};
use std::{io, mem::MaybeUninit};

/// Processor time the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Gives the calling thread a table of descriptors of its own, a copy of the process's. In a shared
/// table every system call counts the file's users up and down atomically, some 30 ns of a cached
/// read; in a thread's own table it need not (fdget in fs/file.c).
///
/// Call it first on a thread that opens its files itself and gives none of them away: a descriptor
/// means another file on another thread from then on. What the thread still has open is closed when
/// it ends. Where the system forbids it (a container's seccomp profile), nothing changes.
pub fn own_descriptors() {
    // SAFETY: only descriptors opened later differ between the tables, and those stay on this
    // thread by the contract above; memory is not concerned.
    let _ = unsafe { unshare_unsafe(UnshareFlags::FILES) };
}

/// Keeps what is freed from staying with the process: for a server that lives long and counts its
/// memory. Allocations of 128 KiB and more are mapped, each by itself, and go back to the system
/// when they are freed; without this the C library raises that limit to the largest that was ever
/// freed (mallopt(3), M_MMAP_THRESHOLD). Call it before other threads are started. Does nothing
/// where the C library is another.
pub fn give_freed_memory_back() {
    #[cfg(target_env = "gnu")]
    {
        const MAPPED_BYTES: i32 = 128 << 10;
        // SAFETY: it changes when memory goes back to the system, and no memory that is in use.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES) };
        // SAFETY: as above.
        unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, MAPPED_BYTES) };
    }
}

/// Gives all pages back to the system that the allocator holds and nobody uses: after work that
/// needed much memory in small pieces.
pub fn trim_memory() {
    // SAFETY: memory that is in use is not touched (malloc_trim(3)).
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Processor time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuTime {
    /// In the program.
    pub user_ns: u64,
    /// In the kernel on the program's behalf.
    pub system_ns: u64,
}

/// Processor time that all threads of this process have used, io_uring's workers among them, since
/// they are threads of the process (getrusage(2); the kernel counts in microseconds).
pub fn process_cpu() -> CpuTime {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the structure, and zeros were a valid one already.
    let usage = unsafe {
        let outcome = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        assert!(outcome == 0, "getrusage knows RUSAGE_SELF");
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    CpuTime { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

/// Keeps the calling thread on one processor.
///
/// # Errors
/// EINVAL if there is no such processor, or this process may not use it.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}
