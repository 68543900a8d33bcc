//! A database on a disk of `serve --ublk`: what it was told is kept is kept, whatever happens to
//! the server or to the machine.

use super::serving::CVE_2025_37906;
use crate::guest::{
    kernel::Kernel,
    scenario::{PLAIN, Scenario},
};

const SQLITE: Scenario = Scenario {
    prepare: ". /guest/ublk; modprobe ublk_drv",
    words: &["integrity: ok", " 0 of them lost", "stopped", "healthy"],
    never: &["failed", "integrity: *"],
    after: ". /guest/ublk; nothing_left && no_errors",
    undo: "umount m; kill -9 $(cat server) 2>/dev/null; sleep 1; drivelab serve --ublk-remove 0",
    kernel: Some(Kernel::Six12),
    kernel_defect: Some(CVE_2025_37906),
    limit_s: 300,
    ..PLAIN
};

pub const ALL: &[Scenario] = &[
    // The kills come while commits do, each some commits after the last.
    Scenario {
        name: "ublk-killed-under-sqlite",
        command:
            ". /guest/ublk; . /guest/sqlite; drivelab flash create $NVME --destroy NVME || exit 1
            W=\"flash:$NVME --ublk --restartable\"
            start $W && mkfs.ext4 -q -F /dev/ublkb0 && mkdir m && mount /dev/ublkb0 m || exit 1
            new_database m/base.db || exit 1
            commits m/base.db & WRITER=$!
            for n in 1 2 3 4 5; do goes_on && killed && start $W || exit 1; done
            goes_on && grep -o 'taken up again' said; touch stop; wait $WRITER || exit 1
            counted m/base.db; umount m && e2fsck -f -n /dev/ublkb0 && end || exit 1
            start $W && mount /dev/ublkb0 m && counted m/base.db && umount m && end &&
            drivelab flash check $NVME && echo \"$n kills\"",
        words: &["taken up again", "integrity: ok", " 0 of them lost", "healthy", "5 kills"],
        ..SQLITE
    },
    // The acknowledged rows are counted on another drive, which the cut leaves alone.
    Scenario {
        name: "ublk-power-cut-under-sqlite",
        prepare: ". /guest/ublk; modprobe ublk_drv
            mkfs.ext4 -q $USB; mkdir stays; mount $USB stays",
        command: ". /guest/ublk; . /guest/sqlite; ACKED=$PWD/stays/acked
            drivelab flash create $NVME --destroy NVME && start flash:$NVME --ublk &&
            mkfs.ext4 -q -F /dev/ublkb0 && mkdir m && mount /dev/ublkb0 m &&
            new_database m/base.db && sync || exit 1
            commits m/base.db &
            goes_on && goes_on && goes_on && power_off",
        again: ". /guest/ublk; . /guest/sqlite; ACKED=$PWD/stays/acked
            modprobe ublk_drv; mkdir stays m; mount $USB stays
            start flash:$NVME --ublk && mount /dev/ublkb0 m && counted m/base.db && umount m &&
            e2fsck -f -n /dev/ublkb0 && end && drivelab flash check $NVME",
        undo: "umount m; umount stays; kill -9 $(cat server) 2>/dev/null; sleep 1
            drivelab serve --ublk-remove 0",
        ..SQLITE
    },
];
