//! Many drives against one: arrays that were measured, and arrays that the same money would buy.

use super::{Evidence, Figure, Lack, Rows, against::joined, is_bandwidth, named, or_lack};
use crate::{
    chart::{Table, Unit},
    runs::{self, Subject, price::asked},
    specification,
};
use record::Cell;

/// The name and number of the drives under a subject, where they are all of one kind.
fn drives(subject: &Subject<'_>) -> Option<(String, u64)> {
    let drives = runs::drives(subject.record.targets.get(subject.target)?);
    let name = drives.first()?.name.clone();
    let is_uniform = drives.iter().all(|other| other.name == name);
    is_uniform.then(|| (name, drives.iter().map(|other| other.count).sum()))
}

/// An array's rate over that of one of its drives, and over that of all of them.
pub(super) fn scaling(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let labels = ["target", "drives", "cell"];
    let mut times = Rows::new("Arrays over one of their drives", &labels, "times", Unit::Number);
    let mut share = Rows::new(
        "Arrays as percent of all their drives together",
        &labels,
        "share",
        Unit::Percent,
    );
    for array in &evidence.subjects {
        let Some((name, count)) = drives(array).filter(|(_, count)| *count > 1) else { continue };
        let one = Some((name, 1));
        let Some(single) = evidence.subjects.iter().find(|other| drives(other) == one) else {
            continue;
        };
        let names = named(array);
        for (cell, one) in joined(array, single) {
            let cell_name = names.iter().find(|(other, _)| std::ptr::eq(*other, cell));
            let Some((ratio, (_, cell_name))) =
                Figure::iops(cell).over(Figure::iops(one)).zip(cell_name)
            else {
                continue;
            };
            let labels = [array.name.as_str(), &count.to_string(), cell_name];
            times.push(&labels, ratio);
            share.push(&labels, ratio.times(100.0 / count as f64));
        }
    }
    let lack = "an array and a run of one of its drives are needed, such as model:4xNAME/raid5 and model:NAME";
    or_lack([times.table(), share.table()], lack)
}

/// A level of RAID as ideal arithmetic: what n drives give together when nothing else limits them.
struct Level {
    name: &'static str,
    drives_min: usize,
    /// Of n drives, those that hold data.
    data: fn(usize) -> f64,
    /// Of n drives, how many times one's rate reads and writes go: (bandwidth read, written,
    /// operations read, written).
    rates: fn(usize) -> [f64; 4],
}

/// Patterson, Gibson and Katz 1988, table of throughput per group: a small write to RAID-5 takes
/// four accesses, to mirrors two.
const LEVELS: [Level; 3] = [
    Level {
        name: "RAID-0",
        drives_min: 1,
        data: |n| n as f64,
        rates: |n| [n as f64, n as f64, n as f64, n as f64],
    },
    Level {
        name: "RAID-5",
        drives_min: 3,
        data: |n| n as f64 - 1.0,
        rates: |n| [n as f64 - 1.0, n as f64 - 1.0, n as f64, n as f64 / 4.0],
    },
    Level {
        name: "RAID-10",
        drives_min: 2,
        data: |n| n as f64 / 2.0,
        rates: |n| [n as f64, n as f64 / 2.0, n as f64, n as f64 / 2.0],
    },
];

impl Level {
    /// Of so many drives, how many an array uses: mirrors go in pairs.
    fn drives_of(&self, count: usize) -> Option<usize> {
        let count = if self.name == "RAID-10" { count & !1 } else { count };
        (count >= self.drives_min).then_some(count)
    }

    fn factor(&self, count: usize, cell: &Cell) -> Option<f64> {
        let [read, write, small_read, small_write] = (self.rates)(count);
        match (cell.op.as_str(), is_bandwidth(cell)) {
            ("read", true) => Some(read),
            ("write", true) => Some(write),
            ("read", false) => Some(small_read),
            ("write", false) => Some(small_write),
            _ => None,
        }
    }
}

/// The subject's price and the baseline's, where both are in one currency.
fn prices(subject: &Subject<'_>, baseline: &Subject<'_>) -> Option<(f64, f64)> {
    let (ours, theirs) = (subject.price.as_ref()?, baseline.price.as_ref()?);
    let is_one = ours.currency == theirs.currency && theirs.amount > 0.0 && ours.amount > 0.0;
    is_one.then_some((ours.amount, theirs.amount))
}

/// Martin 2008 and CMU 2008: what the money for a drive would buy as an array of the baseline's
/// drives.
pub(super) fn same_money(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let baseline = &evidence.subjects[evidence.baseline];
    let labels = ["for the money of", "what", "cell"];
    let rows = |title: &str, unit| Rows::new(title, &labels, "ideally", unit);
    let of = &baseline.name;
    let gigabytes = Unit::Other("GB".to_owned());
    let priced = evidence.subjects.iter().filter(|subject| prices(subject, baseline).is_some());
    let asked = asked(priced.filter_map(|subject| subject.price.as_ref()));
    let asked = if asked.is_empty() { asked } else { format!(" (prices{asked})") };
    let title = |what: &str| format!("Same money, {what}: arrays of {of}{asked}");
    let mut capacity = rows(&title("capacity"), gigabytes);
    let mut bandwidth = rows(&title("bandwidth"), Unit::BytesPerS);
    let mut operations = rows(&title("operations"), Unit::Iops);
    for (at, subject) in evidence.subjects.iter().enumerate() {
        let Some((amount, each)) = prices(subject, baseline).filter(|_| at != evidence.baseline)
        else {
            continue;
        };
        let count = (amount / each) as usize;
        let bytes = |subject: &Subject<'_>| {
            subject.record.targets.get(subject.target).and_then(specification::capacity)
        };
        let itself = "itself".to_owned();
        if let Some(bytes) = bytes(subject) {
            capacity.push_exact(&[&subject.name, &itself, ""], bytes / 1e9);
        }
        for level in &LEVELS {
            if let Some((drives, bytes)) = level.drives_of(count).zip(bytes(baseline)) {
                let what = format!("{} of {drives}", level.name);
                capacity
                    .push_exact(&[&subject.name, &what, ""], bytes / 1e9 * (level.data)(drives));
            }
        }
        let names = named(subject);
        for (cell, one) in joined(subject, baseline) {
            let cell_name = names.iter().find(|(other, _)| std::ptr::eq(*other, cell));
            let Some((_, cell_name)) = cell_name else { continue };
            let (rows, figure): (&mut Rows, fn(&Cell) -> Figure) = if is_bandwidth(cell) {
                (&mut bandwidth, Figure::bandwidth)
            } else {
                (&mut operations, Figure::iops)
            };
            rows.push(&[&subject.name, &itself, cell_name], figure(cell));
            for level in &LEVELS {
                let Some(drives) = level.drives_of(count) else { continue };
                let Some(factor) = level.factor(drives, one) else { continue };
                let what = format!("{} of {drives}", level.name);
                rows.push(&[&subject.name, &what, cell_name], figure(one).times(factor));
            }
        }
    }
    let lack = "prices of two targets in one currency are needed: add --price RUN=129EUR for both, and --baseline RUN for the disk";
    or_lack([capacity.table(), bandwidth.table(), operations.table()], lack)
}

/// How many of the baseline give what another gives, in the best of cases: rates add up. Whole
/// drives, with the interval's ends rounded up as the number is.
pub(super) fn to_match(evidence: &Evidence<'_>) -> Result<Vec<Table>, Lack> {
    let baseline = &evidence.subjects[evidence.baseline];
    let title = format!("How many of {} match, rates added up", baseline.name);
    let mut rows = Rows::new(&title, &["target", "cell", "for"], "drives", Unit::Number);
    for (at, subject) in evidence.subjects.iter().enumerate() {
        if at == evidence.baseline {
            continue;
        }
        let names = named(subject);
        for (cell, one) in joined(subject, baseline) {
            let ratio = Figure::iops(cell).over(Figure::iops(one));
            let cell_name = names.iter().find(|(other, _)| std::ptr::eq(*other, cell));
            let Some((ratio, (_, cell_name))) = ratio.zip(cell_name) else { continue };
            let whole = Figure {
                value: ratio.value.ceil(),
                ci95: ratio.ci95.map(|ends| ends.map(f64::ceil)),
            };
            let price = baseline.price.as_ref();
            let cost = price.map(|price| {
                let cost = price.amount * whole.value;
                format!("{cost:.0} {}{}", price.currency, asked([price]))
            });
            rows.push(&[&subject.name, cell_name, &cost.unwrap_or_default()], whole);
        }
    }
    or_lack(
        [rows.table()],
        "a second target with a cell like the baseline's is needed: name another RUN",
    )
}
