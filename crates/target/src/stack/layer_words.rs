//! Layers as other programs call them, and those of which there is no model.

/// Words for what is a layer here, and what to write.
const LAYERS: &[(&[&str], &str)] = &[
    (&["mirror", "mirrored"], "raid1"),
    (&["stripe", "striped", "striping"], "raid0"),
    (&["none"], "noop"),
    (&["mq-deadline"], "deadline"),
    (&["writecache", "write-cache"], "dm-writecache"),
    (&["dmcache", "lvmcache", "lvm-cache"], "dm-cache"),
    (&["tiering", "tiers"], "tier"),
];

/// File systems that `drivelab matrix` makes on a device, and no model stands for.
const MEASURED: [&str; 2] = ["btrfs", "f2fs"];

/// What to write for a layer that is none.
pub(super) fn instead(layer: &str) -> Option<String> {
    let word = layer.to_ascii_lowercase();
    let row = LAYERS.iter().find(|(words, _)| words.contains(&word.as_str()));
    if let Some((_, here)) = row {
        return Some(format!("it is `/{here}`"));
    }
    if MEASURED.contains(&word.as_str()) {
        return Some(format!(
            "no model stands for {word}: `drivelab matrix` makes it on a device and measures it"
        ));
    }
    match word.as_str() {
        "md" | "mdadm" | "raid" => Some("the level is the layer, such as `/raid5`".to_owned()),
        "zfs" | "raidz" | "raidz2" | "ntfs" | "jfs" | "bfq" | "kyber" | "jbod" | "linear" => {
            Some(format!("no model stands for {word}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::layers;

    /// A word that becomes a layer would never be looked for here, and a layer that is renamed
    /// would be advised for ever.
    #[test]
    fn no_word_is_a_layer_and_every_layer_that_is_named_is() {
        let is_layer = |word: &str| layers::LAYERS.iter().any(|(name, _)| *name == word);
        for (words, here) in LAYERS {
            assert!(is_layer(here), "{here}");
            assert!(words.iter().all(|word| !is_layer(word)), "{words:?}");
        }
        assert!(MEASURED.iter().all(|word| !is_layer(word)));
        assert_eq!(instead("Mirror").as_deref(), Some("it is `/raid1`"));
        assert_eq!(instead("riad5"), None);
    }
}
