//! Identity and flags on machines made of files.

use crate::common::FakeMachine;
use host::{ErrorKind, Watch, ask_tools, environment, target_info};
use record::{Flag, TargetInfo, TargetKind};

const NVME: &str = "pci0000:00/0000:01:00.0/nvme/nvme0";
const SATA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";

fn info(machine: &FakeMachine, path: &str) -> TargetInfo {
    target_info(&machine.path(path), path, &machine.roots).expect("a target")
}

/// Flags of a directory whose file system is of this kind.
fn flags_of_mount(kind: &str, source: &str, options: &str) -> Vec<Flag> {
    let machine = FakeMachine::new();
    machine.mount("0:99", "mnt", kind, source, options);
    let info = info(&machine, "mnt");
    assert_eq!(info.file_system.as_ref().map(|found| found.kind.as_str()), Some(kind));
    assert_eq!(info.flags.is_empty(), info.warnings.is_empty());
    for warning in &info.warnings {
        let cure = warning.flag.expect("a flag").cure();
        assert!(warning.text.ends_with(cure), "{}", warning.text);
    }
    info.flags
}

#[test]
fn file_systems_that_are_no_plain_drive_are_flagged() {
    let cases = [
        ("tmpfs", "tmpfs", "rw", Flag::MemoryBacked),
        ("ramfs", "none", "rw", Flag::MemoryBacked),
        ("overlay", "overlay", "rw", Flag::OverlayBacked),
        ("nfs4", "server:/export", "rw,vers=4.2", Flag::NetworkBacked),
        ("cifs", "//server/share", "rw", Flag::NetworkBacked),
        ("9p", "share", "rw", Flag::NetworkBacked),
        ("virtiofs", "share", "rw", Flag::NetworkBacked),
        ("ceph", "1.2.3.4:/", "rw", Flag::NetworkBacked),
        ("fuse.sshfs", "host:", "rw", Flag::NetworkBacked),
        ("fuse.bindfs", "/home", "rw", Flag::FuseBacked),
        ("fuseblk", "/dev/sdz", "rw", Flag::FuseBacked),
        ("zfs", "tank/home", "rw,xattr", Flag::CopyOnWrite),
        ("btrfs", "/dev/sdz", "rw,compress=no", Flag::CopyOnWrite),
    ];
    for (kind, source, options, flag) in cases {
        assert_eq!(flags_of_mount(kind, source, options), [flag], "{kind}");
    }
    for kind in ["ext4", "xfs", "f2fs", "vfat"] {
        assert_eq!(flags_of_mount(kind, "/dev/sdz", "rw"), [], "{kind}");
    }
}

#[test]
fn a_compressing_mount_is_flagged_and_a_plain_btrfs_is_not() {
    let flags = [Flag::CompressingTarget, Flag::CopyOnWrite];
    for options in ["rw,compress=zstd:3", "rw,compress-force=lzo", "rw,compress"] {
        assert_eq!(flags_of_mount("btrfs", "/dev/sdz", options), flags, "{options}");
    }
}

#[test]
fn memory_is_called_memory() {
    let machine = FakeMachine::new();
    machine.mount("0:99", "mnt", "tmpfs", "tmpfs", "rw");
    let text = &info(&machine, "mnt").warnings[0].text;
    assert!(text.contains("measures memory and not a drive"), "{text}");
}

#[test]
fn the_stack_goes_through_cipher_and_partition_to_the_nvme_drive() {
    let machine = FakeMachine::new();
    machine.disk(NVME, "nvme0n1", "259:0");
    for (file, text) in [
        ("wwid", "eui.0025385b9150a4c1"),
        ("device/model", "Samsung SSD 970 PRO 512GB               "),
        ("device/serial", "S463NF0K123456X     "),
        ("device/firmware_rev", "1B2QEXP7"),
        ("device/transport", "pcie"),
        ("device/hwmon1/temp1_input", "41850"),
    ] {
        machine.attribute("nvme0n1", file, text);
    }
    let function = "sys/devices/pci0000:00/0000:01:00.0";
    for (file, text) in [
        ("current_link_speed", "8.0 GT/s PCIe"),
        ("current_link_width", "2"),
        ("max_link_speed", "8.0 GT/s PCIe"),
        ("max_link_width", "4"),
    ] {
        machine.write(&format!("{function}/{file}"), text);
    }
    machine.partition("nvme0n1", "nvme0n1p2", "259:2", 2048);
    machine.disk("virtual", "dm-0", "253:0");
    machine.attribute("dm-0", "dm/uuid", "CRYPT-LUKS2-aa-home");
    machine.stack("dm-0", "nvme0n1p2");
    machine.mount("253:0", "home", "ext4", "/dev/mapper/home", "rw,noatime");

    let info = info(&machine, "home");
    let kinds: Vec<_> = info.stack.iter().map(|layer| (&*layer.name, &*layer.kind)).collect();
    let expected = [("dm-0", "dm-crypt"), ("nvme0n1p2", "partition"), ("nvme0n1", "disk")];
    assert_eq!(kinds, expected);
    assert_eq!(info.stack[1].start_bytes, Some(1 << 20));
    assert_eq!(info.stack[1].queue.as_ref().unwrap().physical_block_bytes, Some(4096));
    let queue = info.stack[2].queue.as_ref().expect("a queue");
    assert_eq!(queue.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(queue.read_ahead_bytes, Some(128 << 10));
    assert_eq!(queue.zoned, None);
    let drive = info.stack[2].drive.as_ref().expect("a drive");
    assert_eq!(drive.model.as_deref(), Some("Samsung SSD 970 PRO 512GB"));
    assert_eq!(drive.serial.as_deref(), Some("S463NF0K123456X"));
    assert_eq!(drive.firmware.as_deref(), Some("1B2QEXP7"));
    assert_eq!(drive.wwn.as_deref(), Some("eui.0025385b9150a4c1"));
    assert_eq!(drive.transport.as_deref(), Some("nvme"));
    assert_eq!(drive.temperature_celsius, Some(41.85));
    assert!(!drive.is_virtual);
    let link = drive.link.as_ref().expect("a link");
    assert_eq!(link.negotiated, "PCIe 8.0 GT/s x2");
    assert_eq!(link.possible.as_deref(), Some("PCIe 8.0 GT/s x4"));
    assert_eq!(info.flags, [Flag::LinkDegraded, Flag::Encrypted]);
    let said = "nvme0n1 is linked at PCIe 8.0 GT/s x2; drive and slot can do PCIe 8.0 GT/s x4";
    assert!(info.warnings.iter().any(|warning| warning.text.starts_with(said)));
    // In a slot that has no more than two lanes, it gets what there is.
    for (file, text) in [("max_link_speed", "16.0 GT/s PCIe"), ("max_link_width", "2")] {
        machine.write(&format!("sys/devices/pci0000:00/{file}"), text);
    }
    let info = self::info(&machine, "home");
    let link = info.stack[2].drive.as_ref().and_then(|drive| drive.link.as_ref()).expect("a link");
    assert_eq!(link.possible.as_deref(), Some("PCIe 8.0 GT/s x2"));
    assert_eq!(info.flags, [Flag::Encrypted]);
}

#[test]
fn a_sata_drive_has_its_port_s_link_and_the_serial_of_its_vital_data() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.attribute("sda", "device/vendor", "ATA     ");
    machine.attribute("sda", "device/model", "INTEL SSDSC2CW12");
    machine.attribute("sda", "device/vpd_pg80", "\0\u{1}\0\u{9}CVCV12345extra");
    machine.attribute("sda", "queue/write_cache", "write back");
    // The disk must stay below the controller, whose PCIe link is not the drive's.
    machine.write("sys/devices/pci0000:00/0000:00:17.0/current_link_speed", "2.5 GT/s PCIe");
    machine.write("sys/devices/pci0000:00/0000:00:17.0/current_link_width", "1");
    let class = "sys/devices/pci0000:00/0000:00:17.0/ata1/link1/ata_link/link1";
    machine.write(&format!("{class}/sata_spd"), "3.0 Gbps\n");
    machine.write(&format!("{class}/hw_sata_spd_limit"), "6.0 Gbps\n");
    machine.mount("8:0", "mnt", "ext4", "/dev/sda", "rw");
    let info = info(&machine, "mnt");
    let drive = info.stack[0].drive.as_ref().expect("a drive");
    assert_eq!(drive.model.as_deref(), Some("INTEL SSDSC2CW12"));
    assert_eq!(drive.serial.as_deref(), Some("CVCV12345"));
    assert_eq!(drive.transport.as_deref(), Some("sata"));
    let link = drive.link.as_ref().expect("a link");
    assert_eq!((&*link.negotiated, link.bytes_per_s), ("SATA 3.0 Gbps", Some(285_000_000)));
    assert_eq!(link.possible, None, "the port can do more; of the drive nobody knows");
    assert!(!info.flags.contains(&Flag::LinkDegraded));
    // What the drive says of itself: word 76 of its identity.
    for (word, possible, is_flagged) in [("0006", "3.0", false), ("000e", "6.0", true)] {
        let mut words = vec!["0000"; 256];
        words[76] = word;
        let id = "sys/devices/pci0000:00/0000:00:17.0/ata1/link1/dev1.0/ata_device/dev1.0/id";
        machine.write(id, words.chunks(16).map(|line| line.join(" ") + "\n").collect::<String>());
        let info = self::info(&machine, "mnt");
        let drive = info.stack[0].drive.as_ref().expect("a drive");
        let link = drive.link.as_ref().expect("a link");
        assert_eq!(link.possible.as_deref(), Some(&*format!("SATA {possible} Gbps")));
        assert_eq!(info.flags.contains(&Flag::LinkDegraded), is_flagged);
    }
    assert_eq!(info.flags, [Flag::VolatileCache]);
}

#[test]
fn udev_tells_what_sysfs_does_not() {
    let machine = FakeMachine::new();
    let bus = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host3/target3:0:0/3:0:0:0";
    machine.disk(bus, "sdb", "8:16");
    machine.write("sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/idVendor", "0781");
    machine.write("sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/speed", "5000");
    machine
        .write("run/udev/data/b8:16", "S:disk/by-id/x\nE:ID_SERIAL_SHORT=4C53\nE:ID_MODEL=Stick\n");
    machine.mount("8:16", "mnt", "vfat", "/dev/sdb", "rw");
    let info = info(&machine, "mnt");
    let drive = info.stack[0].drive.as_ref().expect("a drive");
    assert_eq!(drive.serial.as_deref(), Some("4C53"));
    assert_eq!(drive.model.as_deref(), Some("Stick"));
    assert_eq!(drive.transport.as_deref(), Some("usb"));
    assert_eq!(drive.link.as_ref().map(|link| &*link.negotiated), Some("USB 5000 Mb/s"));
}

#[test]
fn drives_made_by_a_hypervisor_are_virtual() {
    for (bus, name, model) in [
        ("pci0000:00/0000:00:02.0/virtio1", "vda", ""),
        (SATA, "sda", "QEMU HARDDISK"),
        (SATA, "sda", "Virtual disk"),
        (SATA, "sda", "VBOX HARDDISK"),
        ("vbd-51712", "xvda", ""),
        (NVME, "nvme0n1", "Amazon EC2 NVMe Instance Storage"),
    ] {
        let machine = FakeMachine::new();
        machine.disk(bus, name, "8:0");
        machine.attribute(name, "device/model", model);
        machine.mount("8:0", "mnt", "ext4", "/dev/x", "rw");
        assert_eq!(info(&machine, "mnt").flags, [Flag::VirtualDisk], "{model} {bus}");
    }
}

#[test]
fn drives_behind_a_network_are_flagged() {
    for (bus, name, model, flags) in [
        ("virtual", "nbd0", "", &[Flag::NetworkBacked][..]),
        ("virtual/rbd/0", "rbd0", "", &[Flag::NetworkBacked]),
        ("platform/host4/session1/target4:0:0/4:0:0:1", "sdc", "LUN", &[Flag::NetworkBacked]),
        (NVME, "nvme0n1", "Amazon Elastic Block Store", &[Flag::VirtualDisk, Flag::NetworkBacked]),
    ] {
        let machine = FakeMachine::new();
        machine.disk(bus, name, "8:0");
        machine.attribute(name, "device/model", model);
        machine.mount("8:0", "mnt", "ext4", "/dev/x", "rw");
        assert_eq!(info(&machine, "mnt").flags, flags, "{name}");
    }
}

#[test]
fn a_partition_off_the_physical_block_is_misaligned() {
    for (start, flags) in [(63, &[Flag::Misaligned][..]), (2048, &[])] {
        let machine = FakeMachine::new();
        machine.disk(SATA, "sda", "8:0");
        machine.partition("sda", "sda1", "8:1", start);
        machine.mount("8:1", "mnt", "ext4", "/dev/sda1", "rw");
        assert_eq!(info(&machine, "mnt").flags, flags, "sector {start}");
    }
}

#[test]
fn a_loop_device_off_a_page_and_a_mapping_off_a_block_are_misaligned() {
    for (name, file, text) in [("loop0", "loop/offset", "512"), ("dm-0", "alignment_offset", "-1")]
    {
        let machine = FakeMachine::new();
        machine.disk("virtual", name, "7:0");
        machine.attribute(name, "dm/uuid", "");
        machine.mount("7:0", "mnt", "ext4", "x", "rw");
        assert!(!info(&machine, "mnt").flags.contains(&Flag::Misaligned), "{name}");
        machine.attribute(name, file, text);
        assert!(info(&machine, "mnt").flags.contains(&Flag::Misaligned), "{name}");
    }
}

#[test]
fn a_loop_device_s_stack_goes_on_below_its_file() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.disk("virtual", "loop0", "7:0");
    let image = machine.path("data/image");
    machine.attribute("loop0", "loop/backing_file", image.to_str().expect("plain"));
    machine.mount("8:0", "data", "btrfs", "/dev/sda", "rw");
    machine.mount("7:0", "mnt", "ext4", "/dev/loop0", "rw");
    let info = info(&machine, "mnt");
    let names: Vec<_> = info.stack.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["loop0", "sda"]);
    assert_eq!(info.flags, [Flag::CopyOnWrite, Flag::LoopDevice]);
    assert_eq!(Watch::new(&info.stack, &machine.roots).counted_device(), Some("loop0"));
}

#[test]
fn a_loop_device_over_memory_and_zram_measure_memory() {
    let machine = FakeMachine::new();
    machine.disk("virtual", "loop0", "7:0");
    let image = machine.path("shm/image");
    machine.attribute("loop0", "loop/backing_file", image.to_str().expect("plain"));
    machine.mount("0:40", "shm", "tmpfs", "tmpfs", "rw");
    machine.mount("7:0", "mnt", "ext4", "/dev/loop0", "rw");
    assert_eq!(info(&machine, "mnt").flags, [Flag::MemoryBacked, Flag::LoopDevice]);
    for (name, number) in [("zram0", "253:0"), ("ram0", "1:0")] {
        machine.disk("virtual", name, number);
        machine.mount(number, name, "ext4", name, "rw");
        assert_eq!(info(&machine, name).flags, [Flag::MemoryBacked]);
    }
}

#[test]
fn all_members_of_a_btrfs_are_found_and_no_single_device_is_counted() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.disk("x/host1", "sdb", "8:16");
    for name in ["sda", "sdb"] {
        machine.write(&format!("sys/fs/btrfs/0a1b/devices/{name}/size"), "1");
    }
    machine.mount("0:50", "mnt", "btrfs", "/dev/sdb", "rw");
    let info = info(&machine, "mnt");
    let names: Vec<_> = info.stack.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["sdb", "sda"]);
    assert_eq!(Watch::new(&info.stack, &machine.roots).counted_device(), None);
}

#[test]
fn an_overlay_stands_on_the_file_system_of_its_upper_directory() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.mount("8:0", "var", "xfs", "/dev/sda", "rw");
    let upper = machine.path("var/upper");
    let options = format!("rw,lowerdir=/a:/b,upperdir={},workdir=/w", upper.display());
    machine.mount("0:60", "merged", "overlay", "overlay", &options);
    let info = info(&machine, "merged");
    assert_eq!(info.stack[0].name, "sda");
    assert_eq!(info.flags, [Flag::OverlayBacked]);
}

#[test]
fn an_array_is_counted_itself_and_a_partition_by_its_disk() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.partition("sda", "sda1", "8:1", 2048);
    machine.disk("x/host1", "sdb", "8:16");
    machine.disk("virtual", "md0", "9:0");
    machine.attribute("md0", "md/level", "raid1");
    machine.stack("md0", "sda1");
    machine.stack("md0", "sdb");
    machine.mount("9:0", "array", "ext4", "/dev/md0", "rw");
    machine.mount("8:1", "single", "ext4", "/dev/sda1", "rw");
    let array = info(&machine, "array");
    let kinds: Vec<_> = array.stack.iter().map(|layer| layer.kind.as_str()).collect();
    assert_eq!(kinds, ["md-raid1", "partition", "disk", "disk"]);
    let counted = |info: &TargetInfo| {
        Watch::new(&info.stack, &machine.roots).counted_device().map(str::to_owned)
    };
    assert_eq!(counted(&array).as_deref(), Some("md0"));
    assert_eq!(counted(&info(&machine, "single")).as_deref(), Some("sda"));
}

#[test]
fn a_watch_reads_the_counted_device_and_the_machine() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.attribute("sda", "stat", " 1 0 8 0 1 0 16 0 0 0 0");
    machine.attribute("sda", "device/hwmon/hwmon2/temp1_input", "33000");
    machine.mount("8:0", "mnt", "ext4", "/dev/sda", "rw");
    machine.write("proc/stat", "cpu  1 2 3 4 5 6 7 8\n");
    let sample = Watch::new(&info(&machine, "mnt").stack, &machine.roots).sample();
    assert_eq!(sample.traffic.map(|t| (t.read_bytes, t.written_bytes)), Some((4096, 8192)));
    assert_eq!(sample.temperature_celsius, Some(33.0));
    assert_eq!(sample.cpu.map(|cpu| cpu.steal), Some(8));
}

#[test]
fn the_kinds_of_target_are_told_apart() {
    let machine = FakeMachine::new();
    machine.mount("8:0", "mnt", "ext4", "/dev/sda", "rw");
    machine.write("mnt/file", "twelve bytes");
    assert_eq!(info(&machine, "mnt").kind, TargetKind::Directory);
    let file = info(&machine, "mnt/file");
    assert_eq!((file.kind, file.capacity_bytes), (TargetKind::File, 12));
    assert_eq!(info(&machine, "mnt/absent").kind, TargetKind::NewFile);
    std::os::unix::fs::symlink(machine.path("mnt/file"), machine.path("mnt/link")).expect("a link");
    assert_eq!(info(&machine, "mnt/link").path, file.path);
    assert_eq!(info(&machine, "mnt/link").text, "mnt/link");
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_cure() {
    let machine = FakeMachine::new();
    let socket = machine.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    std::os::unix::fs::symlink("/nowhere/at/all", machine.path("dangling")).expect("a link");
    for (path, kind, words) in [
        ("/dev/null".into(), ErrorKind::WrongKind, "a character device"),
        (socket, ErrorKind::WrongKind, "a socket"),
        (machine.path("no/such/place"), ErrorKind::NotFound, "check the spelling"),
        (machine.path("nowhere/"), ErrorKind::NotFound, "check the spelling"),
        (machine.path("dangling"), ErrorKind::NotFound, "symbolic link to nothing"),
    ] {
        let error = target_info(&path, "x", &machine.roots).expect_err("refused");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_environment_names_host_memory_and_hypervisor() {
    let machine = FakeMachine::new();
    machine.write("proc/sys/kernel/hostname", "bench\n");
    machine.write("proc/sys/kernel/osrelease", "6.18.0\n");
    machine.write("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 512 kB\n");
    machine.write("proc/loadavg", "0.25 0.5 0.7 1/99 1234\n");
    machine.write("proc/cpuinfo", "processor : 0\nmodel name : Fast CPU\nflags : fpu hypervisor\n");
    machine.write("etc/os-release", "PRETTY_NAME=\"Some Linux\"\n");
    let found = environment(&machine.roots);
    assert_eq!((&*found.host.name, &*found.host.kernel), ("bench", "6.18.0"));
    assert_eq!(found.host.memory_bytes, 1 << 20);
    assert_eq!(found.host.memory_available_bytes, 1 << 19);
    assert_eq!(found.host.load_1min, 0.25);
    assert_eq!(found.host.distribution.as_deref(), Some("Some Linux"));
    assert_eq!(found.host.virtualisation.as_deref(), Some("hypervisor"));
    assert_eq!(found.cpu.model, "Fast CPU");
    assert!(found.cpu.online > 0);
    machine.write("sys/class/dmi/id/sys_vendor", "VMware, Inc.");
    assert_eq!(environment(&machine.roots).host.virtualisation.as_deref(), Some("vmware"));
    machine.write("run/systemd/container", "docker");
    let inside = environment(&machine.roots).host.virtualisation;
    assert_eq!(inside.as_deref(), Some("container:docker"));
}

#[test]
fn identity_programs_are_not_asked_about_a_fake_machine() {
    let machine = FakeMachine::new();
    machine.disk(SATA, "sda", "8:0");
    machine.mount("8:0", "mnt", "ext4", "/dev/sda", "rw");
    assert!(ask_tools(&mut info(&machine, "mnt").stack, &machine.roots).is_empty());
}
