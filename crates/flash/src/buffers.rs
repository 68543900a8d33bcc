//! Memory for what the volume reads and writes by itself: recycled, so that a steady state
//! allocates nothing.
//!
//! ```text
//!   allocated   |--------------------- 2 MiB, a huge page ---------------------|
//!   halves      |---------- 1 MiB -------------|---------- 1 MiB --------------|
//!   of halves   |-- 512 KiB --|-- 512 KiB -----|           a chunk
//! ```

use block::{Buf, Data, HUGE_PAGE_BYTES, Pages, Payload};

/// Buffers of 4 KiB times a power of two, given back and taken again: what is spare is halved until
/// it fits, and halves that are spare become one again where a longer one is wanted. What is out
/// and what is kept for later are together no more than a limit, or than was out at the same time:
/// sizes that are wanted no more make room for those that are. Where a part of what was allocated
/// at once is out, the rest of it stays.
#[derive(Debug)]
pub(crate) struct Buffers {
    data: Data,
    pages: Pages,
    /// By class.
    spare: Vec<Vec<Buf>>,
    spare_bytes: u64,
    out_bytes: u64,
    limit_bytes: u64,
}

impl Buffers {
    pub fn new(data: Data, pages: Pages, limit_bytes: u64) -> Self {
        Self { data, pages, spare: Vec::new(), spare_bytes: 0, out_bytes: 0, limit_bytes }
    }

    /// What [`take`](Self::take) takes for `bytes`.
    pub fn size(bytes: u64) -> u64 {
        4096 << Self::class(bytes as usize)
    }

    /// Memory for `bytes`, contents undefined; none in a run that only times.
    pub fn take(&mut self, bytes: u64) -> Payload {
        if self.data == Data::TimingOnly {
            return Payload::None;
        }
        let class = Self::class(bytes as usize);
        let size = 4096 << class;
        let buffer = self.take_spare(class).unwrap_or_else(|| {
            if self.spare_bytes >= size {
                self.join_halves();
            }
            self.take_spare(class).unwrap_or_else(|| self.allocate(class))
        });
        self.spare_bytes -= size;
        self.out_bytes += size;
        Payload::Bytes(buffer)
    }

    /// A spare buffer of the class, or a part of a longer one, whose other parts stay spare.
    fn take_spare(&mut self, class: usize) -> Option<Buf> {
        let longer = (class..self.spare.len()).find(|&longer| !self.spare[longer].is_empty())?;
        let mut buffer = self.spare[longer].pop().expect("the class has one");
        for half in (class..longer).rev() {
            let (first, second) = buffer.halves();
            self.spare[half].push(second);
            buffer = first;
        }
        Some(buffer)
    }

    /// A buffer of the class that counts as spare: a part of a huge page where there is room for
    /// all of it, and that is wanted.
    fn allocate(&mut self, class: usize) -> Buf {
        let huge = Self::class(HUGE_PAGE_BYTES);
        let longer = if self.pages == Pages::Huge { class.max(huge) } else { class };
        self.make_room(4096 << longer);
        let all = self.out_bytes + self.spare_bytes;
        let fits = all + (4096 << longer) <= self.limit_bytes;
        // A huge page is taken whole.
        let (allocated, pages) =
            if fits || class >= huge { (longer, self.pages) } else { (class, Pages::Usual) };
        let bytes = 4096 << allocated;
        let buffer = Buf::pool_on_demand(1, bytes, pages).1.pop().expect("a pool of one");
        self.spare_bytes += bytes as u64;
        self.push(allocated, buffer);
        self.take_spare(class).expect("one of that length or longer was allocated")
    }

    /// Gives spare memory back to the system, the longest first, until there is room for so many
    /// bytes more, or nothing of it is all that was allocated at once.
    fn make_room(&mut self, bytes: u64) {
        let full =
            |buffers: &Self| buffers.out_bytes + buffers.spare_bytes + bytes > buffers.limit_bytes;
        if !full(self) {
            return;
        }
        self.join_halves();
        for class in (0..self.spare.len()).rev() {
            let mut kept = Vec::new();
            while let Some(buffer) = self.spare[class].pop() {
                if full(self) && buffer.is_whole_region() {
                    self.spare_bytes -= buffer.bytes().len() as u64;
                } else {
                    kept.push(buffer);
                }
            }
            kept.reverse();
            self.spare[class] = kept;
        }
    }

    /// Halves that are both spare become one, and so on.
    fn join_halves(&mut self) {
        let mut class = 0;
        while class < self.spare.len() {
            let mut apart = std::mem::take(&mut self.spare[class]);
            apart.sort_by_key(|buffer| buffer.bytes().as_ptr());
            for second in apart {
                match self.spare[class].pop_if(|first| first.is_half_before(&second)) {
                    Some(first) => self.push(class + 1, first.joined(second)),
                    None => self.spare[class].push(second),
                }
            }
            class += 1;
        }
    }

    pub fn give(&mut self, payload: Payload) {
        let Payload::Bytes(buffer) = payload else { return };
        let bytes = buffer.bytes().len();
        let class = Self::class(bytes);
        assert_eq!(bytes, 4096 << class, "a buffer that was taken here");
        self.out_bytes -= bytes as u64;
        self.spare_bytes += bytes as u64;
        self.push(class, buffer);
    }

    fn push(&mut self, class: usize, buffer: Buf) {
        if self.spare.len() <= class {
            self.spare.resize_with(class + 1, Vec::new);
        }
        self.spare[class].push(buffer);
    }

    fn class(bytes: usize) -> usize {
        bytes.div_ceil(4096).next_power_of_two().trailing_zeros() as usize
    }
}

impl Clone for Buffers {
    /// Nothing spare: what is out has been copied, each buffer by itself.
    fn clone(&self) -> Self {
        Self { spare: Vec::new(), spare_bytes: 0, ..*self }
    }
}

/// The bytes of a payload, where there are any.
pub(crate) fn bytes(payload: &Payload) -> Option<&[u8]> {
    match payload {
        Payload::Bytes(buffer) => Some(buffer.bytes()),
        Payload::None | Payload::Stamp(_) => None,
    }
}

/// The same, to change.
pub(crate) fn bytes_mut(payload: &mut Payload) -> Option<&mut [u8]> {
    match payload {
        Payload::Bytes(buffer) => Some(buffer.bytes_mut()),
        Payload::None | Payload::Stamp(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;

    /// A server's reads came in pieces of every size, and the memory of each size was kept for
    /// good: 118 MiB where 20 had been promised.
    #[test]
    fn sizes_that_are_wanted_no_more_make_room() {
        for (pages, unit, limit) in [(Pages::Usual, 4096, 1 << 20), (Pages::Huge, 8192, 8 << 20)] {
            let mut buffers = Buffers::new(Data::Stored, pages, limit);
            for class in [0, 3, 5, 8, 1] {
                let count = limit / (unit << class);
                let taken: Vec<Payload> = (0..count).map(|_| buffers.take(unit << class)).collect();
                assert!(buffers.out_bytes + buffers.spare_bytes <= limit, "{class}");
                taken.into_iter().for_each(|payload| buffers.give(payload));
            }
            assert_eq!((buffers.out_bytes, buffers.spare_bytes), (0, limit));
        }
    }

    /// Chunks were allocated each by itself, in pages of 4 KiB: a virtual disk took 1 MiB in two
    /// commands with 256 places between them, and 1.1 GB/s in place of 2.9.
    #[test]
    fn chunks_lie_in_huge_pages() {
        let mut buffers = Buffers::new(Data::Stored, Pages::Huge, 32 << 20);
        let taken: Vec<Payload> = (0..6).map(|_| buffers.take(1 << 20)).collect();
        for pair in taken.chunks(2) {
            let starts = [0, 1].map(|at| bytes(&pair[at]).expect("stored").as_ptr() as usize);
            assert_eq!(starts[0] % HUGE_PAGE_BYTES, 0);
            assert_eq!(starts[1], starts[0] + (1 << 20));
        }
    }

    /// Whatever is taken and given back, in any order: no two that are out share a byte, all of it
    /// is counted, and when all is back it can be given out again in the longest sizes.
    #[test]
    fn what_is_out_is_apart_and_all_of_it_comes_back() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed, 0);
            let limit = 16 << 20;
            let mut buffers = Buffers::new(Data::Stored, Pages::Huge, limit);
            let mut out: Vec<(Payload, u8)> = Vec::new();
            for step in 0..400_u64 {
                let full = buffers.out_bytes > limit / 2;
                if full || !out.is_empty() && rng.below(3) == 0 {
                    let (payload, mark) = out.swap_remove(rng.below(out.len() as u64) as usize);
                    let held = bytes(&payload).expect("stored");
                    let whole = held[0] == mark && held[held.len() - 1] == mark;
                    assert!(whole, "seed {seed}, step {step}: nobody else wrote to it");
                    buffers.give(payload);
                } else {
                    let longest = 1 << (12 + rng.below(9));
                    let mut payload = buffers.take(1 + rng.below(longest));
                    let (mark, held) = (step as u8, bytes_mut(&mut payload).expect("stored"));
                    let end = held.len() - 1;
                    (held[0], held[end]) = (mark, mark);
                    out.push((payload, mark));
                }
                let held = |(payload, _): &(Payload, u8)| bytes(payload).map_or(0, <[u8]>::len);
                assert_eq!(buffers.out_bytes, out.iter().map(held).sum::<usize>() as u64);
                let spare = buffers.spare.iter().flatten().map(|buffer| buffer.bytes().len());
                assert_eq!(buffers.spare_bytes, spare.sum::<usize>() as u64);
            }
            out.drain(..).for_each(|(payload, _)| buffers.give(payload));
            buffers.join_halves();
            let pieces = buffers.spare.iter().flatten().filter(|buffer| !buffer.is_whole_region());
            assert_eq!(pieces.count(), 0, "seed {seed}: every half has found the other");
        }
    }
}
