//! Stacks of arrays, mappings, caches and several paths, on machines made of files: what they were
//! made with, what they are about, and whether they are there.

use crate::common::FakeMachine;
use host::{Presence, conditions, target_info};
use record::{BlockLayer, Condition, DeviceState, TargetInfo};
use serde_json::json;
use std::fs;

fn on(machine: &FakeMachine, number: &str) -> TargetInfo {
    machine.mount(number, "mnt", "ext4", "/dev/x", "rw");
    target_info(&machine.path("mnt"), "mnt", &machine.roots).expect("a target")
}

fn layer<'a>(info: &'a TargetInfo, name: &str) -> &'a BlockLayer {
    info.stack.iter().find(|layer| layer.name == name).expect("it is in the stack")
}

/// Two disks under an array of this level.
fn array(level: &str) -> FakeMachine {
    let machine = FakeMachine::new();
    machine.disk("virtual", "md0", "9:0");
    machine.attribute("md0", "md/level", level);
    for (name, number) in [("sda", "8:0"), ("sdb", "8:16")] {
        machine.disk(&format!("pci0000:00/{name}"), name, number);
        machine.stack("md0", name);
    }
    machine
}

#[test]
fn an_array_says_how_it_was_made_and_how_its_members_stand() {
    let machine = array("raid5");
    for (file, text) in [
        ("raid_disks", "3"),
        ("chunk_size", "65536"),
        ("layout", "2"),
        ("metadata_version", "1.2"),
        ("bitmap/location", "+8"),
        ("bitmap/chunksize", "67108864"),
        ("stripe_cache_size", "256"),
        ("array_state", "clean"),
        ("degraded", "1"),
        ("dev-sda/state", "in_sync"),
        ("dev-sda/slot", "0"),
        ("dev-sdb/state", "faulty"),
        ("dev-sdb/slot", "none"),
    ] {
        machine.attribute("md0", &format!("md/{file}"), text);
    }
    let info = on(&machine, "9:0");
    let md = layer(&info, "md0");
    assert_eq!(
        (md.kind.as_str(), &md.on[..]),
        ("md-raid5", &["sda".to_owned(), "sdb".to_owned()][..])
    );
    let expected = json!({
        "level": "raid5", "members": 3, "chunk_bytes": 65536, "layout": 2, "metadata": "1.2",
        "bitmap": "+8", "bitmap_chunk_bytes": 67_108_864, "stripe_cache_pages": 256,
        "state": "clean", "degraded": 1,
        "member_states": {
            "sda": {"slot": 0, "state": "in_sync"}, "sdb": {"slot": null, "state": "faulty"}
        }
    });
    assert_eq!(json!(md.details), expected);
    assert!(layer(&info, "sda").details.is_empty() && layer(&info, "sda").on.is_empty());
}

/// A resync went on under a whole run, and the record did not know.
#[test]
fn an_array_that_is_at_work_or_lacks_a_member_says_so_and_an_idle_one_nothing() {
    let machine = array("raid1");
    let info = on(&machine, "9:0");
    let about = || conditions(&info.stack, &machine.roots);
    machine.attribute("md0", "md/sync_action", "idle");
    machine.attribute("md0", "md/degraded", "0");
    assert_eq!(about(), []);
    machine.attribute("md0", "md/sync_action", "resync");
    machine.attribute("md0", "md/sync_completed", "4608 / 131072");
    let named = |state| Condition { device: "md0".to_owned(), state };
    let syncing = DeviceState::Syncing { action: "resync".to_owned(), percent: Some(3) };
    assert_eq!(about(), [named(syncing.clone())]);
    machine.attribute("md0", "md/degraded", "1");
    assert_eq!(about(), [named(syncing), named(DeviceState::Degraded(1))]);
}

#[test]
fn a_volume_of_lvm_and_one_of_luks_are_told_by_name_and_format() {
    let machine = FakeMachine::new();
    machine.disk("pci0000:00/sda", "sda", "8:0");
    for (name, number, below) in [("dm-0", "253:0", "sda"), ("dm-1", "253:1", "dm-0")] {
        machine.disk("virtual", name, number);
        machine.stack(name, below);
    }
    machine.attribute("dm-0", "dm/uuid", "LVM-aaaabbbb");
    machine.attribute("dm-0", "dm/name", "my--vg-home");
    machine.attribute("dm-1", "dm/uuid", "CRYPT-LUKS2-0a1b-secret");
    machine.attribute("dm-1", "dm/name", "secret");
    let info = on(&machine, "253:1");
    let details = |name| json!(layer(&info, name).details);
    assert_eq!(details("dm-1"), json!({"name": "secret", "format": "LUKS2"}));
    assert_eq!(details("dm-0"), json!({"name": "my--vg-home", "volume": "my-vg/home"}));
    assert_eq!(layer(&info, "dm-1").on, ["dm-0"]);
}

#[test]
fn a_cached_disk_says_how_writes_are_cached() {
    let machine = FakeMachine::new();
    machine.disk("virtual", "bcache0", "252:0");
    for (name, number) in [("sda", "8:0"), ("nvme0n1", "259:0")] {
        machine.disk(&format!("pci0000:00/{name}"), name, number);
        machine.stack("bcache0", name);
    }
    let modes = "writethrough [writeback] writearound none";
    for (file, text) in [("cache_mode", modes), ("state", "dirty"), ("writeback_percent", "10")] {
        machine.attribute("bcache0", &format!("bcache/{file}"), text);
    }
    let info = on(&machine, "252:0");
    let expected =
        json!({"cache_mode": "writeback", "cache_state": "dirty", "writeback_percent": 10});
    assert_eq!(json!(layer(&info, "bcache0").details), expected);
    assert_eq!(layer(&info, "bcache0").on, ["nvme0n1", "sda"]);
}

#[test]
fn the_ways_to_an_nvme_drive_are_listed() {
    let machine = FakeMachine::new();
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    // The kernel puts no `block` between: the fake one is moved.
    machine.disk(subsystem, "nvme0n1", "259:0");
    let top = format!("sys/devices/{subsystem}");
    let at = |path: &str| machine.path(&format!("{top}/{path}"));
    fs::rename(at("block/nvme0n1"), at("nvme0n1")).expect("moved");
    for link in ["sys/block/nvme0n1", "sys/class/block/nvme0n1", "sys/dev/block/259:0"] {
        fs::remove_file(machine.path(link)).expect("a link");
        std::os::unix::fs::symlink(at("nvme0n1"), machine.path(link)).expect("a link");
    }
    machine.write(&format!("{top}/iopolicy"), "round-robin");
    for (controller, state) in [(0, "optimized"), (1, "non-optimized")] {
        machine.write(&format!("{top}/nvme{controller}/transport"), "tcp");
        machine.write(&format!("{top}/nvme{controller}/address"), "traddr=10.0.0.1");
        machine.write(&format!("sys/block/nvme0c{controller}n1/ana_state"), state);
    }
    machine.write("sys/block/nvme0c1n2/ana_state", "optimized");
    let info = on(&machine, "259:0");
    let way =
        |state: &str| json!({"state": state, "transport": "tcp", "address": "traddr=10.0.0.1"});
    let expected = json!({
        "path_policy": "round-robin",
        "paths": {"nvme0c0n1": way("optimized"), "nvme0c1n1": way("non-optimized")}
    });
    assert_eq!(json!(layer(&info, "nvme0n1").details), expected);
}

/// A drive that was pulled out was called the end of the target.
#[test]
fn a_drive_is_gone_when_the_kernel_has_it_no_more_or_another_in_its_place() {
    let machine = FakeMachine::new();
    machine.disk("pci0000:00/sda", "sda", "8:0");
    machine.disk("virtual", "dm-0", "253:0");
    machine.attribute("dm-0", "dm/uuid", "LVM-aaaabbbb");
    machine.stack("dm-0", "sda");
    machine.attribute("sda", "diskseq", "7");
    let info = on(&machine, "253:0");
    let presence = Presence::of(&info.stack, &machine.roots);
    assert_eq!(presence.gone(), None);
    machine.attribute("sda", "diskseq", "8");
    assert_eq!(presence.gone(), Some("sda"), "another drive has its name");
    machine.attribute("sda", "diskseq", "7");
    machine.attribute("sda", "size", "0");
    assert_eq!(presence.gone(), Some("sda"), "it has no size any more");
    fs::remove_file(machine.path("sys/dev/block/8:0")).expect("a link");
    let sentence = presence.sentence("/mnt").expect("it is gone");
    assert!(sentence.starts_with("the drive under /mnt is gone: the kernel has no sda any more"));
}

/// An array goes on without one of its members.
#[test]
fn a_lost_member_is_no_lost_array() {
    let machine = array("raid1");
    let info = on(&machine, "9:0");
    let presence = Presence::of(&info.stack, &machine.roots);
    fs::remove_file(machine.path("sys/dev/block/8:16")).expect("a link");
    assert_eq!(presence.gone(), None);
    fs::remove_file(machine.path("sys/dev/block/9:0")).expect("a link");
    assert_eq!(presence.gone(), Some("md0"));
}
