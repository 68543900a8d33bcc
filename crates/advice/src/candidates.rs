//! What is considered: drives, arrays of them, managed volumes on both, and runs.
//!
//! ```text
//!   DRIVE -> the drive, its arrays, a volume on each    STACK -> as it stands    RUN -> recorded.rs
//! ```

use crate::{
    error::AdviceError,
    question::{Asked, Price, Question},
    rank::{Purpose, Refusal},
    steady::Order,
};
use flash::BLOCK_BYTES;
use record::{Flag, Money};
use report::derive::Figure;
use target::{
    catalog::{Catalog, DriveEntry, Price as Printed},
    stack::{self, CHUNK_BYTES, Member, Part, SPARE_PER_MILLE, Stack},
};

/// Most drives of an array that is made up.
const DRIVES_MAX: u16 = 8;

/// One thing that could be bought.
pub struct Candidate {
    /// What a user would name it: a STACK, or a RUN's name.
    pub name: String,
    /// Where its rates come from.
    pub source: Source,
    /// What it costs.
    pub price: Price,
    /// Room for data, bytes.
    pub capacity_bytes: u64,
    /// How many drives may die, whichever they are, without loss.
    pub spare_drives: u32,
}

/// Where rates come from.
pub enum Source {
    /// A stack to be modelled.
    Modelled {
        /// Drives and array, without a managed volume.
        base: Stack,
        /// Its size, bytes.
        base_bytes: u64,
        /// The managed volume on it, if there is one.
        volume: Option<Part>,
        /// What array of equal drives it is, if it was made up.
        array: Option<Array>,
    },
    /// Cells of a run.
    Recorded(Measured),
}

/// What the cells of a run say.
pub struct Measured {
    /// The run.
    pub run: String,
    /// Operations per second when all read.
    pub read: Figure,
    /// Operations per second when all write.
    pub write: Figure,
    /// The mix itself, where it was measured.
    pub mixed: Option<f64>,
    /// What the cells' rates are to be doubted for.
    pub flags: Vec<Flag>,
}

/// An array of equal drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// As a STACK names it.
    pub level: &'static str,
    /// Drives.
    pub count: u16,
}

impl Array {
    /// Numbers of drives, at most its own and at least its own, between which an array's rates are
    /// taken to go straight.
    pub fn between(self) -> [u16; 2] {
        let anchors: &[u16] = match self.level {
            "raid5" => &[3, 5, 8],
            "raid10" => &[4, 8],
            _ => &[2, 4, 8],
        };
        let below = anchors.iter().rev().find(|anchor| **anchor <= self.count);
        let above = anchors.iter().find(|anchor| **anchor >= self.count);
        [*below.expect("the smallest is an anchor"), *above.expect("the largest is an anchor")]
    }
}

/// Everything that is considered, and what was out of the question from the beginning.
#[derive(Default)]
pub struct Field {
    /// In the order in which they were named.
    pub candidates: Vec<Candidate>,
    /// Name and price of what is out of the question.
    pub refused: Vec<(String, Option<f64>, Refusal)>,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
}

impl Field {
    /// With a note where managed volumes are out of the question.
    pub fn new(question: &Question) -> Self {
        let mut field = Self::default();
        if question.workload.order == Order::Random && !whole_blocks(question) {
            field.notes.push(format!(
                "Managed volumes are not considered: their blocks are of 4 KiB, and {} B are no \
                 multiple",
                question.workload.smallest()
            ));
        }
        field
    }

    /// A drive, every array of it, and a managed volume on each; of a drive that nobody can buy at
    /// a price known today only the fewest that hold what must find room.
    pub fn put_drive(&mut self, drive: &DriveEntry, question: &Question) {
        let price = price_of(drive, question);
        let is_to_buy = question.purpose(&price) == Purpose::Buy;
        for (count, level) in shapes() {
            let base = array_of(drive.name(), count, level);
            let array = (!level.is_empty()).then_some(Array { level, count });
            let base_bytes = volume_bytes(drive.capacity_bytes, count, level);
            if !is_to_buy {
                let fewest = question
                    .need
                    .capacity_bytes
                    .map_or(1, |bytes| bytes.div_ceil(drive.capacity_bytes).max(1));
                let is_plain = level.is_empty() || level == "raid0";
                if !is_plain || u64::from(count) != fewest.min(DRIVES_MAX.into()) {
                    continue;
                }
            }
            let price = times(&price, count);
            let spare_drives = spare_drives(level, count);
            let bare = Candidate {
                name: base.to_string(),
                source: Source::Modelled { base: base.clone(), base_bytes, volume: None, array },
                price: price.clone(),
                capacity_bytes: base_bytes,
                spare_drives,
            };
            let too_dear = question.need.admits(price.amount(), u64::MAX).is_err();
            self.put(bare, question);
            // It costs as much as without.
            if too_dear || question.workload.order != Order::Random || !whole_blocks(question) {
                continue;
            }
            let spare = spare_per_mille(base_bytes, question.need.capacity_bytes);
            let Some(spare) = spare else { continue };
            let setting = ("spare".to_owned(), format!("{}%", f64::from(spare) / 10.0));
            let volume = Part { name: "flash".to_owned(), settings: vec![setting] };
            self.put(
                Candidate {
                    name: format!("{base}/{volume}"),
                    capacity_bytes: base_bytes / 1000 * u64::from(1000 - spare),
                    source: Source::Modelled { base, base_bytes, volume: Some(volume), array },
                    price,
                    spare_drives,
                },
                question,
            );
        }
    }

    /// A stack as it was named.
    ///
    /// # Errors
    /// A stack that cannot be opened, or is none of what can be bought.
    pub fn put_stack(
        &mut self,
        stack: &Stack,
        catalog: &Catalog,
        question: &Question,
    ) -> Result<(), AdviceError> {
        let opened = stack::open(stack, catalog, question.seed)?;
        if opened.ram_bytes.is_some() {
            return Err(AdviceError::NoCandidate(
                "rates are those of drives, arrays and managed volumes: leave the file system out",
            ));
        }
        let capacity_bytes = opened.contract().capacity_bytes;
        let volume = stack.layers.iter().find(|layer| layer.name == "flash").cloned();
        let fits = question.workload.order == Order::Random && whole_blocks(question);
        if volume.is_some() && !fits {
            return Err(AdviceError::NoCandidate(
                "a managed volume is judged for random operations of whole 4 KiB blocks: leave \
                 `/flash` out",
            ));
        }
        let mut base = stack.clone();
        base.layers.retain(|layer| layer.name != "flash");
        let base_bytes = stack::open(&base, catalog, question.seed)?.contract().capacity_bytes;
        let (level, count) = (base.layers.first().map_or("", |layer| &layer.name), stack.drives());
        let candidate = Candidate {
            name: stack.to_string(),
            price: price_of_stack(stack, catalog, question),
            capacity_bytes,
            spare_drives: spare_drives(level, count as u16),
            source: Source::Modelled { base, base_bytes, volume, array: None },
        };
        self.put(candidate, question);
        Ok(())
    }

    /// Keeps it, if price and room allow it. A stack that was named beside its drive is there
    /// already.
    pub fn put(&mut self, candidate: Candidate, question: &Question) {
        let is_there = self.candidates.iter().any(|known| known.name == candidate.name)
            || self.refused.iter().any(|(known, ..)| *known == candidate.name);
        if is_there {
            return;
        }
        let price = candidate.price.amount();
        match question.need.admits(price, candidate.capacity_bytes) {
            Ok(()) => self.candidates.push(candidate),
            Err(refusal) => self.refused.push((candidate.name, price, refusal)),
        }
    }
}

fn whole_blocks(question: &Question) -> bool {
    u64::from(question.workload.smallest()).is_multiple_of(BLOCK_BYTES)
}

/// One drive, then every array of up to eight.
fn shapes() -> Vec<(u16, &'static str)> {
    let mut shapes = vec![(1, "")];
    for count in 2..=DRIVES_MAX {
        shapes.extend([(count, "raid0"), (count, "raid1")]);
        if count >= 3 {
            shapes.push((count, "raid5"));
        }
        if count >= 4 && count.is_multiple_of(2) {
            shapes.push((count, "raid10"));
        }
    }
    shapes
}

/// Equal drives, with an array on them if there is a level.
pub fn array_of(drive: &str, count: u16, level: &str) -> Stack {
    let part = |name: &str| Part { name: name.to_owned(), settings: Vec::new() };
    let layers = if level.is_empty() { Vec::new() } else { vec![part(level)] };
    Stack { members: vec![Member { count, drive: part(drive) }], layers }
}

/// Room of an array of equal drives, in whole chunks.
fn volume_bytes(drive_bytes: u64, count: u16, level: &str) -> u64 {
    let count = u64::from(count);
    let each = if level.is_empty() { drive_bytes } else { drive_bytes / CHUNK_BYTES * CHUNK_BYTES };
    match level {
        "raid0" => count * each,
        "raid5" => (count - 1) * each,
        "raid10" => count / 2 * each,
        _ => each,
    }
}

/// Drives that may die, whichever they are.
fn spare_drives(level: &str, count: u16) -> u32 {
    match level {
        "raid1" => u32::from(count) - 1,
        "raid5" | "raid10" => 1,
        "raid6" => 2,
        _ => 0,
    }
}

/// The spare that leaves the capacity asked for, in thousandths; none where nothing is left to
/// spare.
fn spare_per_mille(base_bytes: u64, capacity_bytes: Option<u64>) -> Option<u32> {
    let Some(wanted) = capacity_bytes else { return Some(SPARE_PER_MILLE) };
    let spare = 1000.0 * (1.0 - wanted as f64 / base_bytes as f64);
    (spare >= 1.0).then_some(spare.floor() as u32)
}

fn price_of(drive: &DriveEntry, question: &Question) -> Price {
    if let Some(amount) = question.given(drive.name()) {
        return Price::Known { amount, source: "as given".to_owned(), asked: Asked::Now };
    }
    match &drive.price {
        Some(Printed { usd: Some(usd), source, date, .. }) if question.currency == "USD" => {
            let asked = date.map_or(Asked::Never, Asked::On);
            Price::Known { amount: *usd, source: source.clone(), asked }
        }
        Some(Printed { usd: Some(usd), .. }) => {
            Price::Foreign(Money { amount: *usd, currency: "USD".to_owned(), date: None })
        }
        Some(Printed { usd: None, text, source, .. }) => {
            Price::Unknown(format!("{text} ({source})"))
        }
        None => Price::Unknown(String::new()),
    }
}

fn times(price: &Price, count: u16) -> Price {
    let count = f64::from(count);
    match price {
        Price::Known { amount, source, asked } => {
            Price::Known { amount: amount * count, source: source.clone(), asked: *asked }
        }
        Price::Foreign(money) => {
            Price::Foreign(Money { amount: money.amount * count, ..money.clone() })
        }
        unknown @ Price::Unknown(_) => unknown.clone(),
    }
}

/// The sum over its drives, where the price of each is known in the same currency.
fn price_of_stack(stack: &Stack, catalog: &Catalog, question: &Question) -> Price {
    let mut sum: Option<Price> = None;
    for member in &stack.members {
        let drive = catalog.drive(&member.drive.name).expect("it was opened");
        let one = times(&price_of(drive, question), member.count);
        sum = Some(match (sum, one) {
            (None, one) => one,
            (
                Some(Price::Known { amount, source, asked }),
                Price::Known { amount: more, source: other, asked: earlier },
            ) => {
                let source = if source == other { source } else { format!("{source}; {other}") };
                // A sum is as old as its oldest part.
                Price::Known { amount: amount + more, source, asked: asked.min(earlier) }
            }
            (Some(unknown @ Price::Unknown(_)), _) | (_, unknown @ Price::Unknown(_)) => unknown,
            (Some(Price::Foreign(a)), Price::Foreign(b)) if a.currency == b.currency => {
                Price::Foreign(Money { amount: a.amount + b.amount, ..a })
            }
            _ => Price::Unknown("its drives are priced in two currencies".to_owned()),
        });
    }
    sum.expect("a stack has drives")
}

/// Nothing is left to be ranked.
#[derive(Clone, PartialEq, Debug)]
pub struct NothingFits {
    /// So many hold too little.
    pub small: usize,
    /// So many cost too much.
    pub dear: usize,
    /// The cheapest of these, and its price.
    pub cheapest: Option<(String, f64)>,
}

impl Field {
    /// Whether there is anything to measure or to read.
    ///
    /// # Errors
    /// Nothing is.
    pub fn check(&self) -> Result<(), NothingFits> {
        if !self.candidates.is_empty() {
            return Ok(());
        }
        let of = |refusal| self.refused.iter().filter(move |(.., found)| *found == refusal);
        let dear =
            of(Refusal::Budget).filter_map(|(name, price, _)| Some((name.clone(), (*price)?)));
        Err(NothingFits {
            small: of(Refusal::Capacity).count(),
            dear: of(Refusal::Budget).count(),
            cheapest: dear.min_by(|a, b| a.1.total_cmp(&b.1)),
        })
    }
}
