//! The way from a thread to its drives: host path, driver, controller, link.

mod params;

pub use params::{Attached, PortParams};

/// A controller with its drives below it.
#[derive(Debug)]
pub struct Port {
    params: PortParams,
    drives: Vec<Attached>,
    queue_depth: u32,
}

impl Port {
    /// Over these drives, the first being drive 0. At most `queue_depth` requests may be outstanding; the
    /// port holds what a drive does not take yet.
    ///
    /// # Panics
    /// Without drives, or on parameters that cannot be built.
    pub fn new(params: PortParams, drives: &[Attached], queue_depth: u32) -> Self {
        params.check();
        assert!(!drives.is_empty(), "a port without drives");
        assert!(queue_depth > 0, "a port that takes no request");
        for drive in drives {
            assert!((1..=drive.geometry.queue_depth).contains(&drive.commands), "a drive's queue");
        }
        Self { params, drives: drives.to_vec(), queue_depth }
    }
}
