//! `drivelab flash create`.

use super::arguments::CreateArguments;
use crate::output;
use anyhow::{Result, bail};
use flash::{Checksums, Classes, Layout, Parity, Shape, Size, Topology, Wishes};
use host::Consent;
use std::{ffi::OsString, process::ExitCode};
use target::{
    stack::SPARE_PER_MILLE,
    volume::{
        self, Order, Site, Space,
        page::create::{self, Circumstances},
    },
};

/// The longest chunk: what a volume asks of any drive at once.
const TRANSFER_BYTES_MAX: u64 = 16 << 20;

/// Makes a volume, or says what it would be.
pub fn create(arguments: &CreateArguments) -> Result<ExitCode> {
    let order = Order {
        path: arguments.path.clone(),
        drive_bytes: arguments.drive_size,
        consent: Consent::typed(&arguments.destroy),
        space: match arguments.preallocate {
            true => Space::Taken,
            false => Space::AsItIs,
        },
    };
    let site = Site::survey(&order)?;
    let shape = match Shape::propose(&topology(arguments, &site), &wishes(arguments)) {
        Ok(shape) => shape,
        Err(refusal) => bail!("{}: {refusal}", arguments.path.display()),
    };
    let layout = Layout::new(shape, TRANSFER_BYTES_MAX)?;
    let around = Circumstances {
        verb: if arguments.dry_run { "Would make" } else { "Makes" },
        clients_bytes: nbd::Options::default().memory_bytes(),
        takes_all: "--preallocate takes all of it now",
    };
    output::print(&create::text(&site, &layout, &around, &output::style()))?;
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    volume::make(site, shape)?;
    let mut target = OsString::from("flash:");
    target.push(&arguments.path);
    let target = record::quoted(target);
    output::print(&format!("\nMade. Measure it with `drivelab run {target}`.\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn topology(arguments: &CreateArguments, site: &Site) -> Topology {
    Topology {
        device_bytes: site.device_bytes,
        transfer_bytes_max: TRANSFER_BYTES_MAX,
        stripe_bytes: arguments.stripe.unwrap_or(site.stripe_bytes),
        erase_unit_bytes: arguments.erase_unit.unwrap_or(site.erase_unit_bytes),
        parity: match arguments.parity.as_deref() {
            Some("protected") => Parity::Protected,
            Some(_) => Parity::None,
            None => site.parity,
        },
    }
}

fn wishes(arguments: &CreateArguments) -> Wishes {
    Wishes {
        size: match arguments.size {
            Some(bytes) => Size::Exported(bytes),
            None => Size::Spare(arguments.spare.unwrap_or(SPARE_PER_MILLE)),
        },
        segment_bytes: arguments.segment,
        chunk_bytes: arguments.chunk,
        ring_bytes: arguments.ring,
        checksums: match arguments.checksums.as_str() {
            "cleaning" => Checksums::OnCleaning,
            _ => Checksums::OnRead,
        },
        classes: Classes::SEPBIT,
    }
}
