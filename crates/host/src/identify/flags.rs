//! Flags that hold for every cell on a target, each with its sentence.

use super::stack::Stack;
use crate::{findings::Findings, mountinfo::Mount, sysfs::BlockDevice};
use record::{BlockLayer, Flag};

/// What is noteworthy about the file system (if any) and the block devices under a target.
pub(crate) fn judge(top: Option<&Mount>, stack: &Stack, layers: &[BlockLayer]) -> Findings {
    let mut findings = Findings::default();
    for mount in top.into_iter().chain(&stack.file_systems) {
        judge_file_system(mount, &mut findings);
    }
    for (device, layer) in stack.devices.iter().zip(layers) {
        judge_kind(layer, device, &mut findings);
        judge_drive(layer, &mut findings);
        judge_alignment(layer, device, &mut findings);
    }
    findings
}

fn judge_file_system(mount: &Mount, findings: &mut Findings) {
    let (kind, place) = (&mount.kind, &mount.mount_point);
    let here = format!("{place} is {kind}");
    match kind.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => findings.add(
            Flag::MemoryBacked,
            &format!("{here}, which lives in memory, so this measures memory and not a drive"),
        ),
        "overlay" | "aufs" => {
            findings.add(Flag::OverlayBacked, &format!("{here}, a layer over another file system"));
        }
        "zfs" | "btrfs" | "bcachefs" => {
            findings
                .add(Flag::CopyOnWrite, &format!("{here}, which copies on write and checksums"));
        }
        "ecryptfs" => {
            findings
                .add(Flag::Encrypted, &format!("{here}, which encrypts all that passes through"));
        }
        _ if is_network(kind) => {
            let source = &mount.source;
            findings
                .add(Flag::NetworkBacked, &format!("{here}, reached over a network ({source})"));
        }
        _ if is_fuse(kind) => {
            findings.add(Flag::FuseBacked, &format!("{here}, served by a program in user space"));
        }
        _ => {}
    }
    if let Some(algorithm) = compression(mount) {
        let sentence = format!("{here} mounted with compression ({algorithm})");
        findings.add(Flag::CompressingTarget, &sentence);
    }
}

/// Kernel clients of remote file systems, and FUSE ones that are remote by name.
fn is_network(kind: &str) -> bool {
    const KINDS: [&str; 16] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "virtiofs",
        "ceph",
        "afs",
        "lustre",
        "gfs2",
        "ocfs2",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.ceph-fuse",
        "beegfs",
    ];
    KINDS.contains(&kind)
}

/// `fuseblk` serves a local device (ntfs-3g), still in user space.
fn is_fuse(kind: &str) -> bool {
    kind == "fuse" || kind == "fuseblk" || kind.starts_with("fuse.")
}

fn compression(mount: &Mount) -> Option<&str> {
    let names: &[&str] = match mount.kind.as_str() {
        "btrfs" => &["compress", "compress-force"],
        "bcachefs" => &["compression"],
        "f2fs" => &["compress_algorithm"],
        "ubifs" => &["compr"],
        _ => return None,
    };
    let found = names.iter().find_map(|name| mount.option(name));
    let on = |value: &&str| !matches!(*value, "no" | "none" | "off");
    found.filter(on).map(|value| if value.is_empty() { "on" } else { value })
}

fn judge_kind(layer: &BlockLayer, device: &BlockDevice, findings: &mut Findings) {
    let name = &layer.name;
    match layer.kind.as_str() {
        "zram" | "ram" => findings.add(
            Flag::MemoryBacked,
            &format!("{name} lives in memory, so this measures memory and not a drive"),
        ),
        "loop" => {
            let file = device.backing_file().unwrap_or_else(|| "nothing".into());
            let file = file.display();
            findings.add(Flag::LoopDevice, &format!("{name} is a loop device over {file}"));
        }
        "dm-crypt" => {
            findings.add(Flag::Encrypted, &format!("{name} encrypts all that passes through"));
        }
        _ => {}
    }
}

fn judge_drive(layer: &BlockLayer, findings: &mut Findings) {
    let Some(drive) = &layer.drive else { return };
    let name = &layer.name;
    let model = drive.model.as_deref().unwrap_or("no model name");
    let transport = drive.transport.as_deref().unwrap_or("");
    let remote_model = ["Amazon Elastic Block Store", "PersistentDisk"]
        .iter()
        .any(|word| drive.model.as_deref().is_some_and(|model| model.contains(word)));
    let remote = matches!(transport, "nbd" | "rbd" | "drbd" | "iscsi");
    if remote || remote_model || transport.starts_with("nvme-") {
        let by = if remote_model { model } else { transport };
        findings.add(Flag::NetworkBacked, &format!("{name} is reached over a network ({by})"));
    }
    if drive.is_virtual {
        let sentence = format!("{name} is a virtual drive ({model}, {transport})");
        findings.add(Flag::VirtualDisk, &sentence);
    }
    if let Some(link) = &drive.link
        && let Some(possible) = link.possible.as_ref().filter(|text| **text != link.negotiated)
    {
        let negotiated = &link.negotiated;
        let sentence =
            format!("{name} is linked at {negotiated}; drive and slot can do {possible}");
        findings.add(Flag::LinkDegraded, &sentence);
    }
    let cache = layer.queue.as_ref().and_then(|queue| queue.write_cache.as_deref());
    if cache == Some("write back") && drive.power_loss_protection != Some(true) {
        let sentence =
            format!("the write cache of {name} is on, so a plain write may be lost in a power cut");
        findings.add(Flag::VolatileCache, &sentence);
    }
}

fn judge_alignment(layer: &BlockLayer, device: &BlockDevice, findings: &mut Findings) {
    let queue = layer.queue.as_ref();
    let physical = queue.and_then(|queue| queue.physical_block_bytes).unwrap_or(512).max(1);
    let name = &layer.name;
    if let Some(start) = layer.start_bytes.filter(|start| start % physical != 0) {
        let sentence = format!(
            "{name} starts at byte {start}, off the drive's physical block of {physical} B"
        );
        findings.add(Flag::Misaligned, &sentence);
    } else if let Some(offset) = device.integer("loop/offset").filter(|offset| offset % 4096 != 0) {
        let sentence = format!("{name} starts at byte {offset} of its file, off any 4096 B page");
        findings.add(Flag::Misaligned, &sentence);
    } else if device.text("alignment_offset").is_some_and(|text| text != "0") {
        let sentence = format!("the kernel finds {name} off its drive's physical blocks");
        findings.add(Flag::Misaligned, &sentence);
    }
}
