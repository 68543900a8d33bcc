//! The guard on real loop devices, as root. Every refusal is one sentence and changes no byte.

use host::{Cleared, Consent, Reason, Refusal, Roots, judge_destruction, judge_file};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};
use testkit::{LoopDevice, Mounted, hash, system};

const MIB: u64 = 1 << 20;

fn judge(path: &Path) -> Result<Cleared, Refusal> {
    judge_destruction(path, &Roots::default())
}

/// Refused with one sentence that names all `words`, and not a byte of `image` changed.
fn assert_refused(path: &Path, image: &Path, words: &[&str]) -> Reason {
    let flush = || File::open(path).and_then(|device| device.sync_all()).expect("flushed");
    flush();
    let before = hash(image);
    let refusal = refused(path, words);
    flush();
    assert_eq!(hash(image), before, "the guard wrote to {}", path.display());
    refusal.reason
}

/// Refused with one sentence that names all `words`.
fn refused(path: &Path, words: &[&str]) -> Refusal {
    let refusal = judge(path).expect_err("refused");
    let text = refusal.to_string();
    assert!(!text.contains('\n') && words.iter().all(|word| text.contains(word)), "{text}");
    refusal
}

/// One partition of type Linux from 1 MiB to the end: no partitioning program is needed.
fn write_mbr(image: &mut File, bytes: u64) -> std::io::Result<()> {
    image.set_len(bytes)?;
    let mut sector = [0u8; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    let length = (bytes / 512 - 2048) as u32;
    sector[446 + 12..446 + 16].copy_from_slice(&length.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    image.seek(SeekFrom::Start(0))?;
    image.write_all(&sector)
}

/// A file system mounted for writing changes its bytes by itself.
const READ_ONLY: &[&str] = &["-o", "ro"];
const ROOT: &str = "root and a loop device";

#[test]
fn a_blank_device_is_permitted_when_its_name_is_typed() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let before = hash(&device.image);
    for typed in [device.name(), device.text()] {
        let cleared = judge(&device.path).expect("nothing is on it");
        assert_eq!(cleared.expected(), device.name());
        let permit = cleared.confirm(&Consent::typed([typed])).expect("the name was typed");
        assert_eq!((permit.path(), permit.bytes()), (&*device.path, 16 * MIB));
        // The hold keeps others out, and the held path leads to the device.
        let second = judge(&device.path).expect_err("held");
        assert!(matches!(second.reason, Reason::Busy { .. }), "{second}");
        assert!(second.to_string().contains("exclusive use"), "{second}");
        let (access, caching) = (engine::Access::ReadWrite, engine::Caching::Direct);
        let held = (permit.file(), permit.path());
        engine::reopen(held.0, held.1, access, caching, engine::Syncing::None)
            .expect("it opens again");
    }
    assert_eq!(hash(&device.image), before);
}

#[test]
fn a_blank_device_is_refused_when_something_else_is_typed() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let before = hash(&device.image);
    let beginning = &device.name()[..4];
    for typed in [None, Some(""), Some(beginning), Some("yes"), Some("/dev/loop")] {
        let consent = Consent::typed(typed);
        let cleared = judge(&device.path).expect("blank");
        let refusal = cleared.confirm(&consent).expect_err("unconfirmed");
        let text = refusal.to_string();
        assert!(text.contains(&format!("type `--destroy {}`", device.name())), "{text}");
        let Reason::NotConfirmed { expected, called, typed: words, .. } = refusal.reason else {
            panic!("{text}")
        };
        assert_eq!((&*expected, called), (device.name(), "name"));
        assert_eq!(words, Vec::from_iter(typed));
    }
    assert_eq!(hash(&device.image), before);
}

#[test]
fn a_mounted_device_is_refused_by_name_and_through_a_symbolic_link() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    need!(system("mkfs.ext4", &["-q", device.text()]), "mkfs.ext4");
    let mounted = Mounted::on(&device.path, device.directory("mnt"), READ_ONLY);
    let mounted = need!(mounted, "ext4 in the kernel");
    let place = mounted.text();
    let link = device.image.with_file_name("innocent");
    symlink(&device.path, &link).expect("a link");
    for path in [&device.path, &link] {
        let reason = assert_refused(path, &device.image, &["is mounted at", place, "umount"]);
        assert!(matches!(reason, Reason::Mounted { .. }), "{reason:?}");
    }
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_so_is_the_partition() {
    let device = LoopDevice::attach(|image| write_mbr(image, 32 * MIB), &["--partscan"]);
    let device = need!(device, ROOT);
    let partition = device.first_partition(2048, 32 * MIB / 512 - 2048);
    let partition = need!(partition, "partitions on loop devices");
    let node = partition.to_str().expect("plain");
    need!(system("mkfs.ext4", &["-q", node]), "mkfs.ext4");
    {
        let mounted = Mounted::on(&partition, device.directory("mnt"), READ_ONLY);
        let _mounted = need!(mounted, "ext4 in the kernel");
        let name = format!("{}p1 is mounted at", device.name());
        assert_refused(&device.path, &device.image, &[&name]);
        assert_refused(&partition, &device.image, &[&name]);
    }
    let table = format!("an MBR partition table on {}", device.name());
    let cure = format!("wipefs -a {node} {}", device.text());
    let data = format!("an ext4 file system on {}p1", device.name());
    assert_refused(&device.path, &device.image, &[&table, &data, &cure]);
    assert_refused(&partition, &device.image, &[&data]);
}

#[test]
fn a_blank_partition_is_permitted_by_its_own_name() {
    let device = LoopDevice::attach(|image| write_mbr(image, 32 * MIB), &["--partscan"]);
    let device = need!(device, ROOT);
    let partition = device.first_partition(2048, 32 * MIB / 512 - 2048);
    let partition = need!(partition, "partitions on loop devices");
    let cleared = judge(&partition).expect("blank");
    assert_eq!(cleared.expected(), format!("{}p1", device.name()));
    let whole = cleared.confirm(&Consent::typed([device.name()]));
    assert!(whole.is_err(), "the disk's name is not the partition's");
}

#[test]
fn formats_left_by_their_own_programs_are_refused_with_wipefs_as_the_cure() {
    let cases: [(&str, &[&str], &str, u64); 8] = [
        ("mkfs.ext4", &["-q"], "an ext4 file system", 16),
        ("mkfs.ext2", &["-q"], "an ext2 file system", 16),
        ("mkfs.xfs", &["-q", "-f"], "an XFS file system", 300),
        ("mkfs.btrfs", &["-q", "-f"], "a btrfs file system", 128),
        ("mkswap", &[], "swap space", 16),
        ("pvcreate", &["-qq", "--config", "devices{scan=\"/dev\"}"], "an LVM2 physical volume", 16),
        ("cryptsetup luksFormat1", &[], "a LUKS volume", 32),
        ("cryptsetup luksFormat2", &[], "a LUKS volume", 32),
    ];
    for (program, arguments, name, mebibytes) in cases {
        let device = need!(LoopDevice::of_zeros(mebibytes * MIB), ROOT);
        let made = match program.split_once(" luksFormat") {
            Some((program, version)) => luks_format(program, version, &device),
            None => system(program, &[arguments, &[device.text()]].concat()),
        };
        let Some(_) = made else {
            testkit::skip(program);
            continue;
        };
        let cure = format!("`wipefs -a {}`", device.text());
        let reason = assert_refused(&device.path, &device.image, &[name, &cure]);
        let found = vec![(device.name().to_owned(), name.to_owned())];
        assert_eq!(reason, Reason::Signature { found }, "{program}");
        // The cure works.
        need!(system("wipefs", &["-q", "-a", device.text()]), "wipefs");
        judge(&device.path).unwrap_or_else(|refusal| panic!("{program} after wipefs: {refusal}"));
    }
}

#[test]
fn a_format_that_only_blkid_knows_is_refused_too() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    need!(system("mkfs.minix", &[device.text()]), "mkfs.minix");
    need!(system("blkid", &["-p", device.text()]), "blkid");
    assert_refused(&device.path, &device.image, &["what blkid calls `minix`", "wipefs"]);
}

fn luks_format(program: &str, version: &str, device: &LoopDevice) -> Option<String> {
    let key = device.image.with_file_name("key");
    fs::write(&key, "a test's secret").expect("a key");
    let key = key.to_str().expect("plain");
    let kind = format!("luks{version}");
    let cheap: &[&str] = &["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
    let fixed: &[&str] = &["-q", "luksFormat", "--type", &kind, device.text(), key];
    system(program, &[fixed, cheap].concat())
}

/// The kernel here may have no md: superblocks are written by hand, as raid/md_p.h lays them out.
#[test]
fn md_superblocks_of_every_version_are_refused() {
    let bytes = 16 * MIB;
    let mut version_1 = vec![0u8; 256];
    version_1[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
    version_1[4] = 1;
    let mut version_0 = vec![0u8; 4096];
    version_0[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
    version_0[8] = 90;
    let places = [
        (0, &version_1),
        (4096, &version_1),
        (bytes - 8192, &version_1),
        (bytes - 65_536, &version_0),
    ];
    for (offset, superblock) in places {
        let device = LoopDevice::attach(
            |image| {
                image.set_len(bytes)?;
                image.seek(SeekFrom::Start(offset))?;
                image.write_all(superblock)
            },
            &[],
        );
        let device = need!(device, ROOT);
        assert_refused(&device.path, &device.image, &["an md array member", "wipefs"]);
    }
}

/// The kernel puts pages there when it likes: a byte that it wrote was taken for the guard's. It
/// leaves the first page alone.
#[test]
fn swap_in_use_is_refused() {
    /// Ends the swapping on drop.
    struct Swap<'a>(&'a LoopDevice);
    impl Drop for Swap<'_> {
        fn drop(&mut self) {
            system("swapoff", &[self.0.text()]);
        }
    }
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    need!(system("mkswap", &[device.text()]), "mkswap");
    let swap = Swap(&device);
    need!(system("swapon", &["-p", "0", device.text()]), "swap in the kernel");
    let cure = format!("swapoff {}", device.text());
    let head = || {
        let mut page = vec![0; 4096];
        File::open(&device.path).and_then(|mut swap| swap.read_exact(&mut page)).expect("read");
        page
    };
    let before = head();
    refused(&device.path, &["in use as swap", &cure]);
    assert!(head() == before, "the guard wrote to {}", device.text());
    drop(swap);
}

#[test]
fn a_read_only_device_is_refused() {
    let device = LoopDevice::attach(|image| image.set_len(16 * MIB), &["--read-only"]);
    let device = need!(device, ROOT);
    let reason = assert_refused(&device.path, &device.image, &["read-only"]);
    assert_eq!(reason, Reason::ReadOnly);
}

#[test]
fn a_device_that_backs_a_loop_device_is_refused() {
    let below = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let above = system("losetup", &["--find", "--show", below.text()]);
    let above = need!(above, "a second loop device").trim().to_owned();
    let judged = std::panic::catch_unwind(|| {
        assert_refused(&below.path, &below.image, &["is attached to", "losetup -d"])
    });
    system("losetup", &["-d", &above]);
    assert!(matches!(judged, Ok(Reason::BacksLoop { .. })), "{judged:?}");
}

/// A loop device stood over `w.img`, mounted. `flash create other.img`, a hard link to it, went
/// through: the guard compared the loop device's text with the path. So did a bind mount of the
/// file, and the file after it was renamed.
#[test]
fn a_file_behind_a_loop_device_is_refused_under_every_name_it_has() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let place = device.directory("names");
    let [hard, symbolic, bound, renamed] =
        ["hard", "symbolic", "bound", "renamed"].map(|name| place.join(name));
    fs::hard_link(&device.image, &hard).expect("a hard link");
    symlink(&device.image, &symbolic).expect("a link");
    File::create(&bound).expect("a place to mount on");
    let bind = Mounted::on(&device.image, bound.clone(), &["--bind"]);
    let refused = |path: &Path| {
        let refusal = judge_file(path, &Roots::default()).expect_err("it is in use");
        let words = format!("{} is attached to the same file", device.name());
        assert!(refusal.to_string().contains(&words), "{refusal}");
    };
    refused(&device.image);
    refused(&hard);
    refused(&symbolic);
    fs::rename(&device.image, &renamed).expect("it is renamed");
    refused(&renamed);
    refused(&hard);
    fs::rename(&renamed, &device.image).expect("it is renamed back");
    let _bind = need!(bind, "bind mounts");
    refused(&bound);
    let other = place.join("other");
    fs::copy(&device.image, &other).expect("a copy");
    judge_file(&other, &Roots::default()).expect("another file");
}

/// Two loop devices over one file, one attached by a hard link of it, were two devices to the
/// guard: each could be overwritten while the other was in use.
#[test]
fn two_loop_devices_over_two_names_of_one_file_are_one() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let hard = device.directory("names").join("hard");
    fs::hard_link(&device.image, &hard).expect("a hard link");
    judge(&device.path).expect("it is alone");
    let twin = system("losetup", &["--find", "--show", hard.to_str().expect("plain")]);
    let twin = need!(twin, "a second loop device").trim().to_owned();
    let judged = judge(&device.path);
    system("losetup", &["-d", &twin]);
    let refusal = judged.expect_err("its file is in use");
    assert!(matches!(refusal.reason, Reason::SharedFile { .. }), "{refusal}");
}

/// `flash:w.img` was served, and `flash:/dev/loop1` over it opened and ran as well: 200 of 200
/// flushed blocks of the first were wrong, and `check` was content with either.
#[test]
fn a_loop_device_is_refused_while_its_file_is_used_by_name() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let image = device.image.to_str().expect("plain");
    let mut user = Command::new("flock")
        .args(["--nonblock", "--no-fork", image, "sh", "-c", "echo; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("util-linux");
    let mut ready = [0];
    user.stdout.take().expect("piped").read_exact(&mut ready).expect("it has the lock");
    let judged = judge(&device.path);
    user.kill().and_then(|()| user.wait()).expect("it ends");
    let refusal = judged.expect_err("its file is in use");
    assert!(matches!(refusal.reason, Reason::UsedBelow { .. }), "{refusal}");
    let text = refusal.to_string();
    assert!(text.contains("is in use by process") && text.contains(image), "{text}");
    // The other way round: while the device is held, whoever asks for the file by its name is told.
    let cleared = judge(&device.path).expect("nobody uses it any more");
    let locked = system("flock", &["--nonblock", image, "true"]);
    assert_eq!(locked, None, "the file is locked while the device above is held");
    drop(cleared);
    system("flock", &["--nonblock", image, "true"]).expect("and free afterwards");
}

/// blkid ends with 8 and prints nothing where it sees two file systems that only it knows. That was
/// taken for a blank device.
#[test]
fn a_device_with_the_marks_of_two_formats_is_refused() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    need!(system("mkfs.minix", &[device.text()]), "mkfs.minix");
    // The first sector is free in minix; in ROMFS the superblock is there.
    let mut romfs = [0; 32];
    romfs[..8].copy_from_slice(b"-rom1fs-");
    romfs[16..20].copy_from_slice(b"name");
    let mut open = File::options().write(true).open(&device.path).expect("it opens");
    open.write_all(&romfs).and_then(|()| open.sync_all()).expect("it is written");
    let status = Command::new("blkid").args(["-p", device.text()]).status();
    let status = need!(status.ok(), "blkid");
    assert_eq!(status.code(), Some(8), "blkid is in two minds");
    assert_refused(&device.path, &device.image, &["it holds data", "several formats", "wipefs"]);
}

#[test]
fn a_btrfs_mount_is_found_although_its_device_number_is_another() {
    let device = need!(LoopDevice::of_zeros(128 * MIB), ROOT);
    need!(system("mkfs.btrfs", &["-q", "-f", device.text()]), "mkfs.btrfs");
    let mounted = Mounted::on(&device.path, device.directory("mnt"), READ_ONLY);
    let _mounted = need!(mounted, "btrfs in the kernel");
    let reason = assert_refused(&device.path, &device.image, &["is mounted at"]);
    assert!(matches!(reason, Reason::Mounted { .. }), "{reason:?}");
}

#[test]
fn files_directories_and_nothing_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("precious");
    fs::write(&file, "data").expect("a file");
    for path in [&file, directory.path()] {
        let refusal = judge(path).expect_err("no device");
        assert_eq!(refusal.reason, Reason::NotABlockDevice);
        assert!(refusal.to_string().contains("only ever read"), "{refusal}");
    }
    assert_eq!(fs::read_to_string(&file).expect("it stays"), "data");
    let refusal = judge(&directory.path().join("absent")).expect_err("nothing");
    assert_eq!(refusal.reason, Reason::Missing);
}

/// A process that has the device open, until it is dropped.
struct Holder(std::process::Child);

impl Holder {
    /// `how` is a redirection of the shell: `<>` to read and write, `<` to read.
    fn new(how: &str, device: &LoopDevice) -> Self {
        let script = format!("exec 9{how}{}; echo open; exec sleep 600", device.text());
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &script]).stdout(Stdio::piped()).stdin(Stdio::null());
        let mut child = shell.spawn().expect("a shell");
        let mut said = [0; 5];
        let stdout = child.stdout.as_mut().expect("it is piped");
        stdout.read_exact(&mut said).expect("it says that it is open");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

/// A virtual machine had the raw device open. It claims nothing, so the exclusive open went
/// through, and drivelab wrote over the disk of a running guest.
#[test]
fn a_device_that_another_process_may_write_is_refused_with_its_name() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let holder = Holder::new("<>", &device);
    let process = format!("process {} (sleep)", holder.0.id());
    let words = [&*process, "open for writing", device.name(), "stop it first"];
    let reason = assert_refused(&device.path, &device.image, &words);
    assert!(matches!(reason, Reason::OpenElsewhere { .. }), "{reason:?}");
    // By another node of the same number, too.
    let number = fs::metadata(&device.path).expect("a node");
    let number = std::os::unix::fs::MetadataExt::rdev(&number);
    let node = device.directory("nodes").join("other");
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let made = system(
        "mknod",
        &[node.to_str().expect("plain"), "b", &major.to_string(), &minor.to_string()],
    );
    if made.is_some() {
        judge(&node).expect_err("the same device");
    }
    let seen = host::devices::survey_one(device.text(), &Roots::default()).expect("it is there");
    let seen = &seen.devices[0];
    assert!(seen.uses.iter().any(|clause| clause.contains(&process)), "{seen:?}");
    assert!(seen.reads && !seen.writes, "{seen:?}");
    drop(holder);
    judge(&device.path).expect("nobody has it any more");
}

/// Somebody who only reads is disturbed, and loses nothing: the target's warnings tell of him.
#[test]
fn a_device_that_another_process_reads_is_permitted_and_told_of() {
    let device = need!(LoopDevice::of_zeros(16 * MIB), ROOT);
    let holder = Holder::new("<", &device);
    judge(&device.path).expect("a reader is no writer");
    let info = host::target_info(&device.path, device.text(), &Roots::default()).expect("a device");
    let name = device.path.file_name().expect("a device").display();
    let process = format!("process {} (sleep) has {name} open for reading", holder.0.id());
    let texts: Vec<&str> = info.warnings.iter().map(|warning| &*warning.text).collect();
    assert!(texts.iter().any(|text| text.contains(&process)), "{texts:?}");
    drop(holder);
    let info = host::target_info(&device.path, device.text(), &Roots::default()).expect("a device");
    assert!(!info.warnings.iter().any(|warning| warning.text.contains("process")), "{info:?}");
}
