//! Read-ahead: what a read of missing pages brings besides them.
//!
//! The algorithm is the kernel's on-demand read-ahead (Wu Fengguang, "On the design of a new Linux
//! readahead framework", 2008; `mm/readahead.c` since 2.6.23, which the older window pair of 2.6
//! resembles): a sequential miss opens a window, and a reader that enters its asynchronous part has
//! the next one requested, so that the device never pauses.
//!
//! ```text
//!   |-- start ----- size -------------|
//!   |  sync part   |<-- async_size -->|        the marker stands at the start of the async part
//! ```

/// One open file's read-ahead state, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Window {
    start: u64,
    size: u64,
    async_size: u64,
    /// One past the last page that was read; 0 at first, so that a read from the start is
    /// sequential.
    previous_end: u64,
}

impl Window {
    /// The page on whose use the next window is to be requested.
    #[inline]
    pub fn marker(&self) -> Option<u64> {
        (self.async_size > 0).then(|| self.start + self.size - self.async_size)
    }

    /// The reader has used the pages before `end`.
    #[inline]
    pub fn advance(&mut self, end: u64) {
        self.previous_end = end;
    }

    /// `page` is missing and `wanted` pages from it on are asked for: what to read.
    pub fn on_miss(&mut self, page: u64, wanted: u64, max: u64) -> (u64, u64) {
        let grows = self.size > 0 && page == self.start + self.size;
        let sequential = page == 0 || page == self.previous_end || page + 1 == self.previous_end;
        if max == 0 || !(grows || sequential) {
            return (page, page + wanted);
        }
        if grows {
            return self.on_marker(max);
        }
        let size = first_size(wanted, max);
        let async_size = if size > wanted { size - wanted } else { size };
        (self.start, self.size, self.async_size) = (page, size, async_size);
        (page, page + size)
    }

    /// The reader has met the marker: the next window.
    pub fn on_marker(&mut self, max: u64) -> (u64, u64) {
        self.start += self.size;
        self.size = next_size(self.size, max);
        self.async_size = self.size;
        (self.start, self.start + self.size)
    }

    /// The file is another now.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

/// `get_init_ra_size`: a small read opens a small window.
fn first_size(wanted: u64, max: u64) -> u64 {
    let size = wanted.next_power_of_two();
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

/// `get_next_ra_size`: windows grow to the largest in a few steps.
fn next_size(size: u64, max: u64) -> u64 {
    max.min(if size < max / 16 { size * 4 } else { size * 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_a_sequential_reader_double_up_to_the_largest() {
        let mut window = Window::default();
        // 4 KiB reads under 128 KiB of read-ahead: the kernel's 16, 32, 64, 128, 128 KiB.
        assert_eq!(window.on_miss(0, 1, 32), (0, 4));
        assert_eq!(window.marker(), Some(1));
        let windows: Vec<_> = (0..4).map(|_| window.on_marker(32)).collect();
        assert_eq!(windows, [(4, 12), (12, 28), (28, 60), (60, 92)]);
        assert_eq!(window.marker(), Some(60));
    }

    #[test]
    fn a_random_read_brings_its_own_pages_only() {
        let mut window = Window::default();
        window.advance(10);
        assert_eq!(window.on_miss(500, 4, 32), (500, 504));
        assert_eq!(window.marker(), None);
    }

    #[test]
    fn a_read_larger_than_the_largest_window_is_read_in_windows() {
        let mut window = Window::default();
        assert_eq!(window.on_miss(0, 512, 32), (0, 32));
        assert_eq!(window.marker(), Some(0));
        assert_eq!(window.on_marker(32), (32, 64));
    }
}
