//! Nothing is written that was not agreed to: what must be typed, for each command that writes, and
//! what is one device under two names.

use crate::common;

use common::{
    Bench, Call, DRIVELAB, LoopDevice, MIB, Outcome, ROOT, fill, hash, hash_device,
    serving::{Fuse, Killed, Serving, start},
    skip,
};
use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

const SERIAL: &str = "S3Z9NX0M";

/// A loop device that /sys calls `sdq`, a drive with a serial, to whoever is started in a mount
/// namespace of its own where a directory of links stands in place of /sys/dev/block.
struct FakeDrive {
    device: LoopDevice,
    links: PathBuf,
}

impl FakeDrive {
    fn new(bench: &Bench) -> Option<Self> {
        let device = LoopDevice::of_zeros(128 * MIB)?;
        let number = fs::metadata(&device.path).expect("a node").rdev();
        let number = format!("{}:{}", number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00);
        let (links, drive) = (bench.path("dev-block"), bench.path("devices/host0/block/sdq"));
        for directory in [&links, &drive.join("device"), &drive.join("queue")] {
            fs::create_dir_all(directory).expect("a directory");
        }
        for entry in fs::read_dir("/sys/dev/block").ok()?.flatten() {
            let real = fs::canonicalize(entry.path()).expect("a device");
            symlink(real, links.join(entry.file_name())).expect("a link");
        }
        fs::remove_file(links.join(&number)).expect("it was listed");
        symlink(&drive, links.join(&number)).expect("a link");
        let files = [
            ("dev", &*number),
            ("size", "262144"),
            ("ro", "0"),
            ("queue/zoned", "none"),
            ("device/model", "Example SSD 860"),
            ("device/serial", SERIAL),
        ];
        for (file, text) in files {
            fs::write(drive.join(file), text).expect("a file");
        }
        let drive = Self { device, links };
        drive.sees(Call::new(["--version"], Path::new("/"))).code.filter(|code| *code == 0)?;
        Some(drive)
    }

    /// What comes of `call` where the drive has a serial.
    fn sees(&self, call: Call) -> Outcome {
        let links = self.links.to_str().expect("plain names");
        let mount = r#"mount --bind "$0" /sys/dev/block && exec "$@""#;
        let through = ["unshare", "--mount", "sh", "-c", mount, links];
        call.through(&through, Path::new(DRIVELAB)).done()
    }

    /// Every command that writes to a device, with the words that start it.
    fn commands(&self, bench: &Bench) -> [(&'static str, Vec<String>); 4] {
        let device = self.device.text();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let method = bench.path("small.toml");
        let measured = format!("--method {} --max-time 0.3s", method.display());
        let nbd = format!("unix:{}", bench.path("none/nbd.sock").display());
        [
            ("run", words(&format!("run {device} {measured}"))),
            ("matrix", words(&format!("matrix {device} --fs raw --dry-run {measured}"))),
            ("serve", words(&format!("serve {device} --nbd {nbd}"))),
            ("flash create", words(&format!("flash create {device} --dry-run"))),
        ]
    }
}

/// A plan, or a socket whose directory is not there: the consent was given, and nothing is left to
/// wait for.
fn assert_agreed(command: &str, outcome: &Outcome) {
    match command {
        "serve" => {
            assert_eq!(outcome.code, Some(2), "{outcome:?}");
            assert!(outcome.stderr.contains("nbd.sock"), "{outcome:?}");
        }
        _ => assert_eq!(outcome.code, Some(0), "{command}: {outcome:?}"),
    }
}

/// `flash create /dev/sdb --destroy /dev/sdb` and `serve /dev/sdb --destroy sdb` went ahead without
/// the serial that help and documents promise to ask for; each command matched the word in a way of
/// its own. A path is another drive after the next boot, and who types it from the line above has
/// confirmed nothing.
#[test]
fn every_command_takes_the_serial_and_nothing_else() {
    let bench = Bench::new();
    let Some(drive) = FakeDrive::new(&bench) else { return skip("root, a loop device, unshare") };
    let before = hash_device(&drive.device);
    let link = bench.path("by-id-ata-Example_S3Z9NX0M");
    symlink(&drive.device.path, &link).expect("a link");
    let link = link.to_str().expect("plain names");
    let cure = format!("`--destroy {SERIAL}`");
    let wrong = [drive.device.text(), drive.device.name(), "sdq", link, "s3z9nx0m", "S3Z9NX0N", ""];
    for (command, words) in drive.commands(&bench) {
        let with = |typed: &str| {
            let destroy = ["--destroy", typed];
            drive.sees(bench.drivelab_without_store(&words).and(destroy))
        };
        for typed in wrong {
            with(typed).refused(&[
                &format!("`{typed}` is not its serial"),
                "Example SSD 860",
                &cure,
            ]);
        }
        drive.sees(bench.drivelab_without_store(&words)).refused(&[&cure]);
        if command != "run" {
            assert_agreed(command, &with(SERIAL));
        }
    }
    assert_eq!(hash_device(&drive.device), before, "nobody agreed, or it was a plan");
    let run = bench.small_run([drive.device.text(), "--destroy", SERIAL]);
    drive.sees(run).succeeded();
    assert_ne!(hash_device(&drive.device), before, "the write cell wrote");
}

/// The fifth that asks: a managed volume with data, on a drive.
#[test]
fn a_volume_with_data_on_a_drive_is_measured_by_writes_when_its_serial_is_typed() {
    let bench = Bench::new();
    let Some(drive) = FakeDrive::new(&bench) else { return skip("root, a loop device, unshare") };
    let device = drive.device.text();
    let create = ["flash", "create", device, "--destroy", SERIAL];
    drive.sees(bench.drivelab_without_store(create)).succeeded();
    let target = format!("flash:{device}");
    let run = |words: &[&str]| {
        drive.sees(bench.small_run([target.as_str()]).and(words)).succeeded();
        bench.record("last")
    };
    assert_eq!(common::cell_names(&run(&[])), ["reads", "writes"], "it was empty");
    for typed in [device, drive.device.name(), "sdq"] {
        let record = run(&["--destroy", typed]);
        assert_eq!(common::cell_names(&record), ["reads"], "--destroy {typed}");
        let reason = record["left_out"][0]["reason"].as_str().expect("a reason");
        assert!(reason.contains(&format!("agree with `--destroy {SERIAL}`")), "{reason}");
    }
    let record = run(&["--destroy", SERIAL]);
    assert_eq!(common::cell_names(&record), ["reads", "writes"]);
}

/// A file on a file system in user space takes no space by its own account. `flash create` took it
/// for empty and asked nobody: an image of 64 MiB was lost.
#[test]
fn a_full_file_that_says_it_takes_no_space_is_not_overwritten_unasked() {
    need_programs!("nbdfuse");
    let bench = Bench::new();
    let image = bench.path("data.img");
    fill(&image, 64 * MIB);
    let before = hash(&image);
    let server = Serving::start(&bench, &["data.img", "--destroy", "data.img"]);
    {
        let Some(fuse) = Fuse::mount(&bench, &server.uri) else { return skip("FUSE") };
        let file = fuse.file();
        assert_eq!(fs::metadata(&file).expect("it is there").blocks(), 0);
        let text = file.to_str().expect("plain names");
        let create = bench.drivelab_without_store(["flash", "create", text]).done();
        create.refused(&["holds data", &format!("--destroy {text}")]);
    }
    server.stop();
    assert_eq!(hash(&image), before, "the image was written to");
}

/// `flash:w.img` was served and so was `flash:/dev/loop1` over it: two names, two locks. 200 of 200
/// blocks that the first had flushed were wrong, and `check` called the volume healthy.
#[test]
fn a_volume_is_used_by_one_process_under_whatever_name() {
    let bench = Bench::new();
    let image = bench.path("w.img");
    let create = ["flash", "create", "w.img", "--drive-size", "128M"];
    bench.drivelab_without_store(create).done().succeeded();
    fs::hard_link(&image, bench.path("hard.img")).expect("a hard link");
    let serve = |target: &str| {
        let nbd = format!("unix:{}", bench.path("second.sock").display());
        bench.drivelab_without_store(["serve", target, "--nbd", &nbd]).done()
    };
    let first = Serving::start(&bench, &["flash:w.img"]);
    let device = need!(LoopDevice::over(image, &[]), ROOT);
    let over_device = format!("flash:{}", device.text());
    serve(&over_device).refused(&["is in use by process", "w.img"]);
    serve(device.text()).refused(&["is in use by process", "w.img"]);
    let status = bench.drivelab_without_store(["flash", "status", device.text()]).done();
    status.refused(&["is in use by process", "w.img"]);
    let run = bench.small_run([device.text(), "--destroy", device.name()]).done();
    assert_eq!(run.code, Some(2), "{run:?}");
    // The file itself, by another name: who serves it is in the kernel's list of locks.
    drop(device);
    serve("flash:hard.img").refused(&["is in use by process"]);
    first.stop();
    let device = need!(LoopDevice::over(bench.path("w.img"), &[]), ROOT);
    let second = Serving::start(&bench, &[over_device_of(&device).as_str()]);
    let attached = format!("{} is attached to the same file", device.name());
    for name in ["w.img", "hard.img"] {
        serve(&format!("flash:{name}")).refused(&[&attached, "losetup -d"]);
        bench
            .drivelab_without_store(["flash", "create", name, "--destroy", name])
            .done()
            .refused(&[&attached]);
        let served = ["serve", name, "--destroy", name, "--nbd", "unix:third.sock"];
        bench.drivelab_without_store(served).done().refused(&[&attached]);
    }
    second.stop();
    bench.drivelab_without_store(["flash", "check", device.text()]).done().succeeded();
}

fn over_device_of(device: &LoopDevice) -> String {
    format!("flash:{}", device.text())
}

/// The first block of a volume was overwritten. `status` found the volume by its other copies;
/// `run` on the raw device took it for blank and destroyed it.
#[test]
fn a_volume_whose_first_copy_is_damaged_is_not_blank() {
    let bench = Bench::new();
    let device = need!(LoopDevice::of_zeros(128 * MIB), ROOT);
    let words = ["flash", "create", device.text(), "--destroy", device.name()];
    bench.drivelab_without_store(words).done().succeeded();
    let open = File::options().write(true).open(&device.path).expect("it opens");
    open.write_all_at(&[0; 4096], 0).and_then(|()| open.sync_all()).expect("it is written");
    drop(open);
    bench.drivelab_without_store(["flash", "status", device.text()]).done().succeeded();
    let before = hash_device(&device);
    let run = bench.small_run([device.text(), "--destroy", device.name()]).done();
    run.refused(&["it holds data (a drivelab flash volume", "wipefs"]);
    assert_eq!(hash_device(&device), before);
}

/// A matrix judged its device before the first turn and went by the name afterwards. The device was
/// taken away between two turns and another attached under the same name: it was wiped and
/// overwritten, in a table without a word.
#[test]
fn a_device_is_kept_from_the_first_turn_of_a_matrix_to_the_last() {
    let bench = Bench::new();
    let device = need!(LoopDevice::of_zeros(256 * MIB), ROOT);
    fill(&bench.path("precious.img"), 64 * MIB);
    let precious = bench.path("precious.img");
    let before = hash(&precious);
    // Between the first turn and the second, in the place of `wipefs`.
    fs::create_dir(bench.path("bin")).expect("a directory");
    let script = format!(
        "#!/bin/sh\necho >>'{tally}'\nif [ $(wc -l <'{tally}') = 2 ]; then\n  losetup -d {device}\n  \
         losetup {device} '{precious}'\n  echo $? >'{outcome}'\nfi\n\
         PATH=/usr/sbin:/sbin:/usr/bin:/bin exec wipefs \"$@\"\n",
        tally = bench.path("tally").display(),
        outcome = bench.path("exchanged").display(),
        device = device.text(),
        precious = precious.display(),
    );
    let wipefs = bench.file("bin/wipefs", script);
    fs::set_permissions(&wipefs, fs::Permissions::from_mode(0o755)).expect("chmod");
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").expect("one"));
    let method = bench.path("small.toml");
    let matrix = bench
        .drivelab(["matrix", device.text(), "--destroy", device.name(), "--fs", "raw,ext4"])
        .and(["--passes", "1", "--max-time", "0.3s", "--yes", "--method"])
        .and([method])
        .variable("PATH", &path);
    let outcome = matrix.done();
    let exchanged = fs::read_to_string(bench.path("exchanged")).expect("it came to that");
    device.detach_from(&precious);
    assert_eq!(hash(&precious), before, "another device was overwritten: {outcome:?}");
    // Either nobody could take the name, and all turns were on the one device, or it was seen.
    match exchanged.trim() {
        "0" => assert!(outcome.stderr.contains("agreed to"), "{outcome:?}"),
        _ => drop(outcome.succeeded()),
    }
}

/// `/dev/sdb` was mistyped as `/dev/sdzz`. No such device: it was a new file, in the memory that
/// /dev lies in, and its rates went into a table.
#[test]
fn a_mistyped_device_is_no_new_file() {
    let bench = Bench::new();
    bench
        .small_run(["/dev/sdzz"])
        .done()
        .refused(&["there is no device /dev/sdzz", "drivelab devices"]);
    let create = ["flash", "create", "/dev/sdzz", "--drive-size", "64M"];
    bench.drivelab_without_store(create).done().refused(&["there is no device /dev/sdzz"]);
    assert!(!Path::new("/dev/sdzz").exists());
}

/// A virtual machine ran on `disk.img`. `flash create` and `serve` asked for its name and then
/// wrote into the running machine's disk: qemu locks ranges, and only whole files were looked at.
#[test]
fn a_file_that_another_program_has_locked_is_not_written() {
    need_programs!("qemu-nbd");
    let bench = Bench::new();
    let image = bench.path("disk.img");
    fill(&image, 16 * MIB);
    let before = hash(&image);
    let socket = bench.path("qemu.sock");
    let (at, image) = (socket.to_str().expect("plain"), image.to_str().expect("plain"));
    let arguments = ["--persistent", "--format=raw", "--socket", at, image];
    let _machine = Killed(start("qemu-nbd", &arguments));
    // A connected client has it opened and locked for good.
    for _ in 0..250 {
        if std::os::unix::net::UnixStream::connect(&socket).is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let create = ["flash", "create", "disk.img", "--destroy", "disk.img"];
    let created = bench.drivelab_without_store(create).done();
    let nbd = format!("unix:{}", bench.path("nbd.sock").display());
    let serve = ["serve", "disk.img", "--destroy", "disk.img", "--nbd", &nbd];
    let served = bench.drivelab_without_store(serve).done();
    for refused in [created, served] {
        refused.refused(&["has locked a part of it", "fuser -v"]);
    }
    assert_eq!(hash(Path::new(image)), before);
}
