//! What a matrix would do: every command of every configuration, and nothing is done.

use crate::{
    axes::Configuration,
    axis::Axis,
    cut::checker,
    device::{TestDevice, with_write_cache},
    durability::Durability,
    journal::Outside,
    journal_place::Place,
    order::{Caller, MatrixOrder, PowerCuts},
    stage,
};
use host::ledger::attaching;
use report::number::counted;
use std::path::{Path, PathBuf};

/// The plan in the order of the table; the real order is drawn anew each round.
pub fn describe(order: &MatrixOrder, caller: &Caller, device: &TestDevice) -> String {
    let configurations = order.axes.configurations();
    let methods: Vec<&str> =
        order.methods.iter().map(|order| order.method.file.name.as_str()).collect();
    let mut text = format!(
        "{}\n{}, each measured with {} in {} of random order\n",
        device.describe(order.slower()),
        counted(configurations.len(), "configuration"),
        methods.join(", "),
        counted(order.rounds, "round")
    );
    let cuts = matches!(device, TestDevice::Model { .. }) && order.cuts == PowerCuts::All;
    for configuration in &configurations {
        let (class, why) = Durability::of(configuration, device.machine(configuration));
        text += &format!("\n{configuration}: {class}, {why}\n");
        for line in commands(device, configuration, caller) {
            text += &format!("  {line}\n");
        }
        if cuts {
            text += &format!(
                "  at the end, once more: {}\n",
                cutting(configuration, caller).join("; ")
            );
        }
    }
    text + "\nAfter each: all of it in reverse.\n"
}

/// What is done when its power is cut.
fn cutting(configuration: &Configuration, caller: &Caller) -> Vec<String> {
    let served = format!("served with {}, written and flushed", caller.serving.power_cut);
    let lines = [
        &served,
        "kill -USR1 PID",
        "umount and losetup --detach",
        "attached and mounted again, compared",
    ];
    let checker = checker(configuration, Path::new("/dev/loopN"));
    let checker = checker.map(|program| program.to_string());
    lines.map(str::to_owned).into_iter().chain(checker).collect()
}

fn commands(device: &TestDevice, configuration: &Configuration, caller: &Caller) -> Vec<String> {
    let (place, mut lines) = (&caller.place, Vec::new());
    let at = match device {
        TestDevice::Loop { directory, bytes, .. } => {
            let file = directory.path().join(".drivelab-matrix-PID");
            lines.push(format!("truncate -s {bytes} {}", file.display()));
            lines.push(attaching(&file, None).to_string());
            Path::new("/dev/loopN")
        }
        TestDevice::Device { device, .. } => device.path(),
        TestDevice::Model { stack } => {
            let stack = with_write_cache(stack, configuration.level(Axis::WriteCache));
            let (socket, nbd) = (place.join("nbd.sock"), place.join("nbd"));
            let (socket, target) = (socket.display(), format!("model:{stack}"));
            let words = (caller.serving.words)(
                &target,
                &format!("unix:{socket}"),
                None,
                caller.serving.slower,
            );
            lines.push(format!("drivelab {}", words.join(" ")));
            lines.push(format!("nbdfuse {} 'nbd+unix:///?socket={socket}'", nbd.display()));
            lines.push(attaching(&nbd.join("nbd"), None).to_string());
            Path::new("/dev/loopN")
        }
    };
    let cache = configuration.level(Axis::WriteCache);
    if let (TestDevice::Device { .. }, Some(level)) = (device, cache) {
        lines.push(format!("the drive's own switch: write cache {level}"));
    }
    let journal = outside(device, configuration, &mut lines);
    lines.extend(stage::commands(configuration, at, journal.as_ref(), &place.join("mount")));
    if let Some(percent) = configuration.level(Axis::Fill).filter(|percent| *percent != "0") {
        lines.push(format!("fill to {percent} %, after churn"));
    }
    lines
}

/// Where the journal is to lie, if not inside; a file for it is made first.
fn outside(
    device: &TestDevice,
    configuration: &Configuration,
    lines: &mut Vec<String>,
) -> Option<Outside> {
    match Place::of_journal(configuration) {
        Place::Inside => None,
        Place::File(bytes) => {
            let TestDevice::Loop { directory, .. } = device else { return None };
            let file = directory.path().join(".drivelab-matrix-PID-journal");
            lines.push(format!("truncate -s {bytes} {}", file.display()));
            lines.push(attaching(&file, None).to_string());
            Some(Outside { device: PathBuf::from("/dev/loopM"), bytes })
        }
        Place::Device(_) => device.journals()?.named(configuration),
    }
}
