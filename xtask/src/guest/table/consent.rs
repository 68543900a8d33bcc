//! What agrees to lose what is on a device: names that stay, and no others.

use crate::guest::scenario::{PLAIN, Scenario};

const REFUSED: i32 = 2;
const WRITE: &str = "random write 4 KiB";

/// A volume group on one drive, with a volume.
const VOLUME: Scenario = Scenario {
    prepare: "lvm vgcreate -q vg $SATA; lvm lvcreate -q -an -Zn -L 64M -n data vg
            lvm vgchange -q -ay vg",
    undo: "lvm vgchange -q -an vg",
    ..PLAIN
};

/// An array on two drives, whose superblocks have its name.
const ARRAY: Scenario = Scenario {
    prepare: "mdadm --quiet --create /dev/md7 --name=tank --homehost=lab --run --assume-clean \
            --level=0 --raid-devices=2 $VIRTIO $SCSI",
    undo: "mdadm --quiet --stop /dev/md7",
    ..PLAIN
};

/// A drive with two partitions.
const PARTITIONS: Scenario = Scenario {
    prepare: "parted -s $NVME mklabel gpt mkpart a 1MiB 65MiB mkpart b 65MiB 129MiB
            until_so test -b $(partition $NVME 2)",
    ..PLAIN
};

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "consent-partition-of-other-number",
        command: "drivelab run $(partition $NVME 2) --destroy NVME-part1 $SHORT",
        exit: REFUSED,
        words: &["NVME-part2"],
        after: "unchanged $NVME",
        by_name: false,
        ..PARTITIONS
    },
    Scenario {
        name: "consent-partition-by-drive",
        command: "drivelab run $(partition $NVME 2) --destroy NVME $SHORT",
        exit: REFUSED,
        words: &["`--destroy NVME-part2`"],
        after: "unchanged $NVME",
        by_name: false,
        ..PARTITIONS
    },
    Scenario {
        name: "consent-drive-by-partition",
        command: "drivelab run $NVME --destroy NVME-part1 $SHORT",
        exit: REFUSED,
        words: &["`--destroy NVME`"],
        after: "unchanged $NVME",
        ..PLAIN
    },
    Scenario {
        name: "consent-partition",
        command: "drivelab run $(partition $NVME 2) --destroy NVME-part2 $SHORT",
        words: &[WRITE],
        ..PARTITIONS
    },
    Scenario {
        name: "consent-volume-by-its-name",
        command: "drivelab run /dev/mapper/vg-data --destroy vg-data $SHORT",
        words: &[WRITE],
        by_name: false,
        ..VOLUME
    },
    Scenario {
        name: "consent-volume-by-group-and-name",
        command: "drivelab run /dev/mapper/vg-data --destroy vg/data $SHORT",
        words: &[WRITE],
        ..VOLUME
    },
    Scenario {
        name: "consent-volume-by-uuid",
        command: "drivelab run /dev/mapper/vg-data $SHORT \
            --destroy $(dmsetup info -c --noheadings -o uuid vg-data)",
        words: &[WRITE],
        ..VOLUME
    },
    Scenario {
        name: "consent-volume-by-number",
        command: "drivelab run /dev/mapper/vg-data $SHORT --destroy \
            $(basename $(readlink -f /sys/dev/block/$(dmsetup info -c --noheadings \
            -o major,minor --separator : vg-data)))",
        exit: REFUSED,
        words: &["vg-data", "may be another device after the next boot"],
        after: "unchanged $SATA",
        by_name: false,
        ..VOLUME
    },
    Scenario {
        name: "consent-mapping-by-path",
        prepare: "dmsetup create plain --table \"0 $(sectors $SCSI) linear $SCSI 0\"",
        command: "drivelab run /dev/mapper/plain --destroy /dev/mapper/plain $SHORT",
        words: &[WRITE],
        undo: "dmsetup remove plain",
        ..PLAIN
    },
    Scenario {
        name: "consent-array-by-its-name",
        command: "drivelab run /dev/md7 --destroy tank $SHORT",
        words: &[WRITE],
        by_name: false,
        ..ARRAY
    },
    Scenario {
        name: "consent-array-by-uuid",
        command: "drivelab run /dev/md7 $SHORT \
            --destroy $(mdadm --detail /dev/md7 | awk '$1 == \"UUID\" { print $3 }')",
        words: &[WRITE],
        ..ARRAY
    },
    Scenario {
        name: "consent-array-by-number",
        command: "drivelab run /dev/md7 --destroy md7 $SHORT",
        exit: REFUSED,
        words: &["`--destroy tank`", "may be another device after the next boot"],
        by_name: false,
        ..ARRAY
    },
    Scenario {
        name: "consent-usb",
        command: "drivelab run $USB --destroy USB $SHORT",
        words: &[WRITE],
        after: "changed $USB",
        by_name: false,
        ..PLAIN
    },
    Scenario {
        name: "consent-usb-by-number",
        command: "drivelab run $USB --destroy $(basename $USB) $SHORT",
        exit: REFUSED,
        words: &["`--destroy USB`"],
        after: "unchanged $USB",
        ..PLAIN
    },
    Scenario {
        name: "consent-by-id-nvme",
        command: "drivelab run $NVME --destroy /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME $SHORT",
        words: &[WRITE],
        after: "changed $NVME",
        ..PLAIN
    },
    Scenario {
        name: "consent-by-id-virtio",
        command: "drivelab run $VIRTIO --destroy virtio-VIRTIO $SHORT",
        words: &[WRITE],
        after: "changed $VIRTIO",
        ..PLAIN
    },
    Scenario {
        name: "consent-by-id-of-another",
        prepare: "mkdir -p /dev/disk/by-id
            ln -sf $SATA /dev/disk/by-id/ata-QEMU_HARDDISK_NVME; ln -sf $SATA \
            /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME",
        command: "drivelab run $NVME --destroy /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME $SHORT",
        exit: REFUSED,
        words: &["`--destroy NVME`"],
        after: "unchanged $NVME && unchanged $SATA",
        undo: "rm -r /dev/disk",
        ..PLAIN
    },
    Scenario {
        name: "devices-of-all-kinds",
        // The list shows what an earlier scenario left on drives that this one does not name.
        prepare: ": $USB $ZONED $PATH_A $PATH_B
            lvm vgcreate -q vg $SATA; lvm lvcreate -q -an -Zn -L 64M -n data vg
            lvm vgchange -q -ay vg; mkfs.ext4 -q -F $NVME; mkdir m; mount $NVME m
            mdadm --quiet --create /dev/md7 --name=tank --run --assume-clean --bitmap=none \
            --level=1 --raid-devices=2 $VIRTIO missing
            (exec 9<>$SCSI; exec sleep 600) & echo $! >pid",
        command: "drivelab devices | sed 's/  */ /g'; drivelab devices ${NVME##*/}",
        words: &[
            "$nvme nvme 512 MiB NVME r- QEMU NVMe Ctrl; ext4; mounted at /tmp/scenario/m",
            "$virtio virtio 512 MiB VIRTIO r-",
            "part of md7",
            "vg-data rw",
            "tank rw",
            "(sleep) has $scsi open for writing",
            "$usb usb 64 MiB USB rw",
            "$path_a virtio 64 MiB - r-",
            "$zoned nvme",
            "`umount /tmp/scenario/m`",
        ],
        undo: "umount m; kill $(cat pid); lvm vgchange -q -an vg; mdadm --quiet --stop /dev/md7",
        by_name: false,
        ..PLAIN
    },
    Scenario {
        name: "devices-as-ordinary-user",
        command: "chmod 755 /tmp/scenario; setpriv --reuid 65534 --regid 65534 --clear-groups \
            drivelab devices; echo $NVME $USB",
        words: &["$nvme", "NVME", "Not seen: what is on a device", "Run it as root"],
        ..PLAIN
    },
];
