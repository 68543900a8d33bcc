//! A trace as a document with charts.

use super::{
    Subject,
    terminal::{long, sentence},
};
use crate::{
    access::Op,
    characterise::{BLOCK_BYTES, Characterisation, Sizes, Slice},
};
use report::{
    chart::{Axis, BarSeries, Bars, Chart, Figure, Line, Lines, Point, Stroke, Unit, Value},
    document::{Block, Document, Highlight, Reading, Section},
};

/// Lengths that are drawn.
const SIZES_DRAWN: usize = 12;

/// All of it; `origin` is when and by what it was made.
pub fn document(seen: &Characterisation, subject: &Subject, origin: &str) -> Document {
    let mut summary = vec![format!("{}.", sentence(seen))];
    summary.extend(subject.remarks.sentences());
    let section = |title: &str, figures: Vec<Option<Figure>>| {
        let blocks = figures.into_iter().flatten().map(|figure| Block::Figure(Box::new(figure)));
        Section { title: title.to_owned(), sheet: "Trace", blocks: blocks.collect() }
    };
    let sections = vec![
        section("Over time", vec![rate(seen), bytes(seen), bursts(seen)]),
        section("Sizes", vec![sizes(seen)]),
        section("Places", vec![caches(seen), reuse(seen), hot_writes(seen)]),
    ];
    Document {
        title: subject.title(),
        origin: origin.to_owned(),
        summary,
        highlights: highlights(seen),
        doubts: None,
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
    }
}

fn highlights(seen: &Characterisation) -> Vec<Highlight> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: Option<f64>, unit: Unit| {
        if let Some(value) = value {
            let readings = vec![Reading::new(value, unit)];
            all.push(Highlight { name: name.to_owned(), readings });
        }
    };
    let share = |op: Op| seen.of(op).operations as f64 / seen.operations().max(1) as f64 * 100.0;
    add("accesses", seen.per_second(seen.operations()), Unit::Iops);
    add("reads", Some(share(Op::Read)), Unit::Percent);
    add("writes", Some(share(Op::Write)), Unit::Percent);
    add("touched", Some(seen.blocks.unique * BLOCK_BYTES as f64), Unit::Bytes);
    add("busiest second over mean", Some(seen.bursts[2].peak_over_mean), Unit::Ratio);
    all
}

fn figure(id: &str, title: &str, note: &str, chart: Chart) -> Option<Figure> {
    let [id, title, note] = [id, title, note].map(str::to_owned);
    Some(Figure { id, title, note, chart })
}

type Column = (&'static str, fn(&Slice) -> u64);

fn over_time(seen: &Characterisation, y: Axis, columns: [Column; 2]) -> Option<Chart> {
    let width_s = seen.over_time.slice_ns as f64 / 1e9;
    let line = |(name, of): Column| {
        let slices = (0..).zip(&seen.over_time.slices);
        let point = |(at, slice): (u64, &Slice)| Point {
            x: at as f64 * width_s,
            y: Value::from(of(slice) as f64 / width_s),
        };
        Line { points: slices.map(point).collect(), ..Line::new(name, Stroke::Plain) }
    };
    let is_something = |line: &Line| line.points.iter().any(|point| point.y.value > 0.0);
    let series: Vec<Line> = columns.into_iter().map(line).filter(is_something).collect();
    let x = Axis::linear("time", Unit::Seconds);
    let is_drawn = !series.is_empty() && seen.duration_ns > 0;
    is_drawn.then(|| Chart::Lines(Lines { x, y, series, bands: Vec::new() }))
}

fn rate(seen: &Characterisation) -> Option<Figure> {
    let columns: [Column; 2] = [("reads", |slice| slice.reads), ("writes", |slice| slice.writes)];
    let chart = over_time(seen, Axis::linear("rate", Unit::Iops), columns)?;
    let note = format!("Mean rates of {} each.", long(seen.over_time.slice_ns));
    figure("rate", "Accesses over time", &note, chart)
}

fn bytes(seen: &Characterisation) -> Option<Figure> {
    let columns: [Column; 2] =
        [("read", |slice| slice.read_bytes), ("written", |slice| slice.written_bytes)];
    let chart = over_time(seen, Axis::linear("rate", Unit::BytesPerS), columns)?;
    figure("bytes", "Bytes over time", "", chart)
}

fn bars(group_title: &str, groups: Vec<String>, value: Axis, series: Vec<BarSeries>) -> Chart {
    Chart::Bars(Bars { group_title: group_title.to_owned(), groups, value, series })
}

fn series(name: &str, values: impl Iterator<Item = f64>) -> BarSeries {
    let values = values.map(|value| Some(Value::from(value))).collect();
    BarSeries { name: name.to_owned(), source: String::new(), values }
}

fn bursts(seen: &Characterisation) -> Option<Figure> {
    if seen.duration_ns == 0 {
        return None;
    }
    let groups = seen.bursts.iter().map(|burst| long(burst.bin_ns)).collect();
    let values = seen.bursts.iter().map(|burst| burst.peak_over_mean);
    let value = Axis::log("busiest over mean", Unit::Ratio);
    let chart = bars("bin", groups, value, vec![series("peak over mean", values)]);
    figure("bursts", "How unevenly accesses come", "1 where every bin has as many.", chart)
}

fn sizes(seen: &Characterisation) -> Option<Figure> {
    let mut top = Sizes::top(&seen.sizes, SIZES_DRAWN);
    top.sort_by_key(|size| size.bytes);
    let all = seen.transfers();
    if all == 0 {
        return None;
    }
    let share = |of: usize, bytes: u64| {
        let found = seen.sizes[of].counts.iter().find(|size| size.bytes == bytes);
        found.map_or(0.0, |size| size.count as f64 / all as f64 * 100.0)
    };
    let named = [("reads", 0), ("writes", 1)]
        .into_iter()
        .filter(|(_, of)| !seen.sizes[*of].counts.is_empty());
    let named = named.map(|(name, of)| series(name, top.iter().map(|size| share(of, size.bytes))));
    let named: Vec<BarSeries> = named.collect();
    let groups = top.iter().map(|size| block::display_bytes(size.bytes)).collect();
    let value = Axis::linear("share of reads and writes", Unit::Percent);
    let note = "The most frequent lengths.";
    figure("sizes", "How long accesses are", note, bars("length", groups, value, named))
}

fn caches(seen: &Characterisation) -> Option<Figure> {
    let points = &seen.blocks.caches;
    let line = |name: &str, of: &dyn Fn(usize) -> Option<f64>| {
        let at = |number: usize| {
            let (x, y) = (points[number].cache_bytes as f64, of(number)? * 100.0);
            Some(Point { x, y: Value::from(y) })
        };
        let points = (0..points.len()).filter_map(at).collect();
        Line { points, ..Line::new(name, Stroke::Marked) }
    };
    let all = line("all", &|at| Some(points[at].misses));
    let reads = line("reads", &|at| points[at].read_misses);
    let series: Vec<Line> =
        [all, reads].into_iter().filter(|line| !line.points.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let (x, y) = (Axis::sizes("cache"), Axis::linear("misses", Unit::Percent));
    let chart = Chart::Lines(Lines { x, y, series, bands: Vec::new() });
    let note = "Share of accesses to blocks of 4 KiB that a cache of this size misses which evicts \
                the least recently used and takes in reads and writes.";
    figure("misses", "What an LRU cache would miss", note, chart)
}

fn reuse(seen: &Characterisation) -> Option<Figure> {
    let classes = &seen.blocks.reuse;
    if classes.is_empty() {
        return None;
    }
    let groups = classes.iter().map(|(bytes, _)| block::display_bytes(*bytes)).collect();
    let values = classes.iter().map(|(_, share)| share * 100.0);
    let value = Axis::linear("share of block accesses", Unit::Percent);
    let chart = bars("up to", groups, value, vec![series("share", values)]);
    let note = "Other blocks between two accesses to the same one, as bytes; first accesses are \
                left out.";
    figure("reuse", "How soon blocks come back", note, chart)
}

fn hot_writes(seen: &Characterisation) -> Option<Figure> {
    let shares = seen.blocks.hot_writes?;
    let groups = ["1 %", "10 %", "20 %"].map(str::to_owned).to_vec();
    let value = Axis::linear("share of block writes", Unit::Percent);
    let shares = series("share", shares.into_iter().map(|share| share * 100.0));
    let chart = bars("hottest of the written blocks", groups, value, vec![shares]);
    figure("hot-writes", "How much of the writes the hottest blocks take", "", chart)
}
