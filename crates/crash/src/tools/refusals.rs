//! What is no volume, is not ours, or cannot be: one clear sentence, the drive untouched.

use super::{End, block_at, contents, moved, overwrite, patient, read_at, reading, settings, used};
use crate::bench::{ID, media, small, striped};
use block::{Command, Drive, Engine, Instant, IoError, Request, Rng, Stack, Tag};
use flash::{
    OpenError, Settings, Shape, Volume, VolumeId,
    testing::{Found, Root, Superblock, View, copies, encode_root, look},
    tools::{ToolError, status},
};
use model::Media;

/// Where the superblock's checksum is.
const CRC_AT: usize = 132;

/// Seals a superblock anew, as `docs/reference/flash-format.md` says: over volume id, offset, and
/// the bytes with the field 0.
fn seal(offset: u64, bytes: &mut [u8]) {
    bytes[CRC_AT..CRC_AT + 4].fill(0);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[16..32]), &offset.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, bytes);
    bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The volume with all four superblocks changed and sealed.
fn patched(medium: &Media, shape: Shape, patch: impl Fn(&mut [u8])) -> Media {
    let mut medium = medium.clone();
    for offset in copies(shape.device_bytes, shape.unit_bytes()) {
        let mut bytes = read_at(&medium, offset, 4096);
        patch(&mut bytes);
        seal(offset, &mut bytes);
        medium = overwrite(medium, offset, &bytes);
    }
    medium
}

/// What status says, and that opening says the same; neither writes.
fn refused(medium: &Media) -> OpenError {
    let error = match status(&mut reading(medium), &mut patient()) {
        Err(ToolError::Open(error)) => error,
        other => panic!("{other:?}"),
    };
    let drive = reading(medium);
    let volume = Volume::open(drive.geometry(Drive(0)), Settings::default());
    let mut stack = Stack::new(volume, drive);
    let (tag, actor, drive) = (Tag(0), block::Actor(0), Drive(0));
    stack.submit(Request { tag, actor, drive, command: Command::Flush });
    let mut done = Vec::new();
    while done.is_empty() {
        stack.wait(Instant::NEVER, &mut done);
    }
    assert_eq!(done[0].result, Err(IoError::Offline));
    assert_eq!(stack.machine.open_error(), Some(error));
    error
}

#[test]
fn drives_without_a_volume_are_told_so() {
    let empty = media(&small());
    assert_eq!(refused(&empty), OpenError::NoVolume);
    let mut noise = vec![0; 4 << 20];
    Rng::new(1, 1).fill(&mut noise);
    assert_eq!(refused(&overwrite(empty, 0, &noise)), OpenError::NoVolume);
    assert!(OpenError::NoVolume.to_string().contains("name the drive"));
}

#[test]
fn volumes_of_a_newer_version_or_with_unknown_features_name_the_cure() {
    let (medium, _) = used(small(), 1, End::Clean);
    let newer = refused(&patched(&medium, small(), |bytes| bytes[8] = 2));
    assert_eq!(newer, OpenError::Unknown { version: 2, features: 2 });
    let strange = refused(&patched(&medium, small(), |bytes| bytes[12] |= 1 << 5));
    assert_eq!(strange, OpenError::Unknown { version: 1, features: 34 });
    for error in [newer, strange] {
        assert!(error.to_string().contains("use a newer drivelab"), "{error}");
    }
}

#[test]
fn a_drive_that_shrank_is_refused_and_one_that_grew_is_not() {
    let (medium, values) = used(striped(), 2, End::Unclean);
    let less = striped().device_bytes - (1 << 20);
    let error = refused(&moved(medium.clone(), less));
    let created_bytes = striped().device_bytes;
    assert_eq!(error, OpenError::Shrunk { created_bytes, bytes: less });
    assert!(error.to_string().contains("give the drive its size back"), "{error}");
    let grown = moved(medium, striped().device_bytes + (1 << 20));
    assert_eq!(contents(grown, striped()), values);
}

/// Whole superblocks with sizes that nobody wrote: refused, without a panic and without terabytes
/// of memory.
#[test]
fn superblocks_that_describe_what_cannot_be_are_refused() {
    let (medium, _) = used(striped(), 3, End::Clean);
    let mut rng = Rng::new(3, 3);
    let fields = [48, 56, 64, 72, 80, 88, 136, 144];
    let mut shapes = 0;
    for round in 0..400 {
        let at = fields[round % fields.len()];
        let value = match rng.below(4) {
            0 => rng.next(),
            1 => 1 << rng.below(64),
            2 => rng.next() >> rng.below(64) & !4095,
            _ => {
                let most = 1 << rng.below(40);
                (192 << 10) * (1 + rng.below(most))
            }
        };
        let broken = patched(&medium, striped(), |bytes| {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        });
        match status(&mut reading(&broken), &mut patient()) {
            Err(ToolError::Open(error @ OpenError::Shape(_))) => {
                assert!(error.to_string().contains("flash rescue"), "{error}");
                shapes += 1;
            }
            Err(ToolError::Open(
                OpenError::NoVolume | OpenError::Shrunk { .. } | OpenError::Root { .. },
            ))
            | Ok(_) => {}
            other => panic!("{value} at {at}: {other:?}"),
        }
    }
    assert!(shapes > 50, "{shapes} shapes");
}

#[test]
fn superblocks_of_another_volume_are_told_apart() {
    let shape = striped();
    let (medium, values) = used(shape, 4, End::Clean);
    let places = copies(shape.device_bytes, shape.unit_bytes());
    let other = |medium: Media, offset: u64| {
        let mut bytes = read_at(&medium, offset, 4096);
        bytes[16..32].copy_from_slice(b"another volume..");
        bytes[40..48].copy_from_slice(&0u64.to_le_bytes());
        seal(offset, &mut bytes);
        overwrite(medium, offset, &bytes)
    };
    assert_eq!(contents(medium.clone(), shape), values);
    // Wherever it is: with the others whole, too.
    for place in places {
        let one = other(medium.clone(), place);
        let error = refused(&one);
        assert!(matches!(error, OpenError::TwoVolumes { .. }), "{place}: {error}");
        assert!(error.to_string().contains("rescue --volume"), "{error}");
    }
    let mut two = other(medium, places[2]);
    two.damage(block_at(places[0]));
    two.damage(block_at(places[3]));
    let error = refused(&two);
    assert!(matches!(error, OpenError::TwoVolumes { .. }), "{error}");
    assert!(error.to_string().contains(&ID.to_string()), "{error}");
}

/// A volume with units of 64 KiB was made where one with units of 4 KiB had been in use. Recovery
/// looked where units of 4 KiB put the inner two copies, too, and the highest generation won,
/// whatever its volume: the old volume was served, the new one was gone, and `check` was content.
/// Right is: the new one, with the old one's copies still there, because nothing is looked for
/// where the new one's shape does not put it.
#[test]
fn a_volume_is_not_succeeded_by_its_predecessor() {
    predecessors_stay_away();
}

pub fn predecessors_stay_away() {
    let (old, _) = used(small(), 6, End::Unclean);
    let shape = Shape { erase_unit_bytes: 64 << 10, ..small() };
    let id = VolumeId(*b"the second volum");
    let made = succeeded(old.clone(), shape, id);
    let mut both = made.clone();
    for place in &copies(small().device_bytes, small().unit_bytes())[1..3] {
        both = overwrite(both, *place, &read_at(&old, *place, 4096));
    }
    for medium in [made, both] {
        let seen = status(&mut reading(&medium), &mut patient()).expect("the new one is there");
        assert_eq!((seen.id, seen.layout.shape), (id, shape));
        assert_eq!(contents(medium, shape)[..16], [[4711; 8], [0; 8]].concat());
    }
}

/// A new volume where another one was; one block of it is written.
fn succeeded(old: Media, shape: Shape, id: VolumeId) -> Media {
    let drive = crate::bench::sim(old, 2);
    let volume = Volume::create(drive.geometry(Drive(0)), shape, id, settings()).expect("it fits");
    let mut bench = Stack::new(volume, drive);
    let command = crate::bench::write(0..8, 4711, block::Durability::Fua);
    crate::bench::ask(&mut bench, command).result.expect("healthy");
    crate::bench::cut(bench, 2)
}

/// And with both of the new one's outer copies damaged, the search would have found the old one's
/// inner ones: so creation removes them, wherever the search may look.
#[test]
fn creation_leaves_no_superblock_of_an_earlier_volume() {
    creation_removes_predecessors();
}

pub fn creation_removes_predecessors() {
    let id = VolumeId(*b"the second volum");
    let shape = Shape { erase_unit_bytes: 64 << 10, ..small() };
    let mut earlier = vec![used(small(), 7, End::Clean).0];
    let zoned = Shape { erase_unit_bytes: 128 << 10, segment_bytes: 128 << 10, ..small() };
    earlier.push(succeeded(earlier[0].clone(), zoned, ID));
    for old in earlier {
        let mut medium = succeeded(old, shape, id);
        for offset in (0..shape.device_bytes).step_by(4096) {
            if let Found::Valid(found) = Superblock::decode(offset, &read_at(&medium, offset, 4096))
            {
                assert_eq!(found.id, id, "at {offset}");
            }
        }
        let places = copies(shape.device_bytes, shape.unit_bytes());
        medium.damage(block_at(places[0]));
        medium.damage(block_at(places[3]));
        let seen = status(&mut reading(&medium), &mut patient()).expect("two are left");
        assert_eq!(seen.id, id);
    }
}

/// Whole roots that say what cannot be.
#[test]
fn roots_that_contradict_themselves_are_refused_or_open_for_reading_only() {
    let (medium, _) = used(small(), 5, End::Clean);
    let View { superblock, layout, root, segments, .. } =
        look(&mut reading(&medium), &mut patient()).expect("healthy");
    let with = |change: &dyn Fn(&mut Root)| {
        let mut root = root.clone();
        change(&mut root);
        let offset = layout.root_offset(superblock.root_generation);
        let image = encode_root(superblock.id, offset, superblock.root_generation, &root);
        overwrite(medium.clone(), offset, &image)
    };
    let full = segments.iter().position(|segment| segment.live > 0 && segment.is_closed);
    let full = full.expect("there is one") as u32;
    let refused_ones: [&dyn Fn(&mut Root); 7] = [
        &|root| root.free.push(root.free[0]),
        &|root| root.free.push(u32::MAX),
        &|root| root.open[0] = (root.free[0], 0),
        &|root| root.open[0] = (full, 5000),
        &|root| root.directory[0].0 = 3,
        &|root| root.directory.push((0, 0)),
        &|root| root.segments.truncate(3),
    ];
    for (number, change) in refused_ones.into_iter().enumerate() {
        let error = refused(&with(change));
        assert!(matches!(error, OpenError::Root { .. }), "{number}: {error}");
        assert!(error.to_string().contains("flash rescue"), "{error}");
    }
    let doubtful = with(&|root| root.free.push(full));
    let report = status(&mut reading(&doubtful), &mut patient()).expect("it opens").report;
    assert_eq!((report.segments_contradictory, report.is_doubtful()), (1, true));
}
