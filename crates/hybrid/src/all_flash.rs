//! Flash alone for the price of the disks: how many drives that buys, and whether they hold what
//! the trace asks for.

use crate::{Question, seen::Seen};
use target::{
    catalog::{Catalog, DriveEntry},
    stack::DRIVES_MAX,
};

/// What the price of the disks buys of one flash drive.
#[derive(Clone, PartialEq, Debug)]
pub struct AllFlash {
    /// The drive.
    pub ssd: String,
    /// How many; none where one costs more than the disks, and no more than a stack can have.
    pub count: u16,
    /// What they cost.
    pub price: f64,
    /// What they hold together, as RAID-0.
    pub capacity_bytes: u64,
    /// Whether that is enough for the room of the trace.
    pub holds: bool,
}

/// Of each flash drive, where it and the disks have a price.
pub fn all(
    question: &Question,
    seen: &Seen,
    catalog: &Catalog,
    ssds: &[&DriveEntry],
) -> Vec<AllFlash> {
    let Some(disks) = question.prices.of_all(&question.disks, catalog) else {
        return Vec::new();
    };
    let of = |ssd: &&DriveEntry| {
        let each = question.prices.of(ssd.name(), catalog).filter(|each| *each > 0.0)?;
        let count = bought(disks, each);
        let capacity_bytes = ssd.capacity_bytes * u64::from(count);
        Some(AllFlash {
            ssd: ssd.name().to_owned(),
            count,
            price: each * f64::from(count),
            capacity_bytes,
            holds: capacity_bytes >= seen.like.room_bytes,
        })
    };
    ssds.iter().filter_map(of).collect()
}

/// How many at `each` a sum buys: 180.00 buys six at 30.00, whatever binary fractions make of it.
fn bought(sum: f64, each: f64) -> u16 {
    (sum / each + 1e-9).floor().min(DRIVES_MAX as f64) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_buys_whole_drives_and_no_more_than_a_stack_takes() {
        assert_eq!(bought(180.0, 30.0), 6);
        assert_eq!(bought(0.3, 0.1), 3);
        assert_eq!(bought(179.99, 30.0), 5);
        assert_eq!(bought(20.0, 30.0), 0);
        assert_eq!(bought(1e9, 1.0), DRIVES_MAX as u16);
    }
}
