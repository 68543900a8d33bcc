//! Whose setting is put back, on machines made of files: the drive's that was changed, or nobody's.

use crate::common::FakeMachine;
use host::{
    ledger::{Change, DriveMark, Left, left},
    setting::{Attribute, Switch, WriteCache},
};
use std::{fs, os::unix::fs::DirBuilderExt, thread, time::Duration};

/// Disks `sda` and `sdb` with serials, in the boot `now`.
fn machine() -> FakeMachine {
    let machine = FakeMachine::new();
    for (name, number, serial, diskseq) in [("sda", "8:0", "A1", "11"), ("sdb", "8:16", "B1", "12")]
    {
        machine.disk(&format!("host-{name}"), name, number);
        machine.attribute(name, "device/serial", serial);
        machine.attribute(name, "diskseq", diskseq);
        machine.attribute(name, "device/scsi_disk/0:0:0:0/cache_type", "write through");
    }
    machine.write("proc/sys/kernel/random/boot_id", "now\n");
    machine
}

fn mark(serial: Option<&str>, diskseq: Option<u64>) -> DriveMark {
    DriveMark { serial: serial.map(str::to_owned), diskseq, ..DriveMark::default() }
}

fn cache_of(machine: &FakeMachine, name: &str, drive: DriveMark) -> Change {
    Change::WriteCache {
        device: machine.path(&format!("dev/{name}")),
        switch: Switch::Scsi,
        was: WriteCache::On,
        now: WriteCache::Off,
        kernel: None,
        drive,
    }
}

fn scheduler_of(name: &str, drive: DriveMark) -> Change {
    Change::Queue {
        device: name.to_owned(),
        attribute: Attribute::Scheduler,
        was: "none".to_owned(),
        now: "mq-deadline".to_owned(),
        drive,
    }
}

/// A dead process's ledger with one change.
fn ledger(machine: &FakeMachine, boot: &str, change: &Change) -> Left {
    let what = serde_json::to_string(change).expect("plain paths");
    ledger_of_text(machine, boot, &what)
}

fn ledger_of_text(machine: &FakeMachine, boot: &str, what: &str) -> Left {
    let directory = machine.path("ledger");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).expect("a directory");
    let head = format!(
        "{{\"ledger\":1,\"command\":\"a \
         test\",\"pid\":999999999,\"boot\":\"{boot}\",\"started_unix_s\":1}}"
    );
    let text = format!("{head}\n{{\"change\":1,\"what\":{what}}}\n");
    let path = directory.join("1-1.ledger");
    fs::write(&path, text).expect("a ledger");
    let mut found = left(&directory).expect("a directory of ours");
    found.remove(0).expect("a ledger that can be read")
}

/// Puts it back; what was done, and what was said of what was not.
fn put_back(machine: &FakeMachine, left: Left) -> (Vec<String>, Vec<String>) {
    let mut steps = Vec::new();
    let failures = left.put_back(&machine.roots, &mut |step| steps.push(step.to_owned()));
    (steps, failures.iter().map(ToString::to_string).collect())
}

fn chosen(machine: &FakeMachine, name: &str) -> String {
    Attribute::Scheduler.read(name, &machine.roots).expect("a setting")
}

/// A matrix had switched the write cache of sdb off and was killed; the machine was started again
/// with a drive less, and `restore` switched the cache of whatever was called sdb. The drive that
/// was meant is sda now.
#[test]
fn another_drive_of_the_name_after_a_reboot_is_left_alone() {
    let machine = machine();
    let change = cache_of(&machine, "sdb", mark(Some("A1"), Some(3)));
    let (steps, said) = put_back(&machine, ledger(&machine, "before", &change));
    assert_eq!(steps, [""; 0], "nothing was run");
    let [said] = &said[..] else { panic!("one change is left: {said:?}") };
    assert!(said.contains("its serial is B1") && said.contains("changed A1"), "{said}");
    // The command by hand has the name that the drive has now.
    let now = machine.path("sys/block/sda/device/scsi_disk/0:0:0:0/cache_type");
    assert!(said.contains(&format!("`echo 'write back' > {}`", now.display())), "{said}");
    assert!(machine.path("ledger/1-1.ledger").exists(), "it stays until somebody has decided");
}

/// Ledgers of before have no serial: after a reboot a name is nothing to go by.
#[test]
fn an_old_ledger_is_read_and_a_name_alone_is_not_enough_after_a_reboot() {
    let machine = machine();
    let device = machine.path("dev/sdb");
    let what = format!(
        "{{\"kind\":\"write-cache\",\"device\":\"{}\",\"switch\":\"hdparm\",\"was\":\"on\",\"now\":\"off\"}}",
        device.display()
    );
    let (steps, said) = put_back(&machine, ledger_of_text(&machine, "before", &what));
    assert_eq!(steps, [""; 0]);
    assert!(said[0].contains("no serial was written down"), "{said:?}");
    assert!(said[0].contains("`echo 'write back' > "), "{said:?}");
    // Within the boot the name is the drive's.
    let what = concat!(
        "{\"kind\":\"queue\",\"device\":\"sdb\",\"attribute\":\"scheduler\",",
        "\"was\":\"none\",\"now\":\"mq-deadline\"}"
    );
    let (steps, said) = put_back(&machine, ledger_of_text(&machine, "now", what));
    assert_eq!((steps.len(), said.len()), (1, 0), "{said:?}");
    assert_eq!(chosen(&machine, "sdb"), "none");
}

/// Unplugged, another plugged in: the kernel gives the name again.
#[test]
fn within_a_boot_serial_or_diskseq_tell_drives_of_one_name_apart() {
    for (drive, is_it) in [
        (mark(Some("B1"), Some(12)), true),
        // Plugged in again, it is still the same drive.
        (mark(Some("B1"), Some(7)), true),
        (mark(Some("X9"), Some(12)), false),
        (mark(None, Some(12)), true),
        (mark(None, Some(7)), false),
    ] {
        let machine = machine();
        let change = scheduler_of("sdb", drive.clone());
        let (_, said) = put_back(&machine, ledger(&machine, "now", &change));
        let now = if is_it { "none" } else { "mq-deadline" };
        assert_eq!(chosen(&machine, "sdb"), now, "{drive:?}: {said:?}");
        assert_eq!(said.is_empty(), is_it, "{said:?}");
        assert!(is_it || said[0].contains("`echo 'none' > /sys/block/sdb/queue/scheduler`"));
    }
}

#[test]
fn a_drive_that_is_gone_took_its_setting_with_it_and_one_of_another_name_is_named() {
    let machine = machine();
    let change = cache_of(&machine, "sdc", mark(Some("C1"), None));
    let (steps, said) = put_back(&machine, ledger(&machine, "before", &change));
    assert!(said.is_empty() && steps[0].starts_with("# no such drive is here"), "{steps:?}");
    let change = cache_of(&machine, "sdc", mark(Some("A1"), None));
    let (_, said) = put_back(&machine, ledger(&machine, "before", &change));
    assert!(said[0].contains("called sda now"), "{said:?}");
}

#[test]
fn a_change_is_written_down_with_the_drive_that_it_is_made_on() {
    let machine = machine();
    let directory = machine.path("ledger");
    let mut ledger = host::Ledger::create(&directory, "a test", &machine.roots, |_| {})
        .expect("a ledger of ours");
    ledger.queue("sdb", Attribute::Scheduler, "none").expect("it is taken");
    let entry = fs::read_dir(&directory).expect("a directory").next().expect("a ledger");
    let text = fs::read_to_string(entry.expect("a ledger").path()).expect("text");
    assert!(text.contains("\"drive\":{\"serial\":\"B1\",\"diskseq\":12}"), "{text}");
    // Another drive takes the name while the run goes on.
    machine.attribute("sdb", "device/serial", "Z9");
    let failures = ledger.put_back_to(host::ledger::Mark::START);
    assert!(failures[0].to_string().contains("its serial is Z9"), "{failures:?}");
}

/// `restore` unmounted what a killed matrix had mounted and said no more; the next matrix was then
/// refused, since the drive held data.
#[test]
fn a_file_system_that_stays_on_the_drive_is_told_with_what_takes_it_off() {
    let machine = machine();
    machine.write("proc/self/mountinfo", "");
    let mount = Change::Mount {
        source: "/dev/sda".to_owned(),
        at: "/tmp/drivelab-matrix-1/mount".into(),
        fs: "ext4".to_owned(),
        options: String::new(),
    };
    for (boot, cure) in [("now", "`wipefs -a /dev/sda`"), ("before", "`drivelab devices`")] {
        let (steps, said) = put_back(&machine, ledger(&machine, boot, &mount));
        let told: Vec<_> = steps.iter().filter(|step| step.contains("ext4 itself stays")).collect();
        assert!(said.is_empty() && told.len() == 1 && told[0].contains(cure), "{steps:?} {said:?}");
    }
    // After a restart its name may be another drive's.
    let (steps, _) = put_back(&machine, ledger(&machine, "before", &mount));
    assert!(steps.iter().all(|step| !step.contains("wipefs -a /dev/sda")), "{steps:?}");
    // What is on a loop device of the run's own goes with its file.
    let file = Change::Loop { file: machine.path("image") };
    let file = serde_json::to_string(&file).expect("a plain path");
    let mount = serde_json::to_string(&mount).expect("plain paths");
    let both = format!("{file}}}\n{{\"change\":2,\"what\":{mount}");
    let (steps, said) = put_back(&machine, ledger_of_text(&machine, "now", &both));
    assert!(said.is_empty() && steps.is_empty(), "{steps:?} {said:?}");
}

/// `restore` found the loop device of a killed matrix, and said that losetup could not detach it:
/// the matrix's mkfs had just closed it, and the kernel was taking it away.
#[test]
fn a_loop_device_that_somebody_else_lets_go_of_meanwhile_is_put_back() {
    let machine = machine();
    let image = machine.path("image");
    machine.disk("virtual", "loop7", "7:7");
    machine.attribute("loop7", "loop/backing_file", image.to_str().expect("plain"));
    let left = ledger(&machine, "now", &Change::Loop { file: image });
    let backing = machine.path("sys/block/loop7/loop/backing_file");
    let (steps, said) = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            fs::remove_file(backing).expect("an attribute");
        });
        put_back(&machine, left)
    });
    assert_eq!(said, [""; 0]);
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert!(steps[0].starts_with("losetup --detach "), "{steps:?}");
}
