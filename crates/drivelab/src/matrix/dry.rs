//! `--dry-run`: every command of every configuration, and nothing is done.

use matrix::{Axis, Configuration, Durability, Order, PowerCuts, TestDevice, with_write_cache};
use report::number::counted;
use std::path::Path;

/// The plan in the order of the table; the real order is drawn anew each round.
pub fn describe(device: &TestDevice, order: &Order) -> String {
    let configurations = order.axes.configurations();
    let methods: Vec<&str> =
        order.methods.iter().map(|order| order.method.file.name.as_str()).collect();
    let mut text = format!(
        "{}\n{}, each measured with {} in {} of random order\n",
        device.describe(),
        counted(configurations.len(), "configuration"),
        methods.join(", "),
        counted(order.rounds, "round")
    );
    let cuts = matches!(device, TestDevice::Model { .. }) && order.cuts == PowerCuts::All;
    for configuration in &configurations {
        let (class, why) = Durability::of(configuration, device.machine(configuration));
        text += &format!("\n{configuration}: {class}, {why}\n");
        for line in commands(device, configuration, order) {
            text += &format!("  {line}\n");
        }
        if cuts {
            text += &format!("  at the end, once more: {}\n", cutting(configuration).join("; "));
        }
    }
    text + "\nAfter each: all of it in reverse.\n"
}

/// What is done when its power is cut.
fn cutting(configuration: &Configuration) -> Vec<String> {
    let lines = [
        "served with --power-cut, written and flushed",
        "kill -USR1 PID",
        "umount and losetup --detach",
        "attached and mounted again, compared",
    ];
    let checker = matrix::checker(configuration, Path::new("/dev/loopN"));
    let checker = checker.map(|program| program.to_string());
    lines.map(str::to_owned).into_iter().chain(checker).collect()
}

fn commands(device: &TestDevice, configuration: &Configuration, order: &Order) -> Vec<String> {
    let (place, mut lines) = (&order.place, Vec::new());
    let losetup = |path: &Path| format!("losetup --find --show --direct-io=on {}", path.display());
    let at = match device {
        TestDevice::Loop { directory, bytes } => {
            let file = directory.path().join(".drivelab-matrix-PID");
            lines.push(format!("truncate -s {bytes} {}", file.display()));
            lines.push(losetup(&file));
            Path::new("/dev/loopN")
        }
        TestDevice::Device { device, .. } => device.path(),
        TestDevice::Model { stack } => {
            let stack = with_write_cache(stack, configuration.level(Axis::WriteCache));
            let (socket, nbd) = (place.join("nbd.sock"), place.join("nbd"));
            let (socket, target) = (socket.display(), format!("model:{stack}"));
            let words = (order.serving.words)(&target, &format!("unix:{socket}"), None);
            lines.push(format!("drivelab {}", words.join(" ")));
            lines.push(format!("nbdfuse {} 'nbd+unix:///?socket={socket}'", nbd.display()));
            lines.push(losetup(&nbd.join("nbd")));
            Path::new("/dev/loopN")
        }
    };
    let cache = configuration.level(Axis::WriteCache);
    if let (TestDevice::Device { .. }, Some(level)) = (device, cache) {
        lines.push(format!("the drive's own switch: write cache {level}"));
    }
    lines.extend(matrix::commands(configuration, at, &place.join("mount")));
    if let Some(percent) = configuration.level(Axis::Fill).filter(|percent| *percent != "0") {
        lines.push(format!("fill to {percent} %, after churn"));
    }
    lines
}
