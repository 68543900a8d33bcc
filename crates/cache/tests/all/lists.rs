//! Small caches against plain lists and against all choices there are.

use cache::{Access, Policy, Replacement, misses_min};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What an LRU cache holds, the latest first: slow, and plainly right.
struct Listed(Vec<u64>, usize);

impl Listed {
    fn access(&mut self, block: u64, moves: bool) -> Access {
        if let Some(at) = self.0.iter().position(|known| *known == block) {
            if moves {
                self.0.remove(at);
                self.0.insert(0, block);
            }
            return Access::Hit;
        }
        self.0.insert(0, block);
        let evicted = (self.0.len() > self.1).then(|| self.0.pop().expect("more than fit"));
        Access::Miss { evicted }
    }
}

/// The fewest misses, by trying everything: each set of blocks that can be held, and its misses.
fn fewest(blocks: &[u64], capacity: usize) -> u64 {
    let mut states = BTreeMap::from([(BTreeSet::new(), 0u64)]);
    for &block in blocks {
        let mut after: BTreeMap<BTreeSet<u64>, u64> = BTreeMap::new();
        let mut reach = |held: BTreeSet<u64>, misses: u64| {
            let least = after.entry(held).or_insert(u64::MAX);
            *least = misses.min(*least);
        };
        for (held, misses) in states {
            if held.contains(&block) {
                reach(held, misses);
                continue;
            }
            reach(held.clone(), misses + 1);
            let with = || held.iter().copied().chain([block]).collect::<BTreeSet<u64>>();
            if held.len() < capacity {
                reach(with(), misses + 1);
            }
            for gone in &held {
                let mut held = with();
                held.remove(gone);
                reach(held, misses + 1);
            }
        }
        states = after;
    }
    states.into_values().min().expect("a state is left")
}

/// What a cache says against what it holds, for every access.
fn is_consistent(cache: &mut dyn Replacement, capacity: usize, steps: &[(u64, bool)]) {
    let mut held = BTreeSet::new();
    for &(block, removes) in steps {
        assert_eq!(cache.holds(block), held.contains(&block));
        if removes {
            assert_eq!(cache.remove(block), held.remove(&block), "{block} was removed");
        } else {
            match cache.access(block) {
                Access::Hit => assert!(held.contains(&block), "{block} was not held"),
                Access::Miss { evicted } => {
                    assert!(held.insert(block), "{block} was held");
                    if let Some(gone) = evicted {
                        assert!(held.remove(&gone), "{gone} was not held");
                        assert_eq!(held.len(), capacity, "nothing goes while there is room");
                    }
                    assert!(cache.holds(block), "who was asked for is held");
                }
                Access::Passed { evicted } => {
                    assert!(!held.contains(&block), "{block} was held");
                    if let Some(gone) = evicted {
                        assert_eq!(held.len(), capacity, "nothing goes while there is room");
                        assert!(held.remove(&gone), "{gone} was not held");
                    }
                }
            }
        }
        assert_eq!(cache.len(), held.len());
        assert!(held.len() <= capacity);
    }
}

proptest! {
    #[test]
    fn lru_and_fifo_are_lists(
        blocks in prop::collection::vec(0u64..20, 0..300),
        capacity in 1usize..12,
    ) {
        for (policy, moves) in [(Policy::Lru, true), (Policy::Fifo, false)] {
            let (mut cache, mut list) = (policy.cache(capacity), Listed(Vec::new(), capacity));
            for &block in &blocks {
                prop_assert_eq!(cache.access(block), list.access(block, moves));
            }
        }
    }

    #[test]
    fn the_bound_is_the_best_of_all_choices(
        blocks in prop::collection::vec(0u64..7, 0..14),
        capacity in 1usize..4,
    ) {
        prop_assert_eq!(misses_min(&blocks, capacity), fewest(&blocks, capacity));
    }

    #[test]
    fn no_policy_is_better_than_the_bound(
        blocks in prop::collection::vec(0u64..40, 0..400),
        capacity in 1usize..30,
    ) {
        let bound = misses_min(&blocks, capacity);
        for policy in Policy::ALL {
            prop_assert!(crate::traces::misses(policy, capacity, &blocks) >= bound);
        }
    }

    #[test]
    fn what_a_cache_answers_tells_what_it_holds(
        steps in prop::collection::vec((0u64..60, prop::bool::weighted(0.1)), 0..600),
        capacity in 1usize..40,
    ) {
        for policy in Policy::ALL {
            is_consistent(&mut *policy.cache(capacity), capacity, &steps);
        }
    }
}

#[test]
fn a_policy_is_found_by_its_name_alone() {
    for policy in Policy::ALL {
        assert_eq!(Policy::named(policy.name()), Some(policy));
    }
    assert_eq!(Policy::named("LRU"), None);
}

#[test]
fn numbers_of_blocks_may_be_any() {
    let steps: Vec<_> = (0..500u64).map(|at| (u64::MAX - at * at % 97, at % 11 == 0)).collect();
    for policy in Policy::ALL {
        is_consistent(&mut *policy.cache(50), 50, &steps);
    }
}
