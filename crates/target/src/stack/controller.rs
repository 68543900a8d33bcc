//! The memory of a RAID controller: what `cache=` of an array stands for, and the machine in reach
//! while a stack stands on it, for a power cut leaves what it holds.

use super::{settings::Settings, text::BadStack};
use crate::catalog::{Catalog, HostEntry};
use block::{Completion, Drive, Effects, Geometry, Instant, Machine, Request, display_bytes};
use model::{
    ArrayParams, BatteryCache, BatteryCacheParams, BatteryMemory, FastCache, GatheredRow, Origin,
};
use std::{cell::RefCell, rc::Rc};

/// What a controller's memory may be.
const MEMORY_BYTES: std::ops::RangeInclusive<u64> = 16 << 20..=8 << 30;
/// Longest request of an array, which a row must not exceed to be written at once.
const ROW_BYTES_MAX: u64 = 4 << 20;
/// So many rows fit into memory at least.
const ROWS_MIN: u64 = 16;

/// A controller's memory.
#[derive(Clone)]
pub(super) struct ResolvedMemory {
    pub params: BatteryCacheParams,
    /// What the user should know.
    pub note: String,
}

/// The memory of an array's `driver`, if it has one, as large as `cache=` says.
pub(super) fn resolve_memory(
    settings: &Settings<'_>,
    array: &ArrayParams,
    members: u64,
    driver: &HostEntry,
    catalog: &Catalog,
) -> Result<Option<ResolvedMemory>, BadStack> {
    let row = GatheredRow::of(array, members);
    let Some(own) = driver.memory(row) else {
        let Some(text) = settings.text("cache") else { return Ok(None) };
        let with = catalog.drivers().iter().filter(|other| other.has_memory());
        let with: Vec<_> = with.map(|other| format!("`driver={}`", other.name())).collect();
        let about = format!(
            "is memory that the driver `{}` has not: write {}, or leave it out",
            driver.name(),
            with.join(" or ")
        );
        return Err(settings.wrong("cache", text, &about));
    };
    if row.bytes() > ROW_BYTES_MAX {
        let chunk = display_bytes(row.chunk_bytes);
        let about = format!(
            "makes rows of {}: with `driver={}` a row has {} at most; write a smaller chunk",
            display_bytes(row.bytes()),
            driver.name(),
            display_bytes(ROW_BYTES_MAX)
        );
        return Err(settings.wrong("chunk", &chunk, &about));
    }
    let least = (ROWS_MIN * row.bytes()).max(*MEMORY_BYTES.start());
    let size_bytes = settings.bytes("cache", least..=*MEMORY_BYTES.end())?;
    let size_bytes = size_bytes.unwrap_or(own.size_bytes).max(least);
    let params = BatteryCacheParams { size_bytes, ..own };
    let note = format!(
        "`driver={}` is a class of controllers, not fitted and no product: {} of memory with a \
         battery answer writes and flushes",
        driver.name(),
        display_bytes(params.size_bytes)
    );
    Ok(Some(ResolvedMemory { params, note }))
}

/// The controller; clones are the same one.
#[derive(Clone)]
pub(super) struct Controller(Rc<RefCell<BatteryCache>>);

impl ResolvedMemory {
    /// The machine over an array like `below`, with what a battery kept.
    pub fn machine(
        &self,
        text: &str,
        below: Geometry,
        kept: Option<BatteryMemory>,
    ) -> Result<Controller, BadStack> {
        let size_bytes = self.params.size_bytes;
        if size_bytes >= below.capacity_bytes {
            return Err(BadStack::Text(format!(
                "`{text}` has {} of memory in front of {}: memory that is no smaller than the \
                 array needs no array; write a smaller `cache=`",
                display_bytes(size_bytes),
                display_bytes(below.capacity_bytes)
            )));
        }
        let origin = kept.map_or(Origin::Nothing, Origin::PowerCut);
        let machine = BatteryCache::new(self.params, below, origin);
        Ok(Controller(Rc::new(RefCell::new(machine))))
    }
}

impl Controller {
    /// What the battery keeps if the power goes now.
    pub fn kept(&self) -> BatteryMemory {
        self.0.borrow().kept()
    }

    /// How the memory stands.
    pub fn fast_cache(&self) -> FastCache {
        self.0.borrow().fast_cache()
    }
}

impl Machine for Controller {
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
