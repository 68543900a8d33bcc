//! Power cuts in words: what stands above rounds, a line a round, the verdict.

use block::{counted, one_or};
use record::{PowerCutRound, PowerCuts, Record};
use stats::share_interval;
use std::fmt::Write;

/// So many rounds that broke a promise are named.
const NAMED_MAX: usize = 8;

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
    "round  cut after  sectors  promises   lost   torn  back in  file system\n"
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
pub(super) struct Bounded {
    below: &'static str,
    above: &'static str,
}

pub(super) const SHORT: Bounded = Bounded { below: "<", above: ">" };
const SENTENCE: Bounded = Bounded { below: "fewer than", above: "more than" };

/// The share of such cuts that break a promise, as far as it is known.
pub(super) fn bounds(cuts: &PowerCuts, words: Bounded) -> String {
    let [broken, rounds] = shares(cuts);
    let [low, high] = share_interval(broken, rounds).map(|share| share * 100.0);
    match broken {
        0 => format!("{} {high:.1} %", words.below),
        _ if broken == rounds => format!("{} {low:.1} %", words.above),
        _ => format!("{low:.0}-{high:.0} %"),
    }
}

/// Rounds that broke a promise, and all of them.
pub(super) fn shares(cuts: &PowerCuts) -> [u32; 2] {
    [cuts.broken().count() as u32, cuts.rounds.len() as u32]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use record::{FileSystemState, Promises};

    pub fn round(number: u32, lost: u64) -> PowerCutRound {
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

    pub fn cuts(rounds: Vec<PowerCutRound>) -> PowerCuts {
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
}
