//! Drives on their media, in reach while a stack stands on them: somebody may cut their power.

use super::{
    drives::Members,
    named::ResolvedDrive,
    resolve::resolve,
    text::{BadStack, Stack},
};
use crate::catalog::Catalog;
use block::{Completion, Drive, Effects, Geometry, Instant, Machine, Request, Rng};
use model::{Attached, BatteryMemory, Contents, Flushes, Grain, Loss, Media, Rig, WriteCache};
use std::{cell::RefCell, rc::Rc};

/// What served drives' bytes have to fear.
#[derive(Clone, Debug)]
pub enum Power {
    /// Nothing, as long as the process lives.
    Steady,
    /// It may be cut, and takes what the drives' write caches hold: of drives that make this of
    /// flushes.
    MayGo(Flushes),
    /// The same, on what a cut left.
    Back(Kept),
}

/// What is there after a power cut.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The drives' media.
    pub media: Vec<Media>,
    /// What a controller's battery kept, where there is one.
    pub memory: Option<BatteryMemory>,
}

/// The drives, and how many they are; clones are the same ones.
#[derive(Clone)]
pub(super) struct Bench(Rc<RefCell<Rig<Members>>>, u16);

impl Bench {
    /// With new media, or those that a power cut left.
    pub fn new(drives: Members, power: Power, all: &[(&ResolvedDrive<'_>, &Attached)]) -> Self {
        let new = || all.iter();
        let media = match power {
            Power::Steady => {
                new().map(|(own, drive)| medium(own, drive, WriteCache::Protected)).collect()
            }
            Power::MayGo(flushes) => new()
                .map(|(own, drive)| medium(own, drive, write_cache(own)).with_flushes(flushes))
                .collect(),
            Power::Back(kept) => kept.media,
        };
        let count = media.len() as u16;
        Self(Rc::new(RefCell::new(Rig::new(drives, media))), count)
    }

    /// How many sectors a power cut could take now.
    pub fn sectors_at_risk(&self) -> u64 {
        self.0.borrow().sectors_at_risk()
    }

    /// Whether all drives do what a flush asks for.
    pub fn honours_flushes(&self) -> bool {
        let rig = self.0.borrow();
        let honours = |number| rig.media(Drive(number)).flushes() == Flushes::Honoured;
        (0..self.1).all(honours)
    }

    /// The power of all drives goes: what their media hold then, and what was lost. Of what no
    /// flush covered `seed` draws for each write, as likely one as the other, whether it is lost,
    /// torn anywhere or there: what is said to be durable and is not does not get away by luck.
    ///
    /// # Panics
    /// While there is a stack above.
    pub fn power_cut(self, now: Instant, seed: u64) -> (Vec<Media>, Loss) {
        let mut rig = Rc::into_inner(self.0).expect("the stack above is gone").into_inner();
        let loss = rig.power_cut_with(now, Grain::Place, &mut choices(seed));
        (rig.into_parts().0, loss)
    }

    /// What [`power_cut`](Self::power_cut) would leave now, and lose; nothing happens to the
    /// drives.
    pub fn left_by_cut(&self, seed: u64) -> (Vec<Media>, Loss) {
        let rig = self.0.borrow();
        let mut choose = choices(seed);
        let mut lost = Loss::default();
        let left = (0..self.1).map(|number| {
            let mut medium = rig.media(Drive(number)).clone();
            lost = lost.and(medium.power_cut_with(Grain::Place, &mut choose));
            medium
        });
        (left.collect(), lost)
    }
}

/// What of each write is there after a power cut.
fn choices(seed: u64) -> impl FnMut(usize) -> usize {
    let mut rng = Rng::new(seed, 0x6375_7473);
    move |choices| rng.below(choices as u64) as usize
}

impl Machine for Bench {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.0.borrow().geometry(drive)
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.0.borrow_mut().on_request(now, request, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        self.0.borrow_mut().on_completion(now, completion, effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.0.borrow_mut().on_wakeup(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.0.borrow().next_wakeup()
    }
}

/// A drive's medium, all zeroes.
fn medium(own: &ResolvedDrive<'_>, drive: &Attached, cache: WriteCache) -> Media {
    let Geometry { capacity_bytes, block_bytes, .. } = drive.geometry;
    let sector_bytes = if block_bytes < 4096 { 512 } else { 4096 };
    let atomic_bytes = own.settings.atomic_write_bytes.unwrap_or(0).max(sector_bytes.into());
    Media::new(capacity_bytes, sector_bytes, Contents::Bytes)
        .with_cache(cache)
        .with_atomic_writes(atomic_bytes)
}

/// Whether a power cut may take a completed write from `stack`: out of a drive's write cache, or
/// out of what a managed volume gathers.
///
/// # Errors
/// One sentence, when the stack cannot be built.
pub fn has_volatile_cache(stack: &Stack, catalog: &Catalog) -> Result<bool, BadStack> {
    let resolved = resolve(stack, catalog, 0)?;
    let is_volatile = |drive: &ResolvedDrive<'_>| write_cache(drive) != WriteCache::Protected;
    let beside = resolved
        .beside
        .as_ref()
        .is_some_and(|layer| layer.has_volume() || is_volatile(&layer.drive));
    // A controller's memory gives up only what the members' caches have written down.
    let has_battery = resolved.array.as_ref().is_some_and(|array| array.memory.is_some());
    let disks = !has_battery && resolved.drives.iter().any(is_volatile);
    Ok(resolved.flash.is_some() || beside || disks)
}

/// What a power cut does to the drive's completed writes.
fn write_cache(drive: &ResolvedDrive<'_>) -> WriteCache {
    match drive.entry.volatile_bytes(&drive.settings) {
        0 => WriteCache::Protected,
        bytes_max => WriteCache::Volatile { bytes_max },
    }
}
