//! Machines on a virtual clock: drives in a bank, a port over them, then an array, a managed
//! volume, a file system.
//!
//! Served drives have media, and their power can be cut: the whole stack above forgets what it was
//! about, the media keep what they must, and the same stack is opened on them again.

use super::{
    array::ResolvedArray,
    bench::{Bench, Kept, Power},
    cached::{beside, is_write_through},
    controller::Controller,
    drives::Drives,
    elevator::ResolvedElevator,
    layers::{LayerInfo, QUEUE_DEPTH},
    managed::{Found, Managed, with_flash},
    meter::{Metered, Traffic},
    resolve::{Resolved, ResolvedFiles, resolve},
    text::{BadStack, Stack as StackText},
};
use crate::{
    catalog::{Catalog, DriveKind},
    pace::Pace,
};
use block::{Data, Drive, Engine, Geometry, Instant, Machine, Stack, Wrapper};
use model::{
    Array, Bank, BatteryMemory, Beside, Cached, Elevator, FastCache, Loss, Paced, Port, Sim,
    SsdCacheTally, Witness,
    fs::{FileSystem, Placement},
};

/// Enough for any array: with the smallest chunk its longest request makes some 2,000 commands for
/// a member.
const MEMBER_DEPTH: u32 = 8192;
/// What a member's queue never exceeds: arrays of small chunks take fewer requests at a time.
const MEMBER_DEPTH_MAX: u32 = 65_536;

/// What a stack is set up for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// To be measured: in virtual time, and nothing is kept.
    Measured,
    /// To be served: answers come when the drives would give them, at this pace, and bytes are
    /// kept in memory.
    Served(Pace, Power),
    /// To have a log of writes replayed: in virtual time, and bytes are kept in memory.
    Replayed(Power),
}

impl Purpose {
    /// Whether bytes are kept.
    fn keeps_bytes(&self) -> bool {
        !matches!(self, Self::Measured)
    }

    /// What a controller's battery kept, where this is what a power cut left.
    fn kept_memory(&self) -> Option<BatteryMemory> {
        match self {
            Self::Served(_, Power::Back(kept)) | Self::Replayed(Power::Back(kept)) => {
                kept.memory.clone()
            }
            _ => None,
        }
    }

    /// Whether it is what a power cut left.
    fn is_back(&self) -> bool {
        matches!(self, Self::Served(_, Power::Back(_)) | Self::Replayed(Power::Back(_)))
    }
}

/// A stack, ready to be asked. It is an engine itself, and remembers in one number what completed.
pub struct Opened {
    /// The top of the stack, under one clock.
    pub engine: Witness<Top>,
    /// The layers from the top down to the drives.
    pub layers: Vec<LayerInfo>,
    /// Memory of a file-system layer's page cache, bytes; `None` without one.
    pub ram_bytes: Option<u64>,
    /// What the drives were asked for so far.
    pub traffic: Traffic,
    /// What the cache on flash has done so far; `None` without one.
    pub ssd_cache: Option<SsdCacheTally>,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
    /// Whether a completed write lies in no cache that a flush would empty.
    pub writes_through: bool,
    /// The drives, in reach below all that stands on them.
    reach: Reach,
    /// A controller with memory, in the same way.
    controller: Option<Controller>,
}

/// Drives that can be reached beside the requests.
enum Reach {
    /// Measured: they are asked how their caches stand.
    Measured(Drives),
    /// Served or replayed, on their media: their power can be cut.
    Served(Bench),
}

/// What lies on top. A file system is kept in reach: files are opened and cut, and its cache is
/// dropped, beside the requests.
pub enum Top {
    /// A drive, an array or a managed volume.
    Volume(Below),
    /// A file on a file system.
    Files(Box<Stack<FileSystem, Below>>),
}

/// What a file system may lie on. A managed volume is kept in reach: its counters are asked for.
pub enum Below {
    /// A drive or an array.
    Plain(Box<dyn Engine>),
    /// A managed volume.
    Managed(Box<Managed>),
}

/// An engine that is one of two.
macro_rules! either {
    ($either:ident, $one:ident, $other:ident) => {
        impl Wrapper for $either {
            type Inner = dyn Engine;

            fn inner(&self) -> &Self::Inner {
                match self {
                    Self::$one(engine) => engine,
                    Self::$other(stack) => &**stack,
                }
            }

            fn inner_mut(&mut self) -> &mut Self::Inner {
                match self {
                    Self::$one(engine) => engine,
                    Self::$other(stack) => &mut **stack,
                }
            }
        }
    };
}

either!(Top, Volume, Files);
either!(Below, Plain, Managed);

impl Wrapper for Opened {
    type Inner = Witness<Top>;

    fn inner(&self) -> &Witness<Top> {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Witness<Top> {
        &mut self.engine
    }
}

impl Opened {
    /// As an engine whose calls are compiled in this room, which a release optimises. An `Opened`
    /// itself is one as well: then they are compiled where it is used, at that room's level.
    #[inline(never)]
    pub fn as_engine(&mut self) -> &mut dyn Engine {
        self
    }

    /// The contract at the top.
    pub fn contract(&self) -> Geometry {
        self.engine.geometry(Drive(0))
    }

    /// The file system on top, if there is one: how files are opened, cut, and dropped from its
    /// cache.
    pub fn file_system(&mut self) -> Option<&mut FileSystem> {
        match &mut self.engine.engine {
            Top::Files(stack) => Some(&mut stack.machine),
            Top::Volume(_) => None,
        }
    }

    /// Whether a file system is on top that has a tree: one with a journal.
    pub fn has_tree(&self) -> bool {
        match &self.engine.engine {
            Top::Files(stack) => stack.machine.has_journal(),
            Top::Volume(_) => false,
        }
    }

    /// How many sectors of a served stack's drives a power cut could take now; none of a stack that
    /// is measured.
    pub fn sectors_at_risk(&self) -> u64 {
        match &self.reach {
            Reach::Served(bench) if self.keeps_what_drives_lose(bench) => 0,
            Reach::Served(bench) => bench.sectors_at_risk(),
            Reach::Measured(_) => 0,
        }
    }

    /// Whether a controller's memory has everything that a power cut takes out of drives' caches.
    fn keeps_what_drives_lose(&self, bench: &Bench) -> bool {
        self.controller.is_some() && bench.honours_flushes()
    }

    /// The power of a served stack goes: whatever it was about is forgotten. Gives what the drives'
    /// media hold then, as `seed` draws it, and what was lost.
    ///
    /// # Panics
    /// Of a stack that is measured.
    pub fn power_cut(self, seed: u64) -> (Kept, Loss) {
        let now = self.now();
        let Reach::Served(bench) = &self.reach else { panic!("only a served stack has media") };
        let is_kept = self.keeps_what_drives_lose(bench);
        let Self { engine, reach, controller, .. } = self;
        let memory = controller.map(|controller| controller.kept());
        drop(engine);
        let Reach::Served(bench) = reach else { unreachable!("it was") };
        let (media, loss) = bench.power_cut(now, seed);
        (Kept { media, memory }, seen_above(loss, is_kept))
    }

    /// What the media of a replayed stack's drives would hold if its power went now, as `seed`
    /// draws it, and what would be lost. The stack goes on.
    ///
    /// # Panics
    /// Of a stack that is measured.
    pub fn left_by_cut(&self, seed: u64) -> (Kept, Loss) {
        let Reach::Served(bench) = &self.reach else { panic!("only a served stack has media") };
        let (media, loss) = bench.left_by_cut(seed);
        let memory = self.controller.as_ref().map(Controller::kept);
        (Kept { media, memory }, seen_above(loss, self.keeps_what_drives_lose(bench)))
    }

    /// How the fast caches of measured drives and of their controller stand, those of one kind
    /// together.
    pub fn fast_caches(&self) -> Vec<FastCache> {
        let mut all: Vec<FastCache> = Vec::new();
        let Reach::Measured(drives) = &self.reach else { return all };
        let controller = self.controller.as_ref().map(Controller::fast_cache);
        for cache in drives.fast_caches(self.now()).into_iter().chain(controller) {
            match all.iter_mut().find(|known| known.kind == cache.kind) {
                Some(known) => {
                    known.capacity_bytes += cache.capacity_bytes;
                    known.held_bytes += cache.held_bytes;
                    known.taken_bytes += cache.taken_bytes;
                }
                None => all.push(cache),
            }
        }
        all
    }

    /// A second one of the managed volume on top, on drives of its own, that goes on from the state
    /// of this one; none without such a volume, or where something below cannot be copied.
    pub fn copy_managed(&self) -> Option<Managed> {
        let Top::Volume(Below::Managed(stack)) = &self.engine.engine else { return None };
        stack.copy_with(stack.machine.twin()?)
    }

    /// The managed volume, if there is one: its counters.
    pub fn managed(&self) -> Option<&flash::Volume> {
        let below = match &self.engine.engine {
            Top::Files(stack) => &stack.engine,
            Top::Volume(below) => below,
        };
        match below {
            Below::Managed(stack) => Some(&stack.machine),
            Below::Plain(_) => None,
        }
    }
}

/// What a power cut lost, of drives whose controller has all of it still or has not.
fn seen_above(loss: Loss, is_kept: bool) -> Loss {
    if is_kept { Loss { sectors_at_risk: 0, sectors_changed: 0, ..loss } } else { loss }
}

/// Builds `stack` of what the catalog has; all random choices come from `seed`.
///
/// # Errors
/// One sentence: an unknown name, a setting that cannot be, layers that do not fit.
pub fn open(stack: &StackText, catalog: &Catalog, seed: u64) -> Result<Opened, BadStack> {
    open_for(Purpose::Measured, stack, catalog, seed)
}

/// As [`open`], for a purpose. To be served, no layer may only time.
///
/// # Errors
/// As [`open`].
pub fn open_for(
    purpose: Purpose,
    stack: &StackText,
    catalog: &Catalog,
    seed: u64,
) -> Result<Opened, BadStack> {
    let resolved = resolve(stack, catalog, seed)?;
    if let (Some(files), true) = (&resolved.files, purpose.keeps_bytes()) {
        return Err(BadStack::Text(format!(
            "`{}` only times and keeps no bytes: leave it out, and make a file system on what is served",
            files.text
        )));
    }
    let mut layers = drive_layers(stack, &resolved);
    let traffic = Traffic::default();
    let was_there = purpose.is_back();
    let kept = purpose.kept_memory();
    let (engine, reach) = drives_and_port(&resolved, purpose, traffic.clone(), &mut layers)?;
    let (engine, controller) = match &resolved.array {
        Some(array) => {
            let engine = with_array(engine, array, &resolved, &mut layers)?;
            with_controller(engine, array, resolved.beside.is_some(), kept)?
        }
        None => (engine, None),
    };
    let engine = match &resolved.elevator {
        Some(elevator) => with_elevator(engine, elevator, resolved.beside.is_some(), &mut layers),
        None => engine,
    };
    let found = if was_there { Found::Volume } else { Found::Nothing };
    let mut ssd_cache = None;
    let engine = match &resolved.beside {
        Some(layer) => layer.set_on(engine, (found, seed), &mut layers, &mut ssd_cache)?,
        None => engine,
    };
    let engine = match &resolved.flash {
        Some(layer) => {
            Below::Managed(Box::new(with_flash(engine, layer, found, seed, &mut layers)?))
        }
        None => Below::Plain(engine),
    };
    let placement = resolved.beside.as_ref().and_then(|layer| layer.placement());
    let top = match resolved.files {
        Some(files) => with_files(engine, files, placement, &mut layers),
        None => Top::Volume(engine),
    };
    layers.reverse();
    let ram_bytes = resolved.ram_bytes;
    // A managed volume gathers what is written to it, whatever the drives do.
    let writes_through =
        resolved.flash.is_none() && is_write_through(&resolved.drives, resolved.beside.as_ref());
    let engine = Witness::new(top);
    let notes = resolved.notes;
    Ok(Opened {
        engine,
        layers,
        ram_bytes,
        traffic,
        ssd_cache,
        notes,
        writes_through,
        reach,
        controller,
    })
}

fn drive_layers(stack: &StackText, resolved: &Resolved<'_>) -> Vec<LayerInfo> {
    let mut drives = resolved.drives.iter();
    let layer = |member: &super::Member| {
        let drive = drives.nth(usize::from(member.count) - 1).expect("it was resolved");
        let entry = drive.entry;
        let title = &entry.entry.title;
        LayerInfo {
            text: member.to_string(),
            kind: "drive",
            bytes: entry.capacity(&drive.settings),
            title: Some(match member.count {
                1 => title.clone(),
                count => format!("{count} x {title}"),
            }),
            rotational: Some(entry.kind == DriveKind::Disk),
        }
    };
    let mut layers: Vec<LayerInfo> = stack.members.iter().map(layer).collect();
    layers.reverse();
    layers
}

fn drives_and_port(
    resolved: &Resolved<'_>,
    purpose: Purpose,
    traffic: Traffic,
    layers: &mut Vec<LayerInfo>,
) -> Result<(Box<dyn Engine>, Reach), BadStack> {
    let mut machines: Vec<Box<dyn Cached>> = Vec::new();
    let mut attachments = Vec::new();
    for drive in &resolved.drives {
        let machine = drive.entry.build(&drive.settings, QUEUE_DEPTH);
        let machine = machine?;
        let mut attached = drive.entry.attached(&*machine, &drive.settings);
        if purpose.keeps_bytes() {
            attached.geometry.data = Data::Stored;
        }
        attachments.push(attached);
        machines.push(machine);
    }
    let serial_ns = resolved.array.as_ref().map(|array| array.driver.serial_ns());
    let depth = match resolved.array {
        Some(_) => member_depth(resolved, &attachments),
        None => QUEUE_DEPTH + 1,
    };
    let port = Port::new(resolved.port.port(serial_ns), &attachments, depth);
    let is_served = purpose.keeps_bytes();
    let mut flash = None;
    if let Some(layer) = &resolved.beside {
        let (machine, attached) = layer.machine()?;
        machines.push(machine);
        attachments.push(attached);
        flash = Some(attached.geometry);
        traffic.set_beside(Drive(resolved.drives.len() as u16));
    }
    let disks = resolved.drives.len() as u16;
    let port = Beside::new(port, disks, disks, beside(flash, is_served));
    layers.push(LayerInfo {
        text: format!("port {}", resolved.port.name()),
        kind: "port",
        bytes: 0,
        title: Some(resolved.port.entry.title.clone()),
        rotational: None,
    });
    let drives = Metered { machine: Bank::new(machines), traffic };
    let (pace, power) = match purpose {
        Purpose::Measured => {
            let drives = Drives::new(drives);
            let engine = Box::new(Stack::new(port, Sim::new(drives.clone())));
            return Ok((engine, Reach::Measured(drives)));
        }
        Purpose::Served(pace, power) => (Some(pace), power),
        Purpose::Replayed(power) => (None, power),
    };
    let all: Vec<_> = resolved.all_drives().zip(&attachments).collect();
    let bench = Bench::new(drives, power, &all);
    let engine: Box<dyn Engine> = match pace {
        Some(pace) => Box::new(Stack::new(port, Paced::new(bench.clone(), pace))),
        None => Box::new(Stack::new(port, Sim::new(bench.clone()))),
    };
    Ok((engine, Reach::Served(bench)))
}

/// How many requests a member must take so that the array above takes [`QUEUE_DEPTH`].
fn member_depth(resolved: &Resolved<'_>, members: &[model::Attached]) -> u32 {
    let array = resolved.array.as_ref().expect("there is an array");
    let member =
        |member: &model::Attached| Geometry { queue_depth: MEMBER_DEPTH, ..member.geometry };
    let members: Vec<Geometry> = members.iter().map(member).collect();
    let trial = Array::new(array.params(), &members).geometry(Drive(0));
    let commands = MEMBER_DEPTH / (trial.queue_depth + 1) + 1;
    // A controller asks for rows and flushes beside what it is asked for.
    let own = array.memory.as_ref().map_or(0, |memory| memory.params.rows_max + 1);
    (commands * (QUEUE_DEPTH + own + 2)).clamp(MEMBER_DEPTH, MEMBER_DEPTH_MAX)
}

fn with_array(
    engine: Box<dyn Engine>,
    array: &ResolvedArray<'_>,
    resolved: &Resolved<'_>,
    layers: &mut Vec<LayerInfo>,
) -> Result<Box<dyn Engine>, BadStack> {
    let count = resolved.drives.len() as u16;
    let members: Vec<Geometry> = (0..count).map(|number| engine.geometry(Drive(number))).collect();
    let mut machine = Array::new(array.params(), &members);
    for &member in &array.degraded {
        if !machine.fail(member) {
            return Err(BadStack::Text(format!(
                "`{}`: without member {member} there is no array left: leave `degraded=` out",
                array.text
            )));
        }
        if let Some(pace) = array.rebuild {
            machine.replace(Instant(0), member, pace);
        }
    }
    let flash = resolved.beside.as_ref().map(|_| engine.geometry(Drive(count)));
    let machine = Beside::new(machine, 1, count, beside(flash, false));
    let engine: Box<dyn Engine> = Box::new(Stack::new(machine, engine));
    let bytes = engine.geometry(Drive(0)).capacity_bytes;
    layers.push(LayerInfo {
        text: array.text.clone(),
        kind: "array",
        bytes,
        title: None,
        rotational: None,
    });
    Ok(engine)
}

/// A file system, and what of it lies on drive 1, if there is one for it.
fn with_files(
    engine: Below,
    files: ResolvedFiles,
    placement: Option<Placement>,
    layers: &mut Vec<LayerInfo>,
) -> Top {
    let (params, first) = (files.params, engine.geometry(Drive(0)));
    let machine = match placement {
        Some(placement) => {
            let second = engine.geometry(Drive(1));
            FileSystem::with_second(second, placement, params, first, QUEUE_DEPTH)
        }
        None => FileSystem::new(params, first, QUEUE_DEPTH),
    };
    let stack = Stack::new(machine, engine);
    let bytes = stack.geometry(Drive(0)).capacity_bytes;
    layers.push(LayerInfo {
        text: files.text,
        kind: "file_system",
        bytes,
        title: None,
        rotational: None,
    });
    Top::Files(Box::new(stack))
}

/// The controller of an array, where its driver stands for one.
fn with_controller(
    engine: Box<dyn Engine>,
    array: &ResolvedArray<'_>,
    is_cached: bool,
    kept: Option<BatteryMemory>,
) -> Result<(Box<dyn Engine>, Option<Controller>), BadStack> {
    let Some(memory) = &array.memory else { return Ok((engine, None)) };
    let controller = memory.machine(&array.text, engine.geometry(Drive(0)), kept)?;
    let flash = is_cached.then(|| engine.geometry(Drive(1)));
    let machine = Beside::new(controller.clone(), 1, 1, beside(flash, false));
    Ok((Box::new(Stack::new(machine, engine)), Some(controller)))
}

fn with_elevator(
    engine: Box<dyn Engine>,
    elevator: &ResolvedElevator,
    is_cached: bool,
    layers: &mut Vec<LayerInfo>,
) -> Box<dyn Engine> {
    let below = engine.geometry(Drive(0));
    layers.push(LayerInfo {
        text: elevator.text.clone(),
        kind: "elevator",
        bytes: below.capacity_bytes,
        title: None,
        rotational: None,
    });
    let machine = Elevator::new(elevator.params.clone(), below, below.queue_depth);
    let flash = is_cached.then(|| engine.geometry(Drive(1)));
    Box::new(Stack::new(Beside::new(machine, 1, 1, beside(flash, false)), engine))
}
