use super::*;
use engine::ublk::Parameters;

fn device(id: u32, mark: u64, state: State) -> Device {
    let server = (state != State::Dead).then_some(4711);
    Device {
        id,
        queue_depth: 128,
        transfer_bytes_max: 256 << 10,
        orphan: Orphan::Waits,
        mark,
        state,
        server,
        queues: 1,
    }
}

fn wish(id: Option<u32>) -> Wish {
    Wish { id, orphan: Orphan::Waits, mark: mark(b"this") }
}

#[test]
fn a_mark_says_whose_a_device_is_and_of_which_target() {
    assert_eq!(mark(b"this"), mark(b"this"));
    assert_ne!(mark(b"this"), mark(b"that"));
    assert!(is_ours(&device(0, mark(b""), State::Live)));
    assert!(!is_ours(&device(0, 0x3, State::Live)));
}

#[test]
fn a_device_is_made_where_there_is_none_of_this_target() {
    let others = [device(0, mark(b"that"), State::Quiesced), device(2, 0, State::Live)];
    for (id, devices) in [(None, &others[..0]), (None, &others), (Some(1), &others)] {
        assert_eq!(decide(devices, &wish(id)).expect("a number is free"), Decision::Make);
    }
}

/// A restarted server that took whatever waited, or made a second disk of the target beside the one
/// that waits, would mix up two drives under a mounted file system.
#[test]
fn the_disk_of_this_target_is_taken_up_and_no_other() {
    let ours = device(3, mark(b"this"), State::Quiesced);
    let other = device(0, mark(b"that"), State::Quiesced);
    for id in [None, Some(3)] {
        assert_eq!(decide(&[other, ours], &wish(id)).expect("ours"), Decision::TakeUp(3));
    }
    let refusal = decide(&[other, ours], &wish(Some(0))).expect_err("ours is another");
    assert!(matches!(refusal, Refusal::OtherNumber { id: 3 }), "{refusal}");
    let refusal = decide(&[other], &wish(Some(0))).expect_err("not ours");
    assert!(
        matches!(refusal, Refusal::Taken { id: 0, server: None, is_ours: true }),
        "{refusal:?}"
    );
    assert!(refusal.to_string().contains("killed server of another target"), "{refusal}");
    let living = Device { state: State::Live, ..other };
    let refusal = decide(&[living], &wish(Some(0))).expect_err("served").to_string();
    assert!(refusal.contains("process 4711") && !refusal.contains("remove"), "{refusal}");
    let foreign = device(0, 0, State::Quiesced);
    let refusal = decide(&[foreign], &wish(Some(0))).expect_err("foreign").to_string();
    assert!(refusal.contains("another program"), "{refusal}");
}

/// Without --restartable a managed volume loses with its process what it answered: whoever used the
/// disk would go on as if it were there.
#[test]
fn a_disk_that_waits_is_taken_up_only_by_who_survives_being_killed() {
    let ours = device(3, mark(b"this"), State::Quiesced);
    let fragile = Wish { orphan: Orphan::Removed, ..wish(None) };
    let refusal = decide(&[ours], &fragile).expect_err("it would lose writes");
    assert!(matches!(refusal, Refusal::NotRestartable { id: 3 }), "{refusal:?}");
    let fleeting = Device { orphan: Orphan::Removed, state: State::Live, ..ours };
    assert_eq!(decide(&[fleeting], &fragile).expect("it is dying"), Decision::TakeUp(3));
}

#[test]
fn only_a_device_without_disk_and_server_is_a_dead_leftover() {
    let dead = device(3, mark(b"that"), State::Dead);
    assert!(is_dead_leftover(&dead, |_| true));
    let starting = Device { server: Some(4711), ..dead };
    assert!(!is_dead_leftover(&starting, |process| process == 4711));
    assert!(is_dead_leftover(&starting, |_| false));
    assert!(!is_dead_leftover(&device(3, 0, State::Dead), |_| false), "not ours");
    for state in [State::Live, State::Quiesced, State::Other(9)] {
        assert!(!is_dead_leftover(&device(3, mark(b"that"), state), |_| false));
    }
}

#[test]
fn a_waiting_disk_is_taken_up_only_as_what_it_was() {
    let parameters = Parameters {
        size_bytes: 1 << 30,
        logical_block_bytes: 512,
        physical_block_bytes: 4096,
        transfer_bytes_max: 256 << 10,
        read_only: false,
        volatile_cache: true,
        discard_bytes_max: 1 << 30,
        zeroing_bytes_max: 1 << 30,
    };
    let now = Shape { parameters, queue_depth: 128, unreached_bytes: 0 };
    let ours = device(3, mark(b"this"), State::Quiesced);
    let fit = |was: Parameters| fitted(&ours, &Shape { parameters: was, ..now }, &now);
    assert_eq!(fit(parameters).expect("the same"), now);
    // The system was told so, and the server can do it.
    let smaller = Parameters { transfer_bytes_max: 64 << 10, zeroing_bytes_max: 0, ..parameters };
    assert_eq!(fit(smaller).expect("less").parameters, smaller);
    for (was, word) in [
        (Parameters { size_bytes: 1 << 20, ..parameters }, "its size was 1048576 B"),
        (Parameters { logical_block_bytes: 4096, ..parameters }, "its block was 4096 B"),
        (Parameters { transfer_bytes_max: 1 << 20, ..parameters }, "its longest transfer"),
        (Parameters { volatile_cache: false, ..parameters }, "flushes"),
    ] {
        let refusal = fit(was).expect_err("another disk");
        let Refusal::Changed { id: 3, difference } = refusal else { panic!("{refusal:?}") };
        assert!(difference.contains(word), "{difference}");
    }
    let read_only = Parameters { read_only: true, ..parameters };
    let refusal = fitted(&ours, &now, &Shape { parameters: read_only, ..now });
    assert!(refusal.expect_err("it could be written").to_string().contains("only be read"));
    let deep = Device { queue_depth: 512, ..ours };
    let refusal = fitted(&deep, &now, &now).expect_err("deeper").to_string();
    assert!(refusal.contains("queues of 512"), "{refusal}");
}
