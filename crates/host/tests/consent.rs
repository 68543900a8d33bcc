//! What must be typed to agree, on fake drives: a loop device that a fake /sys calls a drive with a
//! serial.

mod common;

use common::{FakeMachine, LoopDevice};
use host::{
    Consent, Permit, Reason, Refusal, Reserved, judge_destruction, judge_file, judge_lending,
};
use std::{fs, os::unix::fs::MetadataExt, path::Path};

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
        self.machine.attribute("sdb", attribute, text);
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

#[test]
fn a_partition_is_agreed_to_by_the_serial_of_its_drive() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let machine = FakeMachine::new();
    machine.disk("host0", "sdb", "8:16");
    machine.attribute("sdb", "device/serial", "S3Z9NX0M");
    machine.partition("sdb", "sdb1", &number_of(&device), 2048);
    machine.attribute("sdb1", "size", &(16 * MIB / 512).to_string());
    let judged = |typed: &str| {
        let cleared = judge_destruction(&device.path, &machine.roots)?;
        cleared.confirm(&Consent::typed([typed]))
    };
    let text = judged("sdb1").expect_err("a name").to_string();
    assert!(text.contains("type `--destroy S3Z9NX0M`"), "{text}");
    judged("S3Z9NX0M").expect("the serial was typed");
}

/// Bridges and cheap sticks all have one serial, and so has a drive that is attached by two paths:
/// the serial was typed for one, and the other was overwritten, or the same through the path that
/// nothing was mounted on.
#[test]
fn a_serial_that_two_drives_have_agrees_to_neither() {
    let drive = need!(FakeDrive::new("000000000000"), ROOT);
    drive.beside("sdc", "8:32", "000000000000");
    let twin = ["sdc has the same serial", "two paths", "/sys/block/sdc/device/delete"];
    drive.refuses(&["000000000000"], &twin);
    // The same world-wide name, too: one drive.
    drive.has("wwid", "naa.5002538d41a2b3c4");
    drive.machine.attribute("sdc", "wwid", "naa.5002538d41a2b3c4");
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
    need!(common::run("mkfs.ext4", &["-q", device.text()]), "mkfs.ext4");
    common::run("losetup", &["--detach", device.text()]);
    let image = other.image.to_str().expect("plain");
    let taken = common::run("losetup", &[device.text(), image]);
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
