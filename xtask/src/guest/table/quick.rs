//! The small set that every change is tried with: one of each kind, none that depends on how fast
//! anything is, and none that kills a ublk server, which some kernels do not survive
//! (docs/reference/ublk.md).

/// Names of scenarios of the table.
pub const QUICK: &[&str] = &[
    "refuse-mounted",
    "refuse-lvm-in-use",
    "refuse-array-member-at-the-end",
    "refuse-luks-open",
    "refuse-zoned",
    "refuse-other-path-in-use",
    "refuse-open-in-another-process",
    "consent-partition-of-other-number",
    "consent-volume-by-its-name",
    "consent-usb",
    "matrix-write-cache-nvme",
    "health-of-nvme",
    "ublk-file-verified",
    "ublk-power-cut-under-sqlite",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::table;

    #[test]
    fn the_small_set_is_of_the_table_and_needs_no_asking_by_name() {
        for name in QUICK {
            let found = table::all().into_iter().find(|scenario| scenario.name == *name);
            let scenario = found.unwrap_or_else(|| panic!("no scenario is called `{name}`"));
            assert!(!scenario.by_name, "{name} is not tried yet, or takes long");
        }
    }
}
