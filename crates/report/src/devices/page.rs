//! One device: everything that is known without measuring it.

use super::{
    Wording,
    list::{bus, measured_in_words, size},
};
use crate::terminal::{Style, hanging};
use block::{counted, display_bytes};
use record::{DriveIdentity, Queue, devices::Device};

/// A page of 80 columns; what is not known is left out.
pub fn page(device: &Device, wording: &Wording, style: &Style) -> String {
    let mut page = String::new();
    let mut row = |label: &str, text: Option<String>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            page += &hanging(&format!("{label:<12}"), &style.clean(&text));
        }
    };
    let drive = device.layer.drive.as_ref();
    let queue = device.layer.queue.as_ref();
    let kind = match &device.label {
        Some(label) => format!("{} `{label}`", device.layer.kind),
        None if device.layer.kind == "disk" => format!("drive, {}", bus(device)),
        None => device.layer.kind.clone(),
    };
    row("device", Some(format!("{}, {kind}, {}", device.path.display(), size(device))));
    row("model", drive.and_then(model));
    row("serial", drive.and_then(|drive| drive.serial.clone()));
    row("WWN", drive.and_then(|drive| drive.wwn.clone()));
    row("link", drive.and_then(link));
    row("wear", drive.and_then(wear));
    row("temperature", drive.and_then(|drive| Some(format!("{} C", drive.temperature_celsius?))));
    row("blocks", queue.and_then(blocks));
    row("write cache", queue.and_then(|queue| write_cache(queue, drive)));
    row("scheduler", queue.and_then(scheduler));
    row("TRIM", queue.and_then(trim));
    row("zones", queue.and_then(zones));
    row("stands on", Some(device.below.join(", ")));
    row("carries", Some(device.above.join(", ")).filter(|names| !names.is_empty()));
    row(
        "holds",
        Some(match &device.holds {
            None => "not seen".to_owned(),
            Some(found) if found.is_empty() => "nothing that is recognised".to_owned(),
            Some(found) => found.join(", "),
        }),
    );
    row("used by", Some(device.uses.join("; ")));
    row("condition", Some(device.condition.join("; ")));
    row("measured", Some(measured_in_words(device).to_owned()));
    row("no reads", device.reads_refused.clone());
    row("no writes", device.writes_refused.clone());
    row(
        wording.destroy,
        device.destroy.as_ref().map(|word| {
            let called = device.destroy_is.as_deref().unwrap_or("name");
            format!("{}   (its {called})", record::quoted(word))
        }),
    );
    row("or", Some(device.destroy_also.join(", ")));
    page
}

fn model(drive: &DriveIdentity) -> Option<String> {
    let firmware = drive.firmware.as_ref().map(|text| format!(", firmware {text}"));
    Some(drive.model.clone()? + &firmware.unwrap_or_default())
}

fn link(drive: &DriveIdentity) -> Option<String> {
    let link = drive.link.as_ref()?;
    let possible = link.possible.as_ref().filter(|possible| **possible != link.negotiated);
    let possible = possible.map(|possible| format!(", and {possible} would be possible"));
    Some(link.negotiated.clone() + &possible.unwrap_or_default())
}

fn wear(drive: &DriveIdentity) -> Option<String> {
    let health = drive.health_before.as_ref();
    let clauses = [
        drive.written_bytes.map(|bytes| format!("{} written", display_bytes(bytes))),
        drive.rated_endurance_bytes.map(|rated| format!("rated for {}", display_bytes(rated))),
        health.and_then(|it| it.percentage_used).map(|used| format!("{used} % of its life used")),
        health.and_then(|it| it.media_errors).map(|count| counted(count, "media error")),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

fn blocks(queue: &Queue) -> Option<String> {
    let (logical, physical) = (queue.logical_block_bytes?, queue.physical_block_bytes?);
    Some(format!("logical {logical} B, physical {physical} B"))
}

fn write_cache(queue: &Queue, drive: Option<&DriveIdentity>) -> Option<String> {
    let told = match queue.write_cache.as_deref()? {
        "write back" => "on (write back), emptied by each flush",
        "write through" => "off, or of no matter (write through): the kernel sends no flush",
        other => other,
    };
    let safe = drive.and_then(|drive| drive.power_loss_protection) == Some(true);
    Some(format!("{told}{}", if safe { "; survives a power cut" } else { "" }))
}

fn scheduler(queue: &Queue) -> Option<String> {
    let rotational = match queue.rotational {
        Some(true) => ", taken for a disk that turns",
        _ => "",
    };
    let requests = queue.requests.map(|n| format!(", {n} requests")).unwrap_or_default();
    Some(format!("{}{requests}{rotational}", queue.scheduler.clone()?))
}

fn zones(queue: &Queue) -> Option<String> {
    let kind = queue.zoned.as_deref()?;
    Some(format!("{kind}: takes writes in sequence alone, and is only read here"))
}

fn trim(queue: &Queue) -> Option<String> {
    Some(match queue.discard_bytes_max? {
        0 => "none".to_owned(),
        bytes => format!("up to {} at once", display_bytes(bytes)),
    })
}
