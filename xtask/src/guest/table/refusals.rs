//! What holds data or is in use is not written, whatever is typed.

use crate::guest::scenario::{PLAIN, Scenario};

const REFUSED: i32 = 2;

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "refuse-mounted",
        prepare: "mkfs.ext4 -q -F $NVME; mkdir m; mount $NVME m; echo kept >m/file; sync",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["$nvme is mounted at /tmp/scenario/m", "umount"],
        after: "grep kept m/file && umount m && mount $NVME m && grep kept m/file",
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "refuse-file-system-ext4",
        prepare: "mkfs.ext4 -q -F $SATA",
        command: "drivelab run $SATA --destroy SATA $SHORT",
        exit: REFUSED,
        words: &["it holds data", "ext", "`wipefs -a $SATA`"],
        after: "unchanged $SATA",
        ..PLAIN
    },
    Scenario {
        name: "refuse-file-system-xfs",
        prepare: "mkfs.xfs -q -f $SCSI",
        command: "drivelab run $SCSI --destroy SCSI $SHORT",
        exit: REFUSED,
        words: &["it holds data", "XFS"],
        after: "unchanged $SCSI",
        ..PLAIN
    },
    Scenario {
        name: "refuse-file-system-btrfs",
        prepare: "mkfs.btrfs -q -f $VIRTIO",
        command: "drivelab run $VIRTIO --destroy VIRTIO $SHORT",
        exit: REFUSED,
        words: &["it holds data", "trfs"],
        after: "unchanged $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "refuse-lvm-member",
        prepare: "lvm pvcreate -q $SATA",
        command: "drivelab run $SATA --destroy SATA $SHORT",
        exit: REFUSED,
        words: &["it holds data (an LVM2 physical volume on $sata)"],
        after: "unchanged $SATA",
        ..PLAIN
    },
    Scenario {
        name: "refuse-lvm-in-use",
        prepare: "lvm vgcreate -q vg $SATA; lvm lvcreate -q -an -Zn -L 64M -n data vg
            lvm vgchange -q -ay vg",
        command: "drivelab run $SATA --destroy SATA $SHORT",
        exit: REFUSED,
        words: &["$sata is part of dm-", "vgchange -an"],
        after: "unchanged $SATA",
        undo: "lvm vgchange -q -an vg",
        ..PLAIN
    },
    Scenario {
        name: "refuse-array-member",
        prepare: "mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=none --level=1 \
            --raid-devices=2 $VIRTIO missing; mdadm --quiet --stop /dev/md0",
        command: "drivelab run $VIRTIO --destroy VIRTIO $SHORT",
        exit: REFUSED,
        words: &["it holds data", "md array member"],
        after: "unchanged $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "refuse-array-member-at-the-end",
        prepare: "mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=none --level=1 \
            --metadata=1.0 --raid-devices=2 $VIRTIO missing; mdadm --quiet --stop /dev/md0",
        command: "drivelab run $VIRTIO --destroy VIRTIO $SHORT",
        exit: REFUSED,
        words: &["it holds data", "md array member"],
        after: "unchanged $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "refuse-array-in-use",
        prepare: "mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=none --level=1 \
            --raid-devices=2 $VIRTIO missing",
        command: "drivelab run $VIRTIO --destroy VIRTIO $SHORT",
        exit: REFUSED,
        words: &["$virtio is part of md0"],
        after: "unchanged $VIRTIO",
        undo: "mdadm --quiet --stop /dev/md0",
        ..PLAIN
    },
    Scenario {
        name: "refuse-luks",
        prepare: "head -c 32 /dev/urandom >key
            cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $NVME key",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["it holds data", "LUKS"],
        after: "unchanged $NVME",
        ..PLAIN
    },
    Scenario {
        name: "refuse-luks-open",
        prepare: "head -c 32 /dev/urandom >key; modprobe dm-crypt
            cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $NVME key
            cryptsetup open --key-file key $NVME secret",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["$nvme is part of dm-", "cryptsetup close"],
        after: "unchanged $NVME",
        undo: "cryptsetup close secret",
        ..PLAIN
    },
    Scenario {
        name: "refuse-swap",
        prepare: "mkswap $SCSI",
        command: "drivelab run $SCSI --destroy SCSI $SHORT",
        exit: REFUSED,
        words: &["it holds data", "swap"],
        after: "unchanged $SCSI",
        ..PLAIN
    },
    Scenario {
        name: "refuse-swap-in-use",
        prepare: "mkswap $SCSI; swapon $SCSI",
        command: "drivelab run $SCSI --destroy SCSI $SHORT",
        exit: REFUSED,
        words: &["$scsi is in use as swap"],
        after: "unchanged $SCSI",
        undo: "swapoff $SCSI",
        ..PLAIN
    },
    Scenario {
        name: "refuse-partitioned",
        prepare: "parted -s $NVME mklabel gpt mkpart a 1MiB 65MiB",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["it holds data", "partition"],
        after: "unchanged $NVME",
        ..PLAIN
    },
    Scenario {
        name: "refuse-drive-of-mounted-partition",
        prepare: "parted -s $SATA mklabel gpt mkpart a 1MiB 65MiB; P=$(partition $SATA 1)
            until_so test -b $P; mkfs.ext4 -q $P; mkdir m; mount $P m",
        command: "drivelab run $SATA --destroy SATA $SHORT",
        exit: REFUSED,
        words: &["$sata1 is mounted"],
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "refuse-loop-attached",
        prepare: "losetup /dev/loop3 $VIRTIO",
        command: "drivelab run $VIRTIO --destroy VIRTIO $SHORT",
        exit: REFUSED,
        words: &["loop3 is attached to $virtio"],
        after: "unchanged $VIRTIO",
        undo: "losetup -d /dev/loop3",
        ..PLAIN
    },
    Scenario {
        name: "refuse-mapping",
        prepare: "dmsetup create plain --table \"0 $(sectors $SCSI) linear $SCSI 0\"",
        command: "drivelab run $SCSI --destroy SCSI $SHORT",
        exit: REFUSED,
        words: &["$scsi is part of dm-"],
        after: "unchanged $SCSI",
        undo: "dmsetup remove plain",
        ..PLAIN
    },
    Scenario {
        name: "refuse-read-only",
        command: "drivelab run $READONLY --destroy READONLY $SHORT",
        exit: REFUSED,
        words: &["read-only"],
        after: "unchanged $READONLY",
        ..PLAIN
    },
    Scenario {
        name: "refuse-zoned",
        command: "drivelab run $ZONED --destroy ZONED $SHORT",
        exit: REFUSED,
        words: &["it is a zoned drive", "leave out --destroy to read it"],
        after: "unchanged $ZONED",
        ..PLAIN
    },
    Scenario {
        name: "refuse-wrong-serial",
        command: "drivelab run $NVME --destroy NVMF $SHORT",
        exit: REFUSED,
        words: &["`NVMF` is not its serial", "`--destroy NVME`", "QEMU NVMe Ctrl"],
        after: "unchanged $NVME",
        ..PLAIN
    },
    Scenario {
        name: "refuse-path-for-serial",
        command: "drivelab run $SATA --destroy $SATA $SHORT",
        exit: REFUSED,
        words: &["`--destroy SATA`"],
        after: "unchanged $SATA",
        ..PLAIN
    },
    Scenario {
        name: "refuse-serial-of-two-name-spaces",
        command: "drivelab run $SPACE1 --destroy SPACES $SHORT",
        exit: REFUSED,
        words: &["SPACES"],
        after: "unchanged $SPACE1 && unchanged $SPACE2",
        ..PLAIN
    },
    Scenario {
        name: "refuse-two-paths",
        command: "drivelab run $PATH_B --destroy PATHS $SHORT",
        exit: REFUSED,
        words: &["$path_a has the same", "two paths to one drive"],
        after: "unchanged $PATH_A",
        ..PLAIN
    },
    Scenario {
        name: "refuse-other-path-in-use",
        prepare: "mkfs.ext4 -q -F $PATH_A; mkdir m; mount $PATH_A m",
        command: "drivelab run $PATH_B --destroy naa.5000c500aabbccdd $SHORT",
        exit: REFUSED,
        words: &["$path_a"],
        never: &["wipefs"],
        after: "umount m; e2fsck -f -n $PATH_A",
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "refuse-other-path-mapped",
        prepare: "dmsetup create plain --table \"0 $(sectors $PATH_A) linear $PATH_A 0\"
            mkfs.ext4 -q -F /dev/mapper/plain",
        command: "drivelab run $PATH_B --destroy naa.5000c500aabbccdd $SHORT",
        exit: REFUSED,
        words: &["it is the same drive as $path_a, which is in use", "(plain)"],
        never: &["wipefs"],
        after: "e2fsck -f -n /dev/mapper/plain",
        undo: "dmsetup remove plain",
        ..PLAIN
    },
    Scenario {
        name: "refuse-other-path-with-file-system",
        prepare: "mkfs.ext4 -q -F $PATH_A",
        command: "drivelab run $PATH_B --destroy naa.5000c500aabbccdd $SHORT",
        exit: REFUSED,
        words: &["$path_a has the same WWN", "two paths to one drive"],
        never: &["wipefs"],
        after: "e2fsck -f -n $PATH_A",
        ..PLAIN
    },
    Scenario {
        name: "refuse-open-in-another-process",
        prepare: "(exec 9<>$NVME; exec sleep 600) & echo $! >pid",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["process", "(sleep) has $nvme open for writing", "stop it first"],
        after: "unchanged $NVME",
        undo: "kill $(cat pid)",
        ..PLAIN
    },
    Scenario {
        name: "refuse-partition-whose-drive-is-open",
        prepare: "parted -s $SATA mklabel gpt mkpart a 1MiB 65MiB
            until_so test -b $(partition $SATA 1); (exec 9<>$SATA; exec sleep 600) & echo $! >pid",
        command: "drivelab run $(partition $SATA 1) --destroy SATA-part1 $SHORT",
        exit: REFUSED,
        words: &["(sleep) has $sata open for writing"],
        after: "unchanged $SATA",
        undo: "kill $(cat pid)",
        ..PLAIN
    },
    Scenario {
        name: "reader-in-another-process-is-told",
        prepare: "(exec 9<$SCSI; exec sleep 600) & echo $! >pid",
        command: "drivelab run $SCSI --destroy SCSI $SHORT && drivelab show last --json",
        words: &["random write 4 KiB", "open for reading"],
        after: "changed $SCSI",
        undo: "kill $(cat pid)",
        ..PLAIN
    },
    Scenario {
        name: "refuse-served-twice",
        prepare:
            "drivelab serve $NVME --destroy NVME --nbd unix:s --ready-fd 3 3>ready >said 2>&1 &
            echo $! >pid; until_so grep -q ready ready",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["exclusive"],
        after: "unchanged $NVME",
        undo: "kill $(cat pid); until_so sh -c '! kill -0 $(cat pid)'",
        ..PLAIN
    },
    Scenario {
        name: "refuse-volume-on-used-drive",
        prepare: "mkfs.ext4 -q -F $NATIVE",
        command: "drivelab flash create $NATIVE --destroy NATIVE",
        exit: REFUSED,
        words: &["it holds data"],
        after: "unchanged $NATIVE",
        ..PLAIN
    },
    Scenario {
        name: "refuse-matrix-on-member",
        prepare: "lvm pvcreate -q $SATA",
        command: "drivelab matrix $SATA --destroy SATA --fs raw --passes 1 --max-time 1s",
        exit: REFUSED,
        words: &["LVM2 physical volume"],
        after: "unchanged $SATA",
        ..PLAIN
    },
    Scenario {
        name: "refuse-serving-mounted",
        prepare: "mkfs.ext4 -q -F $VIRTIO; mkdir m; mount $VIRTIO m",
        command: "drivelab serve $VIRTIO --destroy VIRTIO --nbd unix:s",
        exit: REFUSED,
        words: &["$virtio is mounted"],
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "refuse-not-root",
        command: "chmod 755 /tmp/scenario; setpriv --reuid 65534 --regid 65534 --clear-groups \
            drivelab run $NVME --destroy NVME $SHORT --store /dev/shm/s",
        exit: REFUSED,
        words: &["$NVME"],
        after: "unchanged $NVME",
        ..PLAIN
    },
];
