//! What a terminal of 80 columns and 24 lines shows.

use crate::guest::scenario::{PLAIN, Scenario};

/// Drives of all kinds, and on them an array, a volume, an encrypted drive, partitions, mounts.
const MANY: Scenario = Scenario {
    prepare: "modprobe dm-crypt; head -c 32 /dev/urandom >key
        lvm vgcreate -q vg $SATA; lvm lvcreate -q -an -Zn -L 64M -n data vg
        lvm vgchange -q -ay vg; mkfs.ext4 -q -F $NVME; mkdir m; mount $NVME m
        mdadm --quiet --create /dev/md7 --name=tank --run --assume-clean --bitmap=none \
        --level=1 --raid-devices=2 $VIRTIO missing
        cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $SPACE2 key
        cryptsetup open --key-file key $SPACE2 secret
        parted -s $NATIVE mklabel gpt mkpart a 1MiB 65MiB; until_so test -b $(partition $NATIVE 1)
        (exec 9<>$SCSI; exec sleep 600) & echo $! >pid",
    undo: "umount m; kill $(cat pid); lvm vgchange -q -an vg; mdadm --quiet --stop /dev/md7
        cryptsetup close secret",
    never: TOO_WIDE,
    ..PLAIN
};

/// What `on_screen` says of such a line.
const TOO_WIDE: &[&str] = &["too wide: "];

pub const ALL: &[Scenario] = &[
    Scenario {
        name: "screen-devices",
        command: "on_screen 'drivelab devices'",
        words: &[
            "$nvme",
            "$zoned",
            "$path_b",
            "vg-data",
            "tank",
            "secret",
            "NATIVE-part1",
            "mounted at /tmp/",
            "process ",
            "drivelab devices NAME",
        ],
        ..MANY
    },
    Scenario {
        name: "screen-devices-as-ordinary-user",
        command: "chmod 755 .; on_screen \
            'setpriv --reuid 65534 --regid 65534 --clear-groups drivelab devices'",
        words: &["$nvme", "NVME", "Not seen: ", "Run it as root."],
        ..MANY
    },
    Scenario {
        name: "screen-device-alone",
        command: "on_screen \"drivelab devices $NVME\"; on_screen \"drivelab devices tank\"",
        words: &["QEMU NVMe Ctrl", "write cache", "umount /tmp/scenario/m", "degraded"],
        ..MANY
    },
    // The drive answers again only when the terminal has told that it does not.
    Scenario {
        name: "screen-no-answer",
        prepare: "dmsetup create still --table \"0 $(sectors $NVME) linear $NVME 0\"",
        command: "N=dm-$(dmsetup info -c --noheadings -o minor still)
            on_screen 'drivelab run /dev/mapper/still --method /guest/reads.toml --size 8M \
                --set bound=time --max-time 60s' & RUN=$!
            busy $N 2000; dmsetup suspend still
            until_so grep -q 'no answer for [89] s' typescript; dmsetup resume still; wait $RUN
            code=$?; grep -o -m 1 'no answer for [89] s' typescript; exit $code",
        words: &["no answer for", "stalled"],
        never: TOO_WIDE,
        after: "recorded '\"iops_without\"'",
        limit_s: 300,
        undo: "dmsetup resume still; dmsetup remove still",
        ..PLAIN
    },
];
