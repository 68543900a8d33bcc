//! A table of things in flight: the place where a caller who broke the `queue_depth` contract is
//! found out.

/// At most `capacity` things in flight, each with a number while it is. Allocated once.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    entries: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Slots<T> {
    /// An empty table.
    pub fn new(capacity: u32) -> Self {
        Self {
            entries: (0..capacity).map(|_| None).collect(),
            vacant: (0..capacity).rev().collect(),
        }
    }

    /// Takes `entry` in and says under which number.
    ///
    /// # Panics
    /// When the table is full: the caller submitted more than `queue_depth` allows.
    #[inline]
    pub fn insert(&mut self, entry: T) -> u32 {
        let slot = self.vacant.pop().expect("queue depth exceeded");
        self.entries[slot as usize] = Some(entry);
        slot
    }

    /// Gives the entry back; its number is free again.
    ///
    /// # Panics
    /// When nothing has that number.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> T {
        let entry = self.entries[slot as usize].take().expect("slot is in flight");
        self.vacant.push(slot);
        entry
    }

    /// The entry of that number.
    ///
    /// # Panics
    /// When nothing has it.
    #[inline]
    pub fn get(&self, slot: u32) -> &T {
        self.entries[slot as usize].as_ref().expect("slot is in flight")
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// When nothing has it.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        self.entries[slot as usize].as_mut().expect("slot is in flight")
    }

    /// How many are in flight.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there can be.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Everything in flight, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.entries).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_back_and_used_again() {
        let mut slots = Slots::new(2);
        let (a, b) = (slots.insert('a'), slots.insert('b'));
        assert_ne!(a, b);
        assert_eq!((slots.remove(a), slots.len()), ('a', 1));
        let c = slots.insert('c');
        assert_eq!(slots.iter().map(|(_, entry)| *entry).collect::<String>().len(), 2);
        assert_eq!((*slots.get_mut(c), slots.remove(b)), ('c', 'b'));
    }

    #[test]
    #[should_panic(expected = "queue depth exceeded")]
    fn one_too_many_is_a_bug_of_the_caller() {
        let mut slots = Slots::new(1);
        slots.insert(1);
        slots.insert(2);
    }
}
