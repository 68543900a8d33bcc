//! What is printed of a replay.

use super::{Cut, Place, ReplayOrder, Tally};
use block::{counted, display_bytes, one_or};
use record::PowerCutRound;
use serde_json::{Value, json};
use std::{fmt::Write, path::Path};
use target::write_log::Survey;

/// What stands above the cuts.
pub fn head(replay: &ReplayOrder) -> String {
    let ReplayOrder { order, log, survey, .. } = replay;
    let fault = order.flushes.fault().map(|fault| format!(" that {fault} (planted)"));
    let lost = order.lost_member.map(|member| format!(", back without member {member}"));
    format!(
        "model:{}{}{}, {}, {}, seed {}\n{}: {}\n",
        order.stack,
        fault.unwrap_or_default(),
        lost.unwrap_or_default(),
        order.configuration,
        order.program.name,
        order.seed,
        log.display(),
        contents(survey),
    ) + "         cut  sectors  promises   lost   torn  file system\n"
}

/// What was recorded.
pub fn recorded(path: &Path, survey: &Survey) -> String {
    format!("{}: {}\n", path.display(), contents(survey))
}

fn contents(survey: &Survey) -> String {
    format!(
        "{}, {} {}, {} written, {}",
        counted(survey.operations, "operation"),
        survey.flushes,
        one_or(&survey.flushes, "flush", "flushes"),
        display_bytes(survey.written_bytes),
        counted(survey.promises.len() as u64, "promise"),
    )
}

/// A cut's line.
pub fn line(cut: &Cut) -> String {
    let PowerCutRound { promises, sectors_changed, file_system, broken, .. } = &cut.found;
    let mut text = format!(
        "{:>12}  {sectors_changed:>7}  {:>8}  {:>5}  {:>5}  {}",
        cut.place.to_string(),
        promises.made,
        promises.lost,
        promises.torn,
        file_system.name()
    );
    if let Some(why) = broken {
        let _ = write!(text, "; {}", if why.is_empty() { "the check failed" } else { why });
    }
    text + "\n"
}

/// How far it is.
pub fn progress(cut: &Cut, tally: &Tally) -> String {
    let rate = tally.cuts as f64 / tally.seconds.max(1e-9);
    format!("# {}, at {}, {rate:.1} a second", counted(tally.cuts, "cut"), cut.place)
}

/// What all cuts say. `again` is the command that makes one cut again.
pub fn verdict(tally: &Tally, again: &dyn Fn(Place) -> String) -> String {
    let Tally { cuts, broken, idle, seen, promises, seconds, .. } = tally;
    if *cuts == 0 {
        return "no cut was looked at\n".to_owned();
    }
    let rate = *cuts as f64 / seconds.max(1e-9);
    let mut text =
        format!("{broken} of {} broke a promise; {rate:.1} cuts a second\n", counted(*cuts, "cut"));
    if promises.lost + promises.torn > 0 {
        let _ = writeln!(
            text,
            "lost: {}, torn: {}, of {} that were due, summed over the cuts",
            promises.lost, promises.torn, promises.made
        );
    }
    if *idle > 0 {
        let _ =
            writeln!(text, "in {} the drives' caches held nothing to lose", counted(*idle, "cut"));
    }
    if *seen > 0 {
        let _ = writeln!(
            text,
            "{} left what another had left just before, and took its verdict",
            counted(*seen, "cut")
        );
    }
    if let Some(place) = tally.first_broken {
        let _ = writeln!(text, "to cut at the first of them again:\n  {}", again(place));
    }
    text
}

/// A cut as a line, for the process that sums up.
pub fn told(cut: &Cut) -> String {
    let Cut { place, sectors_at_risk, seen, found } = cut;
    let line = json!({
        "cut": place.to_string(),
        "sectors_at_risk": sectors_at_risk,
        "seen": seen,
        "found": found,
    });
    format!("{line}\n")
}

/// The cut of such a line.
pub(super) fn heard(line: &str) -> Option<Cut> {
    let mut value: Value = serde_json::from_str(line).ok()?;
    Some(Cut {
        place: value["cut"].as_str()?.parse().ok()?,
        sectors_at_risk: value["sectors_at_risk"].as_u64()?,
        seen: value["seen"].as_bool()?,
        found: serde_json::from_value(value["found"].take()).ok()?,
    })
}

/// The same for programs: what was replayed, the sums, and the cuts that broke a promise.
pub fn json(replay: &ReplayOrder, tally: &Tally, broken: &[Cut]) -> Value {
    let ReplayOrder { order, log, survey, .. } = replay;
    let cut = |cut: &Cut| {
        let PowerCutRound { promises, sectors_changed, broken, file_system, .. } = &cut.found;
        json!({
            "cut": cut.place.to_string(),
            "sectors_at_risk": cut.sectors_at_risk,
            "sectors_changed": sectors_changed,
            "promises": promises,
            "broken": broken,
            "file_system": file_system,
            "seen": cut.seen,
        })
    };
    json!({
        "stack": format!("model:{}", order.stack),
        "flushes": order.flushes.name(),
        "lost_member": order.lost_member,
        "configuration": order.configuration.to_string(),
        "program": order.program.name,
        "seed": order.seed,
        "log": log.display().to_string(),
        "operations": survey.operations,
        "flushes_recorded": survey.flushes,
        "promises_recorded": survey.promises.len(),
        "cuts": tally.cuts,
        "cuts_broken": tally.broken,
        "cuts_idle": tally.idle,
        "cuts_seen": tally.seen,
        "promises": tally.promises,
        "seconds": tally.seconds,
        "broken": broken.iter().map(cut).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{FileSystemState, Promises};

    #[test]
    fn a_cut_is_heard_as_it_was_told() {
        let found = PowerCutRound {
            round: 3,
            cut_after_s: 0.0,
            sectors_changed: 7,
            promises: Promises { made: 9, lost: 1, torn: 2 },
            broken: Some("no \"database\"".to_owned()),
            file_system: FileSystemState::Damaged,
            mounted_after_s: 0.25,
        };
        let place = "1204:3".parse().expect("a place");
        let cut = Cut { place, sectors_at_risk: 8, seen: true, found };
        assert_eq!(heard(told(&cut).trim()), Some(cut));
        assert_eq!(heard("{}"), None);
        assert_eq!(heard("drivelab: no"), None);
    }
}
