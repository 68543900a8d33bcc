//! Which streams wait until their writes are durable.

use crate::workload::{Op, Stream, Syncing};

/// Every write is durable before it returns.
pub(super) fn is_durable(stream: &Stream) -> bool {
    stream.op.stores() && (stream.io.syncing != Syncing::None || stream.op == Op::Commit)
}

/// The reads of a mix would answer for its writes.
pub(super) fn is_mix(stream: &Stream) -> bool {
    matches!(stream.op, Op::Mixed { .. })
}
