//! Page-aligned memory that moves down with a request and comes back in its completion.
//!
//! Whoever holds a [`Buf`] owns it, so memory that the kernel is writing to cannot be named from
//! safe code. Buffers are exclusive pieces of a shared [`Region`]; the region lives as long as any
//! piece, or any engine that registered it with the kernel.
//!
//! ```text
//!   Region   |----page----|----page----|----page----|----page----|
//!   Bufs     |--------- index 0 -------|-------- index 1 --------|
//! ```

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    fmt,
    ptr::NonNull,
    sync::Arc,
};

const PAGE_BYTES: usize = 4096;

/// When the pages of a region become memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touch {
    /// At once: no request pays for it later.
    Now,
    /// Each when it is first used.
    Later,
}

/// One zeroed, page-aligned allocation, cut into equal buffers.
pub struct Region {
    /// Of the first buffer.
    start: NonNull<u8>,
    bytes: usize,
    buffer_bytes: usize,
    /// As it was allocated.
    allocation: (NonNull<u8>, Layout),
}

// SAFETY: a region is plain memory; only `Buf`, which owns its piece exclusively, reads or writes
// it.
unsafe impl Send for Region {}
// SAFETY: as above: through `&Region` only addresses can be had, never the contents.
unsafe impl Sync for Region {}

impl Region {
    fn zeroed(count: usize, bytes: usize, touch: Touch) -> Self {
        assert!(count > 0 && bytes > 0, "an empty region");
        let buffer_bytes = bytes.next_multiple_of(PAGE_BYTES);
        let bytes = buffer_bytes.checked_mul(count).expect("buffers fit the address space");
        let layout = match touch {
            Touch::Now => Layout::from_size_align(bytes, PAGE_BYTES),
            // What asks for more than the usual alignment is written over with zeroes by the
            // standard library; what does not comes from calloc(3), which leaves fresh pages alone.
            Touch::Later => Layout::from_size_align(bytes.saturating_add(PAGE_BYTES), 8),
        };
        let layout = layout.expect("a size and an alignment that can be");
        // SAFETY: the layout's size is not zero (asserted above).
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout));
        let before = base.as_ptr().align_offset(PAGE_BYTES);
        assert!(before + bytes <= layout.size(), "the buffers fit what was allocated");
        // SAFETY: within the allocation, by the assertion above.
        let start = unsafe { base.add(before) };
        Self { start, bytes, buffer_bytes, allocation: (base, layout) }
    }

    /// Address and length of every buffer in order of index: what an engine registers.
    pub fn buffers(&self) -> impl Iterator<Item = (*mut u8, usize)> + '_ {
        (0..self.bytes / self.buffer_bytes).map(|index| {
            (self.start.as_ptr().wrapping_add(index * self.buffer_bytes), self.buffer_bytes)
        })
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Region of {} B", self.bytes)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this very layout; the last owner is going away.
        unsafe { dealloc(self.allocation.0.as_ptr(), self.allocation.1) }
    }
}

/// An owned, page-aligned piece of memory of whole pages.
pub struct Buf {
    start: NonNull<u8>,
    bytes: u32,
    index: u16,
    region: Arc<Region>,
}

// SAFETY: a `Buf` is the only handle to its piece of the region.
unsafe impl Send for Buf {}

impl Buf {
    /// `count` zeroed buffers of at least `bytes` each, rounded up to whole pages, and the region
    /// they are pieces of. Allocates: call it at start-up, then recycle.
    pub fn pool(count: usize, bytes: usize) -> (Arc<Region>, Vec<Self>) {
        Self::cut(count, bytes, Touch::Now)
    }

    /// The same, where each page becomes memory only when it is first used: for many buffers of
    /// which few are in use at a time.
    pub fn pool_on_demand(count: usize, bytes: usize) -> (Arc<Region>, Vec<Self>) {
        Self::cut(count, bytes, Touch::Later)
    }

    fn cut(count: usize, bytes: usize, touch: Touch) -> (Arc<Region>, Vec<Self>) {
        assert!(u16::try_from(count).is_ok(), "{count} buffers in one pool");
        let region = Arc::new(Region::zeroed(count, bytes, touch));
        let length = u32::try_from(region.buffer_bytes).expect("a buffer is under 4 GiB");
        let buffers = region
            .buffers()
            .zip(0..)
            .map(|((start, _), index)| Self {
                start: NonNull::new(start).expect("a piece of a live region"),
                bytes: length,
                index,
                region: Arc::clone(&region),
            })
            .collect();
        (region, buffers)
    }

    /// One zeroed buffer of at least `bytes`.
    pub fn zeroed(bytes: usize) -> Self {
        Self::pool(1, bytes).1.pop().expect("a pool of one")
    }

    /// The buffer's number in its region.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// The region this buffer is a piece of.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// The contents.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the piece is `bytes` long, initialised (zeroed at birth), and lives as long as
        // the region that `self` keeps; nobody else holds it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes as usize) }
    }

    /// The contents, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes as usize) }
    }
}

impl Clone for Buf {
    /// Memory of its own with the same contents, of another region: for a machine that is copied
    /// whole. On the way of data it has no place.
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.bytes().len());
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Buf #{} of {} B", self.index, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_a_pool_are_aligned_zeroed_and_apart() {
        are_aligned_zeroed_and_apart(Buf::pool(3, 5000));
        are_aligned_zeroed_and_apart(Buf::pool_on_demand(3, 5000));
    }

    fn are_aligned_zeroed_and_apart((region, mut buffers): (Arc<Region>, Vec<Buf>)) {
        for (number, buffer) in buffers.iter_mut().enumerate() {
            assert_eq!(buffer.bytes().len(), 8192);
            assert_eq!(buffer.bytes().as_ptr() as usize % PAGE_BYTES, 0);
            assert!(buffer.bytes().iter().all(|&byte| byte == 0));
            buffer.bytes_mut().fill(number as u8 + 1);
        }
        for (number, buffer) in buffers.iter().enumerate() {
            assert_eq!(buffer.index() as usize, number);
            assert!(Arc::ptr_eq(buffer.region(), &region));
            assert!(buffer.bytes().iter().all(|&byte| byte == number as u8 + 1));
        }
    }

    #[test]
    fn a_copy_holds_the_same_in_memory_of_its_own() {
        let mut buffer = Buf::zeroed(5000);
        buffer.bytes_mut()[4999] = 7;
        let mut copy = buffer.clone();
        assert_eq!(copy.bytes(), buffer.bytes());
        copy.bytes_mut()[4999] = 8;
        assert_eq!((buffer.bytes()[4999], copy.bytes()[4999]), (7, 8));
    }

    #[test]
    fn a_buffer_outlives_the_rest_of_its_pool() {
        let mut last = Buf::pool(4, 4096).1.pop().expect("a pool of four");
        last.bytes_mut()[0] = 7;
        assert_eq!(last.bytes()[0], 7);
    }
}
