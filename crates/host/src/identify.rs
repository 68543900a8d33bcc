//! What a path is: file or device, on which file system, on which block devices, on which drives.
//!
//! Nothing here opens a device. It refuses to know whether the drive is fast: that is measured.

pub(crate) mod array;
pub(crate) mod details;
mod drive;
mod flags;
mod link;
pub(crate) mod stack;
pub(crate) mod tools;

pub use crate::findings::Findings;
pub(crate) use drive::{identity_of, temperature_of, usb_device};
pub use tools::ask_tools;

use crate::{
    error::{ErrorKind, HostError},
    guard, missing,
    mountinfo::{Mount, mount_of, mounts},
    roots::{DeviceNumber, Roots, read_text},
    sysfs::BlockDevice,
};
use record::{FileSystem, TargetIdentity, TargetInfo, TargetKind, Warning};
use rustix::fs::{AtFlags, CWD, StatVfs, StatxFlags, statvfs, statx};
use stack::Stack;
use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Everything that can be told about `path` without opening it. `text` is the TARGET as the user
/// wrote it; symbolic links are followed.
///
/// An absent file in an existing directory is [`TargetKind::NewFile`]; the facts are the
/// directory's. Temperatures are those of now; [`ask_tools`] adds what smartctl and nvme know.
///
/// # Errors
/// [`ErrorKind::NotFound`] when not even the directory exists, [`ErrorKind::WrongKind`] for character devices,
/// sockets and pipes, else the system's.
pub fn target_info(path: &Path, text: &str, roots: &Roots) -> Result<TargetInfo, HostError> {
    let (path, kind) = classify(path)?;
    let place = match kind {
        TargetKind::NewFile => path.parent().expect("a file has a directory").to_owned(),
        _ => path.clone(),
    };
    let meta = fs::metadata(&place).map_err(|error| HostError::io("look at", &place, error))?;
    let mounts = mounts(roots);
    if kind == TargetKind::BlockDevice {
        return Ok(device_info(path, text, &meta, &mounts, roots));
    }
    let number = DeviceNumber::from_raw(meta.dev());
    let mount = mount_of(&place, Some(number), &mounts);
    let stack = mount.map(|mount| Stack::under_mount(mount, &mounts, roots)).unwrap_or_default();
    let layers = stack.layers(roots);
    let usage = statvfs(&place).map_err(|error| HostError::io("look at", &place, error))?;
    let findings = flags::judge(mount, &stack, &layers);
    let free_bytes = free_bytes(&usage);
    Ok(TargetInfo {
        text: text.to_owned(),
        kind,
        capacity_bytes: if kind == TargetKind::File { meta.len() } else { free_bytes },
        free_bytes: Some(free_bytes),
        file_system: mount.map(|mount| file_system(mount, &usage)),
        direct_alignment_bytes: direct_alignment(&place).or_else(|| logical_block(&layers)),
        path_exact: record::exact(&path),
        path: Some(path.to_string_lossy().into_owned()),
        stack: layers,
        flags: findings.flags,
        warnings: findings.warnings,
        completions: None,
        managed_flash: None,
        price: None,
        identity: Some(path_identity(&place, kind, mount, &usage)),
    })
}

fn device_info(
    path: PathBuf,
    text: &str,
    meta: &Metadata,
    mounts: &[Mount],
    roots: &Roots,
) -> TargetInfo {
    let device = BlockDevice::numbered(DeviceNumber::from_raw(meta.rdev()), roots);
    let number = device.as_ref().map(|device| device.number);
    let bytes = device.as_ref().map_or(0, BlockDevice::bytes);
    let diskseq = device
        .as_ref()
        .and_then(|device| device.parent().as_ref().unwrap_or(device).integer("diskseq"));
    let stack = device.map(|device| Stack::under_device(device, mounts, roots)).unwrap_or_default();
    let layers = stack.layers(roots);
    let mut findings = flags::judge(None, &stack, &layers);
    if let Some(mount) = mounts.iter().find(|mount| Some(mount.number) == number) {
        findings.warnings.push(Warning {
            flag: None,
            text: format!(
                "{} is mounted at {} and may be in use while it is read: unmount it first for \
                 undisturbed numbers",
                path.display(),
                mount.mount_point
            ),
        });
    }
    if let Some(number) = number {
        findings.warnings.extend(open_elsewhere(number, roots));
    }
    TargetInfo {
        text: text.to_owned(),
        kind: TargetKind::BlockDevice,
        capacity_bytes: bytes,
        free_bytes: None,
        file_system: None,
        direct_alignment_bytes: direct_alignment(&path).or_else(|| logical_block(&layers)),
        path_exact: record::exact(&path),
        path: Some(path.to_string_lossy().into_owned()),
        stack: layers,
        flags: findings.flags,
        warnings: findings.warnings,
        completions: None,
        managed_flash: None,
        price: None,
        identity: Some(device_identity(diskseq, roots)),
    }
}

/// Other processes that have the device open; what this user cannot see of them.
fn open_elsewhere(number: DeviceNumber, roots: &Roots) -> Vec<Warning> {
    let guard::Elsewhere { clauses, unseen } = guard::open_elsewhere_of(number, roots);
    let mut texts: Vec<String> = clauses
        .into_iter()
        .map(|clause| format!("{clause} and may disturb what is measured: stop it first"))
        .collect();
    if unseen > 0 {
        texts.push(
            "whether another process has the device open could not be seen: run as root to know"
                .to_owned(),
        );
    }
    texts.into_iter().map(|text| Warning { flag: None, text }).collect()
}

/// What tells a file or directory from another of its name.
fn path_identity(
    place: &Path,
    kind: TargetKind,
    mount: Option<&Mount>,
    usage: &StatVfs,
) -> TargetIdentity {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let facts = statx(CWD, place, AtFlags::empty(), wanted).ok();
    // A new file has no inode yet; its directory may be any.
    let facts = facts.filter(|_| kind != TargetKind::NewFile);
    let knows = |facts: &rustix::fs::Statx, what| {
        StatxFlags::from_bits_retain(facts.stx_mask).contains(what)
    };
    let born = facts.filter(|facts| knows(facts, StatxFlags::BTIME)).map(|facts| facts.stx_btime);
    // Of the others it follows from the device's number, which changes from mount to mount.
    let lasts =
        mount.is_some_and(|mount| ["ext2", "ext3", "ext4", "btrfs"].contains(&&*mount.kind));
    TargetIdentity {
        inode: facts.map(|facts| facts.stx_ino),
        born_ns: born
            .map(|born| born.tv_sec.saturating_mul(1_000_000_000) + i64::from(born.tv_nsec)),
        file_system: lasts.then(|| format!("{:016x}", usage.f_fsid)),
        ..TargetIdentity::default()
    }
}

fn device_identity(diskseq: Option<u64>, roots: &Roots) -> TargetIdentity {
    let boot = read_text(&roots.proc.join("sys/kernel/random/boot_id"));
    TargetIdentity { diskseq, boot, ..TargetIdentity::default() }
}

/// Canonical path and kind.
fn classify(path: &Path) -> Result<(PathBuf, TargetKind), HostError> {
    let canonical = match fs::canonicalize(path) {
        Ok(canonical) => canonical,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return new_file(path),
        Err(error) => return Err(HostError::io("look at", path, error)),
    };
    let meta = fs::metadata(&canonical).map_err(|error| HostError::io("look at", path, error))?;
    let file_type = meta.file_type();
    let kind = if file_type.is_dir() {
        missing::refuse_kernels_place(&canonical)?;
        TargetKind::Directory
    } else if file_type.is_file() {
        TargetKind::File
    } else if file_type.is_block_device() {
        TargetKind::BlockDevice
    } else {
        return Err(wrong_kind(path, &file_type));
    };
    Ok((canonical, kind))
}

fn new_file(path: &Path) -> Result<(PathBuf, TargetKind), HostError> {
    let near = || missing::did_you_mean(path, &[], &Roots::default());
    let missing = || {
        let sentence = format!(
            "there is no {} and no directory to make it in: check the spelling of TARGET.{}",
            path.display(),
            near()
        );
        HostError::new(ErrorKind::NotFound, sentence.trim_end_matches('.'))
    };
    if fs::symlink_metadata(path).is_ok() {
        let sentence = format!("{} is a symbolic link to nothing: name its aim", path.display());
        return Err(HostError::new(ErrorKind::NotFound, sentence));
    }
    let name = path.file_name().ok_or_else(missing)?;
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(missing());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = fs::canonicalize(parent.unwrap_or(Path::new("."))).map_err(|_| missing())?;
    if !directory.is_dir() {
        return Err(missing());
    }
    match missing::kernels_place(&directory) {
        None => Ok((directory.join(name), TargetKind::NewFile)),
        Some("/dev") => {
            let (shown, near) = (path.display(), near());
            let sentence = format!(
                "there is no device {shown}: `drivelab devices` lists those there are.{near}"
            );
            Err(HostError::new(ErrorKind::NotFound, sentence.trim_end_matches('.')))
        }
        Some(_) => Err(missing::refuse_kernels_place(&directory).expect_err("it is one")),
    }
}

fn wrong_kind(path: &Path, file_type: &fs::FileType) -> HostError {
    let what = if file_type.is_char_device() {
        "a character device"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_fifo() {
        "a pipe"
    } else {
        "no file"
    };
    let sentence = format!(
        "{} is {what}, which cannot be measured: name a directory, a file or a block device",
        path.display()
    );
    HostError::new(ErrorKind::WrongKind, sentence)
}

fn file_system(mount: &Mount, usage: &StatVfs) -> FileSystem {
    FileSystem {
        kind: mount.kind.clone(),
        mount_point: mount.mount_point.clone(),
        source: mount.source.clone(),
        options: mount.options.clone(),
        block_bytes: usage.f_frsize,
    }
}

/// Bytes that this user may still write.
pub(crate) fn free_bytes(usage: &StatVfs) -> u64 {
    usage.f_bavail.saturating_mul(usage.f_frsize)
}

/// What the kernel says direct I/O must be aligned to (statx(2), Linux 6.1; for files and devices
/// only).
fn direct_alignment(path: &Path) -> Option<u32> {
    let facts = statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN).ok()?;
    let known = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN);
    let alignment = facts.stx_dio_offset_align.max(facts.stx_dio_mem_align);
    (known && facts.stx_dio_offset_align > 0).then_some(alignment)
}

fn logical_block(layers: &[record::BlockLayer]) -> Option<u32> {
    let bytes = layers.first()?.queue.as_ref()?.logical_block_bytes?;
    u32::try_from(bytes).ok()
}
