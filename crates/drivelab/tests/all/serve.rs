//! Serving, through the real binary, to the clients that people use: libnbd's, QEMU's, nbdkit's,
//! fio's, and the kernel's file systems.

use crate::common;
use crate::nbd_client;

use common::{
    Bench, LoopDevice, MIB, Mounted, assert_one_sentence, fill,
    serving::{Fuse, Serving, client, good, qemu_io},
    system,
};
use nbd_client::{Client, Replies};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    thread,
    time::{Duration, Instant},
};

/// No multiple of a block, as guests' disks are.
const SIZE: u64 = 16 * MIB - 4096 + 512;

/// A server of a file `disk.img` in the bench, all zeroes.
fn serve_file(bench: &Bench, bytes: u64) -> Serving {
    fs::File::create(bench.path("disk.img")).and_then(|file| file.set_len(bytes)).expect("a file");
    Serving::start(bench, &["disk.img", "--destroy", "disk.img"])
}

#[test]
fn what_cannot_be_served_is_refused_in_a_sentence_and_left_alone() {
    let bench = Bench::new();
    fill(&bench.path("data"), MIB);
    bench.file("empty", "");
    let before = fs::read(bench.path("data")).expect("data");
    let refused = |words: &[&str], said: &[&str]| {
        let nbd = format!("unix:{}", bench.path("s").display());
        let call = bench.drivelab_without_store(["serve"]).and(words);
        let call = if words.contains(&"--nbd") { call } else { call.and(["--nbd", &nbd]) };
        call.done().refused(said);
    };
    refused(&["data"], &["data exists", "--destroy data", "--read-only"]);
    refused(&["data", "--destroy", "other"], &["--destroy data"]);
    refused(&["area"], &["directory", "truncate -s 10G area/disk.img"]);
    refused(&["absent"], &["there is no absent", "truncate"]);
    refused(&["empty", "--read-only"], &["empty", "truncate"]);
    refused(&["null:"], &["keeps no bytes"]);
    refused(&["data", "--read-only", "--nbd", "x"], &["--nbd", "unix:PATH"]);
    refused(&["data", "--read-only", "--nbd", "tcp:10809"], &["port is missing", "tcp:HOST:PORT"]);
    refused(&["data", "--read-only", "--nbd", "unix:data"], &["no socket", "another path"]);
    refused(&["data", "--read-only", "--destroy", "data"], &["cannot be used with"]);
    refused(&["data", "--read-only", "--name", &"n".repeat(4097)], &["--name", "4096"]);
    assert!(fs::read(bench.path("data")).expect("data") == before);
    assert!(!bench.path("s").exists());
}

#[test]
fn a_device_in_use_is_not_served() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), common::ROOT);
    let mounted = need!(device.mounted("mkfs.ext4", &[]), common::ROOT);
    let bench = Bench::new();
    let nbd = format!("unix:{}", bench.path("s").display());
    let serve = |words: &[&str]| {
        bench.drivelab_without_store(["serve", device.text(), "--nbd", &nbd]).and(words).done()
    };
    serve(&["--destroy", device.name()]).refused(&["mounted", "umount"]);
    serve(&["--read-only"]).refused(&["mounted", "out of use"]);
    drop(mounted);
    serve(&[]).refused(&["--destroy", device.name(), "--read-only"]);
    let image = device.image.to_str().expect("plain");
    let words = ["serve", image, "--destroy", image, "--nbd", &nbd];
    bench.drivelab_without_store(words).done().refused(&["losetup -d", "--read-only"]);
}

#[test]
fn a_device_is_served_with_its_contents_and_cannot_be_mounted_meanwhile() {
    need_programs!("nbdcopy", "mkfs.ext4");
    let device = need!(LoopDevice::of_zeros(32 * MIB), common::ROOT);
    need!(system("mkfs.ext4", &["-q", device.text()]), "mkfs.ext4");
    let bench = Bench::new();
    let server = Serving::start(&bench, &[device.text(), "--destroy", device.name()]);
    assert!(Mounted::new(&device.path, &[]).is_none(), "it is held");
    let copy = bench.path("copy");
    good("nbdcopy", &[&server.uri, copy.to_str().expect("plain")]);
    server.stop();
    assert!(fs::read(copy).expect("a copy") == fs::read(&device.path).expect("the device"));
    assert!(Mounted::new(&device.path, &[]).is_some(), "it is let go");
}

#[test]
fn the_ready_line_says_where_and_the_summary_what_happened() {
    need_programs!("nbdinfo", "qemu-io");
    let bench = Bench::new();
    let server = serve_file(&bench, 4 * MIB);
    let mode = fs::metadata(&server.socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    qemu_io(&server.uri, &["write 0 1M", "read 0 2M", "flush"]);
    let said = server.stop().stdout;
    let socket = bench.path("nbd.sock");
    assert!(said.starts_with(&format!("serving disk.img at unix:{}", socket.display())), "{said}");
    assert!(said.contains("4 MiB, read-write\n"), "{said}");
    assert!(
        said.contains(&format!("nbdinfo 'nbd+unix:///?socket={}'", socket.display())),
        "{said}"
    );
    assert!(said.contains("everything flushed") && said.contains("1 write (1 MiB)"), "{said}");
}

#[test]
fn a_target_is_served_once_and_a_dead_servers_socket_is_replaced() {
    need_programs!("nbdinfo");
    let bench = Bench::new();
    let server = serve_file(&bench, MIB);
    let other = format!("unix:{}", bench.path("other").display());
    let again = ["serve", "disk.img", "--read-only", "--nbd", &other];
    bench.drivelab_without_store(again).done().refused(&["in use by"]);
    let same = format!("unix:{}", server.socket.display());
    bench.file("second.img", "second");
    let taken = ["serve", "second.img", "--read-only", "--nbd", &same];
    bench.drivelab_without_store(taken).done().refused(&["another server listens"]);
    server.kill();
    assert!(bench.path("nbd.sock").exists(), "a kill cleans up nothing");
    let server = serve_file(&bench, MIB);
    assert_eq!(good("nbdinfo", &["--size", &server.uri]).trim(), MIB.to_string());
    server.stop();
    let live = UnixListener::bind(bench.path("nbd.sock")).expect("the path is free again");
    drop(live);
}

#[test]
fn a_read_only_export_by_tcp_and_by_name() {
    need_programs!("nbdinfo", "qemu-io");
    let bench = Bench::new();
    bench.file("data", vec![7; 8192]);
    let words = ["serve", "data", "--read-only", "--name", "a disk", "--nbd", "tcp:127.0.0.1:0"];
    // The port is in the ready line, which a pipe gives out at the end only: so it is found by its
    // process.
    let mut server = bench.drivelab_without_store(words).start();
    let mut port = None;
    let id = server.id();
    server.wait_until("it listens", || {
        port = listening_port(id);
        port.is_some()
    });
    let uri = format!("nbd://127.0.0.1:{}/a%20disk", port.expect("just found"));
    let told = good("nbdinfo", &[&uri]);
    assert!(told.contains("is_read_only: true") && told.contains("export-size: 8192"), "{told}");
    assert!(!client("qemu-io", &["-f", "raw", &uri, "-c", "write 0 4k"]).status.success());
    server.signal("INT");
    let said = server.wait().succeeded().stdout;
    assert!(said.contains(&uri) && said.contains("read-only"), "{said}");
}

/// The port at which a process listens: its sockets' inodes in /proc/net/tcp (proc(5)).
fn listening_port(process: u32) -> Option<u16> {
    let links = fs::read_dir(format!("/proc/{process}/fd")).ok()?.flatten();
    let sockets: Vec<String> = links
        .filter_map(|link| Some(fs::read_link(link.path()).ok()?.to_str()?.to_owned()))
        .filter_map(|to| Some(to.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields[3] == "0A" && sockets.iter().any(|inode| inode == fields[9]);
        listens.then(|| u16::from_str_radix(fields[1].split_once(':')?.1, 16).ok())?
    })
}

#[test]
fn nbdcopy_brings_back_what_it_brought() {
    need_programs!("nbdcopy", "qemu-img");
    let bench = Bench::new();
    let (there, back) = (bench.path("there"), bench.path("back"));
    fill(&there, SIZE);
    let server = serve_file(&bench, SIZE);
    let (there, back) = (there.to_str().expect("plain"), back.to_str().expect("plain"));
    good("nbdcopy", &["--flush", there, &server.uri]);
    good("qemu-img", &["compare", "-f", "raw", "-F", "raw", there, &server.uri]);
    good("nbdcopy", &["--connections=4", &server.uri, back]);
    assert!(fs::read(back).expect("a copy") == fs::read(there).expect("an image"));
    server.stop();
    assert!(fs::read(bench.path("disk.img")).expect("it") == fs::read(there).expect("an image"));
}

#[test]
fn holes_of_a_file_are_told_and_punched() {
    need_programs!("nbdinfo", "qemu-io");
    let bench = Bench::new();
    let server = serve_file(&bench, 4 * MIB);
    qemu_io(
        &server.uri,
        &[
            "write -P 0xaa 1M 1M",
            "write -f -P 0xbb 512 1k",
            "write -z -u 1088k 64k",
            "discard 1216k 64k",
            "flush",
            "read -P 0xbb 512 1k",
            "read -P 0 1088k 64k",
            "read -P 0 1216k 64k",
            "read -P 0xaa 1152k 64k",
        ],
    );
    assert_eq!(states(&server, [1024, 1088, 1216, 3072]), [0, 3, 3, 3]);
    server.stop();
}

/// What `base:allocation` says of what is at each offset, in KiB: 0 is data, 3 a hole that reads as
/// zeroes.
fn states<const COUNT: usize>(server: &Serving, offsets_kib: [u64; COUNT]) -> [u64; COUNT] {
    let map = good("nbdinfo", &["--map", "--json", &server.uri]);
    let map: serde_json::Value = serde_json::from_str(&map).expect("JSON");
    offsets_kib.map(|kib| {
        let extents = map.as_array().expect("a list").iter();
        let number =
            |extent: &serde_json::Value, key: &str| extent[key].as_u64().expect("a number");
        let mut covering = extents.filter(|extent| {
            let start = number(extent, "offset");
            (start..start + number(extent, "length")).contains(&(kib << 10))
        });
        number(covering.next().expect("all is covered"), "type")
    })
}

/// docs/reference/nbd.md promises holes of managed volumes, and the layers of engines around a
/// modelled one swallowed the question.
#[test]
fn holes_of_a_volume_are_told_whatever_it_stands_on() {
    need_programs!("nbdinfo", "qemu-io");
    let bench = Bench::new();
    for target in ["memory:64M/flash", "model:intel-x25e-32:capacity=256M/flash"] {
        let server = Serving::start(&bench, &[target]);
        qemu_io(&server.uri, &["write -P 0xaa 1M 1M", "discard 1216k 64k", "flush"]);
        assert_eq!(states(&server, [1024, 1216, 3072]), [0, 3, 3], "{target}");
        server.stop();
    }
}

#[test]
fn flush_and_fua_pass_a_proxy_and_are_answered() {
    need_programs!("nbdkit", "qemu-io");
    let bench = Bench::new();
    let server = serve_file(&bench, 4 * MIB);
    let log = bench.path("log");
    let (log_text, uri) = (format!("logfile={}", log.display()), format!("uri={}", server.uri));
    let commands = "qemu-io -t writeback -f raw $uri -c 'write -P 1 0 8k' -c 'write -f -P 2 8k 4k' \
                    -c 'write -z 64k 64k' -c 'discard 1M 64k' -c 'flush' -c 'read -P 2 8k 4k'";
    let words = ["--exit-with-parent", "-U", "-", "--filter=log", "nbd", &uri, &log_text];
    let said = good("nbdkit", &[&words[..], &["--run", commands]].concat());
    assert!(!said.contains("failed"), "{said}");
    let log = fs::read_to_string(log).expect("a log");
    for request in ["Write ", "fua=1", "Flush", "Zero", "Trim", "Read "] {
        assert!(log.contains(request), "no {request} in\n{log}");
    }
    assert!(!log.contains("error="), "{log}");
    let summary = server.stop().stdout;
    assert!(summary.contains("1 trim") && !summary.contains(" 0 flushes"), "{summary}");
}

/// A managed volume `volume` in the bench.
fn serve_volume(bench: &Bench, drive_size: &str) -> Serving {
    let words = ["flash", "create", "volume", "--drive-size", drive_size];
    bench.drivelab_without_store(words).done().succeeded();
    Serving::start(bench, &["flash:volume"])
}

#[test]
fn a_lone_clients_flush_of_several_chunks_does_not_wait_for_the_servers_tick() {
    // A client that wrote 1 MiB and flushed waited 102.9 ms for a managed volume in a file, and
    // 4 MiB took as long: the last chunk lay in a queue until the server's tick of 100 ms. The
    // plain file took 0.4 ms.
    let bench = Bench::new();
    let server = serve_volume(&bench, "64M");
    let mut client = Client::connect(&server.socket, Replies::Simple);
    let mut data = vec![0; MIB as usize];
    let mut took: Vec<Duration> = (0..15u64)
        .map(|round| {
            data.chunks_mut(512).for_each(|sector| sector.fill(round as u8 + 1));
            let start = Instant::now();
            assert_eq!(client.write(0, round * MIB, &data), 0);
            assert_eq!(client.flush(), 0);
            start.elapsed()
        })
        .collect();
    took.sort();
    assert!(took[7] < Duration::from_millis(50), "half the tick, of 15 in order: {took:?}");
    client.leave();
    server.stop();
}

#[test]
fn fio_finds_every_byte_it_wrote() {
    need_programs!("fio:nbd");
    let bench = Bench::new();
    for target in ["disk.img", "volume", "memory", "managed memory"] {
        let server = match target {
            "disk.img" => serve_file(&bench, 16 * MIB),
            "volume" => serve_volume(&bench, "48M"),
            "memory" => Serving::start(&bench, &["memory:16M"]),
            _ => Serving::start(&bench, &["memory:48M/flash"]),
        };
        verify(&server.uri, &["--bs=4k", "--iodepth=32"]);
        verify(&server.uri, &["--bsrange=512-200k", "--bs_unaligned", "--iodepth=16"]);
        server.stop();
    }
}

#[test]
fn a_managed_volume_is_served_thin_and_stopped_cleanly() {
    need_programs!("nbdinfo", "nbdcopy", "qemu-io");
    let bench = Bench::new();
    let server = serve_volume(&bench, "64M");
    let hole = good("nbdinfo", &["--map", &server.uri]);
    assert!(hole.lines().count() == 1 && hole.contains("hole,zero"), "{hole}");
    let commands = ["write -P 7 1M 128k", "write -P 8 1000k 512", "discard 1088k 4k", "flush"];
    qemu_io(&server.uri, &commands);
    let map = good("nbdinfo", &["--map", &server.uri]);
    let kinds: Vec<&str> = map.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let expected = ["hole,zero", "data", "hole,zero", "data", "hole,zero", "data", "hole,zero"];
    assert_eq!(kinds, expected, "{map}");
    let second = ["serve", "flash:volume", "--nbd", "unix:other"];
    bench.drivelab_without_store(second).done().refused(&["in use by", "one process at a time"]);
    let summary = server.stop().stdout;
    assert!(summary.contains("stopped cleanly: 128 KiB of"), "{summary}");
    let check = bench.drivelab_without_store(["flash", "check", "volume"]).done().succeeded();
    assert!(!check.stdout.is_empty());
    let server = Serving::start(&bench, &["flash:volume", "--read-only"]);
    qemu_io_reads(&server.uri, "read -P 7 1092k 60k");
    server.stop();
}

fn qemu_io_reads(uri: &str, command: &str) {
    let said = good("qemu-io", &["-r", "-f", "raw", uri, "-c", command]);
    assert!(!said.contains("failed"), "{said}");
}

fn verify(uri: &str, more: &[&str]) {
    let uri = format!("--uri={uri}");
    let words = ["--name=verify", "--ioengine=nbd", "--rw=randwrite", "--size=8m", &uri];
    let checks = ["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--fsync=64"];
    let said = good("fio", &[&words[..], &checks, more].concat());
    assert!(said.contains("err= 0"), "{said}");
}

#[test]
fn file_systems_live_on_it() {
    need_programs!("nbdfuse", "losetup", "fio", "fstrim");
    // 300 MiB is the least that XFS makes a file system of.
    let fsck: [(&str, &[&str], &[&str]); 2] = [
        ("mkfs.ext4", &["-q"], &["e2fsck", "-f", "-n"]),
        ("mkfs.xfs", &["-q"], &["xfs_repair", "-n"]),
    ];
    for (mkfs, options, fsck) in fsck {
        need_programs!(mkfs, fsck[0]);
        let bench = Bench::new();
        let server = serve_volume(&bench, "480M");
        {
            let fuse = need!(Fuse::mount(&bench, &server.uri), "/dev/fuse");
            let device = need!(LoopDevice::over(fuse.file(), &[]), common::ROOT);
            good(mkfs, &[options, &[device.text()]].concat());
            {
                let mounted = need!(Mounted::new(&device.path, &[]), common::ROOT);
                let directory = format!("--directory={}", mounted.text());
                let words = ["--name=v", "--rw=randwrite", "--bs=4k", "--size=24m", &directory];
                let checks = ["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0"];
                good("fio", &[&words[..], &checks, &["--end_fsync=1"]].concat());
                fs::remove_file(mounted.path().join("v.0.0")).expect("fio's file");
                fill(&mounted.path().join("kept"), MIB);
                good("sync", &["-f", mounted.text()]);
                good("fstrim", &["-v", mounted.text()]);
            }
            good(fsck[0], &[&fsck[1..], &[device.text()]].concat());
        }
        let summary = server.stop().stdout;
        assert!(!summary.contains(" 0 trims") && !summary.contains("failed"), "{mkfs}: {summary}");
        bench.drivelab_without_store(["flash", "check", "volume"]).done().succeeded();
        let server = Serving::start(&bench, &["flash:volume"]);
        {
            let fuse = need!(Fuse::mount(&bench, &server.uri), "/dev/fuse");
            let device = need!(LoopDevice::over(fuse.file(), &["-r"]), common::ROOT);
            let mounted = need!(Mounted::new(&device.path, &["-o", "ro"]), common::ROOT);
            fill(&bench.path("kept"), MIB);
            let kept = fs::read(mounted.path().join("kept")).expect("it was flushed");
            assert!(kept == fs::read(bench.path("kept")).expect("the same"), "{mkfs}");
        }
        server.stop();
    }
}

/// Who measured over the kernel had the kernel's time beside the drive's, and to multiply himself.
#[test]
fn a_device_behind_slowed_drives_is_measured_in_their_time() {
    need_programs!("nbdfuse");
    let bench = Bench::new();
    let server = Serving::start(&bench, &["model:hdd-7200-cmr", "--slower", "10"]);
    // One cell has all of the time: the rate of half a second, some ten reads a tick, comes in
    // steps of sixteen a second, and was 25 % above the model's.
    bench.file(
        "reads.toml",
        "name = \"reads\"\ntitle = \"reads\"\nabout = \"For tests.\"\nspan = \"4GiB\"\n\
         [[cell]]\nname = \"reads\"\nop = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n",
    );
    let read = |target: &str, more: &[&str]| {
        let words = ["run", target, "--reads-only", "--method", "reads.toml", "--seed", "1"];
        let run = bench.drivelab(words).and(["--grade", "quick", "--json", "run.json", "--quiet"]);
        run.and(more).done().succeeded();
        let run = fs::read_to_string(bench.path("run.json")).expect("a record");
        let run: Value = serde_json::from_str(&run).expect("JSON");
        let cell = &run["cells"][0];
        (cell["iops"].as_f64().expect("a rate"), run)
    };
    let (modelled, _) = read("model:hdd-7200-cmr", &[]);
    let fuse = need!(Fuse::mount(&bench, &server.uri), "/dev/fuse");
    let device = need!(LoopDevice::over(fuse.file(), &["--direct-io=on"]), common::ROOT);
    let (seen, run) = read(device.text(), &["--slower", "10", "--max-time", "20s"]);
    let ratio = seen / modelled;
    assert!((0.8..1.2).contains(&ratio), "{seen} of {modelled} a second");
    assert_eq!(run["method"]["options"]["slower"], "10");
    let said = run["warnings"].to_string();
    assert!(said.contains("time passes 10 times slower"), "{said}");
    for target in ["model:hdd-7200-cmr", "memory:64M", "null:"] {
        let outcome = bench.drivelab(["run", target, "--slower", "10"]).done();
        assert_eq!(outcome.code, Some(2), "{target}");
        assert_one_sentence(&outcome.stderr, &["serve model:STACK --slower N", "leave --slower"]);
    }
    server.stop();
}

/// The way to a client is a hundredth of a disk's read as it is, and not of a flash drive's.
#[test]
fn time_is_slowed_as_much_as_the_way_to_a_client_asks_for() {
    let bench = Bench::new();
    let said = |model: &str| {
        let server = Serving::start(&bench, &[model, "--slower", "auto"]);
        let said = server.stop().stdout;
        let (_, rest) = said.split_once("time passes ").unwrap_or_default();
        let times = rest.split_once(" times slower").map_or("1", |(times, _)| times);
        times.parse::<u32>().unwrap_or_else(|_| panic!("{said}"))
    };
    let (disk, flash) = (said("model:hdd-7200-cmr"), said("model:nvme-tlc"));
    assert!(flash > 4 * disk, "disk {disk} times, flash {flash} times");
}

#[test]
fn what_the_guide_shows_is_what_is_said() {
    let readme =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/README.md"));
    let readme = readme.expect("the guide");
    let (_, rest) = readme.split_once("<!-- serve: memory:1G -->\n```text\n").expect("the block");
    let (shown, _) = rest.split_once("```").expect("its end");
    let bench = Bench::new();
    let call = bench.drivelab_without_store(["serve", "memory:1G", "--nbd", "unix:nbd.sock"]);
    let mut server = call.start();
    server.wait_until("it listens", || UnixStream::connect(bench.path("nbd.sock")).is_ok());
    server.signal("TERM");
    let said = server.wait().succeeded().stdout;
    let here = bench.path("nbd.sock").canonicalize().unwrap_or_else(|_| bench.path("nbd.sock"));
    let said = said.replace(here.to_str().expect("plain"), "/home/me/nbd.sock");
    assert!(said.starts_with(shown), "{said}");
}

#[test]
fn modelled_drives_answer_in_their_own_time_and_keep_bytes() {
    need_programs!("qemu-io", "nbdinfo");
    let bench = Bench::new();
    for stack in ["hdd-7200-cmr", "4xmtron-pro-32/raid5:chunk=64K", "mtron-pro-32/flash"] {
        let server = Serving::start(&bench, &[&format!("model:{stack}")]);
        qemu_io(
            &server.uri,
            &[
                "write -P 5 1M 300k",
                "write -f -P 6 64k 512",
                "flush",
                "read -P 5 1M 300k",
                "read -P 6 64k 512",
            ],
        );
        server.stop();
    }
    let nbd = format!("unix:{}", bench.path("s").display());
    let words = ["serve", "model:hdd-7200-cmr/ext4", "--nbd", &nbd];
    bench.drivelab_without_store(words).done().refused(&["ext4", "only times", "leave it out"]);
}

/// A virtual processor costs a tenth of a millisecond a request: md on four served drives was
/// measured where the guest was the limit. What time is slowed by, that cost is smaller beside it.
#[test]
fn slowed_time_makes_every_answer_so_many_times_longer() {
    need_programs!("qemu-io");
    const TIMES: u32 = 20;
    const READS: u32 = 10;
    let bench = Bench::new();
    // Ten reads far from each other: each waits for the arm at least, 1 ms of this drive's time.
    let reads: Vec<String> = (1..=READS).map(|at| format!("read {}G 4k", at * 71 % 700)).collect();
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    let times = TIMES.to_string();
    let server = Serving::start(&bench, &["model:hdd-7200-cmr", "--slower", &times]);
    let started = Instant::now();
    qemu_io(&server.uri, &reads);
    let seen = started.elapsed();
    assert!(seen >= Duration::from_millis(1) * TIMES * READS, "{seen:?}");
    let said = server.stop().stdout;
    assert!(said.contains("20 times slower: multiply rates by 20"), "{said}");
    let nbd = format!("unix:{}", bench.path("s").display());
    for (target, times, cures) in [
        ("memory:1G", "20", &["--slower", "model:STACK"][..]),
        ("model:hdd-7200-cmr", "0", &["--slower", "from 1 to 1000"]),
        ("model:hdd-7200-cmr", "1001", &["--slower", "from 1 to 1000"]),
    ] {
        let words = ["serve", target, "--slower", times, "--nbd", &nbd];
        bench.drivelab_without_store(words).done().refused(cures);
    }
}

/// A matrix over a modelled Intel 520 found its write cache to be of no use: the server offered a
/// flush whatever the drive was, so that Linux flushed a drive without a cache twice for each
/// durable write.
#[test]
fn a_modelled_drive_without_a_write_cache_is_never_flushed() {
    need_programs!("nbdinfo");
    let bench = Bench::new();
    for (settings, flushes) in [("on", true), ("off", false)] {
        let stack = format!("model:2xintel-520-120:write-cache={settings}/raid0");
        let server = Serving::start(&bench, &[&stack]);
        let said = good("nbdinfo", &["--json", &server.uri]);
        assert_eq!(said.contains("\"can_flush\": true"), flushes, "{said}");
        assert_eq!(said.contains("\"can_fua\": true"), flushes, "{said}");
        server.stop();
    }
}

#[test]
fn a_later_signal_ends_it_at_once() {
    ends_at_once(|_| ());
}

/// The sentence that says so had nowhere to go: a panic, and the server stayed.
#[test]
fn a_later_signal_ends_it_at_once_when_its_terminal_is_gone() {
    ends_at_once(Serving::hang_up);
}

fn ends_at_once(prepare: fn(&mut Serving)) {
    let bench = Bench::new();
    let mut server = serve_file(&bench, MIB);
    prepare(&mut server);
    // A client that sends half a write keeps the end waiting for five seconds.
    let mut client = UnixStream::connect(&server.socket).expect("it listens");
    let export_name = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
    let half = [&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, 1][..], &[0; 16], &[0, 0, 16, 0], &[7; 100]];
    client.write_all(&export_name).expect("it reads");
    client.read_exact(&mut [0; 18 + 10]).expect("it answers");
    client.write_all(&half.concat()).expect("it reads");
    server.signal("TERM");
    server.signal("TERM");
    thread::sleep(Duration::from_millis(1200)); // No longer the same wish.
    server.signal("TERM");
    assert_eq!(server.wait().code, Some(130));
}
