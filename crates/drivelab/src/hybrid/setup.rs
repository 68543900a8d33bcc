//! How a way is set up with what Linux has: commands to be read, changed and run by hand.

use hybrid::{Mode, Way, page::Commands, tree::Place};

/// For a cache; nothing for other ways.
pub fn commands(way: &Way, block_bytes: u64) -> Vec<Commands> {
    let Some((ssd, shape)) = way.shape() else { return Vec::new() };
    let own = format!("{}, {}", shape.policy.name(), shape.mode.name());
    of_cache(ssd, shape.size_bytes, shape.mode, &own, (block_bytes, "4M"))
}

/// For a cache of this size and mode; `own` is what was modelled. Streams pass by from a length on,
/// 0 for none.
pub fn of_cache(
    ssd: &str,
    size_bytes: u64,
    mode: Mode,
    own: &str,
    (block_bytes, bypass): (u64, &str),
) -> Vec<Commands> {
    let mib = size_bytes >> 20;
    // dm-cache: 32 KiB to 1 GiB, a multiple of 32 KiB (lvmcache(7), --chunksize).
    let chunk_kib = (block_bytes >> 10).max(32);
    let lvm_mode = match mode {
        Mode::Around => "passthrough",
        Mode::Through | Mode::Back => mode.name(),
    };
    let mode = mode.name();
    let lvm = Commands {
        about: format!(
            "LVM's cache, whose policy is smq ({own} was modelled). DISKS and SSD are your \
             devices, the SSD a {ssd}; what is on both is lost"
        ),
        lines: vec![
            "vgcreate vg DISKS".to_owned(),
            "vgextend vg SSD".to_owned(),
            "lvcreate -n data -l 100%PVS vg DISKS".to_owned(),
            format!("lvcreate -n fast -L {mib}m vg SSD"),
            format!(
                "lvconvert --type cache --cachevol fast --cachemode {lvm_mode} \
                 --chunksize {chunk_kib}k vg/data"
            ),
        ],
    };
    let bcache = Commands {
        about: format!(
            "bcache, whose policy is LRU ({own} was modelled). It takes all of SSD, which may be a \
             partition of {mib} MiB; what is on DISKS and SSD is lost"
        ),
        lines: vec![
            "make-bcache -B DISKS -C SSD".to_owned(),
            format!("echo {mode} > /sys/block/bcache0/bcache/cache_mode"),
            format!("echo {bypass} > /sys/block/bcache0/bcache/sequential_cutoff"),
        ],
    };
    vec![lvm, bcache]
}

/// How a place is set up with what Linux has; nothing for one without flash beside the disks.
pub fn of_place(place: &Place, file_system: &str) -> Vec<Commands> {
    let of = |about: &str, lines: &[&str]| Commands {
        about: format!("{about}. DISKS and SSD are your devices; what is on both is lost"),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let make = format!("mkfs.{file_system}");
    match (place, file_system) {
        (Place::Journal { .. }, "xfs") => vec![of(
            "XFS' log on a partition of 1 GiB of the SSD",
            &["mkfs.xfs -l logdev=SSD,size=1g DISKS", "mount -o logdev=SSD DISKS /mnt"],
        )],
        (Place::Journal { .. }, _) => vec![of(
            &format!("{file_system}'s journal on a partition of 1 GiB of the SSD"),
            &[
                "mke2fs -b 4096 -O journal_dev SSD",
                &format!("{make} -b 4096 -J device=SSD DISKS"),
                "mount DISKS /mnt",
            ],
        )],
        (Place::Metadata { .. }, "xfs") => vec![
            of(
                "XFS with metadata and log on the SSD, and all files' data in a realtime section \
                 on the disks, for a kernel with CONFIG_XFS_RT",
                &["mkfs.xfs -d rtinherit=1 -r rtdev=DISKS SSD", "mount -o rtdev=DISKS SSD /mnt"],
            ),
            zfs(None),
        ],
        (Place::Metadata { .. }, _) => vec![
            of(
                &format!(
                    "{file_system} over the SSD and then the disks: inode tables, maps and the \
                     journal lie in front, so on the SSD as far as it reaches; directories do not"
                ),
                &[
                    "vgcreate vg SSD DISKS",
                    "lvcreate -n data -l 100%PVS vg SSD",
                    "lvextend -l +100%PVS vg/data DISKS",
                    &format!("{make} -E packed_meta_blocks=1 /dev/vg/data"),
                    "mount /dev/vg/data /mnt",
                ],
            ),
            zfs(None),
        ],
        (Place::SmallFiles { small_bytes, .. }, _) => vec![zfs(Some(*small_bytes))],
        (Place::Disks | Place::Flash { .. } | Place::Cache { .. }, _) => Vec::new(),
    }
}

/// ZFS' special vdev, which nothing here models: it writes nothing in place.
fn zfs(small_bytes: Option<u64>) -> Commands {
    let small = small_bytes.map(|bytes| format!("zfs set special_small_blocks={bytes} tank"));
    let what = if small.is_some() { "metadata and small blocks" } else { "metadata" };
    let about = format!(
        "ZFS with {what} on a special vdev of two SSDs, for with it all is lost. ZFS was not \
         modelled: its rates are others. What is on DISK... and SSD... is lost"
    );
    let mut lines = vec!["zpool create tank raidz DISK... special mirror SSD SSD".to_owned()];
    lines.extend(small);
    Commands { about, lines }
}
