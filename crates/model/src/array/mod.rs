//! Several drives as one: RAID 0, 1, 5, 6 and 10.

mod params;

pub use params::{ArrayParams, Level, Rebuild};

use block::Geometry;

/// The array, a machine over its members.
#[derive(Debug)]
pub struct Array {
    params: ArrayParams,
    members: Vec<Geometry>,
}

impl Array {
    /// Of members with these contracts, the first being drive 0 below. The smallest rules the capacity.
    ///
    /// # Panics
    /// When the level cannot be built of them.
    pub fn new(params: ArrayParams, members: &[Geometry]) -> Self {
        params.check(members.len());
        Self { params, members: members.to_vec() }
    }
}
