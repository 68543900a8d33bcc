//! How much memory a managed volume takes: what `flash create` said, and no more than its drive
//! bounds.

use crate::common;

use common::{
    Bench, Outcome,
    serving::{Serving, client, qemu_io},
};
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

/// What a server may take more than was promised.
const TOLERANCE: f64 = 1.2;

fn flash(bench: &Bench, words: &[&str]) -> Outcome {
    bench.drivelab_without_store(["flash"]).and(words).done()
}

/// `90.5 MiB` and the like, in MiB.
fn mib(text: &str) -> f64 {
    let mut words = text.split_whitespace();
    let number: f64 = words.next().and_then(|word| word.parse().ok()).expect("a number");
    match words.next() {
        Some("KiB") => number / 1024.0,
        Some("MiB") => number,
        Some("GiB") => number * 1024.0,
        unit => panic!("{text}: {unit:?} is no unit"),
    }
}

/// The most memory that the process ever had (VmHWM, proc(5)), in MiB.
fn peak(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it has a peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).expect("kB") / 1024.0
}

fn fio(uri: &str, words: &[&str]) {
    let uri = format!("--uri={uri}");
    let output = client("fio", &[&["--name=job", "--ioengine=nbd", &uri], words].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// `create` promised 20 MiB for 1 GiB, and a server took 120: reads in pieces kept memory of every
/// size, the server's buffers were not counted, and recovery read everything before it looked at
/// anything (148 MiB of 33 for 10 GiB).
fn a_server_keeps_to_what_create_promised(gib: u64) {
    let bench = Bench::new();
    File::create(bench.path("vol.img")).and_then(|file| file.set_len(gib << 30)).expect("a file");
    let made = flash(&bench, &["create", "vol.img"]).succeeded().stdout;
    let promise = mib(made.split("\nmemory").nth(1).expect("it promises").trim());
    let span = gib * 1024 * 72 / 100;
    let size = format!("--size={span}m");
    let server = Serving::start(&bench, &["flash:vol.img"]);
    // A block of each page of the map makes all of it memory.
    let blocks = format!("--io_size={}k", span / 2 * 4);
    fio(&server.uri, &["--rw=write:2044k", "--bs=4k", "--iodepth=64", &size, &blocks]);
    let small = ["--size=64m", "--io_size=64m"];
    fio(&server.uri, &[&["--rw=randwrite", "--bs=4k", "--iodepth=64"], &small[..]].concat());
    for bytes in ["128k", "52k", "20k", "8k"] {
        let bs = format!("--bs={bytes}");
        let deep = ["--rw=randread", &bs, "--iodepth=64", "--numjobs=4"];
        fio(&server.uri, &[&deep[..], &small].concat());
    }
    fio(&server.uri, &["--rw=write", "--bs=1m", "--iodepth=32", "--size=512m"]);
    let serving = peak(server.id());
    server.kill();
    let server = Serving::start(&bench, &["flash:vol.img"]);
    let recovering = peak(server.id());
    server.stop();
    eprintln!(
        "{gib} GiB: {promise:.1} MiB promised, {serving:.1} at most serving, \
         {recovering:.1} recovering"
    );
    let most = TOLERANCE * promise;
    assert!(serving <= most && recovering <= most, "more than {TOLERANCE} x {promise} MiB");
}

#[test]
fn a_server_of_1_gib_keeps_to_what_create_promised() {
    need_programs!("fio:nbd");
    a_server_keeps_to_what_create_promised(1);
}

#[test]
fn a_server_of_10_gib_keeps_to_what_create_promised() {
    need_programs!("fio:nbd");
    a_server_keeps_to_what_create_promised(10);
}

#[test]
#[ignore = "a minute: cargo test -p drivelab --test all memory:: -- --ignored --nocapture"]
fn a_server_of_100_gib_keeps_to_what_create_promised() {
    need_programs!("fio:nbd");
    a_server_keeps_to_what_create_promised(100);
}

/// CRC-32C, bit by bit (RFC 3720, appendix B.4).
fn crc32c(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

/// Puts numbers into the first superblock and makes its checksum good again
/// (docs/reference/flash-format.md).
fn forge(image: &File, numbers: &[(usize, u64)]) {
    let mut block = [0; 4096];
    image.read_exact_at(&mut block, 0).expect("a superblock");
    assert_eq!(&block[..8], b"DLFLASH\0");
    let generation = u64::from_le_bytes(block[40..48].try_into().expect("eight bytes"));
    for &(at, number) in [(40, generation + 100)].iter().chain(numbers) {
        block[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    block[132..136].fill(0);
    let id = block[16..32].to_vec();
    let sealed = id.into_iter().chain([0; 8]).chain(block);
    let crc = crc32c(sealed);
    block[132..136].copy_from_slice(&crc.to_le_bytes());
    image.write_all_at(&block, 0).expect("written");
}

/// A superblock with a good checksum and sizes that nobody chose: memory for a root area of
/// hundreds of GiB was allocated before a byte of the root was looked at, and the process was
/// aborted.
#[test]
fn a_forged_superblock_takes_no_more_memory_than_there_is_volume() {
    need_programs!("prlimit", "qemu-io");
    const TIB: u64 = 1 << 40;
    let bench = Bench::new();
    let image = File::create_new(bench.path("vol.img")).expect("a file");
    if image.set_len(TIB).is_err() {
        return common::skip("a file system that takes a file of 1 TiB");
    }
    flash(&bench, &["create", "vol.img"]).succeeded();
    let image = File::options().read(true).write(true).open(bench.path("vol.img")).expect("it is");
    let mut before = vec![0; 4096];
    image.read_exact_at(&mut before, 0).expect("a superblock");
    let (exported, segment, chunk, area) = (56, 80, 88, 136);
    let forgeries: [&[(usize, u64)]; 6] = [
        &[(area, TIB / 4)],
        &[(area, TIB / 4), (segment, 1 << 20), (chunk, 8 << 10)],
        &[(area, TIB / 8), (exported, 16 * TIB - (1 << 20))],
        &[(area, ((TIB / 3) >> 20) << 20), (exported, 4096)],
        &[(segment, TIB / 64)],
        &[(area, u64::MAX >> 3)],
    ];
    for numbers in forgeries {
        image.write_all_at(&before, 0).expect("written");
        forge(&image, numbers);
        let binary = common::DRIVELAB.as_ref();
        for verb in ["status", "check"] {
            let call = bench.drivelab_without_store(["flash", verb, "vol.img"]);
            // Memory of the process, mapped libraries and all: 512 MiB.
            let outcome = call.through(&["prlimit", "--as=536870912"], binary).done();
            assert!(matches!(outcome.code, Some(0..=2)), "{verb} {numbers:?}: {outcome:?}");
        }
    }
    image.write_all_at(&before, 0).expect("written");
    let server = Serving::start(&bench, &["flash:vol.img"]);
    qemu_io(&server.uri, &["write -P 1 0 1M", "flush"]);
    server.stop();
}
