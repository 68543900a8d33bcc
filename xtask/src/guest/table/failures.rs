//! Drives that fail, stall, degrade or vanish, and a world that does not read what is said.

use super::super::kernel::Kernel;
use crate::guest::scenario::{PLAIN, SLOW, Scenario};

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "bad-sector-fails-its-cell-alone",
        prepare: BAD,
        command: "drivelab run /dev/mapper/bad --method /guest/two.toml --size 8M --quiet",
        exit: 2,
        words: &[
            "random read 4 KiB",
            "at offset 2048000",
            "1 cell failed, the others were measured",
        ],
        after: "unchanged $SCSI && recorded '\"offset\": 2048000'",
        undo: "dmsetup remove bad",
        ..PLAIN
    },
    Scenario {
        name: "bad-sector-ends-the-run",
        prepare: BAD,
        command: "drivelab run /dev/mapper/bad --method /guest/two.toml --size 8M --quiet \
            --on-error stop",
        exit: 2,
        words: &["nput/output error", "No cell was measured"],
        undo: "dmsetup remove bad",
        ..PLAIN
    },
    Scenario {
        name: "bad-sector-is-counted",
        prepare: BAD,
        command: "drivelab run /dev/mapper/bad --method /guest/two.toml --size 8M --quiet \
            --on-error count",
        words: &["sequential read 4 KiB", "random read 4 KiB", "errors", "io_errors", "2048000"],
        undo: "dmsetup remove bad",
        ..PLAIN
    },
    Scenario {
        name: "bad-sector-under-a-fill",
        prepare: BAD,
        command: "drivelab run /dev/mapper/bad --destroy bad --destroy dm-0 $SHORT \
            --set pattern=seq --set bound=once",
        exit: 2,
        words: &["not filled everywhere", "2 cells failed"],
        undo: "dmsetup remove bad",
        ..PLAIN
    },
    Scenario {
        name: "bad-sector-in-a-matrix",
        prepare: BAD,
        command: "drivelab matrix /dev/mapper/bad --destroy bad --destroy dm-0 --fs raw,ext4 \
            --passes 1 --quiet --method /guest/short.toml --size 8M --set pattern=seq \
            --set bound=once",
        exit: 2,
        words: &["Failed", "fs=raw, seq-read-4K", "at offset 2048000", "ext4"],
        // One of two is left: there is nothing to compare.
        never: &["What each setting does"],
        after: "! grep -q /dev/mapper/bad /proc/mounts",
        undo: "dmsetup remove bad",
        limit_s: 240,
        ..SLOW
    },
    Scenario {
        name: "bad-sector-in-a-study",
        prepare: BAD,
        command: "drivelab study easyco2007 --on /dev/mapper/bad --size 4M --max-time 10s \
            --set block=4K --set threads=1 --quiet --on-error count --destroy bad \
            --destroy dm-0 --yes",
        // Beside its cells, or, where all have it, below the table.
        words: &["errors"],
        after: "recorded '\"io_errors\"'",
        undo: "dmsetup remove bad",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "bad-sector-under-a-server",
        prepare: BAD,
        command: "modprobe ublk_drv; . /guest/ublk; start /dev/mapper/bad --read-only --ublk ||
                exit 1
            dd if=/dev/ublkb0 of=there bs=4k count=1 skip=499 iflag=direct status=none &&
            ! dd if=/dev/ublkb0 of=/dev/null bs=4k count=1 skip=500 iflag=direct status=none &&
            dd if=/dev/ublkb0 of=there bs=4k count=1 skip=501 iflag=direct status=none
            echo \"the others: $?\"; end; cat said",
        words: &["Input/output error", "the others: 0", "stopped", "1 request failed"],
        undo: "kill -9 $(cat server) 2>/dev/null; sleep 1; dmsetup remove bad",
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "refuse-loop-over-what-fails",
        prepare: "dmsetup create bad --table '0 65536 error'; losetup /dev/loop3 /dev/mapper/bad
            chmod 666 /dev/loop3; chmod 755 .",
        command: "drivelab run /dev/loop3 --destroy loop3 $SHORT; code=$?
            setpriv --reuid 65534 --regid 65534 --clear-groups \
            drivelab run /dev/loop3 --destroy loop3 $SHORT --store /dev/shm/s; exit $code$?",
        exit: 22,
        words: &["Input/output error", "look at `dmesg`"],
        never: &["run as root", "container"],
        undo: "losetup -d /dev/loop3; dmsetup remove bad",
        ..PLAIN
    },
    Scenario {
        name: "all-sectors-bad",
        prepare: "dmsetup create bad --table '0 65536 error'",
        command: "drivelab run /dev/mapper/bad $READS",
        exit: 2,
        words: &["nput/output error"],
        undo: "dmsetup remove bad",
        ..PLAIN
    },
    Scenario {
        name: "slow-drive",
        prepare: "dmsetup create slow --table \"0 $(sectors $SCSI) delay $SCSI 0 20\"",
        command: "drivelab run /dev/mapper/slow $READS --set bound=50",
        words: &["random read 4 KiB", "ms"],
        undo: "dmsetup remove slow",
        ..PLAIN
    },
    Scenario {
        name: "no-answer-for-some-seconds",
        prepare: STILL,
        command: ". ./still; (stall 2000) &
            drivelab run /dev/mapper/still --method /guest/reads.toml --size 8M --quiet \
            --set bound=time --max-time 30s; code=$?; wait; exit $code",
        words: &["random read 4 KiB", "stalled"],
        after: "recorded '\"iops_without\"'",
        undo: "dmsetup resume still; dmsetup remove still",
        ..SLOW
    },
    Scenario {
        name: "no-answer-in-a-matrix",
        prepare: STILL,
        command: ". ./still; (stall 2000) &
            drivelab matrix /dev/mapper/still --destroy still --fs raw --passes 1 --quiet \
            --method /guest/reads.toml --size 8M --set bound=time --max-time 30s
            code=$?; wait; drivelab show last --explain; exit $code",
        words: &["raw", "All of them:", "stalled", "no answer for 5."],
        after: "recorded '\"iops_without\"'",
        undo: "dmsetup resume still; dmsetup remove still",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "no-answer-in-a-study",
        prepare: STILL,
        command: ". ./still; (stall 3000) &
            drivelab study easyco2007 --on /dev/mapper/still --size 16M --max-time 60s --quiet \
            --set block=4K --set threads=1 --destroy still --yes; code=$?; wait; exit $code",
        words: &["stalled"],
        after: "recorded '\"iops_without\"'",
        undo: "dmsetup resume still; dmsetup remove still",
        limit_s: 240,
        ..PLAIN
    },
    Scenario {
        name: "no-answer-under-a-server",
        prepare: ". /guest/ublk; modprobe ublk_drv
            dmsetup create still --table \"0 $(sectors $NVME) linear $NVME 0\"",
        command: ". /guest/ublk; start /dev/mapper/still --read-only --ublk || exit 1
            dmsetup suspend still; (sleep 5; dmsetup resume still) &
            dd if=/dev/ublkb0 of=/dev/null bs=4k count=1 iflag=direct status=none
            wait $!; end",
        words: &["the longest wait for an answer was 5."],
        undo: "dmsetup resume still; kill -9 $(cat server); sleep 1; dmsetup remove still",
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "array-that-resyncs",
        prepare: RESYNCS,
        command: "drivelab run /dev/md0 $READS",
        words: &["random read 4 KiB", "resync"],
        after: "recorded '\"member_states\"' && recorded '\"level\": \"raid1\"'",
        undo: RESYNCED,
        ..PLAIN
    },
    Scenario {
        name: "array-that-resyncs-in-a-matrix",
        prepare: RESYNCS,
        command: "drivelab matrix /dev/md0 --destroy tank --fs raw,ext4 --passes 1 --quiet \
            --method /guest/short.toml --size 8M",
        words: &["raw", "ext4", "resync"],
        after: "recorded '\"member_states\"' && ! grep -q /dev/md0 /proc/mounts",
        undo: RESYNCED,
        limit_s: 240,
        ..SLOW
    },
    Scenario {
        name: "array-that-resyncs-in-a-study",
        prepare: RESYNCS,
        command: "drivelab study easyco2007 --on /dev/md0 --size 16M --max-time 10s --quiet \
            --set block=4K --set threads=1 --destroy tank --yes",
        words: &["resync"],
        after: "recorded '\"member_states\"' && recorded '\"resync\"'",
        undo: RESYNCED,
        limit_s: 240,
        ..SLOW
    },
    Scenario {
        name: "array-that-resyncs-under-a-server",
        prepare: RESYNCS,
        command: "modprobe ublk_drv; . /guest/ublk; start /dev/md0 --read-only --ublk || exit 1
            dd if=/dev/ublkb0 of=there bs=4k count=1 iflag=direct status=none; end; cat said",
        words: &["resync", "stopped"],
        undo: "kill -9 $(cat server) 2>/dev/null; sleep 1; mdadm --quiet --stop /dev/md0
            echo 200000 >/proc/sys/dev/raid/speed_limit_max",
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "array-that-is-checked",
        prepare: "modprobe -a raid1 raid456; echo 100 >/proc/sys/dev/raid/speed_limit_max
            mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=internal --level=5 \
            --chunk=64 --raid-devices=3 $VIRTIO $SCSI $SATA
            echo check >/sys/block/md0/md/sync_action",
        command: "drivelab run /dev/md0 $READS; drivelab show last --explain",
        words: &["random read 4 KiB", "resync", "md0: check"],
        after: "recorded '\"chunk_bytes\": 65536' && recorded '\"stripe_cache_pages\"'",
        undo: "mdadm --quiet --stop /dev/md0; echo 200000 >/proc/sys/dev/raid/speed_limit_max",
        ..PLAIN
    },
    Scenario {
        name: "array-that-is-degraded",
        prepare: "mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=none --level=1 \
            --raid-devices=2 $VIRTIO missing",
        command: "drivelab run /dev/md0 $READS",
        words: &["random read 4 KiB", "degraded"],
        undo: "mdadm --quiet --stop /dev/md0",
        ..PLAIN
    },
    Scenario {
        name: "thin-volume-being-allocated",
        prepare: "modprobe dm-thin-pool; lvm vgcreate -q vg $SATA
            dmsetup create meta --table \"0 8192 linear $SATA 4096\"
            dmsetup create data --table \"0 131072 linear $SATA 20480\"
            dmsetup create pool --table '0 131072 thin-pool /dev/mapper/meta /dev/mapper/data 128 0'
            dmsetup message pool 0 'create_thin 0'
            dmsetup create thin --table '0 262144 thin /dev/mapper/pool 0'",
        command: "D=$(readlink -f /sys/dev/block/$(dmsetup info -c --noheadings --separator : \
            -o major,minor thin)); D=${D##*/}
            drivelab run /dev/mapper/thin --destroy $D --destroy thin --method /guest/reads.toml \
            --set op=write --size 8M --quiet",
        words: &["random write 4 KiB", "allocating"],
        after: "recorded '\"mapping\": \"thin\"'",
        undo: "dmsetup remove thin; dmsetup remove pool; dmsetup remove data; dmsetup remove meta",
        ..PLAIN
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
        ..PLAIN
    },
    Scenario {
        name: "uring-by-name-where-forbidden",
        prepare: "echo 2 >/proc/sys/kernel/io_uring_disabled",
        command: "drivelab run $NVME $READS --engine uring",
        exit: 2,
        words: &["io_uring"],
        undo: "echo 0 >/proc/sys/kernel/io_uring_disabled",
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "auto-where-uring-is-forbidden",
        prepare: "echo 2 >/proc/sys/kernel/io_uring_disabled",
        command: "drivelab run $NVME $READS --set depth=4",
        words: &["random read 4 KiB"],
        undo: "echo 0 >/proc/sys/kernel/io_uring_disabled",
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "progress-that-nobody-reads",
        command: "drivelab run $NVME --destroy NVME --method /guest/short.toml --size 8M 2>&1 \
            | head -1; drivelab show last",
        words: &["random write 4 KiB"],
        ..PLAIN
    },
    Scenario {
        name: "progress-to-a-full-device",
        command: "drivelab run $NVME --method /guest/reads.toml --size 8M 2>/dev/full",
        words: &["random read 4 KiB"],
        ..PLAIN
    },
    Scenario {
        name: "controller-reset",
        command:
            "(sleep 3; nvme reset /dev/$(basename $(readlink -f /sys/block/${NVME##*/}/device))) &
            drivelab run $NVME --method /guest/reads.toml --size 8M --quiet --set bound=time \
            --max-time 8s",
        words: &["random read 4 KiB"],
        ..PLAIN
    },
    Scenario {
        name: "drive-pulled-out",
        command: "(busy ${SPARE##*/} 2000; echo 1 >/sys/block/${SPARE##*/}/device/device/remove) &
            drivelab run $SPARE --method /guest/reads.toml --size 8M --quiet --set bound=time \
            --max-time 60s",
        exit: 2,
        words: &["is gone"],
        never: &["fill = 1"],
        ..PLAIN
    },
    Scenario {
        name: "gone-while-errors-are-counted",
        prepare: PULLED,
        command: ". ./pulled; (busy $N 2000; pull) &
            drivelab run $D --method /guest/reads.toml --size 8M --quiet --set bound=time \
            --max-time 60s --on-error count",
        exit: 2,
        words: &["is gone"],
        undo: UNPULLED,
        ..PLAIN
    },
    Scenario {
        name: "gone-under-a-matrix",
        prepare: PULLED,
        command: ". ./pulled; (busy $N 6000; pull) &
            drivelab matrix $D --destroy $N --destroy $S --fs raw --passes 9 --quiet \
            --method /guest/reads.toml --size 8M --set bound=time --max-time 20s",
        exit: 2,
        words: &["is gone", "raw"],
        never: &["fill = 1"],
        undo: UNPULLED,
        limit_s: 240,
        ..SLOW
    },
    Scenario {
        name: "gone-under-a-volume",
        prepare: PULLED,
        command: ". ./pulled; drivelab flash create $D --destroy $N --destroy $S >/dev/null
            (busy $N 300; pull) &
            drivelab run flash:$D --method /guest/reads.toml --size 8M --quiet --set op=write \
            --set bound=time --max-time 60s",
        exit: 2,
        words: &["is gone"],
        never: &["NoSpace", "fill = 1", "o space left"],
        undo: UNPULLED,
        ..SLOW
    },
    Scenario {
        name: "gone-under-a-server",
        prepare: PULLED,
        command: ". ./pulled; . /guest/ublk; modprobe ublk_drv; start $D --read-only --ublk
            pull; dd if=/dev/ublkb0 of=/dev/null bs=4k count=1 iflag=direct
            kill -TERM $SERVER; wait $SERVER; echo \"it ended with $?\"; cat said",
        words: &["is gone", "it ended with 2"],
        never: &["no flush covered"],
        undo: UNPULLED,
        kernel: Some(Kernel::Six12),
        ..PLAIN
    },
    Scenario {
        name: "gone-under-a-study",
        prepare: PULLED,
        command: ". ./pulled; (busy $N 2000; pull) &
            drivelab study easyco2007 --on $D --size 16M --max-time 60s --quiet \
            --destroy $N --destroy $S --yes",
        exit: 2,
        words: &["is gone"],
        undo: UNPULLED,
        limit_s: 240,
        ..SLOW
    },
    Scenario {
        name: "stack-of-luks-on-lvm",
        prepare: "modprobe dm-crypt; head -c 32 /dev/urandom >key
            lvm vgcreate -q vg $SATA; lvm lvcreate -q -Zn -an -L 128M -n crypt vg
            lvm vgchange -q -ay --noudevsync vg
            cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
                /dev/mapper/vg-crypt key
            cryptsetup open --key-file key /dev/mapper/vg-crypt secret",
        command: "drivelab run /dev/mapper/secret $READS && drivelab show last --json",
        words: &[
            "\"cipher\": \"aes-xts-plain64\"",
            "\"format\": \"LUKS2\"",
            "\"volume\": \"vg/crypt\"",
        ],
        undo: "cryptsetup close secret; lvm vgchange -q -an vg; lvm vgremove -q -f vg",
        ..PLAIN
    },
];

/// A drive of which 8 sectors fail, at 2048000.
const BAD: &str = "N=$(sectors $SCSI); printf '%s\\n' \"0 4000 linear $SCSI 0\" \
    \"4000 8 error\" \"4008 $((N - 4008)) linear $SCSI 4008\" | dmsetup create bad";

/// A mapping that `stall REQUESTS` keeps from answering for 5 s, after so many requests.
const STILL: &str = "dmsetup create still --table \"0 $(sectors $NVME) linear $NVME 0\"
    N=$(dmsetup info -c --noheadings -o blkdevname still)
    echo \"stall() { busy $N \\$1; dmsetup suspend still; sleep 5; dmsetup resume still; }\" >still";

/// An array whose members are made the same while it is used; `tank` by its superblocks.
const RESYNCS: &str = "modprobe -a raid1 raid456; echo 100 >/proc/sys/dev/raid/speed_limit_max
    mdadm --quiet --create /dev/md0 --name=tank --homehost=lab --run --bitmap=none --level=1 \
    --raid-devices=2 $VIRTIO $SCSI";
const RESYNCED: &str =
    "mdadm --quiet --stop /dev/md0; echo 200000 >/proc/sys/dev/raid/speed_limit_max";

/// A drive that `pull` takes away: its path, name and serial in `./pulled`.
const PULLED: &str = "modprobe scsi_debug dev_size_mb=128 delay=0
    until_so sh -c 'ls /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/sd*'
    N=$(basename $(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/sd*))
    until_so test -b /dev/$N
    S=$(tr -cd 'A-Za-z0-9_-' </sys/block/$N/device/vpd_pg80)
    echo \"N=$N; D=/dev/$N; S='$S'; pull() { echo 1 >/sys/block/$N/device/delete; }\" >pulled";
const UNPULLED: &str = "kill -9 $(cat server) 2>/dev/null; sleep 1; rmmod scsi_debug";
