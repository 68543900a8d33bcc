//! Stripe locks: two writes to the same place of a row take turns.

/// What one write holds: rows, and columns within the chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stripes {
    pub(super) first_row: u64,
    pub(super) last_row: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    /// A rebuild is in the way of every write, a write only of writes that share its parity.
    pub(super) excludes_all: bool,
}

impl Stripes {
    fn meet(&self, other: &Self) -> bool {
        self.first_row <= other.last_row
            && other.first_row <= self.last_row
            && self.from < other.to
            && other.from < self.to
            && (self.excludes_all || other.excludes_all)
    }
}

/// Who holds what, and who waits.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    held: Vec<(Stripes, u32)>,
    waiting: Vec<(Stripes, u32)>,
}

impl Locks {
    pub(super) fn new(capacity: u32) -> Self {
        let list = || Vec::with_capacity(capacity as usize);
        Self { held: list(), waiting: list() }
    }

    /// Gives `operation` its stripes, or lets it wait behind all that came before it.
    pub(super) fn acquire(&mut self, stripes: Stripes, operation: u32) -> bool {
        let in_the_way =
            self.held.iter().chain(&self.waiting).any(|(other, _)| other.meet(&stripes));
        let list = if in_the_way { &mut self.waiting } else { &mut self.held };
        list.push((stripes, operation));
        !in_the_way
    }

    /// Takes the stripes of `operation` back and says through `granted` who has its own now.
    pub(super) fn release(&mut self, operation: u32, granted: &mut Vec<u32>) {
        let held = self.held.iter().position(|&(_, holder)| holder == operation);
        self.held.swap_remove(held.expect("the operation holds its stripes"));
        let mut at = 0;
        while at < self.waiting.len() {
            let (stripes, next) = self.waiting[at];
            let before = self.held.iter().chain(&self.waiting[..at]);
            if before.into_iter().any(|(other, _)| other.meet(&stripes)) {
                at += 1;
            } else {
                self.waiting.remove(at);
                self.held.push((stripes, next));
                granted.push(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(first_row: u64, last_row: u64) -> Stripes {
        Stripes { first_row, last_row, from: 0, to: 4096, excludes_all: true }
    }

    #[test]
    fn writes_to_one_row_take_turns_in_the_order_they_came() {
        let (mut locks, mut granted) = (Locks::new(4), Vec::new());
        assert!(locks.acquire(rows(0, 3), 0));
        assert!(!locks.acquire(rows(3, 5), 1));
        assert!(!locks.acquire(rows(5, 6), 2), "the one that waits comes first");
        assert!(locks.acquire(rows(7, 7), 3));
        locks.release(0, &mut granted);
        assert_eq!(granted, [1]);
        locks.release(1, &mut granted);
        assert_eq!(granted, [1, 2]);
    }

    #[test]
    fn other_columns_of_a_row_are_free() {
        let mut locks = Locks::new(2);
        assert!(locks.acquire(rows(0, 0), 0));
        assert!(locks.acquire(Stripes { from: 4096, to: 8192, ..rows(0, 0) }, 1));
    }
}
