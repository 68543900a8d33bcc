//! A target under the name of its configuration.

use lab::{
    target::{Condition, Crew, Need, Observation, Offer, Reset, Target, TargetError, TreeSeat},
    workload::{Stream, tree::TreeLayout},
};
use record::{Completions, ManagedFlash, TargetInfo, Warning};
use std::ops::Range;

/// Whatever is measured, as the configuration that it stands for.
pub struct Configured {
    inner: Box<dyn Target>,
    info: TargetInfo,
}

impl Configured {
    /// Named `text` in the record.
    pub fn new(inner: Box<dyn Target>, text: &str) -> Self {
        let info = TargetInfo { text: text.to_owned(), ..inner.info().clone() };
        Self { inner, info }
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
        self.info = TargetInfo { text: self.info.text.clone(), ..self.inner.info().clone() };
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<Crew, TargetError> {
        self.inner.open(streams)
    }

    fn open_tree(&mut self, threads: u16) -> Result<Vec<TreeSeat>, TargetError> {
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
