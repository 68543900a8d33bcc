//! What a log asks of flash, and what it counts.

/// Who fills a NAND page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A write from above.
    Host,
    /// The cleaner, which moves valid units.
    Cleaner,
}

/// What flash has to do. Numbers are those of NAND pages, over the whole drive.
pub trait Work {
    /// Reads a page in order to move a unit of it.
    fn read(&mut self, page: u32);
    /// Programs a page that is complete.
    fn program(&mut self, page: u32, origin: Origin);
    /// Erases the next superblock's block on one plane.
    fn erase(&mut self, plane: u32);
}

/// Nobody counts the time: what filled a drive before time 0.
#[derive(Debug)]
pub struct Untimed;

impl Work for Untimed {
    fn read(&mut self, _: u32) {}
    fn program(&mut self, _: u32, _: Origin) {}
    fn erase(&mut self, _: u32) {}
}

/// What the drive wrote and why, in units.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Written by the host.
    pub host_units: u64,
    /// Moved by the cleaner.
    pub moved_units: u64,
    /// Left empty because a NAND page had to be programmed before it was full.
    pub padded_units: u64,
    /// Folded from the SLC cache into the rest of the flash.
    pub folded_units: u64,
}

impl Counters {
    /// Units that flash took for each that the host wrote; 1 before the first.
    pub fn write_amplification(&self) -> f64 {
        if self.host_units == 0 {
            return 1.0;
        }
        let extra = self.moved_units + self.padded_units + self.folded_units;
        (self.host_units + extra) as f64 / self.host_units as f64
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_units: self.host_units - earlier.host_units,
            moved_units: self.moved_units - earlier.moved_units,
            padded_units: self.padded_units - earlier.padded_units,
            folded_units: self.folded_units - earlier.folded_units,
        }
    }
}
