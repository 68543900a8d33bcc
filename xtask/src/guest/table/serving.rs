//! What is served, over NBD and as a disk of the kernel's.

use crate::guest::{
    kernel::Kernel,
    scenario::{KernelDefect, PLAIN, Scenario},
};

/// A scenario of `serve --ublk`, which is over when nothing is left of its device.
const UBLK: Scenario = Scenario {
    prepare: ". /guest/ublk; modprobe ublk_drv",
    after: ". /guest/ublk; nothing_left && no_errors",
    undo: "kill -9 $(cat server) 2>/dev/null; sleep 1; drivelab serve --ublk-remove 0",
    kernel: Some(Kernel::Six12),
    limit_s: 240,
    ..PLAIN
};

/// The same, and its server is killed.
const KILLS: Scenario = Scenario { kernel_defect: Some(CVE_2025_37906), ..UBLK };

/// Linux 6.7 to 6.14.5 may stop when a ublk server is killed (docs/reference/ublk.md).
pub const CVE_2025_37906: KernelDefect =
    KernelDefect { place: "io_fallback_tw", name: "CVE-2025-37906 of the kernel" };

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "serve-nbd",
        prepare: "drivelab serve $VIRTIO --destroy VIRTIO --nbd unix:s --ready-fd 3 \
            3>ready >said 2>&1 & echo $! >pid; until_so grep -q ready ready",
        command: "kill $(cat pid); until_so sh -c '! kill -0 $(cat pid)'; cat said; ls s",
        exit: 1,
        words: &["stopped"],
        after: "unchanged $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "ublk-without-driver",
        prepare: "rmmod ublk_drv 2>/dev/null || true",
        command: "drivelab serve memory:16M --ublk",
        exit: 2,
        words: &["modprobe ublk_drv"],
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "ublk-without-right",
        prepare: "modprobe ublk_drv; until_so test -e /dev/ublk-control
            chmod 666 /dev/ublk-control; chmod 755 .",
        command: "setpriv --reuid 65534 --regid 65534 --clear-groups \
            drivelab serve memory:16M --ublk",
        exit: 2,
        words: &["CAP_SYS_ADMIN"],
        undo: "chmod 600 /dev/ublk-control",
        ..UBLK
    },
    Scenario {
        name: "ublk-file-verified",
        command: ". /guest/ublk; truncate -s 64M disk.img
            start disk.img --destroy disk.img --ublk && fio_verifies 4k 1 512k &&
            fio_verifies 4k 16 2m && fio_verifies 1m 16 16m && end",
        words: &["stopped"],
        ..UBLK
    },
    Scenario {
        name: "ublk-volume-verified",
        command: ". /guest/ublk; drivelab flash create $NVME --destroy NVME &&
            start flash:$NVME --ublk && fio_verifies 4k 16 2m &&
            fio_verifies 4k 16 8m --bsrange=512-1m --blockalign=512 --norandommap --io_size=8m \
                --fsync=16 --verify_backlog=64 &&
            blkdiscard /dev/ublkb0 && blkdiscard -z -l 16M /dev/ublkb0 &&
            cmp -n 16M /dev/ublkb0 /dev/zero && end && drivelab flash check $NVME",
        words: &["stopped", "healthy"],
        ..UBLK
    },
    Scenario {
        name: "ublk-volume-under-ext4",
        command: ". /guest/ublk; drivelab flash create $NVME --destroy NVME &&
            start flash:$NVME --ublk && mkfs.ext4 -q -F /dev/ublkb0 && mkdir m &&
            mount /dev/ublkb0 m && cp -r /guest m/ && sync -f m && diff -r /guest m/guest &&
            fstrim m && umount m && e2fsck -f -n /dev/ublkb0 && end",
        words: &["stopped"],
        undo: "umount m; kill -9 $(cat server); sleep 1; drivelab serve --ublk-remove 0",
        ..UBLK
    },
    Scenario {
        name: "ublk-drive",
        command: ". /guest/ublk; start $SATA --destroy SATA --ublk && fio_verifies 64k 8 8m && end",
        words: &["stopped"],
        ..UBLK
    },
    Scenario {
        name: "ublk-killed-and-taken-up",
        command: ". /guest/ublk; truncate -s 64M disk.img
            killed_under_fio 1 3 $PWD/disk.img --destroy disk.img --ublk --restartable && end",
        words: &["3 kills"],
        ..KILLS
    },
    Scenario {
        name: "ublk-killed-at-depth-16",
        command: ". /guest/ublk; truncate -s 64M disk.img
            killed_under_fio 16 3 $PWD/disk.img --destroy disk.img --ublk --restartable && end",
        words: &["3 kills"],
        ..KILLS
    },
    Scenario {
        name: "ublk-killed-ten-times",
        command: ". /guest/ublk; drivelab flash create $NVME --destroy NVME &&
            killed_under_fio 16 10 flash:$NVME --ublk --restartable && end &&
            drivelab flash check $NVME",
        words: &["10 kills", "healthy"],
        limit_s: 900,
        ..KILLS
    },
    Scenario {
        name: "ublk-killed-under-ext4",
        command: ". /guest/ublk; truncate -s 64M disk.img
            W=\"$PWD/disk.img --destroy disk.img --ublk --restartable\"
            start $W && mkfs.ext4 -q -F /dev/ublkb0 && mkdir m && mount /dev/ublkb0 m || exit 1
            (for n in 1 2 3 4; do cp -r /guest m/$n && sync -f m || exit 1; done) & COPY=$!
            for n in 1 2 3; do sleep 0.$n; killed && start $W || exit 1; done
            wait $COPY || exit 1; killed; start $W
            for n in 1 2 3 4; do diff -r /guest m/$n || exit 1; done
            umount m && e2fsck -f -n /dev/ublkb0 && end",
        words: &["stopped"],
        undo: "umount m; kill -9 $(cat server); sleep 1; drivelab serve --ublk-remove 0",
        ..KILLS
    },
    Scenario {
        name: "ublk-what-a-killed-server-leaves",
        command: ". /guest/ublk; truncate -s 64M disk.img other.img
            start disk.img --destroy disk.img --ublk --restartable && killed; sleep 1
            drivelab serve disk.img --destroy disk.img --ublk
            drivelab serve other.img --destroy other.img --ublk=0 --restartable
            drivelab serve disk.img --destroy disk.img --ublk=5 --restartable
            start other.img --read-only --ublk && cat ready said
            drivelab serve --ublk-remove 1
            end; drivelab serve --ublk-remove 0 && ! drivelab serve --ublk-remove 0",
        words: &[
            "must say --restartable",
            "killed server of another target",
            "ublk=0 --restartable",
            "ready /dev/ublkb1",
            "/dev/ublkb0 waits",
            "is served by process",
            "no ublk device 0",
        ],
        ..KILLS
    },
    Scenario {
        name: "ublk-not-restartable",
        command: ". /guest/ublk; truncate -s 64M disk.img
            start disk.img --destroy disk.img --ublk && killed; until_so nothing_left_but_control
            start disk.img --destroy disk.img --ublk && cat said && end",
        words: &["removed what a killed server left"],
        ..KILLS
    },
    Scenario {
        name: "ublk-still-mounted",
        command: ". /guest/ublk; truncate -s 64M disk.img; mkdir m
            start disk.img --destroy disk.img --ublk && mkfs.ext4 -q -F /dev/ublkb0 &&
            mount /dev/ublkb0 m && cp -r /guest m/ && end; cat said; umount -l m
            until_so nothing_left
            start disk.img --destroy disk.img --ublk && mount /dev/ublkb0 m &&
            diff -r /guest m/guest && umount m && end",
        words: &["mounted or in use"],
        // The kernel says what it thinks of a disk that goes under a file system.
        after: ". /guest/ublk; nothing_left",
        undo: "umount -l m; kill -9 $(cat server); sleep 1; drivelab serve --ublk-remove 0",
        ..UBLK
    },
    Scenario {
        name: "ublk-read-only",
        command: ". /guest/ublk; head -c 16777216 /dev/urandom >disk.img; md5sum <disk.img >before
            start disk.img --read-only --ublk --restartable
            dd if=/dev/zero of=/dev/ublkb0 bs=4k count=1 oflag=direct && exit 1
            dd if=/dev/ublkb0 of=/dev/null bs=1M iflag=direct status=none && killed &&
            start disk.img --read-only --ublk --restartable &&
            cmp /dev/ublkb0 disk.img && end && md5sum <disk.img | cmp - before",
        words: &["stopped"],
        ..KILLS
    },
    Scenario {
        name: "ublk-models-and-memory",
        command: ". /guest/ublk
            start model:mtron-pro-32 --ublk && fio_verifies 4k 8 256k && end &&
            start memory:64M --ublk=7 && test -b /dev/ublkb7 && end &&
            drivelab serve model:mtron-pro-32 --ublk --restartable",
        exit: 2,
        words: &["leave --restartable out"],
        ..UBLK
    },
    Scenario {
        name: "ublk-odd-length",
        command: ". /guest/ublk; truncate -s 10000001 odd.img
            start odd.img --read-only --ublk && cat said && end",
        words: &["a disk does not reach them"],
        ..UBLK
    },
];
