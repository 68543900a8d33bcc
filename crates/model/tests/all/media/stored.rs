//! [`Media`] against the history, on random sequences of operations and on tiny cases in full.

use super::history::History;
use block::{Buf, Durability, Extent, IoError, Payload, Rng};
use model::{Choices, Contents, FlushMark, Grain, MIXED_STAMPS, Media, WriteCache, WriteId};
use proptest::prelude::*;
use std::collections::BTreeSet;

const SECTOR: u32 = 512;
const SECTORS: u64 = 6;

fn media(contents: Contents) -> Media {
    Media::new(SECTORS * u64::from(SECTOR), SECTOR, contents)
}

fn extent(first: u64, sectors: u64) -> Extent {
    Extent { offset: first * u64::from(SECTOR), bytes: sectors as u32 * SECTOR }
}

/// What `contents` asks a write of this value to carry. A sector's bytes are its value repeated.
fn payload(contents: Contents, value: u64, sectors: u64) -> Payload {
    match contents {
        Contents::Stamps => Payload::Stamp(value),
        Contents::Nothing => Payload::None,
        Contents::Bytes => {
            let mut buffer = Buf::zeroed((sectors * u64::from(SECTOR)) as usize);
            buffer.bytes_mut().chunks_mut(8).for_each(|w| w.copy_from_slice(&value.to_le_bytes()));
            Payload::Bytes(buffer)
        }
    }
}

/// The value of one sector, read through the door.
fn value_of(media: &Media, sector: u64) -> Result<u64, IoError> {
    let mut into = payload(media.contents(), 0, 1);
    media.read(extent(sector, 1), &mut into)?;
    Ok(match into {
        Payload::Stamp(stamp) => stamp,
        Payload::Bytes(buffer) => {
            let sector = &buffer.bytes()[..SECTOR as usize];
            assert!(sector.chunks(8).all(|word| word == &sector[..8]), "a sector is torn");
            u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"))
        }
        Payload::None => panic!("nothing to read"),
    })
}

fn values_of(media: &Media) -> Vec<u64> {
    (0..SECTORS).map(|sector| value_of(media, sector).expect("undamaged")).collect()
}

fn write(media: &mut Media, first: u64, sectors: u64, value: u64, durability: Durability) {
    let from = payload(media.contents(), value, sectors);
    let id = media.begin_write(extent(first, sectors), &from, durability);
    media.complete_write(id);
}

/// A medium and its history, moved in step.
struct Pair {
    media: Media,
    history: History,
    protected: bool,
    writes: Vec<(WriteId, usize)>,
    flushes: Vec<(FlushMark, usize)>,
    next_value: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Write { first: u64, sectors: u64, fua: bool },
    Discard { first: u64, sectors: u64 },
    Complete(usize),
    Flush,
    CompleteFlush(usize),
}

impl Pair {
    fn new(contents: Contents, cache: WriteCache) -> Self {
        let (media, history) = (media(contents).with_cache(cache), History::default());
        let protected = cache == WriteCache::Protected;
        Self { media, history, protected, writes: vec![], flushes: vec![], next_value: 1 }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Write { first, sectors, fua } => {
                let from = payload(self.media.contents(), self.next_value, sectors);
                let durability = if fua { Durability::Fua } else { Durability::Cached };
                let id = self.media.begin_write(extent(first, sectors), &from, durability);
                let range = first..first + sectors;
                let past = self.history.begin(range, self.next_value, fua || self.protected);
                self.writes.push((id, past));
                self.next_value += 1;
            }
            Step::Discard { first, sectors } => {
                let at = extent(first, sectors);
                let id = self.media.begin_discard(at.offset, u64::from(at.bytes));
                let past = self.history.begin(first..first + sectors, 0, self.protected);
                self.writes.push((id, past));
            }
            Step::Complete(which) if !self.writes.is_empty() => {
                let (id, past) = self.writes.remove(which % self.writes.len());
                self.media.complete_write(id);
                self.history.complete(past);
            }
            Step::Flush => {
                self.flushes.push((self.media.begin_flush(), self.history.begin_flush()));
            }
            Step::CompleteFlush(which) if !self.flushes.is_empty() => {
                let (mark, past) = self.flushes.remove(which % self.flushes.len());
                self.media.complete_flush(mark);
                self.history.complete_flush(past);
            }
            Step::Complete(_) | Step::CompleteFlush(_) => {}
        }
    }

    fn assert_reads_agree(&self) {
        let expected: Vec<u64> = (0..SECTORS).map(|sector| self.history.visible(sector)).collect();
        assert_eq!(values_of(&self.media), expected);
    }

    /// All states that the history admits, if they are few.
    fn admissible_states(&self) -> Option<BTreeSet<Vec<u64>>> {
        let sets: Vec<_> = (0..SECTORS).map(|sector| self.history.admissible(sector)).collect();
        let count: usize = sets.iter().map(BTreeSet::len).product();
        (count <= 2_000).then(|| {
            sets.iter().fold(BTreeSet::from([vec![]]), |states, set| {
                let longer = |state: &Vec<u64>| {
                    let state = state.clone();
                    set.iter().map(move |&value| [&state[..], &[value]].concat())
                };
                states.iter().flat_map(longer).collect()
            })
        })
    }

    fn is_admissible(&self, values: &[u64]) -> bool {
        (0..).zip(values).all(|(sector, value)| self.history.admissible(sector).contains(value))
    }

    /// Whether a state of unparted values tears none of the writes that lie within one unit of
    /// `unit` sectors: where one of them shows, it or something newer shows on all of its sectors.
    fn tears_none(&self, unit: u64, values: &[u64]) -> bool {
        let order = |value: u64| {
            let past = self.history.writes.iter().find(|past| past.value == value);
            past.map_or((0, 0), |past| (past.completed.unwrap_or(u64::MAX), past.value))
        };
        self.history.writes.iter().filter(|past| past.value != 0).all(|past| {
            let (first, last) = (past.sectors.start, past.sectors.end - 1);
            let shown = |sector: u64| values[sector as usize];
            first / unit != last / unit
                || !past.sectors.clone().any(|sector| shown(sector) == past.value)
                || past.sectors.clone().all(|sector| order(shown(sector)) >= order(past.value))
        })
    }

    /// Whether two writes are under way in one sector.
    fn has_a_race(&self) -> bool {
        let open = || self.history.writes.iter().filter(|past| past.completed.is_none());
        open().flat_map(|past| past.sectors.clone()).count()
            > open().flat_map(|past| past.sectors.clone()).collect::<BTreeSet<_>>().len()
    }

    /// All states that the medium can be cut to, each way taken once.
    fn cut_states(&self, grain: Grain) -> (u64, BTreeSet<Vec<u64>>) {
        let (mut choices, mut states, mut ways) = (Choices::default(), BTreeSet::new(), 0);
        loop {
            let mut media = self.media.clone();
            media.power_cut_with(grain, &mut |count| choices.pick(count));
            assert!(!media.is_at_risk());
            states.insert(values_of(&media));
            ways += 1;
            if !choices.advance() {
                return (ways, states);
            }
        }
    }

    fn power_cut(&mut self, seed: u64) {
        self.media.power_cut(seed);
        let values = values_of(&self.media);
        assert!(self.is_admissible(&values), "seed {seed} leaves {values:?}");
        self.history = History::restart(&values);
        self.writes.clear();
        self.flushes.clear();
    }
}

/// Whether so few writes are at risk that each way to cut can be taken: a write has three at
/// [`Grain::Write`], six at most at [`Grain::Place`].
fn few_ways(media: &Media, grain: Grain) -> bool {
    media.ways_to_cut(Grain::Write) <= if grain == Grain::Place { 81 } else { 729 }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0..SECTORS).prop_flat_map(|first| (Just(first), 1..=(SECTORS - first).min(3)));
    let step = prop_oneof![
        5 => (range.clone(), prop::bool::weighted(0.2))
            .prop_map(|((first, sectors), fua)| Step::Write { first, sectors, fua }),
        1 => range.prop_map(|(first, sectors)| Step::Discard { first, sectors }),
        5 => any::<usize>().prop_map(Step::Complete),
        1 => Just(Step::Flush),
        1 => any::<usize>().prop_map(Step::CompleteFlush),
    ];
    prop::collection::vec(step, 1..14)
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() }
}

fn contents() -> impl Strategy<Value = Contents> {
    prop_oneof![Just(Contents::Bytes), Just(Contents::Stamps)]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_volatile_cache_can_be_cut_to_exactly_the_admissible_states(
        contents in contents(), before in steps(), after in steps(), seed: u64,
    ) {
        let mut pair = Pair::new(contents, WriteCache::Volatile { bytes_max: u64::MAX });
        for step in &before {
            pair.step(step);
            pair.assert_reads_agree();
        }
        pair.power_cut(seed);
        for step in &after {
            pair.step(step);
            pair.assert_reads_agree();
        }
        if let Some(expected) = pair.admissible_states() {
            let (ways, states) = pair.cut_states(Grain::Sector);
            prop_assert_eq!(ways, pair.media.ways_to_cut(Grain::Sector));
            prop_assert_eq!(ways, states.len() as u64, "each way leaves another state");
            prop_assert_eq!(states, expected);
        }
        for grain in [Grain::Write, Grain::Place] {
            if few_ways(&pair.media, grain) {
                let (_, states) = pair.cut_states(grain);
                prop_assert!(states.iter().all(|state| pair.is_admissible(state)));
            }
        }
    }

    #[test]
    fn a_small_or_protected_cache_can_be_cut_to_admissible_states_only(
        contents in contents(), small: bool, before in steps(), after in steps(), seed: u64,
    ) {
        let bytes_max = 2 * u64::from(SECTOR);
        let cache = if small { WriteCache::Volatile { bytes_max } } else { WriteCache::Protected };
        let mut pair = Pair::new(contents, cache);
        for step in &before {
            pair.step(step);
            pair.assert_reads_agree();
        }
        pair.power_cut(seed);
        for step in &after {
            pair.step(step);
            pair.assert_reads_agree();
        }
        pair.power_cut(seed ^ 1);
    }
}

proptest! {
    #![proptest_config(cases())]

    /// ext4's superblock of 1 KiB and btrfs' of 4 KiB came out torn between sectors of 512 B, which
    /// the drive that was meant would not have done.
    #[test]
    fn what_a_drive_does_not_tear_is_there_whole_or_not_at_all(
        contents in contents(), unit in prop_oneof![Just(2u64), Just(4)],
        before in steps(), after in steps(), seed: u64,
    ) {
        let mut pair = Pair::new(contents, WriteCache::Volatile { bytes_max: u64::MAX });
        pair.media = pair.media.with_atomic_writes(unit * u64::from(SECTOR));
        let is_no_discard = |step: &&Step| !matches!(step, Step::Discard { .. });
        before.iter().filter(is_no_discard).for_each(|step| pair.step(step));
        pair.power_cut(seed);
        for step in after.iter().filter(is_no_discard) {
            pair.step(step);
            pair.assert_reads_agree();
        }
        let Some(mut expected) = pair.admissible_states() else { return Ok(()) };
        expected.retain(|state| pair.tears_none(unit, state));
        if pair.media.ways_to_cut(Grain::Sector) <= 2_000 {
            let states = pair.cut_states(Grain::Sector).1;
            prop_assert!(states.is_subset(&expected));
            prop_assert!(pair.has_a_race() || states == expected, "{expected:?}");
        }
        for grain in [Grain::Write, Grain::Place] {
            if few_ways(&pair.media, grain) {
                prop_assert!(pair.cut_states(grain).1.is_subset(&expected));
            }
        }
    }
}

#[test]
fn a_write_across_two_units_is_torn_where_one_within_a_unit_is_not() {
    let cut = |first| {
        let mut pair = Pair::new(Contents::Bytes, WriteCache::Protected);
        pair.media = pair.media.with_atomic_writes(2 * u64::from(SECTOR));
        pair.step(&Step::Write { first, sectors: 2, fua: false });
        [Grain::Sector, Grain::Write].map(|grain| pair.cut_states(grain).1.len())
    };
    assert_eq!(cut(2), [2, 2], "lost or there, under way before a cache that is protected");
    assert_eq!(cut(1), [4, 3], "torn as without it");
}

/// A write of 16 KiB was torn in its middle alone, which is a whole page of PostgreSQL.
#[test]
fn a_write_is_torn_at_each_of_its_sectors_and_either_part_of_it_stays() {
    let mut pair = Pair::new(Contents::Bytes, WriteCache::Volatile { bytes_max: u64::MAX });
    pair.step(&Step::Write { first: 1, sectors: 4, fua: false });
    let states = ["000000", "011110", "010000", "001110", "011000", "000110", "011100", "000010"];
    let values = |text: &str| text.bytes().map(|digit| u64::from(digit - b'0')).collect();
    let expected: BTreeSet<Vec<u64>> = states.into_iter().map(values).collect();
    assert_eq!(pair.cut_states(Grain::Place), (8, expected));
}

#[test]
fn one_unflushed_write_of_two_sectors_leaves_four_states_or_three() {
    let mut pair = Pair::new(Contents::Bytes, WriteCache::Volatile { bytes_max: u64::MAX });
    pair.step(&Step::Write { first: 1, sectors: 2, fua: false });
    let state = |a, b| vec![0, a, b, 0, 0, 0];
    let all = BTreeSet::from([state(0, 0), state(1, 0), state(0, 1), state(1, 1)]);
    let torn_once = BTreeSet::from([state(0, 0), state(1, 0), state(1, 1)]);
    for completed in [false, true] {
        assert_eq!(pair.cut_states(Grain::Sector), (4, all.clone()), "completed: {completed}");
        assert_eq!(pair.cut_states(Grain::Write), (3, torn_once.clone()));
        pair.step(&Step::Complete(0));
    }
}

#[test]
fn a_flush_covers_what_completed_before_it_began_and_nothing_else() {
    let mut pair = Pair::new(Contents::Stamps, WriteCache::Volatile { bytes_max: u64::MAX });
    for sector in 0..4 {
        pair.step(&Step::Write { first: sector, sectors: 1, fua: false });
    }
    pair.step(&Step::Complete(0));
    pair.step(&Step::Flush);
    pair.step(&Step::Complete(0));
    let possible = |pair: &Pair| {
        let states = pair.cut_states(Grain::Sector).1;
        (0..4).map(|at| states.iter().map(|state| state[at]).collect()).collect::<Vec<Vec<u64>>>()
    };
    assert_eq!(pair.media.ways_to_cut(Grain::Sector), 16, "no flush has completed");
    pair.step(&Step::CompleteFlush(0));
    assert_eq!(pair.media.ways_to_cut(Grain::Sector), 8);
    assert!(possible(&pair)[0].iter().all(|&value| value == 1));
    assert!((1..4).all(|at| possible(&pair)[at].contains(&0)));
}

#[test]
fn fua_drops_the_older_versions_and_leaves_what_is_in_flight() {
    let mut pair = Pair::new(Contents::Stamps, WriteCache::Volatile { bytes_max: u64::MAX });
    for fua in [false, false, true] {
        pair.step(&Step::Write { first: 0, sectors: 1, fua });
    }
    pair.step(&Step::Complete(0));
    pair.step(&Step::Complete(1));
    let first_sectors: BTreeSet<u64> =
        pair.cut_states(Grain::Sector).1.iter().map(|state| state[0]).collect();
    assert_eq!(first_sectors, BTreeSet::from([2, 3]), "1 is gone, 2 in flight, 3 durable");
}

#[test]
fn a_failed_write_leaves_the_old_or_the_new_sector_by_sector() {
    let (mut rng, mut seen) = (Rng::new(1, 0), BTreeSet::new());
    for _ in 0..200 {
        let mut media = media(Contents::Bytes);
        write(&mut media, 0, 3, 1, Durability::Fua);
        let from = payload(Contents::Bytes, 2, 3);
        let id = media.begin_write(extent(0, 3), &from, Durability::Cached);
        media.fail_write(id, &mut rng);
        assert_eq!(media.in_flight(), 0);
        seen.insert(values_of(&media)[..3].to_vec());
    }
    let all: BTreeSet<_> =
        (0..8).map(|bits| (0..3).map(|at| 1 + (bits >> at & 1)).collect()).collect();
    assert_eq!(seen, all);
}

#[test]
fn damage_stays_through_power_cuts_until_the_sector_is_rewritten() {
    for contents in [Contents::Bytes, Contents::Stamps] {
        let mut media = media(contents);
        write(&mut media, 0, 3, 1, Durability::Cached);
        media.damage(extent(1, 1));
        media.power_cut(3);
        assert_eq!(value_of(&media, 1), Err(IoError::Medium));
        let mut whole = payload(contents, 0, 3);
        assert_eq!(media.read(extent(0, 3), &mut whole), Err(IoError::Medium));

        write(&mut media, 1, 1, 2, Durability::Cached);
        assert_eq!(value_of(&media, 1), Ok(2));
        let outcomes: BTreeSet<_> = (0..2)
            .map(|choice| {
                let mut cut = media.clone();
                cut.power_cut_with(Grain::Sector, &mut |_| choice);
                value_of(&cut, 1).ok()
            })
            .collect();
        assert_eq!(outcomes, BTreeSet::from([None, Some(2)]), "unflushed, it may be as it was");
        media.complete_flush(media.begin_flush());
        media.power_cut(4);
        assert_eq!(value_of(&media, 1), Ok(2));
    }
}

#[test]
fn a_sector_rewritten_as_it_was_may_still_be_damaged_until_the_flush() {
    let mut media = media(Contents::Stamps);
    media.damage(extent(0, 1));
    write(&mut media, 0, 1, 0, Durability::Cached);
    assert_eq!(value_of(&media, 0), Ok(0));
    assert_eq!(media.ways_to_cut(Grain::Sector), 2);
}

#[test]
fn a_full_cache_has_put_its_oldest_writes_on_the_medium() {
    let bytes_max = 2 * u64::from(SECTOR);
    let mut media = media(Contents::Stamps).with_cache(WriteCache::Volatile { bytes_max });
    for (sector, value) in [(0, 1), (0, 2), (1, 3), (2, 4)] {
        write(&mut media, sector, 1, value, Durability::Cached);
    }
    let mut lost = media.clone();
    assert_eq!(lost.power_cut_with(Grain::Sector, &mut |_| 0).sectors_changed, 2);
    assert_eq!(values_of(&lost)[..3], [2, 0, 0]);
    // What FUA overtook takes no room.
    write(&mut media, 1, 1, 5, Durability::Fua);
    write(&mut media, 3, 1, 6, Durability::Cached);
    media.power_cut_with(Grain::Sector, &mut |_| 0);
    assert_eq!(values_of(&media)[..4], [2, 5, 0, 0]);
}

#[test]
fn rot_changes_one_bit_of_one_sector_for_good() {
    let mut media = media(Contents::Bytes);
    let (mut before, mut after) = (payload(Contents::Bytes, 0, 6), payload(Contents::Bytes, 0, 6));
    write(&mut media, 0, 6, 0x55, Durability::Cached);
    media.read(extent(0, 6), &mut before).expect("undamaged");
    media.rot(extent(4, 1).offset, &mut Rng::new(9, 0));
    media.complete_flush(media.begin_flush());
    media.power_cut(1);
    media.read(extent(0, 6), &mut after).expect("rot is silent");
    let (Payload::Bytes(before), Payload::Bytes(after)) = (before, after) else { panic!("bytes") };
    let differing = (0..6 * SECTOR as usize).filter(|&at| before.bytes()[at] != after.bytes()[at]);
    let differing: Vec<usize> = differing.collect();
    let [at] = differing[..] else { panic!("bytes {differing:?} differ") };
    assert_eq!(at / SECTOR as usize, 4);
    assert_eq!((before.bytes()[at] ^ after.bytes()[at]).count_ones(), 1);
}

#[test]
fn a_read_over_several_stamps_says_so() {
    let mut media = media(Contents::Stamps);
    write(&mut media, 0, 2, 5, Durability::Cached);
    let mut stamp = Payload::Stamp(0);
    media.read(extent(0, 2), &mut stamp).expect("undamaged");
    assert!(matches!(stamp, Payload::Stamp(5)));
    media.read(extent(1, 2), &mut stamp).expect("undamaged");
    assert!(matches!(stamp, Payload::Stamp(MIXED_STAMPS)));
}

#[test]
fn discarding_a_large_drive_costs_what_it_holds() {
    const TIB: u64 = 1 << 40;
    let mut media = Media::new(TIB, 4096, Contents::Bytes);
    let from = Payload::Bytes(Buf::zeroed(4096));
    let Payload::Bytes(mut buffer) = from else { unreachable!("just made") };
    buffer.bytes_mut().fill(3);
    let at = |block: u64| Extent { offset: block * 4096, bytes: 4096 };
    let mut into = Payload::Bytes(buffer);
    for block in [0, 77, TIB / 4096 - 1] {
        let id = media.begin_write(at(block), &into, Durability::Fua);
        media.complete_write(id);
    }
    assert_eq!(media.resident_bytes(), 3 * 4096);
    let id = media.begin_discard(0, TIB);
    assert_eq!(media.ways_to_cut(Grain::Sector), 8, "each of three blocks gone or not");
    media.complete_write(id);
    media.read(at(77), &mut into).expect("undamaged");
    let Payload::Bytes(buffer) = &into else { panic!("bytes") };
    assert!(buffer.bytes().iter().all(|&byte| byte == 0));
    media.complete_flush(media.begin_flush());
    assert_eq!((media.resident_bytes(), media.is_at_risk()), (0, false));
}

#[test]
#[should_panic(expected = "a medium of Bytes got Stamp(1)")]
fn a_payload_of_the_wrong_kind_is_refused() {
    media(Contents::Bytes).begin_write(extent(0, 1), &Payload::Stamp(1), Durability::Cached);
}

#[test]
#[should_panic(expected = "512 B at 3072 of 3072 B")]
fn a_write_past_the_end_is_refused() {
    media(Contents::Stamps).begin_discard(SECTORS * u64::from(SECTOR), u64::from(SECTOR));
}
