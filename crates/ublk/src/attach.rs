//! Which device serves a target: a new one, or the one that a killed server of the same target
//! left.
//!
//! A server leaves its mark on the devices that it makes: that drivelab made them, and for which
//! target. So a disk that waits for its server is taken up by a server of the same target and by no
//! other, whatever is served under its name by now.

use crate::{Refusal, Shape};
use engine::ublk::{Control, Device, Order, Orphan, State};
use rustix::io::Errno;
use std::{
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
    process, thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Where the kernel lists devices.
const DEVICES: &str = "/sys/class/ublk-char";
/// The upper half of a mark: "drvl".
const MAGIC: u64 = 0x6472_766c;
/// A killed process is gone by then, and what it had under way is done.
const DYING: Duration = Duration::from_secs(60);
/// It is asked for so often.
const GLANCE: Duration = Duration::from_millis(20);
/// What nobody has open is removed by then.
const REMOVAL: Duration = Duration::from_secs(10);

/// What device is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Its number; any without one.
    pub id: Option<u32>,
    /// What becomes of the disk when this process is killed.
    pub orphan: Orphan,
    /// The target's: [`mark_of_file`], [`mark_of_process`].
    pub mark: u64,
}

/// How a device was come by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beginning {
    /// It was made.
    Made,
    /// A killed server of the same target left it, and whoever uses the disk goes on.
    TakenUp,
}

/// Something that killed servers left, of other targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftover {
    /// A device without a disk, which was removed.
    Removed(u32),
    /// A disk that waits for its server.
    Waiting(u32),
}

/// A device that is ours to serve, and has no queue yet.
pub struct Attached {
    pub(crate) control: Control,
    pub(crate) device: Device,
    pub(crate) shape: Shape,
    /// How it was come by.
    pub beginning: Beginning,
    /// What else was found.
    pub leftovers: Vec<Leftover>,
}

/// The mark of a file or device, and of the managed volume on it: whatever its path is by then.
///
/// # Errors
/// It cannot be looked at.
pub fn mark_of_file(path: &Path, volume: Option<[u8; 16]>) -> io::Result<u64> {
    let facts = fs::metadata(path)?;
    let place = match facts.file_type().is_block_device() {
        true => [facts.rdev(), 0],
        false => [facts.dev(), facts.ino()],
    };
    let mut identity: Vec<u8> = place.iter().flat_map(|number| number.to_ne_bytes()).collect();
    identity.extend(volume.into_iter().flatten());
    Ok(mark(&identity))
}

/// The mark of what is gone with this process.
pub fn mark_of_process() -> u64 {
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    mark(&[moment.as_nanos().to_ne_bytes(), u128::from(process::id()).to_ne_bytes()].concat())
}

/// A mark of drivelab's, and in its lower half what the target is told by.
fn mark(identity: &[u8]) -> u64 {
    // FNV-1a, folded.
    let hash = identity.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    MAGIC << 32 | (hash >> 32 ^ hash) & 0xffff_ffff
}

/// Whether the driver can be asked at all, before anything is opened for it.
///
/// # Errors
/// A sentence with the cure.
pub fn available() -> Result<(), Refusal> {
    Control::open().map(drop).map_err(Refusal::of_control)
}

/// Finds or makes the device that `wish` wants, for a disk of `shape`.
///
/// # Errors
/// A sentence with the cure: see [`Refusal`].
pub fn attach(wish: &Wish, shape: &Shape) -> Result<Attached, Refusal> {
    let mut control = Control::open().map_err(Refusal::of_control)?;
    let mut leftovers = Vec::new();
    let mut devices = devices(&mut control)?;
    for device in &devices {
        if is_dead_leftover(device, is_running) {
            delete(&mut control, device.id)?;
            leftovers.push(Leftover::Removed(device.id));
        } else if is_ours(device) && device.state == State::Quiesced && device.mark != wish.mark {
            leftovers.push(Leftover::Waiting(device.id));
        }
    }
    devices.retain(|device| !leftovers.contains(&Leftover::Removed(device.id)));
    match decide(&devices, wish)? {
        Decision::Make => make(control, wish, shape, leftovers),
        Decision::TakeUp(id) => {
            let device = wait_for_orphan(&mut control, id)?;
            take_up(control, device, wish, shape, leftovers)
        }
    }
}

/// Removes a device that a killed server left; whoever uses its disk gets errors. False if somebody
/// still has it open: it goes when they close it.
///
/// # Errors
/// There is none of that number, or it is served.
pub fn remove(id: u32) -> Result<bool, Refusal> {
    let mut control = Control::open().map_err(Refusal::of_control)?;
    let device = look(&mut control, id)?.ok_or(Refusal::NoDevice { id })?;
    // One that waits still has the number of its old server, which may be another process by now.
    if device.state != State::Quiesced && device.server.is_some_and(is_running) {
        return Err(Refusal::Served { id, server: device.server });
    }
    delete(&mut control, id)
}

/// Whether it is gone already.
pub(crate) fn delete(control: &mut Control, id: u32) -> Result<bool, Refusal> {
    let failed = |source| Refusal::of_command(Some(id), "remove it", source);
    control.begin(Order::Delete, id).map_err(failed)?;
    match control.outcome_within(REMOVAL) {
        // Somebody else was quicker.
        Some(Err(error)) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => Ok(true),
        Some(outcome) => outcome.map(|()| true).map_err(failed),
        None => Ok(false),
    }
}

fn look(control: &mut Control, id: u32) -> Result<Option<Device>, Refusal> {
    let device = control.device(id);
    device.map_err(|source| Refusal::of_command(Some(id), "describe it", source))
}

/// All devices that there are.
fn devices(control: &mut Control) -> Result<Vec<Device>, Refusal> {
    let entries = match fs::read_dir(DEVICES) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Refusal::of_command(None, "list its devices", error)),
    };
    let mut ids: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("ublkc")?.parse().ok())
        .collect();
    ids.sort_unstable();
    let mut devices = Vec::new();
    for id in ids {
        devices.extend(look(control, id)?);
    }
    Ok(devices)
}

fn is_ours(device: &Device) -> bool {
    device.mark >> 32 == MAGIC
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Whether a server of ours is gone and its disk with it, so that nobody can want it.
fn is_dead_leftover(device: &Device, is_running: impl Fn(u32) -> bool) -> bool {
    is_ours(device) && device.state == State::Dead && !device.server.is_some_and(is_running)
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    /// Make a device of the wished number.
    Make,
    /// Wait until that one's server is gone, and take it up.
    TakeUp(u32),
}

fn decide(devices: &[Device], wish: &Wish) -> Result<Decision, Refusal> {
    if let Some(device) = devices.iter().find(|device| device.mark == wish.mark) {
        let Device { id, orphan, .. } = *device;
        if wish.id.is_some_and(|wished| wished != id) {
            return Err(Refusal::OtherNumber { id });
        }
        if orphan == Orphan::Waits && wish.orphan != Orphan::Waits {
            return Err(Refusal::NotRestartable { id });
        }
        return Ok(Decision::TakeUp(id));
    }
    let taken = devices.iter().find(|device| Some(device.id) == wish.id);
    match taken {
        Some(device) => Err(Refusal::Taken {
            id: device.id,
            server: device.server.filter(|_| device.state == State::Live),
            is_ours: is_ours(device),
        }),
        None => Ok(Decision::Make),
    }
}

/// The device of a server that was killed, when it has no disk or its disk waits. The target is
/// locked by us, so its old server is dead, or dying.
fn wait_for_orphan(control: &mut Control, id: u32) -> Result<Device, Refusal> {
    let mut last = None;
    for _ in 0..DYING.as_millis() / GLANCE.as_millis() {
        let device = look(control, id)?.ok_or(Refusal::NoDevice { id })?;
        if device.state == State::Quiesced || is_dead_leftover(&device, is_running) {
            return Ok(device);
        }
        last = device.server;
        thread::sleep(GLANCE);
    }
    Err(Refusal::StillServed { id, server: last })
}

fn make(
    mut control: Control,
    wish: &Wish,
    shape: &Shape,
    leftovers: Vec<Leftover>,
) -> Result<Attached, Refusal> {
    let wished = Device {
        id: 0,
        queue_depth: shape.queue_depth,
        transfer_bytes_max: shape.parameters.transfer_bytes_max,
        orphan: wish.orphan,
        mark: wish.mark,
        state: State::Dead,
        server: None,
        queues: 1,
    };
    let device = control
        .add(wish.id, &wished)
        .map_err(|source| Refusal::of_command(wish.id, "make it", source))?;
    let mut attached =
        Attached { control, device, shape: *shape, beginning: Beginning::Made, leftovers };
    if let Err(source) = attached.control.set_parameters(device.id, &shape.parameters) {
        attached.give_up();
        return Err(Refusal::of_command(Some(device.id), "give it these parameters", source));
    }
    Ok(attached)
}

fn take_up(
    mut control: Control,
    device: Device,
    wish: &Wish,
    shape: &Shape,
    leftovers: Vec<Leftover>,
) -> Result<Attached, Refusal> {
    let id = device.id;
    if device.state == State::Dead {
        // Its disk is gone: there is nothing to take up.
        delete(&mut control, id)?;
        return make(control, wish, shape, leftovers);
    }
    let found = control.parameters(id);
    let found =
        found.map_err(|source| Refusal::of_command(Some(id), "tell its parameters", source))?;
    let shape = fitted(&device, &Shape { parameters: found, ..*shape }, shape)?;
    Ok(Attached { control, device, shape, beginning: Beginning::TakenUp, leftovers })
}

/// The shape of a disk that waits, if it can be served as `wished`: it was told the system already.
fn fitted(device: &Device, found: &Shape, wished: &Shape) -> Result<Shape, Refusal> {
    let changed = |difference: String| Refusal::Changed { id: device.id, difference };
    let (old, new) = (&found.parameters, &wished.parameters);
    let number =
        |what: &str, old: u64, new: u64| changed(format!("{what} was {old} B and is {new} B"));
    if old.size_bytes != new.size_bytes {
        return Err(number("its size", old.size_bytes, new.size_bytes));
    }
    if old.logical_block_bytes != new.logical_block_bytes {
        let (old, new) = (old.logical_block_bytes, new.logical_block_bytes);
        return Err(number("its block", old.into(), new.into()));
    }
    if !old.read_only && new.read_only {
        return Err(changed("it could be written and now can only be read".to_owned()));
    }
    if !old.volatile_cache && new.volatile_cache {
        return Err(changed("it needed no flushes and now does".to_owned()));
    }
    if old.transfer_bytes_max > new.transfer_bytes_max {
        let (old, new) = (old.transfer_bytes_max, new.transfer_bytes_max);
        return Err(number("its longest transfer", old.into(), new.into()));
    }
    if device.queue_depth > wished.queue_depth || device.queues != 1 {
        return Err(changed(format!(
            "it has {} queues of {} requests, and one of {} can be served",
            device.queues, device.queue_depth, wished.queue_depth
        )));
    }
    Ok(Shape { queue_depth: device.queue_depth, ..*found })
}

impl Attached {
    /// The device's number.
    pub fn id(&self) -> u32 {
        self.device.id
    }

    /// What the disk is.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Removes a device that was made and came to nothing; one that waited goes on waiting.
    pub fn give_up(&mut self) {
        if self.beginning == Beginning::Made {
            // What led here is what is told.
            let _ = delete(&mut self.control, self.device.id);
        }
    }
}

#[cfg(test)]
mod tests;
