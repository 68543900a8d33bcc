//! Numbers beside what was promised, beside a baseline, and beside themselves with the write cache
//! off.

use super::{Evidence, Figure, Lack, Rows, name, named, or_lack};
use crate::{
    chart::{Table, Unit},
    comparison::{Key, keyed},
    runs::Subject,
    specification::{self, Reading},
};
use record::Cell;
use std::collections::BTreeMap;

impl From<Reading> for Figure {
    fn from(reading: Reading) -> Self {
        Self { value: reading.value, ci95: reading.ci95 }
    }
}

/// STFC 2009, Tables 4 and 5: what was measured over what the maker says.
pub(super) fn sheet(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let labels = ["target", "promised", "figure", "verdict"];
    let mut rows = Rows::new("Percent of the data sheet", &labels, "measured", Unit::Percent);
    for (subject, sheet) in evidence.subjects.iter().zip(&evidence.sheets) {
        let Some(sheet) = sheet else { continue };
        for finding in specification::judge(sheet, subject) {
            let Some(reading) = finding.measured else { continue };
            let promise = specification::promise(&finding);
            let printed = &finding.entry.printed;
            let labels = [name(evidence, subject), &promise, printed, finding.verdict.name()];
            rows.push(&labels, Figure::from(reading).times(100.0 / finding.entry.value));
        }
    }
    let lack = "no cell can be held against a data sheet: add --spec FILE, and see `show --spec` for what differs";
    or_lack([rows.table()], lack)
}

/// Cells of both, joined by what they do.
pub(super) fn joined<'r>(ours: &Subject<'r>, theirs: &Subject<'r>) -> Vec<(&'r Cell, &'r Cell)> {
    let [ours, theirs] = keyed(ours, theirs);
    let index: BTreeMap<Key, &Cell> = theirs.into_iter().collect();
    let pair = |(key, cell): (Key, &'r Cell)| Some((cell, *index.get(&key)?));
    ours.into_iter().filter_map(pair).collect()
}

/// Every cell over the baseline's.
pub(super) fn speed_up(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let baseline = &evidence.subjects[evidence.baseline];
    let title = format!("Speed-up over {}", baseline.name);
    let mut rows = Rows::new(&title, &["target", "cell"], "times", Unit::Number);
    for (at, subject) in evidence.subjects.iter().enumerate() {
        let others = if at == evidence.baseline { Vec::new() } else { joined(subject, baseline) };
        let names: BTreeMap<&str, String> =
            named(subject).into_iter().map(|(cell, name)| (cell.name.as_str(), name)).collect();
        for (cell, base) in others {
            if let Some(ratio) = Figure::iops(cell).over(Figure::iops(base)) {
                rows.push(&[&subject.name, &names[cell.name.as_str()]], ratio);
            }
        }
    }
    or_lack(
        [rows.table()],
        "a second target with a cell like the baseline's is needed: name another RUN",
    )
}

/// A target without the setting of its write cache, and whether that is on; none where neither
/// says.
fn cache(subject: &Subject<'_>) -> Option<(String, bool)> {
    let target = subject.record.targets.get(subject.target)?;
    if let Some(stack) = target.text.strip_prefix("model:") {
        let mut is_on = true;
        let mut is_kept = |setting: &&str| match setting.strip_prefix("write-cache=") {
            Some(word) => {
                is_on = word == "on";
                false
            }
            None => true,
        };
        let layer = |layer: &str| {
            let Some((name, settings)) = layer.split_once(':') else { return layer.to_owned() };
            let kept: Vec<&str> = settings.split(',').filter(&mut is_kept).collect();
            if kept.is_empty() { name.to_owned() } else { format!("{name}:{}", kept.join(",")) }
        };
        let layers: Vec<String> = stack.split('/').map(layer).collect();
        return Some((layers.join("/"), is_on));
    }
    let layer = target.stack.iter().rfind(|layer| layer.drive.is_some())?;
    let is_on = layer.queue.as_ref()?.write_cache.as_deref()? == "write back";
    let drive = layer.drive.as_ref()?;
    let serial = drive.serial.as_ref().or(drive.model.as_ref()).unwrap_or(&layer.name);
    Some((format!("{} {serial}", target.text), is_on))
}

/// The latency study's pivot: what bandwidth is lost with the cache off, what latency is won.
pub(super) fn write_cache(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let labels = ["target", "cell"];
    let rows = |title, value| Rows::new(title, &labels, value, Unit::Number);
    let mut lost = rows("Write cache: bandwidth with it over bandwidth without", "degradation");
    let mut won = rows("Write cache: latency with it over latency without", "improvement");
    let caches: Vec<_> = evidence.subjects.iter().map(cache).collect();
    for (on, cache_of_on) in evidence.subjects.iter().zip(&caches) {
        for (off, cache_of_off) in evidence.subjects.iter().zip(&caches) {
            let (Some((drive, true)), Some((other, false))) = (cache_of_on, cache_of_off) else {
                continue;
            };
            if drive != other {
                continue;
            }
            let names: BTreeMap<&str, String> =
                named(on).into_iter().map(|(cell, name)| (cell.name.as_str(), name)).collect();
            for (with, without) in joined(on, off).into_iter().filter(|(cell, _)| cell.op != "read")
            {
                let labels = [drive.as_str(), &names[with.name.as_str()]];
                if let Some(ratio) = Figure::bandwidth(with).over(Figure::bandwidth(without)) {
                    lost.push(&labels, ratio);
                }
                if let Some(ratio) =
                    mean_latency(with).zip(mean_latency(without)).and_then(|(a, b)| a.over(b))
                {
                    won.push(&labels, ratio);
                }
            }
        }
    }
    let lack = "two runs of one drive are needed, with its write cache on and off: write-cache=off in a STACK, hdparm -W0 on a drive";
    or_lack([lost.table(), won.table()], lack)
}

/// In a closed loop mean latency is depth over rate, and known as well as the rate.
fn mean_latency(cell: &Cell) -> Option<Figure> {
    let value = cell.latency.as_ref()?.mean_ns;
    let half = cell.half_width_relative;
    Some(Figure { value, ci95: half.map(|half| [value * (1.0 - half), value * (1.0 + half)]) })
}
