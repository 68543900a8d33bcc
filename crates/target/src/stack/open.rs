//! Machines on a virtual clock: drives in a bank, a port over them, then an array, then a file system.

use super::{
    resolve::resolve,
    text::{BadStack, Stack as StackText},
};
use crate::catalog::{Catalog, attached};
use block::{Completion, Drive, Engine, Geometry, Instant, Machine, Request, Stack};
use model::{Bank, Port, Sim, Witness};

/// Requests outstanding at most at each drive.
pub const QUEUE_DEPTH: u32 = 1024;

/// A stack, ready to be asked.
pub struct Opened {
    /// The top of the stack, under one virtual clock that starts at 0.
    pub engine: Witness<Box<dyn Engine>>,
    /// The layers from the top down to the drives.
    pub layers: Vec<LayerInfo>,
    /// Memory of a file-system layer's page cache, bytes; `None` without one.
    pub ram_bytes: Option<u64>,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
}

/// What a layer is, for records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayerInfo {
    /// As a STACK names it, with its settings.
    pub text: String,
    /// `drive`, `port`, `array`, `file_system`.
    pub kind: &'static str,
    /// Its size, of each drive where there are several, bytes; 0 where it has none of its own.
    pub bytes: u64,
    /// In words, for a drive.
    pub title: Option<String>,
}

impl Engine for Opened {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.engine.geometry(drive)
    }

    fn now(&self) -> Instant {
        self.engine.now()
    }

    fn submit(&mut self, request: Request) {
        self.engine.submit(request);
    }

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        self.engine.wait(until, done);
    }

    fn next_wakeup(&self) -> Instant {
        self.engine.next_wakeup()
    }
}

impl Opened {
    /// The contract at the top.
    pub fn contract(&self) -> Geometry {
        self.engine.geometry(Drive(0))
    }
}

/// Builds `stack` of what the catalog has; all random choices come from `seed`.
///
/// # Errors
/// One sentence: an unknown name, a setting that cannot be, layers that do not fit.
pub fn open(stack: &StackText, catalog: &Catalog, seed: u64) -> Result<Opened, BadStack> {
    let resolved = resolve(stack, catalog, seed)?;
    let mut layers = Vec::new();
    let mut machines: Vec<Box<dyn Machine>> = Vec::new();
    let mut attachments = Vec::new();
    for drive in &resolved.drives {
        let machine = drive.entry.build(&drive.settings, QUEUE_DEPTH);
        let machine = machine.map_err(|bad| BadStack(bad.to_string()))?;
        attachments.push(attached(&*machine, drive.entry.commands(&drive.settings)));
        machines.push(machine);
    }
    for member in stack.members.iter().rev() {
        let entry = catalog.drive(&member.drive.name).expect("it was resolved");
        let title = &entry.entry.title;
        layers.push(LayerInfo {
            text: member.to_string(),
            kind: "drive",
            bytes: entry.capacity_bytes,
            title: Some(match member.count {
                1 => title.clone(),
                count => format!("{count} x {title}"),
            }),
        });
    }
    let serial_ns = resolved.array.as_ref().map(|array| array.driver.serial_ns());
    let port = Port::new(resolved.port.port(serial_ns), &attachments, QUEUE_DEPTH);
    let engine: Box<dyn Engine> = Box::new(Stack::new(port, Sim::new(Bank::new(machines))));
    layers.push(LayerInfo {
        text: format!("port {}", resolved.port.name()),
        kind: "port",
        bytes: 0,
        title: Some(resolved.port.entry.title.clone()),
    });
    if let Some(array) = &resolved.array {
        return Err(BadStack(format!("`{}`: arrays are not built yet", array.text)));
    }
    if let Some(files) = &resolved.files {
        return Err(BadStack(format!("`{}`: file systems are not built yet", files.text)));
    }
    layers.reverse();
    Ok(Opened { engine: Witness::new(engine), layers, ram_bytes: None, notes: resolved.notes })
}
