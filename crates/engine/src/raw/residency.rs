//! How much of a range the page cache holds: cachestat(2), before Linux 6.5 mincore(2).

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::{fs::File, io, ops::Range, os::fd::AsRawFd, ptr};

/// The same number on every architecture (include/uapi/asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;
/// How much mincore looks at in one mapping.
const WINDOW_BYTES: u64 = 1 << 30;

/// What the page cache holds of a range, in whole pages, so that it may exceed the range's length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residency {
    /// In memory, in bytes.
    pub resident_bytes: u64,
    /// Of these, not yet written back, in bytes; `None` before Linux 6.5, which does not say.
    pub dirty_bytes: Option<u64>,
}

#[repr(C)]
struct CachestatRange {
    offset: u64,
    bytes: u64,
}

/// In pages (linux/mman.h).
#[derive(Default)]
#[repr(C)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The page cache's share of `range`. Pages under write-back count as dirty.
///
/// # Errors
/// Those of cachestat(2): EOPNOTSUPP on hugetlbfs, EPERM on a file that one neither owns nor may
/// write (Linux 6.14); of mmap(2) where mincore has to serve.
pub fn residency(file: &File, range: Range<u64>) -> io::Result<Residency> {
    if range.is_empty() {
        return Ok(Residency { resident_bytes: 0, dirty_bytes: Some(0) });
    }
    match by_cachestat(file, &range) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => by_mincore(file, range),
        answered => answered,
    }
}

fn by_cachestat(file: &File, range: &Range<u64>) -> io::Result<Residency> {
    let page_bytes = rustix::param::page_size() as u64;
    let asked = CachestatRange { offset: range.start, bytes: range.end - range.start };
    let mut answer = Cachestat::default();
    // SAFETY: the call reads one range and writes one answer; both are laid out as linux/mman.h
    // says.
    let outcome = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut answer, 0u32)
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Residency {
        resident_bytes: answer.cached * page_bytes,
        dirty_bytes: Some((answer.dirty + answer.writeback) * page_bytes),
    })
}

/// Since Linux 5.2 everything looks resident in a file that one neither owns nor may write.
fn by_mincore(file: &File, range: Range<u64>) -> io::Result<Residency> {
    let page_bytes = rustix::param::page_size() as u64;
    let (mut at, mut pages) = (range.start / page_bytes * page_bytes, 0u64);
    let mut resident = Vec::new();
    while at < range.end {
        let bytes = (range.end - at).min(WINDOW_BYTES);
        resident.resize(bytes.div_ceil(page_bytes) as usize, 0u8);
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing ever touches its
        // memory.
        let map = unsafe {
            mmap(ptr::null_mut(), bytes as usize, ProtFlags::READ, MapFlags::SHARED, file, at)
        }?;
        // SAFETY: the mapping is `bytes` long and `resident` has a byte for each of its pages.
        let outcome = unsafe { libc::mincore(map, bytes as usize, resident.as_mut_ptr()) };
        let answered = if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // SAFETY: the mapping was made above and is not used again.
        unsafe { munmap(map, bytes as usize) }?;
        answered?;
        pages += resident.iter().filter(|&&page| page & 1 == 1).count() as u64;
        at += bytes;
    }
    Ok(Residency { resident_bytes: pages * page_bytes, dirty_bytes: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_ways_of_asking_count_the_same_pages() {
        let path = std::env::temp_dir().join(format!("drivelab-residency-{}", std::process::id()));
        let mut file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .expect("a file in the temporary directory");
        std::fs::remove_file(&path).expect("the file just made");
        file.write_all(&vec![1; 1 << 20]).expect("a written MiB");
        let mincore = by_mincore(&file, 0..1 << 20).expect("mincore answers");
        assert_eq!(mincore, Residency { resident_bytes: 1 << 20, dirty_bytes: None });
        match by_cachestat(&file, &(0..1 << 20)) {
            Ok(seen) => assert_eq!(seen.resident_bytes, 1 << 20),
            Err(error) => {
                assert!(std::env::var_os("DRIVELAB_NO_SKIP").is_none(), "cachestat: {error}");
                eprintln!("skipped: no cachestat(2): {error}");
            }
        }
    }
}
