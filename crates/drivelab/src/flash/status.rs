//! `drivelab flash status`.

use super::{arguments::StatusArguments, ranges, words};
use crate::output::{self, hanging};
use anyhow::{Result, anyhow};
use block::{counted, display_bytes};
use engine::Clock;
use flash::tools::{self, Status};
use serde_json::json;
use std::{ops::ControlFlow, path::Path, process::ExitCode};
use target::volume::{HeldDrive, Use};

/// Prints how a volume stands.
pub fn status(arguments: &StatusArguments) -> Result<ExitCode> {
    let mut drive = HeldDrive::open(&arguments.path, Use::Read, Clock::start())?;
    let seen = tools::status(&mut *drive.engine, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| anyhow!("{}: {error}", arguments.path.display()))?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&as_json(&arguments.path, &seen))? + "\n"
    } else {
        as_text(&arguments.path, &seen)
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A page about a volume.
pub fn as_text(path: &Path, seen: &Status) -> String {
    let Status { layout, lifetime, segments, .. } = seen;
    let shape = &layout.shape;
    let mapped = words::blocks(seen.mapped_blocks);
    let all = u64::from(layout.segments) * shape.segment_bytes;
    let pool = seen.clean_pool_bytes();
    let mut text = hanging(
        "volume    ",
        &format!(
            "{}: {} on a drive of {}, {}",
            path.display(),
            display_bytes(shape.exported_bytes),
            display_bytes(shape.device_bytes),
            seen.id
        ),
    );
    text += &hanging("layout    ", &words::layout(layout));
    text += &hanging(
        "fill      ",
        &format!(
            "{} {} of the volume: {mapped}; {} of the drive holds none of it",
            words::bar(seen.fill(), 20),
            words::percent(seen.fill()),
            words::percent(seen.spare())
        ),
    );
    text += &hanging(
        "pool      ",
        &format!(
            "{} {} can be written before anything must be cleaned",
            words::bar(pool as f64 / all as f64, 20),
            display_bytes(pool)
        ),
    );
    text += &hanging(
        "segments  ",
        &format!(
            "{} free, {} closed, {} open, {} to be freed by the next checkpoint, {} retired",
            segments.free, segments.closed, segments.open, segments.prefree, segments.retired
        ),
    );
    text += &hanging("written   ", &written(seen));
    text += &hanging("wear      ", &format!("{:.2} drive writes", seen.drive_writes()));
    let lost = match seen.lost_blocks {
        0 => String::new(),
        lost => format!("; {} were lost, reading them is an error", words::blocks(lost)),
    };
    text +=
        &hanging("errors    ", &format!("{} wrong checksums met{lost}", lifetime.checksum_errors));
    text += &hanging("stopped   ", &stopped(seen));
    for warning in seen.report.warnings() {
        text += &hanging("note      ", &warning);
    }
    text
}

fn written(seen: &Status) -> String {
    let lifetime = &seen.lifetime;
    let Some(amplification) = lifetime.write_amplification() else {
        return format!("nothing by the host; {} in all", words::blocks(lifetime.drive_blocks));
    };
    format!(
        "{} by the host, {} to the drive: write amplification {amplification:.3}; {} copied, {} map, {} headers, {} \
         padding ({})",
        words::blocks(lifetime.host_blocks),
        words::blocks(lifetime.drive_blocks),
        words::blocks(lifetime.copied_blocks),
        words::blocks(lifetime.page_blocks),
        words::blocks(lifetime.header_blocks),
        words::blocks(lifetime.padding_blocks),
        words::percent(seen.padding().unwrap_or(0.0))
    )
}

fn stopped(seen: &Status) -> String {
    let report = &seen.report;
    let how = if report.clean {
        "cleanly".to_owned()
    } else {
        let mut how = format!(
            "not cleanly: the next opening rolls {} forward, as was done here in memory",
            counted(report.chunks_replayed, "chunk")
        );
        if report.chunks_cut > 0 {
            how += &format!(" and cuts a tail of {} that no flush covered", report.chunks_cut);
        }
        how
    };
    format!(
        "{how}; opened {}, {} after an unclean stop",
        counted(seen.openings, "time"),
        seen.lifetime.unclean_openings
    )
}

fn as_json(path: &Path, seen: &Status) -> serde_json::Value {
    let Status { layout, lifetime, segments, report, .. } = seen;
    let shape = &layout.shape;
    let bytes = |blocks: u64| blocks * flash::BLOCK_BYTES;
    let object = json!({
        "path": null,
        "id": seen.id.to_string(),
        "device_bytes": shape.device_bytes,
        "exported_bytes": shape.exported_bytes,
        "segment_bytes": shape.segment_bytes,
        "chunk_bytes": shape.chunk_bytes,
        "stripe_bytes": shape.stripe_bytes,
        "erase_unit_bytes": shape.erase_unit_bytes,
        "ring_bytes": shape.ring_bytes,
        "mapped_bytes": bytes(seen.mapped_blocks),
        "lost_bytes": bytes(seen.lost_blocks),
        "lost": ranges::list_as_json(&seen.lost),
        "fill": seen.fill(),
        "spare": seen.spare(),
        "clean_pool_bytes": seen.clean_pool_bytes(),
        "segments": {
            "all": layout.segments,
            "free": segments.free,
            "open": segments.open,
            "closed": segments.closed,
            "prefree": segments.prefree,
            "retired": segments.retired,
        },
        "lifetime": {
            "host_bytes": bytes(lifetime.host_blocks),
            "copied_bytes": bytes(lifetime.copied_blocks),
            "map_bytes": bytes(lifetime.page_blocks),
            "header_bytes": bytes(lifetime.header_blocks),
            "padding_bytes": bytes(lifetime.padding_blocks),
            "drive_bytes": bytes(lifetime.drive_blocks),
            "write_amplification": lifetime.write_amplification(),
            "drive_writes": seen.drive_writes(),
            "checksum_errors": lifetime.checksum_errors,
            "openings": seen.openings,
            "unclean_openings": lifetime.unclean_openings,
        },
        "stopped_cleanly": report.clean,
        "chunks_to_roll_forward": report.chunks_replayed,
        "superblocks_damaged": report.superblocks_damaged,
        "warnings": report.warnings(),
    });
    output::with_paths(object, &[("path", path)])
}
