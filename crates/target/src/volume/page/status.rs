//! How a volume stands.

use super::{blocks, layout_line, percent, ranges_json};
use block::{counted, display_bytes};
use flash::{BLOCK_BYTES, tools::Status};
use report::terminal::{Style, bar, hanging};
use serde_json::{Value, json};
use std::path::Path;

/// A page about a volume.
pub fn text(path: &Path, seen: &Status, style: &Style) -> String {
    let Status { layout, lifetime, segments, .. } = seen;
    let shape = &layout.shape;
    let mapped = blocks(seen.mapped_blocks);
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
    text += &hanging("layout    ", &layout_line(layout));
    text += &hanging(
        "fill      ",
        &format!(
            "{} {} of the volume: {mapped}; {} of the drive holds none of it",
            bar(seen.fill(), 20, style),
            percent(seen.fill()),
            percent(seen.spare())
        ),
    );
    text += &hanging(
        "pool      ",
        &format!(
            "{} {} can be written before anything must be cleaned",
            bar(pool as f64 / all as f64, 20, style),
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
        lost => format!("; {} were lost, reading them is an error", blocks(lost)),
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
        return format!("nothing by the host; {} in all", blocks(lifetime.drive_blocks));
    };
    format!(
        "{} by the host, {} to the drive: write amplification {amplification:.3}; {} \
         copied, {} map, {} headers, {} padding \
         ({})",
        blocks(lifetime.host_blocks),
        blocks(lifetime.drive_blocks),
        blocks(lifetime.copied_blocks),
        blocks(lifetime.page_blocks),
        blocks(lifetime.header_blocks),
        blocks(lifetime.padding_blocks),
        percent(seen.padding().unwrap_or(0.0))
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

/// The same for programs, all in bytes.
pub fn json(path: &Path, seen: &Status) -> Value {
    let Status { layout, lifetime, segments, report, .. } = seen;
    let shape = &layout.shape;
    let bytes = |blocks: u64| blocks * BLOCK_BYTES;
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
        "lost": ranges_json(&seen.lost),
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
    record::with_paths(object, &[("path", path)])
}
