//! The data sheet that the catalog has of a drive, and of the drive under a target.

use super::{Catalog, DriveEntry};
use record::TargetInfo;
use report::{
    runs,
    specification::{BadSpecification, Specification},
};

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoSheet {
    /// The target is made of several drives, or of none.
    #[error("{target} has {drives}")]
    NotOneDrive {
        /// Its text.
        target: String,
        /// How many it has.
        drives: u64,
    },
    /// The catalog does not have it.
    #[error("the catalog does not have the drive under {target} ({drive})")]
    UnknownDrive {
        /// The target's text.
        target: String,
        /// What the drive calls itself.
        drive: String,
    },
    /// The catalog's drive has none.
    #[error("the catalog has no figures of {drive}'s data sheet")]
    NoFigures {
        /// Its name.
        drive: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Bad(#[from] BadSpecification),
}

/// The figures of a drive's data sheet.
///
/// # Errors
/// There are none.
pub fn sheet_of(drive: &DriveEntry) -> Result<Specification, NoSheet> {
    let sheet = Specification::of_catalog(&drive.entry.file, drive.entry.text())?;
    sheet.ok_or_else(|| NoSheet::NoFigures { drive: drive.name().to_owned() })
}

/// The catalog's drive that lies under a target: by the name in a STACK, or the model that a drive
/// gives.
///
/// # Errors
/// Several drives, or one that the catalog does not have.
pub fn drive_under<'c>(
    target: &TargetInfo,
    catalog: &'c Catalog,
) -> Result<&'c DriveEntry, NoSheet> {
    let drives = runs::drives(target);
    let not_one = |drives| NoSheet::NotOneDrive { target: target.text.clone(), drives };
    let [only] = &drives[..] else { return Err(not_one(drives.len() as u64)) };
    if only.count > 1 {
        return Err(not_one(only.count));
    }
    let of_model = |drive: &&DriveEntry| {
        let printed = drive.data_sheet.lines.iter().find(|(key, _)| key == "model");
        printed.is_some_and(|(_, printed)| *printed == only.name)
    };
    let drive = catalog.drive(&only.name).or_else(|| catalog.drives().iter().find(of_model));
    drive.ok_or_else(|| NoSheet::UnknownDrive {
        target: target.text.clone(),
        drive: only.name.clone(),
    })
}
