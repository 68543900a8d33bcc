//! `drivelab flash create`.

use super::{arguments::CreateArguments, words};
use crate::{
    output::{self, hanging},
    run::entropy,
};
use anyhow::{Result, bail};
use block::{Rng, display_bytes};
use engine::Clock;
use flash::{Checksums, Classes, Ground, Layout, Parity, Shape, Size, VolumeId, Wishes, predict};
use std::{fs, process::ExitCode};
use target::{
    stack::SPARE_PER_MILLE,
    volume::{self, ManagedVolume, Order, Site},
};

/// The longest chunk: what a volume asks of any drive at once.
const TRANSFER_BYTES_MAX: u64 = 16 << 20;

/// Makes a volume, or says what it would be.
pub fn create(arguments: &CreateArguments) -> Result<ExitCode> {
    let order = Order {
        path: arguments.path.clone(),
        drive_bytes: arguments.drive_size,
        destroy: arguments.destroy.clone(),
    };
    let site = Site::survey(&order)?;
    let shape = match Shape::propose(&ground(arguments, &site), &wishes(arguments)) {
        Ok(shape) => shape,
        Err(refusal) => bail!("{}: {refusal}", arguments.path.display()),
    };
    let layout = Layout::new(shape, TRANSFER_BYTES_MAX)?;
    output::print(&described(arguments, &site, &layout))?;
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let made = site.new_file().map(ToOwned::to_owned);
    let drive = site.take(Clock::start())?;
    let created = ManagedVolume::create(drive, shape, volume_id());
    let stopped = created.and_then(|volume| {
        volume.stop().map_err(|error| {
            lab::target::TargetError::refused(format!(
                "the drive failed as it was written: {error:?}"
            ))
        })
    });
    if let Err(error) = stopped {
        if let Some(path) = made {
            let _ = fs::remove_file(path);
        }
        bail!("{}: {error}", arguments.path.display());
    }
    let path = arguments.path.display();
    output::print(&format!("\nMade. Measure it with `drivelab run flash:{path}`.\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn ground(arguments: &CreateArguments, site: &Site) -> Ground {
    Ground {
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

fn volume_id() -> VolumeId {
    let mut id = [0; 16];
    Rng::new(entropy(), 0xf1a5).fill(&mut id);
    VolumeId(id)
}

fn described(arguments: &CreateArguments, site: &Site, layout: &Layout) -> String {
    let shape = &layout.shape;
    let exported = display_bytes(shape.exported_bytes);
    let spare = 1.0 - shape.exported_bytes as f64 / shape.device_bytes as f64;
    let size = match layout.mapped_max < layout.exported_blocks {
        true => format!(
            "{exported}, thin: {} can be written at a time, then writes to new places get \"no space\"",
            words::blocks(layout.mapped_max.into())
        ),
        false => format!("{exported}, spare {}", words::percent(spare)),
    };
    let dram = predict::dram(layout, &volume::settings(false));
    let each = match shape.checksums {
        Checksums::OnRead => "8 B a block, checksums verified on every read",
        Checksums::OnCleaning => "4 B a block, checksums verified on cleaning and check only",
    };
    let memory = format!(
        "{} once the volume is full: map {} ({each}), segments {}, chunks {}",
        display_bytes(dram.total_bytes()),
        display_bytes(dram.map_bytes),
        display_bytes(dram.segment_bytes),
        display_bytes(dram.chunk_bytes)
    );
    let recovery = format!(
        "after a power cut at most {} of appends are read again",
        display_bytes(u64::from(layout.window) * shape.segment_bytes)
    );
    let verb = if arguments.dry_run { "Would make" } else { "Makes" };
    hanging("", &format!("{verb} a managed volume on {}.", site.what))
        + "\n"
        + &hanging("size      ", &size)
        + &hanging("layout    ", &words::layout(layout))
        + &hanging("memory    ", &memory)
        + &hanging("recovery  ", &recovery)
        + "\n"
        + &hanging(
            "",
            "What uniform random overwriting will have of the drive's linear write rate, reads of the cleaner free; \
             bursts into the clean pool have nearly all of it:",
        )
        + &words::curve(layout)
}
