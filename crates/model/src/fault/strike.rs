//! A plan at work on one drive: which requests it strikes, and a count of what it did.

use super::{Fault, FaultPlan, FaultRule, When};
use block::{Command, Drive, Extent, Instant, Rng};

/// What goes wrong with one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Strike {
    /// The request fails.
    pub error: bool,
    /// These sectors cannot be read any more.
    pub latent: Option<Extent>,
    /// The sector at this offset has rotted.
    pub rotten: Option<u64>,
    /// The write lands at this offset.
    pub misdirected: Option<u64>,
    /// The write is not stored, or the flush covers nothing.
    pub ignored: bool,
    /// By how much the latency is multiplied.
    pub times: u32,
}

impl Strike {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        error: false,
        latent: None,
        rotten: None,
        misdirected: None,
        ignored: false,
        times: 1,
    };
}

/// A drive's faults: its plan, the streams they are drawn from, and the counts. They go on counting
/// when the power comes back, so that a fault may strike the recovery.
#[derive(Clone, Debug)]
pub struct Faults {
    plan: FaultPlan,
    state: Vec<RuleState>,
    gone: bool,
}

#[derive(Clone, Debug)]
struct RuleState {
    /// Requests that the rule could strike.
    seen: u64,
    /// Those it did.
    injected: u64,
    /// Whether it strikes.
    chance: Rng,
    /// How.
    detail: Rng,
}

impl Faults {
    /// The plan for this drive of several; each draws for itself.
    pub fn new(plan: FaultPlan, drive: Drive) -> Self {
        let state = (0..plan.rules.len() as u64)
            .map(|rule| {
                let purpose = 0x6661_756c_7400_0000 | u64::from(drive.0) << 40 | rule << 1;
                RuleState {
                    seen: 0,
                    injected: 0,
                    chance: Rng::new(plan.seed, purpose),
                    detail: Rng::new(plan.seed, purpose | 1),
                }
            })
            .collect();
        Self { plan, state, gone: false }
    }

    /// No faults.
    pub fn none() -> Self {
        Self::new(FaultPlan::new(0), Drive(0))
    }

    /// What was to go wrong.
    pub fn plan(&self) -> &FaultPlan {
        &self.plan
    }

    /// How often each rule struck, in the plan's order.
    pub fn injected(&self) -> impl Iterator<Item = (FaultRule, u64)> + '_ {
        self.plan.rules.iter().copied().zip(self.state.iter().map(|state| state.injected))
    }

    /// How often anything struck.
    pub fn injected_count(&self) -> u64 {
        self.state.iter().map(|state| state.injected).sum()
    }

    /// Whether the drive is off the bus at `now`.
    pub fn is_gone(&mut self, now: Instant) -> bool {
        for (rule, state) in self.plan.rules.iter().zip(&mut self.state) {
            if let (Fault::Gone, When::During(from, _)) = (rule.fault, rule.when)
                && from <= now
                && !self.gone
            {
                self.gone = true;
                state.injected += 1;
            }
        }
        self.gone
    }

    /// Decides over a request that is submitted at `now` to a drive of this size.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        command: &Command,
        capacity_bytes: u64,
        sector_bytes: u32,
    ) -> Strike {
        let mut strike = Strike::NONE;
        for (rule, state) in self.plan.rules.iter().zip(&mut self.state) {
            if !rule.fault.concerns(command) || !state.strikes(now, rule.when) {
                continue;
            }
            let sector = u64::from(sector_bytes);
            match (rule.fault, command) {
                (Fault::LatentError { sectors }, Command::Read { at, .. }) => {
                    strike.latent = Some(state.piece_of(*at, sectors, sector_bytes));
                }
                (Fault::BitRot, Command::Read { at, .. }) => {
                    strike.rotten = Some(state.piece_of(*at, 1, sector_bytes).offset);
                }
                (Fault::MisdirectedWrite, Command::Write { at, .. }) => {
                    // One drive holds but one write of its own size: there is no other place.
                    let places = (capacity_bytes - u64::from(at.bytes)) / sector + 1;
                    if places == 1 {
                        continue;
                    }
                    let place = at.offset / sector + 1 + state.detail.below(places - 1);
                    strike.misdirected = Some(place % places * sector);
                }
                (Fault::Slow { times }, _) => strike.times = strike.times.saturating_mul(times),
                (Fault::Gone, _) if self.gone => continue,
                (Fault::Gone, _) => self.gone = true,
                (Fault::LostWrite | Fault::LyingFlush, _) => strike.ignored = true,
                (Fault::Error(_), _) => strike.error = true,
                (Fault::LatentError { .. } | Fault::BitRot | Fault::MisdirectedWrite, _) => {
                    unreachable!("a fault strikes what it concerns")
                }
            }
            state.injected += 1;
        }
        strike
    }
}

impl RuleState {
    fn strikes(&mut self, now: Instant, when: When) -> bool {
        self.seen += 1;
        match when {
            When::Nth(number) => self.seen == number,
            When::Every(number) => self.seen.is_multiple_of(number),
            When::OneIn(count) => self.chance.below(count) == 0,
            When::During(from, until) => (from..until).contains(&now),
        }
    }

    /// At most `sectors` sectors of `at`, from one of them on.
    fn piece_of(&mut self, at: Extent, sectors: u32, sector_bytes: u32) -> Extent {
        let all = at.bytes / sector_bytes;
        let first = self.detail.below(u64::from(all)) as u32;
        let count = sectors.min(all - first);
        let offset = at.offset + u64::from(first) * u64::from(sector_bytes);
        Extent { offset, bytes: count * sector_bytes }
    }
}
