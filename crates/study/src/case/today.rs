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

/// What was fitted on a figure. A SATA drive was measured at several hosts: it is fitted at the one
/// that hides least of it, the M1015. Two other hosts are fitted on what the S4610 shows of them;
/// the 860 PRO behind those is predicted, as is the S4610 at the AHCI of the Gen10. The P4800X was
/// measured on two days, at two rates of its link: both are fitted with it.
fn fitted_today(figure: &Figure) -> Option<&'static str> {
    let drive = FITTED_TODAY.iter().find(|name| **name == figure.device)?;
    if written_per_mille(figure).is_some() {
        let shows_it = figure.op == "rand-read" && figure.threads == Some(1);
        return shows_it.then_some(*drive);
    }
    match (*drive, figure.setting("host")) {
        ("intel-s4610-480", Some("h220")) => Some("h220"),
        ("intel-s4610-480", Some("ahci300")) => Some("ahci300"),
        ("intel-s4610-480" | "samsung-860pro-512", Some("m1015"))
        | ("hgst-7k100-100" | "intel-p4800x-375", _)
        | (_, None) => Some(drive),
        _ => None,
    }
}

/// How much of a drive was written at a host, where its reads of one thread show that most of the
/// area was not: half of them take 34 to 50 us, less than flash needs, and the others as long as at
/// the other hosts. A share of the drive, thousandths, so that those reads' mean is met.
const WRITTEN_AT: &[(&str, &str, u16)] =
    &[("samsung-860pro-512", "ahci300", 160), ("intel-s4610-480", "ahci-g10", 185)];

/// That share, if the figure is of such a host.
fn written_per_mille(figure: &Figure) -> Option<u16> {
    let host = figure.setting("host")?;
    let at = WRITTEN_AT.iter().find(|(drive, at, _)| *drive == figure.device && *at == host);
    at.map(|(.., per_mille)| *per_mille)
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
            let per_mille = written_per_mille(figure).unwrap_or(500);
            settings.push(format!("used={}%", f64::from(per_mille) / 10.0));
        }
    }
    if !settings.is_empty() {
        stack = format!("{stack}:{}", settings.join(","));
    }
    let basis = fitted_today(figure).map_or(Basis::Predicted, Basis::Fitted);
    Some((Group::Today, basis, stack, trial))
}
