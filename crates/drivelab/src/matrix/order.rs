//! Words become orders: one a method.

use super::MatrixArguments;
use crate::run::{labels, method_text};
use anyhow::{Result, bail};
use lab::{order::Order, plan::Options};
use std::{collections::BTreeMap, ffi::OsStr};

/// All methods, of which none may run in rounds of its own.
pub fn orders(arguments: &MatrixArguments, seed: u64) -> Result<Vec<Order>> {
    let orders: Vec<Order> =
        arguments.method.iter().map(|name| order(arguments, name, seed)).collect::<Result<_>>()?;
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

fn order(arguments: &MatrixArguments, method: &OsStr, seed: u64) -> Result<Order> {
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
    let (name, text) = method_text(method)?;
    let order = Order::from_words(&name, &text, words, seed, labels(&arguments.label))?;
    // A matrix adds up its turns and asks; a run's own bound knows nothing of them.
    let written_bytes_max = Some(u64::MAX);
    Ok(Order { options: Options { written_bytes_max, ..order.options }, ..order })
}
