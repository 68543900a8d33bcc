//! What a cell needs before its pass: a time in which nothing is asked for, and the rate that an
//! earlier cell found.

use super::{RunError, Runner};
use crate::{
    method::CellSpec,
    plan::Step,
    target::{TargetError, Time, WorkerEngines},
    workload::Rate,
};
use record::{LeftOut, Record};
use std::{
    borrow::Cow,
    thread,
    time::{Duration, Instant as WallInstant},
};

/// How long a rest goes on before it is asked whether the user wants to stop.
const NAP: Duration = Duration::from_millis(100);

impl Runner<'_> {
    /// Seconds since the run began, in the time of its targets.
    pub(super) fn now_s(&self, time: Time) -> f64 {
        let now_s = match time {
            Time::Wall => self.started.elapsed().as_secs_f64() / f64::from(self.plan.slower.get()),
            Time::Virtual => self.virtual_s,
        };
        self.earlier_s + now_s
    }

    /// Asks the target for nothing, for as long as the cell wants. On a virtual clock it counts as
    /// time of the run.
    pub(super) fn rest(&mut self, target: usize, spec: &CellSpec) -> Result<(), RunError> {
        if spec.rest_s == 0.0 {
            return Ok(());
        }
        let rest = Duration::from_secs_f64(spec.rest_s);
        if self.target(target).offer().time == Time::Virtual {
            let WorkerEngines::Shared(mut engine) = self.target(target).open(&spec.streams)? else {
                return Err(TargetError::refused("one virtual clock has one engine").into());
            };
            engine.rest(rest.as_nanos() as u64);
            self.virtual_s += spec.rest_s;
            return Ok(());
        }
        let (begun, rest) = (WallInstant::now(), rest * self.plan.slower.get());
        while let Some(left) = rest.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            if self.observer.interrupted() {
                return Err(RunError::Interrupted);
            }
            thread::sleep(left.min(NAP));
        }
        Ok(())
    }
}

/// The cell with its rate in operations a second, where it is a share of another cell's.
pub(super) fn with_rate<'s>(
    spec: &'s CellSpec,
    step: Step,
    record: &Record,
) -> Result<Cow<'s, CellSpec>, LeftOut> {
    let Some(rate) = &spec.rate_of else { return Ok(Cow::Borrowed(spec)) };
    let is_it = |cell: &&record::Cell| cell.name == rate.cell && cell.target == step.target;
    let found = record.cells.iter().find(is_it).filter(|cell| cell.iops > 0.0);
    let Some(found) = found else {
        let reason = format!("its rate is a share of that of {}, which has none", rate.cell);
        return Err(LeftOut { name: spec.name.clone(), reason });
    };
    let mut spec = spec.clone();
    // As it is printed, to a tenth of an operation.
    spec.streams[0].rate = Some(Rate::Constant((10.0 * rate.share * found.iops).ceil() / 10.0));
    Ok(Cow::Owned(spec))
}

/// Says once that a cell was left out.
pub(super) fn leave_out(record: &mut Record, left_out: &LeftOut) {
    if !record.left_out.iter().any(|cell| cell.name == left_out.name) {
        record.left_out.push(left_out.clone());
    }
}
