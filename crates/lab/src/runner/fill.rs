//! What is written before the first cell: the whole tested area, and a probe whether contents
//! matter.

use super::{
    Event, Job, RunError, Runner, allowance,
    failure::{describe_first, is_no_space},
    fold,
};
use crate::{
    compression_probe::{PROBE_AREA_BYTES, PROBE_PAIRS, probe_bytes},
    method::{CellBound, CellSpec},
    plan::Plan,
    target::{Offer, Time},
    workload::{Area, Caching, Contents, EngineChoice, Io, OnError, Op, Pattern, Stream},
};
use record::{Flag, IoErrors, Warning};

/// Block of the fill; a rest of the area smaller than this is written by itself.
const FILL_BLOCK_BYTES: u64 = 1 << 20;
/// Zeroes faster than random bytes by more than this are stored in another way.
const PROBE_RATIO_MIN: f64 = 1.15;

impl Runner<'_> {
    /// Writes the whole area once, so that no block is answered from a map; where the method has a
    /// precondition, all that the target offers.
    pub(super) fn fill(&mut self, target: usize, round: u32) -> Result<(), RunError> {
        let offer = self.target(target).offer();
        let span_bytes = self.plan.fill_span_bytes;
        let total_bytes = self.plan.fill_bytes();
        let mut before_bytes = span_bytes * u64::from(round);
        for (area, block_bytes) in fill_parts(span_bytes, u64::from(offer.block_bytes)) {
            let contents =
                if self.plan.is_checked() { Contents::Stamped } else { Contents::Random };
            let spec = writer(self.plan, &offer, block_bytes, contents);
            let seed = self.plan.seed ^ 0xf111 ^ u64::from(round);
            self.write(target, &spec, area, seed, before_bytes, total_bytes)?;
            before_bytes += area.bytes;
        }
        Ok(())
    }

    /// Whether the target stores zeroes faster than random bytes. Writes [`probe_bytes`], or
    /// nothing where byte-bounded cells need what may still be written, where no cell writes, or
    /// where only the time is real.
    pub(super) fn probe_compression(&mut self, target: usize) -> Result<Option<Warning>, RunError> {
        let plan = self.plan;
        let bytes = probe_bytes(plan.grade, plan.fill, plan.span_bytes);
        let offer = self.target(target).offer();
        // Its writes would lie over what is read back and checked.
        let asked = bytes > 0 && plan.cells.iter().any(CellSpec::writes) && !plan.is_checked();
        if !asked || offer.time == Time::Virtual {
            return Ok(None);
        }
        if !self.allowance.allows(target, bytes.saturating_add(reserved_bytes(plan))) {
            let text =
                "--max-written leaves no room to see whether the target compresses: raise it";
            return Ok(Some(Warning { flag: None, text: text.to_owned() }));
        }
        let area = Area { offset: 0, bytes: PROBE_AREA_BYTES };
        let mut done_bytes = 0;
        let mut ratios = Vec::new();
        for (pair, order) in (0..).zip(PROBE_PAIRS) {
            let (mut random_s, mut zeros_s) = (0.0, 0.0);
            for contents in order {
                let spec = writer(plan, &offer, FILL_BLOCK_BYTES, contents);
                let seed = plan.seed ^ 0x9_0be ^ pair;
                let seconds = self.write(target, &spec, area, seed, done_bytes, bytes)?;
                done_bytes += area.bytes;
                *if contents == Contents::Zeros { &mut zeros_s } else { &mut random_s } = seconds;
            }
            ratios.push(random_s / zeros_s);
        }
        Ok(compression(&ratios))
    }

    /// Writes an area once and flushes; seconds that both took.
    fn write(
        &mut self,
        target: usize,
        spec: &CellSpec,
        area: Area,
        seed: u64,
        before_bytes: u64,
        total_bytes: u64,
    ) -> Result<f64, RunError> {
        self.allowance.spend(target, allowance::bound_bytes(spec, &[area]).expect("bound once"));
        // The bytes so far are the integral of the live rate: exact enough for a bar.
        let (mut seconds, mut bytes) = (0.0, 0.0);
        let errors_max = errors_max(self.plan.on_error);
        let job = Job { target, spec, areas: vec![area], seed, written_max: 0, errors_max };
        let done = self.pass(job, |observer, live| {
            bytes += live.bytes_per_s * (live.seconds - seconds);
            seconds = live.seconds;
            let done_bytes = before_bytes + (bytes as u64).min(area.bytes);
            observer.event(Event::Fill { target, done_bytes, total_bytes });
        })?;
        let pass = &done.streams[0];
        if pass.errors.count > 0 {
            // Where no room is left for one block there is none for the next.
            let text = self.target(target).info().text.clone();
            if let Some(sentence) = describe_first(&pass.errors, &text, is_no_space) {
                return Err(RunError::Failed(sentence));
            }
            let seen = fold::errors(&pass.errors, &pass.failed);
            self.fill_errors.entry(target).or_default().add(&seen);
        }
        Ok(pass.seconds + pass.flush_seconds.unwrap_or(0.0))
    }
}

/// So many blocks may fail while an area is written that is measured afterwards: a bad sector or a
/// few, and not a drive of which nothing works.
pub(super) fn errors_max(on_error: OnError) -> u64 {
    if on_error == OnError::Stop { 0 } else { 100 }
}

/// What is said of an area that could not be filled everywhere.
pub(super) fn hole(errors: &IoErrors) -> Warning {
    let text = format!("the tested area is not filled everywhere: {}", errors.words());
    Warning { flag: None, text }
}

/// A flag when even the smallest ratio is beyond noise.
fn compression(ratios: &[f64]) -> Option<Warning> {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    (least > PROBE_RATIO_MIN).then(|| {
        let flag = Flag::CompressingTarget;
        let text = format!("zeroes were written {least:.2} times as fast as random bytes");
        Warning { flag: Some(flag), text: format!("{text}: {}", flag.cure()) }
    })
}

/// What the byte-bounded cells of a target will write, all passes.
pub(super) fn reserved_bytes(plan: &Plan) -> u64 {
    let of_blocks = plan.cells.iter().filter(|cell| cell.tree.is_none());
    let each = of_blocks.filter_map(|cell| {
        let areas: Vec<_> = cell.streams.iter().map(|stream| plan.area(cell, stream)).collect();
        allowance::bound_bytes(cell, &areas)
    });
    each.fold(0u64, u64::saturating_add).saturating_mul(u64::from(plan.passes))
}

/// The area in whole fill blocks, and what is left of it as one block of its own: areas and their
/// blocks.
fn fill_parts(span_bytes: u64, block_bytes: u64) -> Vec<(Area, u64)> {
    let whole = span_bytes / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES;
    let rest = (span_bytes - whole) / block_bytes * block_bytes;
    let parts = [
        (Area { offset: 0, bytes: whole }, FILL_BLOCK_BYTES),
        (Area { offset: whole, bytes: rest }, rest),
    ];
    parts.into_iter().filter(|(area, _)| area.bytes > 0).collect()
}

/// One sequential pass over an area, opened as the plan's first cell is where the target allows
/// that.
pub(super) fn writer(plan: &Plan, offer: &Offer, block_bytes: u64, contents: Contents) -> CellSpec {
    let caching = match offer.direct {
        Ok(()) => plan.cells[0].streams[0].io.caching,
        Err(_) => Caching::Buffered,
    };
    let (engine, queue_depth) = match offer.uring {
        Ok(()) => (EngineChoice::Auto, 8),
        Err(_) => (EngineChoice::Sync, 1),
    };
    let block_bytes = u32::try_from(block_bytes).expect("a fill block is 1 MiB or less");
    let stream = Stream {
        queue_depth,
        engine,
        io: Io { caching, ..Io::default() },
        contents,
        ..Stream::new(Op::Write, Pattern::Sequential, block_bytes)
    };
    CellSpec::of_streams("fill", vec![stream], CellBound::Once)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fill_leaves_nothing_but_what_no_block_reaches() {
        let parts = |span, block| {
            let parts = fill_parts(span, block);
            parts.iter().map(|(area, block)| (area.offset, area.bytes, *block)).collect::<Vec<_>>()
        };
        const MIB: u64 = 1 << 20;
        assert_eq!(parts(3 * MIB, 4096), [(0, 3 * MIB, MIB)]);
        assert_eq!(parts(MIB + 9000, 4096), [(0, MIB, MIB), (MIB, 8192, 8192)]);
        assert_eq!(parts(65_536, 512), [(0, 65_536, 65_536)]);
    }

    #[test]
    fn only_a_ratio_that_all_pairs_show_is_compression() {
        assert!(compression(&[1.3, 1.2, 3.0]).is_some_and(|seen| seen.text.contains("1.20 times")));
        assert_eq!(compression(&[1.3, 1.1, 3.0]), None);
    }
}
