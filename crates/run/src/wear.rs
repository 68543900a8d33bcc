//! What a run may write, said before it starts, and what it wrote, said at its end: bytes are what
//! a drive's life is counted in.

use crate::OptionNames;
use block::display_bytes;
use lab::{plan::Plan, runner::written_by_cells};
use record::{Record, TargetInfo};
use report::specification::{Metric, Specification};

/// What the drives may be written in their lives: the least that a tool tells of one of them or
/// that a data sheet promises.
pub fn rated_bytes(infos: &[TargetInfo], sheets: &[Option<Specification>]) -> Option<u64> {
    let drives = infos.iter().flat_map(|info| &info.stack);
    let told = drives.filter_map(|layer| layer.drive.as_ref()?.rated_endurance_bytes);
    let entries = sheets.iter().flatten().flat_map(|sheet| &sheet.entries);
    let promised = entries.filter(|entry| entry.metric == Metric::Endurance);
    told.chain(promised.map(|entry| entry.value as u64)).filter(|bytes| *bytes > 0).min()
}

/// What a run writes to targets that wear.
pub struct Written {
    /// Which of the targets are filled before the first cell.
    pub(crate) filled: Vec<bool>,
    /// What the drives may be written in their lives, where that is known.
    pub(crate) rated_bytes: Option<u64>,
}

impl Written {
    /// `at most 9 GiB to each target, 1 GiB of it to fill the area first; ...`.
    pub fn before(&self, plan: &Plan, options: &OptionNames) -> String {
        before(plan, self.rated_bytes, options)
    }

    /// `6.3 GiB, 1 GiB of it to fill the area first; ...`. What a pass wrote that did not end is
    /// not known.
    pub fn after(&self, plan: &Plan, record: &Record) -> String {
        let written = |target: usize| {
            let first = if self.filled[target] { plan.fill_bytes() } else { 0 };
            written_by_cells(record, target).saturating_add(first)
        };
        let all: Vec<u64> = (0..self.filled.len()).map(written).collect();
        let each: Vec<String> = all.iter().map(|bytes| display_bytes(*bytes)).collect();
        let mut text = each.join(" and ");
        if self.filled.contains(&true) {
            text += &first(plan);
        }
        let most = all.iter().copied().max().unwrap_or(0);
        text + &self.rated_bytes.map_or_else(String::new, |rated| share(most, rated))
    }
}

/// The same sentence for a plan that is only printed.
pub(crate) fn before(plan: &Plan, rated_bytes: Option<u64>, options: &OptionNames) -> String {
    let mut text = format!("at most {} to each target", display_bytes(plan.written_bytes_max));
    if plan.fill_bytes() > 0 {
        text += &first(plan);
    }
    if let Some(rated) = rated_bytes {
        text += &share(plan.written_bytes_max, rated);
    }
    if plan.written_bytes_max < plan.unbounded_bytes {
        let all = display_bytes(plan.unbounded_bytes);
        text += &format!("; {} allows more: the cells could use {all}", options.most_written);
    }
    text
}

/// `, 3 GiB of it to fill the area first`, or the whole target several times.
fn first(plan: &Plan) -> String {
    let bytes = display_bytes(plan.fill_bytes());
    match plan.method.precondition {
        Some(1) => format!(", {bytes} of it to write all of the target once first"),
        Some(times) => format!(", {bytes} of it to write all of the target {times} times first"),
        None => format!(", {bytes} of it to fill the area first"),
    }
}

/// Two digits, however small it is.
fn share(bytes: u64, rated: u64) -> String {
    let percent = 100.0 * bytes as f64 / rated as f64;
    let digits = (1.0 - percent.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("; {percent:.digits$} % of the rated endurance of {}", report::number::capacity(rated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_two_digits_however_small_it_is() {
        let said = |bytes, rated| share(bytes, rated);
        assert_eq!(
            said(9_000_000_000, 600e12 as u64),
            "; 0.0015 % of the rated endurance of 600 TB"
        );
        assert!(said(1 << 40, 2 << 40).starts_with("; 50 %"));
        assert!(said(0, 1 << 40).starts_with("; 0.0"));
    }
}
