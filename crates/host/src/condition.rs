//! What arrays and thin volumes do of their own accord while they are measured.
//!
//! Of md from sysfs (Documentation/admin-guide/md.rst); of mapped devices by asking the device
//! mapper, which only root may.

use crate::{
    mapper::{self, MappedPart},
    roots::Roots,
    sysfs::{BlockDevice, SECTOR_BYTES},
};
use engine::raw::MapQuestion;
use record::{BlockLayer, Condition, DeviceState};

/// All that there is to say of the devices of a stack.
pub fn conditions(stack: &[BlockLayer], roots: &Roots) -> Vec<Condition> {
    let mut found = Vec::new();
    for layer in stack.iter().filter(|layer| may_have_one(&layer.kind)) {
        let Some(device) = BlockDevice::named(&layer.name, roots) else { continue };
        let mut all = of_array(&device);
        let parts = mapper::ask(&device, MapQuestion::Status, roots);
        all.extend(parts.iter().flat_map(of_part));
        let of_device = |state| Condition { device: device.name.clone(), state };
        found.extend(all.into_iter().map(of_device));
    }
    found
}

/// Drives, partitions and loops are asked nothing: this happens around every cell.
fn may_have_one(kind: &str) -> bool {
    kind.starts_with("md") || kind.starts_with("dm")
}

fn of_array(device: &BlockDevice) -> Vec<DeviceState> {
    let mut found = Vec::new();
    let is_at_rest = |action: &String| ["idle", "frozen"].contains(&action.as_str());
    if let Some(action) = device.text("md/sync_action").filter(|action| !is_at_rest(action)) {
        let percent = device.text("md/sync_completed").and_then(|text| percent(&text));
        found.push(DeviceState::Syncing { action, percent });
    }
    let missing = device.integer("md/degraded").filter(|missing| *missing > 0);
    found.extend(missing.map(|missing| DeviceState::Degraded(missing as u32)));
    found
}

/// `4608 / 131072`, in sectors; `none` and `delayed` are nothing.
fn percent(text: &str) -> Option<u8> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    u8::try_from(done.saturating_mul(100).checked_div(all)?).ok()
}

/// A part of a mapped device, by its status.
fn of_part(part: &MappedPart) -> Vec<DeviceState> {
    let word = |at: usize| part.words.get(at).map(String::as_str);
    let number = |at: usize| word(at).and_then(|word| word.parse::<u64>().ok());
    match part.kind.as_str() {
        // raid1 2 AA 131072/131072 idle 0 0 -
        "raid" => {
            let mut found = Vec::new();
            let is_at_rest = |action: &&str| ["idle", "frozen"].contains(action);
            if let Some(action) = word(4).filter(|action| !is_at_rest(action)) {
                let percent = word(3).and_then(percent);
                found.push(DeviceState::Syncing { action: action.to_owned(), percent });
            }
            let missing = word(2).map_or(0, |health| health.matches(['D', '-']).count());
            found.extend((missing > 0).then_some(DeviceState::Degraded(missing as u32)));
            found
        }
        // 20480 131071: sectors mapped, the highest of them
        "thin" => number(0)
            .map(|sectors| DeviceState::Allocated(sectors.saturating_mul(SECTOR_BYTES)))
            .into_iter()
            .collect(),
        // /dev/vdb normal - online online 524288 1048576: blocks in use, and all, of 4 KiB
        "vdo" => number(5)
            .map(|blocks| DeviceState::Allocated(blocks.saturating_mul(4096)))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, words: &str) -> Vec<DeviceState> {
        let words = words.split_whitespace().map(str::to_owned).collect();
        of_part(&MappedPart { sectors: 1, kind: kind.to_owned(), words })
    }

    #[test]
    fn a_mapped_array_says_what_it_is_about() {
        assert_eq!(of("raid", "raid1 2 AA 131072/131072 idle 0 0 -"), []);
        let syncing = |action: &str, percent| DeviceState::Syncing {
            action: action.to_owned(),
            percent: Some(percent),
        };
        assert_eq!(of("raid", "raid5 3 aaa 50/200 resync 0 0 -"), [syncing("resync", 25)]);
        let seen = of("raid", "raid6_zr 4 AAaD 20/200 recover 0 0 -");
        assert_eq!(seen, [syncing("recover", 10), DeviceState::Degraded(1)]);
    }

    #[test]
    fn allocation_is_told_in_the_units_of_each_kind() {
        assert_eq!(of("thin", "20480 131071"), [DeviceState::Allocated(10 << 20)]);
        assert_eq!(of("thin", "Fail"), []);
        let vdo = "/dev/vdb normal - online online 256 1048576";
        assert_eq!(of("vdo", vdo), [DeviceState::Allocated(1 << 20)]);
        assert_eq!(of("linear", "8:0 0"), []);
    }

    #[test]
    fn progress_is_a_share_of_all_sectors() {
        assert_eq!(percent("4608 / 131072"), Some(3));
        for text in ["none", "delayed", "", "1 / 0", "x / 2", "99999999999999999999 / 1"] {
            assert_eq!(percent(text), None, "{text}");
        }
    }
}
