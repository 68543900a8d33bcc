//! `--dry-run`: every command of every configuration, and nothing is done.

use super::{MatrixArguments, cut, cuts_power, ground::Ground, stage};
use lab::order::Order;
use report::number::counted;
use std::path::Path;
use study::matrix::{Axes, Axis, Configuration, Durability};

/// The plan in the order of the table; the real order is drawn anew each round.
pub fn describe(
    ground: &Ground,
    axes: &Axes,
    orders: &[Order],
    arguments: &MatrixArguments,
    place: &Path,
) -> String {
    let passes = arguments.passes;
    let configurations = axes.configurations();
    let methods: Vec<&str> = orders.iter().map(|order| order.method.file.name.as_str()).collect();
    let mut text = format!(
        "{}\n{}, each measured with {} in {} of random order\n",
        ground.describe(),
        counted(configurations.len(), "configuration"),
        methods.join(", "),
        counted(passes, "round")
    );
    for configuration in &configurations {
        let (class, why) = Durability::of(configuration, ground.machine(configuration));
        text += &format!("\n{configuration}: {class}, {why}\n");
        for line in commands(ground, configuration, place) {
            text += &format!("  {line}\n");
        }
        if cuts_power(ground, arguments) {
            let lines = cut::commands(configuration);
            text += &format!("  at the end, once more: {}\n", lines.join("; "));
        }
    }
    text + "\nAfter each: all of it in reverse.\n"
}

fn commands(ground: &Ground, configuration: &Configuration, place: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let device = match ground {
        Ground::Loop { directory, bytes } => {
            let file = directory.path().join(".drivelab-matrix-PID");
            lines.push(format!("truncate --size {bytes} {}", file.display()));
            lines.push(format!("losetup --find --show --direct-io=on {}", file.display()));
            Path::new("/dev/loopN")
        }
        Ground::Device { device, .. } => device.path(),
        Ground::Model { text } => {
            let text = super::ground::with_write_cache(text, configuration.level(Axis::WriteCache));
            let (socket, nbd) = (place.join("nbd.sock"), place.join("nbd"));
            let text = text.unwrap_or_else(|error| error.to_string());
            lines.push(format!("drivelab serve {text} --nbd unix:{} --quiet", socket.display()));
            lines.push(format!(
                "nbdfuse {} 'nbd+unix:///?socket={}'",
                nbd.display(),
                socket.display()
            ));
            lines.push(format!(
                "losetup --find --show --direct-io=on {}",
                nbd.join("nbd").display()
            ));
            Path::new("/dev/loopN")
        }
    };
    if let (Ground::Device { .. }, Some(level)) = (ground, configuration.level(Axis::WriteCache)) {
        lines.push(format!("the drive's own switch: write cache {level}"));
    }
    lines.extend(stage::commands(configuration, device, &place.join("mount")));
    if let Some(percent) = configuration.level(Axis::Fill).filter(|percent| *percent != "0") {
        lines.push(format!("fill to {percent} %, after churn"));
    }
    lines
}
