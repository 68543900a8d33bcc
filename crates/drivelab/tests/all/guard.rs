//! What must not be written is refused with one sentence that names the cure, and not a byte of it
//! changes.

use crate::common;

use common::{
    Bench, LoopDevice, MIB, Mounted, Nobody, Outcome, ROOT, fill, hash, hash_device, names_in,
    system, write_mbr,
};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::symlink,
    path::Path,
};

/// A file system mounted for writing changes its bytes by itself.
const READ_ONLY: &[&str] = &["-o", "ro"];

/// Refused although its name was typed; the bytes stay, and no run is stored.
fn assert_refused(device: &LoopDevice, given: &Path, words: &[&str]) {
    let before = hash_device(device);
    assert_refused_by_words(device, given, words);
    assert_eq!(hash_device(device), before, "{} was written to", given.display());
}

fn assert_refused_by_words(device: &LoopDevice, given: &Path, words: &[&str]) {
    let bench = Bench::new();
    let given = given.to_str().expect("plain names");
    bench.small_run([given, "--destroy", device.name()]).done().refused(words);
    assert!(bench.history().is_empty(), "a refused run leaves no record");
}

#[test]
fn a_mounted_device_is_refused_by_name_and_through_symbolic_links() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    need!(system("mkfs.ext4", &["-q", device.text()]), "mkfs.ext4");
    let mounted = need!(Mounted::new(&device.path, READ_ONLY), "ext4 in the kernel");
    let bench = Bench::new();
    // As udev does it: a directory of links, relative to the device.
    fs::create_dir(bench.path("by-id")).expect("a directory");
    let (link, by_id) = (bench.path("innocent"), bench.path("by-id/ata-EXAMPLE_SSD_S3Z9NX0M"));
    symlink(&device.path, &link).expect("a link");
    symlink(&link, &by_id).expect("a link to the link");
    let cure = format!("umount {}", mounted.text());
    for path in [&device.path, &link, &by_id] {
        assert_refused(&device, path, &["is mounted at", &cure]);
    }
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_so_is_the_partition() {
    let device = LoopDevice::attach(|image| write_mbr(image, 32 * MIB), &["--partscan"]);
    let device = need!(device, ROOT);
    let partition = device.first_partition(2048, 32 * MIB / 512 - 2048);
    let partition = need!(partition, "partitions on loop devices");
    let node = partition.to_str().expect("plain names");
    need!(system("mkfs.ext4", &["-q", node]), "mkfs.ext4");
    let mounted = need!(Mounted::new(&partition, READ_ONLY), "ext4 in the kernel");
    let name = format!("{}p1 is mounted at {}", device.name(), mounted.text());
    assert_refused(&device, &device.path, &[&name, "umount"]);
    assert_refused(&device, &partition, &[&name, "umount"]);
}

#[test]
fn a_device_that_holds_data_is_refused_with_wipefs_as_the_cure() {
    let lvm = ["-qq", "--config", "devices{scan=\"/dev\"}"];
    let cases: [(&str, &[&str], &str); 3] = [
        ("mkfs.ext4", &["-q"], "an ext4 file system"),
        ("mkswap", &[], "swap space"),
        ("pvcreate", &lvm, "an LVM2 physical volume"),
    ];
    for (program, options, name) in cases {
        let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
        let Some(_) = system(program, &[options, &[device.text()]].concat()) else {
            common::skip(program);
            continue;
        };
        let cure = format!("`wipefs -a {}`", device.text());
        assert_refused(&device, &device.path, &[name, &cure]);
    }
}

#[test]
fn an_encrypted_volume_is_refused() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    let bench = Bench::new();
    let key = bench.file("key", "a test's secret");
    let made = system(
        "cryptsetup",
        &[
            "-q",
            "luksFormat",
            "--type",
            "luks2",
            "--pbkdf",
            "pbkdf2",
            "--pbkdf-force-iterations",
            "1000",
            device.text(),
            key.to_str().expect("plain names"),
        ],
    );
    need!(made, "cryptsetup");
    assert_refused(&device, &device.path, &["a LUKS volume", "wipefs"]);
}

/// The kernel may have no md, so the superblock is written by hand as raid/md_p.h lays it out:
/// version 1.2 stands at 4 KiB.
#[test]
fn a_member_of_an_array_is_refused() {
    let superblock = |image: &mut File| {
        image.set_len(16 * MIB)?;
        image.seek(SeekFrom::Start(4096))?;
        image.write_all(&0xa92b_4efc_u32.to_le_bytes())?;
        image.write_all(&1u32.to_le_bytes())
    };
    let device = need!(LoopDevice::attach(superblock, &[]), ROOT);
    assert_refused(&device, &device.path, &["an md array member", "wipefs"]);
}

#[test]
fn swap_in_use_is_refused() {
    /// Ends the swapping on drop.
    struct Swap<'a>(&'a LoopDevice);
    impl Drop for Swap<'_> {
        fn drop(&mut self) {
            system("swapoff", &[self.0.text()]);
        }
    }
    // swapon(8) takes no file with holes behind the device, and every page must be there.
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    need!(system("mkswap", &[device.text()]), "mkswap");
    let _swap = Swap(&device);
    need!(system("swapon", &["-p", "0", device.text()]), "swap in the kernel");
    let cure = format!("swapoff {}", device.text());
    // On a machine short of memory the kernel swapped meanwhile and changed the hash of the whole:
    // its header, the first page, is what the kernel leaves alone and what a run writes first.
    let header = || {
        let mut page = [0; 4096];
        File::open(&device.path).and_then(|mut swap| swap.read_exact(&mut page)).expect("a page");
        page
    };
    let before = header();
    assert_refused_by_words(&device, &device.path, &["in use as swap", &cure]);
    assert_eq!(header(), before, "the swap's header was written to");
}

#[test]
fn a_read_only_device_is_refused() {
    let device = LoopDevice::attach(|image| image.set_len(16 * MIB), &["--read-only"]);
    let device = need!(device, ROOT);
    assert_refused(&device, &device.path, &["read-only", "writable device"]);
}

#[test]
fn a_device_is_not_written_without_its_name_or_with_another() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    let before = hash_device(&device);
    let cure = format!("`--destroy {}`", device.name());
    let bench = Bench::new();
    let without = bench.small_run([device.text()]).done();
    without.refused(&["all its data would be lost", &cure, "--reads-only"]);
    for wrong in ["loop", "yes", "S3Z9NX0M", ""] {
        let typed = bench.small_run([device.text(), "--destroy", wrong]).done();
        typed.refused(&["is not its name", &cure]);
    }
    assert_eq!(hash_device(&device), before);
}

#[test]
fn a_blank_device_is_measured_when_its_name_is_typed_and_is_free_afterwards() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    let before = hash_device(&device);
    let bench = Bench::new();
    bench.small_run([device.text(), "--destroy", device.name()]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(record["state"], "complete");
    assert_eq!(record["targets"][0]["kind"], "block_device");
    assert_eq!(record["targets"][0]["path"], device.text());
    assert_eq!(record["targets"][0]["stack"][0]["name"], device.name());
    assert_eq!(common::cell_names(&record), ["reads", "writes"]);
    assert_ne!(hash_device(&device), before, "the write cell wrote");
    let free = File::options().read(true).write(true).open(&device.path);
    drop(free.expect("the device opens"));
    need!(system("mkfs.ext4", &["-q", "-F", device.text()]), "mkfs.ext4");
}

/// `--purge` was read, kept in the record, and did nothing.
#[test]
fn a_purge_discards_the_whole_device_before_the_run() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    fill(&device.image, 32 * MIB);
    let bench = Bench::new();
    let purge = [device.text(), "--destroy", device.name(), "--purge"];
    bench.small_run(purge).done().succeeded();
    hash_device(&device);
    let contents = fs::read(&device.image).expect("the image");
    let (tested, rest) = contents.split_at(16 << 20);
    assert!(tested.iter().any(|&byte| byte != 0), "the run wrote its area");
    assert!(rest.iter().all(|&byte| byte == 0), "what lies beyond the area is discarded, too");
    // Without permission to write, nothing is discarded.
    bench.small_run(purge).and(["--reads-only"]).done().refused(&["--purge", "leave it out"]);
    let after = fs::read(&device.image).expect("the image");
    assert!(after == contents, "a refused purge discards nothing");
}

#[test]
fn without_permission_to_write_the_read_cells_of_a_device_run_on_request() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    fill(&device.image, 32 * MIB);
    let before = hash_device(&device);
    let bench = Bench::new();
    bench.small_run([device.text(), "--reads-only"]).done().succeeded();
    let record = bench.record("last");
    assert_eq!(common::cell_names(&record), ["reads"]);
    assert_eq!(record["left_out"][0]["name"], "writes");
    assert_eq!(hash_device(&device), before);
}

#[test]
fn an_existing_file_is_refused_by_a_method_that_only_writes() {
    let bench = Bench::new();
    let precious = bench.path("precious.img");
    fill(&precious, 2 * MIB);
    let before = hash(&precious);
    let method = bench.path("writes.toml");
    let method = method.to_str().expect("plain names");
    for extra in [&[][..], &["--destroy", "precious.img"], &["--yes"]] {
        let run = bench.drivelab(["run", "precious.img", "--method", method]).and(extra);
        run.done().refused(&["never writes to an existing file", "a directory or a new file"]);
    }
    assert_eq!(hash(&precious), before);
}

#[test]
fn the_write_cells_are_left_out_on_an_existing_file_and_the_read_cells_run() {
    let bench = Bench::new();
    let precious = bench.path("precious.img");
    fill(&precious, 16 * MIB);
    let before = hash(&precious);
    let outcome = bench.small_run(["precious.img"]).done().succeeded();
    assert!(outcome.stdout.contains("Left out"), "{}", outcome.stdout);
    assert_eq!(common::cell_names(&bench.record("last")), ["reads"]);
    assert_eq!(hash(&precious), before);
}

#[test]
fn a_directory_without_permission_is_refused() {
    let nobody = need!(Nobody::new(), "root and setpriv");
    nobody.may("area", 0o555);
    let run = nobody.does(nobody.bench.small_run(["area"]));
    run.refused(&["area", "ermission denied", "another TARGET"]);
    assert_eq!(nobody.bench.left_behind(), Vec::<String>::new());
}

#[test]
fn a_full_disk_is_refused_with_a_size_that_fits_and_that_size_works() {
    let device = need!(LoopDevice::of_zeros(64 * MIB), ROOT);
    let mounted = need!(device.mounted("mkfs.ext4", &[]), "ext4");
    let bench = Bench::new();
    let before = names_in(mounted.path());
    let refused = bench.drivelab(["run", mounted.text()]).done().refused(&["--size"]);
    let size = size_named_in(&refused);
    assert_eq!(names_in(mounted.path()), before);
    bench.small_run([mounted.text(), "--size", &size]).done().succeeded();
    assert_eq!(names_in(mounted.path()), before);
}

/// The word after the last `--size` of a refusal, or after `such as`.
fn size_named_in(outcome: &Outcome) -> String {
    let text = outcome.stderr.trim_end().trim_end_matches('.');
    let after = text.rsplit_once("such as ").or_else(|| text.rsplit_once("--size "));
    let (_, after) = after.expect("a size is named");
    after.split([' ', ',', ';', '`']).next().expect("a word").to_owned()
}

#[test]
fn a_device_or_file_smaller_than_the_test_is_refused_with_a_size_that_fits() {
    let bench = Bench::new();
    let file = bench.path("small.img");
    fill(&file, MIB);
    let refused = bench.small_run(["small.img"]).done().refused(&["--size", "16 MiB", "1 MiB"]);
    let size = size_named_in(&refused);
    bench.small_run(["small.img", "--size", &size]).done().succeeded();
    let device = need!(LoopDevice::of_zeros(MIB), ROOT);
    let before = hash_device(&device);
    let destroy = [device.text(), "--destroy", device.name()];
    bench.small_run(destroy).done().refused(&["--size", "16 MiB"]);
    assert_eq!(hash_device(&device), before);
}

#[test]
fn sparse_and_fallocated_files_are_refused_with_their_flag() {
    let bench = Bench::new();
    let sparse = bench.path("sparse.img");
    File::create_new(&sparse).and_then(|file| file.set_len(16 * MIB)).expect("a sparse file");
    let run = bench.small_run(["sparse.img"]).done();
    run.refused(&["holes", "sparse_file", "cp --sparse=never"]);
    assert_eq!(fs::metadata(&sparse).expect("it stays").len(), 16 * MIB);
    let hollow = bench.path("hollow.img");
    let hollow_text = hollow.to_str().expect("plain names");
    need!(system("fallocate", &["-l", "16M", hollow_text]), "fallocate");
    let run = bench.small_run(["hollow.img"]).done();
    run.refused(&["never written", "unwritten_extents", "write the file once"]);
}

#[test]
fn a_block_that_is_no_multiple_of_the_logical_block_is_refused() {
    let bench = Bench::new();
    let words = ["1000", "logical block of", "--io buffered"];
    bench.small_run(["area", "--set", "block=1000"]).done().refused(&words);
    assert_eq!(bench.left_behind(), Vec::<String>::new());
    bench.small_run(["area", "--set", "block=1000", "--io", "buffered"]).done().succeeded();
}
