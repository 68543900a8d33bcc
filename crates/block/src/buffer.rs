//! Page-aligned memory that moves down with a request and comes back in its completion.
//!
//! Whoever holds a [`Buf`] owns it, so memory that the kernel is writing to cannot be named from
//! safe code. Buffers are exclusive pieces of a shared [`Region`]; the region lives as long as any
//! piece, or any engine that registered it with the kernel.
//!
//! ```text
//!   Region   |----page----|----page----|----page----|----page----|
//!   Bufs     |--------- index 0 -------|-------- index 1 --------|
//!   halves                             |--- index 1 -|- index 1 -|
//! ```

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ffi::{c_int, c_void},
    fmt,
    ptr::NonNull,
    sync::Arc,
};

/// A page of the usual size.
pub const PAGE_BYTES: usize = 4096;
/// A huge page of x86-64, and of aarch64 with pages of 4 KiB.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// `MADV_HUGEPAGE` of linux/mman.h.
const MADV_HUGEPAGE: c_int = 14;

// The standard library links the C library, and has no name for this of its.
unsafe extern "C" {
    /// madvise(2).
    fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
}

/// What pages memory comes in. A drive is told where each page of a transfer lies, unless they lie
/// side by side: 1 MiB in pages of 4 KiB are up to 256 places, and more than many drives take in
/// one command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pages {
    /// Pages of the usual size, which lie anywhere: what programs have that ask for nothing else.
    #[default]
    Usual,
    /// Huge pages, as far as the system has some: the memory begins with one and ends with one.
    Huge,
}

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
    fn zeroed(count: usize, bytes: usize, touch: Touch, pages: Pages) -> Self {
        assert!(count > 0 && bytes > 0, "an empty region");
        let buffer_bytes = bytes.next_multiple_of(PAGE_BYTES);
        let bytes = buffer_bytes.checked_mul(count).expect("buffers fit the address space");
        let huge = pages == Pages::Huge;
        let alignment = if huge { HUGE_PAGE_BYTES } else { PAGE_BYTES };
        // The last huge page is a whole one.
        let advised_bytes = bytes.next_multiple_of(alignment);
        let layout = match touch {
            Touch::Now if !huge => Layout::from_size_align(bytes, alignment),
            // What asks for more than the usual alignment is written over with zeroes by the
            // standard library; what does not comes from calloc(3), which leaves fresh pages alone.
            Touch::Now | Touch::Later => {
                Layout::from_size_align(advised_bytes.saturating_add(alignment), 8)
            }
        };
        let layout = layout.expect("a size and an alignment that can be");
        // SAFETY: the layout's size is not zero (asserted above).
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout));
        let before = base.as_ptr().align_offset(alignment);
        assert!(before + advised_bytes <= layout.size(), "the buffers fit what was allocated");
        // SAFETY: within the allocation, by the assertion above.
        let start = unsafe { base.add(before) };
        if huge {
            // SAFETY: the range is whole pages of the allocation, and the advice changes no byte of
            // it. A kernel without huge pages refuses it, and nothing is lost.
            unsafe { madvise(start.as_ptr().cast(), advised_bytes, MADV_HUGEPAGE) };
            if touch == Touch::Now {
                // SAFETY: the range is within the allocation, and nobody else has it yet.
                unsafe { start.write_bytes(0, bytes) };
            }
        }
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
    pub fn pool(count: usize, bytes: usize, pages: Pages) -> (Arc<Region>, Vec<Self>) {
        Self::cut(count, bytes, Touch::Now, pages)
    }

    /// The same, where each page becomes memory only when it is first used: for many buffers of
    /// which few are in use at a time.
    pub fn pool_on_demand(count: usize, bytes: usize, pages: Pages) -> (Arc<Region>, Vec<Self>) {
        Self::cut(count, bytes, Touch::Later, pages)
    }

    fn cut(count: usize, bytes: usize, touch: Touch, pages: Pages) -> (Arc<Region>, Vec<Self>) {
        assert!(u16::try_from(count).is_ok(), "{count} buffers in one pool");
        let region = Arc::new(Region::zeroed(count, bytes, touch, pages));
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
        Self::pool(1, bytes, Pages::Usual).1.pop().expect("a pool of one")
    }

    /// Two buffers of half the length, one behind the other.
    ///
    /// # Panics
    /// If half of it is not whole pages.
    pub fn halves(self) -> (Self, Self) {
        let bytes = self.bytes / 2;
        assert_eq!(bytes as usize % PAGE_BYTES, 0, "half of {self:?} is whole pages");
        // SAFETY: within this piece, which is twice as long.
        let middle = unsafe { self.start.add(bytes as usize) };
        let second =
            Self { start: middle, bytes, index: self.index, region: Arc::clone(&self.region) };
        (Self { bytes, ..self }, second)
    }

    /// Whether the two are the [halves](Self::halves) of one buffer, `self` the first, where all
    /// pieces of the region are its halves, their halves, and so on.
    pub fn is_half_before(&self, other: &Self) -> bool {
        let start = self.start.as_ptr() as usize;
        let from_region = start - self.region.start.as_ptr() as usize;
        Arc::ptr_eq(&self.region, &other.region)
            && self.bytes == other.bytes
            && from_region.is_multiple_of(2 * self.bytes as usize)
            && start + self.bytes as usize == other.start.as_ptr() as usize
    }

    /// One buffer of both.
    ///
    /// # Panics
    /// If they are not [halves](Self::is_half_before) of one.
    pub fn joined(self, second: Self) -> Self {
        assert!(self.is_half_before(&second), "{self:?} and {second:?} are halves of one");
        Self { bytes: 2 * self.bytes, ..self }
    }

    /// Whether it is all of its region, which ends with it.
    pub fn is_whole_region(&self) -> bool {
        self.bytes as usize == self.region.bytes
    }

    /// The number of the buffer that it is, or is a part of, in its region.
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
        for pages in [Pages::Usual, Pages::Huge] {
            are_aligned_zeroed_and_apart(Buf::pool(3, 5000, pages));
            are_aligned_zeroed_and_apart(Buf::pool_on_demand(3, 5000, pages));
        }
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
        let mut last = Buf::pool(4, 4096, Pages::Usual).1.pop().expect("a pool of four");
        last.bytes_mut()[0] = 7;
        assert_eq!(last.bytes()[0], 7);
    }
    /// Two buffers of 1 MiB are one huge page, which begins at a multiple of its size.
    #[test]
    fn long_memory_begins_where_a_huge_page_can() {
        for cut in [Buf::pool, Buf::pool_on_demand] {
            let (_, buffers) = cut(3, HUGE_PAGE_BYTES / 2, Pages::Huge);
            let starts: Vec<usize> =
                buffers.iter().map(|buffer| buffer.bytes().as_ptr() as usize).collect();
            assert_eq!(starts[0] % HUGE_PAGE_BYTES, 0);
            assert_eq!(starts[1] - starts[0], HUGE_PAGE_BYTES / 2);
            assert!(buffers.iter().all(|buffer| buffer.bytes().iter().all(|&byte| byte == 0)));
        }
    }

    #[test]
    fn halves_are_apart_and_become_one_again() {
        let mut whole = Buf::zeroed(4 * PAGE_BYTES);
        whole.bytes_mut()[0] = 1;
        whole.bytes_mut()[3 * PAGE_BYTES] = 4;
        let (first, second) = whole.halves();
        let (one, two) = first.halves();
        let (three, four) = second.halves();
        assert_eq!((one.bytes()[0], four.bytes()[0], four.bytes().len()), (1, 4, PAGE_BYTES));
        assert!(one.is_half_before(&two) && three.is_half_before(&four));
        assert!(!two.is_half_before(&three), "of two buffers");
        assert!(!two.is_half_before(&one) && !one.is_half_before(&one));
        assert!(!one.is_half_before(&Buf::zeroed(PAGE_BYTES)), "of two regions");
        let whole = one.joined(two).joined(three.joined(four));
        assert!(whole.is_whole_region());
        assert_eq!((whole.bytes()[0], whole.bytes()[3 * PAGE_BYTES]), (1, 4));
    }
}
