//! What must be typed to agree, on fake drives: a loop device that a fake /sys calls a drive with a
//! serial.

use crate::common::FakeMachine;
use host::{
    Consent, Permit, Reason, Refusal, Reserved, judge_destruction, judge_file, judge_lending,
};
use std::{fs, os::unix::fs::MetadataExt, path::Path};
use testkit::{LoopDevice, system};

const MIB: u64 = 1 << 20;
const ROOT: &str = "root and a loop device";

/// A drive `sdb` with a serial.
struct FakeDrive {
    device: LoopDevice,
    machine: FakeMachine,
}

impl FakeDrive {
    fn new(serial: &str) -> Option<Self> {
        let device = LoopDevice::of_zeros(16 * MIB)?;
        let machine = FakeMachine::new();
        machine.disk("host0", "sdb", &number_of(&device));
        let drive = Self { device, machine };
        drive.has("size", &(16 * MIB / 512).to_string());
        drive.has("device/model", "Example SSD 860");
        drive.has("device/serial", serial);
        drive.has("diskseq", "7");
        Some(drive)
    }

    fn has(&self, attribute: &str, text: &str) {
        self.has_as("sdb", attribute, text);
    }

    fn has_as(&self, name: &str, attribute: &str, text: &str) {
        self.machine.attribute(name, attribute, text);
    }

    /// Another drive beside it, with a serial.
    fn beside(&self, name: &str, number: &str, serial: &str) {
        self.machine.disk("host1", name, number);
        self.machine.attribute(name, "device/serial", serial);
    }

    fn agreed(&self, typed: &[&str]) -> Result<Permit, Refusal> {
        let cleared = judge_destruction(&self.device.path, &self.machine.roots)?;
        cleared.confirm(&Consent::typed(typed))
    }

    /// Refused in a sentence with these words, to whoever overwrites it and whoever lends it.
    fn refuses(&self, typed: &[&str], words: &[&str]) {
        let lent = judge_lending(&self.device.path, &self.machine.roots)
            .and_then(|cleared| cleared.confirm(&Consent::typed(typed)));
        for refused in [self.agreed(typed), lent] {
            let text = refused.expect_err("not agreed to").to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{typed:?}: {text}");
        }
    }

    fn reserved(&self, typed: &str) -> Reserved {
        self.agreed(&[typed]).and_then(Permit::reserve).expect("it was agreed to")
    }
}

fn number_of(device: &LoopDevice) -> String {
    let raw = fs::metadata(&device.path).expect("a node").rdev();
    host::DeviceNumber::from_raw(raw).to_string()
}

/// `serve /dev/sdb --destroy /dev/sdb` and `flash create /dev/sdb --destroy sdb` passed without the
/// serial that the help promises to ask for. After a reboot `/dev/sdb` is another drive.
#[test]
fn a_drive_with_a_serial_is_agreed_to_by_its_serial_alone() {
    let drive = need!(FakeDrive::new("S3Z9NX0M"), ROOT);
    let link = drive.device.directory("by-id").join("ata-Example_S3Z9NX0M");
    std::os::unix::fs::symlink(&drive.device.path, &link).expect("a link");
    let link = link.to_str().expect("plain");
    let cure = "to confirm, type `--destroy S3Z9NX0M`";
    let wrong = [
        drive.device.text(),
        drive.device.name(),
        "sdb",
        "/dev/sdb",
        link,
        "s3z9nx0m",
        "S3Z9NX0",
        "S3Z9NX0MM",
        "S3Z9NX0N",
        "Example SSD 860",
        "",
        "yes",
    ];
    for typed in wrong {
        let found = format!("`{typed}` is not its serial (it is Example SSD 860 of 16 MiB)");
        drive.refuses(&[typed], &[&found, cure]);
    }
    drive.refuses(&[], &["all its data would be lost (Example SSD 860 of 16 MiB)", cure]);
    drive.refuses(&["one", "another"], &["none of `one`, `another` is its serial", cure]);
    for typed in [&["S3Z9NX0M"][..], &[" S3Z9NX0M\n"], &["another", "S3Z9NX0M"]] {
        let permit = drive.agreed(typed).expect("the serial was typed");
        assert_eq!((permit.path(), permit.bytes()), (&*drive.device.path, 16 * MIB));
    }
}

/// The refusal must be typed as it stands, and a shell parts words at spaces.
#[test]
fn a_serial_with_spaces_is_quoted_in_the_refusal() {
    let drive = need!(FakeDrive::new("WD-WCC 4E'1"), ROOT);
    drive.refuses(&["WD-WCC"], &[r"type `--destroy 'WD-WCC 4E'\''1'`"]);
    drive.agreed(&["WD-WCC 4E'1"]).expect("the serial was typed");
}

/// Every partition was agreed to by the serial of its drive: `p1` typed for `p2` passed.
#[test]
fn a_partition_is_agreed_to_by_its_drives_serial_and_its_own_number() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let machine = FakeMachine::new();
    machine.disk("host0", "sdb", "8:16");
    machine.attribute("sdb", "device/model", "Example SSD 860");
    machine.attribute("sdb", "device/serial", "S3Z9NX0M");
    machine.partition("sdb", "sdb2", &number_of(&device), 2048);
    machine.attribute("sdb2", "partition", "2");
    machine.attribute("sdb2", "size", &(16 * MIB / 512).to_string());
    let judged = |typed: &str| {
        let cleared = judge_destruction(&device.path, &machine.roots)?;
        cleared.confirm(&Consent::typed([typed]))
    };
    for typed in ["sdb2", "S3Z9NX0M", "S3Z9NX0M-part1", "S3Z9NX0M-part22"] {
        let text = judged(typed).expect_err("another").to_string();
        assert!(text.contains("type `--destroy S3Z9NX0M-part2`"), "{text}");
    }
    judged("S3Z9NX0M-part2").expect("drive and number were typed");
}

/// A machine whose one free device is a loop device that /sys calls something else.
fn called(name: &str, bus: &str, attributes: &[(&str, &str)]) -> Option<FakeDrive> {
    let device = LoopDevice::of_zeros(16 * MIB)?;
    let machine = FakeMachine::new();
    machine.disk(bus, name, &number_of(&device));
    machine.attribute(name, "size", &(16 * MIB / 512).to_string());
    for (file, text) in attributes {
        machine.attribute(name, file, text);
    }
    Some(FakeDrive { device, machine })
}

/// The word for a logical volume was `dm-0`, another volume after the next boot, and the name that
/// its owner gave it was refused.
#[test]
fn a_mapping_is_agreed_to_by_its_name_or_its_uuid() {
    let uuid = "LVM-KzAbCdEf0123";
    let facts = [("dm/name", "my--vg-data"), ("dm/uuid", uuid)];
    let drive = need!(called("dm-0", "virtual", &facts), ROOT);
    let cure = "type `--destroy my--vg-data` (`dm-0` may be another device after the next boot)";
    drive.refuses(&["dm-0"], &["`dm-0` is not its name", cure]);
    for typed in ["my", "data", "vg-data", "my-vg-data", "my--vg", "/dev/dm-0", drive.device.text()]
    {
        drive.refuses(&[typed], &["type `--destroy my--vg-data`"]);
    }
    let uuid_link = format!("dm-uuid-{uuid}");
    for typed in [
        "my--vg-data",
        "my-vg/data",
        "/dev/my-vg/data",
        "/dev/mapper/my--vg-data",
        uuid,
        "dm-name-my--vg-data",
        &uuid_link,
        "/dev/disk/by-id/dm-name-my--vg-data",
    ] {
        drive.agreed(&[typed]).expect(typed);
    }
}

/// The word for an array was `md127`, which is whichever array came first.
#[test]
fn an_array_is_agreed_to_by_its_name_or_its_uuid() {
    let facts = [("md/level", "raid1"), ("md/uuid", "0a1b2c3d-0011-2233-4455-66778899aabb")];
    let drive = need!(called("md127", "virtual", &facts), ROOT);
    let uuid = "0a1b2c3d:00112233:44556677:8899aabb";
    drive.refuses(&["md127"], &["`md127` is not its UUID", &format!("type `--destroy {uuid}`")]);
    for typed in [uuid, "0a1b2c3d-0011-2233-4455-66778899aabb", &format!("md-uuid-{uuid}")] {
        drive.agreed(&[typed]).expect(typed);
    }
    // Its members' superblocks have its name; the same array, read by root.
    drive.machine.disk("host7", "sdm", "8:192");
    drive.machine.stack("md127", "sdm");
    let mut image = vec![0; 64 << 10];
    image[4096..4104].copy_from_slice(&[0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0]);
    image[4096 + 16..4096 + 32].copy_from_slice(&[0x0a; 16]);
    image[4096 + 32..4096 + 41].copy_from_slice(b"host:tank");
    drive.machine.write("dev/sdm", &image);
    drive.refuses(&["md127"], &["`md127` is not its name", "type `--destroy tank`"]);
    for typed in ["tank", "host:tank", "/dev/md/tank", "md-name-host:tank"] {
        drive.agreed(&[typed]).expect(typed);
    }
    // A number is no name: it is what the array was called by the kernel of that day.
    image[4096 + 32..4096 + 41].copy_from_slice(b"host:0\0\0\0");
    drive.machine.write("dev/sdm", &image);
    drive.refuses(&["0"], &["is not its UUID"]);
    drive.agreed(&["host:0"]).expect("the whole name");
}

/// A USB stick has no page with a serial: its word was `sdc`. The USB device above it has one.
#[test]
fn a_usb_drive_is_agreed_to_by_the_serial_of_its_usb_device() {
    let bus = "pci0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0";
    let facts = [("device/vendor", "Kingston"), ("device/model", "DataTraveler 3.0")];
    let drive = need!(called("sdc", bus, &facts), ROOT);
    drive.machine.write("sys/devices/pci0/usb2/2-1/idVendor", "0951");
    drive.machine.write("sys/devices/pci0/usb2/2-1/serial", "E0D55EA5741C");
    drive.refuses(&["sdc"], &["`sdc` is not its serial", "type `--destroy E0D55EA5741C`"]);
    drive.agreed(&["E0D55EA5741C"]).expect("the serial was typed");
    let link = "usb-Kingston_DataTraveler_3.0_E0D55EA5741C-0:0";
    for typed in [link, &format!("/dev/disk/by-id/{link}")] {
        drive.agreed(&[typed]).expect(typed);
    }
    drive.refuses(&["usb-Kingston_DataTraveler_3.0_E0D55EA5741D-0:0"], &["E0D55EA5741C"]);
    // The other slot of the same reader, with a card of the same size.
    let beside = "pci0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:1";
    drive.machine.disk(beside, "sdd", "8:48");
    drive.machine.attribute("sdd", "device/model", "DataTraveler 3.0");
    drive.machine.attribute("sdd", "size", &(16 * MIB / 512).to_string());
    drive.refuses(&["E0D55EA5741C"], &["type `--destroy E0D55EA5741C-0:0`"]);
    drive.agreed(&["E0D55EA5741C-0:0"]).expect("serial and unit");
}

/// What has no name of its own was agreed to by `sdc`, which is another drive after the next boot.
#[test]
fn a_drive_without_serial_or_wwn_is_agreed_to_by_name_model_and_size() {
    let drive = need!(called("sdc", "host4", &[("device/model", "Flash Disk")]), ROOT);
    let cure = "type `--destroy sdc-Flash_Disk-16MiB`";
    for typed in ["sdc", "/dev/sdc", "sdc-Flash_Disk-32MiB", "sdd-Flash_Disk-16MiB"] {
        drive.refuses(&[typed], &[cure]);
    }
    drive.agreed(&["sdc-Flash_Disk-16MiB"]).expect("all three");
    drive.has_as("sdc", "wwid", "naa.5002538d41a2b3c4");
    drive.refuses(&["sdc"], &["is not its WWN", "type `--destroy naa.5002538d41a2b3c4`"]);
    drive.agreed(&["wwn-0x5002538d41a2b3c4"]).expect("as udev writes it");
}

/// The names that udev gives drives say which they are, and were refused as paths.
#[test]
fn a_name_of_disk_by_id_agrees_wherever_there_is_a_udev() {
    type Files = &'static [(&'static str, &'static str)];
    let cases: &[(&str, &str, Files, &[&str])] = &[
        (
            "sdb",
            "pci0/ata3/host2/target2:0:0/2:0:0:0",
            &[
                ("device/vendor", "ATA"),
                ("device/model", "Samsung SSD 860 "),
                ("device/serial", "S3"),
            ],
            // The kernel cuts the model off, and udev does not.
            &["ata-Samsung_SSD_860_S3"],
        ),
        (
            "sdb",
            "pci0/ata3/host2/target2:0:0/2:0:0:0",
            &[("device/model", "Samsung SSD 860X"), ("device/serial", "S3")],
            &["ata-Samsung_SSD_860X_EVO_500GB_S3"],
        ),
        (
            "nvme0n1",
            "pci0/nvme/nvme0",
            &[
                ("device/model", "Example NVMe"),
                ("device/serial", "S3"),
                ("nsid", "1"),
                ("wwid", "eui.0025385b71b00001"),
            ],
            &["nvme-Example_NVMe_S3", "nvme-Example_NVMe_S3_1", "nvme-eui.0025385b71b00001"],
        ),
        ("vdb", "pci0/virtio3", &[("serial", "S3")], &["virtio-S3"]),
        (
            "sdb",
            "pci0/host4/target4:0:0/4:0:0:0",
            &[
                ("device/vendor", "QEMU"),
                ("device/model", "QEMU HARDDISK"),
                ("device/serial", "S3"),
            ],
            &["scsi-SQEMU_QEMU_HARDDISK_S3", "scsi-0QEMU_QEMU_HARDDISK_S3"],
        ),
    ];
    for (name, bus, facts, links) in cases {
        let drive = need!(called(name, bus, facts), ROOT);
        for link in *links {
            drive.agreed(&[link]).expect(link);
            drive.agreed(&[&format!("/dev/disk/by-id/{link}")]).expect(link);
            drive.refuses(&[&format!("{link}X")], &["type `--destroy S3`"]);
            drive.refuses(&[&format!("{link}-part1")], &["type `--destroy S3`"]);
        }
    }
}

/// Bridges and cheap sticks all have one serial, and so has a drive that is attached by two paths:
/// the serial was typed for one, and the other was overwritten, or the same through the path that
/// nothing was mounted on.
#[test]
fn a_serial_that_two_drives_have_agrees_to_neither() {
    let drive = need!(FakeDrive::new("000000000000"), ROOT);
    drive.beside("sdc", "8:32", "000000000000");
    // Of another size it is another drive; the serial tells which neither way.
    let cure = "type `--destroy sdb-Example_SSD_860-16MiB`";
    drive.refuses(&["000000000000"], &[cure]);
    drive.machine.attribute("sdc", "device/model", "Example SSD 860");
    drive.machine.attribute("sdc", "size", &(16 * MIB / 512).to_string());
    let twin = ["sdc has the same serial", "two paths", "/sys/block/sdc/device/delete"];
    drive.refuses(&["000000000000"], &twin);
    // The same world-wide name, too: one drive.
    drive.has("wwid", "naa.5002538d41a2b3c4");
    drive.machine.attribute("sdc", "wwid", "naa.5002538d41a2b3c4");
    let twin = ["sdc has the same WWN", twin[1], twin[2]];
    drive.refuses(&["000000000000"], &twin);
    drive.refuses(&["naa.5002538d41a2b3c4"], &twin);
    // An empty slot of the same reader is no path to anything.
    drive.machine.attribute("sdc", "size", "0");
    drive.agreed(&["000000000000"]).expect("it is the only drive");
}

/// Namespaces of an NVMe drive and units of an array have one serial and names of their own: that
/// one is typed.
#[test]
fn of_several_with_one_serial_each_is_agreed_to_by_its_world_wide_name() {
    let drive = need!(FakeDrive::new("S3Z9NX0M"), ROOT);
    drive.beside("sdc", "8:32", "S3Z9NX0M");
    drive.has("wwid", "eui.0025385b71b00001");
    drive.machine.attribute("sdc", "wwid", "eui.0025385b71b00002");
    let cure = "type `--destroy eui.0025385b71b00001`";
    for typed in ["S3Z9NX0M", "eui.0025385b71b00002"] {
        drive.refuses(&[typed], &[&format!("`{typed}` is not its WWN"), cure]);
    }
    drive.agreed(&["eui.0025385b71b00001"]).expect("its own name was typed");
}

/// A matrix judged its device once and went by the name from then on. The drive was pulled between
/// two turns, another came up under the name, and the next turn wiped it.
#[test]
fn a_device_that_was_exchanged_is_refused_with_what_is_different() {
    let changes = [
        ("device/serial", "S3Z9NX0N", "its serial was S3Z9NX0M, and is S3Z9NX0N now"),
        ("wwid", "naa.5", "its WWN was none, and is naa.5 now"),
        ("size", "2048", "it had 16 MiB, and has 1 MiB now"),
        ("diskseq", "8", "it was taken away and attached again"),
    ];
    for (attribute, text, difference) in changes {
        let drive = need!(FakeDrive::new("S3Z9NX0M"), ROOT);
        let roots = &drive.machine.roots;
        let reserved = drive.reserved("S3Z9NX0M");
        reserved.check(roots).expect("it is there");
        drop(reserved.judge_again(roots).expect("and as empty as before"));
        drive.has(attribute, text);
        let judged = reserved.judge_again(roots).expect_err("it is another");
        for refusal in [reserved.check(roots).expect_err("it is another"), judged] {
            assert!(matches!(refusal.reason, Reason::Exchanged { .. }), "{refusal}");
            let said = refusal.to_string();
            assert!(said.contains(difference) && said.contains("left as it is"), "{said}");
        }
    }
}

/// As the one before, and nothing came up in its place.
#[test]
fn a_device_that_is_gone_is_not_called_misspelt() {
    let drive = need!(FakeDrive::new("S3Z9NX0M"), ROOT);
    let reserved = drive.reserved("S3Z9NX0M");
    let roots = &drive.machine.roots;
    let gone = drive.machine.path("absent");
    let known = reserved.identity();
    let refusal = host::guard::check(&gone, known, roots).expect_err("nothing is there");
    assert!(refusal.to_string().contains("none has its name any more"), "{refusal}");
}

/// As the one before, with two real devices: another node has the name by now.
#[test]
fn a_name_that_leads_to_another_device_is_refused() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let other = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let roots = host::Roots::default();
    let known = host::guard::identity_at(&device.path, &roots).expect("it is there");
    host::guard::check(&device.path, &known, &roots).expect("it is the same");
    let refusal = host::guard::check(&other.path, &known, &roots).expect_err("another");
    assert!(matches!(refusal.reason, Reason::Exchanged { .. }), "{refusal}");
    let lent = judge_lending(&other.path, &roots).expect("it is free");
    let refusal = lent.confirm(&Consent::to(known)).expect_err("another");
    assert!(matches!(refusal.reason, Reason::Exchanged { .. }), "{refusal}");
}

/// While a device is reserved its name is given to no other, and mkfs and mount can still claim it.
#[test]
fn a_reserved_device_is_open_to_programs_and_stays() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let other = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let reserved = judge_destruction(&device.path, &host::Roots::default())
        .and_then(|cleared| cleared.confirm(&Consent::typed([device.name()])))
        .and_then(Permit::reserve)
        .expect("it was agreed to");
    need!(system("mkfs.ext4", &["-q", device.text()]), "mkfs.ext4");
    system("losetup", &["--detach", device.text()]);
    let image = other.image.to_str().expect("plain");
    let taken = system("losetup", &[device.text(), image]);
    assert_eq!(taken, None, "{} was given to another", device.text());
    reserved.check(&host::Roots::default()).expect("it is still there");
}

#[test]
fn a_file_is_agreed_to_by_its_name_or_a_path_that_leads_to_it() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| place.path().join(name);
    fs::write(at("disk.img"), "data").expect("a file");
    fs::write(at("other.img"), "data").expect("a file");
    fs::hard_link(at("disk.img"), at("hard.img")).expect("a link");
    let agreed = |typed: &Path| {
        let cleared = judge_file(&at("disk.img"), &host::Roots::default())?;
        cleared.confirm(&Consent::typed([typed.to_str().expect("plain")]))
    };
    for typed in [Path::new("disk.img"), &at("disk.img"), &at("hard.img")] {
        agreed(typed).expect("it was named");
    }
    for typed in [Path::new("disk"), Path::new("Disk.img"), &at("other.img"), place.path()] {
        let text = agreed(typed).expect_err("another").to_string();
        assert!(text.contains(&format!("type `--destroy {}`", at("disk.img").display())), "{text}");
    }
}

/// `flash create FILE` took a file for empty where it takes no space. In user space (FUSE) that is
/// every file: an image of 64 MiB was lost without a question.
#[test]
fn a_file_is_empty_when_all_of_it_is_a_hole() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("file");
    let is_empty = || {
        let cleared = judge_file(&path, &host::Roots::default()).expect("a file of ours");
        cleared.if_empty().is_ok()
    };
    let file = fs::File::create(&path).expect("a file");
    assert!(is_empty());
    file.set_len(8 * MIB).expect("a hole");
    assert!(is_empty(), "a hole holds nothing");
    // One byte, and in memory so far: no block is taken yet.
    std::os::unix::fs::FileExt::write_at(&file, b"x", 7 * MIB).expect("a byte");
    assert!(!is_empty());
}
