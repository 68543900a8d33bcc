//! Managed volumes as a user meets them: made, looked at, measured, killed, damaged, refused.

use crate::common;

use common::{
    Bench, LoopDevice, MIB, Mounted, Outcome, ROOT, assert_one_sentence,
    browser::{Browser, marks, reads_file},
    fill, hash, skip,
};
use serde_json::Value;
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt},
    path::Path,
};

/// `drivelab flash WORDS...` in the bench's directory.
fn flash(bench: &Bench, words: &[&str]) -> Outcome {
    bench.drivelab_without_store(["flash"]).and(words).done()
}

/// A new volume in `vol.img`, on a drive of 256 MiB.
fn a_volume(bench: &Bench) -> std::path::PathBuf {
    flash(bench, &["create", "vol.img", "--drive-size", "256M"]).succeeded();
    bench.path("vol.img")
}

fn status(bench: &Bench) -> Value {
    flash(bench, &["status", "vol.img", "--json"]).succeeded().json()
}

/// Fills 16 MiB and overwrites some of it.
fn used(bench: &Bench) {
    bench.small_run(["flash:vol.img"]).done().succeeded();
}

#[test]
fn a_volume_is_made_measured_looked_at_and_verified() {
    let bench = Bench::new();
    let made = flash(&bench, &["create", "vol.img", "--drive-size", "256M"]).succeeded();
    for words in
        ["Makes a managed volume on a new file of 256 MiB", "184.3 MiB, spare 28", "memory"]
    {
        assert!(made.stdout.contains(words), "{words}: {}", made.stdout);
    }
    let facts = fs::metadata(bench.path("vol.img")).expect("a file");
    assert_eq!((facts.len(), facts.permissions().mode() & 0o777), (256 * MIB, 0o600));
    assert!(facts.blocks() * 512 >= 256 * MIB, "its space is taken");
    let empty = status(&bench);
    assert_eq!((&empty["mapped_bytes"], &empty["stopped_cleanly"]), (&0.into(), &true.into()));

    used(&bench);
    let record = bench.record("last");
    let target = &record["targets"][0];
    assert_eq!((target["kind"].as_str(), record["time"].as_str()), (Some("flash"), Some("wall")));
    let managed = &target["managed_flash"];
    assert_eq!(managed["mapped_bytes"], 16 * MIB, "the area was filled");
    assert!(managed["host_bytes"].as_u64() > Some(16 * MIB), "and overwritten: {managed}");
    let shown = bench.drivelab(["show", "last"]).done().succeeded().stdout;
    assert!(shown.contains("\nflash ") && shown.contains("amplification 1."), "{shown}");

    let full = status(&bench);
    assert_eq!(full["mapped_bytes"], 16 * MIB);
    assert_eq!(
        full["lifetime"]["host_bytes"], managed["host_bytes"],
        "counted on disk as in the run"
    );
    assert_eq!(full["stopped_cleanly"], true);
    let page = flash(&bench, &["status", "vol.img"]).succeeded().stdout;
    for words in ["16 MiB", "cleanly", "write amplification", "drive writes", "0 wrong checksums"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    let checked = flash(&bench, &["check", "vol.img"]).succeeded().stdout;
    assert!(checked.contains("healthy") && checked.contains("16 MiB of data"), "{checked}");
}

#[test]
fn a_dry_run_of_create_makes_nothing() {
    let bench = Bench::new();
    let plan =
        flash(&bench, &["create", "vol.img", "--drive-size", "10G", "--dry-run"]).succeeded();
    assert!(
        plan.stdout.contains("Would make") && plan.stdout.contains("spare 28"),
        "{}",
        plan.stdout
    );
    assert!(!bench.path("vol.img").exists());
    let thin = ["create", "vol.img", "--drive-size", "1G", "--size", "10G", "--dry-run"];
    let thin = flash(&bench, &thin).succeeded().stdout;
    assert!(thin.contains("10 GiB, thin"), "{thin}");
    let striped = [
        "create",
        "vol.img",
        "--drive-size",
        "10G",
        "--stripe",
        "192K",
        "--parity",
        "protected",
        "--dry-run",
    ];
    let striped = flash(&bench, &striped).succeeded().stdout;
    assert!(striped.contains("only whole stripes of 192 KiB"), "{striped}");
}

#[test]
fn what_holds_data_is_not_overwritten_until_its_name_is_typed() {
    let bench = Bench::new();
    fill(&bench.path("data.img"), 64 * MIB);
    let before = hash(&bench.path("data.img"));
    flash(&bench, &["create", "data.img"]).refused(&["holds data", "--destroy data.img"]);
    flash(&bench, &["create", "data.img", "--destroy", "other"]).refused(&["--destroy data.img"]);
    assert_eq!(hash(&bench.path("data.img")), before);
    flash(&bench, &["create", "data.img", "--destroy", "data.img"]).succeeded();
    flash(&bench, &["check", "data.img"]).succeeded();
    // Holes hold nothing.
    File::create(bench.path("holes.img")).and_then(|file| file.set_len(64 * MIB)).expect("a file");
    flash(&bench, &["create", "holes.img"]).succeeded();
    flash(&bench, &["create", "holes.img"]).refused(&["a managed volume", "--destroy holes.img"]);
}

#[test]
fn a_volume_with_data_is_measured_by_reads_until_its_path_is_typed() {
    let bench = Bench::new();
    a_volume(&bench);
    used(&bench);
    let before = status(&bench)["lifetime"]["host_bytes"].clone();
    bench.small_run(["flash:vol.img"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(common::cell_names(&record), ["reads"]);
    let reason = record["left_out"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("--destroy vol.img"), "{reason}");
    assert_eq!(status(&bench)["lifetime"]["host_bytes"], before);
    bench.small_run(["flash:vol.img", "--destroy", "vol.img"]).done().succeeded();
    assert_eq!(common::cell_names(&bench.record("last")), ["reads", "writes"]);
}

#[test]
fn words_that_cannot_be_meant_are_refused_with_the_cure() {
    let bench = Bench::new();
    bench.file("letter.txt", "Dear Sir,\n".repeat(1000));
    let cases: &[(&[&str], &[&str])] = &[
        (&["status", "absent.img"], &["absent.img", "there is no absent.img", "flash create"]),
        (&["status", "letter.txt"], &["letter.txt", "no superblock", "rescue"]),
        (&["check", "letter.txt"], &["letter.txt", "no superblock", "rescue"]),
        (&["status", "area"], &["is a directory", "a file or on a block device"]),
        (&["create", "area"], &["is a directory", "area/volume.img"]),
        (&["create", "vol.img"], &["does not exist", "--drive-size 10G"]),
        (&["create", "letter.txt", "--drive-size", "1G"], &["letter.txt exists", "leave it out"]),
        (&["create", "vol.img", "--drive-size", "900T"], &["does not fit", "lower --drive-size"]),
        (&["create", "vol.img", "--drive-size", "64K"], &["vol.img"]),
        (
            &["create", "vol.img", "--drive-size", "1G", "--spare", "1%"],
            &["spare of 1 %", "or more"],
        ),
        (&["create", "vol.img", "--drive-size", "1G", "--spare", "101%"], &["--spare", "28%"]),
        (&["create", "vol.img", "--drive-size", "1G", "--segment", "5000"], &["segment", "take "]),
        (
            &["create", "vol.img", "--drive-size", "1G", "--stripe", "1000"],
            &["stripe", "take 4096 B"],
        ),
        (&["create", "vol.img", "--drive-size", "1G", "--size", "17T"], &["16 TiB"]),
        (&["create", "vol.img", "--drive-size", "1G", "--chunk", "1G"], &["chunk", "are possible"]),
        (&["create", "vol.img", "--drive-size", "1G", "--parity", "some"], &["none, protected"]),
        (&["rescue", "letter.txt", "--to", "out.img"], &["letter.txt"]),
        (&["predict", "model:mtron-por-32"], &["Did you mean `mtron-pro-32`"]),
        (&["predict", "model:mtron-pro-32/ext4"], &["leave the file system out"]),
        (&["predict", "null:"], &["no rates of its own", "model:STACK"]),
        (&["check", "letter.txt", "--findings", "few"], &["--findings"]),
    ];
    for (words, told) in cases {
        flash(&bench, words).refused(told);
        assert!(!bench.path("vol.img").exists(), "{words:?} left a file");
        assert!(!bench.path("out.img").exists(), "{words:?} left a file");
    }
    bench.small_run(["flash:letter.txt"]).done().refused(&["letter.txt", "no superblock"]);
    bench.small_run(["flash:"]).done().refused(&["names no volume", "flash create"]);
    bench.small_run(["memory:lots"]).done().refused(&["is not a size", "memory:1G"]);
    bench.small_run(["memory:900T"]).done().refused(&["this machine has", "at most"]);
    bench.small_run(["memory:1G/ext4"]).done().refused(&["`ext4` is none"]);
    let buffered = bench.small_run(["memory:64M", "--io", "buffered"]).done();
    buffered.refused(&["no page cache", "--io direct"]);
}

#[test]
fn a_drive_of_memory_is_measured_alone_and_with_a_volume_on_it() {
    let bench = Bench::new();
    bench.small_run(["memory:64M"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(record["targets"][0]["kind"], "memory");
    assert!(record["targets"][0]["managed_flash"].is_null());
    bench.small_run(["memory:64M/flash:spare=40%"]).done().succeeded();
    let managed = &bench.record("last")["targets"][0]["managed_flash"];
    assert_eq!(managed["mapped_bytes"], 16 * MIB);
}

/// Offsets of the four superblocks: docs/reference/flash-format.md, "Places", with U from `status`.
fn superblocks(seen: &Value) -> [u64; 4] {
    let number = |key: &str| seen[key].as_u64().expect("a number");
    let unit = number("stripe_bytes").max(number("erase_unit_bytes"));
    let device = number("device_bytes");
    [0, unit, device / unit * unit - 2 * unit, device / 4096 * 4096 - 4096]
}

fn scribble(path: &Path, offset: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("the file opens");
    file.write_all_at(&[0x5a; 4096], offset).expect("written");
}

#[test]
fn one_damaged_superblock_is_said_and_four_are_the_end_of_opening_but_not_of_the_data() {
    let bench = Bench::new();
    let path = a_volume(&bench);
    used(&bench);
    let copies = superblocks(&status(&bench));
    scribble(&path, copies[0]);
    let told = status(&bench);
    assert_eq!(told["superblocks_damaged"], 1, "{told}");
    assert_eq!(told["mapped_bytes"], 16 * MIB);
    let checked = flash(&bench, &["check", "vol.img"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stdout.contains("superblock copy 0"), "{}", checked.stdout);
    bench.small_run(["flash:vol.img"]).done().succeeded();

    copies.iter().for_each(|offset| scribble(&path, *offset));
    let before = hash(&path);
    flash(&bench, &["status", "vol.img"]).refused(&["no superblock", "flash rescue"]);
    bench.small_run(["flash:vol.img"]).done().refused(&["no superblock", "flash rescue"]);
    let rescued = flash(&bench, &["rescue", "vol.img", "--to", "out.img"]);
    assert!(rescued.code.is_some_and(|code| code < 2), "{rescued:?}");
    assert!(rescued.stdout.contains("16 MiB"), "{}", rescued.stdout);
    let out = fs::metadata(bench.path("out.img")).expect("an image");
    assert!(out.len() >= 16 * MIB, "{}", out.len());
    assert_eq!(hash(&path), before, "the source is only read");
}

/// `rescue` of a volume with many damaged places printed eight ranges "and 298 more", `check`
/// twenty findings, and there was no way to see all. What is right: JSON has every range, so that a
/// backup can be put back in just these places.
#[test]
fn every_damaged_range_can_be_had_as_json() {
    let bench = Bench::new();
    let path = a_volume(&bench);
    used(&bench);
    let image = fs::read(&path).expect("an image");
    // Every fifth block of what was written, away from superblocks and roots.
    let blocks = (1024..image.len() / 4096 - 2048).step_by(5).filter(|block| {
        let data = &image[block * 4096..(block + 1) * 4096];
        data.iter().any(|&byte| byte != 0)
    });
    let damaged = blocks.map(|block| scribble(&path, block as u64 * 4096)).count();
    assert!(damaged > 300, "{damaged} blocks hold something");

    let listed = flash(&bench, &["check", "vol.img"]);
    assert!(listed.stdout.contains(" more: --findings N lists more, --json all"), "{listed:?}");
    let checked = flash(&bench, &["check", "vol.img", "--json"]);
    assert_eq!(checked.code, Some(1));
    let checked = checked.json();
    assert_eq!(checked["verdict"], "damaged");
    let findings = checked["findings"].as_array().expect("a list");
    // What a damaged page of the map maps is lost to `check`, and found in the log by `rescue`.
    let wrong = findings
        .iter()
        .filter(|finding| finding["text"].as_str().is_some_and(|text| text.contains("checksums")));
    let mut wrong: Vec<(u64, u64)> = wrong.map(|finding| range(&finding["range"])).collect();
    wrong.sort_unstable();
    assert!(wrong.len() > 200 && wrong.len() <= damaged, "{} of {damaged}", wrong.len());

    let rescued = flash(&bench, &["rescue", "vol.img", "--to", "out.img", "--json"]);
    assert_eq!(rescued.code, Some(1));
    let rescued = rescued.json();
    let list = |key: &str| rescued[key].as_array().expect("a list").iter().map(range);
    let named: Vec<(u64, u64)> = list("lost").chain(list("doubtful")).collect();
    for (offset, bytes) in wrong {
        let end = offset + bytes;
        let is_named = named.iter().any(|range| range.0 <= offset && end <= range.0 + range.1);
        assert!(is_named, "{offset}..{end} is not among {} ranges", named.len());
    }
    let told = status(&bench);
    let lost = told["lost"].as_array().expect("a list").iter().map(|blocks| range(blocks).1);
    assert_eq!(told["lost_bytes"].as_u64(), Some(lost.sum()), "what the map calls lost, in ranges");
}

fn range(told: &Value) -> (u64, u64) {
    let number = |key: &str| told[key].as_u64().expect("a number");
    (number("offset"), number("bytes"))
}

#[test]
fn a_volume_shrinks_only_with_leave_and_grows_with_its_drive() {
    let bench = Bench::new();
    let path = a_volume(&bench);
    used(&bench);
    flash(&bench, &["resize", "vol.img"]).refused(&["--size"]);
    flash(&bench, &["resize", "vol.img", "--size", "8M"]).refused(&["vol.img"]);
    // A volume of 6 GiB on a drive of 2 GiB was made, "spare 0.0 %".
    let more = ["resize", "vol.img", "--size", "300M"];
    flash(&bench, &more).refused(&["the drive can hold", "--overcommit", "choose that size"]);
    let thin = flash(&bench, &[&more[..], &["--overcommit"]].concat()).succeeded().stdout;
    assert!(thin.contains("300 MiB instead of") && thin.contains("\"no space\""), "{thin}");
    assert_eq!(status(&bench)["mapped_bytes"], 16 * MIB, "untouched");
    flash(&bench, &["resize", "vol.img", "--size", "100M"]).succeeded();
    assert_eq!(status(&bench)["exported_bytes"], 100 * MIB);
    let discarded = flash(&bench, &["resize", "vol.img", "--size", "8M", "--discard"]).succeeded();
    assert!(discarded.stdout.contains("discarded 8 MiB"), "{}", discarded.stdout);
    let file = OpenOptions::new().write(true).open(&path).expect("the file opens");
    file.set_len(300 * MIB).expect("grown");
    flash(&bench, &["resize", "vol.img", "--size", "200M", "--whole-drive"]).succeeded();
    let told = status(&bench);
    assert_eq!(
        (&told["exported_bytes"], &told["mapped_bytes"]),
        (&(200 * MIB).into(), &(8 * MIB).into())
    );
    flash(&bench, &["check", "vol.img"]).succeeded();
    bench.small_run(["flash:vol.img"]).done().succeeded();
}

/// CRC-32C, bit by bit (RFC 3720, appendix B.4).
fn crc32c(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (0u32.wrapping_sub(crc & 1)));
        }
    }
    !crc
}

#[test]
fn a_volume_of_a_newer_version_and_a_drive_that_shrank_are_refused_and_stay_as_they_are() {
    let bench = Bench::new();
    let path = a_volume(&bench);
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("the file opens");
    let copies = superblocks(&status(&bench));
    let mut blocks = copies.map(|offset| {
        let mut block = vec![0; 4096];
        file.read_exact_at(&mut block, offset).expect("read");
        (offset, block)
    });
    for (offset, block) in &mut blocks {
        // docs/reference/flash-format.md, "Superblock": version at 8, volume id at 16, CRC at 132.
        block[8..12].copy_from_slice(&7u32.to_le_bytes());
        block[132..136].fill(0);
        let crc = crc32c(
            block[16..32].iter().copied().chain(offset.to_le_bytes()).chain(block.iter().copied()),
        );
        block[132..136].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(block, *offset).expect("written");
    }
    let before = hash(&path);
    flash(&bench, &["status", "vol.img"]).refused(&["format 7", "newer drivelab"]);
    bench.small_run(["flash:vol.img"]).done().refused(&["format 7", "newer drivelab"]);
    assert_eq!(hash(&path), before);

    let bench = Bench::new();
    let path = a_volume(&bench);
    let file = OpenOptions::new().write(true).open(&path).expect("the file opens");
    file.set_len(200 * MIB).expect("shrunk");
    let before = hash(&path);
    flash(&bench, &["status", "vol.img"]).refused(&["268435456 B", "209715200 B", "rescue"]);
    bench.small_run(["flash:vol.img"]).done().refused(&["give the drive its size back"]);
    assert_eq!(hash(&path), before);
}

#[test]
fn a_volume_in_use_is_refused_with_the_name_of_who_has_it() {
    let bench = Bench::new();
    let path = a_volume(&bench);
    let file = File::open(&path).expect("the file opens");
    file.lock().expect("our lock");
    let me = format!("process {}", std::process::id());
    for words in [&["status", "vol.img"], &["check", "vol.img"]] {
        flash(&bench, words).refused(&["vol.img is in use", &me, "one process at a time"]);
    }
    bench.small_run(["flash:vol.img"]).done().refused(&["is in use", &me]);
    drop(file);
    flash(&bench, &["status", "vol.img"]).succeeded();
}

/// Reads and writes without an end.
const ENDLESS: &str = r#"
name = "endless"
title = "random writes"
about = "For tests."
span = "64MiB"
grade = "quick"
ask_above = 1e9
seconds_max = 30
[[cell]]
name = "writes"
op = "write"
pattern = "random"
block = "4KiB"
"#;

/// Starts a run of random writes and waits until some have reached the drive.
fn writing(bench: &Bench) -> common::Living {
    bench.file("endless.toml", ENDLESS);
    let path = bench.path("vol.img");
    let before = hash(&path);
    let run = ["run", "flash:vol.img", "--grade", "publish", "--method", "endless.toml"];
    // A fast drive wrote all that its cell is bound to before the signal came.
    let endless = ["--passes", "1000", "--max-written", "1TB", "--max-time", "5h"];
    let mut living = bench.drivelab(run).and(endless).start();
    living.wait_until("something was written", || hash(&path) != before);
    std::thread::sleep(std::time::Duration::from_millis(300));
    living
}

#[test]
fn a_killed_run_leaves_a_volume_that_is_healthy_and_opens_again() {
    let bench = Bench::new();
    a_volume(&bench);
    for _ in 0..3 {
        let living = writing(&bench);
        living.signal("KILL");
        assert_eq!(living.wait().code, None, "killed");
        let told = status(&bench);
        assert_eq!(told["stopped_cleanly"], false, "{told}");
        let checked = flash(&bench, &["check", "vol.img"]);
        assert!(checked.stdout.contains("not cleanly"), "{checked:?}");
        assert!(!checked.stdout.contains("lost"), "{checked:?}");
        bench.small_run(["flash:vol.img", "--destroy", "vol.img"]).done().succeeded();
        flash(&bench, &["check", "vol.img"]).succeeded();
        assert_eq!(status(&bench)["stopped_cleanly"], true);
        // The next round starts from an empty volume, whose write cells need no leave.
        flash(&bench, &["create", "vol.img", "--destroy", "vol.img"]).succeeded();
    }
}

/// One interruption in six left a volume that was not stopped cleanly: writes waited for the
/// cleaner, which stops with the volume, and nothing could move.
#[test]
fn an_interrupted_run_stops_the_volume_cleanly() {
    let bench = Bench::new();
    a_volume(&bench);
    let living = writing(&bench);
    living.signal("INT");
    let outcome = living.wait();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert_eq!(status(&bench)["stopped_cleanly"], true);
    flash(&bench, &["check", "vol.img"]).succeeded();
}

/// A volume in a file with holes, on a file system that has no room for all of it.
#[test]
fn a_full_file_system_below_ends_the_run_and_loses_nothing() {
    let Some(device) = LoopDevice::of_zeros(96 * MIB) else { return skip(ROOT) };
    let Some(mounted) = device.mounted("mkfs.ext4", &[]) else { return skip(ROOT) };
    let bench = Bench::below(mounted.path());
    File::create(bench.path("vol.img")).and_then(|file| file.set_len(256 * MIB)).expect("holes");
    flash(&bench, &["create", "vol.img"]).succeeded();
    bench.file(
        "endless.toml",
        ENDLESS.replace("64MiB", "160MiB").replace("random\"\nblock", "seq\"\nblock"),
    );
    let store = tempfile::tempdir().expect("a directory");
    let run = bench
        .drivelab_without_store(["run", "flash:vol.img", "--method", "endless.toml", "--store"])
        .and([store.path().join("store.sqlite")]);
    let outcome = run.done();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let last = outcome.stderr.lines().last().unwrap_or_default().to_owned() + "\n";
    assert_one_sentence(&last, &["flash:vol.img", "No space left on device", "free some space"]);
    let checked = flash(&bench, &["check", "vol.img"]);
    assert!(checked.code.is_some_and(|code| code < 2), "{checked:?}");
    assert!(!checked.stdout.contains("\nlost"), "{checked:?}");
}

#[test]
fn a_device_is_taken_by_its_name_and_an_older_volume_by_the_same() {
    let Some(device) = LoopDevice::of_zeros(128 * MIB) else { return skip(ROOT) };
    let bench = Bench::new();
    let (path, name) = (device.text().to_owned(), device.name().to_owned());
    flash(&bench, &["create", &path]).refused(&["all its data would be lost", "--destroy"]);
    flash(&bench, &["create", &path, "--destroy", &name]).succeeded();
    let target = format!("flash:{path}");
    bench.small_run([target.as_str()]).done().succeeded();
    flash(&bench, &["check", &path]).succeeded();
    flash(&bench, &["create", &path]).refused(&["--destroy"]);
    // Whoever asks for the raw device is kept from the volume, leave or not.
    let raw = bench.small_run([path.as_str(), "--destroy", &name]).done();
    raw.refused(&["it holds data (a drivelab flash volume"]);
    flash(&bench, &["create", &path, "--destroy", &name]).succeeded();
    let told = flash(&bench, &["status", &path, "--json"]).succeeded().json();
    assert_eq!(told["mapped_bytes"], 0);
}

#[test]
fn a_mounted_device_is_refused() {
    let Some(device) = LoopDevice::of_zeros(64 * MIB) else { return skip(ROOT) };
    let Some(mounted) = device.mounted("mkfs.ext4", &[]) else { return skip(ROOT) };
    let bench = Bench::new();
    let words = ["create", device.text(), "--destroy", device.name()];
    flash(&bench, &words).refused(&["is mounted at", "umount"]);
    let target = format!("flash:{}", device.text());
    let run = bench.small_run([target.as_str()]).done();
    assert_eq!(run.code, Some(2), "{run:?}");
    let _: &Mounted = &mounted;
}

#[test]
fn a_model_with_the_layer_fills_first_and_keeps_its_counters() {
    let bench = Bench::new();
    bench.small_run(["model:mtron-pro-32/flash:spare=28%"]).done().succeeded();
    let record = bench.record("last");
    let managed = &record["targets"][0]["managed_flash"];
    assert_eq!(managed["mapped_bytes"], 16 * MIB);
    assert_eq!(managed["segment_bytes"], 32 * MIB);
    let writes = common::cell(&record, "writes");
    let iops = writes["iops"].as_f64().expect("a rate");
    assert!(iops > 10_000.0, "bare it writes 123 a second: {iops}");
    // Where nobody wrote, the map answers: that is said.
    let hollow = common::SMALL.replace("fill = 1", "fill = 0");
    bench.file("hollow.toml", hollow);
    let words =
        ["run", "model:mtron-pro-32/flash", "--max-time", "0.6s", "--method", "hollow.toml"];
    bench.drivelab(words).done().succeeded();
    let record = bench.record("last");
    assert!(common::flags(&record["targets"][0]).contains(&"deallocated_blocks"), "{record}");
    // Under an array the stripe is the array's.
    bench.small_run(["model:4xmtron-pro-32/raid5:chunk=64K/flash"]).done().succeeded();
    let record = bench.record("last");
    let kinds: Vec<&str> = record["targets"][0]["stack"]
        .as_array()
        .expect("layers")
        .iter()
        .filter_map(|layer| layer["kind"].as_str())
        .collect();
    assert_eq!(kinds[..2], ["managed_flash", "array"]);
}

#[test]
fn a_page_shows_the_measured_points_beside_the_limit() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    let words = ["predict", "model:mtron-mobi-16", "--measure", "--fill", "5%,10%"];
    let html = ["--html", "curve.html"];
    flash(&bench, &[&words[..], &html].concat()).succeeded();
    reads_file(&mut browser, &bench, "curve.html");
    // The curve's 61 points, two ends of the bare drive's level, two measured.
    assert_eq!(marks(&mut browser, &["Efficiency against fill"]), 61 + 2 + 2);
}

/// Half of a drive of 32 GB, written in blocks of 4 KiB: the row of that fill says what it does.
#[test]
fn a_prediction_for_a_trace_is_that_of_its_fill_and_mix() {
    let bench = Bench::new();
    let line = |at: u64| {
        let place = (at * 7919 % 1000 + 1) * 16_000_000 / 4096 * 4096 - 4096;
        format!("{at} d write {place} 4096\n")
    };
    let lines: String = (0..1000).map(line).collect();
    bench.file("a.iolog", format!("fio version 3 iolog\n0 d open\n{lines}1000 d close\n"));
    let words = ["predict", "model:mtron-pro-32", "--trace", "a.iolog"];
    let text = flash(&bench, &words).succeeded().stdout;
    let row = text.lines().find(|line| line.trim_start().starts_with("50.0 %")).expect(&text);
    let fields: Vec<&str> = row.split_whitespace().collect();
    let [amplification, writes, gain] = [fields[2], fields[5], fields[6]];
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let part = format!("fills 50 % of the drive, where each write costs {amplification}");
    let rate = format!("{writes} operations a second of its mix with the layer");
    let times = format!("{gain} times as many: the layer helps.");
    for part in ["a.iolog (fio iolog version 3): 1000 accesses", &part, &rate, &times] {
        assert!(one_line.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Twice the drive does not fit, and half a mix of reads is asked for.
    bench.file("b.iolog", "fio version 3 iolog\n0 d read 0 4096\n9 d write 64000000000 4096\n");
    let words = ["predict", "model:mtron-pro-32", "--trace", "b.iolog"];
    let text = flash(&bench, &words).succeeded().stdout;
    assert!(text.contains("does not fit") && text.contains("ops/s"), "{text}");
}

#[test]
fn a_prediction_says_where_the_layer_helps_and_draws_it() {
    let bench = Bench::new();
    let words = ["predict", "model:mtron-pro-32", "--svg", "curve.svg"];
    let text = flash(&bench, &words).succeeded().stdout;
    assert!(text.contains("Helps random writes up to a fill of 9"), "{text}");
    assert!(text.contains("50.0 %           1."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let picture = fs::read_to_string(bench.path("curve.svg")).expect("a picture");
    assert!(picture.contains("the bare drive") && picture.contains("</svg>"), "{picture}");
    let disk = flash(&bench, &["predict", "model:hdd-7200-cmr"]).succeeded().stdout;
    assert!(disk.contains("do not put it under what is written at random"), "{disk}");
    let none = bench.drivelab_without_store(["flash", "predict", "last", "--store", "none.sqlite"]);
    none.done().refused(&["neither `model:STACK` nor a RUN"]);
    // A real target's stored run tells its rates.
    bench
        .drivelab(["run", "memory:256M", "--size", "64M", "--max-time", "1.4s"])
        .done()
        .succeeded();
    let words = ["flash", "predict", "last", "--store", "store.sqlite"];
    let text = bench.drivelab_without_store(words).done().succeeded().stdout;
    assert!(text.contains("run ") && text.contains("of memory:256M"), "{text}");
}
