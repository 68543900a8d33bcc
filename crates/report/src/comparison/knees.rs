//! Searched rates of two subjects: the knee of one against that of the other.

use super::{Key, Ratio, of_statistics};
use crate::runs::Subject;
use record::{Cell, Knee};

/// The same cell sought with the same limit on both sides.
#[derive(Clone, Debug)]
pub struct KneeRow<'r> {
    /// The cell at the baseline, in a closed loop.
    pub cell: &'r Cell,
    /// The baseline's search.
    pub baseline: &'r Knee,
    /// The other's.
    pub other: &'r Knee,
    /// The other's rate over the baseline's; none where a search found no rate.
    pub ratio: Option<Ratio>,
}

/// Searches of cells that have one key. The interval of the ratio takes both ends at their worst:
/// a search says between which rates the knee lies, not how it spreads.
pub(super) fn rows<'r>(
    ours: &[(Key, &'r Cell)],
    theirs: &[(Key, &'r Cell)],
    baseline: &Subject<'r>,
    other: &Subject<'r>,
) -> Vec<KneeRow<'r>> {
    let mut rows = Vec::new();
    for (key, cell) in ours {
        let Some((_, same)) = theirs.iter().find(|(theirs, _)| theirs == key) else { continue };
        for knee in knees(baseline, cell) {
            let limit = |it: &&Knee| (it.limit_ns, it.percent) == (knee.limit_ns, knee.percent);
            if let Some(found) = knees(other, same).find(limit) {
                let ratio = ratio(knee, found);
                rows.push(KneeRow { cell, baseline: knee, other: found, ratio });
            }
        }
    }
    rows
}

fn knees<'r>(subject: &Subject<'r>, cell: &Cell) -> impl Iterator<Item = &'r Knee> {
    let (target, name) = (subject.target, cell.name.clone());
    subject.record.knees.iter().filter(move |knee| knee.target == target && knee.cell == name)
}

fn ratio(baseline: &Knee, other: &Knee) -> Option<Ratio> {
    let (ours, theirs) = (baseline.iops.filter(|it| *it > 0.0)?, other.iops?);
    let ends = baseline.iops_ci95.filter(|ends| ends[0] > 0.0).zip(other.iops_ci95);
    let ci95 = ends.map(|(ours, theirs)| [theirs[0] / ours[1], theirs[1] / ours[0]]);
    let passes = [baseline, other].map(|knee| knee.probes.len());
    let verdict = of_statistics(stats::verdict(ci95));
    Some(Ratio { ratio: theirs / ours, ci95, verdict, passes })
}
