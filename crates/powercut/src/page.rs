//! What is printed: a line a round, the verdict, and the same for programs.

use crate::{
    order::PowerCutOrder,
    outcome::{Outcome, RoundResult, upper_bound},
};
use block::{counted, one_or};
use matrix::FileSystemState;
use serde_json::{Value, json};
use std::fmt::Write;

/// So many rounds that broke a promise are named.
const NAMED_MAX: usize = 8;

/// What stands above the rounds.
pub fn head(order: &PowerCutOrder) -> String {
    format!(
        "model:{}{}, {}, {}: {}, seed {}\n{}\n",
        order.stack,
        order.flushes.fault().map(|fault| format!(" that {fault} (planted)")).unwrap_or_default(),
        order.configuration,
        order.program.name,
        counted(order.rounds.clone().count(), "round"),
        order.seed,
        "round  cut after  sectors  promises   lost   torn  back in  file system"
    )
}

/// A round's line.
pub fn line(result: &RoundResult) -> String {
    let RoundResult { round, promises, sectors_changed, .. } = result;
    let mut text = format!(
        "{round:>5}  {:>7.2} s  {sectors_changed:>7}  {:>8}  {:>5}  {:>5}  {:>5.1} s  {}",
        result.cut_after.as_secs_f64(),
        promises.made,
        promises.lost,
        promises.torn,
        result.mounted_after.as_secs_f64(),
        state(result.file_system)
    );
    if let Some(why) = &result.broken {
        let _ = write!(text, "; {}", if why.is_empty() { "the check failed" } else { why });
    }
    text + "\n"
}

fn state(state: FileSystemState) -> &'static str {
    match state {
        FileSystemState::None => "none",
        FileSystemState::Sound => "sound",
        FileSystemState::Damaged => "damaged",
        FileSystemState::Unmountable => "cannot be mounted",
    }
}

/// What all rounds say. `again` is the command that runs one round again.
pub fn verdict(outcome: &Outcome, again: impl Fn(u32) -> String) -> String {
    let rounds = outcome.rounds.len();
    if rounds == 0 {
        return "no round was finished\n".to_owned();
    }
    let promises = outcome.promises();
    let kept = promises.made - promises.lost - promises.torn;
    let broken: Vec<&RoundResult> = outcome.broken().collect();
    let bound = upper_bound(broken.len() as u32, rounds as u32) * 100.0;
    let mut text = format!(
        "{kept} of {} kept; {} of {} broke one: fewer than {bound:.1} % of such cuts (95 %)\n",
        counted(promises.made, "promise"),
        broken.len(),
        counted(rounds as u64, "round"),
    );
    if promises.lost + promises.torn > 0 {
        let _ = writeln!(text, "lost: {}, torn: {}", promises.lost, promises.torn);
    }
    let idle = outcome.idle();
    if idle > 0 {
        let _ = writeln!(
            text,
            "in {} the drives' caches held nothing to lose: the drives were not put to the test",
            counted(idle as u64, "round")
        );
    }
    if !broken.is_empty() {
        let numbers: Vec<String> =
            broken.iter().take(NAMED_MAX).map(|result| result.round.to_string()).collect();
        let more = if broken.len() > NAMED_MAX { ", ..." } else { "" };
        let _ = writeln!(
            text,
            "{} {}{more}; to cut there again:\n  {}",
            one_or(&(broken.len() as u64), "round", "rounds"),
            numbers.join(", "),
            again(broken[0].round)
        );
    }
    text
}

/// The result for programs.
pub fn json(order: &PowerCutOrder, outcome: &Outcome) -> Value {
    let promises = outcome.promises();
    let broken = outcome.broken().count();
    let rounds: Vec<Value> = outcome.rounds.iter().map(of_round).collect();
    json!({
        "stack": order.stack.to_string(),
        "flushes": order.flushes.name(),
        "configuration": order.configuration.to_string(),
        "program": order.program.name,
        "seed": order.seed,
        "promises": promises,
        "broken_rounds": broken,
        "broken_share_below": upper_bound(broken as u32, outcome.rounds.len() as u32),
        "confidence": 0.95,
        "rounds": rounds,
    })
}

fn of_round(result: &RoundResult) -> Value {
    json!({
        "round": result.round,
        "cut_after_s": result.cut_after.as_secs_f64(),
        "sectors_changed": result.sectors_changed,
        "promises": result.promises,
        "broken": result.broken,
        "file_system": state(result.file_system),
        "mounted_after_s": result.mounted_after.as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Promises;
    use std::time::Duration;

    fn result(round: u32, lost: u64) -> RoundResult {
        RoundResult {
            round,
            cut_after: Duration::from_millis(410),
            sectors_changed: 96,
            promises: Promises { made: 12, lost, torn: 0 },
            broken: None,
            file_system: FileSystemState::Sound,
            mounted_after: Duration::from_millis(300),
        }
    }

    #[test]
    fn lines_fit_a_terminal_and_a_broken_round_says_how_to_see_it_again() {
        let line = line(&result(1, 0));
        assert_eq!(line, "    1     0.41 s       96        12      0      0    0.3 s  sound\n");
        let kept = Outcome { rounds: (1..=40).map(|round| result(round, 0)).collect() };
        let text = verdict(&kept, |_| String::new());
        assert_eq!(
            text,
            "480 of 480 promises kept; 0 of 40 rounds broke one: fewer than 7.2 % of such cuts \
             (95 %)\n"
        );
        let lost = Outcome { rounds: vec![result(1, 0), result(2, 3)] };
        let text = verdict(&lost, |round| format!("cut {round}"));
        assert!(text.contains("21 of 24 promises kept; 1 of 2 rounds broke one"), "{text}");
        assert!(text.contains("round 2; to cut there again:\n  cut 2\n"));
        assert!(verdict(&Outcome::default(), |_| String::new()).contains("no round"));
    }
}
