//! Every rule, broken on purpose, must be noticed.

use super::{
    attest, caller::Mix, campaign::campaign, faults, requests, ring, roots, scenario::Scenario,
};
use crate::tools::refusals;
use flash::testing::{Rule, break_rule};
use std::panic::catch_unwind;

fn cuts(seed: u64, flush_one_in: u64) {
    cuts_of("4 KiB", seed, flush_one_in);
}

fn cuts_of(kind: &'static str, seed: u64, flush_one_in: u64) {
    let mut scenario = Scenario::named(kind, seed);
    scenario.mix = Mix { flush_one_in, ..scenario.mix };
    campaign(&scenario, 300);
}

fn cuts_of_classes(seed: u64) {
    let mut scenario = Scenario::named("classes of SepBIT", seed);
    scenario.mix = Mix { unaligned: false, flush_one_in: 60, skewed: true };
    campaign(&scenario, 300);
}

/// Whether the check fails for one of the seeds once the rule is broken, having passed for that
/// seed before.
fn is_noticed(
    rule: Rule,
    seeds: u64,
    check: impl Fn(u64) + std::panic::RefUnwindSafe,
) -> Option<u64> {
    let noticed = |seed: &u64| {
        break_rule(Some(rule));
        let noticed = catch_unwind(|| check(*seed)).is_err();
        break_rule(None);
        noticed
    };
    let seed = (0..seeds).find(noticed)?;
    check(seed);
    Some(seed)
}

fn assert_noticed(rule: Rule, seeds: u64, check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let seed = is_noticed(rule, seeds, check);
    assert!(seed.is_some(), "{rule:?} can be broken and nobody notices");
    eprintln!("{rule:?} is noticed with seed {seed:?}");
}

#[test]
fn copies_that_are_replayed_onto_anything_are_noticed() {
    assert_noticed(Rule::CompareAndSet, 30, |seed| cuts(seed, 30));
}

#[test]
fn segments_that_are_used_again_at_once_are_noticed() {
    assert_noticed(Rule::Prefree, 20, |seed| cuts(seed, 30));
}

#[test]
fn segments_that_are_freed_by_what_no_flush_covers_are_noticed() {
    assert_noticed(Rule::FreedBeforeDrain, 40, |seed| cuts(seed, 30));
}

#[test]
fn torn_tails_that_are_taken_for_whole_are_noticed() {
    assert_noticed(Rule::TornTail, 40, |seed| cuts(seed, 30));
}

#[test]
fn chunks_of_older_epochs_that_count_are_noticed() {
    assert_noticed(Rule::Epoch, 30, |seed| cuts(seed, 30));
}

#[test]
fn later_writes_that_outlive_earlier_ones_of_the_other_class_are_noticed() {
    assert_noticed(Rule::Sure, 40, cuts_of_classes);
}

#[test]
fn blocks_that_change_their_class_while_it_is_open_are_noticed() {
    assert_noticed(Rule::ClassOrder, 40, cuts_of_classes);
}

#[test]
fn flushes_that_do_not_wait_for_chunks_are_noticed() {
    assert_noticed(Rule::Flush, 20, |seed| cuts(seed, 5));
}

#[test]
fn writes_that_ignore_fua_are_noticed() {
    assert_noticed(Rule::Fua, 20, |seed| cuts(seed, 5));
}

#[test]
fn failed_flushes_that_are_acknowledged_are_noticed() {
    assert_noticed(Rule::Latch, 1, |_| faults::after_a_failed_flush_nothing_more_is_acknowledged());
}

#[test]
fn failed_writes_that_are_forgotten_are_noticed() {
    assert_noticed(Rule::Elsewhere, 1, |_| {
        faults::failed_writes_are_written_elsewhere(6);
    });
}

#[test]
fn a_host_that_takes_the_reserve_is_noticed() {
    assert_noticed(Rule::Reserve, 20, |seed| cuts(seed, 30));
}

#[test]
fn segments_that_are_used_again_under_a_reader_are_noticed() {
    assert_noticed(Rule::Pins, 40, requests::slow_readers_see_what_they_asked_for);
}

#[test]
fn reads_that_pass_by_the_chunks_in_memory_are_noticed() {
    assert_noticed(Rule::Held, 20, |seed| cuts(seed, 30));
}

#[test]
fn blocks_that_are_not_locked_are_noticed() {
    assert_noticed(Rule::Locks, 1, |_| {
        requests::two_requests_that_split_one_block();
    });
}

#[test]
fn partial_stripes_are_noticed() {
    assert_noticed(Rule::Stripe, 1, |_| requests::every_append_is_of_whole_stripes());
    assert_noticed(Rule::Stripe, 10, |seed| {
        campaign(&Scenario::named("RAID-5 of 3+1", seed), 60);
    });
}

#[test]
fn pages_of_the_map_that_are_lost_in_silence_are_noticed() {
    assert_noticed(Rule::LostPages, 1, |_| faults::lost_pages_are_errors());
}

#[test]
fn a_log_that_is_cut_at_corruption_is_noticed() {
    assert_noticed(Rule::NoCutBelowDurable, 1, |_| faults::corruption_is_not_cut_off());
}

#[test]
fn a_last_flush_that_nothing_attests_is_noticed() {
    assert_noticed(Rule::Attest, 1, |_| attest::flips_in_the_last_flush_are_told());
}

#[test]
fn attesting_what_no_flush_covered_is_noticed() {
    assert_noticed(Rule::AttestDurable, 20, |seed| cuts(seed, 30));
}

#[test]
fn unreadable_chunks_that_are_taken_for_a_torn_tail_are_noticed() {
    assert_noticed(Rule::UnreadableTail, 1, |_| attest::unreadable_tails_are_doubtful());
}

#[test]
fn a_predecessor_that_is_served_is_noticed() {
    assert_noticed(Rule::OwnPlaces, 1, |_| refusals::predecessors_stay_away());
}

#[test]
fn superblocks_that_creation_leaves_behind_are_noticed() {
    assert_noticed(Rule::Wiped, 1, |_| refusals::creation_removes_predecessors());
}

#[test]
fn a_volume_that_is_refused_for_its_newest_root_is_noticed() {
    assert_noticed(Rule::OlderRoot, 1, |_| roots::tests::newest_roots_are_dispensable(4));
}

#[test]
fn gaps_behind_an_older_root_that_are_passed_over_are_noticed() {
    assert_noticed(Rule::OlderRootWhole, 1, |_| {
        roots::tests::gaps_behind_an_older_root_are_refused();
    });
}

#[test]
fn cuts_that_an_older_root_undoes_are_noticed() {
    assert_noticed(Rule::CutBefore, 1, |_| roots::tests::entries_stay_cut(120));
}

#[test]
fn a_lost_generation_that_is_passed_over_is_noticed() {
    assert_noticed(Rule::LostGeneration, 1, |_| roots::tests::lost_generations_are_doubtful(20));
}

/// Lives with a ring, many flushes, and few requests at a time.
fn cuts_of_a_ring(kind: &'static str, seed: u64) {
    campaign(&Scenario::named(kind, seed), 300);
}

#[test]
fn chunks_with_fua_that_are_taken_for_a_flush_are_noticed() {
    assert_noticed(Rule::FuaAlone, 20, |seed| cuts(seed, 5));
}

#[test]
fn slots_that_are_used_again_before_their_chunk_is_durable_are_noticed() {
    assert_noticed(Rule::Absorbed, 40, |seed| cuts_of_a_ring("ring", seed));
}

#[test]
fn records_that_are_replayed_onto_later_chunks_are_noticed() {
    assert_noticed(Rule::ReplayAbsorbed, 20, |seed| cuts_of_a_ring("ring", seed));
}

#[test]
fn records_of_older_epochs_that_count_are_noticed() {
    assert_noticed(Rule::RecordEpoch, 40, |seed| cuts_of_a_ring("ring", seed));
}

#[test]
fn records_begun_before_the_last_one_is_durable_are_noticed() {
    assert_noticed(Rule::RecordOrder, 40, |seed| cuts_of_a_ring("ring", seed));
}

#[test]
fn torn_records_that_are_taken_for_whole_are_noticed() {
    assert_noticed(Rule::RecordTorn, 20, |seed| cuts_of_a_ring("ring", seed));
}

#[test]
fn entries_that_a_record_covers_and_that_are_cut_are_noticed() {
    assert_noticed(Rule::RecordedSure, 40, |seed| {
        cuts_of_a_ring("ring, classes of SepBIT", seed);
    });
}

#[test]
fn more_segments_than_recovery_looks_at_are_noticed() {
    assert_noticed(Rule::Window, 10, faults::slow_checkpoints);
}

#[test]
fn reads_that_are_not_verified_are_noticed() {
    assert_noticed(Rule::ReadChecksum, 1, |_| faults::rotten_blocks_are_errors());
}

#[test]
fn epochs_that_are_given_twice_are_noticed() {
    assert_noticed(Rule::EpochReserved, 1, |_| requests::epochs_of_openings_that_were_cut());
}

#[test]
fn roots_that_are_written_over_the_one_before_are_noticed() {
    assert_noticed(Rule::RootTurns, 10, |seed| cuts(seed, 30));
}

#[test]
fn a_doubtful_volume_that_is_written_to_is_noticed() {
    assert_noticed(Rule::ReadOnlyOnDoubt, 1, |_| faults::corruption_is_not_cut_off());
}

#[test]
fn overwriting_that_is_refused_for_want_of_room_is_noticed() {
    assert_noticed(Rule::OverwriteHasRoom, 1, |_| {
        requests::a_thin_volume_refuses_new_blocks_when_full_and_nothing_else();
    });
}

#[test]
fn records_that_are_lost_in_silence_are_noticed() {
    assert_noticed(Rule::RecordMissing, 1, |_| ring::missing_records_are_told());
}

#[test]
fn room_that_is_promised_twice_is_noticed() {
    assert_noticed(Rule::Promise, 20, |seed| cuts_of("thin", seed, 30));
}
