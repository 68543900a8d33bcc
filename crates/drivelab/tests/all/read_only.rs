//! A managed volume that is only read, and one whose file system is full: what was flushed is
//! reached, and not one byte is written where none may be.

use crate::common;

use common::{
    Bench, LoopDevice, MIB, Outcome, ROOT, hash,
    serving::{Serving, client, good, qemu_io},
    system,
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tempfile::TempDir;

fn flash(bench: &Bench, words: &[&str]) -> Outcome {
    bench.drivelab_without_store(["flash"]).and(words).done()
}

/// A file that cannot be changed (chattr(1)) until this is dropped; `None` where its file system or
/// the user cannot.
struct Immutable(PathBuf);

impl Immutable {
    fn new(path: &Path) -> Option<Self> {
        system("chattr", &["+i", path.to_str()?])?;
        Some(Self(path.to_owned()))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        system("chattr", &["-i", self.0.to_str().expect("plain names")]);
    }
}

/// A file system of so many bytes in memory, unmounted on drop; `None` without root.
struct Small(TempDir);

impl Small {
    fn mount(bytes: u64) -> Option<Self> {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let options = format!("size={bytes}");
        let at = place.path().to_str().expect("plain names");
        system("mount", &["-t", "tmpfs", "-o", &options, "drivelab-test", at])?;
        Some(Self(place))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let at = self.0.path().to_str().expect("plain names");
        // A killed server's ring lets go of its files a moment after it.
        let is_gone = (0..50).any(|_| {
            thread::sleep(Duration::from_millis(20));
            system("umount", &["--quiet", at]).is_some()
        });
        if !is_gone {
            system("umount", &["--lazy", at]);
        }
    }
}

/// A volume of 16 MiB flushed and more that was not, in a server that was killed.
fn killed(bench: &Bench, image: &str) -> u64 {
    let server = Serving::start(bench, &[&format!("flash:{image}")]);
    qemu_io(&server.uri, &["write -P 5 0 16M", "flush", "write -P 6 32M 1M"]);
    server.kill();
    hash(&bench.path(image))
}

fn flushed_is_read(uri: &str) {
    let said = good("qemu-io", &["-r", "-f", "raw", uri, "-c", "read -P 5 0 16M"]);
    assert!(!said.contains("failed"), "{said}");
}

/// `serve --read-only` of a volume that had not been stopped cleanly recovered it on the drive: the
/// image's hash was another afterwards, and an immutable image was refused. It is opened for
/// reading now, and recovered in memory.
#[test]
fn a_volume_that_is_served_read_only_is_not_changed_even_by_recovery() {
    need_programs!("qemu-io", "nbdinfo");
    let bench = Bench::new();
    flash(&bench, &["create", "vol.img", "--drive-size", "256M"]).succeeded();
    let before = killed(&bench, "vol.img");
    // Without root, or where the file system cannot, its permissions alone keep it.
    let _immutable = Immutable::new(&bench.path("vol.img"));
    for round in 0..2 {
        let server = Serving::start(&bench, &["flash:vol.img", "--read-only"]);
        flushed_is_read(&server.uri);
        assert!(good("nbdinfo", &[&server.uri]).contains("is_read_only: true"));
        let refused = client("qemu-io", &["-f", "raw", &server.uri, "-c", "write 0 4k"]);
        assert!(
            !refused.status.success() || String::from_utf8_lossy(&refused.stdout).contains("rror")
        );
        let said = server.stop().stdout;
        assert!(said.contains("rolled forward in memory; nothing is written"), "{round}: {said}");
        assert!(!said.contains("the volume is stopped cleanly"), "{said}");
        let status = flash(&bench, &["status", "vol.img"]).succeeded().stdout;
        assert!(status.contains("in memory"), "{status}");
        assert_eq!(hash(&bench.path("vol.img")), before, "round {round}");
    }
    // A method that only reads opens it so, too.
    bench.small_run(["flash:vol.img"]).done().succeeded();
    assert_eq!(hash(&bench.path("vol.img")), before);
    if let Some(immutable) = _immutable {
        let writable = bench.drivelab_without_store(["serve", "flash:vol.img"]);
        writable.and(["--nbd", "unix:other.sock"]).done().refused(&["--read-only"]);
        drop(immutable);
    }
    let server = Serving::start(&bench, &["flash:vol.img"]);
    flushed_is_read(&server.uri);
    server.stop();
    assert_ne!(hash(&bench.path("vol.img")), before, "recovery was written down now");
}

#[test]
fn a_volume_on_a_device_that_can_only_be_read_is_served() {
    need_programs!("qemu-io");
    let bench = Bench::new();
    flash(&bench, &["create", "vol.img", "--drive-size", "256M"]).succeeded();
    let before = killed(&bench, "vol.img");
    let device = need!(LoopDevice::over(bench.path("vol.img"), &["--read-only"]), ROOT);
    let target = format!("flash:{}", device.text());
    let server = Serving::start(&bench, &[&target, "--read-only"]);
    flushed_is_read(&server.uri);
    server.stop();
    drop(device);
    assert_eq!(hash(&bench.path("vol.img")), before);
}

/// A volume in a file with holes, on a file system that cannot hold all of it.
fn on_a_small_file_system() -> Option<(Small, Bench, PathBuf)> {
    let small = Small::mount(120 * MIB)?;
    let bench = Bench::below(small.0.path());
    let ballast = bench.path("ballast");
    File::create(&ballast).and_then(|file| file.set_len(0)).expect("a file");
    system("fallocate", &["-l", "24M", ballast.to_str()?])?;
    let image = File::create(bench.path("vol.img")).expect("a file");
    image.set_len(256 * MIB).expect("a file with holes");
    Some((small, bench, ballast))
}

/// Writes on until there is no room.
fn fill_up(uri: &str) {
    let ends: Vec<String> = (16..160).map(|at| format!("write -P 7 {at}M 1M")).collect();
    let mut arguments = vec!["-t", "writeback", "-f", "raw", uri];
    ends.iter().for_each(|command| arguments.extend(["-c", command]));
    let output = client("qemu-io", &arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No space left on device"), "{said}");
}

/// The file system below was full, and the volume opened no more, not even to be read: recovery has
/// to write. Opened for reading it needs no room; opened for writing it says how much it needs, and
/// with that it opens.
#[test]
fn a_volume_on_a_full_file_system_is_read_and_opens_again_when_there_is_room() {
    need_programs!("qemu-io", "fallocate");
    let (_small, bench, ballast) = need!(on_a_small_file_system(), "root, to mount a tmpfs");
    let made = flash(&bench, &["create", "vol.img"]).succeeded().stdout;
    assert!(made.contains("the file has holes") && made.contains("too little"), "{made}");
    let server = Serving::start(&bench, &["flash:vol.img"]);
    qemu_io(&server.uri, &["write -P 5 0 16M", "flush"]);
    fill_up(&server.uri);
    flushed_is_read(&server.uri);
    server.kill();
    fill_the_rest(&bench);
    let before = hash(&bench.path("vol.img"));
    let server = Serving::start(&bench, &["flash:vol.img", "--read-only"]);
    flushed_is_read(&server.uri);
    server.stop();
    assert_eq!(hash(&bench.path("vol.img")), before);
    flash(&bench, &["check", "vol.img"]).succeeded();
    let refused = bench.drivelab_without_store(["serve", "flash:vol.img", "--nbd", "unix:w.sock"]);
    let refused =
        refused.done().refused(&["no space is left below it", "--read-only", "MiB: free"]);
    let needed = refused.stderr.split("takes up to ").nth(1).expect("it says how much");
    let mib: u64 = needed.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    assert!((1..24).contains(&mib), "{needed}");
    // Just as much.
    let left = 24 * MIB - mib * MIB;
    File::options().write(true).open(&ballast).and_then(|file| file.set_len(left)).expect("shrunk");
    let server = Serving::start(&bench, &["flash:vol.img"]);
    flushed_is_read(&server.uri);
    let _ = server.stop();
    flash(&bench, &["check", "vol.img"]).succeeded();
}

/// Whatever is left after the volume's last write.
fn fill_the_rest(bench: &Bench) {
    let path = bench.path("rest");
    let mut file = File::create(&path).expect("a name takes no room");
    while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
}

/// Without a kill: clients are told, nothing that was flushed is lost, and nothing is taken for a
/// bad segment.
#[test]
fn a_file_system_that_fills_up_while_it_is_served_fails_writes_and_loses_nothing() {
    need_programs!("qemu-io", "fallocate");
    let (_small, bench, ballast) = need!(on_a_small_file_system(), "root, to mount a tmpfs");
    flash(&bench, &["create", "vol.img"]).succeeded();
    let server = Serving::start(&bench, &["flash:vol.img"]);
    qemu_io(&server.uri, &["write -P 5 0 16M", "flush"]);
    fill_up(&server.uri);
    flushed_is_read(&server.uri);
    server.signal("TERM");
    let outcome = server.wait();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    fs::remove_file(&ballast).expect("room");
    let server = Serving::start(&bench, &["flash:vol.img"]);
    flushed_is_read(&server.uri);
    qemu_io(&server.uri, &["write -P 8 0 4M", "flush", "read -P 8 0 4M", "read -P 5 4M 12M"]);
    server.stop();
    let status = flash(&bench, &["status", "vol.img", "--json"]).succeeded().json();
    assert_eq!(status["segments"]["retired"], 0, "{status}");
    flash(&bench, &["check", "vol.img"]).succeeded();
}

/// `create` takes all space of a file with holes when it is told to.
#[test]
fn a_file_with_holes_can_be_given_its_space_at_creation() {
    let bench = Bench::new();
    File::create(bench.path("vol.img")).and_then(|file| file.set_len(64 * MIB)).expect("a file");
    let made = flash(&bench, &["create", "vol.img", "--preallocate"]).succeeded().stdout;
    assert!(!made.contains("the file has holes"), "{made}");
    let facts = fs::metadata(bench.path("vol.img")).expect("a file");
    assert!(std::os::unix::fs::MetadataExt::blocks(&facts) * 512 >= 64 * MIB, "its space is taken");
}
