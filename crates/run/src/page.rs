//! What a plan would do, before the first byte.

use crate::{Prepared, wear};
use block::display_bytes;
use lab::{
    duration::in_words,
    plan::{CellOutline, Outline, Plan},
    target::{Offer, Time},
};
use record::{TargetInfo, TargetKind};
use report::terminal::hanging;

/// How the program that prints a page spells the options that it names.
#[derive(Clone, Copy, Debug)]
pub struct OptionNames {
    /// Agrees to a plan that writes much.
    pub agree: &'static str,
    /// Says how many bytes may be written.
    pub most_written: &'static str,
}

/// The plan as text. `rated_bytes` are what the drives may be written in their lives, where that is
/// known.
pub(crate) fn describe(
    prepared: &Prepared,
    rated_bytes: Option<u64>,
    options: &OptionNames,
) -> String {
    let (plan, offers) = (&prepared.plan, &prepared.offers);
    let outline = plan.outline();
    let wears = prepared.wears();
    let cells = match outline.cells.len() {
        1 => "its cell".to_owned(),
        count => format!("{count} cells"),
    };
    let mut text =
        hanging("", &format!("{}: {}", plan.method.file.name, plan.method.file.title)) + "\n";
    for target in &prepared.targets {
        text += &hanging("target  ", &target_line(target.info()));
    }
    text += &hanging("area    ", &outline.span);
    text += &hanging("passes  ", &format!("{} over {cells}", outline.passes));
    text += &hanging("writes  ", &writes(plan, wears, rated_bytes, options));
    text += &hanging("time    ", &time(&outline, offers));
    let common = common_course(&outline);
    if let Some(course) = &common {
        text += &hanging("each    ", course);
    }
    text.push('\n');
    for cell in &outline.cells {
        let written_bytes_max = if wears { cell.written_bytes_max } else { 0 };
        text += &hanging("  ", &cell_line(cell, common.is_none(), written_bytes_max));
    }
    if !plan.left_out.is_empty() {
        text += "\nLeft out\n";
    }
    for cell in &plan.left_out {
        text += &hanging("  ", &format!("{}: {}", cell.name, cell.reason));
    }
    if !plan.notes.is_empty() {
        text.push('\n');
    }
    for note in &plan.notes {
        text += &hanging("", note);
    }
    if prepared.must_ask() {
        text += &format!("\nThis much writing needs {}.\n", options.agree);
    }
    text
}

fn target_line(info: &TargetInfo) -> String {
    let mut drives: Vec<String> =
        info.stack.iter().filter_map(|layer| layer.drive.as_ref()?.model.clone()).collect();
    if info.kind != TargetKind::Model {
        // The lowest is the drive; a modelled array names its members.
        drives = drives.pop().into_iter().collect();
    }
    let file_system = info.file_system.as_ref().map(|fs| fs.kind.clone());
    let mut parts = vec![info.text.clone()];
    parts.extend(file_system);
    parts.extend(drives);
    parts.join(", ")
}

fn writes(plan: &Plan, wears: bool, rated_bytes: Option<u64>, options: &OptionNames) -> String {
    if plan.written_bytes_max == 0 {
        return "nothing".to_owned();
    }
    if !wears {
        return "nothing: there is no device".to_owned();
    }
    let text = wear::before(plan, rated_bytes, options);
    match rated_bytes {
        Some(_) => text,
        None => text + "; the drive's rated endurance is not known",
    }
}

fn time(outline: &Outline, offers: &[Offer]) -> String {
    let mut text = from_to(outline.seconds);
    if offers.iter().any(|offer| offer.time == Time::Virtual) {
        text += " of virtual time";
    }
    match &outline.assumed {
        Some(assumed) => format!("{text}; {assumed}"),
        None => text,
    }
}

fn from_to((least, most): (f64, f64)) -> String {
    let (least, most) = (in_words(least), in_words(most));
    if least == most { most } else { format!("{least} to {most}") }
}

fn course(cell: &CellOutline) -> String {
    format!("{}, {} a pass", cell.course, from_to(cell.seconds))
}

/// What all cells have in common is said once.
fn common_course(outline: &Outline) -> Option<String> {
    let first = course(outline.cells.first()?);
    outline.cells.iter().all(|cell| course(cell) == first).then_some(first)
}

/// `random write 4 KiB, 32 deep: until known well enough, 3 s to 12 s a pass, writes at most 8
/// GiB`.
fn cell_line(cell: &CellOutline, with_course: bool, written_bytes_max: u64) -> String {
    let course = with_course.then(|| course(cell));
    let written = (written_bytes_max > 0)
        .then(|| format!("writes at most {}", display_bytes(written_bytes_max)));
    let about: Vec<String> = course.into_iter().chain(written).collect();
    if about.is_empty() {
        return cell.title.clone();
    }
    format!("{}: {}", cell.title, about.join(", "))
}

/// The method's sentence about what it leaves open, with what that would cost here.
pub(crate) fn not_measured(plan: &Plan, offers: &[Offer]) -> Option<String> {
    let sentence = plan.method.file.not_measured.as_ref()?;
    let capacity = offers.iter().map(|offer| offer.capacity_bytes).min()?;
    // A fast cache is seldom over a third of a drive; at 500 MB/s, which a SATA drive reaches.
    let bytes = (capacity / 3).min(256 << 30);
    let minutes = in_words(bytes as f64 / 500e6);
    let cost = if offers.iter().any(|offer| offer.wears) {
        format!("{} of writes, {minutes} at 500 MB/s", display_bytes(bytes))
    } else {
        format!("{} of writes, which wear nothing", display_bytes(bytes))
    };
    Some(sentence.replace("{cost}", &cost).trim().to_owned())
}
