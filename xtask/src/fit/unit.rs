//! What is fitted together: the numbers of a drive, or those of a host, on the cells they may see.

use super::host_entry;
use anyhow::{Context, Result};
use std::fmt;
use target::catalog::{Catalog, Entry, Origin, Value};

/// Numbers that are fitted together.
pub struct Unit {
    /// What the command line calls it.
    pub name: &'static str,
    /// The cells it may see, by the name that `study::Basis::Fitted` gives.
    pub sees: &'static [&'static str],
    /// Drives of which every number with `from = "fit"` belongs to it.
    pub drives: &'static [&'static str],
    /// Numbers of ports and drivers: (file, parameter). Several in one slice are one number that
    /// stands in several files.
    pub host: &'static [&'static [(&'static str, &'static str)]],
}

/// Most numbers of a drive that the latency study's four raw cells may fit.
const LATENCY_NUMBERS_MAX: usize = 3;

const fn drive(name: &'static str, of: &'static [&'static str]) -> Unit {
    Unit { name, sees: of, drives: of, host: &[] }
}

/// All units, in an order in which each needs only what was fitted before.
pub const UNITS: &[Unit] = &[
    Unit {
        name: "easyco-pro",
        sees: &["mtron-pro-32", "onboard"],
        drives: &["mtron-pro-32"],
        host: &[
            &[("highpoint2320", "own"), ("onboard", "own")],
            &[("highpoint2320", "own_per_kib"), ("onboard", "own_per_kib")],
            &[("highpoint2320", "driver")],
            &[("onboard", "command")],
        ],
    },
    drive("mtron-mobi-32", &["mtron-mobi-32"]),
    Unit { name: "md", sees: &["md"], drives: &[], host: &[&[("md", "serial")]] },
    Unit {
        name: "highpoint",
        sees: &["highpoint"],
        drives: &[],
        host: &[&[("highpoint", "serial")]],
    },
    Unit {
        name: "highpoint2320",
        sees: &["highpoint2320"],
        drives: &[],
        host: &[&[("highpoint2320", "link_rate")]],
    },
    drive("mtron-mobi-16", &["mtron-mobi-16"]),
    drive("memoright-gt-16", &["memoright-gt-16"]),
    drive("intel-x25m-80", &["intel-x25m-80"]),
    drive("intel-x25e-32", &["intel-x25e-32"]),
    Unit {
        name: "fusionio-iodrive-80",
        sees: &["fusionio-iodrive-80"],
        drives: &["fusionio-iodrive-80"],
        host: &[&[("pcie-cmu", "write_rate")]],
    },
    drive("seagate-barracuda-7200.11-750", &["seagate-barracuda-7200.11-750"]),
    drive("seagate-st3300007lw", &["seagate-st3300007lw"]),
    drive("seagate-st3300655lc", &["seagate-st3300655lc"]),
    Unit {
        name: "samsung-850pro-256",
        sees: &["samsung-850pro-256"],
        drives: &["samsung-850pro-256"],
        host: &[&[("sata300-single", "drive_link_rate")]],
    },
    drive("crucial-m4-128", &["crucial-m4-128"]),
    drive("intel-520-120", &["intel-520-120"]),
    drive("crucial-m550-1t", &["crucial-m550-1t"]),
    drive("wd-1002fbys", &["wd-1002fbys"]),
    drive("hitachi-a7k1000-750", &["hitachi-a7k1000-750"]),
    drive("memoright-mr25.2-128", &["memoright-mr25.2-128"]),
    drive("intel-x25e-64", &["intel-x25e-64"]),
    drive("samsung-pm9a3-960", &["samsung-pm9a3-960"]),
    drive("kioxia-cm7r-3840", &["kioxia-cm7r-3840"]),
    drive("micron-7450max-800", &["micron-7450max-800"]),
    drive("micron-7450pro-960", &["micron-7450pro-960"]),
    Unit {
        name: "samsung-860pro-512",
        sees: &["samsung-860pro-512"],
        drives: &["samsung-860pro-512"],
        host: &[&[("m1015", "driver")], &[("m1015", "command")]],
    },
    drive("intel-s4610-480", &["intel-s4610-480"]),
    Unit {
        name: "ahci300",
        sees: &["ahci300"],
        drives: &[],
        host: &[&[("ahci300", "driver")], &[("ahci300", "command")]],
    },
    Unit {
        name: "h220",
        sees: &["h220"],
        drives: &[],
        host: &[&[("h220", "driver")], &[("h220", "command")], &[("h220", "gather")]],
    },
    Unit {
        name: "intel-p4510-1000",
        sees: &["intel-p4510-1000"],
        drives: &["intel-p4510-1000"],
        host: &[&[("nvme-thread", "own_write")]],
    },
    Unit {
        name: "intel-p4800x-375",
        sees: &["intel-p4800x-375"],
        drives: &["intel-p4800x-375"],
        host: &[
            &[("bu-disc-0125", "own")],
            &[("bu-disc-0125", "link_rate")],
            &[("bu-disc-0129", "own")],
            &[("bu-disc-0129", "link_rate")],
            &[("bu-disc-0125", "own_write"), ("bu-disc-0129", "own_write")],
        ],
    },
    drive("crucial-mx300-1050", &["crucial-mx300-1050"]),
    drive("samsung-960evo-500", &["samsung-960evo-500"]),
    drive("samsung-980pro-1000", &["samsung-980pro-1000"]),
    drive("samsung-980-1000", &["samsung-980-1000"]),
    drive("adata-atom50-1000", &["adata-atom50-1000"]),
    drive("corsair-mp700elite-2000", &["corsair-mp700elite-2000"]),
    drive("intel-660p-1000", &["intel-660p-1000"]),
    drive("samsung-870qvo-1000", &["samsung-870qvo-1000"]),
];

/// One number that the search moves, wherever it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handle {
    places: Vec<(String, String)>,
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> =
            self.places.iter().map(|(file, name)| format!("{file}.{name}")).collect();
        formatter.write_str(&places.join(" = "))
    }
}

impl Unit {
    /// How many numbers so many cells may fit: one for three of them, never more than twelve. A
    /// host's one number may rest on a single cell, the latency study's drives have four.
    pub fn numbers_max(&self, cells: usize) -> usize {
        match cells {
            4 => LATENCY_NUMBERS_MAX,
            _ => (cells / 3).clamp(1, 12),
        }
    }

    /// Its numbers: what says `from = "fit"`.
    pub fn handles(&self, catalog: &Catalog) -> Vec<Handle> {
        let mut handles = Vec::new();
        for name in self.drives {
            let entry = &catalog.drive(name).expect("the units name drives of the catalog").entry;
            let fitted = entry.parameters.iter().filter(|(_, number)| number.from == Origin::Fit);
            for (parameter, _) in fitted {
                handles.push(Handle { places: vec![((*name).to_owned(), parameter.clone())] });
            }
        }
        for number in self.host {
            let place = |&(file, name): &(&str, &str)| (file.to_owned(), name.to_owned());
            handles.push(Handle { places: number.iter().map(place).collect() });
        }
        handles
    }
}

impl Handle {
    /// Its value in the file's unit.
    pub fn value(&self, catalog: &Catalog) -> f64 {
        let (file, name) = &self.places[0];
        match entry(catalog, file).parameters[name].value {
            Value::Number(number) => number,
            Value::Word(_) => panic!("the fit moves numbers"),
        }
    }

    /// Its value and unit.
    pub fn shown(&self, catalog: &Catalog) -> String {
        let (file, name) = &self.places[0];
        let parameter = &entry(catalog, file).parameters[name];
        format!("{} {}", parameter.value, parameter.unit)
    }

    /// Sets it everywhere.
    pub fn set(&self, catalog: &mut Catalog, value: f64) -> Result<()> {
        for (file, name) in &self.places {
            if let Some(drive) = catalog.drive_mut(file) {
                drive.entry.set(name, value)?;
            } else if let Some(port) = catalog.port_mut(file) {
                port.entry.set(name, value)?;
            } else {
                let driver = catalog.driver_mut(file);
                driver.with_context(|| format!("no file `{file}`"))?.entry.set(name, value)?;
            }
        }
        Ok(())
    }

    /// The files it stands in with their text as it now is.
    pub fn files<'a>(&self, catalog: &'a Catalog) -> Vec<(String, &'a str)> {
        let text = |(file, _): &(String, String)| {
            let entry = entry(catalog, file);
            (entry.file.clone(), entry.text())
        };
        self.places.iter().map(text).collect()
    }
}

fn entry<'a>(catalog: &'a Catalog, name: &str) -> &'a Entry {
    match catalog.drive(name) {
        Some(drive) => &drive.entry,
        None => &host_entry(catalog, name).expect("the units name files of the catalog").entry,
    }
}
