//! Drives that fail, stall, degrade or vanish, and a world that does not read what is said.

use super::super::kernel::Kernel;
use crate::guest::scenario::{Scenario, UNTRIED};

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "bad-sector-fails-its-cell-alone",
        prepare: "N=$(sectors $SCSI); printf '%s\\n' \"0 4000 linear $SCSI 0\" \
            \"4000 8 error\" \"4008 $((N - 4008)) linear $SCSI 4008\" | dmsetup create bad",
        command: "drivelab run /dev/mapper/bad --method /guest/two.toml --size 8M --quiet",
        words: &["random read 4 KiB", "2048000"],
        after: "unchanged $SCSI",
        undo: "dmsetup remove bad",
        fails_today: Some("A.5"),
        ..UNTRIED
    },
    Scenario {
        name: "all-sectors-bad",
        prepare: "dmsetup create bad --table '0 65536 error'",
        command: "drivelab run /dev/mapper/bad $READS",
        exit: 2,
        words: &["nput/output error"],
        undo: "dmsetup remove bad",
        ..UNTRIED
    },
    Scenario {
        name: "slow-drive",
        prepare: "dmsetup create slow --table \"0 $(sectors $SCSI) delay $SCSI 0 20\"",
        command: "drivelab run /dev/mapper/slow $READS --set bound=50",
        words: &["random read 4 KiB", "ms"],
        undo: "dmsetup remove slow",
        ..UNTRIED
    },
    Scenario {
        name: "no-answer-for-some-seconds",
        prepare: "dmsetup create still --table \"0 $(sectors $NVME) linear $NVME 0\"",
        command: "(sleep 4; dmsetup suspend still; sleep 6; dmsetup resume still) &
            drivelab run /dev/mapper/still --method /guest/reads.toml --size 8M --quiet \
            --set bound=time --max-time 15s; code=$?; wait; exit $code",
        words: &["random read 4 KiB", "stalled"],
        undo: "dmsetup resume still; dmsetup remove still",
        fails_today: Some("A.6"),
        ..UNTRIED
    },
    Scenario {
        name: "array-that-resyncs",
        prepare: "echo 100 >/proc/sys/dev/raid/speed_limit_max
            mdadm --quiet --create /dev/md0 --run --bitmap=none --level=1 --raid-devices=2 \
            $VIRTIO $SCSI",
        command: "drivelab run /dev/md0 $READS",
        words: &["random read 4 KiB", "resync"],
        undo: "mdadm --quiet --stop /dev/md0; echo 200000 >/proc/sys/dev/raid/speed_limit_max",
        fails_today: Some("A.7"),
        ..UNTRIED
    },
    Scenario {
        name: "array-that-is-degraded",
        prepare: "mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=none --level=1 \
            --raid-devices=2 $VIRTIO missing",
        command: "drivelab run /dev/md0 $READS",
        words: &["random read 4 KiB", "degraded"],
        undo: "mdadm --quiet --stop /dev/md0",
        fails_today: Some("A.7"),
        ..UNTRIED
    },
    Scenario {
        name: "thin-volume-being-allocated",
        prepare: "modprobe dm-thin-pool; lvm vgcreate -q vg $SATA
            dmsetup create meta --table \"0 8192 linear $SATA 4096\"
            dmsetup create data --table \"0 131072 linear $SATA 20480\"
            dmsetup create pool --table '0 131072 thin-pool /dev/mapper/meta /dev/mapper/data 128 0'
            dmsetup message pool 0 'create_thin 0'
            dmsetup create thin --table '0 262144 thin /dev/mapper/pool 0'",
        command: "drivelab run /dev/mapper/thin --destroy /dev/mapper/thin $SHORT",
        words: &["random write 4 KiB", "allocat"],
        undo: "dmsetup remove thin; dmsetup remove pool; dmsetup remove data; dmsetup remove meta",
        fails_today: Some("A.7"),
        ..UNTRIED
    },
    Scenario {
        name: "thin-pool-full",
        prepare: "modprobe dm-thin-pool
            dmsetup create meta --table \"0 8192 linear $SATA 4096\"
            dmsetup create data --table \"0 8192 linear $SATA 20480\"
            dmsetup create pool --table \
            '0 8192 thin-pool /dev/mapper/meta /dev/mapper/data 128 0 1 error_if_no_space'
            dmsetup message pool 0 'create_thin 0'
            dmsetup create thin --table '0 262144 thin /dev/mapper/pool 0'",
        command: "drivelab run /dev/mapper/thin --destroy /dev/mapper/thin $SHORT",
        exit: 2,
        words: &["o space left"],
        undo: "dmsetup remove thin; dmsetup remove pool; dmsetup remove data; dmsetup remove meta",
        ..UNTRIED
    },
    Scenario {
        name: "uring-by-name-where-forbidden",
        prepare: "echo 2 >/proc/sys/kernel/io_uring_disabled",
        command: "drivelab run $NVME $READS --engine uring",
        exit: 2,
        words: &["io_uring"],
        undo: "echo 0 >/proc/sys/kernel/io_uring_disabled",
        kernel: Some(Kernel::Six12),
        fails_today: Some("A.9"),
        ..UNTRIED
    },
    Scenario {
        name: "auto-where-uring-is-forbidden",
        prepare: "echo 2 >/proc/sys/kernel/io_uring_disabled",
        command: "drivelab run $NVME $READS --set depth=4",
        words: &["random read 4 KiB"],
        undo: "echo 0 >/proc/sys/kernel/io_uring_disabled",
        kernel: Some(Kernel::Six12),
        ..UNTRIED
    },
    Scenario {
        name: "progress-that-nobody-reads",
        command: "drivelab run $NVME --destroy NVME --method /guest/short.toml --size 8M 2>&1 \
            | head -1; drivelab show last",
        words: &["random write 4 KiB"],
        fails_today: Some("A.10"),
        ..UNTRIED
    },
    Scenario {
        name: "progress-to-a-full-device",
        command: "drivelab run $NVME --method /guest/reads.toml --size 8M 2>/dev/full",
        words: &["random read 4 KiB"],
        fails_today: Some("A.10"),
        ..UNTRIED
    },
    Scenario {
        name: "controller-reset",
        command:
            "(sleep 3; nvme reset /dev/$(basename $(readlink -f /sys/block/${NVME##*/}/device))) &
            drivelab run $NVME --method /guest/reads.toml --size 8M --quiet --set bound=time \
            --max-time 8s",
        words: &["random read 4 KiB"],
        ..UNTRIED
    },
    Scenario {
        name: "drive-pulled-out",
        prepare: "sleep 0",
        command: "(sleep 3; echo 1 >/sys/block/${SPARE##*/}/device/device/remove) &
            drivelab run $SPARE --method /guest/reads.toml --size 8M --quiet --set bound=time \
            --max-time 20s",
        exit: 2,
        words: &["is gone"],
        never: &["fill = 1"],
        fails_today: Some("A.4"),
        ..UNTRIED
    },
];
