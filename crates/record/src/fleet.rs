//! A line of a table over many machines.

use serde::Serialize;

/// A model of drive with a firmware in a cell of a method.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FleetRow {
    /// The method's name.
    pub method: String,
    /// The cell's name.
    pub cell: String,
    /// The drive's model, or what was modelled.
    pub drive: String,
    /// Its firmware; absent where it is not known.
    pub firmware: Option<String>,
    /// How often it was measured.
    pub cells: u64,
    /// On how many machines.
    pub hosts: u64,
    /// The lowest rate, operations per second.
    pub iops_min: f64,
    /// The median: of an even number the mean of the middle two.
    pub iops_median: f64,
    /// The highest.
    pub iops_max: f64,
}
