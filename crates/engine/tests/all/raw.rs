//! The raw system calls against files whose shape is known, and opening with errors that name the
//! cure.

use crate::common::Scratch;
use engine::{
    Access, Caching, Create, OpenErrorKind, Syncing, open_file,
    raw::{self, Advice, ExtentFlags, FileLock},
    reopen,
};
use std::{
    fs::{self, File},
    io::{Read, Seek},
    os::unix::fs::FileExt,
    path::Path,
};
use testkit::skip;

const MIB: u64 = 1 << 20;

/// A file of 4 MiB: data in the first and the last, holes between.
fn sparse() -> (Scratch, File) {
    let path = Scratch::path("sparse");
    let file = open_file(&path, Access::ReadWrite, Caching::Buffered, Syncing::None, Create::New)
        .expect("the temporary directory takes files");
    for offset in [0, 3 * MIB] {
        file.write_all_at(&vec![1; MIB as usize], offset).expect("room for a MiB");
    }
    file.sync_all().expect("synced");
    (path, file)
}

#[test]
fn holes_are_counted_and_the_position_is_kept() {
    let (_path, mut file) = sparse();
    file.seek(std::io::SeekFrom::Start(17)).expect("seekable");
    match raw::holes(&file, 0..4 * MIB).expect("lseek works") {
        0 => return skip("a file system that tracks holes"),
        bytes => assert_eq!(bytes, 2 * MIB),
    }
    assert_eq!(raw::holes(&file, MIB / 2..2 * MIB).expect("lseek works"), MIB);
    assert_eq!(raw::holes(&file, 0..MIB).expect("lseek works"), 0);
    assert_eq!(raw::holes(&file, 3 * MIB..u64::MAX).expect("lseek works"), 0);
    file.set_len(5 * MIB).expect("longer");
    assert_eq!(raw::holes(&file, 0..u64::MAX).expect("lseek works"), 3 * MIB);
    assert_eq!(file.stream_position().expect("seekable"), 17);
}

#[test]
fn extents_cover_the_data_and_tell_unwritten_space() {
    let (_path, file) = sparse();
    let mapped = |file: &File| -> Option<(u64, u64)> {
        let extents = raw::extents(file).ok()?;
        assert!(extents.windows(2).all(|pair| pair[0].offset + pair[0].bytes <= pair[1].offset));
        let sum = |unwritten| -> u64 {
            let chosen =
                extents.iter().filter(|it| it.flags.has(ExtentFlags::UNWRITTEN) == unwritten);
            chosen.map(|extent| extent.bytes).sum()
        };
        Some((sum(false), sum(true)))
    };
    let Some(before) = mapped(&file) else { return skip("a file system with FIEMAP") };
    assert_eq!(before, (2 * MIB, 0));
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), MIB, MIB).expect("room");
    assert_eq!(mapped(&file), Some((2 * MIB, MIB)));
}

#[test]
fn more_extents_than_one_call_returns_are_all_found() {
    let path = Scratch::path("fragments");
    let file = open_file(&path, Access::ReadWrite, Caching::Buffered, Syncing::None, Create::New)
        .expect("the temporary directory takes files");
    for fragment in 0..300 {
        file.write_all_at(&[1; 4096], fragment * 65_536).expect("room");
    }
    file.sync_all().expect("synced");
    let Ok(extents) = raw::extents(&file) else { return skip("a file system with FIEMAP") };
    let offsets: Vec<u64> = extents.iter().map(|extent| extent.offset).collect();
    assert!(offsets.iter().copied().eq((0..300).map(|fragment| fragment * 65_536)), "{offsets:?}");
    assert!(extents.last().is_some_and(|last| last.flags.has(ExtentFlags::LAST)));
}

#[test]
fn the_page_cache_tells_what_is_resident_dirty_and_dropped() {
    let (_path, file) = sparse();
    let all = raw::residency(&file, 0..4 * MIB).expect("cachestat or mincore");
    if all.resident_bytes != 2 * MIB {
        return skip("a page cache that keeps what was just written");
    }
    file.write_all_at(&vec![2; 65_536], 0).expect("room");
    let part = raw::residency(&file, 0..MIB).expect("cachestat or mincore");
    assert_eq!(part.resident_bytes, MIB);
    if let Some(dirty_bytes) = part.dirty_bytes {
        assert!(dirty_bytes <= MIB);
    }
    file.sync_all().expect("synced");
    raw::advise(&file, 0..MIB, Advice::DontNeed).expect("advice is free");
    let left = raw::residency(&file, 0..4 * MIB).expect("cachestat or mincore");
    assert!(left.resident_bytes < 2 * MIB, "{left:?}");
    assert_eq!(raw::residency(&file, 5..5).expect("nothing asked").resident_bytes, 0);
    for advice in [Advice::Random, Advice::Sequential, Advice::Normal] {
        raw::advise(&file, 0..u64::MAX, advice).expect("advice is free");
    }
}

#[test]
fn a_punched_hole_reads_as_zeros_and_keeps_the_size() {
    let (_path, mut file) = sparse();
    match raw::punch_hole(&file, 0, MIB / 2) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            return skip("a file system that punches holes");
        }
        answered => answered.expect("punched"),
    }
    let mut contents = Vec::new();
    file.read_to_end(&mut contents).expect("readable");
    assert_eq!(contents.len() as u64, 4 * MIB);
    let (hole, kept) = contents[..MIB as usize].split_at(MIB as usize / 2);
    assert!(hole.iter().all(|&byte| byte == 0) && kept.iter().all(|&byte| byte == 1));
}

#[test]
fn a_file_is_no_device() {
    let (_path, file) = sparse();
    let refusals = [
        raw::device_bytes(&file).map(drop),
        raw::logical_block_bytes(&file).map(drop),
        raw::physical_block_bytes(&file).map(drop),
        raw::optimal_io_bytes(&file).map(drop),
        raw::is_read_only(&file).map(drop),
        raw::discard_device(&file, 0..4096),
    ];
    for refusal in refusals {
        assert_eq!(refusal.expect_err("a regular file").raw_os_error(), Some(libc::ENOTTY));
    }
}

#[test]
fn a_lock_is_held_against_others_until_the_file_is_closed() {
    let path = Scratch::file("lock", b"");
    let (first, second) = (File::open(&*path).expect("made"), File::open(&*path).expect("made"));
    assert_eq!(raw::try_lock(&first).expect("flock works"), FileLock::Acquired);
    assert_eq!(raw::try_lock(&second).expect("flock works"), FileLock::HeldByAnother);
    drop(first);
    assert_eq!(raw::try_lock(&second).expect("flock works"), FileLock::Acquired);
}

#[test]
fn processor_time_of_a_thread_counts_in_its_process() {
    let (process, thread) = (raw::process_cpu(), raw::thread_cpu_ns());
    while raw::thread_cpu_ns() - thread < 30_000_000 {
        std::hint::spin_loop();
    }
    let after = raw::process_cpu();
    let used = after.user_ns + after.system_ns - process.user_ns - process.system_ns;
    assert!(used > 10_000_000, "{used} ns");
}

#[test]
fn a_thread_is_pinned_where_it_may_run_and_nowhere_else() {
    std::thread::spawn(|| {
        let allowed = rustix::thread::sched_getaffinity(None).expect("an affinity");
        let cpu = (0..1024).find(|&cpu| allowed.is_set(cpu)).expect("it runs somewhere");
        raw::pin_to_cpu(cpu).expect("an allowed one");
        assert_eq!(rustix::thread::sched_getcpu(), cpu);
        for absent in [1023, 1 << 20] {
            let error = raw::pin_to_cpu(absent).expect_err("no such processor");
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        }
    })
    .join()
    .expect("the pinned thread");
}

fn refusal(path: &Path, caching: Caching, create: Create) -> (OpenErrorKind, String) {
    let access = if create == Create::New { Access::ReadWrite } else { Access::Read };
    let error = open_file(path, access, caching, Syncing::None, create).expect_err("refused");
    (error.kind, error.to_string())
}

#[test]
fn refusals_to_open_are_told_apart_and_name_the_cure() {
    let path = Scratch::file("open", b"x");
    let (kind, text) = refusal(&path, Caching::Buffered, Create::New);
    assert!(kind == OpenErrorKind::Exists && text.contains("remove it"), "{text}");
    let absent = Scratch::path("absent");
    let (kind, text) = refusal(&absent, Caching::Buffered, Create::Existing);
    assert!(kind == OpenErrorKind::NotFound && text.contains("absent"), "{text}");
    let (kind, text) = refusal(Path::new("/proc/self/stat"), Caching::Direct, Create::Existing);
    assert!(kind == OpenErrorKind::DirectRefused && text.contains("`--io buffered`"), "{text}");
}

/// Each worker opened the scratch file again by its path: a link that somebody had put there led it
/// to another's file, which was overwritten.
#[test]
fn what_is_held_is_opened_once_more_whatever_has_its_name() {
    let (path, away) = (Scratch::file("held", b"ours"), Scratch::path("away"));
    let precious = Scratch::file("precious", b"mine");
    let held = File::open(&*path).expect("just made");
    fs::rename(&*path, &*away).expect("renamed");
    std::os::unix::fs::symlink(&*precious, &*path).expect("a link in its place");
    let again = |access| reopen(&held, &path, access, Caching::Buffered, Syncing::None);
    let writer = again(Access::ReadWrite).expect("it is held");
    writer.write_all_at(b"new!", 0).expect("written");
    assert_eq!(fs::read(&*precious).expect("it stays"), b"mine");
    assert_eq!(fs::read(&*away).expect("it was moved"), b"new!");
    // On a thread whose table of descriptors is its own, too, and when the file has no name any
    // more.
    fs::remove_file(&*away).expect("removed");
    let read = std::thread::scope(|scope| {
        let work = || {
            raw::own_descriptors();
            let mut text = String::new();
            let reader = again(Access::Read).expect("it is held");
            (&reader).read_to_string(&mut text).map(|_| text)
        };
        scope.spawn(work).join().expect("no panic")
    });
    assert_eq!(read.expect("read"), "new!");
}

/// The system-call crate's constant for O_DSYNC once was that of O_SYNC, which waits for more.
#[test]
fn every_way_of_syncing_and_caching_can_be_opened() {
    let path = Scratch::file("open", &[0; 4096]);
    for syncing in [Syncing::None, Syncing::Dsync, Syncing::Sync] {
        for caching in [Caching::Buffered, Caching::Direct] {
            match open_file(&path, Access::ReadWrite, caching, syncing, Create::Existing) {
                Ok(file) => {
                    let flags = rustix::fs::fcntl_getfl(&file).expect("an open file");
                    let direct = rustix::fs::OFlags::DIRECT;
                    assert_eq!(flags.contains(direct), caching == Caching::Direct);
                    let wanted = match syncing {
                        Syncing::None => 0,
                        Syncing::Dsync => libc::O_DSYNC,
                        Syncing::Sync => libc::O_SYNC,
                    };
                    assert_eq!(flags.bits() as i32 & libc::O_SYNC, wanted);
                }
                Err(error) if error.kind == OpenErrorKind::DirectRefused => {
                    skip(&error.to_string())
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!(fs::metadata(&*path).expect("still there").len(), 4096);
}
