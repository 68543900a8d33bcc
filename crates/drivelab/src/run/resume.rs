//! Whether a run that goes on is still the run that was begun: a record of two drives, two machines
//! or two methods would be of none.

use anyhow::{Result, bail};
use block::display_bytes;
use lab::plan::Plan;
use record::{Environment, Record, TargetInfo};

/// Refuses to go on where something is another: target by target, the machine, the method.
/// `targets` and `plan` are those of now; nothing was written yet.
///
/// # Errors
/// One sentence with what differs, and the cure.
pub fn check(
    record: &Record,
    targets: &[TargetInfo],
    plan: &Plan,
    environment: &Environment,
) -> Result<()> {
    assert_eq!(record.targets.len(), targets.len(), "the order's targets are the record's");
    for (was, is) in record.targets.iter().zip(targets) {
        if let Some(difference) = was.difference(is) {
            bail!(
                "run {0} cannot go on: {1} is not the target that it began on: {difference}; put \
                 that one back, or \
                 begin anew without --resume (`drivelab show {0}` prints what was measured)",
                record.id,
                is.text
            );
        }
    }
    let other = of_machine(record, environment).or_else(|| of_method(record, plan));
    if let Some(difference) = other {
        bail!(
            "run {0} cannot go on: {difference}; begin anew without --resume (`drivelab show {0}` \
             prints what was \
             measured)",
            record.id
        );
    }
    Ok(())
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

/// In what drivelab, or what it makes of the method's text, is another.
fn of_method(record: &Record, plan: &Plan) -> Option<String> {
    let (was, is) = (record.tool.version.as_str(), env!("CARGO_PKG_VERSION"));
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
    // Such as for want of --destroy: what is missing would not be seen in a record that is
    // complete.
    let known = |name: &str| record.left_out.iter().any(|cell| cell.name == name);
    if let Some(new) = plan.left_out.iter().find(|cell| !known(&cell.name)) {
        return Some(format!("its cell {} would be left out now: {}", new.name, new.reason));
    }
    let is_planned = |group: &str| plan.cells.iter().any(|cell| cell.name == group);
    let gone = record.cells.iter().find(|cell| !is_planned(&cell.group))?;
    Some(format!("its cell {} is none of the plan any more", gone.name))
}
