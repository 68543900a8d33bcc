//! What the heads do for whoever comes next, and how long that takes.

use super::{
    Disk, Held,
    layout::Place,
    mechanism::{Action, Span},
    order::Choice,
    read_cache::Join,
};

/// What a shingled disk cleans while it idles.
pub(super) struct Cleaning {
    /// In this order.
    pub zones: Vec<u64>,
    /// When the last of them is written, ns.
    busy_until: u64,
}

impl Disk {
    /// When the heads are next to be told something.
    pub(super) fn next_decision(&self) -> u64 {
        if self.writes.is_destaging() {
            return self.free_at;
        }
        let pending = self.pending.iter().map(|held| held.ready);
        let cached = self.writes.candidates(self.flushing()).map(|(_, run)| run.ready);
        let mut next = u64::MAX;
        for ready in pending.chain(cached) {
            if ready <= self.free_at {
                return self.free_at;
            }
            next = next.min(ready);
        }
        next
    }

    /// The heads are free, and something may want them.
    pub(super) fn decide(&mut self, now: u64) {
        if self.writes.is_destaging() {
            self.writes.destaged(now);
            self.answer_flushes(now);
            self.unblock(now);
        }
        self.clean_while_idle(now);
        if self.free_at > now {
            // A zone is being rewritten.
            return;
        }
        let from = self.reads.head(&self.mechanism, now).unwrap_or(self.head);
        match self.choose(from, now) {
            Some(Choice::Pending(at)) => {
                let held = self.pending.remove(at);
                match held.action {
                    Action::Read => self.read(from, now, held),
                    Action::Write => self.write_through(from, now, held),
                }
            }
            Some(Choice::Destage(at)) => self.destage(from, now, at),
            None => {}
        }
    }

    /// Writes a cached run or a piece of it; into a media cache more of them, an entry of it.
    fn destage(&mut self, from: Place, now: u64, at: usize) {
        let (home, received) = self.take_run(at);
        let is_logged = self.is_logged(home);
        self.write(from, now, home, received);
        if !is_logged {
            return;
        }
        let writes_max = self.params.shingling.map_or(1, |it| it.entry_writes);
        for _ in 1..writes_max {
            let Some(at) = self.next_of_entry(now) else { break };
            let (home, received) = self.take_run(at);
            self.put(home, received);
        }
        self.end_entry();
    }

    /// The next cached write for the entry that is being written, if there is room in the log.
    fn next_of_entry(&self, now: u64) -> Option<usize> {
        let fits = |home| self.is_logged(home) && self.zone_to_clean(home).is_none();
        let mut ready = self.writes.candidates(self.flushing()).filter(|(_, run)| run.ready <= now);
        ready.find(|(_, run)| fits(run.span)).map(|(at, _)| at)
    }

    fn take_run(&mut self, at: usize) -> (Span, u64) {
        let first = self.writes.run(at).first;
        let in_zone = self.translation.as_ref().map(|it| it.to_zone_end(first));
        self.writes.destage(at, self.destage_sectors.min(in_zone.unwrap_or(u64::MAX)))
    }

    /// Whether a write of the span goes into the media cache.
    fn is_logged(&self, home: Span) -> bool {
        self.translation.as_ref().is_some_and(|it| !it.streams(home))
    }

    fn zone_to_clean(&self, home: Span) -> Option<u64> {
        self.translation.as_ref().and_then(|it| it.zone_to_clean(home))
    }

    /// An entry of the media cache is written, and the drive turns to the next.
    fn end_entry(&mut self) {
        self.free_at += self.params.shingling.map_or(0, |it| it.entry_ns);
    }

    fn read(&mut self, from: Place, now: u64, held: Held) {
        // A read that was served since may have brought this one's sectors along.
        let Err(held) = self.read_from_memory(now, held, Join::Chosen) else { return };
        self.reads.stop(&self.mechanism, now);
        if self.is_scattered(held.span) {
            self.gather(from, now, held);
            return;
        }
        let span = self.place(held.span);
        let begin = self.mechanism.begin(from, now, span.first, Action::Read, 0);
        let end = begin + self.mechanism.transfer_ns(span);
        self.head = self.mechanism.layout.place(span.end - 1);
        self.free_at = self.reads.start(&self.mechanism, span, end).max(end);
        // The interface follows the heads, and is the slower one on some.
        let finished = end.max(begin + self.link_ns(span));
        self.answer(held, finished, Ok(()));
        self.take_along();
    }

    /// Reads what lies partly at home and partly in the media cache.
    fn gather(&mut self, from: Place, now: u64, held: Held) {
        (self.head, self.free_at) = (from, now);
        let translation = self.translation.as_ref().expect("only a shingled disk scatters");
        for place in translation.places(held.span) {
            self.pass(Action::Read, place, 0);
        }
        let finished = self.free_at.max(now + self.link_ns(held.span));
        self.answer(held, finished, Ok(()));
    }

    fn write_through(&mut self, from: Place, now: u64, held: Held) {
        self.writes.drop_overlapped(held.span);
        let is_logged = self.is_logged(held.span);
        self.write(from, now, held.span, held.received);
        if is_logged {
            self.end_entry();
        }
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
        (self.head, self.free_at) = (from, now);
        while let Some(zone) = self.zone_to_clean(home) {
            self.clean(zone);
        }
        self.put(home, received);
    }

    /// Goes on to the span, where it belongs now.
    fn put(&mut self, home: Span, received: u64) {
        self.reads.forget(self.place_at_home(home));
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

    /// Reads a shingled zone and what the log has of it, and writes it back.
    fn clean(&mut self, zone: u64) {
        let translation = self.translation.as_ref().expect("only shingled zones are cleaned");
        let (span, pieces) = (translation.zone(zone), translation.pieces_of(zone));
        for piece in pieces {
            self.pass(Action::Read, piece, 0);
        }
        self.pass(Action::Read, span, 0);
        self.pass(Action::Write, span, 0);
        self.translation.as_mut().expect("as above").cleaned(zone);
    }

    /// What a shingled disk has cleaned since the heads were last wanted. A zone that is being
    /// written is finished first.
    fn clean_while_idle(&mut self, now: u64) {
        let Cleaning { zones, busy_until } = self.cleanable_while_idle(now);
        let Some(&last) = zones.last() else { return };
        let translation = self.translation.as_mut().expect("it has zones");
        zones.iter().for_each(|&zone| translation.cleaned(zone));
        let end = translation.zone(last).end;
        self.reads.stop(&self.mechanism, now);
        self.head = self.mechanism.layout.place(end - 1);
        self.free_at = self.free_at.max(busy_until);
    }

    /// The zones that a shingled disk could clean since the heads were last wanted, the oldest
    /// first, that which is being written at `now` included.
    pub(super) fn cleanable_while_idle(&self, now: u64) -> Cleaning {
        let mut cleaning = Cleaning { zones: Vec::new(), busy_until: 0 };
        let Some((translation, shingling)) = self.translation.as_ref().zip(self.params.shingling)
        else {
            return cleaning;
        };
        let mut at = self.free_at.saturating_add(shingling.idle_clean_ns);
        for zone in translation.dirty_zones() {
            if at >= now {
                break;
            }
            let transfer_ns = self.mechanism.transfer_ns(translation.zone(zone));
            let pass_ns = self.params.average_seek_ns + transfer_ns;
            let pieces = translation.pieces_of(zone).len() as u64;
            let piece_ns =
                self.params.track_to_track_ns + 30_000_000_000 / u64::from(self.params.rpm);
            let reading_ns = pass_ns + pieces * piece_ns;
            if at + reading_ns > now {
                break;
            }
            at += reading_ns + pass_ns;
            cleaning.zones.push(zone);
            cleaning.busy_until = at;
        }
        cleaning
    }
}
