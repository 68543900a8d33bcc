//! A file for the catalog from anywhere: a drive, a port or an array's driver that is built and
//! answers, or is refused in a sentence; never a panic. Needs the catalog's own files to start
//! from.
#![no_main]

use block::{Actor, Command, Drive, Durability, Engine, Extent, Instant, Payload, Request, Tag};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use target::{
    catalog::{Catalog, DriveEntry, HostEntry},
    stack::{Opened, open},
};

static BUILT_IN: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::built_in().expect("the built-in catalog"));

fuzz_target!(|text: &str| {
    if let Ok(mut drive) = DriveEntry::parse("fuzz.toml", text) {
        // The files to start from have names that are taken.
        drive.entry.name = "fuzz".to_owned();
        let mut catalog = BUILT_IN.clone();
        if catalog.add(drive).is_ok() {
            for layers in ["", ":write-cache=off", ":port=pcie/ext4:ram=64M"] {
                ask(&format!("fuzz{layers}"), &catalog);
            }
        }
    }
    if let Ok(port) = HostEntry::parse_port("fuzz.toml", text) {
        let mut catalog = BUILT_IN.clone();
        let name = port.name().to_owned();
        *catalog.port_mut("none").expect("a port") = port;
        ask(&format!("mtron-pro-32:port={name}"), &catalog);
        ask(&format!("4xintel-x25m-80:port={name}/raid5"), &catalog);
    }
    if let Ok(driver) = HostEntry::parse_driver("fuzz.toml", text) {
        let mut catalog = BUILT_IN.clone();
        *catalog.driver_mut("md").expect("a driver") = driver;
        let name = catalog.drivers().first().expect("a driver").name().to_owned();
        ask(&format!("2xmtron-pro-32/raid0:driver={name}"), &catalog);
    }
});

/// Opens the stack, if it can be, and asks it for a little of everything.
fn ask(stack: &str, catalog: &Catalog) {
    let Ok(stack) = stack.parse() else { return };
    let Ok(mut opened) = open(&stack, catalog, 1) else { return };
    // A file system's memory grows with the file, up to the last page that was written.
    let bytes_max = if opened.ram_bytes.is_some() { 1 << 30 } else { u64::MAX };
    let capacity_bytes = opened.contract().capacity_bytes.min(bytes_max);
    let last = Extent { offset: capacity_bytes - 4096, bytes: 4096 };
    let from = Payload::None;
    once(&mut opened, Command::Write { at: last, from, durability: Durability::Fua });
    once(&mut opened, Command::Read { at: Extent { offset: 0, bytes: 8192 }, into: Payload::None });
    once(&mut opened, Command::Read { at: last, into: Payload::None });
    once(&mut opened, Command::Flush);
}

/// One command with nothing else in flight, which must take time and end.
fn once(opened: &mut Opened, command: Command) {
    let (tag, actor, drive) = (Tag(1), Actor(0), Drive(0));
    let before = opened.now();
    opened.submit(Request { tag, actor, drive, command });
    let mut done = Vec::new();
    while done.is_empty() {
        opened.wait(Instant::NEVER, &mut done);
    }
    assert!(done[0].result.is_ok() && opened.now() > before);
}
