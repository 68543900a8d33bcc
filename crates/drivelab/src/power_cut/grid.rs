//! `drivelab power-cut --matrix`: every combination of levels, a run each, a line a run.

use super::{
    Cut, again, arguments::PowerCutArguments, cut, deliver, go_on, in_words, opened, retyped,
};
use crate::{complaint, interrupt, matrix::caller, output, restore};
use anyhow::{Context, Result, anyhow};
use powercut::{PowerCutError, PowerCutOrder};
use report::power_cuts;
use std::process::ExitCode;

/// What chose the levels, which each run has in words of its own.
const LEVELS: [&str; 5] = ["--fs", "--mkfs", "--mount", "--kernel-flush", "--set"];

/// Cuts for each combination, and says what is safe and what it costs.
pub fn power_cuts(arguments: &PowerCutArguments) -> Result<ExitCode> {
    let each = arguments.each()?;
    let names = names(&each);
    let orders: Vec<PowerCutOrder> =
        each.iter().map(PowerCutArguments::to_order).collect::<Result<_>>()?;
    let caller = caller()?;
    // Nothing is begun that a later combination stops.
    orders.iter().try_for_each(|order| powercut::check(order, &caller)).map_err(in_words)?;
    let stop = interrupt::flag()?;
    let typed = complaint::words_typed();
    restore::tell_left_behind();
    let mut is_broken = false;
    for (at, ((one, order), name)) in each.iter().zip(&orders).zip(&names).enumerate() {
        let store = crate::store::open_swept(arguments.store.as_deref())?;
        let mut record = opened(one, order, &store)?;
        record.command_line = retyped(&typed, &LEVELS, &["--matrix"], one.levels());
        if at == 0 {
            let cuts = record.power_cuts.as_ref().expect("a run of power cuts");
            output::print(&power_cuts::combination_head(&record, cuts, each.len()))?;
        }
        let Cut { mut store, record, ended } =
            cut(one, order, &caller, (store, record), (false, &stop))?;
        let cuts = record.power_cuts.as_ref().expect("a run of power cuts");
        if !cuts.rounds.is_empty() {
            output::print(&power_cuts::combination(&record.id, name, cuts))?;
        }
        if let Some(first) = cuts.broken().next()
            && arguments.verbose
        {
            output::talk!(
                "drivelab: cut there again: {}",
                again(&record.command_line, first.round)
            );
        }
        is_broken |= cuts.broken().next().is_some();
        run::conclude(&mut store, &record).context("the record could not be kept")?;
        deliver(arguments, &record);
        let rest =
            format!("{}; the combinations after it are cut by a new call", go_on(one, &record));
        match ended {
            Ok(()) => {}
            Err(PowerCutError::Interrupted) => {
                output::talk!("drivelab: interrupted; everything is put back; {rest}");
                return Ok(ExitCode::from(interrupt::EXIT_CODE));
            }
            Err(error) => return Err(anyhow!("{name}: {}; then {rest}", in_words(error))),
        }
    }
    Ok(ExitCode::from(u8::from(is_broken)))
}

/// What tells each from the others.
fn names(each: &[PowerCutArguments]) -> Vec<String> {
    let told: Vec<Vec<String>> = each.iter().map(PowerCutArguments::told).collect();
    let name = |one: &Vec<String>| {
        let own = one.iter().filter(|level| told.iter().any(|other| !other.contains(level)));
        own.cloned().collect::<Vec<_>>().join(" ")
    };
    told.iter().map(name).collect()
}
