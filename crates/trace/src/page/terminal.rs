//! A trace on a terminal: one screen of 80 columns and 24 lines.

use super::Subject;
use crate::{
    access::Op,
    characterise::{BLOCK_BYTES, CachePoint, Characterisation, Sizes},
    volumes::Volumes,
};
use report::{
    chart::Unit,
    number::{self, duration_ns, size},
    terminal::{Align, Page, Paint, Style, Table},
};

/// Caches that a table shows.
const CACHES_MAX: usize = 6;
/// Lengths that are listed.
const SIZES_MAX: usize = 5;
/// Volumes that are listed.
const VOLUMES_SHOWN: usize = 10;

fn percent(share: f64) -> String {
    Unit::Percent.text(share * 100.0)
}

/// All of it.
pub fn terminal(seen: &Characterisation, subject: &Subject, style: &Style) -> String {
    let mut page = Page::new(style);
    page.heading(&subject.title());
    page.line(&sentence(seen));
    page.gap();
    page.table(&operations(seen));
    page.gap();
    let lines = [
        ("rate       ", rate(seen)),
        ("sizes      ", sizes(seen)),
        ("blocks     ", blocks(seen)),
        ("writes     ", hot_writes(seen)),
        ("reuse      ", reuse(seen)),
    ];
    for (label, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        page.hanging(label, text, Paint::Plain);
    }
    let caches = caches(seen);
    if !caches.is_empty() {
        page.gap();
        page.table(&caches);
    }
    for remark in subject.remarks.sentences() {
        page.hanging("- ", &remark, Paint::Faint);
    }
    page.finish()
}

/// How many in what time.
pub fn sentence(seen: &Characterisation) -> String {
    let mut text = format!("{} accesses", number::count(seen.operations()));
    if seen.duration_ns > 0 {
        text += &format!(" in {}", long(seen.duration_ns));
    }
    if seen.blocks.sampled < 1.0 {
        text += &format!(
            "; what is said of blocks is estimated from {} of them",
            percent(seen.blocks.sampled)
        );
    }
    text
}

/// A duration of up to years.
pub(super) fn long(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        300.0..7200.0 => format!("{} min", number::significant(seconds / 60.0)),
        7200.0..172_800.0 => format!("{} h", number::significant(seconds / 3600.0)),
        172_800.0.. => format!("{} days", number::significant(seconds / 86_400.0)),
        _ => duration_ns(ns as f64),
    }
}

fn operations(seen: &Characterisation) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("", Align::Left),
        right("accesses"),
        right("share"),
        right("bytes"),
        right("mean"),
        right("p50"),
        right("p99"),
        right("sequential"),
    ]);
    for op in Op::ALL {
        let of = seen.of(op);
        if of.operations == 0 {
            continue;
        }
        let mut row = vec![
            op.name().to_owned(),
            number::count(of.operations),
            percent(of.operations as f64 / seen.operations() as f64),
        ];
        row.push(if op == Op::Flush { String::new() } else { size(of.bytes) });
        if op.is_transfer() {
            let at = usize::from(op == Op::Write);
            let sizes = &seen.sizes[at];
            row.push(size(sizes.mean().unwrap_or(0.0) as u64));
            row.extend([50.0, 99.0].map(|at| sizes.percentile(at).map_or("-".to_owned(), size)));
            row.push(percent(seen.sequential[at].share()));
        } else {
            row.extend([(); 4].map(|()| String::new()));
        }
        table.row(row);
    }
    table
}

fn rate(seen: &Characterisation) -> String {
    let bytes = seen.of(Op::Read).bytes.saturating_add(seen.of(Op::Write).bytes);
    let (Some(iops), Some(rate)) = (seen.per_second(seen.operations()), seen.per_second(bytes))
    else {
        return "all at one moment: the trace has no times".to_owned();
    };
    let [ms, tenth, second] = &seen.bursts;
    let times = |value: f64| format!("{}x", number::significant(value));
    format!(
        "{} IOPS, {}; busiest second {}, 100 ms {}, 1 ms {}; dispersion {} at 1 s",
        number::iops(iops),
        number::rate(rate),
        times(second.peak_over_mean),
        times(tenth.peak_over_mean),
        times(ms.peak_over_mean),
        number::significant(second.dispersion),
    )
}

fn sizes(seen: &Characterisation) -> String {
    let all = seen.transfers();
    if all == 0 {
        return String::new();
    }
    let share = |count: u64| percent(count as f64 / all as f64);
    let top = Sizes::top(&seen.sizes, SIZES_MAX);
    let top = top.iter().map(|at| format!("{} {}", exact_size(at.bytes), share(at.count)));
    let mut text = top.collect::<Vec<_>>().join(", ");
    text += &format!("; {} in whole 4 KiB blocks", share(seen.aligned));
    text
}

/// A length as it is: in KiB and MiB where it is a whole number of them.
fn exact_size(bytes: u64) -> String {
    block::display_bytes(bytes)
}

fn blocks(seen: &Characterisation) -> String {
    if seen.blocks.accesses == 0 {
        return String::new();
    }
    let bytes = |blocks: f64| size((blocks * BLOCK_BYTES as f64) as u64);
    format!(
        "{} touched, {} read, {} written; they end at {}",
        bytes(seen.blocks.unique),
        bytes(seen.blocks.read),
        bytes(seen.blocks.written),
        size(seen.end_bytes)
    )
}

fn hot_writes(seen: &Characterisation) -> String {
    seen.blocks.hot_writes.map_or_else(String::new, |[one, ten, twenty]| {
        format!(
            "hottest 1 % of written blocks take {}, 10 % {}, 20 % {}",
            percent(one),
            percent(ten),
            percent(twenty)
        )
    })
}

fn reuse(seen: &Characterisation) -> String {
    if seen.blocks.accesses == 0 {
        return String::new();
    }
    let mut text = format!("{} of block accesses are the first", percent(seen.blocks.first));
    if let Some(median) = seen.blocks.reuse_median_bytes {
        text += &format!("; of the others half come back within {} of other blocks", size(median));
    }
    text
}

/// Some of the caches: evenly apart, up to the one that holds all.
fn chosen(caches: &[CachePoint]) -> Vec<&CachePoint> {
    let count = caches.len().min(CACHES_MAX);
    let at = |number: usize| (caches.len() - 1) - (count - 1 - number) * step(caches.len());
    (0..count).map(|number| &caches[at(number)]).collect()
}

fn step(points: usize) -> usize {
    ((points - 1) / (CACHES_MAX - 1)).clamp(1, 3)
}

fn caches(seen: &Characterisation) -> Table {
    let points = &seen.blocks.caches;
    let chosen = if points.is_empty() { Vec::new() } else { chosen(points) };
    let sizes: Vec<String> = chosen.iter().map(|point| size(point.cache_bytes)).collect();
    let mut table = Table::of_numbers("LRU cache of", sizes.iter().map(String::as_str));
    if chosen.is_empty() {
        return table;
    }
    let row = |name: &str, hits: Vec<String>| [vec![name.to_owned()], hits].concat();
    table.row(row("hits", chosen.iter().map(|point| percent(1.0 - point.misses)).collect()));
    let reads: Option<Vec<String>> =
        chosen.iter().map(|point| Some(percent(1.0 - point.read_misses?))).collect();
    if let Some(reads) = reads {
        table.row(row("hits of reads", reads));
    }
    table
}

/// The volumes of a trace in a sentence, most accessed first.
pub fn volumes(volumes: &Volumes) -> String {
    let all = volumes.by_count();
    let named = all.iter().take(VOLUMES_SHOWN);
    let named: Vec<String> =
        named.map(|(name, accesses)| format!("{name} ({})", number::count(*accesses))).collect();
    let more = match all.len() {
        many if many > VOLUMES_SHOWN => format!(" and {} more", many - VOLUMES_SHOWN),
        _ => String::new(),
    };
    format!("{} volumes, by accesses: {}{more}", all.len(), named.join(", "))
}
