//! What the heads do when they are free: who comes next, and how long that takes.

use super::{
    Disk, Held,
    layout::Place,
    mechanism::{Action, Span},
    shingle::Translation,
};

/// What the heads do next.
#[derive(Clone, Copy)]
enum Choice {
    Pending(usize),
    Destage(usize),
}

impl Disk {
    /// When the heads are next to be told something.
    pub(super) fn next_decision(&self) -> u64 {
        if self.writes.is_destaging() {
            return self.free_at;
        }
        let pending = self.pending.iter().map(|held| held.ready);
        let cached = self.writes.candidates(self.flushing()).map(|(_, run)| run.ready);
        pending.chain(cached).min().map_or(u64::MAX, |ready| ready.max(self.free_at))
    }

    /// The heads are free, and something may want them.
    pub(super) fn decide(&mut self, now: u64) {
        if self.writes.is_destaging() {
            self.writes.destaged();
            self.answer_flushes(now);
            self.unblock(now);
        }
        self.clean_while_idle(now);
        let from = self.reads.head(&self.mechanism, now).unwrap_or(self.head);
        match self.choose(from, now) {
            Some(Choice::Pending(at)) => {
                let held = self.pending.remove(at);
                match held.action {
                    Action::Read => self.read(from, now, held),
                    Action::Write => self.write_through(from, now, held),
                }
            }
            Some(Choice::Destage(at)) => {
                let run = self.writes.run(at);
                let in_zone = self.translation.as_ref().map(|it| it.to_zone_end(run.first));
                let sectors_max = self.destage_sectors.min(in_zone.unwrap_or(u64::MAX));
                let (span, received) = self.writes.destage(at, sectors_max);
                self.write(from, now, span, received);
            }
            None => {}
        }
    }

    /// Shortest positioning time first (SPTF; Seltzer, Chen and Ousterhout, "Disk Scheduling
    /// Revisited", USENIX Winter 1990), but what has waited too long before everything else, the
    /// oldest first. Cached writes have time, unless a flush or a full cache keeps somebody
    /// waiting.
    fn choose(&self, from: Place, now: u64) -> Option<Choice> {
        let rank = |since: u64, span: Span, action| {
            if self.is_old(since, now) {
                (0, since)
            } else {
                (1, self.mechanism.begin(from, now, span.first, action, 0))
            }
        };
        let pending = (0..)
            .zip(&self.pending)
            .filter(|(_, held)| held.ready <= now)
            .map(|(at, held)| {
                (rank(held.issued.0, self.place(held.span), held.action), Choice::Pending(at))
            })
            .min_by_key(|&(rank, _)| rank);
        let urgent = pending.is_none() || !self.flushes.is_empty() || !self.blocked.is_empty();
        let cached = self
            .writes
            .candidates(self.flushing())
            .filter(|(_, run)| run.ready <= now && (urgent || self.is_old(run.since, now)))
            .map(|(at, run)| {
                (rank(run.since, self.target(run.span), Action::Write), Choice::Destage(at))
            })
            .min_by_key(|&(rank, _)| rank);
        pending.into_iter().chain(cached).min_by_key(|&(rank, _)| rank).map(|(_, choice)| choice)
    }

    fn read(&mut self, from: Place, now: u64, held: Held) {
        // A read that was served since may have brought this one's sectors along.
        let Err(held) = self.read_from_memory(now, held) else { return };
        let span = self.place(held.span);
        self.reads.stop(&self.mechanism, now);
        let begin = self.mechanism.begin(from, now, span.first, Action::Read, 0);
        let end = begin + self.mechanism.transfer_ns(span);
        self.head = self.mechanism.layout.place(span.end - 1);
        self.free_at = self.reads.start(&self.mechanism, span, end).max(end);
        // The interface follows the heads, and is the slower one on some.
        let finished = end.max(begin + self.link_ns(span));
        self.answer(held, finished, Ok(()));
        self.take_along();
    }

    fn write_through(&mut self, from: Place, now: u64, held: Held) {
        self.writes.drop_overlapped(held.span);
        self.write(from, now, held.span, held.received);
        let finished = self.free_at;
        self.answer(held, finished, Ok(()));
        // What it replaced in the cache needs no destaging any more.
        self.answer_flushes(finished);
        self.unblock(finished);
    }

    /// Puts the span on the medium. Its bytes are all there at `received`; the heads may begin as
    /// soon as they will not run dry.
    fn write(&mut self, from: Place, now: u64, home: Span, received: u64) {
        self.reads.stop(&self.mechanism, now);
        self.reads.forget(self.place_at_home(home));
        (self.head, self.free_at) = (from, now);
        while let Some(zone) = self.translation.as_ref().and_then(|it| it.zone_to_clean(home)) {
            self.clean(zone);
        }
        let span = self.translation.as_mut().map_or(home, |it| it.write(home));
        let transfer_ns = self.mechanism.transfer_ns(span);
        let not_before = received.saturating_sub(transfer_ns);
        self.pass(Action::Write, span, not_before);
    }

    /// Moves the heads over the span.
    fn pass(&mut self, action: Action, span: Span, not_before: u64) {
        let begin = self.mechanism.begin(self.head, self.free_at, span.first, action, not_before);
        self.free_at = begin + self.mechanism.transfer_ns(span);
        self.head = self.mechanism.layout.place(span.end - 1);
    }

    /// Reads a shingled zone, merges what the log has of it, and writes it back.
    fn clean(&mut self, zone: u64) {
        let translation = self.translation.as_mut().expect("only shingled zones are cleaned");
        translation.cleaned(zone);
        let span = translation.zone(zone);
        self.pass(Action::Read, span, 0);
        self.pass(Action::Write, span, 0);
    }

    /// What a shingled disk has cleaned since the heads were last wanted.
    fn clean_while_idle(&mut self, now: u64) {
        let zones: Vec<u64> = self.cleanable_while_idle(now).collect();
        let Some(translation) = &mut self.translation else { return };
        zones.into_iter().for_each(|zone| translation.cleaned(zone));
    }

    /// The zones that a shingled disk could clean since the heads were last wanted, the oldest
    /// first. A zone that was under way when the next command came has been given up.
    pub(super) fn cleanable_while_idle(&self, now: u64) -> impl Iterator<Item = u64> {
        let begins = |idle_ns: u64| now.saturating_sub(self.free_at.saturating_add(idle_ns));
        let mut idle = self.params.shingling.map_or(0, |it| begins(it.idle_clean_ns));
        let zones = self.translation.iter().flat_map(Translation::dirty_zones);
        zones.take_while(move |&zone| {
            let translation = self.translation.as_ref().expect("it has zones");
            let transfer_ns = self.mechanism.transfer_ns(translation.zone(zone));
            let cost_ns = 2 * (transfer_ns + self.params.average_seek_ns);
            let is_enough = idle >= cost_ns;
            idle = idle.saturating_sub(cost_ns);
            is_enough
        })
    }
}
