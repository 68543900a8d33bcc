//! How a cache is set up with what Linux has: commands to be read, changed and run by hand.

use hybrid::{Mode, Way, page::Commands};

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
            "LVM's cache, whose policy is smq ({own} was reckoned). DISKS and SSD are your \
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
            "bcache, whose policy is LRU ({own} was reckoned). It takes all of SSD, which may be a \
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
