//! What is served, over NBD and as a disk of the kernel's.

use crate::guest::scenario::{PLAIN, Scenario};

pub const ALL: &[Scenario] = &[Scenario {
    name: "serve-nbd",
    prepare: "modprobe nbd; drivelab serve $VIRTIO --destroy VIRTIO --nbd unix:s --ready-fd 3 \
            3>ready >said 2>&1 & echo $! >pid; until_so grep -q ready ready",
    command: "kill $(cat pid); until_so sh -c '! kill -0 $(cat pid)'; cat said; ls s",
    exit: 1,
    words: &["stopped"],
    after: "unchanged $VIRTIO",
    ..PLAIN
}];
