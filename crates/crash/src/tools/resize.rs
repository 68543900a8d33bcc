//! Resizing, and what a power cut in the middle of it leaves.

use super::{End, contents, moved, patient, sectors, settings, sim, used};
use crate::bench::{ask, flush, open, read_all, small, striped, write};
use block::{Drive, Durability, Engine};
use flash::{
    Refusal, Shape,
    tools::{Beyond, DeviceUse, NewSize, Resized, Room, ToolError, check, resize},
};
use model::{Choices, Fault, FaultPlan, Faults, Grain, Media, Sim, When};

fn to(exported_bytes: u64, beyond: Beyond) -> NewSize {
    NewSize {
        exported_bytes: Some(exported_bytes),
        device: DeviceUse::Keep,
        beyond,
        room: Room::Held,
    }
}

fn resized(medium: Media, size: NewSize) -> (Media, Result<Resized, ToolError>) {
    let mut drive = sim(medium, 1);
    let result = resize(&mut drive, &size, &mut patient());
    (drive.into_media().remove(0), result)
}

fn healthy(medium: &Media) {
    let report = check(&mut super::reading(medium), 10, &mut patient()).expect("it opens");
    assert_eq!(report.findings, []);
}

#[test]
fn a_volume_grows_and_shrinks_and_keeps_what_it_holds() {
    for (seed, shape) in [(1, small()), (2, striped())] {
        for end in [End::Clean, End::Unclean] {
            let (medium, values) = used(shape, seed, end);
            let old_bytes = shape.exported_bytes;
            let grown = old_bytes + (256 << 10);
            let (medium, result) = resized(medium, to(grown, Beyond::Refuse));
            result.expect("it fits");
            healthy(&medium);
            let larger = Shape { exported_bytes: grown, ..shape };
            let mut expected = values.clone();
            expected.resize(sectors(larger) as usize, 0);
            assert_eq!(contents(medium.clone(), larger), expected);
            let mut volume = open(medium, settings(), 1);
            let last = sectors(larger) - 8..sectors(larger);
            ask(&mut volume, write(last, 7, Durability::Fua)).result.expect("it is there");
            let medium = crate::bench::cut(volume, 1);
            let (medium, result) = resized(medium, to(old_bytes, Beyond::Refuse));
            let in_use = ToolError::InUseBeyond { blocks: 1, least_bytes: grown };
            assert_eq!(result.map(|_| ()), Err(in_use));
            let (medium, result) = resized(medium, to(old_bytes, Beyond::Discard));
            assert_eq!(result.expect("it may").blocks_discarded, 1);
            healthy(&medium);
            assert_eq!(contents(medium, shape), values);
        }
    }
}

#[test]
fn a_volume_on_a_drive_that_has_grown_uses_it_all_when_told() {
    for (shape, end) in [(small(), End::Clean), (striped(), End::Unclean)] {
        let (medium, values) = used(shape, 3, end);
        let device_bytes = shape.device_bytes + (2 << 20);
        let size = NewSize {
            exported_bytes: None,
            device: DeviceUse::Whole,
            beyond: Beyond::Refuse,
            room: Room::Held,
        };
        let (medium, result) = resized(moved(medium, device_bytes), size);
        let Resized { before, after, .. } = result.expect("it has grown");
        assert!(after.segments > before.segments && after.mapped_max >= before.mapped_max);
        assert_eq!(after.shape.device_bytes, device_bytes);
        healthy(&medium);
        assert_eq!(contents(medium, shape), values);
    }
}

/// Every request of a resize is the last one that the drive sees, and of what it then holds
/// unflushed everything can be lost: the volume has its old size or its new one, and what it held.
#[test]
fn a_power_cut_anywhere_in_a_resize_leaves_the_old_size_or_the_new_one() {
    let shape = small();
    let (used, values) = used(shape, 4, End::Clean);
    let used = moved(used, shape.device_bytes + (1 << 20));
    let grown_bytes = shape.exported_bytes + (128 << 10);
    let size = NewSize {
        exported_bytes: Some(grown_bytes),
        device: DeviceUse::Whole,
        beyond: Beyond::Refuse,
        room: Room::Held,
    };
    let (mut cuts, mut old, mut new) = (0, 0, 0);
    for nth in 1.. {
        let plan = FaultPlan::new(nth).with(Fault::Gone, When::Nth(nth));
        let rig = crate::bench::rig(used.clone(), nth);
        let mut drive = Sim::new(rig.with_faults(Drive(0), Faults::new(plan, Drive(0))));
        let result = resize(&mut drive, &size, &mut patient());
        let medium = drive.into_media().remove(0);
        let mut choices = Choices::default();
        loop {
            let mut medium = medium.clone();
            medium.power_cut_with(Grain::Write, &mut |count| choices.pick(count));
            let mut volume = open(medium, settings(), 1);
            flush(&mut volume).unwrap_or_else(|_| panic!("{:?}", volume.machine.open_error()));
            volume.machine.audit();
            let exported_bytes = volume.geometry(Drive(0)).capacity_bytes;
            let mut expected = values.clone();
            expected.resize((exported_bytes / 512) as usize, 0);
            assert_eq!(read_all(&mut volume, exported_bytes / 512).as_ref(), Ok(&expected));
            match exported_bytes {
                bytes if bytes == grown_bytes => new += 1,
                bytes if bytes == shape.exported_bytes => old += 1,
                bytes => panic!("{bytes} B"),
            }
            cuts += 1;
            if !choices.advance() {
                break;
            }
        }
        if result.is_ok() {
            break;
        }
    }
    eprintln!("{cuts} cuts: {old} old, {new} new");
    assert!(old > 10 && new > 2, "{old} old, {new} new");
}

#[test]
fn sizes_that_cannot_be_are_refused_and_the_volume_is_untouched() {
    let (medium, values) = used(small(), 5, End::Unclean);
    let odd = to(100 << 10 | 512, Beyond::Discard);
    let huge = to(64 << 40, Beyond::Refuse);
    let wide = to(8 << 40, Beyond::Refuse);
    let mut reasons = Vec::new();
    for size in [odd, huge, wide] {
        let refused = resize(&mut super::reading(&medium), &size, &mut patient());
        reasons.push(refused.expect_err("it cannot be"));
    }
    assert!(matches!(reasons[0], ToolError::Refused(Refusal::Unaligned { .. })), "{reasons:?}");
    assert!(matches!(reasons[1], ToolError::Refused(Refusal::TooLarge { .. })), "{reasons:?}");
    assert!(matches!(reasons[2], ToolError::Refused(_)), "{reasons:?}");
    let shrunk = to(4096, Beyond::Refuse);
    let refused = resize(&mut super::reading(&medium), &shrunk, &mut patient());
    let error = refused.expect_err("it holds data");
    assert!(error.to_string().contains("discard"), "{error}");
    assert_eq!(contents(medium, small()), values);
}
