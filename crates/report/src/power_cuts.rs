//! Power cuts under a program: a line a round, the verdict, and two runs beside each other.

use crate::{
    chart::{Column, Entry, Table, Unit},
    terminal::{Align, Page, Paint, Style},
};
use block::{counted, one_or};
use record::{PowerCutRound, PowerCuts, Record};
use serde_json::{Value, json};
use stats::{same_share, share_interval};
use std::fmt::Write;

/// So many rounds that broke a promise are named.
const NAMED_MAX: usize = 8;
/// Of a run that is shown later, so many rounds stand in its table: those that broke a promise
/// first.
const ROWS_MAX: usize = 10;
/// Two runs differ where chance alone would part them so far less often than this.
const CHANCE_MAX: f64 = 0.05;

const HEADS: &str = "round  cut after  sectors  promises   lost   torn  back in  file system\n";

/// What stands above the rounds.
pub fn head(record: &Record, cuts: &PowerCuts) -> String {
    format!(
        "{}, {}, {}: {}, seed {}\n",
        drives(record, cuts),
        cuts.configuration,
        cuts.program,
        ordered(cuts),
        record.seed,
    )
}

/// What is cut, with every fault that is planted in it.
fn drives(record: &Record, cuts: &PowerCuts) -> String {
    let target = record.targets.first().map_or("", |target| target.text.as_str());
    let fault = cuts.fault.as_ref().map(|fault| format!(" that {fault} (planted)"));
    let lost = cuts.lost_member.map(|member| format!(", back without member {member}"));
    format!("{target}{}{}", fault.unwrap_or_default(), lost.unwrap_or_default())
}

fn ordered(cuts: &PowerCuts) -> String {
    counted(u64::from(cuts.last - cuts.first) + 1, "round")
}

/// What stands above the lines of rounds.
pub fn heads() -> &'static str {
    HEADS
}

/// A round's line.
pub fn line(round: &PowerCutRound) -> String {
    let PowerCutRound { round: number, promises, sectors_changed, .. } = round;
    let mut text = format!(
        "{number:>5}  {:>7.2} s  {sectors_changed:>7}  {:>8}  {:>5}  {:>5}  {:>5.1} s  {}",
        round.cut_after_s,
        promises.made,
        promises.lost,
        promises.torn,
        round.mounted_after_s,
        round.file_system.name()
    );
    if let Some(why) = &round.broken {
        let _ = write!(text, "; {}", if why.is_empty() { "the check failed" } else { why });
    }
    text + "\n"
}

/// What stands above the runs of so many combinations, of which this is the first.
pub fn combination_head(record: &Record, cuts: &PowerCuts, combinations: usize) -> String {
    format!(
        "{}: {} of {}, seed {}\n\
         broken rounds     of cuts   lost  torn  promises/s  run       combination\n",
        drives(record, cuts),
        counted(combinations as u64, "combination"),
        ordered(cuts),
        record.seed,
    )
}

/// A run among those of many combinations: what it broke, and how fast it promised.
pub fn combination(id: &str, name: &str, cuts: &PowerCuts) -> String {
    let ([broken, rounds], promises) = (shares(cuts), cuts.promises());
    let rate = cuts.promises_per_s().map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
    let (share, bounds) = (format!("{broken} of {rounds}"), bounds(cuts, SHORT));
    let file_systems = cuts.rounds.iter().filter(|round| round.file_system.is_broken()).count();
    let file_systems = match file_systems {
        0 => String::new(),
        count => format!("; file system broken in {}", counted(count as u64, "round")),
    };
    format!(
        "{share:>13}  {bounds:>10}  {:>5}  {:>4}  {rate:>10}  {id:<8}  {name}{file_systems}\n",
        promises.lost, promises.torn
    )
}

/// What all rounds say. `again` is the command that runs one round again.
pub fn verdict(cuts: &PowerCuts, again: Option<&dyn Fn(u32) -> String>) -> String {
    let rounds = cuts.rounds.len();
    if rounds == 0 {
        return "no round was finished\n".to_owned();
    }
    let promises = cuts.promises();
    let kept = promises.made - promises.lost - promises.torn;
    let broken: Vec<&PowerCutRound> = cuts.broken().collect();
    let planted = if cuts.fault.is_some() { " with the planted fault" } else { "" };
    let mut text = format!(
        "{kept} of {} kept; {} of {} broke one{planted}: {} of such cuts (95 %)\n",
        counted(promises.made, "promise"),
        broken.len(),
        counted(rounds as u64, "round"),
        bounds(cuts, SENTENCE),
    );
    if promises.lost + promises.torn > 0 {
        let _ = writeln!(text, "lost: {}, torn: {}", promises.lost, promises.torn);
    }
    let idle = cuts.idle();
    if idle > 0 {
        let _ = writeln!(
            text,
            "in {} the drives' caches held nothing to lose: the drives were not put to the test",
            counted(idle as u64, "round")
        );
    }
    if let Some(first) = broken.first() {
        let numbers: Vec<String> =
            broken.iter().take(NAMED_MAX).map(|round| round.round.to_string()).collect();
        let more = if broken.len() > NAMED_MAX { ", ..." } else { "" };
        let word = one_or(&(broken.len() as u64), "round", "rounds");
        let numbers = numbers.join(", ");
        let _ = match again {
            Some(again) => writeln!(
                text,
                "{word} {numbers}{more}; to cut there again:\n  {}",
                again(first.round)
            ),
            None => writeln!(text, "{word} {numbers}{more} broke a promise"),
        };
    }
    text
}

/// Words for a share of which only one bound is known.
struct Bounded {
    below: &'static str,
    above: &'static str,
}

const SHORT: Bounded = Bounded { below: "<", above: ">" };
const SENTENCE: Bounded = Bounded { below: "fewer than", above: "more than" };

/// The share of such cuts that break a promise, as far as it is known.
fn bounds(cuts: &PowerCuts, words: Bounded) -> String {
    let [broken, rounds] = shares(cuts);
    let [low, high] = share_interval(broken, rounds).map(|share| share * 100.0);
    match broken {
        0 => format!("{} {high:.1} %", words.below),
        _ if broken == rounds => format!("{} {low:.1} %", words.above),
        _ => format!("{low:.0}-{high:.0} %"),
    }
}

fn shares(cuts: &PowerCuts) -> [u32; 2] {
    [cuts.broken().count() as u32, cuts.rounds.len() as u32]
}

/// Of a run of the history: the verdict, then rounds, broken ones first.
pub(crate) fn render(page: &mut Page, record: &Record, cuts: &PowerCuts) {
    page.gap();
    page.line(head(record, cuts).trim_end());
    verdict(cuts, None).lines().for_each(|line| page.line(line));
    page.gap();
    let (broken, sound): (Vec<_>, Vec<_>) = cuts.rounds.iter().partition(|it| it.is_broken());
    let shown: Vec<&&PowerCutRound> = broken.iter().chain(&sound).take(ROWS_MAX).collect();
    page.drawn(HEADS.trim_end());
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
    use record::{FileSystemState, Promises};

    fn round(number: u32, lost: u64) -> PowerCutRound {
        PowerCutRound {
            round: number,
            cut_after_s: 0.41,
            sectors_changed: 96,
            promises: Promises { made: 12, lost, torn: 0 },
            broken: None,
            file_system: FileSystemState::Sound,
            mounted_after_s: 0.3,
        }
    }

    fn cuts(rounds: Vec<PowerCutRound>) -> PowerCuts {
        PowerCuts {
            program: "sqlite".to_owned(),
            configuration: "fs=ext4".to_owned(),
            flushes: "honoured".to_owned(),
            fault: None,
            lost_member: None,
            first: 1,
            last: rounds.len().max(1) as u32,
            rounds,
        }
    }

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
    fn lines_fit_a_terminal_and_a_broken_round_says_how_to_see_it_again() {
        let line = line(&round(1, 0));
        assert_eq!(line, "    1     0.41 s       96        12      0      0    0.3 s  sound\n");
        let mut kept = cuts((1..=40).map(|number| round(number, 0)).collect());
        assert_eq!(
            verdict(&kept, None),
            "480 of 480 promises kept; 0 of 40 rounds broke one: fewer than 7.2 % of such cuts \
             (95 %)\n"
        );
        kept.fault = Some("ignores flushes".to_owned());
        assert!(verdict(&kept, None).contains("broke one with the planted fault: fewer"));
        let all = cuts(vec![round(1, 1), round(2, 3), round(3, 2)]);
        let text = verdict(&all, None);
        assert!(text.contains("3 of 3 rounds broke one: more than 36.8 % of such cuts"), "{text}");
        let lost = cuts(vec![round(1, 0), round(2, 3)]);
        let text = verdict(&lost, Some(&|round| format!("cut {round}")));
        assert!(
            text.contains("21 of 24 promises kept; 1 of 2 rounds broke one: 1-99 % of"),
            "{text}"
        );
        assert!(text.contains("round 2; to cut there again:\n  cut 2\n"), "{text}");
        assert!(verdict(&cuts(Vec::new()), None).contains("no round"));
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
