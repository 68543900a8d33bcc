//! The slot table: where a request and its memory stay while the kernel works on them.

use block::{Command, Completion, Instant, IoError, Payload, Request};

/// A request on its way, and how far it has come.
pub(super) struct Slot {
    request: Option<Request>,
    pub issued: Instant,
    /// Bytes that earlier, short transfers have moved.
    pub moved: u32,
}

/// As many slots as the queue is deep, all made at the start.
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u16>,
}

impl Slots {
    pub fn new(count: u32) -> Self {
        let slot = |_| Slot { request: None, issued: Instant(0), moved: 0 };
        Self {
            slots: (0..count).map(slot).collect(),
            free: (0..count).rev().map(|number| number as u16).collect(),
        }
    }

    /// # Panics
    /// If all are taken.
    #[inline]
    pub fn insert(&mut self, request: Request) -> u16 {
        let Some(number) = self.free.pop() else {
            panic!("queue depth {} exceeded", self.slots.len());
        };
        let slot = &mut self.slots[usize::from(number)];
        slot.request = Some(request);
        slot.moved = 0;
        number
    }

    /// The slot, its command and how many bytes its transfer has in all.
    #[inline]
    pub fn get(&mut self, number: u16) -> (&mut Instant, &mut u32, &mut Command) {
        let Slot { request, issued, moved } = &mut self.slots[usize::from(number)];
        (issued, moved, &mut request.as_mut().expect("slot is in flight").command)
    }

    /// Frees the slot and makes its request a completion.
    #[inline]
    pub fn complete(
        &mut self,
        number: u16,
        finished: Instant,
        result: Result<(), IoError>,
    ) -> Completion {
        let slot = &mut self.slots[usize::from(number)];
        let Request { tag, command, .. } = slot.request.take().expect("slot is in flight");
        self.free.push(number);
        let payload: Payload = command.into_payload();
        Completion { tag, issued: slot.issued, finished, result, payload }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Gives up the memory for ever, because the kernel may still write to it.
    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.slots));
    }
}
