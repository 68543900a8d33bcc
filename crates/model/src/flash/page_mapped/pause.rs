//! Times in which a drive programs nothing.
//!
//! ```text
//!   0                 every - ns      every                           2 every
//!   | programs begin  |    none does  | programs begin  |  none does  |
//! ```
//!
//! What is written meanwhile stays in the buffer, as long as that has room: a host feels of each
//! pause what is left of it then. Published waits under a rising load do just that: they begin at
//! one load, and are longer by what the buffer fills sooner.

use super::params::Pause;

/// When a drive programs nothing.
#[derive(Clone, Copy, Debug)]
pub struct Pauses(Option<Pause>);

impl Pauses {
    /// None without.
    pub fn new(pause: Option<Pause>) -> Self {
        Self(pause)
    }

    /// When what could begin at `at` begins.
    #[inline]
    pub fn over(&self, at: u64) -> u64 {
        match self.0 {
            Some(pause) if at % pause.every_ns >= pause.every_ns - pause.ns => {
                at - at % pause.every_ns + pause.every_ns
            }
            _ => at,
        }
    }

    /// Whether there is one at `at`.
    #[inline]
    pub fn lasts(&self, at: u64) -> bool {
        self.over(at) != at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_stands_at_the_end_of_each_turn() {
        let pauses = Pauses::new(Some(Pause { ns: 10, every_ns: 50 }));
        assert_eq!(
            [0, 39, 40, 49, 50, 89, 95].map(|at| pauses.over(at)),
            [0, 39, 50, 50, 50, 89, 100]
        );
        assert!(pauses.lasts(45) && !pauses.lasts(50));
        assert_eq!(Pauses::new(None).over(45), 45);
    }
}
