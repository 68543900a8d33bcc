//! Things in flight, each with a number while it is; grows to as many as there ever were.

#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, entry: T) -> u32 {
        if let Some(number) = self.vacant.pop() {
            self.entries[number as usize] = Some(entry);
            return number;
        }
        self.entries.push(Some(entry));
        (self.entries.len() - 1) as u32
    }

    pub fn remove(&mut self, number: u32) -> T {
        self.vacant.push(number);
        self.entries[number as usize].take().expect("it is in flight")
    }

    pub fn get_mut(&mut self, number: u32) -> &mut T {
        self.entries[number as usize].as_mut().expect("it is in flight")
    }

    /// All that are in flight.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.len() == self.vacant.len()
    }
}
