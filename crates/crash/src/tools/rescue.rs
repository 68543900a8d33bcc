//! Rescue: whatever is damaged, what it calls recovered is right, and nothing that is there is left
//! behind.

use super::{End, block_at, classed, moved, patient, reading, sectors, used};
use crate::{
    bench::{ID, small, striped},
    roots::tests::life_with_a_cut,
};
use block::{Extent, Rng};
use flash::{
    Checksums, Shape, VolumeId,
    testing::{META_STREAM, copies, look},
    tools::{Basis, Plan, RescueReport, ToolError, survey},
};
use model::Media;
use std::ops::Range;

/// What comes out: by block, the values of its sectors; and the report.
fn rescue(medium: &Media, shape: Shape) -> (Vec<u64>, RescueReport) {
    let found =
        survey(&mut reading(medium), &Plan::default(), &mut patient()).expect("much is left");
    let mut values = vec![0; sectors(shape) as usize];
    let mut put = |offset: u64, data: &[u8]| {
        for (sector, bytes) in (offset as usize / 512..).zip(data.chunks(512)) {
            values[sector] = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        }
        Ok(())
    };
    let report = found.copy_out(&mut reading(medium), &mut put, &mut patient()).expect("healthy");
    (values, report)
}

fn is_in(ranges: &[Range<u32>], block: u32) -> bool {
    ranges.iter().any(|range| range.contains(&block))
}

fn without_superblocks(medium: &mut Media, shape: Shape) {
    for place in copies(shape.device_bytes, shape.unit_bytes()) {
        medium.damage(block_at(place));
    }
}

/// What is not doubtful is right; what is lost is listed.
fn hold(values: &[u64], expected: &[u64], report: &RescueReport, what: &str) {
    for (block, (seen, expected)) in (0..).zip(values.chunks(8).zip(expected.chunks(8))) {
        let excused = is_in(&report.doubtful, block) || is_in(&report.lost, block);
        assert!(seen == expected || excused, "{what}: block {block} {seen:?} not {expected:?}");
    }
}

fn unchecked_on_read() -> Shape {
    Shape { checksums: Checksums::OnCleaning, ..small() }
}

/// Seed, shape, what is on the drive, what the volume holds.
type Life = (u64, Shape, Media, Vec<u64>);

fn life(seed: u64) -> Life {
    let shape = [small(), striped(), unchecked_on_read(), classed()][seed as usize % 4];
    let end = if seed % 8 < 4 { End::Clean } else { End::Unclean };
    let (medium, values) = used(shape, seed, end);
    (seed, shape, medium, values)
}

fn lives() -> impl Iterator<Item = Life> {
    (0..8).map(life)
}

#[test]
fn without_superblocks_exactly_what_the_volume_held_comes_out() {
    for (seed, shape, mut medium, values) in lives() {
        without_superblocks(&mut medium, shape);
        let (seen, report) = rescue(&medium, shape);
        assert_eq!(report.basis, Basis::Root, "seed {seed}");
        assert_eq!((&report.doubtful, &report.lost), (&vec![], &vec![]), "seed {seed}");
        assert_eq!(seen, values, "seed {seed}");
        assert_eq!((report.chunks_missing, report.pages_damaged), (0, 0));
    }
}

#[test]
fn without_a_root_nothing_is_left_behind_and_what_came_back_is_listed_as_doubtful() {
    let (mut sure, mut doubtful) = (0, 0);
    for (seed, shape, mut medium, values) in lives() {
        let layout = look(&mut reading(&medium), &mut patient()).expect("healthy").layout;
        without_superblocks(&mut medium, shape);
        for area in 0..2 {
            medium.damage(block_at(layout.root_offset(area)));
        }
        let (seen, report) = rescue(&medium, shape);
        assert_eq!(report.basis, Basis::Pages, "seed {seed}");
        hold(&seen, &values, &report, &format!("seed {seed}"));
        left_behind(&seen, &values, seed);
        assert_eq!(report.lost, [], "seed {seed}");
        sure += RescueReport::blocks(&report.recovered);
        doubtful += RescueReport::blocks(&report.doubtful);
    }
    assert!(sure > 10 * doubtful, "{sure} sure, {doubtful} doubtful");
}

/// The newest root was damaged after an opening that had cut entries. `rescue` rolled forward from
/// the root before it, as opening did, over all that those chunks said: what the opening had
/// dropped came out as recovered. Right is: it stays dropped, or its blocks are doubtful.
#[test]
fn what_an_opening_cut_does_not_come_out_as_recovered() {
    for kind in ["classes of SepBIT", "ring, classes of SepBIT"] {
        for seed in 0..60 {
            let Some((mut medium, _, values)) = life_with_a_cut(kind, seed) else { continue };

            let found = look(&mut reading(&medium), &mut patient()).expect("healthy");
            let (shape, generation) = (found.superblock.shape, found.superblock.root_generation);
            medium.damage(block_at(found.layout.root_offset(generation)));
            let (seen, report) = rescue(&medium, shape);
            hold(&seen, &values, &report, &format!("{kind}, seed {seed}"));
            without_superblocks(&mut medium, shape);
            let (seen, report) = rescue(&medium, shape);
            hold(&seen, &values, &report, &format!("{kind}, seed {seed}, no superblock"));
        }
    }
}

/// Whatever held data comes out, at its newest.
fn left_behind(seen: &[u64], values: &[u64], seed: u64) {
    for (block, (seen, expected)) in seen.chunks(8).zip(values.chunks(8)).enumerate() {
        let written = expected.iter().any(|&value| value != 0);
        assert!(!written || seen == expected, "seed {seed}: block {block}");
    }
}

#[test]
fn from_chunks_alone_everything_comes_out_and_only_trims_are_forgotten() {
    let mut whole = 0;
    for (seed, shape, mut medium, values) in lives() {
        let found = look(&mut reading(&medium), &mut patient()).expect("healthy");
        without_superblocks(&mut medium, shape);
        for area in 0..2 {
            medium.damage(block_at(found.layout.root_offset(area)));
        }
        // Headers of the meta stream are damaged too: no page is known.
        for (number, segment) in (0..).zip(&found.segments) {
            for at in 0..found.layout.segment_blocks {
                if segment.stream == META_STREAM && segment.blocks > 0 {
                    let location = u64::from(found.layout.location(number) + at);
                    medium.damage(block_at(location * 4096));
                }
            }
        }
        let (seen, report) = rescue(&medium, shape);
        hold(&seen, &values, &report, &format!("seed {seed}, {:?}", report.basis));
        if report.chunks_cut == 0 {
            whole += 1;
            left_behind(&seen, &values, seed);
        }
    }
    assert!(whole > 0, "in every life a damaged number was taken for the end of the log");
}

/// A page of the map was rotten, and so was a chunk's header. The page's blocks were looked for in
/// the log, and those that the log did not speak of were taken for unmapped: zeroes, and no word
/// about it. The header had spoken of one. Rot anywhere found it (seed 2, round 0).
#[test]
fn a_block_whose_page_and_chunk_are_both_rotten_is_doubtful() {
    let mut seen = 0;
    for (seed, shape, mut medium, values) in lives().filter(|life| life.0 < 4) {
        let found = look(&mut reading(&medium), &mut patient()).expect("healthy");
        let &(block, location) = found.map.first().expect("much is mapped");
        let (page, _) = found.root.directory[(block / found.layout.page_entries) as usize];
        medium.damage(block_at(u64::from(page) * 4096));
        // With its segment goes whatever spoke of it.
        let segment = found.layout.segment_of(location);
        medium.damage(Extent {
            offset: u64::from(found.layout.location(segment)) * 4096,
            bytes: shape.segment_bytes as u32,
        });
        let (contents, report) = rescue(&medium, shape);
        if report.basis == Basis::Root && report.chunks_missing == 0 {
            seen += 1;
            hold(&contents, &values, &report, &format!("seed {seed}"));
        }
    }
    assert!(seen > 0, "in every life the segment held the end of the log too");
}

/// Where the map pointed beyond the end of a drive that was cut short, blocks were taken for
/// unmapped: zeroes, and no word about it. A copy of a drive that came to an early end is what
/// people rescue from.
#[test]
fn what_lay_behind_the_end_of_a_drive_that_was_cut_short_is_lost_or_doubtful() {
    let mut lost = 0;
    for (seed, shape, medium, values) in lives().filter(|life| life.0 < 4) {
        for part in [3, 5, 7] {
            let bytes = shape.device_bytes / 8 * part / 4096 * 4096;
            let (contents, report) = rescue(&moved(medium.clone(), bytes), shape);
            let what = format!("seed {seed}, {part}/8 of the drive, {:?}", report.basis);
            if report.basis == Basis::Root && report.chunks_missing == 0 {
                hold(&contents, &values, &report, &what);
                lost += RescueReport::blocks(&report.lost);
            }
        }
    }
    assert!(lost > 0, "nothing lay there");
}

/// A life's drive with places damaged at random: never is anything wrong called recovered.
#[test]
fn rot_anywhere_never_makes_wrong_data_look_right() {
    rot_anywhere(lives(), 6);
}

/// The same for many lives:
/// `cargo test -p drivelab-flash --release -- --ignored rot_anywhere_in_many`.
#[test]
#[ignore = "minutes: what rot anywhere shows, over a thousand lives"]
fn rot_anywhere_in_many_lives() {
    rot_anywhere((0..1000).map(life), 12);
}

fn rot_anywhere(lives: impl Iterator<Item = Life>, rounds: u32) {
    let (mut held, mut lost) = (0, 0);
    for (seed, shape, medium, values) in lives {
        let blocks = shape.device_bytes / 4096;
        let mut rng = Rng::new(seed, 4);
        for round in 0..rounds {
            let mut medium = medium.clone();
            without_superblocks(&mut medium, shape);
            for _ in 0..20 {
                medium.rot(rng.below(blocks) * 4096, &mut rng);
                medium.damage(block_at(rng.below(blocks) * 4096));
            }
            let (seen, report) = rescue(&medium, shape);
            // Where headers are gone, nobody knows what was written in their chunks; where they
            // were the last ones, not even that they were there.
            let known = report.chunks_missing == 0 && report.basis == Basis::Root;
            if known && seed % 8 < 4 {
                held += 1;
                hold(&seen, &values, &report, &format!("seed {seed}, round {round}"));
            }
            lost += RescueReport::blocks(&report.lost) + RescueReport::blocks(&report.doubtful);
        }
    }
    assert!(held > 10 && lost > 20, "{held} held, {lost} lost");
}

#[test]
fn a_drive_that_never_held_a_volume_has_nothing_to_rescue() {
    let medium = crate::bench::media(&small());
    let nothing = survey(&mut reading(&medium), &Plan::default(), &mut patient());
    assert_eq!(nothing.map(|_| ()), Err(ToolError::NothingLeft));
    let (medium, _) = used(small(), 1, End::Clean);
    let other = Plan { volume: Some(VolumeId(*b"another volume..")), ..Plan::default() };
    let nothing = survey(&mut reading(&medium), &other, &mut patient());
    assert_eq!(nothing.map(|_| ()), Err(ToolError::NothingLeft));
    let named = Plan { volume: Some(ID), ..Plan::default() };
    let found = survey(&mut reading(&medium), &named, &mut patient()).expect("it is there");
    assert_eq!(found.exported_bytes(), small().exported_bytes);
}
