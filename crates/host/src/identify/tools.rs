//! Identity programs, when they are installed: smartctl, nvme, hdparm, and zpool for a pool's
//! members.
//!
//! Their absence is no error, and none may hold a run up: each gets five seconds.

use crate::{program::search_path, roots::Roots};
use record::{BlockLayer, DriveIdentity};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{self, Read},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Longest output kept; `smartctl -x` stays under 100 KiB.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// Asks the identity programs about every real drive of the stack and fills in what sysfs could not
/// tell. Returns their outputs by `program` or, with several drives, `program:drive`, for
/// [`Environment::tools`](record::Environment::tools). Does nothing without root, on virtual drives, and
/// below other than the machine's own [`Roots`].
pub fn ask_tools(stack: &mut [BlockLayer], roots: &Roots) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    if !roots.are_real() || !rustix::process::geteuid().is_root() {
        return outputs;
    }
    let drives = stack.iter().filter(|layer| layer.drive.is_some()).count();
    for layer in stack {
        let Some(drive) = layer.drive.as_mut().filter(|drive| !drive.is_virtual) else { continue };
        let mut keep = |program: &str, text: String| {
            let key = if drives > 1 { format!("{program}:{}", layer.name) } else { program.into() };
            outputs.insert(key, text);
        };
        let node = format!("/dev/{}", layer.name);
        if let Some(text) = run("smartctl", &["-j", "-x", &node]) {
            learn_from_smartctl(drive, &text);
            keep("smartctl", text);
        }
        if layer.name.starts_with("nvme") {
            for (command, learn) in [
                ("id-ctrl", learn_from_nvme_id_ctrl as fn(&mut DriveIdentity, &str)),
                ("smart-log", learn_from_nvme_smart_log),
            ] {
                if let Some(text) = run("nvme", &[command, &node, "-o", "json"]) {
                    learn(drive, &text);
                    keep(&format!("nvme {command}"), text);
                }
            }
        } else if let Some(text) = run("hdparm", &["-I", &node]) {
            keep("hdparm", text);
        }
    }
    outputs
}

/// Fills gaps from `smartctl -j -x`. ATA, SCSI and NVMe drives share the top-level keys.
fn learn_from_smartctl(drive: &mut DriveIdentity, text: &str) {
    let Ok(json) = serde_json::from_str::<Value>(text) else { return };
    let word = |pointer: &str| json.pointer(pointer)?.as_str().map(str::to_owned);
    let count = |pointer: &str| json.pointer(pointer)?.as_u64();
    let fill = |field: &mut Option<String>, found: Option<String>| *field = field.take().or(found);
    fill(&mut drive.model, word("/model_name").or_else(|| word("/scsi_model_name")));
    fill(&mut drive.serial, word("/serial_number"));
    fill(&mut drive.firmware, word("/firmware_version").or_else(|| word("/revision")));
    let celsius = json.pointer("/temperature/current").and_then(Value::as_f64);
    drive.temperature_celsius = drive.temperature_celsius.or(celsius);
    let nvme = "/nvme_smart_health_information_log";
    // NVMe counts thousands of 512-byte units (NVM Express Base Specification, SMART log).
    let nvme_written =
        count(&format!("{nvme}/data_units_written")).map(|n| n.saturating_mul(512_000));
    let block_bytes = count("/logical_block_size").unwrap_or(512);
    let ata_written = ata_sectors_written(&json).map(|n| n.saturating_mul(block_bytes));
    drive.written_bytes = drive.written_bytes.or(nvme_written).or(ata_written);
    let used = count(&format!("{nvme}/percentage_used"))
        .or_else(|| count("/endurance_used/current_percent"));
    learn_endurance(drive, used);
}

/// Total LBAs written: the device statistics log (ACS-4 9.5.4, offset 24 of page 1), else attribute 241.
fn ata_sectors_written(json: &Value) -> Option<u64> {
    let array = |pointer: &str| json.pointer(pointer).and_then(Value::as_array);
    let pages = array("/ata_device_statistics/pages").into_iter().flatten();
    let rows = pages.filter_map(|page| page["table"].as_array()).flatten();
    let named = |row: &&Value| row["name"] == "Logical Sectors Written";
    let from_statistics = { rows }.find(named).and_then(|row| row["value"].as_u64());
    let mut attributes = array("/ata_smart_attributes/table").into_iter().flatten();
    from_statistics.or_else(|| {
        let total = |row: &&Value| row["id"] == 241 && row["name"] == "Total_LBAs_Written";
        attributes.find(total)?.pointer("/raw/value")?.as_u64()
    })
}

/// A drive that says "3 % used" after 30 TB is rated for about 1,000 TB. Below 3 % the rounding of
/// the percentage would dominate, so nothing is said.
fn learn_endurance(drive: &mut DriveIdentity, percent_used: Option<u64>) {
    if let (Some(percent @ 3..), Some(written)) = (percent_used, drive.written_bytes) {
        drive.rated_endurance_bytes.get_or_insert(written / percent * 100);
    }
}

/// Serial (`sn`), firmware (`fr`), and VWC: bit 0 clear means that no volatile write cache is
/// present, so what was acknowledged survives a power cut (NVM Express Base Specification, Identify
/// Controller).
fn learn_from_nvme_id_ctrl(drive: &mut DriveIdentity, text: &str) {
    let Ok(json) = serde_json::from_str::<Value>(text) else { return };
    let word = |key: &str| json[key].as_str().map(|text| text.trim().to_owned());
    drive.serial = drive.serial.take().or_else(|| word("sn"));
    drive.firmware = drive.firmware.take().or_else(|| word("fr"));
    drive.model = drive.model.take().or_else(|| word("mn"));
    if json["vwc"].as_u64().is_some_and(|vwc| vwc & 1 == 0) {
        drive.power_loss_protection = Some(true);
    }
}

/// Temperature in kelvins, data units of 512,000 bytes, percentage used (`percent_used` in older
/// versions).
fn learn_from_nvme_smart_log(drive: &mut DriveIdentity, text: &str) {
    let Ok(json) = serde_json::from_str::<Value>(text) else { return };
    let kelvin = json["temperature"].as_f64().filter(|kelvin| *kelvin > 200.0);
    drive.temperature_celsius = drive.temperature_celsius.or(kelvin.map(|kelvin| kelvin - 273.0));
    let units = json["data_units_written"].as_u64();
    drive.written_bytes = drive.written_bytes.or(units.map(|n| n.saturating_mul(512_000)));
    let used = json["percentage_used"].as_u64().or_else(|| json["percent_used"].as_u64());
    learn_endurance(drive, used);
}

/// Device paths of a ZFS pool's members; empty without the program.
pub(crate) fn zpool_members(pool: &str, roots: &Roots) -> Vec<String> {
    if !roots.are_real() || pool.is_empty() {
        return Vec::new();
    }
    run("zpool", &["status", "-LP", "--", pool]).map(|text| device_words(&text)).unwrap_or_default()
}

/// Device paths of every imported pool's members.
pub(crate) fn zpool_members_all(roots: &Roots) -> Vec<String> {
    if !roots.are_real() || !roots.proc.join("spl/kstat/zfs").exists() {
        return Vec::new();
    }
    run("zpool", &["status", "-LP"]).map(|text| device_words(&text)).unwrap_or_default()
}

/// The first word of every line, where it is a device path.
fn device_words(text: &str) -> Vec<String> {
    let words = text.lines().filter_map(|line| line.split_whitespace().next());
    words.filter(|word| word.starts_with("/dev/")).map(str::to_owned).collect()
}

/// Standard output of a program, even when it ends with a status (smartctl's is a bit set of
/// findings); `None` when it is missing, says nothing or takes over five seconds.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match ask(program, arguments) {
        Answer::Ended { text, .. } if !text.trim().is_empty() => Some(text),
        Answer::Ended { .. } | Answer::NotInstalled | Answer::Unanswered => None,
    }
}

/// What came of asking a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// It is not there.
    NotInstalled,
    /// It ended.
    Ended {
        /// Its exit status; `None` when a signal ended it.
        status: Option<i32>,
        /// Its standard output.
        text: String,
    },
    /// It could not be started, was not done within five seconds, or what it said could not be
    /// read.
    Unanswered,
}

/// Asks a program whose exit status is part of the answer.
pub(crate) fn ask(program: &str, arguments: &[&str]) -> Answer {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", search_path()).env("LC_ALL", "C");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    match child {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Answer::NotInstalled,
        Err(_) => Answer::Unanswered,
        Ok(child) => match output_in_time(child, TIME_LIMIT) {
            Some((status, text)) => Answer::Ended { status, text },
            None => Answer::Unanswered,
        },
    }
}

fn output_in_time(mut child: Child, limit: Duration) -> Option<(Option<i32>, String)> {
    let pipe = child.stdout.take().expect("standard output is piped");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let read = pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut text);
        read.map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let deadline = Instant::now() + limit;
    loop {
        // A program may still wait for a reader of its last bytes: the reader decides first.
        if reader.is_finished() {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    let text = reader.join().expect("the reader does not panic").ok()?;
                    return Some((status.code(), text));
                }
                Err(_) => return None,
            }
        }
        if Instant::now() >= deadline {
            // A process stuck in the kernel cannot be killed: neither it nor the reader is waited
            // for.
            let _ = child.kill();
            let _ = child.try_wait();
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smartctl_fills_only_what_was_unknown() {
        let mut drive = DriveIdentity { model: Some("kept".into()), ..DriveIdentity::default() };
        let text = r#"{"model_name":"other","serial_number":"S1","firmware_version":"F2",
            "temperature":{"current":37},"logical_block_size":512,
            "ata_device_statistics":{"pages":[{"number":1,"table":[
              {"offset":8,"name":"Lifetime Power-On Resets","value":9},
              {"offset":24,"name":"Logical Sectors Written","value":2000000000}]}]},
            "endurance_used":{"current_percent":5}}"#;
        learn_from_smartctl(&mut drive, text);
        assert_eq!(drive.model.as_deref(), Some("kept"));
        assert_eq!(drive.serial.as_deref(), Some("S1"));
        assert_eq!(drive.firmware.as_deref(), Some("F2"));
        assert_eq!(drive.temperature_celsius, Some(37.0));
        assert_eq!(drive.written_bytes, Some(1_024_000_000_000));
        assert_eq!(drive.rated_endurance_bytes, Some(20_480_000_000_000));
    }

    #[test]
    fn nvme_units_are_thousands_of_512_bytes_and_kelvins_become_celsius() {
        let mut drive = DriveIdentity::default();
        learn_from_nvme_smart_log(
            &mut drive,
            r#"{"temperature":310,"percent_used":2,"data_units_written":1000000}"#,
        );
        learn_from_nvme_id_ctrl(&mut drive, r#"{"sn":"X7  ","fr":"1.0 ","mn":"Drive","vwc":0}"#);
        assert_eq!(drive.temperature_celsius, Some(37.0));
        assert_eq!(drive.written_bytes, Some(512_000_000_000));
        assert_eq!(drive.rated_endurance_bytes, None, "2 % is too coarse");
        assert_eq!(drive.serial.as_deref(), Some("X7"));
        assert_eq!(drive.power_loss_protection, Some(true));
    }

    #[test]
    fn text_that_is_no_json_teaches_nothing() {
        let mut drive = DriveIdentity::default();
        learn_from_smartctl(&mut drive, "smartctl: permission denied");
        learn_from_nvme_id_ctrl(&mut drive, "[1, 2");
        learn_from_nvme_smart_log(&mut drive, "");
        assert_eq!(drive, DriveIdentity::default());
    }

    #[test]
    fn members_of_a_pool_are_the_device_paths_of_its_status() {
        let text = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME          STATE\n\
                    \ttank          ONLINE\n\t  mirror-0    ONLINE\n\t    /dev/sdb1   ONLINE 0 0 0\n\
                    \t    /dev/sdc1   ONLINE 0 0 0\n";
        assert_eq!(device_words(text), ["/dev/sdb1", "/dev/sdc1"]);
    }

    #[test]
    fn a_program_that_hangs_is_left_after_the_limit() {
        let sleep = |seconds| Command::new("sleep").arg(seconds).stdout(Stdio::piped()).spawn();
        let child = sleep("30").expect("sleep starts");
        assert_eq!(output_in_time(child, Duration::from_millis(50)), None);
    }

    #[test]
    fn a_missing_or_silent_program_is_no_output() {
        assert_eq!(run("echo", &["a word"]).as_deref(), Some("a word\n"));
        assert_eq!(run("true", &[]), None);
        assert_eq!(run("drivelab-no-such-program", &[]), None);
    }
}
