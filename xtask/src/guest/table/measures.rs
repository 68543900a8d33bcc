//! Every kind of drive is measured, for reading without consent and for writing with it.

use crate::guest::scenario::{PLAIN, Scenario};

const READ: &str = "random read 4 KiB";
const WRITE: &str = "random write 4 KiB";

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "read-nvme",
        command: "drivelab run $NVME $READS",
        words: &[READ, "QEMU NVMe Ctrl", "537 MB"],
        after: "unchanged $NVME",
        ..PLAIN
    },
    Scenario {
        name: "read-zoned",
        command: "drivelab run $ZONED $READS",
        words: &[READ],
        after: "unchanged $ZONED",
        ..PLAIN
    },
    Scenario {
        name: "read-read-only",
        command: "drivelab run $READONLY $READS",
        words: &[READ],
        after: "unchanged $READONLY",
        ..PLAIN
    },
    Scenario {
        name: "read-while-mounted",
        prepare: "mkfs.ext4 -q -F $SATA; mkdir m; mount $SATA m; echo kept >m/file; sync",
        command: "drivelab run $SATA $READS",
        words: &[READ],
        after: "grep kept m/file",
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "write-nvme",
        command: "drivelab run $NVME --destroy NVME $SHORT",
        words: &[READ, WRITE, "QEMU NVMe Ctrl"],
        after: "changed $NVME",
        ..PLAIN
    },
    Scenario {
        name: "write-sata",
        command: "drivelab run $SATA --destroy SATA $SHORT",
        words: &[READ, WRITE, "QEMU HARDDISK"],
        after: "changed $SATA",
        ..PLAIN
    },
    Scenario {
        name: "write-scsi",
        command: "drivelab run $SCSI --destroy SCSI $SHORT",
        words: &[READ, WRITE, "QEMU HARDDISK"],
        after: "changed $SCSI",
        ..PLAIN
    },
    Scenario {
        name: "write-virtio",
        command: "drivelab run $VIRTIO --destroy VIRTIO $SHORT",
        words: &[READ, WRITE],
        after: "changed $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "write-native-4k",
        command: "drivelab run $NATIVE --destroy NATIVE $SHORT",
        words: &[READ, WRITE],
        after: "changed $NATIVE",
        ..PLAIN
    },
    Scenario {
        name: "native-4k-takes-no-512",
        command: "drivelab run $NATIVE $READS --set block=512",
        exit: 2,
        words: &["4096"],
        ..PLAIN
    },
    Scenario {
        name: "write-partition",
        prepare: "parted -s $NVME mklabel gpt mkpart a 1MiB 65MiB mkpart b 65MiB 129MiB
            until_so test -b $(partition $NVME 2); P=$(partition $NVME 1)
            mkfs.ext4 -q $P; mkdir m; mount $P m; echo kept >m/file; sync",
        command: "drivelab run $(partition $NVME 2) --destroy NVME-part2 $SHORT",
        words: &[READ, WRITE],
        after: "grep kept m/file && unchanged $NVME && umount m &&
            e2fsck -f -n $(partition $NVME 1)",
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "write-array",
        prepare: "mdadm --quiet --create /dev/md0 --name=tank --run --level=0 \
            --raid-devices=2 $VIRTIO $SCSI",
        command: "drivelab run /dev/md0 --destroy tank $SHORT",
        words: &[READ, WRITE],
        undo: "mdadm --quiet --stop /dev/md0",
        ..PLAIN
    },
    Scenario {
        name: "write-luks",
        prepare: "head -c 32 /dev/urandom >key; modprobe dm-crypt
            cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $NVME key
            cryptsetup open --key-file key $NVME secret",
        command: "drivelab run /dev/mapper/secret --destroy /dev/mapper/secret $SHORT",
        words: &[READ, WRITE],
        after: "cryptsetup isLuks $NVME && unchanged $NVME",
        undo: "cryptsetup close secret",
        ..PLAIN
    },
    Scenario {
        name: "purge-nvme",
        prepare: "yes | head -c 16M | dd of=$NVME bs=1M oflag=direct status=none",
        command: "drivelab run $NVME --destroy NVME --purge $SHORT",
        words: &[READ, WRITE],
        after: "dd if=$NVME bs=1M skip=9 count=4 status=none | cmp -n 4M - /dev/zero",
        ..PLAIN
    },
    Scenario {
        name: "two-drives-compared",
        command: "drivelab run $NVME $VIRTIO $READS",
        words: &[READ, "$NVME", "$VIRTIO"],
        after: "unchanged $NVME && unchanged $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "directory-on-a-drive",
        prepare: "mkfs.ext4 -q -F $SCSI; mkdir m; mount $SCSI m",
        command: "cd m && drivelab run . $SHORT",
        words: &[READ, WRITE],
        after: "[ \"$(ls m)\" = lost+found ]",
        undo: "umount m",
        ..PLAIN
    },
    Scenario {
        name: "volume-on-a-drive",
        command: "drivelab flash create $NVME --destroy NVME && drivelab run flash:$NVME $SHORT \
            --destroy NVME && drivelab flash check $NVME",
        words: &[READ, WRITE, "healthy"],
        after: "changed $NVME",
        ..PLAIN
    },
    Scenario {
        name: "matrix-raw-and-ext4",
        command: "drivelab matrix $SCSI --destroy SCSI --fs raw,ext4 --passes 1 --quiet \
            --method /guest/short.toml --size 8M",
        words: &["raw", "ext4", WRITE],
        after: "! grep -q $SCSI /proc/mounts",
        limit_s: 240,
        ..PLAIN
    },
];
