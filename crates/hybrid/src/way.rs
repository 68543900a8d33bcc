//! Ways of putting flash and disks together, as STACKs.

use crate::{
    AllFlash, HybridError, Question,
    probe::{Loads, Shape, misses},
    regions::Busiest,
    seen::Seen,
};
use block::display_bytes;
use cache::Policy;
use std::collections::{BTreeMap, BTreeSet};
use target::{
    catalog::{Catalog, DriveEntry, DriveKind},
    stack::{self, Part, Stack},
};

/// How flash and disks are put together.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// No flash.
    Disks,
    /// No disks: so many of this drive.
    Flash {
        /// The drive.
        ssd: String,
        /// How many.
        count: u16,
    },
    /// One of this drive in front of the disks.
    Cache {
        /// The drive.
        ssd: String,
        /// What it keeps.
        shape: Shape,
    },
    /// A range of the volume lies on one of this drive, all else on the disks.
    Pin {
        /// The drive.
        ssd: String,
        /// The range, and what it is asked for.
        at: Busiest,
    },
    /// Extents that are asked for often move to one of this drive.
    Tier {
        /// The drive.
        ssd: String,
        /// Bytes of it.
        size_bytes: u64,
    },
}

/// One way.
#[derive(Clone, PartialEq, Debug)]
pub struct Way {
    /// How.
    pub kind: Kind,
    /// As it can be modelled.
    pub stack: Stack,
    /// What all its drives cost, where that is known.
    pub price: Option<f64>,
}

/// Share of a cache's blocks that may be dirty, as the layer has it.
const DIRTY: f64 = 0.1;
/// Caches are this part of what is touched, and not larger than the drive.
const PARTS: [u64; 4] = [1, 2, 4, 16];
/// Fewer blocks are no cache: the layer wants 64 beside its map, and room for those on their way
/// out.
const BLOCKS_MIN: u64 = 128;
/// A range that is asked for more than this share of the requests has all of them.
const PINNED_MOST: f64 = 0.9999;
/// Epochs of a tier in the time that the disks alone take for the trace: it learns from the first.
const EPOCHS: f64 = 24.0;
/// What the layer takes for an epoch, ms.
const EPOCH_MS_MIN: f64 = 100.0;
const EPOCH_MS_MAX: f64 = 86_400_000.0;
/// What a policy must miss less than LRU, as a share of all blocks asked for, and what a range must
/// have more than a smaller one, as a share of all requests.
const BETTER: f64 = 0.005;

impl Way {
    /// In a table.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Disks => "disks alone".to_owned(),
            Kind::Flash { ssd, count: 1 } => format!("{ssd} alone"),
            Kind::Flash { ssd, count } => format!("{count}x {ssd} alone"),
            Kind::Cache { ssd, shape } => format!(
                "{ssd} {} {} {}",
                display_bytes(shape.size_bytes),
                shape.policy.name(),
                shape.mode.name()
            ),
            Kind::Pin { ssd, at } => {
                format!("{ssd} {} pin", display_bytes(at.range.end - at.range.start))
            }
            Kind::Tier { ssd, size_bytes } => format!("{ssd} {} tier", display_bytes(*size_bytes)),
        }
    }

    /// The flash drive that stands beside disks.
    pub fn beside(&self) -> Option<&str> {
        match &self.kind {
            Kind::Cache { ssd, .. } | Kind::Pin { ssd, .. } | Kind::Tier { ssd, .. } => Some(ssd),
            Kind::Disks | Kind::Flash { .. } => None,
        }
    }

    /// Whether it has flash in front of disks.
    pub fn shape(&self) -> Option<(&str, &Shape)> {
        match &self.kind {
            Kind::Cache { ssd, shape } => Some((ssd, shape)),
            _ => None,
        }
    }
}

/// Finds the flash drives and checks the disks.
///
/// # Errors
/// What cannot be modelled, or is no flash and no disks.
pub fn check<'c>(
    disks: &Stack,
    ssds: &[String],
    seed: u64,
    catalog: &'c Catalog,
) -> Result<Vec<&'c DriveEntry>, HybridError> {
    let text = disks.to_string();
    stack::has_volatile_cache(disks, catalog)?;
    for layer in &disks.layers {
        if !layer.name.starts_with("raid") {
            return Err(HybridError::NoDisks { text, layer: layer.name.clone() });
        }
    }
    let found = ssds.iter().map(|name| {
        let drive = catalog.drive(name).ok_or_else(|| {
            let flash = catalog.drives().iter().filter(|drive| is_flash(drive));
            let near = block::names::did_you_mean(name, flash.map(DriveEntry::name));
            HybridError::NoDrive { name: name.clone(), near }
        })?;
        match is_flash(drive) {
            true => Ok(drive),
            false => Err(HybridError::NoFlash { name: name.clone() }),
        }
    });
    let found: Vec<&DriveEntry> = found.collect::<Result<_, _>>()?;
    let room = capacity(disks, seed, catalog)?;
    for ssd in &found {
        if ssd.capacity_bytes >= room {
            return Err(HybridError::LargerThanDisks {
                name: ssd.name().to_owned(),
                ssd_bytes: ssd.capacity_bytes,
                disks: text,
                disk_bytes: room,
            });
        }
    }
    Ok(found)
}

fn is_flash(drive: &DriveEntry) -> bool {
    matches!(drive.kind, DriveKind::PageMapped | DriveKind::BlockMapped)
}

/// What the disks hold, with their array.
fn capacity(disks: &Stack, seed: u64, catalog: &Catalog) -> Result<u64, HybridError> {
    let opened = stack::open(disks, catalog, seed)?;
    Ok(opened.contract().capacity_bytes)
}

/// All ways that can be reckoned.
///
/// # Errors
/// A way that cannot be modelled.
pub fn all(
    question: &Question,
    seen: &Seen,
    catalog: &Catalog,
    ssds: &[&DriveEntry],
    all_flash: &[AllFlash],
) -> Result<Vec<Way>, HybridError> {
    let disks_price = question.prices.of_all(&question.disks, catalog);
    let mut ways =
        vec![Way { kind: Kind::Disks, stack: question.disks.clone(), price: disks_price }];
    let room = capacity(&question.disks, question.seed, catalog)?;
    let policies = policies(ssds, question, seen);
    for ssd in ssds {
        let needed = seen.like.room_bytes.div_ceil(ssd.capacity_bytes).max(1);
        let needed = u16::try_from(needed).unwrap_or(u16::MAX).min(stack::DRIVES_MAX as u16);
        ways.push(alone(ssd, needed, question, catalog)?);
        let for_money = all_flash.iter().filter(|it| it.ssd == ssd.name() && it.count > needed);
        for AllFlash { count, .. } in for_money {
            ways.push(alone(ssd, *count, question, catalog)?);
        }
        let caches = shapes(ssd, question, seen, &policies).into_iter();
        let caches = caches.map(|shape| Kind::Cache { ssd: ssd.name().to_owned(), shape });
        for kind in caches.chain(pins(ssd, question, seen, room)) {
            ways.push(beside(kind, question, catalog, seen.block_bytes)?);
        }
    }
    Ok(ways)
}

/// A tier of each flash drive, which takes all of it or what was said. Nothing is reckoned of it.
/// Its epoch is a share of the time that the disks alone would take for the trace: so it moves
/// extents as often in a replay as at the trace's own pace.
///
/// # Errors
/// A way that cannot be modelled.
pub fn tiers(
    question: &Question,
    seen: &Seen,
    catalog: &Catalog,
    ssds: &[&DriveEntry],
    disks_iops: f64,
) -> Result<Vec<Way>, HybridError> {
    let disks_price = question.prices.of_all(&question.disks, catalog);
    let epoch_ms = (seen.requests() / disks_iops / EPOCHS * 1e3).clamp(EPOCH_MS_MIN, EPOCH_MS_MAX);
    let mut ways = Vec::new();
    for ssd in ssds {
        let name = ssd.name();
        let size_bytes = question.size_bytes.unwrap_or(u64::MAX).min(ssd.capacity_bytes);
        let settings = [
            ("ssd", name.to_owned()),
            ("size", size_bytes.to_string()),
            ("epoch", format!("{epoch_ms:.0}ms")),
        ];
        let stack = with_layer(&question.disks, "tier", &settings);
        // A size that the layer does not take has no tier.
        if stack::open(&stack, catalog, question.seed).is_ok() {
            let price = disks_price.zip(question.prices.of(name, catalog)).map(|(a, b)| a + b);
            let kind = Kind::Tier { ssd: name.to_owned(), size_bytes };
            ways.push(Way { kind, stack, price });
        }
    }
    Ok(ways)
}

/// Flash beside the disks, as a STACK with its price.
fn beside(
    kind: Kind,
    question: &Question,
    catalog: &Catalog,
    block_bytes: u64,
) -> Result<Way, HybridError> {
    let stack = match &kind {
        Kind::Cache { ssd, shape } => cached(&question.disks, ssd, shape, block_bytes),
        Kind::Pin { ssd, at } => {
            let range = format!("{}-{}", at.range.start, at.range.end);
            with_layer(&question.disks, "pin", &[("ssd", ssd.clone()), ("range", range)])
        }
        Kind::Disks | Kind::Flash { .. } | Kind::Tier { .. } => unreachable!("made elsewhere"),
    };
    stack::has_volatile_cache(&stack, catalog)?;
    let mut way = Way { kind, stack, price: None };
    let own = way.beside().and_then(|ssd| question.prices.of(ssd, catalog));
    way.price =
        question.prices.of_all(&question.disks, catalog).zip(own).map(|(disks, own)| disks + own);
    Ok(way)
}

/// So many of a flash drive, side by side.
fn alone(
    ssd: &DriveEntry,
    count: u16,
    question: &Question,
    catalog: &Catalog,
) -> Result<Way, HybridError> {
    let name = ssd.name();
    let text = if count == 1 { name.to_owned() } else { format!("{count}x{name}/raid0") };
    let stack: Stack = text.parse()?;
    let price = question.prices.of(name, catalog).map(|each| each * f64::from(count));
    Ok(Way { kind: Kind::Flash { ssd: name.to_owned(), count }, stack, price })
}

/// Bytes of flash beside the disks, by what is touched.
fn sizes(ssd: &DriveEntry, question: &Question, seen: &Seen) -> Vec<u64> {
    if let Some(size) = question.size_bytes {
        return vec![size.min(ssd.capacity_bytes)];
    }
    let footprint_bytes = seen.footprint_bytes();
    let mut sizes: Vec<u64> = PARTS
        .iter()
        .map(|part| (footprint_bytes / part).next_power_of_two().min(ssd.capacity_bytes))
        .filter(|size| *size >= BLOCKS_MIN * seen.block_bytes)
        .collect();
    if sizes.is_empty() {
        sizes.push(BLOCKS_MIN * seen.block_bytes);
    }
    sizes.dedup();
    sizes
}

/// The policy of each size that a cache on any of the drives has.
fn policies(ssds: &[&DriveEntry], question: &Question, seen: &Seen) -> BTreeMap<u64, Policy> {
    let all: BTreeSet<u64> = ssds.iter().flat_map(|ssd| sizes(ssd, question, seen)).collect();
    let all: Vec<u64> = all.into_iter().collect();
    let best = |size_bytes: &u64| question.policy.unwrap_or_else(|| best_policy(seen, *size_bytes));
    let found = study::in_parallel(&all, crate::threads(), &|_, _| {}, |_| 1, best);
    all.into_iter().zip(found).collect()
}

/// Caches, each with the policy that misses least and with both modes that keep what is written.
fn shapes(
    ssd: &DriveEntry,
    question: &Question,
    seen: &Seen,
    policies: &BTreeMap<u64, Policy>,
) -> Vec<Shape> {
    let shape = |size_bytes: u64| {
        let policy = policies[&size_bytes];
        let modes = question.modes.iter();
        modes.map(move |mode| Shape { size_bytes, policy, mode: *mode, dirty: DIRTY })
    };
    sizes(ssd, question, seen).into_iter().flat_map(shape).collect()
}

/// Ranges of the sizes of the caches, and of the whole drive. One that has all that the trace asks
/// for is flash alone, and one that has hardly more than a smaller one is left out.
fn pins(ssd: &DriveEntry, question: &Question, seen: &Seen, room: u64) -> Vec<Kind> {
    let mut sizes = sizes(ssd, question, seen);
    if question.size_bytes.is_none() && !sizes.contains(&ssd.capacity_bytes) {
        sizes.push(ssd.capacity_bytes);
    }
    sizes.sort_unstable();
    let mut found: Vec<Busiest> = Vec::new();
    for size_bytes in sizes {
        let requests = |at: &Busiest| (at.reads + at.writes) / seen.requests();
        let smaller = found.last().map_or(0.0, requests);
        let busiest = seen.regions.busiest(size_bytes, room);
        let is_worth = |at: &Busiest| requests(at) < PINNED_MOST && requests(at) > smaller + BETTER;
        found.extend(busiest.filter(is_worth));
    }
    found.into_iter().map(|at| Kind::Pin { ssd: ssd.name().to_owned(), at }).collect()
}

impl Busiest {
    /// What a trace asks of both where this range lies on flash, a request.
    pub fn loads(&self, seen: &Seen) -> Loads {
        let per = |count: f64| count / seen.requests();
        let of = |op| per(seen.like.of(op).operations as f64);
        let (flash_reads, flash_writes) = (per(self.reads), per(self.writes));
        Loads {
            flash_reads,
            flash_writes,
            disk_reads: (of(trace::Op::Read) - flash_reads).max(0.0),
            disk_writes: (of(trace::Op::Write) - flash_writes).max(0.0),
            flash_bytes: per(self.written_bytes),
            ..Loads::default()
        }
    }
}

/// LRU, unless another misses less by more than chance.
pub fn best_policy(seen: &Seen, size_bytes: u64) -> Policy {
    let lru = misses(seen, Policy::Lru, size_bytes);
    let others = [Policy::TwoQ, Policy::Arc, Policy::S3Fifo, Policy::TinyLfu];
    let others = others.into_iter().map(|policy| (misses(seen, policy, size_bytes), policy));
    let best = others.min_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(missed, _)| missed + BETTER < lru).map_or(Policy::Lru, |(_, policy)| policy)
}

/// The disks with a cache on them.
fn cached(disks: &Stack, ssd: &str, shape: &Shape, block_bytes: u64) -> Stack {
    let settings = [
        ("ssd", ssd.to_owned()),
        ("size", shape.size_bytes.to_string()),
        ("mode", shape.mode.name().to_owned()),
        ("policy", shape.policy.name().to_owned()),
        ("block", block_bytes.to_string()),
    ];
    with_layer(disks, "cache", &settings)
}

pub fn with_layer(disks: &Stack, name: &str, settings: &[(&str, String)]) -> Stack {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    let mut stack = disks.clone();
    stack.layers.push(Part { name: name.to_owned(), settings: settings.collect() });
    stack
}
