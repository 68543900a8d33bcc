//! The drive's write cache by the kernel's own files, on machines made of files: switched, read
//! back, put back, and refused where others would feel it.

use crate::common::FakeMachine;
use host::{
    ErrorKind, Ledger,
    ledger::{Mark, left},
    setting::{Switch, WriteCache},
};
use std::{cell::RefCell, fs, os::unix::fs::PermissionsExt, path::PathBuf, rc::Rc};

/// A virtio disk with its cache on, whose kernel sends flushes.
fn machine() -> FakeMachine {
    let machine = FakeMachine::new();
    machine.disk("virtio0", "vda", "252:0");
    machine.attribute("vda", "serial", "V1");
    machine.attribute("vda", "cache_type", "write back\n");
    machine.attribute("vda", "queue/write_cache", "write back\n");
    machine.write("proc/sys/kernel/random/boot_id", "first\n");
    machine
}

fn text(machine: &FakeMachine, path: &str) -> String {
    fs::read_to_string(machine.path(path)).expect("a text").trim().to_owned()
}

fn new_ledger(machine: &FakeMachine) -> (Ledger, Rc<RefCell<Vec<String>>>) {
    let steps = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&steps);
    let made = Ledger::create(&machine.path("ledger"), "a test", &machine.roots, move |step| {
        log.borrow_mut().push(step.to_owned());
    });
    (made.expect("a ledger of ours"), steps)
}

#[test]
fn a_switch_is_read_back_and_the_kernel_s_belief_is_said() {
    let machine = machine();
    let vda = machine.path("dev/vda");
    let (mut ledger, steps) = new_ledger(&machine);
    let said = ledger.write_cache(&vda, WriteCache::Off).expect("it is switched");
    assert!(said.contains("write cache is off; the kernel goes on sending flushes"), "{said}");
    assert_eq!(text(&machine, "sys/block/vda/cache_type"), "write through");
    let file = fs::read_dir(machine.path("ledger")).expect("a directory").next().expect("a ledger");
    let lines = fs::read_to_string(file.expect("a ledger").path()).expect("text");
    for part in [
        "\"switch\":\"virtio\"",
        "\"was\":\"on\"",
        "\"now\":\"off\"",
        "\"kernel\":\"write back\"",
        "\"serial\":\"V1\"",
    ] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    // The kernel's belief was changed by the switch, as a SCSI disk's is; both are put back.
    machine.attribute("vda", "queue/write_cache", "write through\n");
    assert_eq!(ledger.put_back_to(Mark::START).len(), 0);
    assert_eq!(text(&machine, "sys/block/vda/cache_type"), "write back");
    assert_eq!(text(&machine, "sys/block/vda/queue/write_cache"), "write back");
    let steps = steps.borrow();
    let last = steps.last().expect("steps");
    assert!(last.ends_with("says that its write cache is on; the kernel sends flushes"), "{last}");
}

/// As after a power cut: a virtual drive begins with its cache on, a disk with a saved mode page
/// stays as it was told.
#[test]
fn after_a_restart_the_drive_is_asked_and_told_only_where_it_is_not_as_before() {
    for (found, is_told) in [("write back", false), ("write through", true)] {
        let machine = machine();
        let vda = machine.path("dev/vda");
        let (mut ledger, _) = new_ledger(&machine);
        ledger.write_cache(&vda, WriteCache::Off).expect("it is switched");
        ledger.queue("vda", host::setting::Attribute::Scheduler, "none").expect("it is taken");
        // What a killed process leaves: the ledger's file, unlocked.
        let name = fs::read_dir(machine.path("ledger")).expect("a directory").next();
        let path = name.expect("a ledger").expect("a ledger").path();
        let lines = fs::read(&path).expect("text");
        drop(ledger);
        let lines = String::from_utf8(lines).expect("text");
        let lines = lines.replace(&format!("\"pid\":{}", std::process::id()), "\"pid\":999999999");
        fs::write(&path, lines).expect("a ledger");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours alone");
        machine.write("proc/sys/kernel/random/boot_id", "second\n");
        machine.attribute("vda", "cache_type", found);
        machine.attribute("vda", "queue/scheduler", "none [mq-deadline]");

        let mut found = left(&machine.path("ledger")).expect("a directory");
        let mut steps = Vec::new();
        let left = found.remove(0).expect("a ledger that can be read");
        let failures = left.put_back(&machine.roots, &mut |step| steps.push(step.to_owned()));
        assert!(failures.is_empty(), "{failures:?}");
        assert!(steps[0].contains("gone with the restart of the machine: scheduler"), "{steps:?}");
        assert_eq!(text(&machine, "sys/block/vda/cache_type"), "write back");
        assert_eq!(text(&machine, "sys/block/vda/queue/scheduler"), "none [mq-deadline]");
        assert_eq!(steps.iter().any(|step| step.starts_with("echo ")), is_told, "{steps:?}");
        let last = steps.last().expect("steps");
        assert!(last.contains("says that its write cache is on"), "{last}");
        assert_eq!(last.contains("as before, nothing to do"), !is_told, "{last}");
    }
}

/// NVMe drives get their names in the order in which they answer: after a power cut nvme2n1 was
/// another drive, and the one that was meant was left for a person to see to.
#[test]
fn a_drive_that_has_another_name_after_a_restart_is_found_by_serial_and_model() {
    for (model, is_it) in [("DISK", true), ("OTHER", false)] {
        let machine = machine();
        machine.attribute("vda", "device/model", "DISK");
        let what = concat!(
            "{\"kind\":\"write-cache\",\"device\":\"DEV/vda\",\"switch\":\"virtio\",\"was\":\"on\",",
            "\"now\":\"off\",\"drive\":{\"serial\":\"V1\",\"model\":\"DISK\",\"diskseq\":3}}"
        );
        let what = what.replace("DEV", &machine.path("dev").display().to_string());
        let (ledger, _) = new_ledger(&machine);
        let name = fs::read_dir(machine.path("ledger")).expect("a directory").next();
        let path = name.expect("a ledger").expect("a ledger").path();
        let head = fs::read_to_string(&path).expect("text");
        drop(ledger);
        let head = head.replace(&format!("\"pid\":{}", std::process::id()), "\"pid\":999999999");
        fs::write(&path, format!("{head}{{\"change\":1,\"what\":{what}}}\n")).expect("a ledger");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours alone");
        machine.write("proc/sys/kernel/random/boot_id", "second\n");
        // Another drive has the name.
        machine.attribute("vda", "serial", "V2");
        machine.disk("virtio1", "vdb", "252:16");
        for (file, text) in
            [("serial", "V1"), ("device/model", model), ("cache_type", "write through")]
        {
            machine.attribute("vdb", file, text);
        }
        machine.attribute("vda", "cache_type", "write through");

        let mut found = left(&machine.path("ledger")).expect("a directory");
        let mut steps = Vec::new();
        let left = found.remove(0).expect("a ledger that can be read");
        let failures = left.put_back(&machine.roots, &mut |step| steps.push(step.to_owned()));
        assert_eq!(failures.is_empty(), is_it, "{failures:?}");
        assert_eq!(text(&machine, "sys/block/vda/cache_type"), "write through", "nobody's");
        let expected = if is_it { "write back" } else { "write through" };
        assert_eq!(text(&machine, "sys/block/vdb/cache_type"), expected);
        if is_it {
            assert!(steps[0].contains("what was") && steps[0].contains("vdb now"), "{steps:?}");
        } else {
            let said = failures[0].to_string();
            assert!(said.contains("its serial is V2") && said.contains("vdb"), "{said}");
        }
    }
}

/// nvme-cli refuses the name space's node: the feature is the controller's.
#[test]
fn the_command_by_hand_names_the_controller() {
    let machine = machine();
    machine.disk("nvme3", "nvme5n1", "259:0");
    machine.write("sys/class/nvme/nvme3/state", "live\n");
    let link = machine.path("sys/block/nvme5n1").join("device");
    std::os::unix::fs::symlink(machine.path("sys/class/nvme/nvme3"), link).expect("a link");
    let node = machine.path("dev/nvme5n1");
    let text = Switch::Nvme.telling(&node, WriteCache::On, &machine.roots);
    assert_eq!(text, "nvme set-feature /dev/nvme3 --feature-id=6 --value=1");
}

#[test]
fn what_cannot_be_switched_says_why() {
    let machine = machine();
    let file = machine.path("sys/block/vda/cache_type");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("a file of ours");
    let find = |name: &str| Switch::find(&machine.path(name), &machine.roots);
    let error = find("dev/vda").expect_err("it is fixed");
    assert_eq!(error.kind(), ErrorKind::WrongKind);
    assert!(error.to_string().contains("does not let it be switched"), "{error}");
    machine.disk("virtual", "zram0", "251:0");
    let error = find("dev/zram0").expect_err("there is none");
    assert!(error.to_string().contains("no NVMe, SATA, SCSI or virtio drive"), "{error}");
    assert!(find("dev/none").is_err());
}

#[test]
fn a_drive_whose_other_parts_are_in_use_is_left_alone() {
    let machine = machine();
    let check = |path: PathBuf| Ledger::check_write_cache(&path, &machine.roots);
    machine.partition("vda", "vda1", "252:1", 2048);
    machine.partition("vda", "vda2", "252:2", 1 << 20);
    check(machine.path("dev/vda1")).expect("nobody uses the other");
    machine.mount("252:2", "home", "ext4", "/dev/vda2", "rw");
    let error = check(machine.path("dev/vda1")).expect_err("the other is mounted");
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("vda2 included, and"), "{error}");
    // Of NVMe also the other name spaces, which lie below the same controller.
    machine.disk("nvme0", "nvme0n1", "259:0");
    machine.disk("nvme0", "nvme0n2", "259:1");
    machine.mount("259:1", "data", "xfs", "/dev/nvme0n2", "rw");
    let error = check(machine.path("dev/nvme0n1")).expect_err("the other is mounted");
    assert!(error.to_string().contains("nvme0n2 included, and"), "{error}");
    // Several ways to one drive have a setting each.
    for controller in ["nvme1", "nvme2"] {
        machine.attribute("nvme0n2", &format!("device/{controller}/state"), "live");
    }
    let error = check(machine.path("dev/nvme0n2")).expect_err("two settings");
    assert!(error.to_string().contains("nvme1 and nvme2"), "{error}");
}
