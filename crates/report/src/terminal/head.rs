//! What stands around the results: what was measured and how, and what to know before trusting it.

use super::{
    page::Page,
    style::Paint,
    table::{Align, Table},
    words,
};
use crate::number::{self, counted};
use record::{
    Cell, FailedCell, ManagedFlash, PairedVerdict, Record, State, TargetInfo, TargetKind,
    beside_verdict,
};

/// The run's identity, its targets, and how it ended if not well.
pub(super) fn header(page: &mut Page, record: &Record) {
    for (label, target) in labelled_targets(record) {
        page.hanging(&label, &target_line(target), Paint::Plain);
        if let Some(volume) = &target.managed_flash {
            page.hanging("flash  ", &managed_line(volume), Paint::Plain);
        }
        for line in health_lines(target) {
            page.hanging("health ", &line, Paint::Plain);
        }
    }
    if is_virtual(record) {
        page.hanging("time   ", &virtual_line(record), Paint::Plain);
    } else {
        page.hanging("host   ", &host_line(record), Paint::Plain);
    }
    page.hanging("method ", &method_line(record), Paint::Plain);
    page.hanging("run    ", &run_line(record), Paint::Plain);
    state(page, record);
}

/// Targets, run and method, a line each; where it was and when is for those who ask.
pub(super) fn brief(page: &mut Page, record: &Record) {
    let line = |page: &mut Page, label: &str, text: &str| {
        page.drawn(&page.style.clean(&format!("{label}{text}")));
    };
    for (label, target) in labelled_targets(record) {
        line(page, &label, &target_line(target));
        if let Some(volume) = &target.managed_flash {
            line(page, "flash  ", &managed_line(volume));
        }
    }
    let named = record.labels.iter().map(label_text);
    // A long label is cut, the method is not.
    let mut parts = vec![record.id.clone()];
    parts.extend(method_parts(record));
    parts.extend(named);
    line(page, "run    ", &parts.join(", "));
    state(page, record);
}

fn labelled_targets(record: &Record) -> impl Iterator<Item = (String, &TargetInfo)> {
    let only = record.targets.len() == 1;
    let label = move |at: usize| if only { "target ".to_owned() } else { format!("target {at} ") };
    record.targets.iter().enumerate().map(move |(at, target)| (label(at), target))
}

fn state(page: &mut Page, record: &Record) {
    if record.state != State::Complete {
        page.hanging("state  ", &state_line(record), Paint::Alert);
    }
}

fn is_virtual(record: &Record) -> bool {
    record.time == "virtual"
}

/// In virtual time the host says nothing about the numbers, and a hash says whether two runs were
/// the same.
fn virtual_line(record: &Record) -> String {
    let hashes = record.targets.iter().filter_map(|target| target.completions.as_ref());
    let hashes = hashes.map(|completions| completions.hash.as_str()).collect::<Vec<_>>();
    let about = "virtual time: the same seed gives the same numbers on any machine";
    if hashes.is_empty() {
        return about.to_owned();
    }
    format!("{about}; completion hash {}", hashes.join(" and "))
}

/// As typed, then the drive, the file system and the room.
fn target_line(target: &TargetInfo) -> String {
    let mut parts = vec![target.text.clone()];
    if let Some(path) = target.path.as_ref().filter(|&path| *path != target.text) {
        parts[0] = format!("{} = {path}", target.text);
    }
    if target.kind == TargetKind::Null {
        parts.push("the engine's own cost, no device".to_owned());
    }
    if let Some(file_system) = &target.file_system {
        parts.push(format!("{} on {}", file_system.kind, file_system.source));
    }
    for layer in &target.stack {
        let Some(drive) = &layer.drive else { continue };
        let model = drive.model.clone().unwrap_or_else(|| layer.name.clone());
        let mut words = vec![model];
        words.extend(drive.firmware.as_ref().map(|firmware| format!("firmware {firmware}")));
        words.push(number::capacity(layer.bytes));
        words.extend(drive.transport.clone());
        words.extend(drive.link.as_ref().map(|link| link.negotiated.clone()));
        words.extend(drive.is_virtual.then(|| "virtual".to_owned()));
        parts.push(words.join(" "));
    }
    if target.stack.iter().any(|layer| ["array", "managed_flash"].contains(&layer.kind.as_str())) {
        parts.push(format!("volume {}", number::capacity(target.capacity_bytes)));
    }
    parts.join("; ")
}

/// What each drive says of itself, at the end of the run where it was asked then, and what it
/// counted meanwhile.
fn health_lines(target: &TargetInfo) -> Vec<String> {
    let line = |layer: &record::BlockLayer| {
        let drive = layer.drive.as_ref()?;
        let before = drive.health_before.as_ref();
        let health = drive.health_after.as_ref().or(before)?;
        let mut words = Vec::new();
        words.extend(health.percentage_used.map(|used| format!("{used} % of its life used")));
        words.extend(health.spare_percent.map(|spare| format!("{spare} % of its spare left")));
        words.extend(health.media_errors.map(|errors| counted(errors, "media error")));
        words.extend(health.reallocated_sectors.map(|n| counted(n, "reallocated sector")));
        words.extend(health.pending_sectors.map(|n| format!("{n} pending")));
        words.extend(health.link_errors.map(|errors| counted(errors, "link error")));
        words.extend(health.throttled_s.map(|seconds| format!("{seconds} s throttled")));
        words.extend(health.power_on_hours.map(|hours| format!("{hours} h on")));
        let was = before.and_then(|before| before.temperature_celsius);
        words.extend(health.temperature_celsius.map(|now| match was {
            Some(was) if was != now => format!("{was:.0} to {now:.0} \u{b0}C"),
            _ => format!("{now:.0} \u{b0}C"),
        }));
        let grown = |of: fn(&record::Health) -> Option<u64>| of(health)?.checked_sub(of(before?)?);
        let sent = grown(|it| it.sent_bytes).map(number::size);
        words.extend(grown(|it| it.written_bytes).map(|own| match sent {
            Some(sent) => format!("counted {} written (the kernel sent {sent})", number::size(own)),
            None => format!("counted {} written", number::size(own)),
        }));
        Some(format!("{}: {}", layer.name, words.join(", ")))
    };
    target.stack.iter().filter_map(line).collect()
}

/// How full the volume is, what it wrote on top of the host's, and what is left before cleaning
/// must run.
fn managed_line(volume: &ManagedFlash) -> String {
    let mapped = 100.0 * volume.mapped_bytes as f64 / volume.exported_bytes.max(1) as f64;
    let mut parts = vec![
        format!("{mapped:.1} % of {} mapped at the end", number::capacity(volume.exported_bytes)),
        format!("{} of {} segments free", volume.free_segments, volume.segments),
    ];
    if let Some(amplification) = volume.write_amplification {
        let written = number::size(volume.host_bytes);
        parts.push(format!("write amplification {amplification:.3} over {written} written"));
    }
    if volume.checksum_errors > 0 {
        parts.push(counted(volume.checksum_errors, "checksum error"));
    }
    parts.join(", ")
}

fn host_line(record: &Record) -> String {
    let environment = &record.environment;
    let host = &environment.host;
    let mut parts = vec![
        host.name.clone(),
        format!("Linux {} {}", host.kernel, host.architecture),
        environment.cpu.model.clone(),
    ];
    parts.push(match host.memory_limit_bytes {
        Some(limit) => {
            let all = number::size(host.memory_bytes);
            format!("{} of {all} memory (control group)", number::size(limit))
        }
        None => format!("{} memory", number::size(host.memory_bytes)),
    });
    parts.extend(host.virtualisation.clone());
    for engine in &record.calibration {
        let cost = number::duration_ns(engine.ns_per_operation);
        parts.push(format!("engine {} {cost} per operation", engine.engine));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join(", ")
}

fn method_line(record: &Record) -> String {
    format!("{}, seed {}", method_parts(record).join(", "), record.seed)
}

fn method_parts(record: &Record) -> Vec<String> {
    let method = &record.method;
    let mut parts = vec![method.name.clone()];
    // Of what another program measured, grade and span are not known.
    if record.targets.iter().all(|target| target.kind == TargetKind::Imported) {
        parts[0] = format!("{} {}", record.tool.name, record.tool.version).trim().to_owned();
        parts.push("imported".to_owned());
        return parts;
    }
    if method.grade != method.name {
        parts.push(format!("grade {}", method.grade));
    }
    parts.push(format!("span {}", number::size(method.span_bytes)));
    let passes = match method.passes {
        _ if method.options.contains_key("until") => "search".to_owned(),
        1 => "1 pass".to_owned(),
        passes => format!("{passes} passes"),
    };
    let time = if is_virtual(record) { " in virtual time" } else { hold(record) };
    parts.push(passes + time);
    // The size is the span above, and the cells show what was set.
    let options = method.options.iter().filter(|(key, _)| *key != "size");
    parts.extend(options.map(|(key, value)| match (key.strip_prefix("set."), value.as_str()) {
        (Some(setting), value) => format!("{setting}={value}"),
        (None, "true") => key.clone(),
        (None, value) => format!("{key}={value}"),
    }));
    parts
}

/// What a 95 % interval holds: what the target did in the seconds of its only pass, or what it does
/// within ten minutes. A model does the same at any time.
fn hold(record: &Record) -> &'static str {
    match record.method.passes {
        _ if is_virtual(record) => "",
        1 => " (intervals hold these seconds)",
        _ => " (intervals hold ten minutes)",
    }
}

fn run_line(record: &Record) -> String {
    let mut parts = vec![record.id.clone(), record.started.clone()];
    parts.extend(record.labels.iter().map(label_text));
    parts.push(format!("{} {}", record.tool.name, record.tool.version));
    parts.join(", ")
}

fn label_text((key, value): (&String, &String)) -> String {
    if key == "label" { value.clone() } else { format!("{key}={value}") }
}

fn state_line(record: &Record) -> String {
    let mut text = record.state.name().to_owned();
    let cells = record.failed_cells();
    if record.error.is_some() && record.error == record.failed_sentence() {
        // What failed is told below.
        let others = if record.cells.is_empty() { "" } else { ", the others were measured" };
        text += &format!(": {} failed{others}", counted(cells, "cell"));
    } else if let Some(error) = record.error.as_ref().filter(|&error| *error != text) {
        text += &format!(": {}", error.trim_end_matches('.'));
    }
    if record.state != State::Running {
        text += &format!("; to go on: drivelab run --resume {}", record.id);
    }
    text
}

/// Cells of the method that did not run, with the reasons; nothing when all did.
pub fn left_out(page: &mut Page, record: &Record) {
    if record.left_out.is_empty() {
        return;
    }
    page.heading("Left out");
    for cell in &record.left_out {
        page.hanging("  ", &format!("{}: {}", cell.name, cell.reason), Paint::Plain);
    }
}

/// Cells that are named one by one where the page is to be short.
const LEFT_OUT_MAX: usize = 3;

/// The same, a line each.
pub(super) fn left_out_briefly(page: &mut Page, record: &Record) {
    let all = &record.left_out;
    if all.is_empty() {
        return;
    }
    page.gap();
    let shown = if all.len() > LEFT_OUT_MAX { LEFT_OUT_MAX - 1 } else { all.len() };
    for cell in &all[..shown] {
        let text = format!("Left out: {}: {}", cell.name, cell.reason);
        page.painted(&page.style.clean(&text), Paint::Alert);
    }
    if shown < all.len() {
        page.painted(
            &format!("Left out: {}", counted(all.len() - shown, "more cell")),
            Paint::Alert,
        );
    }
}

/// Cells of which a pass failed, with what is known of the requests; nothing where none did.
pub fn failed(page: &mut Page, record: &Record) {
    if record.failed.is_empty() {
        return;
    }
    page.heading("Failed");
    for cell in &record.failed {
        let mut text = format!("{}: {}", failed_name(cell, record), cell.reason);
        if cell.errors.count > 1 {
            text += &format!(" ({})", cell.errors.words());
        }
        page.hanging("  ", &text, Paint::Wrong);
    }
}

/// The same and the errors of cells that went on, each cell once.
pub(super) fn failed_briefly(page: &mut Page, record: &Record) {
    let failed = record.failed.iter();
    let failed = failed.map(|cell| format!("{}: {}", failed_name(cell, record), cell.reason));
    let mut lines: Vec<String> = failed.map(|text| format!("Failed: {text}")).collect();
    let with_errors = record.cells.iter().filter_map(|cell| Some((cell, cell.errors.as_ref()?)));
    lines.extend(
        with_errors.map(|(cell, errors)| format!("Errors: {}: {}", cell.name, errors.words())),
    );
    if lines.is_empty() {
        return;
    }
    page.gap();
    let shown = if lines.len() > LEFT_OUT_MAX { LEFT_OUT_MAX - 1 } else { lines.len() };
    for line in &lines[..shown] {
        page.hanging("", line, Paint::Wrong);
    }
    if shown < lines.len() {
        let more = counted(lines.len() - shown, "more cell");
        page.painted(&format!("Failed, or with errors: {more}"), Paint::Wrong);
    }
}

/// Which target and which pass, where there are several.
fn failed_name(cell: &FailedCell, record: &Record) -> String {
    let mut name = cell.name.clone();
    if record.targets.len() > 1 {
        let target = record.targets.get(cell.target).map_or("", |target| target.text.as_str());
        name = format!("{target}, {name}");
    }
    if record.method.passes > 1 {
        name += &format!(", pass {} of {}", cell.pass + 1, record.method.passes);
    }
    name
}

/// Target 1 against target 0.
pub(super) fn paired(page: &mut Page, record: &Record) {
    if record.paired.is_empty() {
        return;
    }
    page.heading("Target 1 against target 0: rate over rate");
    let mut table = Table::new(&[
        ("cell", Align::Left),
        ("ratio", Align::Right),
        ("target 1 is", Align::Left),
        ("95 % interval", Align::Right),
        ("pairs", Align::Right),
    ]);
    // By the names that the cells have above.
    let cells: Vec<&Cell> = record.cells.iter().filter(|cell| cell.target == 0).collect();
    let names = words::distinct_names(&cells, page.style);
    for pair in &record.paired {
        let name = cells.iter().position(|cell| cell.name == pair.name);
        let name = name.map_or_else(|| page.style.clean(&pair.name), |at| names[at].clone());
        let interval = pair.ratio_ci95.map_or_else(
            || "-".to_owned(),
            |[low, high]| format!("{} to {}", number::significant(low), number::significant(high)),
        );
        let (word, paint) = match pair.verdict {
            PairedVerdict::Faster => ("faster", Paint::Good),
            PairedVerdict::Slower => ("slower", Paint::Alert),
            PairedVerdict::Same => ("the same within 2 %", Paint::Plain),
            PairedVerdict::Undecided => ("undecided", Paint::Faint),
        };
        let burst = |target| {
            let of = |cell: &&Cell| cell.target == target && cell.name == pair.name;
            record.cells.iter().find(of).and_then(Cell::burst)
        };
        let beside = beside_verdict(burst(0), burst(1));
        let word = beside.map_or_else(|| word.to_owned(), |burst| format!("{word}; {burst}"));
        table.painted_row(vec![
            (name, Paint::Plain),
            (number::significant(pair.ratio), Paint::Plain),
            (word, paint),
            (interval, Paint::Plain),
            (pair.n.to_string(), Paint::Plain),
        ]);
    }
    page.table(&table);
}
