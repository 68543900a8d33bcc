//! Ways of putting flash and disks together, as STACKs.

use crate::{
    HybridError, Question,
    probe::{Shape, misses},
    seen::Seen,
};
use block::display_bytes;
use cache::Policy;
use target::{
    catalog::{Catalog, DriveEntry, DriveKind},
    stack::{self, Member, Part, Stack},
};

/// What becomes of a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// It goes to flash and to the disks.
    Through,
    /// It goes to flash, and to the disks later.
    Back,
    /// It goes to the disks.
    Around,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Through, Self::Back, Self::Around];

    /// Its name in a STACK.
    pub fn name(self) -> &'static str {
        match self {
            Self::Through => "writethrough",
            Self::Back => "writeback",
            Self::Around => "writearound",
        }
    }
}

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
/// Fewer blocks are no cache (the layer wants room for those on their way out).
const BLOCKS_MIN: u64 = 64;
/// What a policy must miss less than LRU to be worth its name.
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
    question: &Question,
    catalog: &'c Catalog,
) -> Result<Vec<&'c DriveEntry>, HybridError> {
    let text = question.disks.to_string();
    stack::has_volatile_cache(&question.disks, catalog)?;
    for layer in &question.disks.layers {
        if !layer.name.starts_with("raid") {
            return Err(HybridError::NoDisks { text, layer: layer.name.clone() });
        }
    }
    let found = question.ssds.iter().map(|name| {
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
    let room = capacity(&question.disks, catalog);
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

/// What the disks hold at least: one of an array's drives.
fn capacity(disks: &Stack, catalog: &Catalog) -> u64 {
    let entry = |member: &Member| catalog.drive(&member.drive.name);
    let all = disks.members.iter().filter_map(|member| Some((entry(member)?, member.count)));
    all.map(|(drive, count)| drive.capacity_bytes * u64::from(count)).sum()
}

/// All ways worth reckoning.
///
/// # Errors
/// A way that cannot be modelled.
pub fn all(
    question: &Question,
    seen: &Seen,
    catalog: &Catalog,
    ssds: &[&DriveEntry],
) -> Result<Vec<Way>, HybridError> {
    let disks_price = price_of(&question.disks, question, catalog);
    let mut ways =
        vec![Way { kind: Kind::Disks, stack: question.disks.clone(), price: disks_price }];
    for ssd in ssds {
        ways.push(alone(ssd, question, seen, catalog)?);
        for shape in shapes(ssd, question, seen) {
            let stack = cached(&question.disks, ssd.name(), &shape, seen.block_bytes)?;
            stack::has_volatile_cache(&stack, catalog)?;
            let own = question.price(ssd.name(), catalog);
            let price = disks_price.zip(own).map(|(disks, own)| disks + own);
            ways.push(Way {
                kind: Kind::Cache { ssd: ssd.name().to_owned(), shape },
                stack,
                price,
            });
        }
    }
    Ok(ways)
}

/// As many as hold what the trace needs, side by side.
fn alone(
    ssd: &DriveEntry,
    question: &Question,
    seen: &Seen,
    catalog: &Catalog,
) -> Result<Way, HybridError> {
    let count = seen.like.room_bytes.div_ceil(ssd.capacity_bytes).max(1);
    let count = u16::try_from(count).unwrap_or(u16::MAX).min(stack::DRIVES_MAX as u16);
    let name = ssd.name();
    let text = if count == 1 { name.to_owned() } else { format!("{count}x{name}/raid0") };
    let stack: Stack = text.parse()?;
    let price = question.price(name, catalog).map(|each| each * f64::from(count));
    Ok(Way { kind: Kind::Flash { ssd: name.to_owned(), count }, stack, price })
}

/// Sizes by what is touched, each with the policy that misses least and with both modes that keep
/// what is written.
fn shapes(ssd: &DriveEntry, question: &Question, seen: &Seen) -> Vec<Shape> {
    let mut sizes: Vec<u64> = PARTS
        .iter()
        .map(|part| (seen.footprint_bytes() / part).next_power_of_two().min(ssd.capacity_bytes))
        .filter(|size| *size >= BLOCKS_MIN * seen.block_bytes)
        .collect();
    if sizes.is_empty() {
        sizes.push(BLOCKS_MIN * seen.block_bytes);
    }
    if let Some(size) = question.size_bytes {
        sizes = vec![size.min(ssd.capacity_bytes)];
    }
    sizes.dedup();
    let shape = |size_bytes: u64| {
        let policy = question.policy.unwrap_or_else(|| best_policy(seen, size_bytes));
        let modes = question.modes.iter();
        modes.map(move |mode| Shape { size_bytes, policy, mode: *mode, dirty: DIRTY })
    };
    sizes.into_iter().flat_map(shape).collect()
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
fn cached(disks: &Stack, ssd: &str, shape: &Shape, block_bytes: u64) -> Result<Stack, HybridError> {
    let text = [
        ("ssd", ssd.to_owned()),
        ("size", shape.size_bytes.to_string()),
        ("mode", shape.mode.name().to_owned()),
        ("policy", shape.policy.name().to_owned()),
        ("block", block_bytes.to_string()),
    ];
    let settings = text.map(|(key, value)| (key.to_owned(), value)).to_vec();
    let mut stack = disks.clone();
    stack.layers.push(Part { name: "cache".to_owned(), settings });
    Ok(stack)
}

fn price_of(stack: &Stack, question: &Question, catalog: &Catalog) -> Option<f64> {
    let each = stack
        .members
        .iter()
        .map(|member| Some(question.price(&member.drive.name, catalog)? * f64::from(member.count)));
    each.sum()
}
