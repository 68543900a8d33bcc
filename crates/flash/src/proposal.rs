//! A shape for a drive of which little is known: every size that nobody chose.

use crate::{
    layout::{Layout, Refusal},
    shape::{BLOCK_BYTES, Checksums, Classes, Parity, Shape},
};

/// Longer appends gain nothing on any drive of the catalog: its sequential rate is reached before.
const CHUNK_BYTES: u64 = 1 << 20;
/// Segments are of tens of MiB: large beside a chunk and an erase unit, small beside the drive.
const SEGMENT_BYTES: u64 = 32 << 20;
/// So many segments keep the reserve, a dozen of them, below 5 % of a small drive.
const SEGMENTS_MIN: u64 = 256;
/// So many keep the root, 20 B a segment, below 1 MiB on a large one.
const SEGMENTS_MAX: u64 = 32_768;
/// Chunks of a segment, at least: what a flush leaves of one is padding.
const CHUNKS_MIN: u64 = 4;

/// What is known of the drive below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Topology {
    /// Its size.
    pub device_bytes: u64,
    /// The longest request it takes.
    pub transfer_bytes_max: u64,
    /// The array's full stripe, or 4,096.
    pub stripe_bytes: u64,
    /// What it erases at once, or 4,096.
    pub erase_unit_bytes: u64,
    /// Whether a torn stripe damages what was not being written.
    pub parity: Parity,
}

/// What the user chose; the rest follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wishes {
    /// How large the volume is.
    pub size: Size,
    /// The segment, if it was chosen.
    pub segment_bytes: Option<u64>,
    /// The longest append, if it was chosen.
    pub chunk_bytes: Option<u64>,
    /// The ring for small synchronous writes, if it was chosen.
    pub ring_bytes: Option<u64>,
    /// When checksums are looked at.
    pub checksums: Checksums,
    /// What is told apart.
    pub classes: Classes,
}

/// How large a volume is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// All but this share of the drive, in thousandths; what it exports can be filled.
    Spare(u32),
    /// So many bytes. More than the drive can hold is thin provisioning.
    Exported(u64),
}

impl Shape {
    /// A shape for the topology that keeps to the wishes.
    ///
    /// # Errors
    /// [`Refusal`] with what to change.
    pub fn propose(topology: &Topology, wishes: &Wishes) -> Result<Self, Refusal> {
        topology.check()?;
        let unit_bytes = crate::layout::lcm(topology.stripe_bytes, topology.erase_unit_bytes);
        let segment_bytes =
            wishes.segment_bytes.unwrap_or_else(|| segment_bytes(topology, unit_bytes));
        let chunk_bytes =
            wishes.chunk_bytes.unwrap_or_else(|| chunk_bytes(topology, segment_bytes));
        let shape = |exported_bytes| {
            let shape = Self {
                device_bytes: topology.device_bytes,
                exported_bytes,
                stripe_bytes: topology.stripe_bytes,
                erase_unit_bytes: topology.erase_unit_bytes,
                segment_bytes,
                chunk_bytes,
                ring_bytes: 0,
                parity: topology.parity,
                checksums: wishes.checksums,
                classes: wishes.classes,
            };
            let ring_bytes = wishes.ring_bytes.unwrap_or_else(|| shape.usual_ring_bytes());
            Self { ring_bytes, ..shape }
        };
        let with_spare = |per_mille: u32| {
            let kept = u64::from(1000 - per_mille.min(1000));
            let bytes = (u128::from(topology.device_bytes) * u128::from(kept) / 1000) as u64;
            shape((bytes / BLOCK_BYTES * BLOCK_BYTES).max(BLOCK_BYTES))
        };
        let per_mille = match wishes.size {
            Size::Exported(bytes) => {
                let shape = shape(bytes);
                return Layout::new(shape, topology.transfer_bytes_max).map(|_| shape);
            }
            Size::Spare(per_mille) => per_mille,
        };
        let can_be_filled = |shape: Self| {
            Layout::new(shape, topology.transfer_bytes_max)
                .map(|layout| layout.mapped_max == layout.exported_blocks)
        };
        if can_be_filled(with_spare(per_mille))? {
            return Ok(with_spare(per_mille));
        }
        let fits = |&per_mille: &u32| can_be_filled(with_spare(per_mille)) == Ok(true);
        let per_mille_min = (per_mille + 1..1000).find(fits);
        Err(Refusal::Spare { per_mille, per_mille_min })
    }
}

impl Topology {
    /// Whether its sizes can be multiplied and divided by: a stripe or erase unit is no more than
    /// the drive, and none is 0.
    fn check(&self) -> Result<(), Refusal> {
        crate::layout::addressable(self.device_bytes)?;
        for (what, bytes) in
            [("a stripe", self.stripe_bytes), ("an erase unit", self.erase_unit_bytes)]
        {
            if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) {
                return Err(Refusal::Unaligned { what, bytes, unit_bytes: BLOCK_BYTES });
            }
            if bytes > self.device_bytes {
                return Err(Refusal::no_segment());
            }
        }
        Ok(())
    }
}

/// The multiple of the unit that is nearest to what suits a drive of this size.
fn segment_bytes(topology: &Topology, unit_bytes: u64) -> u64 {
    let least = CHUNKS_MIN * topology.stripe_bytes.max(2 * BLOCK_BYTES);
    let most = (topology.device_bytes / SEGMENTS_MIN).clamp(least, SEGMENT_BYTES.max(least));
    let suits = most.max(topology.device_bytes / SEGMENTS_MAX);
    ((suits + unit_bytes / 2) / unit_bytes).max(1) * unit_bytes
}

/// Whole stripes, so that an append keeps all members busy, as near to 1 MiB as there are.
fn chunk_bytes(topology: &Topology, segment_bytes: u64) -> u64 {
    let most = CHUNK_BYTES.min(segment_bytes / CHUNKS_MIN).min(topology.transfer_bytes_max);
    let unit_bytes = match topology.parity {
        Parity::Protected => topology.stripe_bytes,
        Parity::None if topology.stripe_bytes <= most => topology.stripe_bytes,
        Parity::None => BLOCK_BYTES,
    };
    (most / unit_bytes).max(1) * unit_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn topology(device_bytes: u64) -> Topology {
        Topology {
            device_bytes,
            transfer_bytes_max: 1 << 30,
            stripe_bytes: BLOCK_BYTES,
            erase_unit_bytes: MIB,
            parity: Parity::None,
        }
    }

    fn wishes(size: Size) -> Wishes {
        Wishes {
            size,
            segment_bytes: None,
            chunk_bytes: None,
            ring_bytes: None,
            checksums: Checksums::OnRead,
            classes: Classes::SEPBIT,
        }
    }

    #[test]
    fn drives_of_every_size_get_a_volume_that_can_be_filled() {
        for shift in 26..=44 {
            let device_bytes = (1u64 << shift) - (1 << (shift / 2));
            let erase_unit_bytes = if shift < 30 { BLOCK_BYTES } else { MIB };
            let topology = Topology { erase_unit_bytes, ..topology(device_bytes) };
            let shape = Shape::propose(&topology, &wishes(Size::Spare(280)))
                .unwrap_or_else(|refusal| panic!("2^{shift}: {refusal}"));
            let layout = Layout::new(shape, 1 << 30).expect("it was proposed");
            assert_eq!(layout.mapped_max, layout.exported_blocks, "2^{shift}");
            let exported = shape.exported_bytes as f64 / device_bytes as f64;
            assert!((exported - 0.72).abs() < 1e-4, "2^{shift}: {exported}");
            assert!((128..=40_000).contains(&layout.segments), "2^{shift}: {layout:?}");
        }
    }

    #[test]
    fn a_stripe_of_three_chunks_is_kept_whole() {
        let topology = Topology {
            stripe_bytes: 192 << 10,
            erase_unit_bytes: 3 * MIB,
            parity: Parity::Protected,
            ..topology(90 << 30)
        };
        let shape = Shape::propose(&topology, &wishes(Size::Spare(280))).expect("a shape");
        assert_eq!(shape.chunk_bytes, 5 * (192 << 10), "960 KiB are whole stripes");
        assert_eq!(shape.segment_bytes, 33 * MIB, "a multiple of 3 MiB");
    }

    #[test]
    fn too_little_spare_is_refused_with_the_least_that_goes() {
        let refusal = Shape::propose(&topology(32 << 30), &wishes(Size::Spare(10)));
        let Err(Refusal::Spare { per_mille: 10, per_mille_min: Some(least) }) = refusal else {
            panic!("{refusal:?}");
        };
        Shape::propose(&topology(32 << 30), &wishes(Size::Spare(least))).expect("so much goes");
        assert!(
            Shape::propose(&topology(32 << 30), &wishes(Size::Spare(least - 1))).is_err(),
            "{least} is the least"
        );
    }

    #[test]
    fn a_size_may_be_more_than_the_drive_holds() {
        let shape = Shape::propose(&topology(1 << 30), &wishes(Size::Exported(4 << 30)));
        assert_eq!(shape.expect("thin provisioning").exported_bytes, 4 << 30);
    }

    /// `flash create --stripe 0` divided by zero, and sizes near 2^64 wrapped on the way to the
    /// check that refuses them. Whatever is typed is refused with a sentence, or is a layout whose
    /// parts fit the drive.
    #[test]
    fn sizes_of_any_extremes_are_refused_or_fit_the_drive() {
        let mut rng = block::Rng::new(0xb0d9e7, 1);
        let mut extreme = |least: u64| {
            let near = (1u64 << rng.below(64)).wrapping_add(rng.below(3)).wrapping_sub(1);
            let whole = near / BLOCK_BYTES * BLOCK_BYTES;
            [near, whole, whole, least, 0, u64::MAX][rng.below(6) as usize]
        };
        let mut made = 0;
        for _ in 0..20_000 {
            let topology = Topology {
                stripe_bytes: extreme(BLOCK_BYTES),
                erase_unit_bytes: extreme(BLOCK_BYTES),
                parity: if extreme(1).is_multiple_of(2) { Parity::None } else { Parity::Protected },
                ..topology(extreme(1 << 30))
            };
            let chosen = |bytes: u64| bytes.is_multiple_of(3).then_some(bytes);
            let size = match chosen(extreme(1)) {
                Some(bytes) => Size::Exported(bytes),
                None => Size::Spare((extreme(280) % 1500) as u32),
            };
            let wishes = Wishes {
                segment_bytes: chosen(extreme(1)),
                chunk_bytes: chosen(extreme(1)),
                ring_bytes: chosen(extreme(1)),
                ..wishes(size)
            };
            let layout = match Shape::propose(&topology, &wishes) {
                Ok(shape) => Layout::new(shape, 1 << 30).expect("it was proposed"),
                Err(refusal) => {
                    assert!(!refusal.to_string().is_empty());
                    continue;
                }
            };
            made += 1;
            let wide = u128::from;
            let segments = wide(layout.segments.into()) * wide(layout.shape.segment_bytes);
            let before = wide(layout.first_block.into()) * wide(BLOCK_BYTES);
            assert!(before + segments <= wide(topology.device_bytes), "{layout:?}");
        }
        assert!(made > 10, "only {made} were possible");
    }
}
