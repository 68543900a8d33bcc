//! The layers `/pin` and `/tier`: a flash drive of the catalog beside what lies below, each byte on
//! one of them.

use super::{
    beside::{Beside, Range, ResolvedBeside, TierSettings, flash_drive, no_flash_drive},
    settings::Settings,
    text::{BadStack, Part},
};
use crate::catalog::Catalog;
use block::{Drive, Engine, display_bytes, parse_bytes};
use model::{EXTENTS_MAX, PLACES_MIN, Pin, PinParams, Tier, TierParams};

/// Extents of a tier that names none, at least.
const EXTENT_BYTES: u64 = 1 << 20;
const EXTENT_BYTES_MAX: u64 = 16 << 20;
/// The epoch of a tier that names none.
const EPOCH_NS: u64 = 10_000_000_000;
/// A range that is a percentage lies on whole ones of these, bytes.
const PERCENT_BYTES: u64 = 1 << 20;
/// A range in bytes lies on whole ones of these.
const RANGE_BYTES: u64 = 4096;

/// The settings of a layer, none of which is misspelt: that is said before what is missing for it.
fn known<'p>(layer: &'p Part, keys: &[&'static str]) -> Result<Settings<'p>, BadStack> {
    let settings = Settings::of(layer);
    settings.text("ssd");
    for key in keys {
        settings.text(key);
    }
    settings.check_known()?;
    Ok(settings)
}

pub(super) fn resolve_pin<'c>(
    layer: &Part,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<ResolvedBeside<'c>, BadStack> {
    let settings = known(layer, &["range"])?;
    let name = settings.text("ssd").ok_or_else(|| no_flash_drive(layer, "range=0-10%"))?;
    let (drive, port) = flash_drive(name, catalog, seed)?;
    let Some(text) = settings.text("range") else {
        return Err(BadStack::Text(format!(
            "`{}` names no range: write one, such as `range=0-10%` or `range=4G-20G`",
            layer.name
        )));
    };
    let range = read_range(text).map_err(|about| settings.wrong("range", text, &about))?;
    Ok(ResolvedBeside { text: layer.to_string(), drive, port, layer: Beside::Pin(range) })
}

/// `0-10%` or `4G-20G`, the smaller first.
fn read_range(text: &str) -> Result<Range, String> {
    let cure = "write a part of the volume, such as 0-10% or 4G-20G";
    let (from, to) = text.split_once('-').ok_or_else(|| format!("is no range: {cure}"))?;
    let range = match to.strip_suffix('%') {
        Some(to) => {
            let percent = |text: &str| {
                let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
                number.filter(|percent| (0.0..=100.0).contains(percent))
            };
            let about = || format!("goes from 0% to 100% at most: {cure}");
            Range::Percent(percent(from).ok_or_else(about)?, percent(to).ok_or_else(about)?)
        }
        None => {
            let bytes = |text| parse_bytes(text).map_err(|bad| format!("cannot be: {bad}"));
            Range::Bytes(bytes(from)?, bytes(to)?)
        }
    };
    let (is_empty, is_backward, is_whole) = match range {
        Range::Percent(from, to) => (from == to, from > to, true),
        Range::Bytes(from, to) => {
            let is_whole = from.is_multiple_of(RANGE_BYTES) && to.is_multiple_of(RANGE_BYTES);
            (from == to, from > to, is_whole)
        }
    };
    match () {
        () if is_backward => Err("ends before it begins: write the smaller one first".to_owned()),
        () if is_empty => Err("is empty: leave the layer out, or write a larger end".to_owned()),
        () if !is_whole => Err("is not on whole 4 KiB: round both ends".to_owned()),
        () => Ok(range),
    }
}

pub(super) fn resolve_tier<'c>(
    layer: &Part,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<ResolvedBeside<'c>, BadStack> {
    let settings = known(layer, &["size", "epoch", "block"])?;
    let name = settings.text("ssd").ok_or_else(|| no_flash_drive(layer, "size=32G"))?;
    let (drive, port) = flash_drive(name, catalog, seed)?;
    let capacity = drive.entry.capacity(&drive.settings);
    let size_bytes = settings.bytes("size", 1 << 20..=capacity.max(1 << 20))?.unwrap_or(capacity);
    let epoch_ns = settings.time_ns("epoch", 100_000_000..=86_400_000_000_000)?.unwrap_or(EPOCH_NS);
    let extent_bytes = settings.bytes("block", 64 << 10..=EXTENT_BYTES_MAX)?;
    if extent_bytes.is_some_and(|bytes| !bytes.is_power_of_two()) {
        let text = settings.text("block").unwrap_or_default();
        return Err(settings.wrong("block", text, "is no power of two, such as 1M"));
    }
    let tier = TierSettings { size_bytes, extent_bytes, epoch_ns };
    Ok(ResolvedBeside { text: layer.to_string(), drive, port, layer: Beside::Tier(tier) })
}

impl ResolvedBeside<'_> {
    /// The pinned range's machine for these disks.
    pub(super) fn pin(&self, range: Range, engine: &dyn Engine) -> Result<Pin, BadStack> {
        let (disks, flash) = (engine.geometry(Drive(0)), engine.geometry(Drive(1)));
        let whole = disks.capacity_bytes;
        let at = |percent: f64| match percent {
            100.0 => whole,
            percent => (whole as f64 * percent / 100.0) as u64 / PERCENT_BYTES * PERCENT_BYTES,
        };
        let (from, to) = match range {
            Range::Percent(from, to) => (at(from), at(to)),
            Range::Bytes(from, to) => (from, to),
        };
        let below = display_bytes(whole);
        let about = if to > whole {
            format!("goes beyond the {below} that lie below: write a smaller end of `range=`")
        } else if from >= to {
            format!("is less than a MiB of {below}: write a larger end of `range=`")
        } else if (from, to) == (0, whole) {
            let name = self.drive.entry.name();
            format!("is all of {below}, and needs no disks: run `model:{name}` alone")
        } else if to - from > flash.capacity_bytes {
            format!(
                "takes {} of flash, and `{}` has {}: write a smaller range, or a larger drive",
                display_bytes(to - from),
                self.drive.entry.name(),
                display_bytes(flash.capacity_bytes)
            )
        } else {
            return Ok(Pin::new(PinParams { range: from..to }, disks, flash));
        };
        Err(BadStack::Text(format!("`{}`: its range {about}", self.text)))
    }

    /// The tier's machine for these disks.
    pub(super) fn tier(
        &self,
        tier: TierSettings,
        engine: &mut Box<dyn Engine>,
    ) -> Result<Tier, BadStack> {
        let capacity = engine.geometry(Drive(0)).capacity_bytes;
        self.check_smaller(tier.size_bytes, capacity)?;
        let all = capacity + tier.size_bytes;
        let fitting = |bytes: &u64| all / bytes <= EXTENTS_MAX;
        let sizes = (0..=4).map(|power| EXTENT_BYTES << power);
        let extent_bytes =
            tier.extent_bytes.or_else(|| sizes.into_iter().find(fitting)).unwrap_or(16 << 20);
        let TierSettings { size_bytes, epoch_ns, .. } = tier;
        let params = TierParams { size_bytes, extent_bytes, epoch_ns };
        let (disks, flash) = params.places(capacity);
        let extent = display_bytes(extent_bytes);
        let about = if disks + flash > EXTENTS_MAX {
            format!(
                "makes {} extents of {extent}, and {EXTENTS_MAX} are the most: write a larger \
                 `block=`",
                disks + flash
            )
        } else if flash < PLACES_MIN {
            format!(
                "has room for {flash} extents of {extent} beside its map of {}, and {PLACES_MIN} \
                 are the fewest: write a larger `size=`",
                display_bytes(params.data_at(capacity))
            )
        } else {
            let about = |bad| BadStack::Text(format!("`{}`: {bad}", self.text));
            return Tier::open(params, engine).map_err(about);
        };
        Err(BadStack::Text(format!("`{}` {about}", self.text)))
    }
}
