//! Several drives under one clock: an array's members, addressed by [`Drive`] number.

use crate::{Cached, FastCache};
use block::{Completion, Drive, Effects, Geometry, Instant, Machine, Request};

/// Drives side by side. A request for drive `n` goes to the `n`th member.
pub struct Bank<M: Machine + ?Sized = dyn Machine> {
    members: Vec<Box<M>>,
    /// Each member's next wakeup, kept so that asking for the earliest costs no calls.
    alarms: Vec<Instant>,
}

impl<M: Machine + ?Sized> Bank<M> {
    /// Of these members, the first being drive 0.
    ///
    /// # Panics
    /// Without members.
    pub fn new(members: Vec<Box<M>>) -> Self {
        assert!(!members.is_empty(), "a bank without drives");
        let alarms = members.iter().map(|member| member.next_wakeup()).collect();
        Self { members, alarms }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Never: a bank has at least one drive.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl Bank<dyn Cached> {
    /// The fast caches of all drives, one after the other.
    pub fn fast_caches(&self, now: Instant) -> Vec<FastCache> {
        self.members.iter().flat_map(|member| member.fast_caches(now)).collect()
    }
}

impl<M: Machine + ?Sized> Machine for Bank<M> {
    fn geometry(&self, drive: Drive) -> Geometry {
        self.members[usize::from(drive.0)].geometry(Drive(0))
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        let number = usize::from(request.drive.0);
        let member = &mut self.members[number];
        member.on_request(now, Request { drive: Drive(0), ..request }, effects);
        self.alarms[number] = member.next_wakeup();
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("drives have nothing below them");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        for (member, alarm) in self.members.iter_mut().zip(&mut self.alarms) {
            if *alarm <= now {
                member.on_wakeup(now, effects);
                *alarm = member.next_wakeup();
            }
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.alarms.iter().copied().min().expect("a bank has members")
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        let members: Option<Vec<_>> = self.members.iter().map(|member| member.copy()).collect();
        Some(Box::new(Bank { members: members?, alarms: self.alarms.clone() }))
    }
}
