//! What was found, as comments of 80 columns, and the file for the catalog under them.

use super::{
    super::{parameter, quoted, slug},
    Bucket, Measured, Refill, Seen,
};
use record::TargetKind;
use std::fmt::Write;

/// A limit's unit on screen, and how its keys begin and count.
struct Unit {
    rate: &'static str,
    rate_base: f64,
    amount: &'static str,
    amount_base: f64,
    key: &'static str,
    credit: &'static str,
}

const OPERATIONS: Unit = Unit {
    rate: "IOPS",
    rate_base: 1.0,
    amount: "operations",
    amount_base: 1.0,
    key: "iops",
    credit: "count",
};
const BYTES: Unit = Unit {
    rate: "MB/s",
    rate_base: 1e6,
    amount: "MB",
    amount_base: 1e6,
    key: "bandwidth",
    credit: "MB",
};

/// A refill that is this much faster or slower than the rate is no accident.
const REFILL_SEEN: f64 = 0.05;
/// A write that counts this much more or less than a read is no accident.
const COST_SEEN: f64 = 0.03;
/// A mix so much faster than out of one pool came out of two.
const SEPARATE: f64 = 1.5;
/// Sequential reads so much faster than random ones were merged.
const MERGED: f64 = 1.5;

/// The whole text.
pub(super) fn text(seen: &Seen<'_>) -> String {
    let mut text = String::new();
    for line in comments(seen) {
        writeln!(text, "# {line}").expect("a string takes it");
    }
    text + &head(seen) + &parameters(seen)
}

fn comments(seen: &Seen<'_>) -> Vec<String> {
    let target = &seen.record.targets[0];
    let what = match target.kind {
        TargetKind::Model => "Predicted quota",
        _ => "Quota",
    };
    let mut lines = vec![format!("{what} of {}, run {}", quoted(&target.text), seen.record.id)];
    for (bucket, unit) in [(seen.operations, OPERATIONS), (seen.bandwidth, BYTES)] {
        if let Some(bucket) = bucket {
            lines.extend(limit(&bucket, &unit));
        }
    }
    let exchange = &seen.exchange;
    let count = |name: &str, value: String| format!("  {name:<15} {value}");
    if let Some(one) = exchange.one_bytes {
        let value = format!("reads of up to {:.0} KiB", one / 1024.0);
        lines.push(count("one operation", value));
    }
    if let Some(cost) = seen.write_cost {
        lines.push(count("a write counts", format!("{:.0} % of a read", 100.0 * cost)));
    }
    if let Some(ratio) = seen.pools {
        let value = if ratio > SEPARATE { "separate for reads and writes" } else { "shared" };
        lines.push(count("credit and rate", value.to_owned()));
    }
    let off = format!("{:.1} % at most, over all sizes", 100.0 * exchange.error);
    lines.push(count("off by", off));
    for (name, check) in [("at 95 %", seen.within), ("at 105 %", seen.over)] {
        if let Some(check) = check {
            let queue = if check.grows { "the queue grows" } else { "the queue holds" };
            let value = format!("{} ms mean latency, {queue}", digits(check.mean_ns / 1e6));
            lines.push(count(name, value));
        }
    }
    lines.extend(not_reached(seen).iter().map(|line| count("not reached", line.clone())));
    lines
}

fn limit(bucket: &Bucket, unit: &Unit) -> Vec<String> {
    let line = |name: &str, value: String, about: String| {
        let line = format!("  {name:<15} {value:<24} {about}");
        line.trim_end().to_owned()
    };
    let rate = |value: f64| format!("{} {}", digits(value / unit.rate_base), unit.rate);
    let range = |seen: Measured, base: f64| {
        let [low, high] = [seen.value - seen.half, seen.value + seen.half];
        format!("{} to {}", digits(low.max(0.0) / base), digits(high / base))
    };
    let sustained = bucket.sustained;
    let mut lines =
        vec![line("sustained", rate(sustained.value), range(sustained, unit.rate_base))];
    let Some(credit) = bucket.credit else { return lines };
    lines.push(match bucket.burst {
        Some(burst) => line("burst", rate(burst), "the quota's, or the way's to it".to_owned()),
        None => line("burst", "not seen".to_owned(), "the credit was spent too soon".to_owned()),
    });
    let amount = format!("{} {}", digits(credit.value / unit.amount_base), unit.amount);
    lines.push(line("credit", amount, range(credit, unit.amount_base)));
    match bucket.refill {
        Refill::Seen(seen) => {
            lines.push(line("refill", rate(seen.value), range(seen, unit.rate_base)));
        }
        Refill::AtLeast(least) => {
            let about = "at least: the credit was full".to_owned();
            lines.push(line("refill", rate(least), about));
        }
        Refill::NotSeen => {}
    }
    lines
}

fn not_reached(seen: &Seen<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if !seen.has_credit {
        lines.push("credit: no fall of the rate within the time".to_owned());
    }
    match (&seen.operations, &seen.bandwidth) {
        (Some(_), None) => lines.push("a limit of bytes".to_owned()),
        (None, Some(_)) => lines.push("a limit of operations".to_owned()),
        _ => {}
    }
    let both = [&seen.operations, &seen.bandwidth];
    let unseen = |bucket: &&Bucket| bucket.credit.is_some() && bucket.refill == Refill::NotSeen;
    if both.into_iter().flatten().any(|bucket| unseen(&bucket)) {
        lines.push("refill: no fall after the rest".to_owned());
    }
    if seen.write_cost.is_none() {
        lines.push("writes: the run only read".to_owned());
    }
    if seen.over.is_some_and(|check| !check.grows) {
        lines.push("the rate itself: 105 % of it held".to_owned());
    }
    if seen.within.is_some_and(|check| check.grows) {
        lines.push("a steady rate: 95 % of it did not hold".to_owned());
    }
    lines
}

fn head(seen: &Seen<'_>) -> String {
    let target = &seen.record.targets[0];
    let run = format!("run {}", seen.record.id);
    let model = target.stack.iter().rev().find_map(|layer| layer.drive.as_ref()?.model.clone());
    let title = model.unwrap_or_else(|| format!("volume of {run}"));
    let name = slug(&format!("volume-{}", seen.record.id));
    format!(
        "# Keep it in ~/.config/drivelab/drives/{name}.toml:\n\
         # then `model:{name}` is a volume with this quota.\n\
         name = \"{name}\"\n\
         title = \"{}\"\n\
         kind = \"quota\"\n\
         about = \"Measured by method quota in {run}; the host's costs are in it.\"\n\
         port = \"none\"\n\
         capacity = {{ value = {}, unit = \"MiB\" }}\n\n\
         [parameters]\n",
        quoted(&title),
        (target.capacity_bytes >> 20).max(1)
    )
}

fn parameters(seen: &Seen<'_>) -> String {
    let run = format!("run {}", seen.record.id);
    let mut toml = String::new();
    let mut fit = |name: &str, value: f64, unit: &str, about: &str| {
        parameter(&mut toml, name, value, unit, "fit", &format!("{run}: {about}"));
    };
    for (bucket, unit) in [(seen.operations, OPERATIONS), (seen.bandwidth, BYTES)] {
        let Some(bucket) = bucket else { continue };
        let rate = |value: f64| value / unit.rate_base;
        fit(unit.key, rate(bucket.sustained.value), unit.rate, "what lasts");
        let Some(credit) = bucket.credit else { continue };
        let key = |what: &str| format!("{}_{what}", unit.key);
        let amount = credit.value / unit.amount_base;
        fit(&key("credit"), amount, unit.credit, "until the rate fell");
        if let Some(burst) = bucket.burst {
            fit(&key("burst"), rate(burst), unit.rate, "until the rate fell");
        }
        // As fast as what lasts is what a file means that says nothing.
        let differs = |seen: Measured| (seen.value - bucket.sustained.value).abs() > seen.half;
        if let Refill::Seen(refill) = bucket.refill
            && differs(refill)
            && (refill.value / bucket.sustained.value - 1.0).abs() > REFILL_SEEN
        {
            fit(&key("refill"), rate(refill.value), unit.rate, "after a rest");
        }
    }
    if let Some(one) = seen.exchange.one_bytes {
        fit("operation", one / 1024.0, "KiB", "reads of six sizes");
    }
    if let Some(cost) = seen.write_cost.filter(|cost| (cost - 1.0).abs() > COST_SEEN) {
        fit("write_cost", 100.0 * cost, "percent", "4 KiB reads and writes");
    }
    let about = "4 KiB at 95 % of the rate";
    let (read_ns, spread) = seen.read_latency.unwrap_or((LATENCY_NS, 0.0));
    let from = |is_seen: bool| if is_seen { "fit" } else { "assumed" };
    let write_ns = seen.write_latency.map_or(read_ns, |(ns, _)| ns);
    for (name, ns, is_seen) in [
        ("read_latency", read_ns, seen.read_latency.is_some()),
        ("write_latency", write_ns, seen.write_latency.is_some()),
    ] {
        let source = if is_seen { format!("{run}: {about}") } else { NOT_SEEN.to_owned() };
        parameter(&mut toml, name, ns / 1e3, "us", from(is_seen), &source);
    }
    let source = format!("{run}: 90th percentile of reads; the form is assumed");
    parameter(&mut toml, "latency_spread", 100.0 * spread, "percent", "assumed", &source);
    let words = [
        ("pools", "separate", seen.pools > Some(SEPARATE), "a mix beside reads and writes alone"),
        ("merging", "on", seen.merging > Some(MERGED), "sequential reads beside random ones"),
    ];
    for (name, word, _, about) in words.into_iter().filter(|(.., seen, _)| *seen) {
        let value = format!("value = \"{word}\", from = \"fit\"");
        writeln!(toml, "{name} = {{ {value}, source = \"{run}: {about}\" }}")
            .expect("a string takes it");
    }
    toml
}

/// What a volume reached over a network takes, where the run did not see it.
const LATENCY_NS: f64 = 1e6;
const NOT_SEEN: &str = "not seen: typical of a volume reached over a network, or as of reads";

/// Four digits, as many as were measured.
fn digits(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-3).log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
