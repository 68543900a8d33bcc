//! The numbers of a volume with a quota.

/// A rate that lasts, and what may be had beyond it. Tokens are thousandths of an operation, or
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotaLimit {
    /// Tokens a second that go on for ever.
    pub sustained: u64,
    /// Most tokens a second while there is credit; `None`: as fast as requests come.
    pub burst: Option<u64>,
    /// What a full bucket allows beyond the sustained rate, tokens. 0: there is no burst.
    pub credit: u64,
    /// Tokens a second that come back while nothing is asked for.
    pub refill: u64,
}

impl QuotaLimit {
    /// A rate without credit.
    pub fn flat(sustained: u64) -> Self {
        Self { sustained, burst: None, credit: 0, refill: sustained }
    }
}

/// Whether small requests that continue each other count as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    /// Each counts.
    Off,
    /// Those that together are no longer than one operation may be count as one.
    On,
}

/// Whose credit reads and writes spend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pools {
    /// One for both.
    Shared,
    /// Each their own, of the same size.
    Separate,
}

/// A volume that meters what it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotaParams {
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Operations, in thousandths.
    pub operations: Option<QuotaLimit>,
    /// Bytes.
    pub bandwidth: Option<QuotaLimit>,
    /// A request of up to so many bytes counts as one operation, a longer one as several.
    pub operation_bytes: u64,
    /// What a write counts, in thousandths of a read of its size.
    pub write_per_mille: u32,
    /// Whether reads and writes share it all.
    pub pools: Pools,
    /// Whether requests that continue each other count as one.
    pub merging: Merging,
    /// A read that nothing holds up, ns.
    pub read_latency_ns: u64,
    /// The same of a write, a flush and a discard, ns.
    pub write_latency_ns: u64,
    /// The quickest and the slowest request, from that.
    pub latency_spread_per_mille: u32,
}

impl QuotaParams {
    /// Why no volume has these numbers.
    pub fn contradiction(&self) -> Option<&'static str> {
        let limits = || self.operations.iter().chain(&self.bandwidth);
        let is_slower = |limit: &QuotaLimit| limit.burst.is_some_and(|to| to < limit.sustained);
        if limits().next().is_none() {
            Some("a quota limits operations, bandwidth or both")
        } else if limits().any(|limit| limit.sustained == 0 || limit.refill == 0) {
            Some("a sustained rate and a refill are above 0")
        } else if limits().any(is_slower) {
            Some("a burst is not slower than the sustained rate")
        } else if limits().any(|limit| limit.burst.is_some() && limit.credit == 0) {
            Some("a burst needs credit")
        } else if !self.operation_bytes.is_multiple_of(512) || self.operation_bytes == 0 {
            Some("an operation is of whole sectors of 512 B")
        } else if self.write_per_mille == 0 {
            Some("a write counts for something")
        } else if self.latency_spread_per_mille > 1000 {
            Some("a spread of latencies ends at 100 %")
        } else {
            None
        }
    }
}
