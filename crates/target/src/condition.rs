//! What arrays and thin volumes under a target do meanwhile, in the laboratory's words.

use host::Roots;
use lab::target::{Condition, DeviceState};
use record::BlockLayer;

/// Of all devices of the stack.
pub(crate) fn of(stack: &[BlockLayer]) -> Vec<Condition> {
    let state = |seen| match seen {
        host::Condition::Syncing { action, percent } => DeviceState::Syncing { action, percent },
        host::Condition::Degraded(missing) => DeviceState::Degraded(missing),
        host::Condition::Allocated(bytes) => DeviceState::Allocated(bytes),
    };
    let all = host::conditions(stack, &Roots::default()).into_iter();
    all.map(|(device, seen)| Condition { device, state: state(seen) }).collect()
}
