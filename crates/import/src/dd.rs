//! dd's summary: of GNU, in any language, of BSD, and of busybox. The rate is bytes over seconds,
//! not what dd rounds it to. A command line before it says what was read and what was written.

use crate::{
    ImportError,
    draft::{CellDraft, Draft, PassDraft},
    number,
};
use serde_json::json;

pub(crate) fn is(text: &str) -> bool {
    text.lines().any(|line| summary(line).is_some())
}

/// What one summary line says.
struct Summary {
    bytes: u64,
    seconds: f64,
    /// As printed, bytes a second.
    rate: Option<f64>,
    program: &'static str,
}

/// `52428800 bytes (52 MB, 50 MiB) copied, 0.029 s, 1.8 GB/s`, or
/// `52428800 bytes transferred in 0.029 secs (1807848275 bytes/sec)`.
fn summary(line: &str) -> Option<Summary> {
    let line = line.trim();
    let (bytes, rest) = line.split_once(' ')?;
    let bytes: u64 = bytes.parse().ok()?;
    if !rest.to_lowercase().starts_with("byte") {
        // GNU in other languages has other words; the form is the same.
        rest.contains("B/s").then_some(())?;
    }
    if let Some((_, tail)) = line.split_once(" transferred in ") {
        let (seconds, rate) = tail.split_once(" secs ")?;
        let rate = rate.trim_start_matches('(').split(' ').next()?;
        return Some(Summary {
            bytes,
            seconds: number::plain(seconds)?,
            rate: number::plain(rate),
            program: "dd (BSD)",
        });
    }
    // From the end: the rate, then the time. A comma may stand in each number as well.
    let parts: Vec<&str> = line.split(", ").collect();
    let (rate, before) = parts.split_last()?;
    let (value, unit) = split_rate(rate)?;
    let (time, _) = before.split_last()?;
    let busybox = time.contains(" seconds");
    let seconds = time.trim().split(' ').next()?;
    let scale = match (busybox, unit.chars().next()?) {
        (_, 'B') => 1.0,
        (true, 'K' | 'k') => 1024.0,
        (true, 'M') => 1_048_576.0,
        (true, 'G') => 1_073_741_824.0,
        (false, 'k' | 'K') => 1e3,
        (false, 'M') => 1e6,
        (false, 'G') => 1e9,
        (false, 'T') => 1e12,
        _ => return None,
    };
    Some(Summary {
        bytes,
        seconds: number::localised(seconds)?,
        rate: number::localised(value).map(|value| value * scale),
        program: if busybox { "dd (busybox)" } else { "dd (GNU)" },
    })
}

/// `1.8 GB/s` or `1.8GB/s`.
fn split_rate(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    text.ends_with("B/s").then_some(())?;
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !".,".contains(letter))?;
    Some((&text[..end], text[end..].trim()))
}

/// Full and partial records: the first two words of `50+0 records in`.
fn records(line: &str) -> Option<(u64, u64)> {
    let (full, partial) = line.trim().split_once(' ')?.0.split_once('+')?;
    Some((full.parse().ok()?, partial.parse().ok()?))
}

/// What a command line asked for.
#[derive(Clone, Default)]
struct Command {
    input: String,
    output: String,
    block: Option<u64>,
    direct: bool,
    flush: &'static str,
    sync: &'static str,
    words: Vec<String>,
}

fn command(line: &str) -> Option<Command> {
    let at = line.find("dd if=").or_else(|| line.find("dd of="))?;
    let words: Vec<String> = line[at..].split_whitespace().map(str::to_owned).collect();
    let mut command = Command { words: words.clone(), ..Command::default() };
    for word in &words {
        let Some((key, value)) = word.split_once('=') else { continue };
        let has = |flag: &str| value.split(',').any(|one| one == flag);
        match key {
            "if" => command.input = value.to_owned(),
            "of" => command.output = value.to_owned(),
            "bs" | "obs" => command.block = number::binary(value),
            "oflag" | "iflag" => {
                command.direct |= has("direct");
                let sync = if has("sync") { ",sync" } else { ",dsync" };
                command.sync = if has("sync") || has("dsync") { sync } else { command.sync };
            }
            "conv" if has("fsync") => command.flush = "fsync",
            "conv" if has("fdatasync") => command.flush = "fdatasync",
            _ => {}
        }
    }
    Some(command)
}

pub(crate) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft::new("dd");
    let mut asked = None;
    let mut counted: Vec<(u64, u64)> = Vec::new();
    for line in text.lines() {
        if let Some(found) = command(line) {
            (asked, counted) = (Some(found), Vec::new());
        } else if let Some(found) = records(line) {
            counted.push(found);
        } else if let Some(found) = summary(line) {
            copy(&mut draft, &found, counted.last().copied(), asked.clone());
            counted = Vec::new();
        }
    }
    Ok(draft)
}

fn copy(draft: &mut Draft, found: &Summary, records: Option<(u64, u64)>, asked: Option<Command>) {
    let mut cell = CellDraft {
        pattern: "seq".to_owned(),
        threads: 1,
        depth: 1,
        engine: "sync".to_owned(),
        bounded_by_bytes: true,
        ..CellDraft::default()
    };
    cell.coordinates.insert("program".to_owned(), json!(found.program));
    cell.op = "copy";
    let known = asked.is_some();
    let command = asked.unwrap_or_default();
    if known {
        let from_nothing = ["/dev/zero", "/dev/urandom", "/dev/random"];
        let place = if from_nothing.contains(&command.input.as_str()) {
            cell.op = "write";
            &command.output
        } else if command.output == "/dev/null" || command.output.is_empty() {
            cell.op = "read";
            &command.input
        } else {
            &command.output
        };
        cell.target = draft.target(place);
        cell.io = if command.direct { "direct" } else { "buffered" }.to_owned() + command.sync;
        if !command.flush.is_empty() {
            cell.coordinates.insert("flush".to_owned(), json!(command.flush));
        }
        draft.command.clone_from(&command.words);
    } else {
        draft.note(
            "dd's command is not in the file: what it read, what it wrote and how are absent",
        );
    }
    let sized = records.map(|counts| block(found.bytes, counts, &mut cell));
    cell.block_bytes = sized.flatten().or(command.block).unwrap_or(0);
    let operations = records.map_or(0, |(full, partial)| full + partial);
    if found.seconds <= 0.0 {
        draft.leave_out("copy", "it took no time that dd could measure");
        return;
    }
    let bytes_per_s = found.bytes as f64 / found.seconds;
    if let Some(rate) = found.rate {
        // dd rounds to two digits.
        if number::differ(rate, bytes_per_s, 0.06) {
            cell.check("dd's rate against bytes and seconds", rate, bytes_per_s);
        }
    }
    let size = if cell.block_bytes == 0 { String::new() } else { format!("-{}", cell.block_bytes) };
    cell.name = format!("{}{size}", cell.op);
    cell.passes.push(PassDraft {
        iops: operations as f64 / found.seconds,
        bytes_per_s,
        operations,
        bytes: found.bytes,
        seconds: found.seconds,
        ..PassDraft::default()
    });
    draft.add(cell);
}

/// The block size that gives these bytes in so many records, where there is only one.
fn block(bytes: u64, (full, partial): (u64, u64), cell: &mut CellDraft) -> Option<u64> {
    if full == 0 {
        return None;
    }
    let block = match partial {
        0 => bytes.is_multiple_of(full).then_some(bytes / full),
        1 => {
            let (low, high) = (bytes / (full + 1) + 1, (bytes.max(1) - 1) / full);
            (low == high).then_some(low)
        }
        _ => None,
    };
    if block.is_none() && partial == 0 {
        cell.notes.push(format!(
            "the file contradicts itself: {bytes} bytes are not {full} records of one size; look \
             at it before you use this"
        ));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_read() {
        for (line, bytes, seconds) in [
            (
                "52428800 bytes (52 MB, 50 MiB) copied, 0.0290167 s, 1.8 GB/s",
                52_428_800,
                0.029_016_7,
            ),
            ("67108864 Bytes (67 MB, 64 MiB) kopiert, 0,06178 s, 1,1 GB/s", 67_108_864, 0.061_78),
            ("67108864 octets (67 MB, 64 MiB) copiés, 0,06178 s, 1,1 GB/s", 67_108_864, 0.061_78),
            ("67108864 bytes (64.0MB) copied, 0.060000 seconds, 1.0GB/s", 67_108_864, 0.06),
            ("67108864 bytes transferred in 0.060 secs (1118481067 bytes/sec)", 67_108_864, 0.06),
            ("512 bytes copied, 0.00011 s, 4.7 MB/s", 512, 0.000_11),
        ] {
            let found = summary(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.bytes, found.seconds), (bytes, seconds), "{line}");
            let rate = found.rate.expect("it is printed");
            assert!(!number::differ(rate, bytes as f64 / seconds, 0.06), "{line}: {rate}");
        }
        assert!(summary("12 apples, 3 pears").is_none());
    }
}
