//! The ledger on the real machine: loop devices, mounts, queue settings and processes, and a
//! process that is killed while it changes them.

use crate::common;
use host::{
    Directory, Ledger, Program, Roots,
    ledger::{Mark, Mounting, left},
    setting::{Attribute, WriteCache},
};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// Where a child of these tests finds its directory.
const PLACE: &str = "DRIVELAB_LEDGER_TEST_PLACE";
/// What it shall do there.
const TASK: &str = "DRIVELAB_LEDGER_TEST_TASK";

/// This test file as a process of its own, doing `task` in `place`.
fn child(task: &str, place: &Path, path: &str) -> Child {
    let own = std::env::current_exe().expect("a test has a program");
    let mut command = Command::new(own);
    command.args([
        "--exact",
        "ledger_real::the_child_does_as_it_is_told",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(PLACE, place).env(TASK, task).env("PATH", path);
    command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("a process")
}

fn plain_path() -> String {
    std::env::var("PATH").expect("a PATH") + ":/usr/sbin:/sbin"
}

#[test]
fn the_child_does_as_it_is_told() {
    let (Ok(place), Ok(task)) = (std::env::var(PLACE), std::env::var(TASK)) else { return };
    let place = Path::new(&place);
    let mut ledger = new_ledger(place);
    match task.as_str() {
        "stage" => loop {
            stage(&mut ledger, place).expect("the stage is set");
            assert!(ledger.put_back_to(Mark::START).is_empty());
            ledger = new_ledger(place);
        },
        "panic" => {
            stage(&mut ledger, place).expect("the stage is set");
            panic!("in the middle");
        }
        "write-cache" => {
            drop(ledger);
            let roots = Roots::below(place);
            let made = Ledger::create(&place.join("ledger"), "a test", &roots, |_| {});
            let mut ledger = made.expect("a ledger");
            ledger.write_cache(&roots.dev.join("vda"), WriteCache::Off).expect("it is switched");
            fs::write(place.join("switched"), "").expect("a sign");
            thread::sleep(Duration::from_secs(600));
        }
        "restore" => {
            drop(ledger);
            restore(place);
        }
        other => panic!("no task {other}"),
    }
}

fn new_ledger(place: &Path) -> Ledger {
    Ledger::create(&place.join("ledger"), "a test", &Roots::default(), |_| {}).expect("a ledger")
}

/// A file, a loop device over it, ext4 on that, mounted; a queue setting of another device; a
/// process.
fn stage(ledger: &mut Ledger, place: &Path) -> Result<(), host::HostError> {
    let (image, at) = (place.join("image"), place.join("mount"));
    let here = Directory::open(place)?;
    let file = ledger.file(&here, "image".as_ref())?;
    file.set_len(16 << 20).expect("room");
    let device = ledger.loop_device(&file, &image, None)?;
    let mark = place.join("process").display().to_string();
    let words = ["-c", "while :; do sleep 0.1; done", &mark];
    let start = || Ok(Command::new("sh").args(words).spawn().expect("a shell"));
    ledger.process("sh", &mark, start)?;
    let outer = fs::read_to_string(place.join("outer")).expect("a device's name");
    ledger.queue(&outer, Attribute::ReadAheadKb, "64")?;
    Program::new(["mkfs.ext4", "-q", &device.display().to_string()]).run()?;
    ledger.new_directory(&here, "mount".as_ref())?;
    ledger.mount(&device, &at, &Mounting { fs: "ext4".into(), options: "noatime".into() })?;
    fs::write(at.join("data"), [7; 4096]).expect("room");
    Ok(())
}

/// What `drivelab restore` does.
fn restore(place: &Path) {
    for left in left(&place.join("ledger")).expect("a directory") {
        let left = left.expect("a ledger that can be read");
        assert!(!left.is_alive);
        let failures = left.put_back(&Roots::default(), &mut |_| {});
        assert!(failures.is_empty(), "{failures:?}");
    }
    let ledgers = fs::read_dir(place.join("ledger")).map_or(0, Iterator::count);
    assert_eq!(ledgers, 0, "a ledger that is done with is removed");
}

/// A loop device that outlives the children, whose read-ahead they change.
struct Outer {
    name: String,
    place: tempfile::TempDir,
    read_ahead: String,
}

impl Outer {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Program::new(["mkfs.ext4"]).is_installed() {
            testkit::skip("root and mkfs.ext4");
            return None;
        }
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let image = place.path().join("outer-image");
        fs::File::create_new(&image).and_then(|file| file.set_len(1 << 20)).expect("an image");
        let text = image.display().to_string();
        let attach = || Program::new(["losetup", "--find", "--show", &text]).run().ok();
        let Some(device) = (0..5).find_map(|_| attach()) else {
            testkit::skip("a loop device");
            return None;
        };
        let name = device.trim().rsplit('/').next().expect("a name").to_owned();
        fs::write(place.path().join("outer"), &name).expect("room");
        let read_ahead = Attribute::ReadAheadKb.read(&name, &Roots::default()).expect("a setting");
        assert_ne!(read_ahead, "64");
        Some(Self { name, place, read_ahead })
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    /// Looks at the machine with other eyes than the ledger's; what is left of the stage.
    fn left_behind(&self) -> Vec<String> {
        let place = self.path().display().to_string();
        let mut found = Vec::new();
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        found.extend(mounts.lines().filter(|line| line.contains(&place)).map(str::to_owned));
        let loops = Program::new(["losetup", "--list", "--noheadings"]).run().expect("losetup");
        let is_ours = |line: &&str| line.contains(&place) && !line.contains("outer-image");
        found.extend(loops.lines().filter(is_ours).map(str::to_owned));
        let mark = format!("{place}/process");
        let processes = Command::new("pgrep").args(["-f", &mark]).output().expect("pgrep");
        let processes = String::from_utf8_lossy(&processes.stdout).into_owned();
        found.extend(processes.lines().map(|pid| format!("process {pid}")));
        for name in ["image", "mount"] {
            if self.path().join(name).exists() {
                found.push(name.to_owned());
            }
        }
        let read_ahead =
            fs::read_to_string(format!("/sys/block/{}/queue/read_ahead_kb", self.name));
        let read_ahead = read_ahead.expect("a setting").trim().to_owned();
        if read_ahead != self.read_ahead {
            found.push(format!("read-ahead {read_ahead}"));
        }
        found
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = Program::new(["losetup", "--detach", &format!("/dev/{}", self.name)]).run();
    }
}

#[test]
fn what_was_made_is_put_back_in_reverse_when_the_ledger_is_dropped() {
    let Some(outer) = Outer::new() else { return };
    let mut ledger = new_ledger(outer.path());
    stage(&mut ledger, outer.path()).expect("the stage is set");
    let seen = outer.left_behind();
    assert_eq!(seen.len(), 6, "mount, loop device, process, file, directory, setting: {seen:?}");
    // A child of ours is reaped by us alone.
    drop(ledger);
    assert_eq!(outer.left_behind(), [""; 0]);
    restore(outer.path());
}

/// `matrix --loop` in a directory of somebody else's, who renamed the image and put a link to
/// another file in its place: losetup, going by the path, put the loop device over that file, and
/// mkfs overwrote it. Renamed later, the image was not found any more, and it and its loop device
/// stayed.
#[test]
fn an_image_that_is_renamed_stays_the_one_below_the_loop_device_and_is_given_up() {
    let Some(outer) = Outer::new() else { return };
    let path = |name: &str| outer.path().join(name);
    fs::write(path("precious"), [7; 1 << 16]).expect("room");
    let mut ledger = new_ledger(outer.path());
    let here = Directory::open(outer.path()).expect("it is there");
    let file = ledger.file(&here, "image".as_ref()).expect("made");
    file.set_len(1 << 20).expect("room");
    fs::rename(path("image"), path("away")).expect("renamed");
    std::os::unix::fs::symlink(path("precious"), path("image")).expect("a link");
    let device = ledger.loop_device(&file, &path("image"), None).expect("attached");
    fs::write(&device, [1; 4096]).expect("written");
    fs::File::open(&device).and_then(|open| open.sync_all()).expect("flushed");
    assert_eq!(fs::read(path("away")).expect("it was moved")[..4096], [1; 4096]);
    assert_eq!(ledger.put_back_to(Mark::START).len(), 0);
    assert!(outer.left_behind().iter().all(|left| left == "image"), "{:?}", outer.left_behind());
    assert!(path("image").is_symlink(), "the link is not ours");
    assert_eq!(fs::metadata(path("away")).expect("it stays").len(), 0, "its space is given back");
    assert_eq!(fs::read(path("precious")).expect("it stays"), [7; 1 << 16]);
}

#[test]
fn a_panic_puts_everything_back() {
    let Some(outer) = Outer::new() else { return };
    let status = child("panic", outer.path(), &plain_path()).wait().expect("it ends");
    assert!(!status.success());
    assert_eq!(outer.left_behind(), [""; 0]);
}

/// Thirty moments of thirty lives.
#[test]
fn killed_at_any_moment_everything_is_put_back_by_restore() {
    let Some(outer) = Outer::new() else { return };
    let mut left_something = 0;
    for round in 0..30u64 {
        let mut process = child("stage", outer.path(), &plain_path());
        // Setting the stage takes some 100 ms; no two rounds stop at the same step.
        thread::sleep(Duration::from_millis(20 + round * 37 % 400));
        process.kill().expect("it runs");
        process.wait().expect("it is gone");
        left_something += usize::from(!outer.left_behind().is_empty());
        restore(outer.path());
        assert_eq!(outer.left_behind(), [""; 0], "round {round}");
    }
    assert!(left_something > 5, "the kills came when there was nothing to put back");
}

#[test]
fn what_a_living_process_holds_is_left_to_it() {
    let Some(outer) = Outer::new() else { return };
    let ledger = new_ledger(outer.path());
    let found = left(&outer.path().join("ledger")).expect("a directory");
    let [Ok(found)] = &found[..] else { panic!("one ledger: {found:?}") };
    assert!(found.is_alive && found.standing.is_empty());
    drop(ledger);
    restore(outer.path());
}

#[test]
fn a_write_cache_that_was_switched_off_is_on_again_after_a_kill() {
    let machine = common::FakeMachine::new();
    machine.disk("virtio0", "vda", "252:0");
    machine.attribute("vda", "serial", "V1");
    machine.attribute("vda", "cache_type", "write back\n");
    machine.write("proc/sys/kernel/random/boot_id", "now\n");
    let place = machine.path("");
    let mut process = child("write-cache", &place, &plain_path());
    while !place.join("switched").exists() {
        assert!(process.try_wait().expect("a child").is_none(), "it has ended");
        thread::sleep(Duration::from_millis(20));
    }
    let file = machine.path("sys/block/vda/cache_type");
    let cache = || fs::read_to_string(&file).expect("a setting").trim().to_owned();
    assert_eq!(cache(), "write through");
    process.kill().expect("it runs");
    process.wait().expect("it is gone");
    let mut steps = Vec::new();
    for left in left(&place.join("ledger")).expect("a directory") {
        let left = left.expect("a ledger that can be read");
        let failures = left.put_back(&machine.roots, &mut |step| steps.push(step.to_owned()));
        assert!(failures.is_empty(), "{failures:?}");
    }
    assert_eq!(cache(), "write back");
    assert!(steps.last().expect("steps").contains("says that its write cache is on"), "{steps:?}");
}

#[test]
fn a_setting_that_somebody_else_changed_since_is_theirs() {
    let Some(outer) = Outer::new() else { return };
    let mut ledger = new_ledger(outer.path());
    ledger.queue(&outer.name, Attribute::ReadAheadKb, "64").expect("it is taken");
    let path = format!("/sys/block/{}/queue/read_ahead_kb", outer.name);
    fs::write(&path, "256").expect("another changes it");
    let failures = ledger.put_back_to(Mark::START);
    drop(ledger);
    let [failure] = &failures[..] else { panic!("one failure: {failures:?}") };
    assert!(failure.to_string().contains("set to 256 by somebody else"), "{failure}");
    assert_eq!(fs::read_to_string(&path).expect("a setting").trim(), "256");
    // The ledger stays until somebody has decided.
    assert_eq!(left(&outer.path().join("ledger")).expect("a directory").len(), 1);
}
