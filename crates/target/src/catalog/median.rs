//! What a kind of drive takes from the drives of its kind: the median of each number, and how far
//! the drives lie apart.
//!
//! A drive's number counts where it was fitted or printed; what is assumed of a drive says nothing
//! about its kind. What grows with the flash that a drive has counts as it would be with the kind's
//! flash and capacity: a program time as the rate of all planes for each byte of the drive, the
//! size of a cache as a share of it.

use super::{BadCatalog, Catalog, DriveEntry, Origin, Value};

/// The numbers of the drives behind one of a kind, in the kind's own unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    /// The drives that have such a number, by name.
    pub drives: Vec<String>,
    /// The least.
    pub least: f64,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    fn of(mut numbers: Vec<(String, f64)>) -> Option<Self> {
        numbers.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (least, most) = (numbers.first()?.1, numbers.last()?.1);
        let median = (numbers[(numbers.len() - 1) / 2].1 + numbers[numbers.len() / 2].1) / 2.0;
        let mut drives: Vec<String> = numbers.into_iter().map(|(name, _)| name).collect();
        drives.sort();
        Some(Self { drives, least, median, most })
    }

    /// The median as a file says it: to four digits, as fitted numbers are.
    pub fn rounded(&self) -> f64 {
        rounded(self.median)
    }

    /// What a file says as its source: how many drives, how far apart, and which.
    pub fn source(&self, unit: &str) -> String {
        let unit = if unit == "percent" { "%" } else { unit };
        let [least, most] = [self.least, self.most].map(rounded);
        let drives = self.drives.join(", ");
        format!("{} drives, {least} to {most} {unit}: {drives}", self.drives.len())
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just printed")
}

/// How a number of one drive is compared with that of another.
enum Scale {
    /// As it is.
    Plain,
    /// A size, as a share of the capacity.
    Size,
    /// A time in which every plane moves a page: the rate of all, for each byte of the capacity.
    PageTime,
}

fn scale(name: &str) -> Scale {
    match name {
        "slc_cache" | "slc_dynamic" => Scale::Size,
        "program" | "slc_program" | "slc_fold" => Scale::PageTime,
        _ => Scale::Plain,
    }
}

/// A page for each plane, for each byte of the capacity.
fn pages_share(drive: &DriveEntry) -> f64 {
    let of = |name: &str| drive.entry.parameters[name].base();
    let planes = of("channels") * of("dies_per_channel") * of("planes_per_die");
    planes * of("nand_page") / drive.capacity_bytes as f64
}

/// What a number of `from` is with the flash and the capacity of `to`; as it is where they do not
/// count.
fn converted(value: f64, name: &str, from: &DriveEntry, to: &DriveEntry) -> f64 {
    match scale(name) {
        Scale::Plain => value,
        Scale::Size => value * to.capacity_bytes as f64 / from.capacity_bytes as f64,
        Scale::PageTime => value * pages_share(to) / pages_share(from),
    }
}

impl Catalog {
    /// What the drives behind a number of a kind say of it, but for those that are named; `None`
    /// where it is no median, or no other drive has the number.
    pub fn spread(&self, kind: &DriveEntry, name: &str, but_for: &[&str]) -> Option<Spread> {
        let number = kind.entry.parameters.get(name)?;
        if number.from != Origin::Median {
            return None;
        }
        let of = if number.of.is_empty() { &kind.median_of } else { &number.of };
        let drives = of.iter().filter(|name| !but_for.contains(&name.as_str()));
        let numbers = drives.filter_map(|drive| {
            let drive = self.drive(drive)?;
            let own = drive.entry.parameters.get(name)?;
            let is_seen = !matches!(own.from, Origin::Assumed | Origin::Median);
            let is_number = matches!(own.value, Value::Number(_));
            (is_seen && is_number).then(|| {
                let base = converted(own.base(), name, drive, kind);
                (drive.name().to_owned(), base / number.factor)
            })
        });
        Spread::of(numbers.collect())
    }

    /// A kind whose medians are those of its drives but for the ones that are named. What no other
    /// drive has stays.
    ///
    /// # Panics
    /// Never: it sets numbers that are there.
    #[must_use]
    pub fn without(&self, kind: &DriveEntry, but_for: &[&str]) -> DriveEntry {
        let mut changed = kind.clone();
        let names: Vec<String> = kind.entry.parameters.keys().cloned().collect();
        for name in names {
            if let Some(spread) = self.spread(kind, &name, but_for) {
                changed.entry.set(&name, spread.rounded()).expect("a number that is there");
            }
        }
        changed
    }

    /// What is wrong with the drives that a kind names.
    pub(super) fn check_median_of(&self, kind: &DriveEntry) -> Result<(), BadCatalog> {
        let numbers = kind.entry.parameters.values().flat_map(|number| &number.of);
        for name in kind.median_of.iter().chain(numbers) {
            if self.drive(name).is_none() {
                let near = self.did_you_mean_drive(name);
                let file = &kind.entry.file;
                return Err(BadCatalog(format!("{file}: there is no drive `{name}`.{near}")));
            }
        }
        Ok(())
    }
}

impl DriveEntry {
    /// This kind as a drive of another capacity: as much flash, as fast and with as much cache for
    /// each byte.
    ///
    /// # Panics
    /// Never: it sets numbers that are there.
    #[must_use]
    pub fn at_capacity(&self, capacity_bytes: u64) -> Self {
        let mut changed = Self { capacity_bytes, ..self.clone() };
        let names: Vec<String> = self.entry.parameters.keys().cloned().collect();
        for name in names.iter().filter(|name| !matches!(scale(name), Scale::Plain)) {
            let parameter = &self.entry.parameters[name];
            let value = converted(parameter.base(), name, self, &changed) / parameter.factor;
            changed.entry.set(name, value).expect("a number that is there");
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(numbers: &[f64]) -> Option<Spread> {
        Spread::of(numbers.iter().enumerate().map(|(at, n)| (format!("d{at}"), *n)).collect())
    }

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_in_the_middle() {
        assert_eq!(spread(&[]), None);
        assert_eq!(
            spread(&[3.0, 1.0, 8.0]).map(|s| (s.least, s.median, s.most)),
            Some((1.0, 3.0, 8.0))
        );
        let four = spread(&[3.0, 1.0, 8.0, 4.0]).expect("four");
        assert_eq!(four.median, 3.5);
        assert_eq!(four.source("us"), "4 drives, 1 to 8 us: d0, d1, d2, d3");
    }

    /// What a kind's file says is what its drives say, so that a new fit of a drive is seen here.
    #[test]
    fn every_median_of_the_catalog_is_that_of_its_drives() {
        let catalog = Catalog::built_in().expect("a catalog");
        let mut medians = 0;
        for kind in catalog.drives() {
            for (name, number) in &kind.entry.parameters {
                if number.from != Origin::Median {
                    continue;
                }
                let what = format!("{}, {name}", kind.name());
                let spread = catalog.spread(kind, name, &[]).expect(&what);
                assert!(spread.drives.len() > 1, "{what}: {spread:?}");
                assert_eq!(number.value, Value::Number(spread.rounded()), "{what}");
                assert_eq!(number.source, spread.source(&number.unit), "{what}");
                medians += 1;
            }
        }
        assert!(medians > 20, "{medians}");
    }

    #[test]
    fn a_kind_of_twice_the_capacity_programs_twice_as_fast_and_has_twice_the_cache() {
        let catalog = Catalog::built_in().expect("a catalog");
        let kind = catalog.drive("nvme-tlc").expect("a kind");
        let large = kind.at_capacity(2 * kind.capacity_bytes);
        let of = |drive: &DriveEntry, name: &str| drive.entry.parameters[name].base();
        assert_eq!(of(&large, "program") * 2.0, of(kind, "program"));
        assert_eq!(of(&large, "slc_dynamic"), of(kind, "slc_dynamic") * 2.0);
        assert_eq!(of(&large, "read"), of(kind, "read"));
    }

    #[test]
    fn a_median_without_one_of_its_drives_is_that_of_the_others() {
        let catalog = Catalog::built_in().expect("a catalog");
        let kind = catalog.drive("nvme-plp").expect("a kind");
        let but_for = ["kioxia-cm7r-3840", "micron-7450pro-960", "micron-7450max-800"];
        let without = catalog.without(kind, &but_for);
        // 52 us of the PM9A3, 92 of the P4510.
        assert_eq!(without.entry.parameters["read"].value, Value::Number(72.0));
    }
}
