//! By place, in batches of time, with a pause for the next read of whoever read last.
//!
//! While a read is at the device, and for antic_expire after it, nothing is sent that somebody else
//! asked for, unless it lies near the head, or nearer than the reader is known to go, or the reader
//! is known to think for longer. So two readers in order do not send the head to and fro, and a
//! reader beside writes is not pushed away by them.

use super::{
    entry::{Direction, Entry},
    habit::Habit,
    half::Halves,
    order::{Next, Order},
    params,
};
use block::{Actor, Instant, Slots};

/// What lies this near to the head is served whoever asks: 8 Ki sectors at first, twice as much
/// after every millisecond of waiting (`as_close_req`).
const CLOSE_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Anticipatory {
    params: params::Anticipatory,
    halves: Halves,
    habits: Vec<Habit>,
    batch: Direction,
    batch_ends: Instant,
    /// When the oldest of each direction was looked at last.
    looked_at: [Instant; 2],
    reader: Option<Reader>,
    /// Where the last request ended.
    head: u64,
    at_device: u32,
}

/// Who read last.
#[derive(Clone, Copy, Debug)]
struct Reader {
    actor: Actor,
    /// When the read was done, if it is.
    ended: Option<Instant>,
}

impl Anticipatory {
    pub fn new(params: params::Anticipatory) -> Self {
        Self {
            params,
            halves: Halves::default(),
            habits: Vec::new(),
            batch: Direction::Read,
            batch_ends: Instant(0),
            looked_at: [Instant(0); 2],
            reader: None,
            head: 0,
            at_device: 0,
        }
    }

    fn habit(&mut self, actor: Actor) -> &mut Habit {
        let number = usize::from(actor.0);
        if self.habits.len() <= number {
            self.habits.resize(number + 1, Habit::default());
        }
        &mut self.habits[number]
    }

    /// The oldest if it is overdue. It is looked at once in so long a time as makes it overdue, or
    /// a long queue would go by age alone (`as_fifo_expired`).
    fn overdue(&mut self, now: Instant, direction: Direction) -> Option<u32> {
        let expire_ns = match direction {
            Direction::Read => self.params.read_expire_ns,
            Direction::Write => self.params.write_expire_ns,
        };
        let looked_at = &mut self.looked_at[direction as usize];
        if now.since(*looked_at) < expire_ns {
            return None;
        }
        *looked_at = now;
        let oldest = self.halves[direction].oldest();
        oldest.filter(|(overdue, _)| *overdue <= now).map(|(_, number)| number)
    }

    /// The next one by place, one way, and from the front again.
    fn by_place(&self, direction: Direction) -> Option<u32> {
        let half = &self.halves[direction];
        half.from(self.head).or_else(|| half.from(0)).map(|(_, number)| number)
    }

    /// Until when to wait for the last reader rather than serve `candidate`, if at all
    /// (`as_can_anticipate`).
    fn anticipates(&self, now: Instant, candidate: Option<&Entry>) -> Option<Instant> {
        let reader = self.reader?;
        let until = match reader.ended {
            Some(ended) => ended.after(self.params.antic_expire_ns),
            None => Instant::NEVER,
        };
        if until <= now {
            return None;
        }
        let habit = &self.habits[usize::from(reader.actor.0)];
        if habit.think_ns().is_some_and(|think_ns| think_ns > self.params.antic_expire_ns) {
            return None;
        }
        if let Some(candidate) = candidate {
            let waited_ms = reader.ended.map_or(0, |ended| now.since(ended) / 1_000_000);
            let near = CLOSE_BYTES << waited_ms.min(20);
            let way = candidate.offset.abs_diff(self.head);
            let goes_far = habit.seek_bytes().is_some_and(|bytes| bytes > way);
            if candidate.actor == reader.actor || way <= near || goes_far {
                return None;
            }
        }
        Some(until)
    }

    fn take(&mut self, number: u32, entry: &Entry) -> Next {
        let direction = entry.direction();
        self.halves[direction].remove(number);
        self.head = entry.end();
        self.at_device += 1;
        self.reader = match direction {
            Direction::Read => Some(Reader { actor: entry.actor, ended: None }),
            Direction::Write => None,
        };
        Next::Take(number)
    }
}

impl Order for Anticipatory {
    fn insert(&mut self, now: Instant, number: u32, entry: &Entry) {
        let direction = entry.direction();
        let expire_ns = match direction {
            Direction::Read => self.params.read_expire_ns,
            Direction::Write => self.params.write_expire_ns,
        };
        self.halves[direction].insert(entry.offset, number, now.after(expire_ns));
        if direction == Direction::Read {
            let most_ns = 2 * self.params.antic_expire_ns;
            self.habit(entry.actor).asked(now, entry.offset, entry.end(), most_ns);
        }
        if self.anticipates(now, Some(entry)).is_none() {
            // It is what was waited for, or as good: the nearest is served (`as_update_rq`).
            self.reader = None;
        }
    }

    fn neighbours(
        &self,
        direction: Direction,
        _: Actor,
        offset: u64,
        end: u64,
    ) -> (Option<u32>, Option<u32>) {
        let half = &self.halves[direction];
        let number = |found: Option<(u64, u32)>| found.map(|(_, number)| number);
        (number(half.below(offset)), number(half.from(end)))
    }

    fn moved(&mut self, number: u32, entry: &Entry) {
        self.halves[entry.direction()].moved(number, entry.offset);
    }

    fn joined(&mut self, number: u32, gone: u32, gone_entry: &Entry) {
        self.halves[gone_entry.direction()].joined(number, gone);
        if gone_entry.direction() == Direction::Read {
            self.habit(gone_entry.actor).joined();
        }
    }

    fn next(&mut self, now: Instant, entries: &Slots<Entry>) -> Next {
        let [reads, writes] =
            [Direction::Read, Direction::Write].map(|way| !self.halves[way].is_empty());
        if !reads && !writes {
            return Next::Nothing;
        }
        let goes_on = !(reads && writes && self.batch_ends <= now);
        if goes_on {
            let overdue = self.overdue(now, self.batch);
            let place = self.by_place(self.batch);
            if self.batch == Direction::Read && overdue.is_none() {
                let candidate = place.map(|number| entries.get(number));
                match self.anticipates(now, candidate) {
                    Some(Instant::NEVER) => return Next::Nothing,
                    Some(until) => return Next::Pause(until),
                    None => {}
                }
            }
            if let Some(number) = overdue.or(place) {
                if reads && !writes {
                    self.batch_ends = now.after(self.params.read_batch_expire_ns);
                }
                return self.take(number, entries.get(number));
            }
        }
        // The other direction's turn, once the device is done with this one's.
        let next = match self.batch {
            Direction::Read if writes => Direction::Write,
            _ if reads => Direction::Read,
            _ => Direction::Write,
        };
        if next != self.batch && self.at_device > 0 {
            return Next::Nothing;
        }
        let length_ns = match next {
            Direction::Read => self.params.read_batch_expire_ns,
            Direction::Write => self.params.write_batch_expire_ns,
        };
        (self.batch, self.batch_ends) = (next, now.after(length_ns));
        let oldest = self.halves[next].oldest().map(|(_, number)| number);
        let number = match next {
            Direction::Read => oldest,
            Direction::Write => self.by_place(next),
        };
        let number = number.expect("its turn has come because there is one");
        self.take(number, entries.get(number))
    }

    fn ended(&mut self, now: Instant, entry: &Entry) {
        self.at_device -= 1;
        if entry.direction() == Direction::Read {
            self.habit(entry.actor).ended(now);
            if let Some(reader) = &mut self.reader
                && reader.actor == entry.actor
            {
                reader.ended = Some(now);
            }
        }
    }
}
