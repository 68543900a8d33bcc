//! Power cuts under a program: in words, as a table of a report, and two runs beside each other.

mod words;

pub use words::{combination, combination_head, head, heads, line, verdict};

use crate::{
    chart::{Column, Entry, Table, Unit},
    terminal::{Align, Page, Paint, Style},
};
use record::{PowerCutRound, PowerCuts, Record};
use serde_json::{Value, json};
use stats::{same_share, share_interval};
use words::{SHORT, bounds, shares};

/// Two runs differ where chance alone would part them so far less often than this.
const CHANCE_MAX: f64 = 0.05;

/// The rounds of a run as a table of a report.
pub(crate) fn table(record: &Record, cuts: &PowerCuts) -> Table {
    let columns = vec![
        Column::number("round", Unit::Number),
        Column::number("cut after, s", Unit::Number),
        Column::number("sectors changed", Unit::Number),
        Column::number("promises", Unit::Number),
        Column::number("lost", Unit::Number),
        Column::number("torn", Unit::Number),
        Column::number("mounted after, s", Unit::Number),
        Column::text("file system"),
        Column::text("broken"),
    ];
    let row = |round: &PowerCutRound| {
        let PowerCutRound { promises, .. } = round;
        vec![
            Entry::Number(f64::from(round.round)),
            Entry::Number(round.cut_after_s),
            Entry::Number(round.sectors_changed as f64),
            Entry::Number(promises.made as f64),
            Entry::Number(promises.lost as f64),
            Entry::Number(promises.torn as f64),
            Entry::Number(round.mounted_after_s),
            Entry::text(round.file_system.name()),
            Entry::text(round.broken.as_deref().unwrap_or_default()),
        ]
    };
    let title = head(record, cuts).trim_end().to_owned();
    let rows = cuts.rounds.iter().map(row).collect();
    Table { title, columns, rows }.without_empty_columns()
}

/// Runs of power cuts beside the first of them.
#[derive(Clone, Debug)]
pub struct CutsCompared<'r> {
    baseline: (&'r Record, &'r PowerCuts),
    others: Vec<(&'r Record, &'r PowerCuts)>,
}

/// Why runs cannot be compared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CutsNotComparable {
    /// One of them measured rates.
    #[error("run {cuts} is of power cuts and run {rates} of rates: compare runs of one kind")]
    OtherKind {
        /// A run of power cuts.
        cuts: String,
        /// One that is none.
        rates: String,
    },
    /// There is nothing to compare it with.
    #[error("run {0} is of power cuts: name another one beside it")]
    Alone(String),
}

/// The comparison, where these are runs of power cuts; none where none of them is.
///
/// # Errors
/// Runs of two kinds, or one alone.
pub fn compare<'r>(records: &'r [Record]) -> Option<Result<CutsCompared<'r>, CutsNotComparable>> {
    let of = |record: &'r Record| Some((record, record.power_cuts.as_ref()?));
    let mut all: Vec<_> = records.iter().filter_map(of).collect();
    let (first, _) = all.first()?;
    let cuts = first.id.clone();
    if let Some(other) = records.iter().find(|record| record.power_cuts.is_none()) {
        return Some(Err(CutsNotComparable::OtherKind { cuts, rates: other.id.clone() }));
    }
    let baseline = all.remove(0);
    match all.is_empty() {
        true => Some(Err(CutsNotComparable::Alone(cuts))),
        false => Some(Ok(CutsCompared { baseline, others: all })),
    }
}

impl CutsCompared<'_> {
    /// How likely chance alone parts the other so far from the baseline.
    fn chance(&self, other: &PowerCuts) -> f64 {
        same_share(shares(self.baseline.1), shares(other))
    }

    fn verdict(&self, other: &PowerCuts) -> &'static str {
        let [[a, of_a], [b, of_b]] = [shares(self.baseline.1), shares(other)];
        if of_a == 0 || of_b == 0 || self.chance(other) > CHANCE_MAX {
            return "not told apart";
        }
        let is_less = f64::from(b) / f64::from(of_b) < f64::from(a) / f64::from(of_a);
        if is_less { "breaks fewer" } else { "breaks more" }
    }

    /// For a terminal.
    pub fn text(&self, style: &Style) -> String {
        let mut page = Page::new(style);
        let mut table = crate::terminal::Table::new(&[
            ("run", Align::Left),
            ("broken rounds", Align::Right),
            ("of such cuts", Align::Right),
            ("promises", Align::Right),
            ("lost", Align::Right),
            ("torn", Align::Right),
            ("verdict", Align::Left),
        ]);
        let all = std::iter::once(&self.baseline).chain(&self.others);
        for (at, (record, cuts)) in all.enumerate() {
            let ([broken, rounds], promises) = (shares(cuts), cuts.promises());
            let verdict = if at == 0 { "baseline" } else { self.verdict(cuts) };
            let fields = [
                record.id.clone(),
                format!("{broken} of {rounds}"),
                bounds(cuts, SHORT),
                promises.made.to_string(),
                promises.lost.to_string(),
                promises.torn.to_string(),
                verdict.to_owned(),
            ];
            table.painted_row(fields.into_iter().map(|text| (text, Paint::Plain)).collect());
        }
        page.table(&table);
        page.gap();
        for (record, cuts) in std::iter::once(&self.baseline).chain(&self.others) {
            page.hanging(&format!("{} ", record.id), head(record, cuts).trim_end(), Paint::Plain);
        }
        page.gap();
        page.line(
            "Of such cuts: the share that breaks a promise, with 95 % confidence. Fewer, more: \
             chance alone would part them so far in less than 5 % of such pairs (Fisher's \
             exact test).",
        );
        page.finish()
    }

    /// For programs, as docs/reference/report-formats.md has it.
    pub fn document(&self) -> Value {
        let of = |(record, cuts): &(&Record, &PowerCuts)| {
            let [broken, rounds] = shares(cuts);
            let [above, below] = share_interval(broken, rounds);
            json!({
                "run": record.id,
                "target": record.targets.first().map(|target| &target.text),
                "configuration": cuts.configuration,
                "program": cuts.program,
                "flushes": cuts.flushes,
                "lost_member": cuts.lost_member,
                "broken_rounds": broken,
                "rounds": rounds,
                "broken_share_above": above,
                "broken_share_below": below,
                "promises": cuts.promises(),
            })
        };
        let other = |it: &(&Record, &PowerCuts)| {
            let mut value = of(it);
            value["chance"] = self.chance(it.1).into();
            value["verdict"] = self.verdict(it.1).into();
            value
        };
        json!({
            "baseline": of(&self.baseline),
            "others": self.others.iter().map(other).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{Notes, tests::example};
    use words::tests::{cuts, round};

    fn run(id: &str, broken: u32, rounds: u32) -> Record {
        let found = (1..=rounds).map(|number| round(number, u64::from(number <= broken)));
        let power_cuts = Some(cuts(found.collect()));
        let example = example();
        let mut targets = vec![example.targets[0].clone()];
        (targets[0].managed_flash, targets[0].flags) = (None, Vec::new());
        Record {
            id: id.to_owned(),
            targets,
            cells: Vec::new(),
            left_out: Vec::new(),
            paired: Vec::new(),
            expectations: Vec::new(),
            flags: Vec::new(),
            warnings: Vec::new(),
            power_cuts,
            ..example
        }
    }

    #[test]
    fn runs_differ_where_chance_would_not_part_them_so() {
        let records = [run("aaaaaaaa", 0, 40), run("bbbbbbbb", 6, 40), run("cccccccc", 3, 40)];
        let compared = compare(&records).expect("of power cuts").expect("three");
        let text = compared.text(&Style::PLAIN);
        assert!(text.contains("0 of 40") && text.contains("baseline"), "{text}");
        let json = compared.document();
        assert_eq!(json["others"][0]["verdict"], "breaks more");
        assert_eq!(json["others"][1]["verdict"], "not told apart");
        let turned = [run("bbbbbbbb", 6, 40), run("aaaaaaaa", 0, 40), run("dddddddd", 0, 0)];
        let json = compare(&turned).expect("of power cuts").expect("three").document();
        assert_eq!(json["others"][0]["verdict"], "breaks fewer");
        assert_eq!(json["others"][1]["verdict"], "not told apart");
    }

    #[test]
    fn runs_of_two_kinds_and_one_alone_are_not_compared() {
        let rates = Record { power_cuts: None, ..example() };
        assert!(compare(std::slice::from_ref(&rates)).is_none());
        let mixed = [run("aaaaaaaa", 0, 4), rates];
        let other = compare(&mixed).expect("of power cuts").expect_err("two kinds");
        assert!(matches!(other, CutsNotComparable::OtherKind { .. }));
        let alone = [run("aaaaaaaa", 0, 4)];
        let alone = compare(&alone).expect("of power cuts").expect_err("one");
        assert_eq!(alone, CutsNotComparable::Alone("aaaaaaaa".to_owned()));
    }

    #[test]
    fn a_long_run_is_shown_by_what_it_broke() {
        let record = run("aaaaaaaa", 2, 200);
        let text = crate::terminal::run(&record, &Style::PLAIN, Notes::Brief { more: "more" });
        assert!(text.lines().count() < 24 && text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(text.contains("2 of 200 rounds broke one"), "{text}");
        assert!(text.contains("190 more rounds"), "{text}");
    }
}
