//! Drives of today: what stands for a figure, and which figures their models have seen.

use super::{Basis, Group, Parts, Trial, op_of};
use crate::{Figure, Load, LoadDemand, LoadSpan};
use target::stack;

/// Which drives, at which host, are fitted; all others are predicted.
const FITTED_TODAY: &[&str] = &[
    "samsung-pm9a3-960",
    "kioxia-cm7r-3840",
    "micron-7450max-800",
    "micron-7450pro-960",
    "intel-s4610-480",
    "samsung-860pro-512",
    "intel-p4510-1000",
    "intel-p4800x-375",
    "crucial-mx300-1050",
    "samsung-850pro-256",
    "samsung-960evo-500",
    "toshiba-p300-3000",
    "hgst-7k100-100",
];

/// Drives of which the write cliff is fitted.
const FILLED_TODAY: &[&str] = &[
    "samsung-980pro-1000",
    "samsung-980-1000",
    "adata-atom50-1000",
    "corsair-mp700elite-2000",
    "intel-660p-1000",
    "samsung-870qvo-1000",
];

/// What was fitted on a figure. A SATA drive was measured at several hosts: it is fitted at one,
/// with that one's port, and the others are predicted.
fn fitted_today(figure: &Figure) -> Option<&'static str> {
    let drive = FITTED_TODAY.iter().find(|name| **name == figure.device)?;
    match (*drive, figure.setting("host")) {
        ("intel-s4610-480", Some("h220")) => Some("h220"),
        ("intel-s4610-480", Some("ahci300"))
        | ("samsung-860pro-512", Some("m1015"))
        | ("hgst-7k100-100", _)
        | (_, None) => Some(drive),
        _ => None,
    }
}

/// A fill's first steps are fitted; what follows from the number of cells, and the whole, are not.
fn fitted_fill(figure: &Figure) -> Option<&'static str> {
    let is_fitted = !matches!(figure.metric.as_str(), "second_gb" | "whole_mb_per_s");
    let drive = FILLED_TODAY.iter().find(|name| **name == figure.device);
    drive.copied().filter(|_| is_fitted)
}

/// Writes that SSD-iq had outstanding at most: beyond a drive's ceiling the published latency times
/// the published rate is 257, 386 and 906, and so a multiple of 64.
fn outstanding(device: &str) -> u16 {
    match device {
        "samsung-pm9a3-960" => 256,
        "kioxia-cm7r-3840" => 896,
        _ => 384,
    }
}

/// 4 KiB and more at random, on a drive in its steady state.
pub(super) fn case(figure: &Figure) -> Option<Parts> {
    if figure.table == "fill" {
        let basis = fitted_fill(figure).map_or(Basis::Predicted, Basis::Fitted);
        let trial = Trial::Fill { depth: figure.threads? };
        return Some((Group::Today, basis, figure.device.clone(), trial));
    }
    let (op, block_bytes) = (op_of(figure)?, figure.block_bytes? as u32);
    let number = |key: &str| figure.setting(key)?.parse().ok();
    let demand = match (number("load"), figure.threads) {
        (Some(per_s), _) => {
            LoadDemand::Writes { per_s, outstanding_max: outstanding(&figure.device) }
        }
        // A stack takes no more at a time.
        (None, Some(requests)) if u32::from(requests) <= stack::QUEUE_DEPTH => {
            let threads = number("jobs").unwrap_or(1);
            LoadDemand::Depth { requests, threads: u16::try_from(threads).ok()? }
        }
        _ => return None,
    };
    let is_disk = ["toshiba-p300-3000", "hgst-7k100-100"].contains(&figure.device.as_str());
    let span = match figure.table.as_str() {
        "under load" => LoadSpan::Whole,
        "sizes" => LoadSpan::File,
        _ if is_disk => LoadSpan::Whole,
        _ => LoadSpan::Half,
    };
    let trial = Trial::Load(Load { op, block_bytes, demand, span });
    let mut stack = figure.device.clone();
    let mut settings = Vec::new();
    if let Some(host) = figure.setting("host") {
        settings.push(format!("port={host}"));
    }
    if !is_disk {
        settings.push("state=steady".to_owned());
        // Where the source says nothing of a drive's state, it is in use and half full.
        if figure.table != "under load" {
            settings.push("used=50%".to_owned());
        }
    }
    if !settings.is_empty() {
        stack = format!("{stack}:{}", settings.join(","));
    }
    let basis = fitted_today(figure).map_or(Basis::Predicted, Basis::Fitted);
    Some((Group::Today, basis, stack, trial))
}
