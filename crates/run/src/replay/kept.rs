//! A trace that stays in memory between the replays of it.

use lab::workload::replay::{Asked, Feed, Script, What};
use std::sync::Arc;

/// What a length is shifted by beside its kind.
const KIND_BITS: u32 = 2;
const KINDS: [What; 4] = [What::Read, What::Write, What::Flush, What::Trim];

/// An operation.
#[derive(Clone, Copy)]
struct Packed {
    after_ns: u64,
    offset: u64,
    /// Its length, and its kind in the lowest bits.
    bytes_and_kind: u64,
}

/// The operations of a trace, while there are not too many.
pub struct Kept {
    operations: Vec<Packed>,
    most: usize,
    is_whole: bool,
}

impl Kept {
    /// None yet, and never more than `most`.
    pub fn new(most: usize) -> Self {
        Self { operations: Vec::new(), most, is_whole: most > 0 }
    }

    /// Keeps one more, or none at all from now on.
    pub fn push(&mut self, Asked { after_ns, what, offset, bytes }: Asked) {
        if !self.is_whole {
            return;
        }
        if self.operations.len() == self.most || bytes > u64::MAX >> KIND_BITS {
            (self.operations, self.is_whole) = (Vec::new(), false);
            return;
        }
        let bytes_and_kind = bytes << KIND_BITS | what as u64;
        self.operations.push(Packed { after_ns, offset, bytes_and_kind });
    }

    /// All of them, if all were kept.
    pub fn all(self) -> Option<InMemory> {
        self.is_whole.then(|| InMemory(Arc::new(self.operations)))
    }
}

/// All operations of a trace.
pub struct InMemory(Arc<Vec<Packed>>);

impl Script for InMemory {
    fn open(&self) -> Result<Box<dyn Feed>, String> {
        Ok(Box::new(FromMemory { all: Arc::clone(&self.0), next: 0 }))
    }
}

struct FromMemory {
    all: Arc<Vec<Packed>>,
    next: usize,
}

impl Feed for FromMemory {
    fn next(&mut self) -> Result<Option<Asked>, String> {
        let Some(&Packed { after_ns, offset, bytes_and_kind }) = self.all.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        let what = KINDS[(bytes_and_kind % KINDS.len() as u64) as usize];
        Ok(Some(Asked { after_ns, what, offset, bytes: bytes_and_kind >> KIND_BITS }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(number: u64) -> Asked {
        let what = KINDS[number as usize % 4];
        Asked { after_ns: number * 7, what, offset: number << 40, bytes: number * 512 }
    }

    #[test]
    fn what_is_kept_comes_back_as_often_as_it_is_asked_for() {
        let mut kept = Kept::new(1000);
        (0..1000).for_each(|number| kept.push(asked(number)));
        let script = kept.all().expect("there is room for 1,000");
        for _ in 0..2 {
            let mut feed = script.open().expect("it is in memory");
            for number in 0..1000 {
                assert_eq!(feed.next(), Ok(Some(asked(number))));
            }
            assert_eq!(feed.next(), Ok(None));
        }
    }

    #[test]
    fn one_too_many_or_too_long_and_none_is_kept() {
        let mut kept = Kept::new(10);
        (0..11).for_each(|number| kept.push(asked(number)));
        assert!(kept.all().is_none());
        let mut kept = Kept::new(10);
        kept.push(Asked { bytes: u64::MAX, ..asked(0) });
        kept.push(asked(1));
        assert!(kept.all().is_none() && Kept::new(0).all().is_none());
    }
}
