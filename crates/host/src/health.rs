//! What drives say of their own health, before a run and after it.
//!
//! ```text
//!   stack -> each drive's own commands -> Health -> record
//!   before, after -> judge (pure) -> flags, sentences
//! ```
//!
//! A drive's own count of what was written stands beside the kernel's: where the two differ,
//! somebody counts what never arrived, or writes more than was asked.

use crate::{
    ask,
    error::HostError,
    identify::{Findings, identity_of},
    roots::Roots,
    setting::is_ata,
    sysfs::BlockDevice,
    watch::Traffic,
};
use record::{BlockLayer, Flag, Health, TargetInfo, Warning};

/// A ratio of two counts within this of 1 is no difference: drives count in units of 512,000 B, and
/// some count late.
const RATIO_TOLERATED: f64 = 0.05;
/// Below this much the units decide.
const COMPARED_BYTES_MIN: u64 = 100_000_000;

/// When a drive is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Before the first cell.
    Before,
    /// After the last.
    After,
}

/// Asks every NVMe, SATA and SCSI drive of a stack. Does nothing without root, and on other than
/// the machine's own [`Roots`]; a drive that refuses has no health. Bridges of USB are not asked:
/// some hang on commands that they do not know.
pub fn ask_health(stack: &mut [BlockLayer], moment: Moment, roots: &Roots) {
    if !roots.are_real() || !rustix::process::geteuid().is_root() {
        return;
    }
    for layer in stack {
        let Some(identity) = layer.drive.as_mut() else { continue };
        let Some(drive) = BlockDevice::named(&layer.name, roots) else { continue };
        // Another drive may bear the name by now.
        let now = identity_of(&drive, roots).serial;
        if now.is_some() && identity.serial.is_some() && now != identity.serial {
            continue;
        }
        let health = of_drive(&drive, identity.transport.as_deref(), roots).ok().flatten();
        match moment {
            Moment::Before => {
                let told = |of: fn(&Health) -> Option<u64>| health.as_ref().and_then(of);
                identity.written_bytes = identity.written_bytes.or(told(|it| it.written_bytes));
                identity.health_before = health;
            }
            Moment::After => identity.health_after = health,
        }
    }
}

fn of_drive(
    drive: &BlockDevice,
    transport: Option<&str>,
    roots: &Roots,
) -> Result<Option<Health>, HostError> {
    let node = roots.dev.join(&drive.name);
    let name = &drive.name;
    let open = || ask::open(&node, drive, roots);
    let health = if name.starts_with("nvme") {
        ask::nvme::health(&open()?, name)?
    } else if transport == Some("usb") || !drive.directory.join("device/scsi_disk").exists() {
        return Ok(None);
    } else if is_ata(drive) {
        let block_bytes = drive.queue_integer("logical_block_size").unwrap_or(512);
        ask::ata::health(&open()?, name, block_bytes)?
    } else {
        ask::scsi::health(&open()?, name)
    };
    // It says nothing.
    if health == (Health { source: health.source.clone(), ..Health::default() }) {
        return Ok(None);
    }
    let traffic = drive.text("stat").and_then(|text| Traffic::parse_stat(&text));
    Ok(Some(Health { sent_bytes: traffic.map(|traffic| traffic.written_bytes), ..health }))
}

/// Asks the drives of a target after its last cell, and adds to its flags and warnings what
/// happened to them meanwhile.
pub fn conclude(info: &mut TargetInfo, roots: &Roots) {
    ask_health(&mut info.stack, Moment::After, roots);
    let findings = judge(&info.stack);
    info.flags.extend(findings.flags);
    info.flags.sort();
    info.flags.dedup();
    // A run that is resumed has been concluded before.
    let fresh = findings.warnings.into_iter().filter(|one| !info.warnings.contains(one));
    let fresh: Vec<Warning> = fresh.collect();
    info.warnings.extend(fresh);
}

/// What happened to the drives of a stack between the two readings.
fn judge(stack: &[BlockLayer]) -> Findings {
    let mut findings = Findings::default();
    for layer in stack {
        let Some(drive) = &layer.drive else { continue };
        let Some(after) = &drive.health_after else { continue };
        let name = &layer.name;
        if let Some(warning) = after.critical_warning.filter(|warning| *warning != 0) {
            let sentence = format!("{name} warns: {}", critical_words(warning));
            findings.add(Flag::DriveErrors, &sentence);
        }
        if let Some(before) = &drive.health_before {
            judge_change(name, before, after, &mut findings);
        }
    }
    findings
}

fn judge_change(name: &str, before: &Health, after: &Health, findings: &mut Findings) {
    let grown = |of: fn(&Health) -> Option<u64>| of(after)?.checked_sub(of(before)?);
    let more = |of| grown(of).filter(|count| *count > 0);
    let errors = [
        (more(|it| it.media_errors), "media errors"),
        (more(|it| it.reallocated_sectors), "reallocated sectors"),
        (more(|it| it.pending_sectors), "sectors to be reallocated"),
        (more(|it| it.link_errors), "errors on its link"),
    ];
    let errors: Vec<String> =
        errors.into_iter().filter_map(|(count, what)| Some(format!("{} {what}", count?))).collect();
    if !errors.is_empty() {
        let sentence = format!("{name} counts since the run began {}", errors.join(", "));
        findings.add(Flag::DriveErrors, &sentence);
    }
    let (times, seconds) = (more(|it| it.throttled_times), more(|it| it.throttled_s));
    let minutes = more(|it| it.too_hot_minutes);
    if times.is_some() || seconds.is_some() || minutes.is_some() {
        let said = [
            times.map(|times| format!("{times} times")),
            seconds.map(|seconds| format!("for {seconds} s")),
            minutes.map(|minutes| format!("{minutes} min above its warning temperature")),
        ];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let sentence = format!("{name} says that it slowed itself down for heat: {said}");
        findings.add(Flag::ThermalThrottling, &sentence);
    }
    let (own, sent) = (grown(|it| it.written_bytes), grown(|it| it.sent_bytes));
    if let (Some(own), Some(sent @ COMPARED_BYTES_MIN..)) = (own, sent) {
        let ratio = own as f64 / sent as f64;
        if (ratio - 1.0).abs() > RATIO_TOLERATED {
            let text = format!(
                "{name} counts {} written, and the kernel sent {}: {ratio:.2} times (zeroes that are \
                 ordered without data do not count; some drives count late)",
                block::display_bytes(own),
                block::display_bytes(sent)
            );
            findings.warnings.push(Warning { flag: None, text });
        }
    }
}

/// The bits of NVMe's critical warning (SMART / Health Information log, byte 0).
fn critical_words(bits: u64) -> String {
    let words = [
        "its spare blocks are nearly used up",
        "its temperature is out of its range",
        "its reliability is degraded",
        "it takes no writes any more",
        "its backup of volatile memory has failed",
        "its persistent memory region takes no writes",
    ];
    let set = words.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
    let set: Vec<&str> = set.map(|(_, words)| *words).collect();
    if set.is_empty() { format!("bits {bits:#x}") } else { set.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::DriveIdentity;

    fn stack(before: Health, after: Health) -> Vec<BlockLayer> {
        let drive = DriveIdentity {
            health_before: Some(before),
            health_after: Some(after),
            ..DriveIdentity::default()
        };
        vec![BlockLayer { name: "nvme0n1".into(), drive: Some(drive), ..BlockLayer::default() }]
    }

    fn counts(media_errors: u64, throttled_s: u64, written: u64, sent: u64) -> Health {
        Health {
            media_errors: Some(media_errors),
            throttled_s: Some(throttled_s),
            written_bytes: Some(written),
            sent_bytes: Some(sent),
            ..Health::default()
        }
    }

    #[test]
    fn a_drive_to_which_nothing_happened_is_not_mentioned() {
        let [before, after] =
            [(0, 0), (1 << 30, 1 << 30)].map(|(own, sent)| counts(5, 9, own, sent));
        assert_eq!(judge(&stack(before.clone(), after)), Findings::default());
        // Counters that were set back say nothing.
        assert_eq!(judge(&stack(before, counts(0, 0, 0, 0))), Findings::default());
        assert_eq!(judge(&stack(Health::default(), Health::default())), Findings::default());
    }

    #[test]
    fn new_errors_heat_and_counts_that_differ_are_told() {
        let findings = judge(&stack(counts(5, 9, 0, 0), counts(7, 21, 2 << 30, 1 << 30)));
        assert_eq!(findings.flags, [Flag::ThermalThrottling, Flag::DriveErrors]);
        let texts: Vec<&str> = findings.warnings.iter().map(|one| one.text.as_str()).collect();
        assert!(
            texts[0].contains("nvme0n1 counts since the run began 2 media errors"),
            "{texts:?}"
        );
        assert!(texts[1].contains("for 12 s"), "{texts:?}");
        assert!(texts[2].contains("2.00 times"), "{texts:?}");
        // So little that a unit of the drive's would make the difference.
        let findings = judge(&stack(counts(0, 0, 0, 0), counts(0, 0, 2 << 20, 1 << 20)));
        assert_eq!(findings, Findings::default());
    }

    #[test]
    fn a_warning_of_the_drive_s_own_is_told_at_once() {
        let after = Health { critical_warning: Some(0x05), ..Health::default() };
        let findings = judge(&stack(Health::default(), after));
        assert_eq!(findings.flags, [Flag::DriveErrors]);
        let text = &findings.warnings[0].text;
        assert!(text.contains("nearly used up, its reliability"), "{text}");
        assert_eq!(critical_words(0x80), "bits 0x80");
    }
}
