//! Power cuts of the history: the verdict, and the rounds that matter most.

use super::page::Page;
use crate::power_cuts::{head, heads, line, verdict};
use block::counted;
use record::{PowerCutRound, PowerCuts, Record};

/// Of a run that is shown later, so many rounds stand in its table: those that broke a promise
/// first.
const ROWS_MAX: usize = 10;

/// Of a run of the history: the verdict, then rounds, broken ones first.
pub(super) fn render(page: &mut Page, record: &Record, cuts: &PowerCuts) {
    page.gap();
    page.line(head(record, cuts).trim_end());
    verdict(cuts, None).lines().for_each(|line| page.line(line));
    page.gap();
    let (broken, sound): (Vec<_>, Vec<_>) = cuts.rounds.iter().partition(|it| it.is_broken());
    let shown: Vec<&&PowerCutRound> = broken.iter().chain(&sound).take(ROWS_MAX).collect();
    page.drawn(heads().trim_end());
    for round in &shown {
        let line = page.style.clean(line(round).trim_end());
        page.drawn(&line);
    }
    let more = cuts.rounds.len() - shown.len();
    if more > 0 {
        let more = counted(more as u64, "more round");
        page.line(&format!("{more} in the record"));
    }
}
