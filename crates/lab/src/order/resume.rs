//! Whether a run that goes on is still the run that was begun: a record of two drives, two machines
//! or two methods would be of none.

use crate::{plan::Plan, runner::planned};
use block::display_bytes;
use record::{Environment, Record, TargetInfo};

/// The first thing that is another now than when the record was begun, as a sentence: a target, the
/// machine, the program, the method. `targets` and `plan` are those of now.
///
/// # Panics
/// When there are not as many targets as in the record.
pub fn difference(
    record: &Record,
    targets: &[TargetInfo],
    plan: &Plan,
    environment: &Environment,
    program_version: &str,
) -> Option<String> {
    assert_eq!(record.targets.len(), targets.len(), "the order's targets are the record's");
    let mut pairs = record.targets.iter().zip(targets);
    let of_target = |(was, is): (&TargetInfo, &TargetInfo)| {
        let difference = was.difference(is)?;
        let not = format!("{} is not the target that it began on", is.text);
        Some(format!("{not}: {difference}; put that one back"))
    };
    pairs
        .find_map(of_target)
        .or_else(|| of_machine(record, environment))
        .or_else(|| of_method(record, plan, program_version))
}

/// In what the machine is another; a record names one.
fn of_machine(record: &Record, now: &Environment) -> Option<String> {
    let was = &record.environment;
    let pairs = [
        ("machine", &was.host.name, &now.host.name),
        ("processor", &was.cpu.model, &now.cpu.model),
        ("kernel", &was.host.kernel, &now.host.kernel),
    ];
    let other = pairs.into_iter().find(|(_, was, is)| was != is);
    other.map(|(what, was, is)| format!("it was begun on the {what} `{was}`, and this is `{is}`"))
}

/// In what the program, or what it makes of the method's text, is another.
fn of_method(record: &Record, plan: &Plan, program_version: &str) -> Option<String> {
    let (was, is) = (record.tool.version.as_str(), program_version);
    if was != is {
        return Some(format!("drivelab {was} began it, and this is {is}"));
    }
    let (was, is) = (record.method.span_bytes, plan.span_bytes);
    if was != is {
        let (was, is) = (display_bytes(was), display_bytes(is));
        return Some(format!("its tested area was {was} and would be {is}"));
    }
    let (was, is) = (record.method.passes, plan.passes);
    if was != is {
        return Some(format!("it was to have passes: {was}, and would have {is}"));
    }
    // Such as for want of consent: what is missing would not be seen in a record that is
    // complete.
    let known = |name: &str| record.left_out.iter().any(|cell| cell.name == name);
    if let Some(new) = plan.left_out.iter().find(|cell| !known(&cell.name)) {
        return Some(format!("its cell {} would be left out now: {}", new.name, new.reason));
    }
    let is_planned = |group: &str| {
        let group = planned(plan, group);
        plan.cells.iter().any(|cell| cell.name == group)
    };
    let gone = record.cells.iter().find(|cell| !is_planned(&cell.group))?;
    Some(format!("its cell {} is none of the plan any more", gone.name))
}
