//! A run that is ready: targets open and a plan made, nothing written.

use crate::{
    CannotRun, MeasuredBy, OptionNames, Purge, Refusal, RunOrder, Wear, Written, keep, page,
};
use engine::Clock;
use host::Roots;
use lab::{
    method::{CellBound, CellSpec},
    order::{Opening, difference},
    plan::Plan,
    runner::{self, Observer, RunError},
    target::{Access, Offer, Reset, Target},
};
use record::{Calibration, Record, Store, TargetInfo, TargetKind};
use target::{Pace, TargetText};

/// A run before its first byte.
pub struct Prepared {
    order: RunOrder,
    pub(crate) targets: Vec<Box<dyn Target>>,
    pub(crate) offers: Vec<Offer>,
    pub(crate) plan: Plan,
}

/// What a run would write, known before it is begun.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// At most, bytes: fills and all passes.
    pub written_bytes: u64,
    /// Whether there is anything that writing could wear.
    pub wears: bool,
    /// Whether some cells are bound by time alone, so that fewer bytes make them shorter.
    pub is_shared: bool,
    /// What has to be agreed to first.
    pub must_agree: Option<Refusal>,
    /// What will be measured.
    pub target: Option<TargetInfo>,
}

impl Prepared {
    /// Opens the targets and plans.
    ///
    /// # Errors
    /// A target that is not there or may not be written, and a plan for which it has no room.
    pub fn new(order: RunOrder) -> Result<Self, CannotRun> {
        // Models keep their own time, and a clock takes longer to start than a short run.
        let is_modelled = |text: &TargetText| matches!(text, TargetText::Model(_));
        let clock = match order.targets.iter().all(is_modelled) {
            true => Clock::start_monotonic(),
            false => Clock::start(),
        };
        let permission = order.permission();
        let seed = order.method.options.seed;
        let pace = Pace::of(clock, order.method.options.slower);
        let open = |text| target::open(text, &permission, pace, seed);
        let targets = order.targets.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let offers: Vec<Offer> = targets.iter().map(|target| target.offer()).collect();
        let mut method = order.method.method.clone();
        let made = [TargetKind::Directory, TargetKind::NewFile];
        if targets.iter().any(|target| made.contains(&target.info().kind)) {
            method.fill_what_is_new();
        }
        let plan = Plan::new(method, &order.method.options, &offers)?;
        Ok(Self { order, targets, offers, plan })
    }

    /// What is measured.
    pub fn infos(&self) -> Vec<TargetInfo> {
        self.targets.iter().map(|target| target.info().clone()).collect()
    }

    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What it would write.
    pub fn foresee(&self) -> Foreseen {
        let is_timed = |cell: &CellSpec| {
            let unbound =
                matches!(cell.bound, CellBound::Time | CellBound::Exhaust | CellBound::Drain);
            cell.writes() && cell.tree.is_none() && unbound
        };
        Foreseen {
            written_bytes: self.plan.written_bytes_max,
            wears: self.wears(),
            is_shared: self.plan.cells.iter().any(is_timed),
            must_agree: self.check_agreed().err(),
            target: self.targets.first().map(|target| target.info().clone()),
        }
    }

    /// Whether there is anything that writing could wear.
    pub(crate) fn wears(&self) -> bool {
        self.offers.iter().any(|offer| offer.wears)
    }

    /// Whether the plan writes so much, to something that wears, that the user must agree first.
    pub(crate) fn must_ask(&self) -> bool {
        self.wears() && self.plan.must_ask()
    }

    /// # Errors
    /// The plan writes so much that the user must agree first, and has not.
    pub fn check_agreed(&self) -> Result<(), Refusal> {
        if !self.must_ask() || self.order.wear == Wear::AgreedTo {
            return Ok(());
        }
        let (written_bytes, span_bytes) = (self.plan.written_bytes_max, self.plan.span_bytes);
        let times = written_bytes as f64 / span_bytes as f64;
        Err(Refusal::MustAgree { written_bytes, span_bytes, times })
    }

    /// # Errors
    /// A target that is to be purged and is none: only a device can be told to forget everything,
    /// and only with permission to write.
    pub fn check_purge(&self) -> Result<(), Refusal> {
        if self.order.purge == Purge::Nothing {
            return Ok(());
        }
        for (target, offer) in self.targets.iter().zip(&self.offers) {
            let info = target.info();
            if info.kind != TargetKind::BlockDevice || offer.access != Access::ReadWrite {
                return Err(Refusal::NoPurge(info.text.clone()));
            }
        }
        Ok(())
    }

    /// # Errors
    /// Something is another than when the run of this record was begun.
    pub fn check_resumed(&self, record: &Record, program_version: &str) -> Result<(), Refusal> {
        let environment = host::environment(&Roots::default());
        match difference(record, &self.infos(), &self.plan, &environment, program_version) {
            None => Ok(()),
            Some(difference) => Err(Refusal::Changed { id: record.id.clone(), difference }),
        }
    }

    /// The plan as text. `rated_bytes` are what the drives may be written in their lives, where
    /// that is known.
    pub fn page(&self, rated_bytes: Option<u64>, options: &OptionNames) -> String {
        page::describe(self, rated_bytes, options)
    }

    /// The record of the run, which begins.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn record(&self, by: &MeasuredBy, store: &Store) -> Result<Record, CannotRun> {
        let opening = keep::opening(self.infos(), self.offers[0].time, by, store, Clock::start())?;
        Ok(self.opened(opening))
    }

    /// What the engines cost on this machine by themselves; takes some 20 ms, and is the same for
    /// all runs of a while.
    pub fn calibrate(&self) -> Calibration {
        target::calibrate(Clock::start())
    }

    /// The record of the run, which begins and is kept in no store. The id must be unique.
    pub fn record_as(&self, id: String, by: &MeasuredBy, calibration: Calibration) -> Record {
        let time = self.offers[0].time;
        self.opened(keep::opening_as(id, self.infos(), time, by, calibration))
    }

    fn opened(&self, opening: Opening) -> Record {
        let mut record = self.order.method.record(&self.plan, opening);
        record.method.not_measured = page::not_measured(&self.plan, &self.offers);
        record
    }

    /// What it may write, in a sentence, and which of the targets are filled; `None` where nothing
    /// wears.
    pub fn writes(&self, rated_bytes: Option<u64>) -> Option<Written> {
        let is_written = self.wears() && self.plan.written_bytes_max > 0;
        let filled = self.offers.iter();
        let filled =
            filled.map(|offer| self.plan.fill > 0 && offer.access == Access::ReadWrite).collect();
        is_written.then_some(Written { filled, rated_bytes })
    }

    /// Carries the plan out; the record has what was found, however it ended. The targets are
    /// closed: scratch files go at once, before anything else can fail.
    pub fn carry_out(
        &mut self,
        record: &mut Record,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let outcome = runner::run(&self.plan, &mut self.targets, record, observer);
        self.targets.clear();
        for info in &mut record.targets {
            host::health::conclude(info, &Roots::default());
        }
        record.flags = runner::flags_of(record);
        record.finished = Some(host::now());
        outcome
    }

    /// Purges what is to be purged.
    ///
    /// # Errors
    /// A device that refuses.
    pub fn purge(&mut self) -> Result<(), CannotRun> {
        if self.order.purge == Purge::WholeDevices {
            self.targets.iter_mut().try_for_each(|target| target.reset(Reset::Purge))?;
        }
        Ok(())
    }
}
