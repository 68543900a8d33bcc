//! The way to the drives, one cost a test. Expected times are sums of its parameters.

use crate::array_shelf;

use array_shelf::Shelf;
use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Effects, Engine, Extent, Geometry, Instant,
    IoError, Machine, Payload, Request, Rng, Stack, Tag,
};
use model::{
    Attached, Bank, BlockMapped, BlockMappedParams, Fua, Gather, Port, PortParams, Sim,
    WriteCaching,
};

/// 50 us a command and nothing for its bytes: what is left of a time is the port's.
fn drive() -> BlockMappedParams {
    BlockMappedParams {
        capacity_bytes: 1 << 30,
        command_ns: 50_000,
        read_bytes_per_s: 1 << 60,
        granule_bytes: 512,
        stream_read_bytes_per_s: None,
        unit_bytes: 1 << 20,
        merge_ns: 8_000_000,
        merge_free_bytes: 65_536,
        write_bytes_per_s: 100_000_000,
        saved_from_bytes: 65_536,
        copy_ns_per_kib: 0,
        buffer_lines: 8,
        write_caching: WriteCaching::On,
    }
}

fn free_port() -> PortParams {
    PortParams {
        own_ns: 0,
        own_ns_per_kib: 0,
        own_write_ns: None,
        driver_ns: 0,
        serial_ns: None,
        transfer_bytes_max: 65_536,
        command_ns: 0,
        link_bytes_per_s: None,
        write_bytes_per_s: None,
        gather: None,
        fua: Fua::Native,
    }
}

type Drives = Stack<Port, Sim<Bank>>;

fn drives(count: u16, port: PortParams) -> Drives {
    let member = || Box::new(BlockMapped::new(drive(), 64)) as Box<dyn block::Machine>;
    let sim = Sim::new(Bank::new((0..count).map(|_| member()).collect()));
    let attached =
        Attached { geometry: sim.geometry(Drive(0)), commands: 1, write_cache: WriteCaching::On };
    Stack::new(Port::new(port, &vec![attached; usize::from(count)], 256), sim)
}

fn read(drive: u16, actor: u16, bytes: u32) -> Request {
    let at = Extent { offset: u64::from(actor) << 20, bytes };
    let command = Command::Read { at, into: Payload::None };
    Request { tag: Tag(u64::from(actor)), actor: Actor(actor), drive: Drive(drive), command }
}

/// Answers to so many requests.
fn collect(engine: &mut dyn Engine, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    while done.len() < count {
        engine.wait(Instant::NEVER, &mut done);
    }
    done
}

/// How long one read by one thread takes, ns.
fn alone(port: PortParams, bytes: u32) -> u64 {
    let mut engine = drives(1, port);
    engine.submit(read(0, 0, bytes));
    collect(&mut engine, 1)[0].finished.0
}

/// Requests a second of `threads` that ask drive after drive, each one request at a time.
fn rate(engine: &mut Drives, threads: u16, count: u16) -> f64 {
    let (mut done, mut answered) = (Vec::new(), 0u64);
    (0..threads).for_each(|actor| engine.submit(read(actor % count, actor, 512)));
    while engine.now() < Instant(1_000_000_000) {
        engine.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            answered += 1;
            let actor = completion.tag.0 as u16;
            engine.submit(read((actor + answered as u16) % count, actor, 512));
        }
    }
    answered as f64
}

#[test]
fn a_thread_alone_waits_for_its_own_time_and_the_drivers() {
    let port = PortParams { own_ns: 7_000, own_ns_per_kib: 100, driver_ns: 13_000, ..free_port() };
    assert_eq!(alone(port.clone(), 4096), 50_000 + 7_000 + 13_000 + 400);
    // Two commands: the second is prepared while the drive works on the first.
    assert_eq!(alone(port, 131_072), 2 * 50_000 + 7_000 + 13_000 + 6_400);
}

/// A file system answered 150,000 writes a second of one file and 344,000 reads, of a drive that
/// gave two files 250,000 writes: the model put the difference into the drive, which then took
/// 0.9 ms for a lone write in place of 10 us.
#[test]
fn a_write_may_cost_a_thread_more_than_a_read() {
    let port = PortParams { own_ns: 7_000, driver_ns: 1_000, ..free_port() };
    let with = PortParams { own_write_ns: Some(30_000), ..port.clone() };
    let lasts = |port: &PortParams, asks: &[Request]| {
        let mut engine = drives(1, port.clone());
        asks.iter().for_each(|ask| engine.submit(ask.clone()));
        let done = collect(&mut engine, asks.len());
        done.iter().map(|done| done.finished.0).min().expect("something was asked")
    };
    let a_read = read(0, 0, 4096);
    let Command::Read { at, .. } = a_read.command else { unreachable!() };
    let command = Command::Write { at, from: Payload::None, durability: Durability::Cached };
    let a_write = Request { command, ..a_read.clone() };
    let (reads, writes) = ([a_read.clone()], [a_write.clone()]);
    assert_eq!(lasts(&with, &reads), lasts(&port, &reads));
    assert_eq!(lasts(&with, &writes), lasts(&port, &writes) + 30_000 - 7_000);
    // Both in one call: it takes the thread as long as the write does.
    assert_eq!(lasts(&with, &[a_read, a_write]), lasts(&port, &reads) + 30_000 - 7_000);
}

#[test]
fn ten_threads_hide_their_own_time_behind_the_drive() {
    let port = PortParams { own_ns: 20_000, ..free_port() };
    let alone = rate(&mut drives(1, port.clone()), 1, 1);
    let ten = rate(&mut drives(1, port), 10, 1);
    assert!((alone - 1e9 / 70_000.0).abs() < 2.0, "{alone}");
    assert!((ten - 1e9 / 50_000.0).abs() < 2.0, "{ten}");
}

#[test]
fn a_controllers_time_is_paid_for_every_command_at_any_depth() {
    let port = PortParams { command_ns: 50_000, ..free_port() };
    assert_eq!(alone(port.clone(), 196_608), 3 * 100_000);
    let ten = rate(&mut drives(1, port), 10, 1);
    assert!((ten - 1e9 / 100_000.0).abs() < 2.0, "{ten}");
}

/// A host adapter of the drives of today answers one thread at once and four threads in steps of
/// 200 us, of which the drive needs 95. Here a drive needs 50 and the controller gathers for 100.
#[test]
fn answers_that_are_gathered_are_told_together() {
    let gather = Some(Gather { ns: 100_000, from: 3 });
    for (threads, closed) in [(1, 1e9 / 50_000.0), (2, 2e9 / 50_000.0), (4, 4e9 / 150_000.0)] {
        let mut engine = drives(4, PortParams { gather, ..free_port() });
        let (mut done, mut answered) = (Vec::new(), 0);
        (0..threads).for_each(|thread| engine.submit(read(thread, thread, 512)));
        while engine.now() < Instant(1_000_000_000) {
            engine.wait(Instant::NEVER, &mut done);
            for completion in done.drain(..) {
                answered += 1;
                let thread = completion.tag.0 as u16;
                engine.submit(read(thread, thread, 512));
            }
        }
        let seen = f64::from(answered);
        assert!((seen / closed - 1.0).abs() < 0.001, "{threads}: {seen} for {closed}");
    }
}

#[test]
fn the_serial_resource_caps_all_drives_together_and_takes_the_drivers_place() {
    let port =
        PortParams { serial_ns: Some(20_000), driver_ns: 13_000, own_ns: 7_000, ..free_port() };
    assert_eq!(alone(port.clone(), 512), 50_000 + 7_000 + 20_000);
    let eight = rate(&mut drives(8, port), 64, 8);
    assert!((eight - 50_000.0).abs() < 50.0, "{eight}");
}

/// One thread, two requests for each of four drives in one instant: eight halves of 10 us and the
/// thread's own time before the drives start, two rounds of 50 us, then the last four halves one
/// after the other.
#[test]
fn what_a_thread_asks_in_one_instant_leaves_together() {
    let port = PortParams { serial_ns: Some(20_000), own_ns: 7_000, ..free_port() };
    let mut engine = drives(4, port);
    for number in 0..8 {
        engine.submit(Request { tag: Tag(number), ..read(number as u16 % 4, 0, 512) });
    }
    let last = collect(&mut engine, 8).iter().map(|done| done.finished.0).max();
    assert_eq!(last, Some(8 * 10_000 + 7_000 + 2 * 50_000 + 4 * 10_000));
}

#[test]
fn drives_together_read_no_faster_than_their_link() {
    let port = PortParams { link_bytes_per_s: Some(2_000_000_000), ..free_port() };
    let mut engine = drives(4, port);
    // 4 x 64 KiB / 50 us would be 5.2 GB/s.
    for number in 0..64 {
        engine.submit(read(number % 4, number, 65_536));
    }
    let last = collect(&mut engine, 64).iter().map(|done| done.finished.0).max().expect("answers");
    let expected = 64 * 65_536 / 2;
    assert!((expected..expected + 50_000).contains(&last), "{last}, expected {expected}");
}

#[test]
fn what_a_host_writes_at_most_bounds_its_writes_alone() {
    let last = |write_bytes_per_s, writes: bool| {
        let sim = Sim::new(Shelf::new(1, 1 << 20));
        let (geometry, write_cache) = (sim.geometry(Drive(0)), WriteCaching::On);
        let attached = Attached { geometry, commands: 32, write_cache };
        let port = PortParams { write_bytes_per_s, ..free_port() };
        let mut engine = Stack::new(Port::new(port, &[attached], 64), sim);
        for actor in 0..32 {
            let at = Extent { offset: u64::from(actor) << 14, bytes: 1 << 14 };
            let payload = Payload::Bytes(Buf::zeroed(1 << 14));
            let command = match writes {
                true => Command::Write { at, from: payload, durability: Durability::Cached },
                false => Command::Read { at, into: payload },
            };
            let (tag, actor) = (Tag(u64::from(actor)), Actor(actor));
            engine.submit(Request { tag, actor, drive: Drive(0), command });
        }
        collect(&mut engine, 32).iter().map(|done| done.finished.0).max().expect("answers")
    };
    let slow = Some(100_000_000);
    assert_eq!(last(slow, false), last(None, false));
    // 32 x 16 KiB at 100 MB/s: of what the drive itself takes nothing is added.
    let expected = 32 * 16_384 * 10;
    assert!(last(None, true) < expected / 2);
    assert!((expected..expected + 1_000).contains(&last(slow, true)), "{}", last(slow, true));
}

#[test]
fn a_drive_with_a_queue_is_given_as_many_commands_as_it_takes() {
    let sim = Sim::new(Shelf::new(1, 1 << 20));
    let attached =
        Attached { geometry: sim.geometry(Drive(0)), commands: 4, write_cache: WriteCaching::On };
    let mut engine = Stack::new(Port::new(free_port(), &[attached], 64), sim);
    for actor in 0..16 {
        let at = Extent { offset: u64::from(actor) * 512, bytes: 512 };
        let command = Command::Read { at, into: Payload::None };
        let (tag, actor) = (Tag(u64::from(actor)), Actor(actor));
        engine.submit(Request { tag, actor, drive: Drive(0), command });
    }
    assert_eq!(engine.engine.machine.outstanding(), 4);
    collect(&mut engine, 16);
    assert_eq!(engine.engine.machine.outstanding(), 0);
}

#[test]
fn bytes_survive_being_cut_into_commands() {
    let sim = Sim::new(Shelf::new(1, 4 << 20));
    let attached =
        Attached { geometry: sim.geometry(Drive(0)), commands: 32, write_cache: WriteCaching::On };
    let mut engine = Stack::new(Port::new(free_port(), &[attached], 64), sim);
    let (length, offset) = (1_000_448, 512 * 77);
    let mut buffer = Buf::zeroed(length);
    Rng::new(4, 4).fill(buffer.bytes_mut());
    let written = buffer.bytes()[..length].to_vec();
    let at = Extent { offset, bytes: length as u32 };
    let from = Payload::Bytes(buffer);
    let store = Command::Write { at, from, durability: Durability::Cached };
    let fetch = Command::Read { at, into: Payload::Bytes(Buf::zeroed(length)) };
    let mut last = Payload::None;
    for command in [store, fetch] {
        engine.submit(Request { tag: Tag(1), actor: Actor(0), drive: Drive(0), command });
        last = collect(&mut engine, 1).pop().expect("an answer").payload;
    }
    let Payload::Bytes(read) = last else { panic!("bytes went down") };
    assert!(read.bytes()[..length] == written);
    assert_eq!(engine.engine.machine.log.len(), 2 * 16, "16 commands of 64 KiB each way");
}

/// A write of 1,000,448 B with forced unit access, which a port cuts into 16 commands: what its
/// drive was sent, and the answer.
fn durable_write(fua: Fua, write_cache: WriteCaching, is_gone: bool) -> (String, Completion) {
    let mut shelf = Shelf::new(1, 4 << 20);
    shelf.is_gone[0] = is_gone;
    let sim = Sim::new(Recorded { shelf, sent: String::new() });
    let attached = Attached { geometry: sim.geometry(Drive(0)), commands: 32, write_cache };
    let port = PortParams { fua, serial_ns: Some(1_000), ..free_port() };
    let mut engine = Stack::new(Port::new(port, &[attached], 1), sim);
    let at = Extent { offset: 0, bytes: 1_000_448 };
    let mut buffer = Buf::zeroed(at.bytes as usize);
    buffer.bytes_mut()[77] = 77;
    let from = Payload::Bytes(buffer);
    let command = Command::Write { at, from, durability: Durability::Fua };
    engine.submit(Request { tag: Tag(5), actor: Actor(0), drive: Drive(0), command });
    let answer = collect(&mut engine, 1).pop().expect("an answer");
    (std::mem::take(&mut engine.engine.machine.sent), answer)
}

/// A shelf that notes what it is sent: `w` a write, `W` one with forced unit access, `f` a flush,
/// `.` an answer.
struct Recorded {
    shelf: Shelf,
    sent: String,
}

impl Machine for Recorded {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.shelf.geometry(drive)
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.sent.push(match request.command {
            Command::Write { durability: Durability::Cached, .. } => 'w',
            Command::Write { durability: Durability::Fua, .. } => 'W',
            Command::Flush => 'f',
            _ => panic!("nothing else was asked for"),
        });
        self.shelf.on_request(now, request, effects);
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        let before = effects.up.len();
        self.shelf.on_wakeup(now, effects);
        self.sent.extend((before..effects.up.len()).map(|_| '.'));
    }

    fn next_wakeup(&self) -> Instant {
        self.shelf.next_wakeup()
    }
}

/// The latency study's 128 MiB writes are one request: a flush for every piece would have cost 256
/// of them.
#[test]
fn a_durable_write_is_flushed_once_after_its_last_piece_where_the_bit_is_not_trusted() {
    let (sent, answer) = durable_write(Fua::Flush, WriteCaching::On, false);
    assert_eq!(sent, format!("{}{}f.", "w".repeat(16), ".".repeat(16)));
    assert_eq!((answer.tag, answer.issued, answer.result), (Tag(5), Instant(0), Ok(())));
    let Payload::Bytes(buffer) = answer.payload else { panic!("the write's buffer comes back") };
    assert_eq!(buffer.bytes()[77], 77);
}

#[test]
fn a_trusted_drive_gets_the_bit_and_one_without_a_cache_neither_bit_nor_flush() {
    let pieces = |letter: &str| format!("{}{}", letter.repeat(16), ".".repeat(16));
    let sent = |fua, cache| durable_write(fua, cache, false).0;
    assert_eq!(sent(Fua::Native, WriteCaching::On), pieces("W"));
    assert_eq!(sent(Fua::Native, WriteCaching::Off), pieces("w"));
    assert_eq!(sent(Fua::Flush, WriteCaching::Off), pieces("w"));
}

#[test]
fn a_durable_write_that_failed_is_not_flushed_and_says_so() {
    let (sent, answer) = durable_write(Fua::Flush, WriteCaching::On, true);
    assert_eq!(answer.result, Err(IoError::Offline));
    assert!(!sent.contains('f'), "{sent}");
}

/// 512 B, then a flush, by one thread that waits for each: the same two requests, asked for by
/// hand.
#[test]
fn a_flush_that_follows_costs_what_one_costs_that_is_asked_for() {
    let port = PortParams { own_ns: 7_000, driver_ns: 13_000, command_ns: 5_000, ..free_port() };
    for serial_ns in [None, Some(20_000)] {
        let port = PortParams { serial_ns, ..port.clone() };
        let write = |durability| {
            let at = Extent { offset: 0, bytes: 512 };
            Command::Write { at, from: Payload::None, durability }
        };
        let finish = |fua, commands: Vec<Command>| {
            let mut engine = drives(1, PortParams { fua, ..port.clone() });
            let ask = |command| {
                let (tag, actor, drive) = (Tag(0), Actor(0), Drive(0));
                engine.submit(Request { tag, actor, drive, command });
                collect(&mut engine, 1)[0].finished
            };
            commands.into_iter().map(ask).last()
        };
        let two = vec![write(Durability::Cached), Command::Flush];
        let by_hand = finish(Fua::Native, two);
        assert_eq!(finish(Fua::Flush, vec![write(Durability::Fua)]), by_hand);
    }
}

#[test]
fn every_drive_has_a_queue_of_its_own_depth() {
    let sim = Sim::new(Shelf::new(3, 16 << 20));
    let attached =
        Attached { geometry: sim.geometry(Drive(0)), commands: 1, write_cache: WriteCaching::On };
    let mut engine = Stack::new(Port::new(free_port(), &[attached; 3], 16), sim);
    for number in 0..3 {
        assert_eq!(engine.geometry(Drive(number)).queue_depth, 16);
        for request in 0..16 {
            engine.submit(read(number, request, 512));
        }
    }
    assert_eq!(collect(&mut engine, 48).len(), 48);
}
