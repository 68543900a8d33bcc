//! The catalog: one TOML a drive and one a port, built in, and the user's own beside them.
//!
//! ```text
//!   catalog/*.toml, catalog/ports/*.toml      built in
//!   $XDG_CONFIG_HOME/drivelab/drives/*.toml   the user's own (default ~/.config): new names only
//!        | strict reading: every key known, every unit right
//!   DriveEntry, PortEntry                     parameters with unit and source
//!        | build                              the one place where a file's numbers become a model's
//!   model::Disk, model::BlockMapped, ...
//! ```
//!
//! `docs/reference/catalog-format.md` describes the files for people.

mod build;
mod built_in;
mod entry;
mod median;
mod near;
pub mod page;
mod quota;
mod read;
mod schema;
mod section;
mod sheet;
mod unit;

pub use build::{DriveSettings, Past, PortLimits};
pub use entry::{
    DataSheet, DriveEntry, Entry, FITTED_MAX, HostEntry, Origin, Parameter, Price, PriceDate,
    Reality, Value,
};
pub use median::Spread;
pub(crate) use read::parse_kernel;
pub use schema::{DRIVER_KEYS, DriveKind, Holds, Key, Need, PORT_KEYS};
pub use section::BadCatalog;
pub use sheet::{NoSheet, drive_under, sheet_of};
pub use unit::Dimension;

use block::names::did_you_mean;
use record::input::{TEXT_BYTES_MAX, read_text};
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

/// Every drive and port that a STACK can name.
#[derive(Clone, PartialEq, Debug)]
pub struct Catalog {
    /// By name.
    drives: Vec<DriveEntry>,
    ports: Vec<HostEntry>,
    drivers: Vec<HostEntry>,
}

impl Catalog {
    /// What comes with drivelab; its files are read once a process.
    ///
    /// # Errors
    /// What is wrong with a file, with file, line and key; a test reads them all.
    pub fn built_in() -> Result<Self, BadCatalog> {
        static READ: OnceLock<Result<Catalog, BadCatalog>> = OnceLock::new();
        READ.get_or_init(Self::read_built_in).clone()
    }

    fn read_built_in() -> Result<Self, BadCatalog> {
        let drives = built_in::DRIVES.iter().map(|(file, text)| DriveEntry::parse(file, text));
        let ports = built_in::PORTS.iter().map(|(file, text)| HostEntry::parse_port(file, text));
        let drivers =
            built_in::DRIVERS.iter().map(|(file, text)| HostEntry::parse_driver(file, text));
        let mut catalog = Self {
            drives: Vec::new(),
            ports: ports.collect::<Result<_, _>>()?,
            drivers: drivers.collect::<Result<_, _>>()?,
        };
        for drive in drives {
            catalog.add(drive?)?;
        }
        catalog.drives.iter().try_for_each(|drive| catalog.check_median_of(drive))?;
        Ok(catalog)
    }

    /// What comes with drivelab, and the user's own drives. A file of his that is wrong is left
    /// out, and told to whoever asked by [`tell_left_out`].
    ///
    /// # Errors
    /// What is wrong with a file of drivelab's own, with file, line and key.
    pub fn load() -> Result<Self, BadCatalog> {
        let mut catalog = Self::built_in()?;
        let left_out = user_folder().map_or_else(Vec::new, |folder| catalog.add_folder(&folder));
        if let Some(tell) =
            TELL.lock().ok().filter(|_| !left_out.is_empty()).and_then(|mut tell| tell.take())
        {
            left_out.iter().for_each(tell);
        }
        Ok(catalog)
    }

    /// Adds every `*.toml` of a folder, by name; a folder that is not there has none. Gives what is
    /// wrong with those that it leaves out.
    pub fn add_folder(&mut self, folder: &Path) -> Vec<BadCatalog> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        files.iter().filter_map(|path| self.add_file(path).err()).collect()
    }

    fn add_file(&mut self, path: &Path) -> Result<(), BadCatalog> {
        let file = path.display().to_string();
        let text = read_text(path, TEXT_BYTES_MAX)
            .map_err(|error| BadCatalog(format!("{file}: {error}")))?;
        let drive = DriveEntry::parse(&file, &text)?;
        self.check_median_of(&drive)?;
        self.add(drive)
    }

    /// Adds a drive.
    ///
    /// # Errors
    /// When its name is taken, or its port does not exist.
    pub fn add(&mut self, drive: DriveEntry) -> Result<(), BadCatalog> {
        if let Some(taken) = self.drives.iter().find(|known| known.name() == drive.name()) {
            return Err(BadCatalog(format!(
                "{}: the name `{}` is taken by {}: give the drive another",
                drive.entry.file,
                drive.name(),
                taken.entry.file
            )));
        }
        if self.port(&drive.port).is_none() {
            let near = did_you_mean(&drive.port, self.port_names());
            let ports = self.port_names().collect::<Vec<_>>().join(", ");
            return Err(BadCatalog(format!(
                "{}: `port` is `{}`, which is no port.{near} Ports: {ports}",
                drive.entry.file, drive.port
            )));
        }
        self.drives.push(drive);
        self.drives.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(())
    }

    /// All drives, by name.
    pub fn drives(&self) -> &[DriveEntry] {
        &self.drives
    }

    /// The drive of this name.
    pub fn drive(&self, name: &str) -> Option<&DriveEntry> {
        self.drives.iter().find(|drive| drive.name() == name)
    }

    /// The drive of this name, to change its numbers.
    pub fn drive_mut(&mut self, name: &str) -> Option<&mut DriveEntry> {
        self.drives.iter_mut().find(|drive| drive.name() == name)
    }

    /// All ports.
    pub fn ports(&self) -> &[HostEntry] {
        &self.ports
    }

    /// The port of this name.
    pub fn port(&self, name: &str) -> Option<&HostEntry> {
        self.ports.iter().find(|port| port.name() == name)
    }

    /// The port of this name, to change its numbers.
    pub fn port_mut(&mut self, name: &str) -> Option<&mut HostEntry> {
        self.ports.iter_mut().find(|port| port.name() == name)
    }

    /// All array drivers.
    pub fn drivers(&self) -> &[HostEntry] {
        &self.drivers
    }

    /// The array driver of this name.
    pub fn driver(&self, name: &str) -> Option<&HostEntry> {
        self.drivers.iter().find(|driver| driver.name() == name)
    }

    /// The array driver of this name, to change its numbers.
    pub fn driver_mut(&mut self, name: &str) -> Option<&mut HostEntry> {
        self.drivers.iter_mut().find(|driver| driver.name() == name)
    }

    /// Names of all drives.
    pub fn drive_names(&self) -> impl Iterator<Item = &str> {
        self.drives.iter().map(DriveEntry::name)
    }

    /// Names of all ports.
    pub fn port_names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(HostEntry::name)
    }
}

/// Who is told of the files that [`Catalog::load`] leaves out; of each once.
static TELL: Mutex<Option<fn(&BadCatalog)>> = Mutex::new(None);

/// Has `tell` told of each of the user's files that the first [`Catalog::load`] leaves out.
pub fn tell_left_out(tell: fn(&BadCatalog)) {
    if let Ok(mut told) = TELL.lock() {
        *told = Some(tell);
    }
}

/// Where the user's own drives lie.
pub fn user_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let config = config.or_else(|| set("HOME").map(|home| home.join(".config")));
    config.map(|config| config.join("drivelab/drives"))
}

#[cfg(test)]
mod tests;
