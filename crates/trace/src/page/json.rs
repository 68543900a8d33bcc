//! A trace for programs; docs/reference/traces.md describes it.

use super::Subject;
use crate::{
    access::Op,
    characterise::{BLOCK_BYTES, Characterisation, Sequential, Sizes},
};
use serde_json::{Value, json};

/// Percentiles of lengths that are given.
const PERCENTS: [f64; 7] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9];

/// One object.
pub fn json(seen: &Characterisation, subject: &Subject) -> Value {
    let operations: serde_json::Map<String, Value> = Op::ALL
        .iter()
        .map(|op| {
            let of = seen.of(*op);
            let value = json!({ "operations": of.operations, "bytes": of.bytes });
            (op.name().to_owned(), value)
        })
        .collect();
    let remarks = subject.remarks;
    json!({
        "format": "drivelab-trace",
        "version": 1,
        "trace": {
            "name": subject.name,
            "format": subject.format.name(),
            "volume": subject.volume,
            "volumes": subject.volumes,
            "reordered": remarks.reordered,
            "reordered_ns_max": remarks.reordered_ns_max,
            "unanswered": remarks.unanswered,
            "empty": remarks.empty,
            "spread_over_seconds": remarks.spread > 0,
        },
        "first_ns": seen.first_ns,
        "duration_ns": seen.duration_ns,
        "operations": operations,
        "end_bytes": seen.end_bytes,
        "room_bytes": seen.room_bytes,
        "aligned": seen.aligned,
        "sizes": { "read": sizes(&seen.sizes[0]), "write": sizes(&seen.sizes[1]) },
        "sequential": {
            "read": sequential(seen.sequential[0]),
            "write": sequential(seen.sequential[1]),
        },
        "bursts": seen.bursts.iter().map(|burst| json!({
            "bin_ns": burst.bin_ns,
            "peak": burst.peak,
            "mean": burst.mean,
            "peak_over_mean": burst.peak_over_mean,
            "dispersion": burst.dispersion,
        })).collect::<Vec<_>>(),
        "blocks": blocks(seen),
        "over_time": {
            "slice_ns": seen.over_time.slice_ns,
            "reads": column(seen, |slice| slice.reads),
            "writes": column(seen, |slice| slice.writes),
            "read_bytes": column(seen, |slice| slice.read_bytes),
            "written_bytes": column(seen, |slice| slice.written_bytes),
        },
    })
}

fn column(seen: &Characterisation, of: fn(&crate::characterise::Slice) -> u64) -> Vec<u64> {
    seen.over_time.slices.iter().map(of).collect()
}

fn sequential(of: Sequential) -> Value {
    json!({ "accesses": of.accesses, "continuing": of.continuing })
}

fn sizes(sizes: &Sizes) -> Value {
    let percentiles = PERCENTS.iter().filter_map(|percent| {
        Some(json!({ "percent": percent, "bytes": sizes.percentile(*percent)? }))
    });
    json!({
        "mean": sizes.mean(),
        "percentiles": percentiles.collect::<Vec<_>>(),
        "counts": sizes.counts.iter().map(|size| [size.bytes, size.count]).collect::<Vec<_>>(),
        "rounded": sizes.is_rounded,
    })
}

fn blocks(seen: &Characterisation) -> Value {
    let blocks = &seen.blocks;
    let reuse: Vec<Value> =
        blocks.reuse.iter().map(|(bytes, share)| json!([bytes, share])).collect();
    json!({
        "block_bytes": BLOCK_BYTES,
        "unique": blocks.unique,
        "read": blocks.read,
        "written": blocks.written,
        "accesses": blocks.accesses,
        "sampled": blocks.sampled,
        "first": blocks.first,
        "reuse_median_bytes": blocks.reuse_median_bytes,
        "reuse": reuse,
        "lru": blocks.caches.iter().map(|cache| json!({
            "cache_bytes": cache.cache_bytes,
            "misses": cache.misses,
            "read_misses": cache.read_misses,
        })).collect::<Vec<_>>(),
        "hot_writes": blocks.hot_writes.map(|[one, ten, twenty]| json!({
            "1": one, "10": ten, "20": twenty,
        })),
    })
}
