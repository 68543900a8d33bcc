//! What a layer of a stack was made with: level, chunk, bitmap, cipher, paths. From sysfs as far as
//! that goes; the rest the device mapper tells root alone.

use crate::{
    mapper::{self, MappedPart},
    roots::{Roots, names_in, read_text},
    sysfs::{BlockDevice, SECTOR_BYTES, chosen},
};
use engine::raw::MapQuestion;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// By name, as `docs/reference/record-format.md` lists them.
pub(super) type Details = BTreeMap<String, Value>;

/// What is known of a layer; nothing of a plain drive.
pub(super) fn of(device: &BlockDevice, roots: &Roots) -> Details {
    let mut details = Details::new();
    array(device, &mut details);
    cached(device, &mut details);
    paths(device, roots, &mut details);
    if device.directory.join("dm").exists() {
        names(device, &mut details);
        let table = mapper::ask(device, MapQuestion::Table, roots);
        details.extend(mapped(&table));
    }
    details
}

fn put(details: &mut Details, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        details.insert(key.to_owned(), value.into());
    }
}

/// An md array: Documentation/admin-guide/md.rst.
fn array(device: &BlockDevice, details: &mut Details) {
    let Some(level) = device.text("md/level") else { return };
    put(details, "level", Some(level));
    put(details, "members", device.integer("md/raid_disks"));
    put(details, "chunk_bytes", device.integer("md/chunk_size").filter(|bytes| *bytes > 0));
    put(details, "layout", device.integer("md/layout"));
    put(details, "metadata", device.text("md/metadata_version"));
    put(details, "bitmap", device.text("md/bitmap/location"));
    put(details, "bitmap_chunk_bytes", device.integer("md/bitmap/chunksize"));
    put(details, "stripe_cache_pages", device.integer("md/stripe_cache_size"));
    put(details, "consistency", device.text("md/consistency_policy"));
    put(details, "state", device.text("md/array_state"));
    put(details, "sync_action", device.text("md/sync_action"));
    put(details, "degraded", device.integer("md/degraded"));
    let folder = device.directory.join("md");
    let member = |entry: &String| {
        let name = entry.strip_prefix("dev-")?;
        let state = read_text(&folder.join(entry).join("state"))?;
        let slot = read_text(&folder.join(entry).join("slot"));
        let slot = slot.and_then(|slot| slot.parse::<u64>().ok());
        Some((name.to_owned(), json!({"slot": slot, "state": state})))
    };
    let states: serde_json::Map<String, Value> =
        names_in(&folder).iter().filter_map(member).collect();
    put(details, "member_states", (!states.is_empty()).then_some(states));
}

/// bcache: Documentation/admin-guide/bcache.rst.
fn cached(device: &BlockDevice, details: &mut Details) {
    let mode = device.text("bcache/cache_mode");
    put(details, "cache_mode", mode.map(|text| chosen(&text)));
    put(details, "cache_state", device.text("bcache/state"));
    put(details, "writeback_percent", device.integer("bcache/writeback_percent"));
    put(details, "sequential_cutoff", device.text("bcache/sequential_cutoff"));
}

/// The kernel's own multi-path for NVMe: a subsystem with several controllers, of which each is a
/// way.
fn paths(device: &BlockDevice, roots: &Roots, details: &mut Details) {
    let Some(subsystem) = device.directory.parent() else { return };
    let name = subsystem.file_name().and_then(|name| name.to_str()).unwrap_or("");
    if !name.starts_with("nvme-subsys") {
        return;
    }
    put(details, "path_policy", read_text(&subsystem.join("iopolicy")));
    let space = device.name.rsplit('n').next().unwrap_or("");
    // nvme0c1n2 is the way to nvme0n2 by controller 1.
    let stem = device.name.strip_suffix(&format!("n{space}")).unwrap_or("");
    let prefix = format!("{stem}c");
    let block = roots.sys.join("block");
    let ways = names_in(&block).into_iter().filter_map(|way| {
        let controller = way.strip_prefix(&prefix)?.strip_suffix(&format!("n{space}"))?;
        controller.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        let state = read_text(&block.join(&way).join("ana_state"));
        let at = subsystem.join(format!("nvme{controller}"));
        let transport = read_text(&at.join("transport"));
        let address = read_text(&at.join("address"));
        let facts = json!({"state": state, "transport": transport, "address": address});
        Some((way, facts))
    });
    let ways: serde_json::Map<String, Value> = ways.collect();
    put(details, "paths", (!ways.is_empty()).then_some(ways));
}

/// A mapped device's own name, and what its maker's part of the UUID says.
fn names(device: &BlockDevice, details: &mut Details) {
    let name = device.text("dm/name");
    let uuid = device.text("dm/uuid").unwrap_or_default();
    let mut words = uuid.split('-');
    match (words.next(), &name) {
        (Some("LVM"), Some(name)) => put(details, "volume", Some(volume(name))),
        (Some("CRYPT"), _) => put(details, "format", words.next()),
        _ => {}
    }
    put(details, "name", name);
}

/// `vg/lv` of LVM's `vg-lv`, in which a `-` of either is written twice.
pub(crate) fn volume(name: &str) -> String {
    const DOUBLED: &str = "\0";
    name.replace("--", DOUBLED).replacen('-', "/", 1).replace(DOUBLED, "-")
}

/// What a table tells, of its first part; of several the kinds of all.
fn mapped(table: &[MappedPart]) -> Details {
    let mut details = Details::new();
    let Some(first) = table.first() else { return details };
    let word = |at: usize| first.words.get(at).map(String::as_str);
    let number = |at: usize| word(at).and_then(|word| word.parse::<u64>().ok());
    let sectors = |at: usize| number(at).map(|count| count.saturating_mul(SECTOR_BYTES));
    let mut kinds: Vec<&str> = table.iter().map(|part| part.kind.as_str()).collect();
    kinds.dedup();
    put(&mut details, "mapping", Some(kinds.join(", ")));
    if table.len() > 1 {
        put(&mut details, "parts", Some(table.len()));
    }
    match first.kind.as_str() {
        "striped" => {
            put(&mut details, "members", number(0));
            put(&mut details, "chunk_bytes", sectors(1));
        }
        "crypt" => {
            put(&mut details, "cipher", word(0));
            let bits = word(1).and_then(|bits| bits.strip_suffix(" bits")?.parse::<u64>().ok());
            put(&mut details, "key_bits", bits);
            let options = first.words.get(6..).unwrap_or_default().join(" ");
            put(&mut details, "options", (!options.is_empty()).then_some(options));
        }
        // raid5_ls 3 128 region_size 1024 3 253:0 253:1 ...: parameters are counted, members too
        "raid" => {
            put(&mut details, "level", word(0));
            let count = number(1).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
            put(&mut details, "chunk_bytes", sectors(2).filter(|bytes| *bytes > 0));
            put(&mut details, "members", number(count.saturating_add(2)));
        }
        // META DATA BLOCK LOW_WATER ...
        "thin-pool" => put(&mut details, "chunk_bytes", sectors(2)),
        // META FAST ORIGIN BLOCK FEATURES...
        "cache" => {
            put(&mut details, "chunk_bytes", sectors(3));
            let modes = ["writethrough", "writeback", "passthrough"];
            let mode = first.words.iter().find(|word| modes.contains(&word.as_str()));
            put(&mut details, "cache_mode", mode.cloned());
        }
        // FEATURES... HANDLERS... GROUPS ...: each path is MAJOR:MINOR
        "multipath" => {
            let is_device = |word: &&String| {
                let numbers = word.split_once(':');
                numbers.is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok())
            };
            put(&mut details, "members", Some(first.words.iter().filter(is_device).count()));
        }
        _ => {}
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(parts: &[(&str, &str)]) -> Value {
        let part = |(kind, words): &(&str, &str)| MappedPart {
            sectors: 1,
            kind: (*kind).to_owned(),
            words: words.split_whitespace().map(str::to_owned).collect(),
        };
        json!(mapped(&parts.iter().map(part).collect::<Vec<_>>()))
    }

    #[test]
    fn tables_tell_what_a_mapping_was_made_with() {
        let cases = [
            ("linear", "8:0 2048", json!({"mapping": "linear"})),
            (
                "striped",
                "2 128 8:0 0 8:16 0",
                json!({"mapping": "striped", "members": 2, "chunk_bytes": 65536}),
            ),
            (
                "raid",
                "raid5_ls 3 128 region_size 1024 3 253:0 253:1 253:2 253:3 253:4 253:5",
                json!({"mapping": "raid", "level": "raid5_ls", "members": 3, "chunk_bytes": 65536}),
            ),
            (
                "thin-pool",
                "253:0 253:1 128 0 0",
                json!({"mapping": "thin-pool", "chunk_bytes": 65536}),
            ),
            ("thin", "253:4 1", json!({"mapping": "thin"})),
            (
                "cache",
                "253:0 253:1 253:2 512 1 writeback smq 0",
                json!({"mapping": "cache", "chunk_bytes": 262144, "cache_mode": "writeback"}),
            ),
            (
                "multipath",
                "0 0 2 1 service-time 0 1 2 8:0 1 1 service-time 0 1 2 8:16 1 1",
                json!({"mapping": "multipath", "members": 2}),
            ),
        ];
        for (kind, words, expected) in cases {
            assert_eq!(table(&[(kind, words)]), expected, "{kind}");
        }
        let parts = [("linear", "8:0 0"), ("linear", "8:16 0"), ("error", "")];
        assert_eq!(table(&parts), json!({"mapping": "linear, error", "parts": 3}));
    }

    #[test]
    fn a_cipher_is_told_and_its_key_only_by_length() {
        let part = MappedPart {
            sectors: 1,
            kind: "crypt".to_owned(),
            words: ["aes-xts-plain64", "512 bits", "0", "8:1", "32768", "1", "allow_discards"]
                .map(str::to_owned)
                .to_vec(),
        };
        let expected = json!({
            "mapping": "crypt", "cipher": "aes-xts-plain64", "key_bits": 512,
            "options": "allow_discards"
        });
        assert_eq!(json!(mapped(&[part])), expected);
    }

    #[test]
    fn a_dash_in_a_name_of_lvm_is_no_end_of_it() {
        assert_eq!(volume("vg-root"), "vg/root");
        assert_eq!(volume("my--vg-a--b"), "my-vg/a-b");
    }
}
