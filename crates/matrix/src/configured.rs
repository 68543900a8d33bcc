//! A target under the name of its configuration.

use lab::{
    target::{Need, Observation, Offer, Reset, Target, TargetError, WorkerEngines},
    workload::{Stream, tree::TreeLayout},
};
use record::{Completions, Condition, Flag, ManagedFlash, TargetInfo, Warning};
use std::ops::Range;

/// Whatever is measured, as the configuration that it stands for.
pub struct Configured {
    inner: Box<dyn Target>,
    info: TargetInfo,
    text: String,
    cache_is_off: bool,
}

impl Configured {
    /// Named `text` in the record. `cache_is_off`: the drive has said that its write cache is off,
    /// whatever the kernel believes.
    pub fn new(inner: Box<dyn Target>, text: &str, cache_is_off: bool) -> Self {
        let info = inner.info().clone();
        let mut configured = Self { inner, info, text: text.to_owned(), cache_is_off };
        configured.name();
        configured
    }

    fn name(&mut self) {
        self.info = TargetInfo { text: self.text.clone(), ..self.inner.info().clone() };
        if self.cache_is_off {
            self.info.flags.retain(|flag| *flag != Flag::VolatileCache);
            self.info.warnings.retain(|warning| warning.flag != Some(Flag::VolatileCache));
        }
    }
}

impl Target for Configured {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn offer(&self) -> Offer {
        self.inner.offer()
    }

    fn prepare(&mut self, need: &Need) -> Result<(), TargetError> {
        self.inner.prepare(need)?;
        self.name();
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        self.inner.open(streams)
    }

    fn open_tree(&mut self, threads: u16) -> Result<WorkerEngines, TargetError> {
        self.inner.open_tree(threads)
    }

    fn plant(&mut self, layout: &TreeLayout) -> Result<(), TargetError> {
        self.inner.plant(layout)
    }

    fn reset(&mut self, reset: Reset) -> Result<(), TargetError> {
        self.inner.reset(reset)
    }

    fn watch(&mut self, area: Range<u64>) -> Observation {
        self.inner.watch(area)
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        self.inner.inspect()
    }

    fn vanished(&self) -> Option<String> {
        self.inner.vanished()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        self.inner.conditions()
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        self.inner.cpu_clock()
    }

    fn completions(&self) -> Option<Completions> {
        self.inner.completions()
    }

    fn managed_flash(&self) -> Option<ManagedFlash> {
        self.inner.managed_flash()
    }
}
