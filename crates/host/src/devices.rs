//! Every block device of the machine on one list: what it is, what is on it, who uses it, and
//! whether drivelab would read and write it.
//!
//! Each device is looked at by a thread of its own: one that does not answer keeps nobody waiting
//! for more than five seconds after the last of the others. Nothing is held, and nothing is
//! written.

use crate::{
    condition::conditions,
    guard::{Look, all_openers, look, no_look},
    identify::stack::layer,
    roots::Roots,
    sysfs::{BlockDevice, disks},
};
pub use record::devices::{Device, Survey};
use record::{Condition, DeviceState};
use std::{path::PathBuf, sync::mpsc, thread, time::Duration};

/// How long after the last answer the list goes on without the other devices.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same until half of them have answered: a machine that is busy is slow with all of them.
const PATIENCE_AT_FIRST: Duration = Duration::from_secs(15);

/// Which devices are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// All but disks of memory, and loop and network devices with nothing behind them.
    Used,
    /// All.
    All,
}

/// Looks at every device.
pub fn survey(which: Which, roots: &Roots) -> Survey {
    let mut found: Vec<BlockDevice> = Vec::new();
    for disk in sorted(disks(roots)) {
        if which == Which::All || !is_idle(&disk) {
            let parts = sorted(disk.partitions());
            found.push(disk);
            found.extend(parts);
        }
    }
    look_at(found, roots)
}

/// Looks at the one device that has this kernel name, path, or word for `--destroy`; `None` when
/// there is none.
pub fn survey_one(name: &str, roots: &Roots) -> Option<Survey> {
    let by_path = || {
        let path = if name.contains('/') { PathBuf::from(name) } else { roots.dev.join(name) };
        let number = crate::guard::number_at(&path)?;
        BlockDevice::numbered(number, roots)
    };
    let known = BlockDevice::named(name, roots).or_else(by_path);
    if let Some(device) = known {
        return Some(look_at(vec![device], roots));
    }
    let mut all = survey(Which::All, roots);
    all.devices.retain(|device| {
        let mut words = device.destroy.iter().chain(&device.destroy_also);
        words.any(|word| word == name)
    });
    (!all.devices.is_empty()).then_some(all)
}

fn look_at(found: Vec<BlockDevice>, roots: &Roots) -> Survey {
    let openers = all_openers(roots);
    let (sender, looks) = mpsc::channel();
    for (at, device) in found.iter().enumerate() {
        let (device, roots) = (device.clone(), roots.clone());
        let (openers, sender) = (openers.found.clone(), sender.clone());
        thread::spawn(move || {
            // Nobody waits any more where it took too long.
            let looked = look(&device, &openers, &roots);
            let _ = sender.send((at, (looked, conditions(&[layer(&device, &roots)], &roots))));
        });
    }
    let (seen, patience) = gather(found.len(), |patience| looks.recv_timeout(patience).ok());
    let unread = |seen: &Option<(Look, Vec<Condition>)>| {
        seen.as_ref().is_some_and(|(look, _)| look.holds.is_none())
    };
    let mut unseen = Vec::new();
    if !rustix::process::geteuid().is_root() {
        if seen.iter().any(unread) {
            unseen.push("what is on a device that this user may not open".to_owned());
        }
        if openers.unseen > 0 {
            unseen.push("which processes of other users have a device open".to_owned());
        }
    }
    let devices = found.iter().zip(seen).map(|(found, seen)| {
        let (look, states) = seen.unwrap_or_else(|| (no_look(found, patience), Vec::new()));
        device(found, look, &states, roots)
    });
    Survey { format: 1, devices: devices.collect(), unseen }
}

/// Answers by their places, until `next` gives none within the patience that it is told; and that
/// patience.
fn gather<T>(
    count: usize,
    mut next: impl FnMut(Duration) -> Option<(usize, T)>,
) -> (Vec<Option<T>>, Duration) {
    let mut seen: Vec<Option<T>> = (0..count).map(|_| None).collect();
    loop {
        let answered = seen.iter().flatten().count();
        let patience = if 2 * answered < count { PATIENCE_AT_FIRST } else { PATIENCE };
        match (answered < count).then(|| next(patience)).flatten() {
            Some((at, answer)) => seen[at] = Some(answer),
            None => return (seen, patience),
        }
    }
}

fn device(found: &BlockDevice, look: Look, states: &[Condition], roots: &Roots) -> Device {
    let names = |devices: Vec<BlockDevice>| -> Vec<String> {
        sorted(devices).into_iter().map(|device| device.name).collect()
    };
    let mut above = found.partitions();
    above.extend(found.holders());
    above.extend(disks(roots).into_iter().filter(|disk| {
        disk.backing_file().is_some_and(|path| roots.device_named(path) == Some(found.number))
    }));
    let file = || found.backing_file().map(|path| path.display().to_string());
    let below = match found.parent() {
        Some(disk) => vec![disk.name],
        None => names(found.slaves()).into_iter().chain(file()).collect(),
    };
    let word = look.word;
    Device {
        name: found.name.clone(),
        path: roots.dev.join(&found.name),
        layer: layer(found, roots),
        label: found.text("dm/name"),
        destroy_is: word.as_ref().map(|word| word.called.clone()),
        destroy_also: word.as_ref().map(|word| word.others.clone()).unwrap_or_default(),
        destroy: word.map(|word| word.text),
        holds: look.holds,
        uses: look.uses,
        condition: states.iter().filter_map(|it| in_words(&it.state)).collect(),
        reads: look.not_read.is_none(),
        reads_refused: look.not_read,
        writes: look.not_written.is_none(),
        writes_refused: look.not_written,
        against: look.against,
        below,
        above: names(above),
    }
}

/// What an array is about; how much a thin volume has is no news.
fn in_words(state: &DeviceState) -> Option<String> {
    Some(match state {
        DeviceState::Syncing { action, percent: Some(percent) } => {
            format!("{action}, {percent} % done")
        }
        DeviceState::Syncing { action, percent: None } => action.clone(),
        DeviceState::Degraded(1) => "degraded: 1 member is missing".to_owned(),
        DeviceState::Degraded(missing) => format!("degraded: {missing} members are missing"),
        DeviceState::Allocated(_) => return None,
    })
}

/// Memory, or a loop or network device that stands for nothing.
fn is_idle(disk: &BlockDevice) -> bool {
    let starts = |word: &str| {
        let rest = disk.name.strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    starts("ram") || disk.bytes() == 0 && ["loop", "nbd", "zram"].into_iter().any(starts)
}

/// Drives, arrays, mappings, the rest; each by name, numbers as numbers, `sdaa` behind `sdz`.
fn sorted(mut devices: Vec<BlockDevice>) -> Vec<BlockDevice> {
    devices.sort_by_cached_key(|device| {
        let name = &device.name;
        let rank = match name {
            name if name.starts_with("md") => 1,
            name if name.starts_with("dm-") => 2,
            name if ["loop", "zram", "ram"].iter().any(|word| name.starts_with(word)) => 3,
            _ => 0,
        };
        (rank, chunks(name))
    });
    devices
}

/// `nvme10n1` as letters, number, letters, number.
fn chunks(name: &str) -> Vec<(usize, u64, String)> {
    let mut chunks: Vec<(usize, u64, String)> = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(end);
        chunks.push(match piece.parse() {
            Ok(number) => (0, number, String::new()),
            Err(_) if name.starts_with("sd") || name.starts_with("vd") => {
                (piece.len(), 0, piece.to_owned())
            }
            Err(_) => (1, 0, piece.to_owned()),
        });
        rest = tail;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine whose processors were busy one device of thirteen was quick, the others took
    /// more than five seconds together, and of each was said that it did not answer.
    #[test]
    fn devices_that_are_slow_together_are_waited_for_and_a_silent_one_is_not() {
        // Seconds before each answer; the last never comes.
        let mut gaps = [1, 7, 4, 4].into_iter().enumerate();
        let (seen, patience) = gather(5, |patience| {
            let (at, gap) = gaps.next()?;
            (Duration::from_secs(gap) <= patience).then_some((at, gap))
        });
        assert_eq!(seen, [Some(1), Some(7), Some(4), Some(4), None]);
        assert_eq!(patience, PATIENCE, "of the silent one is said how long it was waited for");
        let (seen, patience) = gather::<()>(2, |_| None);
        assert_eq!((seen, patience), (vec![None, None], PATIENCE_AT_FIRST));
    }

    #[test]
    fn names_are_in_the_order_in_which_people_count() {
        let mut names = ["sdaa", "sdb", "nvme10n1", "sda10", "sda2", "nvme2n1", "sdz"];
        names.sort_by_cached_key(|name| chunks(name));
        assert_eq!(names, ["nvme2n1", "nvme10n1", "sda2", "sda10", "sdb", "sdz", "sdaa"]);
    }
}
