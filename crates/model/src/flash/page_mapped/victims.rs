//! Closed superblocks in the order in which the cleaner would take them.
//!
//! Lists through one array of links: one list in order of age for FIFO and cost-benefit, one a
//! valid count (or a range of counts, where a superblock holds more than 4096 units) for greedy.

use super::Cleaning;

const NONE: u32 = u32::MAX;
/// Lists of the greedy cleaner at most: a count is told from its neighbour to 1 / 4096 of a
/// superblock.
const LISTS_MAX: u32 = 4096;

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    previous: u32,
    list: u32,
}

/// What a policy looks at.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Units that hold data.
    pub valid: u32,
    /// Units placed on the drive since it was closed.
    pub age: u64,
}

/// The closed superblocks.
#[derive(Debug)]
pub struct Victims {
    policy: Cleaning,
    units: u32,
    /// A valid count's list is `count >> shift`.
    shift: u32,
    links: Vec<Link>,
    first: Vec<u32>,
    last: Vec<u32>,
    /// No list below this one holds anything.
    lowest: u32,
}

impl Victims {
    /// None closed yet, of `superblocks` of `units` each.
    pub fn new(policy: Cleaning, superblocks: u32, units: u32) -> Self {
        let greedy = policy == Cleaning::Greedy;
        let shift = (0..).find(|shift| units >> shift < LISTS_MAX).expect("a u32 ends");
        let lists = if greedy { (units >> shift) as usize + 1 } else { 1 };
        Self {
            policy,
            units,
            shift: if greedy { shift } else { u32::BITS - 1 },
            links: vec![Link { next: NONE, previous: NONE, list: NONE }; superblocks as usize],
            first: vec![NONE; lists],
            last: vec![NONE; lists],
            lowest: lists as u32,
        }
    }

    /// Takes `superblock` in, the youngest of its list.
    pub fn insert(&mut self, superblock: u32, valid: u32) {
        let list = valid >> self.shift;
        let previous = self.last[list as usize];
        self.links[superblock as usize] = Link { next: NONE, previous, list };
        match previous {
            NONE => self.first[list as usize] = superblock,
            previous => self.links[previous as usize].next = superblock,
        }
        self.last[list as usize] = superblock;
        self.lowest = self.lowest.min(list);
    }

    /// Takes `superblock` out.
    pub fn remove(&mut self, superblock: u32) {
        let Link { next, previous, list } = self.links[superblock as usize];
        assert!(list != NONE, "superblock {superblock} is not closed");
        match previous {
            NONE => self.first[list as usize] = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => self.last[list as usize] = previous,
            next => self.links[next as usize].previous = previous,
        }
        self.links[superblock as usize].list = NONE;
    }

    /// Units of `superblock` were invalidated; `valid` are left. Nothing to do if it is not closed.
    #[inline]
    pub fn lost(&mut self, superblock: u32, valid: u32) {
        let list = self.links[superblock as usize].list;
        if list != NONE && valid >> self.shift != list {
            self.remove(superblock);
            self.insert(superblock, valid);
        }
    }

    /// Which the policy takes next; it stays where it is. `look` tells what a superblock holds.
    pub fn choose(&mut self, look: impl Fn(u32) -> Candidate) -> Option<u32> {
        while self.first.get(self.lowest as usize).is_some_and(|&first| first == NONE) {
            self.lowest += 1;
        }
        let first = *self.first.get(self.lowest as usize)?;
        match self.policy {
            Cleaning::Fifo | Cleaning::Greedy => Some(first),
            Cleaning::CostBenefit => {
                let units = self.units;
                self.in_list(self.lowest).reduce(|best, other| {
                    if pays_more(units, look(other), look(best)) { other } else { best }
                })
            }
        }
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.links).filter(|(_, link)| link.list != NONE).map(|(number, _)| number)
    }

    fn in_list(&self, list: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |at: u32| (at != NONE).then_some(at);
        let first = some(self.first[list as usize]);
        std::iter::successors(first, move |&at| some(self.links[at as usize].next))
    }
}

/// Whether `a` has the larger (1 - u) age / (1 + u).
fn pays_more(units: u32, a: Candidate, b: Candidate) -> bool {
    let benefit = |of: Candidate| u128::from(units - of.valid) * u128::from(of.age);
    let cost = |of: Candidate| u128::from(units + of.valid);
    benefit(a) * cost(b) > benefit(b) * cost(a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    #[test]
    fn greedy_takes_the_fewest_valid_and_of_equals_the_first_to_come() {
        let (mut rng, mut valid) = (Rng::new(3, 0), [0u32; 40]);
        let mut victims = Victims::new(Cleaning::Greedy, 40, 64);
        for (number, count) in (0..).zip(&mut valid) {
            *count = rng.below(65) as u32;
            victims.insert(number, *count);
        }
        for _ in 0..600 {
            let number = rng.below(40) as usize;
            if valid[number] > 0 {
                valid[number] -= 1;
                victims.lost(number as u32, valid[number]);
            }
        }
        let mut seen = Vec::new();
        while let Some(next) = victims.choose(|_| unreachable!("greedy knows its lists")) {
            victims.remove(next);
            seen.push(valid[next as usize]);
        }
        valid.sort_unstable();
        assert_eq!(seen, valid);
    }

    #[test]
    fn cost_benefit_waits_for_the_young_and_takes_the_old() {
        let holds = [(10, 1), (40, 100), (63, 5000)];
        let look = |number: u32| {
            let (valid, age) = holds[number as usize];
            Candidate { valid, age }
        };
        let mut victims = Victims::new(Cleaning::CostBenefit, 3, 64);
        (0..3).for_each(|number| victims.insert(number, look(number).valid));
        // By hand: 54 x 1 / 74 = 0.73, 24 x 100 / 104 = 23.1, 1 x 5000 / 127 = 39.4.
        assert_eq!(victims.choose(look), Some(2));
        victims.remove(2);
        assert_eq!(victims.choose(look), Some(1));
        assert!(victims.iter().eq([0, 1]));
    }
}
