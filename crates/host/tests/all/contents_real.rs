//! Holes, unwritten extents, zeros, scratch files and identities on real file systems.

use host::{
    Directory, ErrorKind, FileContents, Roots, Scratch, Watch, ask_tools,
    contents::allocated_fully, environment, environment::memory_available, file_contents,
    remove_orphans, sample_zeros, scratch::bytes_available, target_info,
};
use record::{Flag, TargetKind};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use testkit::{LoopDevice, Mounted, system};

const MIB: u64 = 1 << 20;
const ROOT: &str = "root and a loop device";

/// `bytes` of incompressible data.
fn noise(bytes: u64) -> Vec<u8> {
    let mut data = vec![0; bytes as usize];
    block::Rng::new(1, 0).fill(&mut data);
    data
}

fn contents(path: &Path) -> FileContents {
    let file = File::open(path).expect("it is there");
    file_contents(&file, path).expect("a map of the file")
}

fn zeros(path: &Path, blocks: u64, seed: u64) -> host::ZeroSample {
    let file = File::open(path).expect("it is there");
    sample_zeros(&file, path, u64::MAX, blocks, Duration::MAX, seed).expect("read")
}

/// A thousand samples of a disk took twelve seconds, before the first cell and with nothing on the
/// screen: they end when their time is over.
#[test]
fn samples_end_with_their_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("full");
    fs::write(&path, noise(MIB)).expect("written");
    let file = File::open(&path).expect("it is there");
    let of = |time| sample_zeros(&file, &path, u64::MAX, 1000, time, 1).expect("read").blocks;
    assert_eq!(of(Duration::ZERO), 0);
    assert_eq!(of(Duration::MAX), 1000);
}

fn held(path: &Path) -> Directory {
    Directory::open(path).expect("it is there")
}

/// A loop device with a file system of this kind, mounted.
struct Volume {
    mounted: Mounted,
    device: LoopDevice,
}

fn volume(kind: &str, bytes: u64, options: &[&str]) -> Option<Volume> {
    let device = LoopDevice::of_zeros(bytes)?;
    let force = if kind == "ext4" { "-F" } else { "-f" };
    system(&format!("mkfs.{kind}"), &["-q", force, device.text()])?;
    let mounted = Mounted::on(&device.path, device.directory("mnt"), options)?;
    Some(Volume { mounted, device })
}

/// The same expectations on whatever file system `directory` lies.
fn check_contents(directory: &Path) {
    let at = |name: &str| directory.join(name);
    fs::write(at("full"), noise(MIB)).expect("written");
    // Not synced: data whose place is not chosen yet is no hole.
    let full = contents(&at("full"));
    assert_eq!((full.hole_bytes, full.unwritten_bytes, full.bytes), (0, 0, MIB));
    assert!(full.findings(&at("full")).flags.is_empty());
    assert!(allocated_fully(&File::open(at("full")).expect("opens")).expect("a map"));

    let sparse = File::create_new(at("sparse")).expect("made");
    sparse.set_len(MIB).expect("sized");
    assert_eq!(contents(&at("sparse")).hole_bytes, MIB);
    let findings = contents(&at("sparse")).findings(&at("sparse"));
    assert_eq!(findings.flags, [Flag::SparseFile]);
    assert!(findings.warnings[0].text.contains("1 MiB of 1 MiB (100 %)"));
    assert!(!allocated_fully(&sparse).expect("a map"));

    std::os::unix::fs::FileExt::write_all_at(&sparse, &noise(MIB / 4), MIB / 4).expect("written");
    let half = contents(&at("sparse"));
    assert_eq!((half.hole_bytes, half.data_bytes()), (MIB * 3 / 4, MIB / 4));

    let reserved = File::create_new(at("reserved")).expect("made");
    if rustix::fs::fallocate(&reserved, rustix::fs::FallocateFlags::empty(), 0, MIB).is_ok() {
        let contents = contents(&at("reserved"));
        assert_eq!((contents.hole_bytes, contents.unwritten_bytes), (0, MIB));
        assert_eq!(contents.findings(&at("reserved")).flags, [Flag::UnwrittenExtents]);
        (&reserved).write_all(&noise(MIB)).expect("written");
        assert!(allocated_fully(&reserved).expect("a map"));
    }
    for name in ["full", "sparse", "reserved"] {
        fs::remove_file(at(name)).expect("removed");
    }
}

#[test]
fn holes_and_unwritten_extents_are_told_from_data_on_this_file_system() {
    let directory = tempfile::tempdir().expect("a directory");
    check_contents(directory.path());
}

#[test]
fn holes_and_unwritten_extents_are_told_from_data_on_ext4_xfs_and_btrfs() {
    for (kind, mebibytes) in [("ext4", 32), ("xfs", 300), ("btrfs", 128)] {
        let volume =
            need!(volume(kind, mebibytes * MIB, &[]), "root, loop devices, ext4, xfs, btrfs");
        check_contents(volume.mounted.path());
    }
}

#[test]
fn holes_are_found_where_there_is_no_extent_map() {
    let directory = PathBuf::from("/dev/shm");
    let tmpfs = rustix::fs::statfs(&directory).is_ok_and(|facts| facts.f_type == 0x0102_1994);
    need!(tmpfs.then_some(()), "tmpfs at /dev/shm");
    let directory = tempfile::tempdir_in(directory).expect("a directory");
    let path = directory.path().join("sparse");
    let file = File::create_new(&path).expect("made");
    file.set_len(MIB).expect("sized");
    std::os::unix::fs::FileExt::write_all_at(&file, &noise(MIB / 2), 0).expect("written");
    assert_eq!(contents(&path).hole_bytes, MIB / 2);
    let info = target_info(directory.path(), ".", &Roots::default()).expect("a target");
    assert_eq!(info.flags, [Flag::MemoryBacked]);
}

#[test]
fn a_compressing_btrfs_is_flagged_by_its_mount_and_by_its_files() {
    let options = ["-o", "compress-force=zstd"];
    let volume = need!(volume("btrfs", 128 * MIB, &options), "root, a loop device, btrfs");
    let path = volume.mounted.path().join("zeros");
    fs::write(&path, vec![b'a'; MIB as usize]).expect("written");
    assert!(contents(&path).encoded_bytes > 0);
    let info = target_info(volume.mounted.path(), ".", &Roots::default()).expect("a target");
    for flag in [Flag::CompressingTarget, Flag::CopyOnWrite, Flag::LoopDevice] {
        assert!(info.flags.contains(&flag), "{flag} in {:?}", info.flags);
    }
    assert_eq!(info.stack[0].name, volume.device.name());
}

#[test]
fn zeros_of_a_device_are_sampled() {
    let blank = need!(LoopDevice::of_zeros(8 * MIB), ROOT);
    let sample = zeros(&blank.path, 1000, 7);
    assert_eq!((sample.blocks, sample.zero_blocks), (1000, 1000));
    assert_eq!(sample.findings(&blank.path).flags, [Flag::DeallocatedBlocks]);
    let full = need!(LoopDevice::attach(|image| image.write_all(&noise(8 * MIB)), &[]), ROOT);
    let sample = zeros(&full.path, 1000, 7);
    assert_eq!((sample.blocks, sample.zero_blocks), (1000, 0));
    let half = LoopDevice::attach(
        |image| image.write_all(&noise(4 * MIB)).and_then(|()| image.set_len(8 * MIB)),
        &[],
    );
    let half = need!(half, ROOT);
    let share = zeros(&half.path, 1000, 7).share();
    assert!((0.4..0.6).contains(&share), "{share}");
}

#[test]
fn a_small_file_system_keeps_a_tenth_free() {
    let volume = need!(volume("ext4", 64 * MIB, &[]), "root, a loop device, ext4");
    let place = volume.mounted.path();
    let room = bytes_available(&held(place)).expect("asked");
    assert!(room > 20 * MIB && room < 58 * MIB, "{room}");
    let error = Scratch::create(&held(place), room + 1).expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(error.to_string().contains("--size"), "{error}");
    drop(Scratch::create(&held(place), room).expect("fits"));
    let left = fs::read_dir(place).expect("listed").flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lost+found"]);
}

#[test]
fn a_read_only_mount_is_refused_for_scratch_files() {
    let volume = need!(volume("ext4", 64 * MIB, &["-o", "ro"]), "root, a loop device, ext4");
    let error = Scratch::create(&held(volume.mounted.path()), MIB).expect_err("read-only");
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(error.to_string().contains("name another TARGET"), "{error}");
}

/// The next test starts this one in a process of its own, to be killed.
#[test]
fn a_child_that_holds_a_scratch_file_until_it_is_killed() {
    let Some(directory) = std::env::var_os("DRIVELAB_TEST_SCRATCH") else { return };
    let _scratch = Scratch::create(&held(Path::new(&directory)), MIB).expect("a scratch file");
    loop {
        std::thread::park();
    }
}

#[test]
fn the_scratch_file_of_a_killed_run_is_removed_by_the_next_and_not_before() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "contents_real::a_child_that_holds_a_scratch_file_until_it_is_killed"])
        .env("DRIVELAB_TEST_SCRATCH", directory.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("starts itself");
    let files = || fs::read_dir(directory.path()).expect("listed").count();
    for _ in 0..1000 {
        if files() == 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let while_alive = remove_orphans(&held(directory.path()));
    child.kill().expect("ours to kill");
    child.wait().expect("ours to wait for");
    assert_eq!(while_alive.expect("listed"), []);
    assert_eq!(files(), 1);
    assert_eq!(remove_orphans(&held(directory.path())).expect("listed").len(), 1);
    assert_eq!(files(), 0);
}

#[test]
fn this_machine_is_described() {
    let roots = Roots::default();
    let found = environment(&roots);
    assert!(!found.host.kernel.is_empty() && found.host.memory_bytes > 0);
    assert!(memory_available(&roots).is_some_and(|bytes| bytes <= found.host.memory_bytes));
    let mut info = target_info(Path::new("."), ".", &roots).expect("a target");
    assert_eq!(info.kind, TargetKind::Directory);
    assert!(info.file_system.is_some());
    ask_tools(&mut info.stack, &roots);
    let watch = Watch::new(&info.stack, &roots);
    assert_eq!(watch.counted_device().is_some(), watch.sample().traffic.is_some());
}

#[test]
fn a_loop_device_is_described_down_to_the_drive_below_its_file() {
    let device = need!(LoopDevice::of_zeros(8 * MIB), ROOT);
    let info = target_info(&device.path, "it", &Roots::default()).expect("a target");
    assert_eq!((info.kind, info.capacity_bytes), (TargetKind::BlockDevice, 8 * MIB));
    assert!(info.flags.contains(&Flag::LoopDevice));
    assert_eq!(info.stack[0].kind, "loop");
    assert_eq!(info.direct_alignment_bytes, Some(512));
    let below = target_info(&device.image, "image", &Roots::default()).expect("a target");
    let names = |info: &record::TargetInfo| -> Vec<String> {
        info.stack.iter().map(|layer| layer.name.clone()).collect()
    };
    assert_eq!(names(&info)[1..], names(&below)[..]);
}

#[test]
fn reads_of_a_device_are_seen_by_the_watch() {
    let device = need!(LoopDevice::attach(|image| image.write_all(&noise(8 * MIB)), &[]), ROOT);
    let info = target_info(&device.path, "it", &Roots::default()).expect("a target");
    let watch = Watch::new(&info.stack, &Roots::default());
    let before = watch.sample();
    zeros(&device.path, 500, 1);
    let read = |sample: host::Sample| sample.traffic.expect("loop devices count").read_bytes;
    let seen = read(watch.sample()) - read(before);
    assert!(seen.abs_diff(500 * 4096) < 5 * 4096, "{seen}");
}
