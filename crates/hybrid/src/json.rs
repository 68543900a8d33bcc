//! The answer as JSON; `docs/guide/hybrid.md` says what each key is.

use crate::{
    Answer, Found,
    curve::{POLICIES, curves},
    reckon::Lasts,
};
use serde_json::{Map, Value, json};

/// `format` of the document.
const FORMAT: &str = "drivelab-hybrid";
/// Its `version`.
const VERSION: u32 = 1;

/// All of it.
pub fn document(answer: &Answer) -> Value {
    let seen = &answer.seen;
    let question = &answer.question;
    json!({
        "format": FORMAT,
        "version": VERSION,
        "trace": trace::page::json(&seen.like, &seen.subject),
        "disks": question.disks.to_string(),
        "ssds": question.ssds,
        "depth": question.depth,
        "block_bytes": seen.block_bytes,
        "touched_bytes": seen.footprint_bytes(),
        "sampled": seen.sampled,
        "currency": question.prices.currency,
        "seed": question.seed,
        "verdict": answer.verdict(),
        "all_flash_for_the_disks_price": answer.all_flash.iter().map(|it| json!({
            "ssd": it.ssd,
            "count": it.count,
            "price": it.price,
            "capacity_bytes": it.capacity_bytes,
            "holds": it.holds,
        })).collect::<Vec<_>>(),
        "ways": answer.found.iter().map(way).collect::<Vec<_>>(),
        "misses": curves(seen).iter().map(|curve| {
            let mut of = Map::new();
            for (policy, missed) in POLICIES.iter().zip(curve.misses) {
                of.insert(policy.name().to_owned(), json!(missed));
            }
            json!({ "cache_bytes": curve.cache_bytes, "policies": of, "least": curve.least })
        }).collect::<Vec<_>>(),
    })
}

fn way(found: &Found) -> Value {
    let mut object = json!({
        "name": found.way.name(),
        "stack": found.way.stack.to_string(),
        "power_cut": found.way.kind.after_power_cut(),
        "without_ssd": found.way.kind.without_ssd(),
        "needs_flash_for_data": found.way.kind.depends_on_flash(),
    });
    let keys = object.as_object_mut().expect("it was written as one");
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            keys.insert(key.to_owned(), value);
        }
    };
    put("iops", found.reckoned.iops.map(|iops| json!(iops)));
    let waits_for = |disks: bool| json!(if disks { "disks" } else { "flash" });
    put("waits_for", found.reckoned.waits_for_disks.map(waits_for));
    put("price", found.way.price.map(|price| json!(price)));
    put("price_per_iops", found.price_per_iops().map(|price| json!(price)));
    put("checked_iops", found.checked.map(|checked| json!(checked.iops)));
    put("checked_p99_ns", found.checked.and_then(|it| it.p99_ns).map(|ns| json!(ns)));
    let flash_bytes = found.checked.and_then(|checked| checked.flash_bytes);
    put("checked_flash_bytes_per_request", flash_bytes.map(|bytes| json!(bytes)));
    put(
        "flash_lasts_years",
        match found.reckoned.lasts {
            Lasts::Years(years) => Some(json!(years)),
            Lasts::NoWear | Lasts::Unknown => None,
        },
    );
    put(
        "per_request",
        found.reckoned.loads.map(|loads| {
            json!({
                "flash_reads": loads.flash_reads,
                "flash_writes": loads.flash_writes,
                "fills": loads.fills,
                "disk_reads": loads.disk_reads,
                "disk_writes": loads.disk_writes,
                "written_back": loads.written_back,
                "flash_bytes": loads.flash_bytes,
            })
        }),
    );
    object
}
