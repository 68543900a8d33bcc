//! Who comes next, when the heads are free.
//!
//! The shortest positioning time first (SPTF; Seltzer, Chen and Ousterhout, "Disk Scheduling
//! Revisited", USENIX Winter 1990), as far as the drive can tell: its forecast is off by up to
//! `forecast_error_ns`. A share of the time that a command has waited is taken off its forecast, so
//! that the longer it has waited the sooner it comes (aged SPTF; Jacobson and Wilkes, "Disk
//! Scheduling Algorithms Based on Rotational Position", HP Laboratories 1991).
//!
//! Nobody waits for ever: every other time, whoever has waited longest comes first, if that is
//! beyond the age limit. The write cache queues like one more command. It waits since the oldest
//! command that it keeps waiting, a flush or a write without room; without one, since the heads
//! last wrote for it. So with n commands in the queue a read waits for the age limit and 2 (n + 1)
//! accesses at most, however much is written, and cached data get an access in that time however
//! much is read. Which of the cached writes that is, the shortest way decides; but one that sixteen
//! cachefuls of others have overtaken is next.

use super::{
    Disk, Held,
    layout::{Place, Remembered},
    mechanism::{Action, Head, Span},
};

/// What the heads do next.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    Pending(usize),
    Destage(usize),
}

/// How the next one is chosen if somebody has waited beyond the age limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    ByAge,
    ByCost,
}

/// Who has waited beyond the age limit.
#[derive(Clone, Copy)]
enum Overdue {
    Pending(usize),
    Cache,
}

impl Disk {
    /// Who comes next, and whose turn it is then.
    pub(super) fn choose(&mut self, from: Place, now: u64) -> Option<Choice> {
        let overdue = match self.turn {
            Turn::ByAge => self.longest_overdue(now),
            Turn::ByCost => None,
        };
        self.turn = if overdue.is_some() { Turn::ByCost } else { Turn::ByAge };
        match overdue {
            Some(Overdue::Pending(at)) => Some(Choice::Pending(at)),
            Some(Overdue::Cache) => {
                let head = self.mechanism.head(from, now);
                self.cheapest_cached(&head, now, None).map(|(_, at)| Choice::Destage(at))
            }
            None => self.cheapest(from, now).map(|(_, choice)| choice),
        }
    }

    /// Whether the stream may go on to this read although others wait.
    pub(super) fn may_stream(&self, now: u64, read: &Held) -> bool {
        if self.longest_overdue(now).is_some() {
            return false;
        }
        if self.params.age_weight_ppm == 0 {
            return true;
        }
        let now = now.max(self.free_at);
        let Some(from) = self.reads.head(&self.mechanism, now) else { return true };
        let cost = now as i64 - self.credit(now, read.ready);
        self.cheapest(from, now).is_none_or(|(other, _)| cost <= other)
    }

    /// The command, or the cache, that has waited longest, if that is beyond the age limit.
    fn longest_overdue(&self, now: u64) -> Option<Overdue> {
        // They stand in the order they came.
        let pending = self.pending.iter().next().filter(|held| held.ready <= now);
        let pending = pending.map(|held| (held.ready, Overdue::Pending(0)));
        let cached = self.writes.candidates(self.flushing()).any(|(_, run)| run.ready <= now);
        let since = self.keeps_waiting().unwrap_or(self.writes.served_at());
        let cache = cached.then_some((since, Overdue::Cache));
        let (since, longest) = pending.into_iter().chain(cache).min_by_key(|&(since, _)| since)?;
        (now.saturating_sub(since) > self.params.age_limit_ns).then_some(longest)
    }

    /// The cheapest of all that wait. Cached writes have time, unless a flush or a full cache keeps
    /// somebody waiting.
    fn cheapest(&self, from: Place, now: u64) -> Option<(i64, Choice)> {
        let head = self.mechanism.head(from, now);
        let mut cheapest = None;
        for (at, held) in (0..).zip(self.pending.iter()).filter(|(_, held)| held.ready <= now) {
            if let Some(cost) = self.cost_below(cheapest, &head, now, held) {
                cheapest = Some((cost, Choice::Pending(at)));
            }
        }
        let waiting = self.keeps_waiting();
        if cheapest.is_some() && waiting.is_none() {
            return cheapest;
        }
        let credit = self.credit(now, waiting.unwrap_or(now));
        let latest = cheapest.map(|(cost, _)| cost + credit);
        let cached = self.cheapest_cached(&head, now, latest);
        let cached = cached.map(|(forecast, at)| (forecast - credit, Choice::Destage(at)));
        cheapest.into_iter().chain(cached).min_by_key(|&(cost, _)| cost)
    }

    /// The cached write that costs least, and its forecast, if that is before `latest`; but first
    /// one that too many have overtaken.
    fn cheapest_cached(
        &self,
        head: &Head<'_>,
        now: u64,
        mut latest: Option<i64>,
    ) -> Option<(i64, usize)> {
        let flushing = self.flushing();
        let may_be_overtaken = self.writes.may_be_overtaken();
        // Where a media cache takes it, its own place says nothing.
        let looks_at_all = may_be_overtaken || self.translation.is_some();
        let mut cheapest = None;
        for (at, begin) in self.writes.begins().iter().enumerate() {
            let at_least = head.begin_at_least(begin.turn) + self.error_ns(head, begin.sector);
            if !looks_at_all && latest.is_some_and(|latest| at_least as i64 >= latest) {
                continue;
            }
            let run = self.writes.candidate(at, flushing).filter(|run| run.ready <= now);
            let Some(run) = run else { continue };
            let is_overtaken = may_be_overtaken && self.writes.is_overtaken(run);
            let limit = latest.filter(|_| !is_overtaken);
            let target = self.target(run.span);
            let forecast = self.forecast_below(limit, head, target, &run.start, Action::Write);
            if is_overtaken {
                return forecast.map(|forecast| (forecast, at));
            }
            if let Some(forecast) = forecast {
                cheapest = Some((forecast, at));
                latest = Some(forecast);
            }
        }
        cheapest
    }

    /// Since when the oldest command waits that the write cache keeps waiting.
    fn keeps_waiting(&self) -> Option<u64> {
        let flush = self.flushes.front().map(|(_, flush)| flush.ready);
        let write = self.blocked.front().map(|held| held.ready);
        flush.into_iter().chain(write).min()
    }

    /// When the heads would meet the command's sectors, less what its wait counts, if that is less
    /// than the cheapest so far.
    fn cost_below(
        &self,
        cheapest: Option<(i64, Choice)>,
        head: &Head<'_>,
        now: u64,
        held: &Held,
    ) -> Option<i64> {
        let span = self.place(held.span);
        let credit = self.credit(now, held.ready);
        if held.action == Action::Read && self.reads.can_join(span) {
            let cost = now as i64 - credit;
            return cheapest.is_none_or(|(least, _)| cost < least).then_some(cost);
        }
        let latest = cheapest.map(|(least, _)| least + credit);
        Some(self.forecast_below(latest, head, span, &held.start, held.action)? - credit)
    }

    /// What a wait since then counts, ns.
    fn credit(&self, now: u64, since: u64) -> i64 {
        let waited_us = now.saturating_sub(since) / 1000;
        (waited_us * u64::from(self.params.age_weight_ppm) / 1000) as i64
    }

    /// By how much the way to a sector is misjudged. The same way is always misjudged alike.
    #[inline(always)]
    fn error_ns(&self, head: &Head<'_>, sector: u64) -> u64 {
        // The finishing steps of a multiplicative hash (Knuth's constant) spread the error evenly.
        let mixed = (sector ^ head.from.track.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (mixed * self.params.forecast_error_ns) >> 32
    }

    /// When the heads would meet the span, as the drive forecasts it, if that is before `latest`.
    #[inline(always)]
    fn forecast_below(
        &self,
        latest: Option<i64>,
        head: &Head<'_>,
        span: Span,
        start: &Remembered,
        action: Action,
    ) -> Option<i64> {
        let error_ns = self.error_ns(head, span.first);
        // No time is negative, so none is before one that is. Where the error alone makes it too
        // late, as it does of most, the way is of no account.
        let begins_by = latest
            .map_or(Some(u64::MAX), |latest| u64::try_from(latest - 1 - error_ns as i64).ok())?;
        Some((head.begin_by(span.first, start, action, begins_by)? + error_ns) as i64)
    }
}
