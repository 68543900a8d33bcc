//! Fill by fill, from closed forms.

use super::rates::Rates;
use crate::error::AdviceError;
use flash::{
    BLOCK_BYTES, Checksums, Classes, Layout, Parity, Shape, Size, Topology, Wishes,
    predict::{Point, point},
};
use report::number;
use target::{
    catalog::Catalog,
    stack::{self, Part, SPARE_PER_MILLE, Stack},
};

/// Shares of the drive that are mapped, in hundredths, as far as a volume can be so full.
const FILLS: [u32; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95];
/// Least share of the drive that a volume is sized for: its spare is in thousandths.
const LEAST: f64 = 0.001;
/// Steps of the search for the break-even.
const STEPS: u32 = 40;
/// The longest chunk.
const TRANSFER_BYTES_MAX: u64 = 16 << 20;

/// What managed volumes of a drive would do, by fill.
pub struct Forecast {
    /// By fill.
    pub points: Vec<Point>,
    topology: Topology,
    wishes: Wishes,
    /// The one volume that is spoken of, where its spare was chosen: then each point is that volume
    /// so full. Else each point is a full volume of that size.
    chosen: Option<Layout>,
    fullest: f64,
    write_over_read: f64,
}

impl Forecast {
    /// Of the volumes that a stack could have, or of the one that its own layer names.
    pub fn of_stack(rates: &Rates, stack: &Stack) -> Result<Self, AdviceError> {
        let layered = with_layer(stack, &[]);
        let opened = stack::open(&layered, &Catalog::load()?, 0)?;
        let layout = opened.managed().and_then(flash::Volume::layout);
        let layout = *layout.ok_or_else(|| no_volume(stack))?;
        let flash = layered.layers.iter().find(|layer| layer.name == "flash").expect("it has one");
        let is_chosen = flash.settings.iter().any(|(key, _)| key == "spare");
        let shape = layout.shape;
        let topology = Topology {
            device_bytes: shape.device_bytes,
            transfer_bytes_max: TRANSFER_BYTES_MAX.max(shape.chunk_bytes),
            stripe_bytes: shape.stripe_bytes,
            erase_unit_bytes: shape.erase_unit_bytes,
            parity: shape.parity,
        };
        let wishes = Wishes {
            size: Size::Spare(SPARE_PER_MILLE),
            segment_bytes: Some(shape.segment_bytes),
            chunk_bytes: Some(shape.chunk_bytes),
            ring_bytes: None,
            checksums: shape.checksums,
            classes: shape.classes,
        };
        Self::new(rates, topology, wishes, is_chosen.then_some(layout))
    }

    /// Of plain volumes on a drive of that size.
    pub fn of_drive(rates: &Rates) -> Result<Self, AdviceError> {
        let topology = Topology {
            device_bytes: rates.device_bytes / BLOCK_BYTES * BLOCK_BYTES,
            transfer_bytes_max: TRANSFER_BYTES_MAX,
            stripe_bytes: BLOCK_BYTES,
            erase_unit_bytes: BLOCK_BYTES,
            parity: Parity::None,
        };
        let wishes = Wishes {
            size: Size::Spare(SPARE_PER_MILLE),
            segment_bytes: None,
            chunk_bytes: None,
            ring_bytes: None,
            checksums: Checksums::OnRead,
            classes: Classes::SEPBIT,
        };
        Self::new(rates, topology, wishes, None)
    }

    fn new(
        rates: &Rates,
        topology: Topology,
        wishes: Wishes,
        chosen: Option<Layout>,
    ) -> Result<Self, AdviceError> {
        let mut forecast = Self {
            points: Vec::new(),
            topology,
            wishes,
            chosen,
            fullest: 0.0,
            write_over_read: rates.write_over_read(),
        };
        let fits = |live: &f64| forecast.layout(*live).is_some();
        let fullest = match &forecast.chosen {
            Some(layout) => {
                u64::from(layout.mapped_max) as f64 * BLOCK_BYTES as f64
                    / topology.device_bytes as f64
            }
            None => (1..1000).rev().map(|share| f64::from(share) / 1000.0).find(fits).ok_or_else(
                || {
                    let text =
                        "the drive is too small for a managed volume: a larger one is needed";
                    AdviceError::NoVolume(text.to_owned())
                },
            )?,
        };
        forecast.fullest = fullest;
        let fills = FILLS.iter().map(|percent| f64::from(*percent) / 100.0);
        forecast.points =
            fills.filter(|live| *live <= fullest).map(|live| forecast.at(live)).collect();
        Ok(forecast)
    }

    /// The volume that is so full.
    fn layout(&self, live: f64) -> Option<Layout> {
        if let Some(layout) = self.chosen {
            return Some(layout);
        }
        let size = Size::Spare(((1.0 - live) * 1000.0).round() as u32);
        let shape = Shape::propose(&self.topology, &Wishes { size, ..self.wishes }).ok()?;
        Layout::new(shape, self.topology.transfer_bytes_max).ok()
    }

    /// The nearest share that a volume can have: a thousandth at least, unless the one volume that
    /// is spoken of is smaller.
    fn possible(&self, live: f64) -> f64 {
        live.clamp(LEAST.min(self.fullest), self.fullest)
    }

    /// The point at a share of the drive; at the fullest that can be, if that is less.
    pub fn at(&self, live: f64) -> Point {
        let live = self.possible(live);
        let layout = self.layout(live).expect("a volume with more spare than the fullest can be");
        let blocks = (live * self.topology.device_bytes as f64 / BLOCK_BYTES as f64) as u64;
        point(&layout, blocks.min(layout.mapped_max.into()), self.write_over_read)
    }

    /// Blocks that the log takes for each that the host writes, copies, headers and pages of the
    /// map counted, at a share of the drive.
    pub fn log_per_host_byte(&self, live: f64) -> f64 {
        let live = self.possible(live);
        let layout = self.layout(live).expect("a volume with more spare than the fullest can be");
        let blocks = (live * self.topology.device_bytes as f64 / BLOCK_BYTES as f64) as u64;
        self.at(live).write_amplification * (1.0 + layout.metadata_share(blocks))
    }

    /// Room of the one volume that is spoken of, where its spare was chosen, bytes.
    pub fn exported_bytes(&self) -> Option<u64> {
        self.chosen.map(|layout| layout.shape.exported_bytes)
    }

    /// How full it can be.
    pub fn fullest(&self) -> f64 {
        self.fullest
    }

    /// The fill beyond which a bare drive writes faster: `None` where that never is, 0 where it
    /// always is.
    pub fn break_even(&self, rates: &Rates) -> Option<f64> {
        let helps =
            |live| rates.managed_writes_per_s(self.at(live).efficiency) > rates.random_writes_per_s;
        if helps(self.fullest()) {
            return None;
        }
        if !helps(0.0) {
            return Some(0.0);
        }
        let (mut low, mut high) = (0.0, self.fullest());
        for _ in 0..STEPS {
            let middle = (low + high) / 2.0;
            if helps(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// What it comes to, in sentences.
    pub fn verdict(&self, rates: &Rates) -> Vec<String> {
        let usual = 1.0 - f64::from(SPARE_PER_MILLE) / 1000.0;
        let gain = |live| {
            let managed = rates.managed_writes_per_s(self.at(live).efficiency);
            number::significant(managed / rates.random_writes_per_s)
        };
        let mut sentences = vec![match self.break_even(rates) {
            None => format!(
                "Helps random writes at every fill: {} times as many at 25 %, {} times at {} (a full volume of the usual \
                 spare).",
                gain(0.25),
                gain(usual),
                percent(usual)
            ),
            Some(0.0) => {
                "Harms: this drive writes at random as fast as sequentially; leave the layer out."
                    .to_owned()
            }
            Some(fill) => format!(
                "Helps random writes up to a fill of {} of the drive, {} times as many at 25 %; harms beyond.",
                percent(fill),
                gain(0.25)
            ),
        }];
        let after = rates.line_after_random();
        sentences.push(format!(
            "Reading sequentially what was written at random goes at {} of the bare rate, at worst{}.",
            percent(after),
            if after < 0.1 {
                ": do not put it under what is written at random and then scanned"
            } else {
                ""
            }
        ));
        if rates.of_full_drives {
            sentences.push(
                "The bare drive of this table is full: with less on it, the rest trimmed, it \
                 writes faster."
                    .to_owned(),
            );
        }
        sentences
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(super) fn no_volume(stack: &Stack) -> AdviceError {
    AdviceError::NoVolume(format!("`model:{stack}` has no managed volume"))
}

/// The stack with a managed volume on it: its own, with what it leaves open set so.
pub fn with_layer(stack: &Stack, settings: &[(&str, String)]) -> Stack {
    let mut layered = stack.clone();
    if !layered.layers.iter().any(|layer| layer.name == "flash") {
        layered.layers.push(Part { name: "flash".to_owned(), settings: Vec::new() });
    }
    let flash = layered.layers.iter_mut().find(|layer| layer.name == "flash").expect("it has one");
    for (key, value) in settings {
        if !flash.settings.iter().any(|(known, _)| known == key) {
            flash.settings.push(((*key).to_owned(), value.clone()));
        }
    }
    layered
}
