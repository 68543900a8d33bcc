//! `drivelab flash create`.

use super::{arguments::CreateArguments, words};
use crate::output::{self, hanging};
use anyhow::{Result, bail};
use block::{Rng, display_bytes};
use engine::Clock;
use flash::{Checksums, Classes, Layout, Parity, Shape, Size, Topology, VolumeId, Wishes};
use host::{Consent, guard::Inode};
use std::{ffi::OsString, fs, process::ExitCode};
use target::{
    stack::SPARE_PER_MILLE,
    volume::{self, ManagedVolume, Order, Site, Space, Sparse},
};

/// What the program takes before it opens anything: its code as far as it is used, libraries,
/// tables.
const PROGRAM_BYTES: u64 = 16 << 20;

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
    output::print(&described(arguments, &site, &layout))?;
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let made = site.new_file().map(ToOwned::to_owned);
    let drive = site.take(Clock::start())?;
    let made = made.map(|path| (drive.lock.inode(), path));
    let created = ManagedVolume::create(drive, shape, volume_id());
    let stopped = created.and_then(|volume| {
        volume.stop().map_err(|error| {
            lab::target::TargetError::refused(format!(
                "the drive failed as it was written: {error:?}"
            ))
        })
    });
    if let Err(error) = stopped {
        // What somebody else has put there meanwhile is theirs.
        if let Some((inode, path)) = made
            && inode == Inode::at(&path)
        {
            let _ = fs::remove_file(path);
        }
        bail!("{}: {error}", arguments.path.display());
    }
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

fn volume_id() -> VolumeId {
    let mut id = [0; 16];
    Rng::new(host::entropy(), 0xf1a5).fill(&mut id);
    VolumeId(id)
}

/// What a server of the volume takes at most. While it recovers, what recovery takes stands in for
/// chunks, reads and clients.
fn memory(layout: &Layout, each: &str) -> String {
    let dram = flash::dram(layout, &volume::settings(false));
    let clients = nbd::Options::default().memory_bytes();
    let total = dram.total_bytes(clients) + PROGRAM_BYTES;
    let parts = [
        (format!("map {{}} ({each})"), dram.map_bytes),
        ("segments {}".to_owned(), dram.segment_bytes),
        ("chunks {}".to_owned(), dram.chunk_bytes),
        ("reads {}".to_owned(), dram.read_bytes),
        ("clients {}".to_owned(), clients),
        ("program {}".to_owned(), PROGRAM_BYTES),
    ];
    let parts = parts.map(|(words, bytes)| words.replace("{}", &display_bytes(bytes)));
    let recovery = display_bytes(dram.recovery_bytes);
    format!(
        "{} at most to serve it, all of it full: {}; in recovery {recovery} instead of chunks, \
         reads and clients",
        display_bytes(total),
        parts.join(", ")
    )
}

/// What a file with holes will still ask of its file system.
fn space(sparse: &Sparse) -> String {
    let short = match sparse.free_bytes < sparse.missing_bytes {
        true => ", too little: when that is full, writes fail",
        false => "",
    };
    format!(
        "the file has holes: as it fills it takes {} more of its file system, which has {} \
         free{short}; --preallocate takes all of it now",
        display_bytes(sparse.missing_bytes),
        display_bytes(sparse.free_bytes)
    )
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
    let each = match shape.checksums {
        Checksums::OnRead => "8 B a block, checksums verified on every read",
        Checksums::OnCleaning => "4 B a block, checksums verified on cleaning and check only",
    };
    let memory = memory(layout, each);
    let recovery = format!(
        "after a power cut at most {} of appends are read again",
        display_bytes(u64::from(layout.window) * shape.segment_bytes)
    );
    let verb = if arguments.dry_run { "Would make" } else { "Makes" };
    hanging("", &format!("{verb} a managed volume on {}.", site.what))
        + "\n"
        + &hanging("size      ", &size)
        + &hanging("layout    ", &words::layout(layout))
        + &site.sparse.map_or_else(String::new, |sparse| hanging("space     ", &space(&sparse)))
        + &hanging("memory    ", &memory)
        + &hanging("recovery  ", &recovery)
        + "\n"
        + &hanging(
            "",
            "What uniform random overwriting will have of the drive's sequential write rate, reads of the cleaner free; \
             bursts into the clean pool have nearly all of it:",
        )
        + &words::curve(layout)
}
