//! Words become an order: a device, settings, and one order a method.

use super::{MatrixArguments, words::in_words};
use crate::{
    complaint,
    run::{labels, method_text, tool},
};
use anyhow::{Context, Result, bail};
use host::Consent;
use lab::{order::Order as MethodOrder, plan::Options};
use matrix::{Axes, Choice, Order, PowerCuts, Serving, TestDevice, Wear};
use std::{collections::BTreeMap, ffi::OsStr, path::PathBuf};

/// What the matrix is measured on; nothing is changed.
pub fn test_device(arguments: &MatrixArguments) -> Result<TestDevice> {
    let consent = Consent::typed(&arguments.destroy);
    let choice = match (&arguments.loop_directory, &arguments.target) {
        (Some(directory), _) => Choice::Loop(directory, arguments.loop_size),
        (None, target) => {
            let target = target.as_deref().expect("the command line has one or the other");
            Choice::Target(target, &consent)
        }
    };
    TestDevice::choose(choice).map_err(in_words)
}

/// What is to be measured there.
pub fn order(arguments: &MatrixArguments, axes: Axes, seed: u64, place: PathBuf) -> Result<Order> {
    // What is only planned writes nothing.
    let agreed = arguments.yes || arguments.dry_run;
    Ok(Order {
        axes,
        methods: methods(arguments, seed)?,
        rounds: arguments.passes,
        cuts: if arguments.no_power_cut { PowerCuts::None } else { PowerCuts::All },
        wear: if agreed { Wear::AgreedTo } else { Wear::Once },
        seed,
        place,
        serving: Serving {
            program: std::env::current_exe().context("drivelab does not know where it is")?,
            words: serving_words,
        },
        tool: tool(),
        command_line: complaint::words_typed(),
    })
}

/// What another process of drivelab is told, to serve a target.
fn serving_words(target: &str, address: &str, power_cut: Option<u64>) -> Vec<String> {
    let mut words = ["serve", target, "--nbd", address, "--quiet"].map(str::to_owned).to_vec();
    if let Some(seed) = power_cut {
        // What the cut took is told as an event.
        words.extend(["--json".to_owned(), format!("--power-cut={seed}")]);
    }
    words
}

/// All methods, of which none may run in rounds of its own.
fn methods(arguments: &MatrixArguments, seed: u64) -> Result<Vec<MethodOrder>> {
    let orders = arguments.method.iter().map(|name| method(arguments, name, seed));
    let orders: Vec<MethodOrder> = orders.collect::<Result<_>>()?;
    for order in &orders {
        if order.method.file.rounds.is_some() {
            bail!(
                "--method {}: it runs in rounds until steady, and a matrix has rounds of its own: \
                 name another",
                order.method.file.name
            );
        }
    }
    Ok(orders)
}

fn method(arguments: &MatrixArguments, name: &OsStr, seed: u64) -> Result<MethodOrder> {
    let set = arguments.set.iter().map(|(key, value)| (format!("set.{key}"), value.clone()));
    let mut words: BTreeMap<String, String> = set.collect();
    words.insert("passes".to_owned(), arguments.passes.to_string());
    let given = [
        ("size", arguments.size.map(|bytes| bytes.to_string())),
        ("grade", arguments.grade.clone()),
        ("max-time", arguments.max_time.map(|seconds| format!("{seconds}s"))),
        ("on-error", arguments.on_error.clone()),
    ];
    for (key, value) in given {
        words.extend(value.map(|value| (key.to_owned(), value)));
    }
    let (name, text) = method_text(name)?;
    let order = MethodOrder::from_words(&name, &text, words, seed, labels(&arguments.label))?;
    // A matrix adds up its turns and asks; a run's own bound knows nothing of them.
    let written_bytes_max = Some(u64::MAX);
    Ok(MethodOrder { options: Options { written_bytes_max, ..order.options }, ..order })
}
