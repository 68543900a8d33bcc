//! The way from a thread to its drives: host path, driver, controller, link.
//!
//! ```text
//!   thread ---+             own_ns: latency, spent once for what a thread asks in one instant
//!   thread ---+-- host ---- serial_ns: half on the way down, half on the way up
//!                  |        commands of one instant leave together (plugging)
//!        +---------+---------+
//!      drive 0   drive 1   drive 2     each with its queue; command_ns before every command
//!        +---------+---------+
//!                 link                 link_bytes_per_s, shared; write_bytes_per_s
//! ```
//!
//! **Why the serial time replaces the driver's.** A lone drive on the Highpoint controller shows
//! 20.8 us of host time at one thread and the on-board port 7.1 us (EasyCo): the thread's own way
//! is the 7.1, the controller driver's the rest. Under an array the driver's work is done by the
//! serial resource instead (md 18.4 us, Highpoint's own driver 27.3 us), so that one thread sees
//! 7.1 + 18.4 us, and 24.2 was published. Half of it lies before the drive works and half after: a
//! large request cut into sixteen chunks then costs sixteen halves before the first drive starts,
//! because requests are held until the submitter is done, and after the last round one half for
//! every drive that ends with it. No further number is needed.
//!
//! **Durable writes** ([`Fua`]). Behind a port that does not trust its drives with forced unit
//! access, a durable write is its commands, and when the last of them is back one flush, which the
//! thread asks for as for any other request. A drive without a volatile cache needs neither.

mod agenda;
mod host;
mod params;
mod pieces;

pub use params::{Attached, Fua, Gather, PortParams};

use crate::{Outbox, WriteCaching, kind::Kind, nanoseconds_for};
use agenda::Agenda;
use block::{
    Actor, Command, Completion, Drive, Durability, Effects, Extent, Geometry, Instant, IoError,
    Machine, Payload, Request, Slots, Tag,
};
use host::{Asked, Batch, Host};
use pieces::Pool;

/// No request: the end of a list.
const NOTHING: u32 = u32::MAX;

/// A controller with its drives below it. Budget: 200 ns a command.
#[derive(Clone, Debug)]
pub struct Port {
    params: PortParams,
    lanes: Vec<Lane>,
    queue_depth: u32,
    host: Host,
    requests: Slots<Held>,
    batches: Slots<Batch>,
    commands: Slots<Sent>,
    agenda: Agenda<Due>,
    outbox: Outbox,
    pool: Pool,
    link_free_at: Instant,
    /// When the host has written all that it was asked to.
    writes_free_at: Instant,
    /// When the answers that are being gathered are told.
    told_at: Instant,
}

/// One drive's side of the port.
#[derive(Clone, Debug)]
struct Lane {
    attached: Attached,
    /// Requests that have commands left to send, a list.
    first: u32,
    last: u32,
    /// Commands at the drive or on the way to it.
    taken: u32,
    /// The controller is setting a command up.
    setting_up: bool,
}

/// A request from above.
#[derive(Clone, Debug)]
struct Held {
    tag: Tag,
    actor: Actor,
    drive: Drive,
    issued: Instant,
    kind: Kind,
    offset: u64,
    bytes: u64,
    /// Bytes handed to the drive.
    sent: u64,
    /// Commands that have not come back.
    outstanding: u32,
    /// Commands that have.
    landed: u32,
    result: Result<(), IoError>,
    payload: Payload,
    follow_up: FollowUp,
    next: u32,
}

/// What makes a request durable after its own commands are back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FollowUp {
    /// Nothing, or it has been asked for.
    None,
    /// A flush.
    Flush,
}

/// A command at its drive.
#[derive(Clone, Debug)]
struct Sent {
    request: u32,
    /// First byte within the request.
    start: u64,
    bytes: u32,
    sent_at: Instant,
    /// What came back, while the link still carries it.
    answer: Option<(Result<(), IoError>, Payload)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    /// A batch has been handed over.
    Release(u32),
    /// The controller has set up the next command of a drive.
    Send(usize),
    /// The link has carried a command's bytes.
    Land(u32),
    /// A thread has its write's answer, and asks for the flush that makes it durable.
    FollowUp(u32),
}

impl Port {
    /// Over these drives, the first being drive 0. At most `queue_depth` requests may be
    /// outstanding for each of them, whatever the others have; the port holds what a drive does not
    /// take yet.
    ///
    /// # Panics
    /// Without drives, or on parameters that cannot be built.
    pub fn new(params: PortParams, drives: &[Attached], queue_depth: u32) -> Self {
        params.check();
        assert!(!drives.is_empty(), "a port without drives");
        assert!(queue_depth > 0, "a port that takes no request");
        for drive in drives {
            assert!((1..=drive.geometry.queue_depth).contains(&drive.commands), "a drive's queue");
        }
        let at_drives = drives.iter().map(|drive| drive.commands).sum();
        let count = u32::try_from(drives.len()).expect("a drive's number is of 16 bits");
        let requests = queue_depth.checked_mul(count).expect("fewer requests than 2^32");
        let lane = |&attached| Lane {
            attached,
            first: NOTHING,
            last: NOTHING,
            taken: 0,
            setting_up: false,
        };
        Self {
            lanes: drives.iter().map(lane).collect(),
            queue_depth,
            host: Host::new(&params),
            requests: Slots::new(requests),
            batches: Slots::new(requests),
            commands: Slots::new(at_drives),
            agenda: Agenda::new(requests as usize + at_drives as usize),
            outbox: Outbox::new(requests),
            pool: Pool::new(params.transfer_bytes_max),
            link_free_at: Instant(0),
            writes_free_at: Instant(0),
            told_at: Instant(0),
            params,
        }
    }

    /// Puts the request into its thread's batch.
    fn hold(&mut self, now: Instant, request: Request) {
        let (kind, offset, bytes, payload) = Kind::split(request.command);
        let (kind, follow_up) = self.made_durable(request.drive, kind);
        let transfers = matches!(kind, Kind::Read | Kind::Write(_));
        let slot = self.requests.insert(Held {
            tag: request.tag,
            actor: request.actor,
            drive: request.drive,
            issued: now,
            kind,
            offset,
            bytes,
            sent: 0,
            outstanding: 0,
            landed: 0,
            result: Ok(()),
            payload,
            follow_up,
            next: NOTHING,
        });
        let asked = Asked {
            bytes: if transfers { bytes } else { 0 },
            writes: matches!(kind, Kind::Write(_)),
        };
        self.join_batch(now, request.actor, slot, &asked);
    }

    /// How a request goes to this drive, and what has to follow it.
    fn made_durable(&self, drive: Drive, kind: Kind) -> (Kind, FollowUp) {
        let write_cache = self.lanes[usize::from(drive.0)].attached.write_cache;
        match (kind, write_cache, self.params.fua) {
            (Kind::Write(Durability::Fua), WriteCaching::On, Fua::Flush) => {
                (Kind::Write(Durability::Cached), FollowUp::Flush)
            }
            (Kind::Write(_), WriteCaching::Off, _) => {
                (Kind::Write(Durability::Cached), FollowUp::None)
            }
            _ => (kind, FollowUp::None),
        }
    }

    fn join_batch(&mut self, now: Instant, actor: Actor, slot: u32, asked: &Asked) {
        let commands = asked.bytes.div_ceil(u64::from(self.params.transfer_bytes_max)).max(1);
        let number = match self.host.open_batch(actor) {
            Some(number) if self.host.takes(self.batches.get_mut(number), now) => {
                let batch = self.batches.get_mut(number);
                self.requests.get_mut(batch.last).next = slot;
                batch.last = slot;
                number
            }
            _ => {
                let number = self.batches.insert(self.host.begin(now, actor, slot));
                self.host.set_open(actor, Some(number));
                number
            }
        };
        let batch = self.batches.get_mut(number);
        let is_new = batch.first == slot;
        self.host.hand_over(now, batch, commands, asked);
        if is_new {
            self.agenda.put(batch.released_at, Due::Release(number));
        }
    }

    /// Lets a batch go to its drives, unless it has grown since its alarm was set.
    fn release(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let batch = self.batches.get_mut(number);
        if batch.released_at > now {
            let released_at = batch.released_at;
            return self.agenda.put(released_at, Due::Release(number));
        }
        let batch = self.batches.remove(number);
        if self.host.open_batch(batch.actor) == Some(number) {
            self.host.set_open(batch.actor, None);
        }
        let mut slot = batch.first;
        while slot != NOTHING {
            let held = self.requests.get_mut(slot);
            let (drive, next) = (usize::from(held.drive.0), held.next);
            held.next = NOTHING;
            self.enqueue(drive, slot);
            self.advance(now, drive, effects);
            slot = next;
        }
    }

    fn enqueue(&mut self, drive: usize, slot: u32) {
        let lane = &mut self.lanes[drive];
        if lane.first == NOTHING {
            lane.first = slot;
        } else {
            self.requests.get_mut(lane.last).next = slot;
        }
        lane.last = slot;
    }

    /// Sends a drive what it takes.
    fn advance(&mut self, now: Instant, drive: usize, effects: &mut Effects) {
        loop {
            let lane = &mut self.lanes[drive];
            let is_full = lane.taken == lane.attached.commands;
            if lane.first == NOTHING || is_full || lane.setting_up {
                return;
            }
            lane.taken += 1;
            if self.params.command_ns > 0 {
                lane.setting_up = true;
                return self.agenda.put(now.after(self.params.command_ns), Due::Send(drive));
            }
            self.send(now, drive, effects);
        }
    }

    /// Sends the next command of the first request in a drive's queue.
    fn send(&mut self, now: Instant, drive: usize, effects: &mut Effects) {
        let lane = &mut self.lanes[drive];
        let slot = lane.first;
        let held = self.requests.get_mut(slot);
        let start = held.sent;
        let command_bytes = match held.kind {
            Kind::Read | Kind::Write(_) => {
                (held.bytes - start).min(u64::from(self.params.transfer_bytes_max))
            }
            Kind::Flush | Kind::Discard => held.bytes,
        };
        held.sent += command_bytes;
        held.outstanding += 1;
        if held.sent == held.bytes {
            lane.first = std::mem::replace(&mut held.next, NOTHING);
        }
        // A discard may be longer than a transfer can be; its bytes cross no link.
        let bytes = u32::try_from(command_bytes).unwrap_or(0);
        let payload = match held.kind {
            // The payload of the write that a flush follows stays where it is.
            Kind::Flush | Kind::Discard => Payload::None,
            _ if command_bytes == held.bytes => std::mem::replace(&mut held.payload, Payload::None),
            _ => self.pool.cut(&held.payload, start, bytes),
        };
        let at = Extent { offset: held.offset + start, bytes };
        let command = match held.kind {
            Kind::Read => Command::Read { at, into: payload },
            Kind::Write(durability) => Command::Write { at, from: payload, durability },
            Kind::Flush => Command::Flush,
            Kind::Discard => Command::Discard { offset: held.offset, len: held.bytes },
        };
        let (actor, drive) = (held.actor, held.drive);
        let sent = Sent { request: slot, start, bytes, sent_at: now, answer: None };
        let tag = Tag(u64::from(self.commands.insert(sent)));
        effects.down.push(Request { tag, actor, drive, command });
    }

    /// A command is back from its drive: its bytes have still to pass the link.
    fn carry(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        let number = u32::try_from(completion.tag.0).expect("our own tag");
        let sent = self.commands.get_mut(number);
        sent.answer = Some((completion.result, completion.payload));
        let writes = matches!(self.requests.get_mut(sent.request).kind, Kind::Write(_));
        let mut lands_at = now;
        for (rate, free_at) in [
            (self.params.link_bytes_per_s, &mut self.link_free_at),
            (self.params.write_bytes_per_s.filter(|_| writes), &mut self.writes_free_at),
        ] {
            let Some(rate) = rate else { continue };
            // It works on a command from the moment it was sent, if it has nothing older to do.
            let carry_ns = nanoseconds_for(u64::from(sent.bytes), rate);
            *free_at = (*free_at).max(sent.sent_at).after(carry_ns);
            lands_at = lands_at.max(*free_at);
        }
        if lands_at > now {
            return self.agenda.put(lands_at, Due::Land(number));
        }
        self.land(now, number, effects);
    }

    /// A command is done, and perhaps its request.
    fn land(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let sent = self.commands.remove(number);
        let (result, payload) = sent.answer.expect("a command lands with its answer");
        let through_at = self.host.pass_up(now);
        let held = self.requests.get_mut(sent.request);
        held.outstanding -= 1;
        held.result = held.result.and(result);
        let drive = usize::from(held.drive.0);
        match held.kind {
            Kind::Flush | Kind::Discard => {}
            _ if u64::from(sent.bytes) == held.bytes => held.payload = payload,
            Kind::Read => {
                let is_first = held.landed == 0;
                self.pool.join(&mut held.payload, payload, sent.start, sent.bytes, is_first);
            }
            Kind::Write(_) => self.pool.give_back(payload),
        }
        held.landed += 1;
        let is_done = held.sent == held.bytes && held.outstanding == 0;
        if is_done && held.result.is_ok() && held.follow_up == FollowUp::Flush {
            self.agenda.put(through_at, Due::FollowUp(sent.request));
        } else if is_done {
            self.answer(now, sent.request, through_at, effects);
        }
        self.lanes[drive].taken -= 1;
        self.advance(now, drive, effects);
    }

    /// What was a write is a flush from here on, and keeps the write's payload for the answer.
    fn follow_up(&mut self, now: Instant, slot: u32) {
        let held = self.requests.get_mut(slot);
        (held.kind, held.follow_up) = (Kind::Flush, FollowUp::None);
        (held.offset, held.bytes, held.sent, held.landed) = (0, 0, 0, 0);
        let actor = held.actor;
        self.join_batch(now, actor, slot, &Asked { bytes: 0, writes: false });
    }

    fn answer(&mut self, now: Instant, slot: u32, finished: Instant, effects: &mut Effects) {
        let Held { tag, issued, result, payload, .. } = self.requests.remove(slot);
        let finished = self.gathered(finished);
        let completion = Completion { tag, issued, finished, result, payload };
        if finished > now {
            self.outbox.put(completion);
        } else {
            effects.up.push(completion);
        }
    }
}

impl Port {
    /// When an answer that is there at `at` is told.
    fn gathered(&mut self, at: Instant) -> Instant {
        let Some(gather) = self.params.gather else { return at };
        if self.told_at < at && self.requests.len() + 1 >= gather.from as usize {
            self.told_at = at.after(gather.ns);
        }
        self.told_at.max(at)
    }
}

impl Machine for Port {
    #[inline]
    fn geometry(&self, drive: Drive) -> Geometry {
        let geometry = self.lanes[usize::from(drive.0)].attached.geometry;
        Geometry { transfer_bytes_max: 1 << 30, queue_depth: self.queue_depth, ..geometry }
    }

    #[inline]
    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.hold(now, request);
        // A path that costs nothing hands over at once.
        self.on_wakeup(now, effects);
    }

    #[inline]
    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        self.carry(now, completion, effects);
    }

    #[inline]
    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(due) = self.agenda.due(now) {
            match due {
                Due::Release(batch) => self.release(now, batch, effects),
                Due::Send(drive) => {
                    self.lanes[drive].setting_up = false;
                    self.send(now, drive, effects);
                    self.advance(now, drive, effects);
                }
                Due::Land(command) => self.land(now, command, effects),
                Due::FollowUp(request) => self.follow_up(now, request),
            }
        }
        self.outbox.release(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.agenda.next().min(self.outbox.next())
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        Some(Box::new(self.clone()))
    }
}
