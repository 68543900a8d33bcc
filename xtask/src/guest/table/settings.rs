//! The drive's write cache: switched, read back and put back without any tool; and health, which no
//! tool is asked for either. What `observe` sees it sees by the tools.

use crate::guest::scenario::{PLAIN, SLOW, Scenario};

/// What `observed` says where the tools never saw the cache both on and off.
const NEVER_SEEN: &[&str] = &["the write cache was never"];

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "matrix-write-cache-nvme",
        command: "observe $NVME; matrix $NVME NVME --fs raw,ext4 --write-cache on,off --passes 1 \
            --method /guest/short.toml; code=$?; observed; exit $code",
        words: &[
            "$NVME says that its write cache is on; the kernel sends flushes",
            "$NVME says that its write cache is off; the kernel goes on sending flushes",
            "afterwards $NVME says that its write cache is on",
        ],
        never: NEVER_SEEN,
        after: "cache_is $NVME on",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "matrix-write-cache-sata",
        command: "observe $SATA; matrix $SATA SATA --fs raw,ext4 --write-cache on,off --passes 1 \
            --method /guest/short.toml; code=$?; observed; exit $code",
        words: &[
            "$SATA says that its write cache is on; the kernel sends flushes",
            "$SATA says that its write cache is off; the kernel sends no flushes",
            "afterwards $SATA says that its write cache is on",
        ],
        never: NEVER_SEEN,
        after: "cache_is $SATA on",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "matrix-write-cache-scsi",
        command: "observe $SCSI; matrix $SCSI SCSI --fs raw,ext4 --write-cache on,off --passes 1 \
            --method /guest/short.toml; code=$?; observed; exit $code",
        words: &[
            "$SCSI says that its write cache is on; the kernel sends flushes",
            "$SCSI says that its write cache is off; the kernel sends no flushes",
            "afterwards $SCSI says that its write cache is on",
        ],
        never: NEVER_SEEN,
        after: "cache_is $SCSI on",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "matrix-write-cache-virtio",
        command: "observe $VIRTIO; matrix $VIRTIO VIRTIO --fs raw,ext4 --write-cache on,off --passes 1 \
            --method /guest/short.toml; code=$?; observed; exit $code",
        words: &[
            "$VIRTIO says that its write cache is on; the kernel sends flushes",
            "$VIRTIO says that its write cache is off; the kernel sends no flushes",
            "afterwards $VIRTIO says that its write cache is on",
        ],
        never: NEVER_SEEN,
        after: "cache_is $VIRTIO on",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "matrix-write-cache-of-two-name-spaces",
        command: "matrix $SPACE1 $(cat /sys/block/${SPACE1##*/}/wwid) --fs raw --write-cache on,off --passes 1 \
            --method /guest/short.toml",
        words: &["$SPACE1 says that its write cache is off, and with it that of $space2"],
        after: "cache_is $SPACE1 on && cache_is $SPACE2 on && unchanged $SPACE2",
        ..PLAIN
    },
    Scenario {
        name: "matrix-write-cache-that-others-use",
        prepare: "mkfs.ext4 -q -F $SPACE2; mkdir m; mount $SPACE2 m",
        command: "matrix $SPACE1 $(cat /sys/block/${SPACE1##*/}/wwid) --fs raw --write-cache off --passes 1 \
            --method /guest/short.toml",
        exit: 2,
        words: &["$space2 included, and", "leave --write-cache out"],
        after: "cache_is $SPACE1 on && unchanged $SPACE1",
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "matrix-write-cache-killed-then-restored",
        command: "four_matrices; kill -9 $MATRICES; wait
            for path in $NVME $SATA $SCSI $VIRTIO; do cache_is $path off; done
            drivelab restore",
        words: &[
            "$NVME says that its write cache is on; the kernel sends flushes",
            "$SATA says that its write cache is on; the kernel sends flushes",
            "$SCSI says that its write cache is on; the kernel sends flushes",
            "$VIRTIO says that its write cache is on; the kernel sends flushes",
        ],
        never: &["is not off"],
        after: "for path in $NVME $SATA $SCSI $VIRTIO; do cache_is $path on || exit; done
            ! grep drivelab-matrix /proc/mounts && ! ls -d /tmp/drivelab-matrix-*",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "matrix-killed-then-again",
        command: "again() { matrix $SCSI SCSI --fs ext4 --passes 1 --method /guest/short.toml; }
            drivelab matrix $SCSI --destroy SCSI --fs ext4 --passes 1 --size 8M --quiet --yes \
            --method /guest/short.toml --set bound=time --max-time 600s & MATRIX=$!
            until_so grep -q /drivelab-matrix- /proc/mounts; kill -9 $MATRIX; wait
            drivelab restore && again; echo \"refused with $?\"; wipefs -q -a $SCSI; again",
        words: &[
            "ext4 itself stays on the drive, so that the next matrix is refused: `wipefs -a $SCSI`",
            "it holds data (an ext4 file system on $scsi)",
            "then `wipefs -a $SCSI`",
            "refused with 2",
            "random write 4 KiB",
        ],
        after: "! grep drivelab-matrix /proc/mounts && ! ls -d /tmp/drivelab-matrix-*",
        limit_s: 240,
        ..SLOW
    },
    // QEMU's drives begin with their cache on.
    Scenario {
        name: "matrix-power-cut-then-restored",
        prepare: "mkfs.ext4 -q $USB; mkdir stays; mount $USB stays",
        command: "export XDG_STATE_HOME=$PWD/stays; four_matrices; power_off",
        again: "mkdir stays; mount $USB stays; export XDG_STATE_HOME=$PWD/stays
            drivelab restore",
        words: &[
            "gone with the restart of the machine: ext4 from ",
            "$NVME says that its write cache is on; the kernel sends flushes: as before, nothing to do",
            "$SATA says that its write cache is on; the kernel sends flushes: as before, nothing to do",
            "$SCSI says that its write cache is on; the kernel sends flushes: as before, nothing to do",
            "$VIRTIO says that its write cache is on; the kernel sends flushes: as before, nothing to do",
        ],
        never: &["is not off", "echo '", "set-feature"],
        after: "[ -z \"$(ls stays/drivelab/ledger)\" ] &&
            for path in $NVME $SATA $SCSI $VIRTIO; do cache_is $path on || exit; done",
        undo: "umount stays",
        limit_s: 240,
        ..PLAIN
    },
    // As of drives that keep the setting; what is mounted since is nobody's of the ledger.
    Scenario {
        name: "matrix-power-cut-of-drives-that-keep-it",
        prepare: "mkfs.ext4 -q $USB; mkdir stays; mount $USB stays",
        command: "export XDG_STATE_HOME=$PWD/stays; four_matrices; power_off",
        again: "mkdir stays m; mount $USB stays; export XDG_STATE_HOME=$PWD/stays
            nvme set-feature $(controller $NVME) -f 6 -v 0
            hdparm -q -W0 $SATA
            echo 'write through' >$(echo /sys/block/${SCSI##*/}/device/scsi_disk/*/cache_type)
            echo 'write through' >/sys/block/${VIRTIO##*/}/cache_type
            for path in $NVME $SATA $SCSI $VIRTIO; do cache_is $path off; done
            mount $SCSI m
            drivelab restore",
        words: &[
            "nvme set-feature /dev/nvme",
            "--feature-id=6 --value=1",
            "echo 'write back' > /sys/block/$sata/device/scsi_disk/",
            "echo 'write back' > /sys/block/$scsi/device/scsi_disk/",
            "echo 'write back' > /sys/block/$virtio/cache_type",
            "$NVME says that its write cache is on",
            "$SCSI says that its write cache is on; the kernel sends flushes",
        ],
        never: &["is not off", "umount"],
        after: "for path in $NVME $SATA $SCSI $VIRTIO; do cache_is $path on || exit; done
            grep -q \"$SCSI $PWD/m\" /proc/mounts && [ -z \"$(ls stays/drivelab/ledger)\" ]",
        undo: "umount m; umount stays",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "health-of-nvme",
        command: "drivelab run $NVME --destroy NVME $SHORT && drivelab show last --explain &&
            drivelab show last --json",
        words: &[
            "health $nvme: 0 % of its life used",
            "media errors",
            "percentage_used",
            "\"source\": \"nvme\"",
            "health_after",
        ],
        never: &["drive_errors", "thermal_throttling"],
        ..PLAIN
    },
    Scenario {
        name: "health-of-sata",
        command: "drivelab run $SATA --destroy SATA $SHORT && drivelab show last --explain &&
            drivelab show last --json",
        words: &["health $sata:", "\"source\": \"ata\"", "health_after"],
        never: &["drive_errors", "thermal_throttling"],
        ..PLAIN
    },
];
