//! Every claim on a device, on machines made of files.

use crate::common::FakeMachine;
use host::{DeviceNumber, Reason, Refusal, judge_claims, judge_file};

/// A disk `sda` (8:0) with partitions `sda1` (8:1) and `sda2` (8:2), and a second disk `sdb`
/// (8:16).
fn machine() -> FakeMachine {
    let machine = FakeMachine::new();
    machine.disk("host0", "sda", "8:0");
    machine.partition("sda", "sda1", "8:1", 2048);
    machine.partition("sda", "sda2", "8:2", 999_424);
    machine.disk("host1", "sdb", "8:16");
    machine
}

fn judge(machine: &FakeMachine, number: &str) -> Result<(), Reason> {
    judge_claims(number.parse::<DeviceNumber>().expect("a number"), &machine.roots)
}

/// Refused, in one sentence that names `words`.
fn assert_refused(machine: &FakeMachine, number: &str, words: &[&str]) {
    let reason = judge(machine, number).expect_err("claimed");
    let text = Refusal { path: "/dev/x".into(), reason }.to_string();
    assert!(!text.contains('\n') && words.iter().all(|word| text.contains(word)), "{text}");
}

fn assert_free(machine: &FakeMachine, number: &str) {
    assert_eq!(judge(machine, number), Ok(()), "{number}");
}

#[test]
fn an_idle_device_has_no_claims() {
    let machine = machine();
    for number in ["8:0", "8:1", "8:2", "8:16"] {
        assert_free(&machine, number);
    }
}

#[test]
fn a_device_that_sysfs_does_not_know_is_refused() {
    assert_eq!(judge(&machine(), "8:99"), Err(Reason::Unknown));
}

#[test]
fn a_mounted_partition_protects_itself_and_its_disk_but_not_its_sister() {
    let machine = machine();
    machine.mount("8:1", "mnt", "ext4", "/dev/whatever", "rw");
    assert_refused(&machine, "8:1", &["sda1 is mounted at", "umount"]);
    assert_refused(&machine, "8:0", &["sda1 is mounted at", "umount"]);
    assert_free(&machine, "8:2");
    assert_free(&machine, "8:16");
}

#[test]
fn a_mounted_disk_protects_its_partitions() {
    let machine = machine();
    machine.mount("8:0", "mnt", "iso9660", "/dev/sda", "ro");
    assert_refused(&machine, "8:2", &["sda is mounted at"]);
}

#[test]
fn every_member_of_a_mounted_btrfs_is_protected() {
    let machine = machine();
    for name in ["sda2", "sdb"] {
        machine.write(&format!("sys/fs/btrfs/0a1b/devices/{name}/size"), "1");
    }
    machine.mount("0:50", "mnt", "btrfs", "/dev/sdb", "rw");
    assert_refused(&machine, "8:2", &["sda2 is mounted at"]);
    assert_refused(&machine, "8:16", &["sdb is mounted at"]);
    assert_free(&machine, "8:1");
}

#[test]
fn a_mount_source_that_is_a_link_is_followed() {
    let machine = machine();
    std::fs::create_dir_all(machine.path("dev/disk/by-id")).expect("a directory");
    std::os::unix::fs::symlink(machine.path("dev/sdb"), machine.path("dev/disk/by-id/ata-X"))
        .expect("a link");
    machine.mount("0:51", "mnt", "fuse.fuse2fs", "/dev/disk/by-id/ata-X", "rw");
    assert_refused(&machine, "8:16", &["sdb is mounted at"]);
}

#[test]
fn swap_is_refused() {
    let machine = machine();
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 9 0 -2\n");
    assert_refused(&machine, "8:2", &["swap", "swapoff /dev/sda2"]);
    assert_refused(&machine, "8:0", &["swapoff /dev/sda2"]);
    assert_free(&machine, "8:1");
}

#[test]
fn a_member_of_an_array_or_mapping_is_refused_and_what_is_mounted_above_is_named() {
    let machine = machine();
    machine.disk("virtual", "md0", "9:0");
    machine.disk("virtual", "dm-0", "253:0");
    machine.stack("md0", "sda2");
    machine.stack("md0", "sdb");
    machine.stack("dm-0", "md0");
    assert_refused(&machine, "8:16", &["sdb is part of md0", "stop md0"]);
    assert_refused(&machine, "8:0", &["sda2 is part of md0"]);
    assert_refused(&machine, "9:0", &["md0 is part of dm-0"]);
    assert_free(&machine, "8:1");
    assert_free(&machine, "253:0");
    machine.mount("253:0", "mnt", "xfs", "/dev/mapper/x", "rw");
    assert_refused(&machine, "8:16", &["dm-0 is mounted at"]);
    assert_refused(&machine, "253:0", &["dm-0 is mounted at"]);
}

#[test]
fn a_mapping_over_a_mounted_device_is_refused() {
    let machine = machine();
    machine.disk("virtual", "dm-0", "253:0");
    machine.stack("dm-0", "sdb");
    machine.mount("8:16", "mnt", "xfs", "/dev/sdb", "rw");
    assert_refused(&machine, "253:0", &["sdb is mounted at"]);
}

#[test]
fn a_mapping_over_a_partition_whose_sister_is_mounted_is_free() {
    let machine = machine();
    machine.disk("virtual", "dm-0", "253:0");
    machine.disk("virtual", "dm-1", "253:1");
    machine.stack("dm-0", "sda1");
    machine.stack("dm-1", "sda2");
    machine.mount("253:1", "mnt", "xfs", "/dev/mapper/x", "rw");
    assert_free(&machine, "253:0");
    assert_refused(&machine, "8:1", &["sda1 is part of dm-0"]);
    assert_refused(&machine, "8:0", &["dm-1 is mounted at"]);
}

#[test]
fn a_bcache_device_is_refused_before_its_holder_appears() {
    let machine = machine();
    machine.attribute("sdb", "bcache/state", "clean");
    assert_refused(&machine, "8:16", &["sdb is part of bcache"]);
}

#[test]
fn a_device_behind_a_loop_device_and_a_second_loop_over_one_file_are_refused() {
    let machine = machine();
    machine.disk("virtual", "loop0", "7:0");
    machine.disk("virtual", "loop1", "7:1");
    machine.disk("virtual", "loop2", "7:2");
    machine.attribute("loop0", "loop/backing_file", "/dev/sdb");
    machine.attribute("loop1", "loop/backing_file", "/data/image");
    machine.attribute("loop2", "loop/backing_file", "/data/image");
    assert_refused(&machine, "8:16", &["loop0 is attached to sdb", "losetup -d /dev/loop0"]);
    assert_refused(&machine, "7:1", &["loop2 is attached to the same file", "/data/image"]);
    assert_free(&machine, "7:0");
    machine.mount("8:16", "mnt", "ext4", "/dev/sdb", "rw");
    assert_refused(&machine, "7:0", &["sdb is mounted at"]);
}

#[test]
fn read_only_empty_and_zoned_devices_are_refused() {
    let machine = machine();
    machine.attribute("sdb", "ro", "1");
    assert_eq!(judge(&machine, "8:16"), Err(Reason::ReadOnly));
    machine.attribute("sdb", "size", "0");
    assert_eq!(judge(&machine, "8:16"), Err(Reason::NoMedium));
    machine.attribute("sda", "queue/zoned", "host-managed");
    assert_eq!(judge(&machine, "8:1"), Err(Reason::Zoned));
    assert!(Reason::Zoned.found().contains("zoned"));
    machine.attribute("sda", "ro", "1");
    assert_eq!(judge(&machine, "8:1"), Err(Reason::ReadOnly));
}

/// /proc/swaps and the mount table name a file once; a hard link of it was another to the guard,
/// and what a file system in user space is mounted from was not looked for at all.
#[test]
fn a_file_that_is_swap_or_mounted_is_refused_under_each_name() {
    let machine = FakeMachine::new();
    for name in ["swap", "image"] {
        machine.write(name, "data");
        let hard = machine.path(&format!("hard-{name}"));
        std::fs::hard_link(machine.path(name), hard).expect("a hard link");
    }
    let swap = machine.path("swap");
    let heading = "Filename Type Size Used Priority";
    machine.write("proc/swaps", format!("{heading}\n{} file 9 0 -2\n", swap.display()));
    let image = machine.path("image");
    machine.mount("0:51", "mnt", "fuse.fuse2fs", image.to_str().expect("plain"), "rw");
    let cases = [
        ("swap", "in use as swap"),
        ("hard-swap", "in use as swap"),
        ("image", "is mounted at"),
        ("hard-image", "is mounted at"),
    ];
    for (name, words) in cases {
        let refusal = judge_file(&machine.path(name), &machine.roots).expect_err("in use");
        assert!(refusal.to_string().contains(words), "{name}: {refusal}");
    }
    machine.write("other", "data");
    judge_file(&machine.path("other"), &machine.roots).expect("nobody's");
}

/// `sdb` and `sdc` are two paths to one drive, and `sda` another.
fn two_paths() -> FakeMachine {
    let machine = machine();
    machine.disk("host2", "sdc", "8:32");
    for name in ["sdb", "sdc"] {
        machine.attribute(name, "wwid", "naa.5000c500aabbccdd");
    }
    machine
}

/// The file system of `sdb` was mounted, `sdc` looked free, and the advice for what was seen on it
/// was `wipefs -a /dev/sdc`.
#[test]
fn a_drive_in_use_by_another_path_is_refused_with_the_cure_of_that_path() {
    let machine = two_paths();
    machine.mount("8:16", "mnt", "ext4", "/dev/sdb", "rw");
    let words = ["it is the same drive as sdb, which is in use: sdb is mounted at", "`umount "];
    assert_refused(&machine, "8:32", &words);
    assert_free(&machine, "8:0");
    // Another drive, whatever its serial.
    machine.attribute("sdc", "wwid", "naa.5000c500aabbccde");
    assert_free(&machine, "8:32");
}

#[test]
fn a_drive_mapped_by_another_path_is_refused_and_below_one_multipath_device_it_is_not() {
    let machine = two_paths();
    machine.disk("virtual", "dm-0", "253:0");
    machine.attribute("dm-0", "dm/name", "plain");
    machine.stack("dm-0", "sdb");
    assert_refused(&machine, "8:32", &["the same drive as sdb", "sdb is part of dm-0 (plain)"]);
    assert_free(&machine, "253:0");
    machine.stack("dm-0", "sdc");
    assert_free(&machine, "253:0");
    // A third path that something else uses.
    machine.disk("host3", "sdd", "8:48");
    machine.attribute("sdd", "wwid", "naa.5000c500aabbccdd");
    assert_free(&machine, "253:0");
    machine.mount("8:48", "mnt", "ext4", "/dev/sdd", "rw");
    assert_refused(&machine, "253:0", &["the same drive as sdd"]);
}

#[test]
fn a_partition_is_in_use_by_another_path_where_the_same_partition_is() {
    let machine = two_paths();
    for (disk, number) in [("sdb", "8:17"), ("sdc", "8:33")] {
        machine.partition(disk, &format!("{disk}1"), number, 2048);
    }
    for (disk, number) in [("sdb", "8:18"), ("sdc", "8:34")] {
        machine.partition(disk, &format!("{disk}2"), number, 999_424);
    }
    machine.mount("8:17", "mnt", "ext4", "/dev/sdb1", "rw");
    assert_refused(&machine, "8:33", &["the same drive as sdb1", "sdb1 is mounted"]);
    assert_free(&machine, "8:34");
    assert_refused(&machine, "8:32", &["the same drive as sdb,", "sdb1 is mounted"]);
}

/// Without world-wide names: one serial alone is what makers of cheap bridges give to all.
#[test]
fn serial_model_and_size_together_are_one_drive() {
    let machine = machine();
    machine.disk("host2", "sdc", "8:32");
    for name in ["sdb", "sdc"] {
        machine.attribute(name, "device/serial", "000000000000");
        machine.attribute(name, "device/model", "Bridge");
    }
    machine.mount("8:16", "mnt", "ext4", "/dev/sdb", "rw");
    assert_refused(&machine, "8:32", &["it is the same drive as sdb"]);
    machine.attribute("sdc", "size", "4096");
    assert_free(&machine, "8:32");
}

/// A descriptor in /proc, made of files: process, number, name, flags as open(2) takes them.
fn descriptor(machine: &FakeMachine, process: u32, name: &str, device: &str, flags: &str) {
    let place = format!("proc/{process}");
    machine.write(&format!("{place}/comm"), name);
    machine.write(&format!("{place}/fdinfo/9"), format!("pos:\t0\nflags:\t{flags}\n"));
    std::fs::create_dir_all(machine.path(&format!("{place}/fd"))).expect("a directory");
    let link = machine.path(&format!("{place}/fd/9"));
    std::os::unix::fs::symlink(format!("/dev/{device}"), link).expect("a link");
}

/// Only exclusive holders were seen. A writer of a partition writes the drive, and one of the drive
/// the partition; a sister is nobody's affair.
#[test]
fn a_process_that_may_write_what_shares_bytes_is_refused() {
    let cases = [
        ("sda", "8:1", true),
        ("sda", "8:0", true),
        ("sda1", "8:0", true),
        ("sda1", "8:2", false),
        ("sdb", "8:0", false),
    ];
    for (device, number, is_refused) in cases {
        let machine = machine();
        descriptor(&machine, 4_194_200, "qemu-system-x86", device, "02100002");
        if is_refused {
            let who = format!("process 4194200 (qemu-system-x86) has {device} open for writing");
            assert_refused(&machine, number, &[&who, "stop it first"]);
        } else {
            assert_free(&machine, number);
        }
    }
    let machine = two_paths();
    descriptor(&machine, 4_194_200, "postgres", "sdb", "0100001");
    assert_refused(&machine, "8:32", &["(postgres) has sdb open for writing"]);
    // A mapping over it, and a reader, a descriptor without access, and an array's own manager.
    for (name, flags) in [("smartd", "0100000"), ("udevd", "012000002"), ("mdmon", "0100002")] {
        let machine = two_paths();
        descriptor(&machine, 4_194_200, name, "sdb", flags);
        assert_free(&machine, "8:16");
    }
    let machine = two_paths();
    machine.disk("virtual", "dm-0", "253:0");
    machine.stack("dm-0", "sdb");
    descriptor(&machine, 4_194_200, "dd", "sdb", "0100001");
    assert_refused(&machine, "253:0", &["(dd) has sdb open for writing"]);
}
