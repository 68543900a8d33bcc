//! Drives on the bench: a machine that knows only time, with each drive's medium and what goes
//! wrong with it.
//!
//! ```text
//!   request  ->  Faults judge, Media begins  ->  the machine, without the payload: it only times
//!   answer   <-  Faults delay or fail, Media completes and fills  <-  its completion
//! ```
//!
//! The machine below sees the requests that a timing-only run would send it, so both take the same
//! time. A run without media and faults has no rig and pays nothing for it.

use super::{FlushMark, Grain, Loss, Media, WriteId};
use crate::{Contents, Faults, Outbox, Sim, fault::Strike};
use block::{
    Command, Completion, Data, Drive, Effects, Engine, Extent, Geometry, Instant, IoError, Machine,
    Payload, Request, Rng, Slots, Tag,
};
use std::mem;

/// After this time a request is refused by a drive that is not there. Positive, because no request
/// takes no time; a host may wait for tens of seconds before it gives a drive up, which nothing
/// here depends on.
const REFUSAL_NS: u64 = 1_000;
/// EIO of errno(3).
const EIO: i32 = 5;

/// A machine with the media and faults of its drives: itself a machine, so it runs under [`Sim`]
/// and
/// [`Paced`](crate::Paced) alike.
#[derive(Debug)]
pub struct Rig<M> {
    /// What times the requests.
    pub machine: M,
    bays: Vec<Bay>,
    power: Power,
    flights: Slots<Flight>,
    next_flight: u64,
    /// Answers that a fault or a power cut holds back. Their tags are numbers of flights.
    late: Outbox,
    inner: Effects,
    released: Effects,
}

#[derive(Debug)]
struct Bay {
    media: Media,
    faults: Faults,
    /// What a failed write leaves is drawn from here.
    failures: Rng,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Power {
    On,
    Off,
}

/// A request on its way through the machine.
#[derive(Debug)]
struct Flight {
    tag: Tag,
    drive: Drive,
    /// Requests are answered in this order when the power goes.
    number: u64,
    issued: Instant,
    payload: Payload,
    intent: Intent,
    strike: Strike,
}

/// What the media owes a request when it is done.
#[derive(Clone, Copy, Debug)]
enum Intent {
    Read(Extent),
    /// A write or discard.
    Change(WriteId),
    Flush(FlushMark),
    /// A lost write, a lying flush, a request that never reached the drive.
    Nothing,
}

impl<M: Machine> Rig<M> {
    /// The machine's drive `n` has the `n`th medium. No faults.
    ///
    /// # Panics
    /// If a medium is not of its drive's size.
    pub fn new(machine: M, media: Vec<Media>) -> Self {
        assert!(!media.is_empty(), "a rig without drives");
        let mut queue_depth = 0;
        for (media, number) in media.iter().zip(0..) {
            let geometry = machine.geometry(Drive(number));
            let (of_drive, of_media) = (geometry.capacity_bytes, media.capacity_bytes());
            assert_eq!(of_drive, of_media, "drive {number} and its medium differ in size");
            queue_depth += geometry.queue_depth;
        }
        let bay = |(media, number)| {
            let failures = Rng::new(number, 0x6661_696c_6564);
            Bay { media, faults: Faults::none(), failures }
        };
        Self {
            machine,
            bays: media.into_iter().zip(0..).map(bay).collect(),
            power: Power::On,
            flights: Slots::new(queue_depth),
            next_flight: 0,
            late: Outbox::new(queue_depth),
            inner: Effects::default(),
            released: Effects::default(),
        }
    }

    /// The same with these faults on `drive`.
    #[must_use]
    pub fn with_faults(mut self, drive: Drive, faults: Faults) -> Self {
        let bay = self.bay(drive);
        bay.failures = Rng::new(faults.plan().seed(), 0x6661_696c_6564 ^ u64::from(drive.0) << 48);
        bay.faults = faults;
        self
    }

    fn bay(&mut self, drive: Drive) -> &mut Bay {
        &mut self.bays[usize::from(drive.0)]
    }

    /// The medium of `drive`. A clone of it can be cut in every way there is while the rig runs on.
    pub fn media(&self, drive: Drive) -> &Media {
        &self.bays[usize::from(drive.0)].media
    }

    /// The medium of `drive`, to damage.
    pub fn media_mut(&mut self, drive: Drive) -> &mut Media {
        &mut self.bay(drive).media
    }

    /// What went wrong with `drive` so far.
    pub fn faults(&self, drive: Drive) -> &Faults {
        &self.bays[usize::from(drive.0)].faults
    }

    /// Every drive's medium and faults, for the next rig. After a power cut the answers need not
    /// have been waited for; what they carried is dropped.
    ///
    /// # Panics
    /// With the power on and requests in flight.
    pub fn into_parts(self) -> (Vec<Media>, Vec<Faults>) {
        let idle = self.power == Power::Off || self.flights.is_empty();
        assert!(idle, "{} requests in flight", self.flights.len());
        self.bays.into_iter().map(|bay| (bay.media, bay.faults)).unzip()
    }

    /// How many sectors of all drives a power cut could take now.
    pub fn sectors_at_risk(&self) -> u64 {
        self.bays.iter().map(|bay| bay.media.sectors_at_risk()).sum()
    }

    /// The power of all drives goes at `now`; of each medium a state that the seed draws stays (see
    /// [`Media::power_cut`]). What is in flight is answered with [`IoError::Offline`], in the order it was
    /// submitted, and so is all that comes later. Says what all media lost.
    pub fn power_cut(&mut self, now: Instant, seed: u64) -> Loss {
        self.cut(now, &mut |media, drive| media.power_cut(Rng::new(seed, drive).next()))
    }

    /// The same with every choice made by `choose`, drive after drive: see
    /// [`Media::power_cut_with`].
    pub fn power_cut_with(
        &mut self,
        now: Instant,
        grain: Grain,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> Loss {
        self.cut(now, &mut |media, _| media.power_cut_with(grain, choose))
    }

    fn cut(&mut self, now: Instant, leave: &mut dyn FnMut(&mut Media, u64) -> Loss) -> Loss {
        let mut loss = Loss::default();
        for (bay, drive) in self.bays.iter_mut().zip(0..) {
            loss = loss.and(leave(&mut bay.media, drive));
        }
        self.power = Power::Off;
        self.late = Outbox::new(self.flights.capacity() as u32);
        let mut order: Vec<_> =
            self.flights.iter().map(|(slot, flight)| (flight.number, slot)).collect();
        order.sort_unstable();
        for (_, slot) in order {
            self.flights.get_mut(slot).intent = Intent::Nothing;
            self.refuse(now, slot);
        }
        loss
    }

    /// Answers the flight with [`IoError::Offline`] shortly.
    fn refuse(&mut self, now: Instant, slot: u32) {
        let issued = self.flights.get_mut(slot).issued;
        self.late.put(Completion {
            tag: Tag(u64::from(slot)),
            issued,
            finished: now.after(REFUSAL_NS),
            result: Err(IoError::Offline),
            payload: Payload::None,
        });
    }

    /// Takes what the machine answered: at once, or later where a fault makes it slow.
    fn take_answers(&mut self, now: Instant, effects: &mut Effects) {
        assert!(self.inner.down.is_empty(), "a drive model has nothing below it");
        let mut answers = mem::take(&mut self.inner.up);
        for answer in answers.drain(..) {
            let times = u64::from(self.flights.get_mut(answer.tag.0 as u32).strike.times);
            let latency_ns = answer.finished.since(answer.issued);
            let finished = answer.issued.after(latency_ns.saturating_mul(times));
            if finished > now {
                self.late.put(Completion { finished, ..answer });
            } else {
                self.finish(now, answer, effects);
            }
        }
        self.inner.up = answers;
    }

    fn finish(&mut self, now: Instant, answer: Completion, effects: &mut Effects) {
        let mut flight = self.flights.remove(answer.tag.0 as u32);
        let bay = &mut self.bays[usize::from(flight.drive.0)];
        let mut result = answer.result;
        if result.is_ok() && bay.faults.is_gone(now) {
            result = Err(IoError::Offline);
        }
        if result.is_ok() && flight.strike.error {
            result = Err(error_of(flight.intent));
        }
        let result = bay.settle(flight.intent, result, &mut flight.payload);
        effects.up.push(Completion { tag: flight.tag, result, payload: flight.payload, ..answer });
    }
}

/// How such a request fails.
fn error_of(intent: Intent) -> IoError {
    match intent {
        Intent::Read(_) => IoError::Medium,
        Intent::Change(_) | Intent::Flush(_) | Intent::Nothing => IoError::Os(EIO),
    }
}

impl Bay {
    /// What goes wrong with this request; none if the drive is not there to receive it.
    fn judge(&mut self, now: Instant, command: &Command) -> Option<Strike> {
        if self.faults.is_gone(now) {
            return None;
        }
        let (media, faults) = (&self.media, &mut self.faults);
        let strike = faults.judge(now, command, media.capacity_bytes(), media.sector_bytes());
        (!faults.is_gone(now)).then_some(strike)
    }

    /// A request reaches the drive: what the media must do at its end, what the machine is told of
    /// it, and its payload.
    fn begin(&mut self, command: Command, strike: &Strike) -> (Intent, Option<Command>, Payload) {
        let none = Payload::None;
        match command {
            Command::Read { at, into } => {
                self.media.assert_fits(&into, at.bytes);
                if let Some(latent) = strike.latent {
                    self.media.damage(latent);
                }
                if let Some(offset) = strike.rotten {
                    self.media.rot(offset, &mut self.failures);
                }
                (Intent::Read(at), Some(Command::Read { at, into: none }), into)
            }
            Command::Write { at, from, durability } => {
                self.media.assert_fits(&from, at.bytes);
                let offset = strike.misdirected.unwrap_or(at.offset);
                let landing = Extent { offset, ..at };
                let intent = if strike.ignored {
                    Intent::Nothing
                } else {
                    Intent::Change(self.media.begin_write(landing, &from, durability))
                };
                (intent, Some(Command::Write { at, from: none, durability }), from)
            }
            Command::Flush => {
                let flush = Intent::Flush(self.media.begin_flush());
                let intent = if strike.ignored { Intent::Nothing } else { flush };
                (intent, Some(Command::Flush), none)
            }
            Command::Discard { offset, len } => {
                let intent = Intent::Change(self.media.begin_discard(offset, len));
                (intent, Some(Command::Discard { offset, len }), none)
            }
        }
    }

    /// The request is done: what it leaves on the media, or finds there.
    fn settle(
        &mut self,
        intent: Intent,
        result: Result<(), IoError>,
        payload: &mut Payload,
    ) -> Result<(), IoError> {
        match (intent, result) {
            (Intent::Read(at), Ok(())) => return self.media.read(at, payload),
            (Intent::Change(id), Ok(())) => self.media.complete_write(id),
            (Intent::Change(id), Err(_)) => self.media.fail_write(id, &mut self.failures),
            (Intent::Flush(mark), Ok(())) => self.media.complete_flush(mark),
            (Intent::Read(_) | Intent::Flush(_), Err(_)) | (Intent::Nothing, _) => {}
        }
        result
    }
}

impl<M: Machine> Machine for Rig<M> {
    fn geometry(&self, drive: Drive) -> Geometry {
        let (below, media) = (self.machine.geometry(drive), self.media(drive));
        let data = match media.contents() {
            Contents::Bytes | Contents::Stamps => Data::Stored,
            Contents::Nothing => Data::TimingOnly,
        };
        Geometry { block_bytes: below.block_bytes.max(media.sector_bytes()), data, ..below }
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let Request { tag, actor, drive, command } = request;
        let bay = &mut self.bays[usize::from(drive.0)];
        let strike = match self.power {
            Power::On => bay.judge(now, &command),
            Power::Off => None,
        };
        let (intent, told, payload) = match &strike {
            Some(strike) => bay.begin(command, strike),
            None => (Intent::Nothing, None, command.into_payload()),
        };
        let number = self.next_flight;
        self.next_flight += 1;
        let strike = strike.unwrap_or(Strike::NONE);
        let flight = Flight { tag, drive, number, issued: now, payload, intent, strike };
        let slot = self.flights.insert(flight);
        let Some(command) = told else { return self.refuse(now, slot) };
        let request = Request { tag: Tag(u64::from(slot)), actor, drive, command };
        self.machine.on_request(now, request, &mut self.inner);
        self.take_answers(now, effects);
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("drives have nothing below them");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        if self.power == Power::On && self.machine.next_wakeup() <= now {
            self.machine.on_wakeup(now, &mut self.inner);
            self.take_answers(now, effects);
        }
        let mut released = mem::take(&mut self.released);
        self.late.release(now, &mut released);
        for answer in released.up.drain(..) {
            self.finish(now, answer, effects);
        }
        self.released = released;
    }

    fn next_wakeup(&self) -> Instant {
        match self.power {
            Power::On => self.machine.next_wakeup().min(self.late.next()),
            Power::Off => self.late.next(),
        }
    }
}

impl<M: Machine> Sim<Rig<M>> {
    /// The machine with media behind its drives, at time 0: after a power cut, the restart.
    ///
    /// # Panics
    /// As [`Rig::new`].
    pub fn with_media(machine: M, media: Vec<Media>) -> Self {
        Self::new(Rig::new(machine, media))
    }

    /// The power goes now: see [`Rig::power_cut`].
    pub fn power_cut(&mut self, seed: u64) -> Loss {
        self.machine.power_cut(self.now(), seed)
    }

    /// The media with all they hold: after a power cut, what it left.
    ///
    /// # Panics
    /// As [`Rig::into_parts`].
    pub fn into_media(self) -> Vec<Media> {
        self.machine.into_parts().0
    }
}
