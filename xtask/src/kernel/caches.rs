//! A cache of the kernel's beside the preset that is named after it.

use super::{Options, Rates, Servers, modelled, rates, said_in_guest};
use crate::guest::{self, Setup};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// `OP` stands for read or write, `COLD` for how many of them come first.
const METHOD: &str = include_str!("caches.toml");
const SCRIPT: &str = include_str!("caches.sh");
const DISK: &str = "hitachi-a7k1000-750";
const FLASH: &str = "sata-tlc";

/// A cache: its name, here, in the catalog and in the guest's script; what is asked of it; and its
/// size. One of writes is so small that it has to write back.
struct Cache {
    name: &'static str,
    op: &'static str,
    mib: u32,
}

const CACHES: &[Cache] = &[
    Cache { name: "bcache", op: "read", mib: 64 },
    Cache { name: "dm-cache", op: "read", mib: 64 },
    Cache { name: "dm-writecache", op: "write", mib: 16 },
];

/// Runs the kernel's and the layer of the same name, and prints both.
pub(super) fn compare(options: &Options, setup: &Setup, name: &str) -> Result<()> {
    let began = Instant::now();
    let cache = CACHES.iter().find(|cache| cache.name == name).context("no such cache")?;
    let said = in_guest(options, setup, cache).with_context(|| name.to_owned())?;
    let stack = format!("model:{DISK}/{name}:ssd={FLASH},size={}M", cache.mib);
    let (layer, record) = modelled(setup, &stack, &cache.method(options.cold))?;
    let counted = [counted(&said), hits(&record)];
    let table = table(name, &rates(&said), &layer, counted)?;
    print!("{table}");
    // What else the guest has to say: promotions, what the disk got.
    said.lines().filter_map(|line| line.strip_prefix("also: ")).for_each(|line| println!("{line}"));
    println!("Linux {}, {:.0} s", setup.version(), began.elapsed().as_secs_f64());
    Ok(())
}

impl Cache {
    fn method(&self, cold: u32) -> String {
        METHOD.replace("OP", self.op).replace("COLD", &cold.to_string())
    }
}

fn in_guest(options: &Options, setup: &Setup, cache: &Cache) -> Result<String> {
    let servers = Servers::start(setup, &[DISK, FLASH], options.slower)?;
    let Cache { name, op, mib } = cache;
    let script = format!("KIND={name} OP={op} MIB={mib} SLOWER={}\n{SCRIPT}", options.slower);
    let method = cache.method(options.cold);
    let trial = guest::Trial {
        script: &script,
        files: &[("guest/caches.toml", method.as_bytes())],
        served: servers.drives(),
        limit: Duration::from_secs(options.limit),
    };
    said_in_guest(setup, &trial)
}

/// Hits and misses, as the kernel counts them.
fn counted(said: &str) -> Option<(u64, u64)> {
    said.lines().find_map(|line| {
        let (hits, misses) = line.strip_prefix("hits ")?.split_once(" misses ")?;
        Some((hits.parse().ok()?, misses.trim().parse().ok()?))
    })
}

/// Bytes that the layer found on flash, and that it did not, in a record.
fn hits(record: &str) -> Option<(u64, u64)> {
    let record: Value = serde_json::from_str(record).ok()?;
    let cells = record["cells"].as_array()?.iter();
    let passes = cells.flat_map(|cell| cell["passes"].as_array().into_iter().flatten());
    let mut sum = [0; 2];
    for cache in passes.map(|pass| &pass["ssd_cache"]).filter(|cache| cache.is_object()) {
        let of = |one: &str, other: &str| Some(cache[one].as_u64()? + cache[other].as_u64()?);
        let hits = of("read_hit_bytes", "write_hit_bytes")?;
        sum = [sum[0] + hits, sum[1] + of("read_bytes", "written_bytes")? - hits];
    }
    Some((sum[0], sum[1])).filter(|(hits, misses)| hits + misses > 0)
}

/// `counted`: hits and misses, of the kernel and of the layer.
fn table(
    name: &str,
    kernel: &Rates,
    layer: &Rates,
    counted: [Option<(u64, u64)>; 2],
) -> Result<String> {
    ensure!(!kernel.is_empty(), "the guest measured nothing");
    let mut text = format!(
        "\n## {name}\n\n| cell | kernel | `{name}` | layer / kernel |\n|---|---|---|---|\n"
    );
    for (cell, rate) in kernel {
        let ours = layer.get(cell).with_context(|| format!("the layer has no cell {cell}"))?;
        writeln!(text, "| {cell} | {rate:.0} | {ours:.0} | {:.2} |", ours / rate)?;
    }
    let [kernel, layer] = counted;
    let (hits, misses) = kernel.context("the kernel counted nothing")?;
    let share = |(hits, misses): (u64, u64)| 100.0 * hits as f64 / (hits + misses).max(1) as f64;
    let ours = share(layer.context("the layer counted nothing")?);
    writeln!(
        text,
        "\nThe kernel counts {hits} hits and {misses} misses: {:.1} %; the layer {ours:.1} %.",
        share((hits, misses))
    )?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_asks_for_what_its_cache_takes_and_as_often_as_it_is_told() {
        let text = CACHES[2].method(30_000);
        assert!(text.contains("op = \"write\"\n") && text.contains("bound = 30000\n"), "{text}");
        assert!(!text.contains("COLD") && !text.contains("OP\""), "{text}");
    }

    #[test]
    fn a_table_has_the_kernels_own_count() {
        let rates = Rates::from([("warm".to_owned(), 200.0)]);
        let said = "bcache: something\nhits 30 misses 10\n";
        let record = r#"{"cells": [{"passes": [{"ssd_cache": {"read_bytes": 8000,
            "read_hit_bytes": 2000, "written_bytes": 2000, "write_hit_bytes": 1000}}]}]}"#;
        let both = |said: &str, record: &str| [counted(said), hits(record)];
        let text = table("bcache", &rates, &rates, both(said, record)).expect("all is there");
        assert!(text.contains("| warm | 200 | 200 | 1.00 |"), "{text}");
        assert!(text.ends_with("30 hits and 10 misses: 75.0 %; the layer 30.0 %.\n"), "{text}");
        for (said, record) in [("hits many misses 1", record), (said, r#"{"cells": []}"#)] {
            assert!(table("bcache", &rates, &rates, both(said, record)).is_err());
        }
        assert!(table("bcache", &Rates::new(), &rates, both(said, record)).is_err());
    }
}
