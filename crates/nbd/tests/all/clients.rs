//! The clients that people use: libnbd's (nbdinfo, nbdcopy), QEMU's (qemu-io, qemu-img), and fio.

use crate::common::{Running, quick};
use block::{Durability, Rng};
use nbd::{
    Address, Listener, Server,
    protocol::{Access, Discarded, Export},
};
use std::{fs, process::Command, sync::atomic::AtomicBool, thread};
use testkit::{
    has,
    memory::{Did, FaultyMemory, Pace, View, geometry},
    skip,
};

const MIB: u64 = 1 << 20;
/// No multiple of a block, as guests' disks are.
const SIZE: u64 = 16 * MIB - 4096 + 512;

fn serve(change: impl FnOnce(&mut Export)) -> (Running, View, String) {
    let (engine, view) = FaultyMemory::new(geometry(16 * MIB), Pace::Shuffled(Rng::new(42, 1)));
    let mut export = Export { size_bytes: SIZE, ..Export::of(&geometry(16 * MIB)) };
    change(&mut export);
    let server = Running::start(engine, export, quick());
    let uri = format!("nbd+unix:///?socket={}", server.path.display());
    (server, view, uri)
}

/// Runs a program that must succeed; what it printed.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}:\n{said}{complained}");
    said
}

/// A line a command; qemu-io says `failed` and ends well all the same.
fn qemu_io(uri: &str, commands: &[&str]) -> String {
    // Without this cache mode every write is forced.
    let mut arguments = vec!["-t", "writeback", "-f", "raw", uri];
    for command in commands {
        arguments.extend(["-c", command]);
    }
    run("qemu-io", &arguments)
}

#[test]
fn nbdinfo_sees_size_flags_block_sizes_and_allocation() {
    if !has("nbdinfo") {
        return skip("nbdinfo (libnbd-bin)");
    }
    let (_server, _view, uri) = serve(|export| {
        export.name = "volume".to_owned();
        export.description = "sixteen mebibytes".to_owned();
    });
    let told = run("nbdinfo", &[&uri]);
    for fact in [
        "newstyle-fixed without TLS",
        "structured packets",
        &format!("export-size: {SIZE}"),
        "base:allocation",
        "is_read_only: false",
        "can_cache: true",
        "can_df: true",
        "can_fast_zero: true",
        "can_flush: true",
        "can_fua: true",
        "can_multi_conn: true",
        "can_trim: true",
        "can_zero: true",
        "block_size_minimum: 1",
        "block_size_preferred: 4096",
        "block_size_maximum: 33554432",
    ] {
        assert!(told.contains(fact), "no `{fact}` in\n{told}");
    }
    assert!(run("nbdinfo", &["--list", &uri]).contains("export=\"volume\""));
    let map = run("nbdinfo", &["--map", &uri]);
    assert!(map.contains(&SIZE.to_string()) && map.contains("data"), "{map}");
    let other = Command::new("nbdinfo").arg(uri.replace("///", "///other")).output();
    assert!(!other.expect("it is installed").status.success(), "an export of another name");
}

#[test]
fn nbdcopy_brings_back_what_it_brought() {
    if !has("nbdcopy") {
        return skip("nbdcopy (libnbd-bin)");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let (there, back) = (directory.path().join("there"), directory.path().join("back"));
    let mut image = vec![0; SIZE as usize];
    Rng::new(7, 7).fill(&mut image);
    image[5 * MIB as usize..9 * MIB as usize].fill(0); // nbdcopy zeroes what is sparse.
    fs::write(&there, &image).expect("an image");
    let (_server, view, uri) = serve(|_| {});
    let (there, back_text) = (there.to_str().expect("plain"), back.to_str().expect("plain"));
    for options in [
        &["--flush"][..],
        &["--flush", "--synchronous"],
        &["--flush", "--connections=4", "--requests=128", "--request-size=1048576"],
    ] {
        view.look().bytes.fill(0x5a);
        run("nbdcopy", &[options, &[there, &uri]].concat());
        assert!(view.look().durable[..SIZE as usize] == image, "{options:?}");
        run("nbdcopy", &[options, &[&uri, back_text]].concat());
        assert!(fs::read(&back).expect("a copy") == image, "{options:?}");
    }
    assert!(view.look().bytes[SIZE as usize..].iter().all(|&byte| byte == 0x5a), "the rest stays");
}

#[test]
fn qemu_io_writes_forces_zeroes_and_discards() {
    if !has("qemu-io") {
        return skip("qemu-io (qemu-utils)");
    }
    let (_server, view, uri) = serve(|export| export.discarded = Discarded::ReadsZero);
    let said = qemu_io(
        &uri,
        &[
            "write -P 0xaa 512 1M",
            "write -P 0xbb 3k 1536",
            "write -f -P 0xcc 4096 512",
            "write -z 64k 32k",
            "write -z -u 128k 64k",
            "discard 256k 64k",
            "flush",
            "read -P 0xaa 512 2560",
            "read -P 0xbb 3k 1k",
            "read -P 0xcc 4096 512",
            "read -P 0xaa 5120 60416",
            "read -P 0 64k 32k",
            "read -P 0xaa 96k 32k",
            "read -P 0 128k 64k",
            "read -P 0 256k 64k",
        ],
    );
    assert!(!said.contains("failed"), "{said}");
    assert_eq!(view.count(|did| matches!(did, Did::Write(_, Durability::Fua))), 1, "one had -f");
    assert_eq!(view.count(|did| matches!(did, Did::Discard { .. })), 2, "zeroes with -u, discard");
    assert!(view.count(|did| *did == Did::Flush) >= 1);
    assert!(view.look().durable[512..3072].iter().all(|&byte| byte == 0xaa));
    let last = SIZE - 512;
    let said =
        qemu_io(&uri, &[&format!("write -P 0xdd {last} 512"), &format!("read -P 0xdd {last} 512")]);
    assert!(!said.contains("failed"), "{said}");
}

#[test]
fn qemu_img_converts_compares_and_finds_a_difference() {
    if !has("qemu-img") {
        return skip("qemu-img (qemu-utils)");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let image = directory.path().join("image");
    let mut bytes = vec![0; SIZE as usize];
    Rng::new(8, 8).fill(&mut bytes[MIB as usize..3 * MIB as usize]);
    fs::write(&image, &bytes).expect("an image");
    let image = image.to_str().expect("plain");
    for discarded in [Discarded::Unknown, Discarded::ReadsZero] {
        let (_server, view, uri) = serve(|export| export.discarded = discarded);
        view.look().bytes.fill(0x77);
        run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", image, &uri]);
        run("qemu-img", &["compare", "-f", "raw", "-F", "raw", image, &uri]);
        assert!(view.look().bytes[..SIZE as usize] == bytes);
        view.look().bytes[2 * MIB as usize] ^= 1;
        let same = Command::new("qemu-img")
            .args(["compare", "-f", "raw", "-F", "raw", image, &uri])
            .output();
        assert_eq!(same.expect("it is installed").status.code(), Some(1), "one bit differs");
    }
}

#[test]
fn fio_finds_every_byte_it_wrote() {
    let engines = Command::new("fio").arg("--enghelp").output();
    let speaks_nbd = |output: std::process::Output| {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.trim() == "nbd")
    };
    if !engines.is_ok_and(speaks_nbd) {
        return skip("fio with its nbd engine");
    }
    let (_server, view, uri) = serve(|_| {});
    let uri = format!("--uri={uri}");
    let directory = tempfile::tempdir().expect("a directory");
    for (size, depth) in [("--bs=4k", "--iodepth=32"), ("--bsrange=512-200k", "--iodepth=16")] {
        let output = Command::new("fio")
            .current_dir(directory.path()) // It leaves its account of what it verified there.
            .args(["--name=verify", "--ioengine=nbd", "--rw=randwrite", "--size=8m"])
            .args(["--verify=crc32c", "--verify_fatal=1", "--fsync=100", &uri, size, depth])
            .output()
            .expect("it is installed");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("err= 0"), "{said}");
    }
    assert!(view.count(|did| *did == Did::Flush) > 10);
}

#[test]
fn a_read_only_export_refuses_real_clients() {
    if !has("nbdinfo") || !has("qemu-io") {
        return skip("nbdinfo (libnbd-bin) and qemu-io (qemu-utils)");
    }
    let (_server, view, uri) = serve(|export| export.access = Access::ReadOnly);
    assert!(run("nbdinfo", &[&uri]).contains("is_read_only: true"));
    let said = Command::new("qemu-io").args(["-f", "raw", &uri, "-c", "write 0 4k"]).output();
    let said = said.expect("it is installed");
    assert!(!said.status.success(), "{said:?}");
    assert_eq!(view.count(|did| matches!(did, Did::Write(..))), 0);
}

#[test]
fn clients_come_by_tcp_where_it_was_named() {
    if !has("nbdinfo") {
        return skip("nbdinfo (libnbd-bin)");
    }
    let (engine, _view) = FaultyMemory::new(geometry(MIB), Pace::AtOnce);
    let address: Address = "tcp:127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(&address).expect("a free port");
    let Address::Tcp(place) = *listener.address() else { panic!("not TCP") };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let export = Export::of(&geometry(MIB));
            let mut server = Server::new(engine, export, listener, quick());
            server.run(&stop, |_, _| {}).expect("a good end");
        });
        let told = run("nbdinfo", &["--size", &format!("nbd://{place}")]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(told.trim(), MIB.to_string());
    });
}
