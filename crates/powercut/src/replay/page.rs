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
    let Tally { cuts, broken, idle, promises, seconds, .. } = tally;
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
    if let Some(place) = tally.first_broken {
        let _ = writeln!(text, "to cut at the first of them again:\n  {}", again(place));
    }
    text
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
        "promises": tally.promises,
        "seconds": tally.seconds,
        "broken": broken.iter().map(cut).collect::<Vec<_>>(),
    })
}
