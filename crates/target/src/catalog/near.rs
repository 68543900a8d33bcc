//! The drives that a wrong name may mean.

use super::{Catalog, DriveEntry};
use block::names::{nearest, these};

/// So many drives are named at most.
const DRIVES_MAX: usize = 4;
/// A word that is looked for within names has so many letters at least.
const LETTERS_MIN: usize = 3;

impl Catalog {
    /// Up to four drives whose name or title has what was typed, whatever stands between its
    /// letters, the shortest name first; or else those whose description has it; or else those
    /// whose name is near.
    pub fn near_drives(&self, typed: &str) -> Vec<&str> {
        let wanted = letters(typed);
        let whose = |is_meant: &dyn Fn(&DriveEntry) -> bool| -> Vec<&str> {
            let meant = self.drives.iter().filter(|drive| is_meant(drive));
            let mut names: Vec<&str> = meant.map(DriveEntry::name).collect();
            names.sort_by_key(|name| name.len());
            names
        };
        let has = |text: &str| wanted.len() >= LETTERS_MIN && letters(text).contains(&wanted);
        let named = whose(&|drive| has(drive.name()) || has(&drive.entry.title));
        let near = nearest(typed, self.drive_names());
        let described = whose(&|drive| has(&drive.entry.about));
        let found = [named, near, described].into_iter().find(|names| !names.is_empty());
        let mut names = found.unwrap_or_default();
        names.truncate(DRIVES_MAX);
        names
    }

    /// ` Did you mean ...?` with [`Self::near_drives`], or nothing.
    pub fn did_you_mean_drive(&self, typed: &str) -> String {
        these(&self.near_drives(typed))
    }
}

/// The letters and digits, in lower case.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `model:980pro`, `model:optane`, `model:ssd` and `drives s4610` found nothing, and
    /// `model:tlc` was answered with `qlc`.
    #[test]
    fn a_drive_is_found_by_what_people_call_it() {
        let catalog = Catalog::built_in().expect("reads");
        for (typed, found) in [
            ("980pro", &["samsung-980pro-1000"][..]),
            ("Samsung 980 PRO", &["samsung-980pro-1000"]),
            ("s4610", &["intel-s4610-480"]),
            ("Optane", &["intel-p4800x-375"]),
            ("hdd", &["hdd-smr", "hdd-7200-cmr", "generic-15k-sas-hdd"]),
            ("tlc", &["nvme-tlc", "sata-tlc"]),
            ("gp3", &["cloud-flat"]),
            ("mtron-por-32", &["mtron-pro-32", "mtron-mobi-32"]),
            ("x", &[]),
        ] {
            assert_eq!(catalog.near_drives(typed), found, "{typed}");
        }
        let ssds = catalog.near_drives("ssd");
        assert_eq!(ssds.first(), Some(&"qlc"));
        assert!(ssds.contains(&"nvme-tlc") && ssds.contains(&"sata-tlc"), "{ssds:?}");
    }
}
