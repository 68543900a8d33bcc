//! One contract for every engine and every layer: what is queued is served without another event.
//!
//! The story: a managed volume in a file, served over NBD to a client that was alone, took 103 ms
//! for a write of 1 MiB and its flush, where the file below took 0.4; with its clean pool used up
//! it wrote 7 to 14 MiB/s, and a second client that read 512 B now and then made it fifty times as
//! fast. The drive was idle all the while. A chunk that was on the drive let the volume send the
//! next one, but that came to lie in io_uring's software queue as the wait for the first one ended;
//! nobody was told of it, and the server slept until its tick of 100 ms asked again. So the client
//! here sleeps as the server does, but without a tick: it waits for nothing but what
//! [`Engine`](block::Engine) promises to announce, and what was forgotten is never served.
//!
//! ```text
//!   client.rs    a closed loop that sleeps on poll_fd and next_wakeup, and finds a stall
//!   queued.rs    a drive behind a software queue: what is forgotten there is seen without a clock
//!   mod.rs       every engine and layer, at every depth, size and state of the clean pool
//! ```

mod client;
mod queued;

use crate::{
    TargetText,
    backend::Backend,
    catalog::Catalog,
    serve::{Cuttable, ServedEngine, Sharing, Wishes, serve},
    stack::{Managed, Opened, on_memory, open},
    volume::{HeldDrive, ManagedVolume, Order, Site, Space, Use},
};
use block::{Allocation, Data, Drive, Engine, Geometry, Stack};
use client::{Client, Load, Time, What};
use engine::{
    Access, Caching, Clock, Create, Memory, Null, Stdio, Sync, Syncing, Uring, UringOptions,
};
use host::guard::Consent;
use model::{Array, ArrayParams, Level, VolatileCache};
use queued::Queued;
use std::{fs::File, path::Path};

const MIB: u64 = 1 << 20;
const DEPTHS: [usize; 3] = [1, 16, 64];
const SIZES: [u32; 3] = [4 << 10, 64 << 10, 1 << 20];
const WHATS: [What; 3] = [What::Read, What::Write, What::WriteAndFlush];
/// A drive under a managed volume: a few dozen segments, soon full.
const DRIVE_BYTES: u64 = 64 * MIB;

/// An engine, with its managed volume in reach if it has one.
trait Subject: Engine {
    fn volume(&self) -> Option<&flash::Volume> {
        None
    }
}

impl Subject for Queued {}
impl Subject for Null {}
impl Subject for Memory {}
impl Subject for Sync {}
impl Subject for Stdio {}
impl Subject for Uring {}
impl Subject for Box<dyn Engine> {}
impl<E: Engine> Subject for Stack<VolatileCache, E> {}
impl<E: Engine> Subject for Stack<Array, E> {}

impl Subject for Managed {
    fn volume(&self) -> Option<&flash::Volume> {
        Some(&self.machine)
    }
}

impl Subject for ManagedVolume {
    fn volume(&self) -> Option<&flash::Volume> {
        Some(self.volume())
    }
}

impl Subject for Backend {
    fn volume(&self) -> Option<&flash::Volume> {
        match self {
            Self::Memory(_) => None,
            Self::Volume(managed) => Some(managed.volume()),
        }
    }
}

impl Subject for ServedEngine {
    fn volume(&self) -> Option<&flash::Volume> {
        self.volume()
    }
}

impl Subject for Opened {
    fn volume(&self) -> Option<&flash::Volume> {
        self.managed()
    }
}

/// Every load, on a clean pool and, where there is one, on one that is used up. `bytes_max` bounds
/// what a load moves.
fn serves_all(name: &str, subject: &mut dyn Subject, time: Time, bytes_max: u64) {
    let pools: &[&str] = match subject.volume() {
        Some(_) => &["clean pool full", "clean pool used up"],
        None => &["no clean pool"],
    };
    let mut client = Client::new(time, bytes_max);
    for pool in pools {
        if *pool == "clean pool used up" {
            use_up(name, subject, &mut client);
        }
        for (depth, bytes, what) in loads() {
            let load = Load { depth, bytes, what };
            if let Err(why) = client.put(subject, load) {
                panic!("{name}, {pool}, {load:?}: {why}");
            }
        }
    }
}

fn loads() -> impl Iterator<Item = (usize, u32, What)> {
    let sizes = |depth| SIZES.into_iter().map(move |bytes| (depth, bytes));
    let each = |(depth, bytes)| WHATS.into_iter().map(move |what| (depth, bytes, what));
    DEPTHS.into_iter().flat_map(sizes).flat_map(each)
}

/// Writes at random until the cleaner has to work for every write.
fn use_up(name: &str, subject: &mut dyn Subject, client: &mut Client) {
    let load = Load { depth: 16, bytes: 64 << 10, what: What::Write };
    for _ in 0..100 {
        let counters = subject.volume().and_then(flash::Volume::counters).expect("it is open");
        if counters.cleaned > 0 && counters.clean_pool_bytes == 0 {
            return;
        }
        if let Err(why) = client.put(subject, load) {
            panic!("{name}, using up the clean pool: {why}");
        }
    }
    panic!("{name}: the clean pool is not used up");
}

fn geometry(queue_depth: u32) -> Geometry {
    Geometry {
        capacity_bytes: DRIVE_BYTES,
        block_bytes: 4096,
        transfer_bytes_max: 16 << 20,
        queue_depth,
        data: Data::Stored,
    }
}

/// A managed volume on anything.
fn managed(below: Box<dyn Engine>, layer: &str) -> Managed {
    let text: crate::MemoryText = format!("64M/{layer}").parse().expect("a layer");
    on_memory(below, text.flash.as_ref().expect("it was named"), 1).expect("it fits")
}

fn text(text: &str) -> TargetText {
    text.parse().expect("a target")
}

fn wishes(destroy: &Path) -> Wishes {
    Wishes {
        sharing: Sharing::ReadWrite,
        consent: Consent::typed([destroy.display().to_string()]),
        record_writes: None,
        volatile_cache: None,
        power: Cuttable::No,
        slower: std::num::NonZeroU32::MIN,
    }
}

/// A new managed volume in the file `path`.
fn make_volume(path: &Path, clock: Clock) {
    let order = Order {
        path: path.to_owned(),
        drive_bytes: Some(DRIVE_BYTES),
        consent: Consent::default(),
        space: Space::AsItIs,
    };
    let site = Site::survey(&order).expect("a new file");
    let (stripe_bytes, parity) = (site.stripe_bytes, site.parity);
    let topology = flash::Topology {
        device_bytes: site.device_bytes,
        transfer_bytes_max: 16 << 20,
        stripe_bytes,
        erase_unit_bytes: 4096,
        parity,
    };
    let wishes = flash::Wishes {
        size: flash::Size::Spare(280),
        segment_bytes: None,
        chunk_bytes: None,
        ring_bytes: None,
        checksums: flash::Checksums::OnRead,
        classes: flash::Classes::SEPBIT,
    };
    let shape = flash::Shape::propose(&topology, &wishes).expect("it fits");
    let drive = site.take(clock).expect("a new file");
    let id = flash::VolumeId([3; 16]);
    ManagedVolume::create(drive, shape, id).expect("it fits").stop().expect("a healthy drive");
}

#[test]
fn engines_serve_what_is_queued_without_another_event() {
    let clock = Clock::start();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("drive");
    File::create(&path).and_then(|file| file.set_len(DRIVE_BYTES)).expect("a file");
    let file = || {
        let (access, caching) = (Access::ReadWrite, Caching::Buffered);
        engine::open_file(&path, access, caching, Syncing::None, Create::Existing)
            .expect("it is there")
    };
    let ring = |options: UringOptions| Uring::new(clock, file(), geometry(64), options);
    let all = 16 * MIB;
    serves_all("null", &mut Null::new(clock, geometry(64)), Time::Wall, all);
    serves_all("memory", &mut Memory::new(clock, geometry(64)), Time::Wall, all);
    serves_all("queued", &mut Queued::new(clock, geometry(64), 1), Time::Instant, all);
    serves_all("sync", &mut Sync::new(clock, file(), geometry(1)), Time::Wall, all);
    let stdio = Stdio::open(clock, &path, Access::ReadWrite, geometry(1));
    serves_all("stdio", &mut stdio.expect("it opens"), Time::Wall, all);
    for options in [UringOptions::pollable(), UringOptions::default()] {
        match ring(options) {
            Ok(mut ring) => serves_all("uring", &mut ring, Time::Wall, all),
            Err(error) => eprintln!("no ring: {error}"),
        }
    }
    let mut boxed: Box<dyn Engine> = Box::new(Queued::new(clock, geometry(64), 1));
    serves_all("boxed", &mut boxed, Time::Instant, all);
}

#[test]
fn layers_serve_what_is_queued_without_another_event() {
    let clock = Clock::start();
    let below = |drives| Queued::new(clock, geometry(256), drives);
    let all = 16 * MIB;
    let mut plain = managed(Box::new(below(1)), "flash");
    serves_all("managed volume", &mut plain, Time::Instant, all);
    let mut small = managed(Box::new(below(1)), "flash:chunk=64K");
    serves_all("managed volume of small chunks", &mut small, Time::Instant, all);
    let mut shallow = managed(Box::new(Queued::new(clock, geometry(1), 1)), "flash");
    serves_all("managed volume on a drive of depth 1", &mut shallow, Time::Instant, all);

    let cache = || VolatileCache::new(geometry(256), 7);
    let mut cached = Stack::new(cache(), below(1));
    serves_all("volatile cache", &mut cached, Time::Instant, all);
    let mut both = managed(Box::new(Stack::new(cache(), below(1))), "flash");
    serves_all("managed volume on a volatile cache", &mut both, Time::Instant, all);

    for (level, members) in
        [(Level::Raid0, 2), (Level::Raid1, 2), (Level::Raid5, 3), (Level::Raid10, 4)]
    {
        let array = || {
            let below = Queued::new(clock, geometry(4096), members);
            let geometries: Vec<Geometry> =
                (0..members).map(|member| below.geometry(Drive(member))).collect();
            let params = ArrayParams { level, chunk_bytes: 64 << 10 };
            Stack::new(Array::new(params, &geometries), below)
        };
        serves_all(&format!("{level:?}"), &mut array(), Time::Instant, all);
        let mut on_array = managed(Box::new(array()), "flash");
        serves_all(&format!("managed volume on {level:?}"), &mut on_array, Time::Instant, all);
    }
    let mut deep = Stack::new(
        VolatileCache::new(plain.geometry(Drive(0)), 8),
        managed(Box::new(below(1)), "flash"),
    );
    serves_all("volatile cache on a managed volume", &mut deep, Time::Instant, all);
}

#[test]
fn targets_in_files_and_memory_serve_what_is_queued_without_another_event() {
    let clock = Clock::start();
    let directory = tempfile::tempdir().expect("a directory");
    let plain = directory.path().join("plain");
    File::create(&plain).and_then(|file| file.set_len(DRIVE_BYTES)).expect("a file");
    let volume = directory.path().join("volume");
    make_volume(&volume, clock);
    let in_volume = text(&format!("flash:{}", volume.display()));
    let targets = [
        ("a file", TargetText::Path(plain.clone()), None),
        ("a volume in a file", in_volume.clone(), None),
        ("a volume behind a volatile cache", in_volume, Some(5)),
        ("memory", text("memory:64M"), None),
        ("a volume in memory", text("memory:64M/flash:drive-size=64M"), None),
    ];
    for (name, target, volatile_cache) in targets {
        let wishes = Wishes { volatile_cache, ..wishes(&plain) };
        let mut served = serve(&target, &wishes, clock).expect("it opens").engine;
        serves_all(name, &mut served, Time::Wall, 8 * MIB);
        served.stop().expect("a healthy drive");
    }
    let drive = HeldDrive::polled(&volume, Use::Write, clock).expect("it is free");
    let managed = ManagedVolume::open_on(drive).expect("it is healthy");
    let is_pollable = managed.poll_fd().is_some();
    let mut backend = Backend::Volume(Box::new(managed));
    assert_eq!(backend.poll_fd().is_some(), is_pollable);
    serves_all("backend", &mut backend, Time::Wall, 8 * MIB);
    let mut memory = Backend::Memory(Memory::new(clock, geometry(64)));
    serves_all("backend memory", &mut memory, Time::Wall, 8 * MIB);
}

#[test]
fn modelled_stacks_serve_what_is_queued_without_another_event() {
    const MEASURED: &[&str] = &[
        "nvme-tlc",
        "sata-tlc/ext4:ram=32M",
        "3xsata-tlc/raid5:chunk=64K",
        "sata-tlc/flash:drive-size=64M",
        "3xsata-tlc/raid5:chunk=64K/flash:drive-size=64M/ext4:ram=32M",
        "2xsata-tlc/raid0/deadline/cache:ssd=nvme-tlc,size=32M,mode=writeback",
    ];
    const SERVED: &[&str] = &[
        "nvme-plp",
        "3xnvme-plp/raid5:chunk=64K",
        "nvme-plp/flash:drive-size=64M",
        "nvme-plp/cache:ssd=nvme-plp,size=16M,mode=writeback",
    ];
    for stack in MEASURED {
        let parsed = stack.parse().expect("a stack");
        let mut opened =
            open(&parsed, &Catalog::load().expect("it is built in"), 1).expect("it opens");
        serves_all(stack, &mut opened, Time::Virtual, 16 * MIB);
    }
    let clock = Clock::start();
    for stack in SERVED {
        let target = text(&format!("model:{stack}"));
        let mut served = serve(&target, &wishes(Path::new("x")), clock).expect("it opens").engine;
        serves_all(stack, &mut served, Time::Wall, 4 * MIB);
    }
}

#[test]
fn what_is_around_an_engine_says_what_it_would_say() {
    // A managed volume on modelled drives was served as if all of it held data, and a kept one had
    // no descriptor to sleep on: each layer around an engine answered for itself what it did not
    // pass on.
    let clock = Clock::start();
    let target = text("model:nvme-plp/flash:drive-size=64M");
    let served = serve(&target, &wishes(Path::new("x")), clock).expect("it opens").engine;
    assert_eq!(served.allocation(Drive(0), 0, MIB), (Allocation::Hole, MIB));
    let memory = Backend::Memory(Memory::new(clock, geometry(64)));
    assert_eq!(memory.allocation(Drive(0), 0, MIB), (Allocation::Hole, MIB));
}
