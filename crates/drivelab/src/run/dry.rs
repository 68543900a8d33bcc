//! `--dry-run`: what a plan would do, before the first byte.

use crate::duration::in_words;
use block::display_bytes;
use lab::{
    method::{CellBound, CellSpec},
    plan::Plan,
    target::Target,
};
use record::TargetInfo;

/// The plan as text.
pub fn describe(plan: &Plan, targets: &[Box<dyn Target>]) -> String {
    let mut text = format!("{}: {}\n\n", plan.method.file.name, plan.method.file.title);
    for target in targets {
        text += &format!("target    {}\n", target_line(target.info()));
    }
    text += &format!("area      {}\n", display_bytes(plan.span_bytes));
    text += &format!("passes    {} over {} cells\n", plan.passes, plan.cells.len());
    text += &format!("writes    {}\n", writes(plan, targets));
    text += &format!("time      {}\n\n", time(plan));
    for cell in &plan.cells {
        text += &format!("  {:<32} {}\n", cell.name, cell_line(cell));
    }
    for cell in &plan.left_out {
        text += &format!("\nleft out: {}: {}", cell.name, cell.reason);
    }
    for note in &plan.notes {
        text += &format!("\nnote: {note}");
    }
    if plan.must_ask() {
        text += "\nThis much writing needs --yes.\n";
    }
    text.trim_end().to_owned() + "\n"
}

fn target_line(info: &TargetInfo) -> String {
    let drive = info.stack.last().and_then(|layer| layer.drive.as_ref()?.model.clone());
    let file_system = info.file_system.as_ref().map(|fs| fs.kind.clone());
    let mut parts = vec![info.text.clone()];
    parts.extend(file_system);
    parts.extend(drive);
    parts.join(", ")
}

fn writes(plan: &Plan, targets: &[Box<dyn Target>]) -> String {
    if plan.written_bytes_max == 0 {
        return "nothing".to_owned();
    }
    let fill = match plan.fill {
        0 => String::new(),
        times => format!(", {times} x {} of it to fill the area", display_bytes(plan.span_bytes)),
    };
    let share = match endurance_bytes(targets) {
        Some(rated) => {
            format!(
                "; {:.4} % of the rated endurance",
                100.0 * plan.written_bytes_max as f64 / rated as f64
            )
        }
        None => "; the drive's rated endurance is not known".to_owned(),
    };
    format!("at most {} to each target{fill}{share}", display_bytes(plan.written_bytes_max))
}

fn endurance_bytes(targets: &[Box<dyn Target>]) -> Option<u64> {
    let drives = targets.iter().flat_map(|target| &target.info().stack);
    drives.filter_map(|layer| layer.drive.as_ref()?.rated_endurance_bytes).min()
}

fn time(plan: &Plan) -> String {
    let (least, most) = plan.seconds;
    match plan.cells.iter().any(|cell| cell.bound != CellBound::Time) {
        true if most == 0.0 => "as long as its bytes take".to_owned(),
        true => format!("{} to {}, and as long as its bytes take", in_words(least), in_words(most)),
        false => format!("{} to {}, fills not counted", in_words(least), in_words(most)),
    }
}

fn cell_line(cell: &CellSpec) -> String {
    let each = |stream: &lab::workload::Stream| {
        format!(
            "{} {}, {}, {} x depth {}, {}",
            stream.pattern,
            stream.op,
            display_bytes(u64::from(stream.block_bytes)),
            stream.threads,
            stream.queue_depth,
            stream.io
        )
    };
    cell.streams.iter().map(each).collect::<Vec<_>>().join(" + ")
}

/// The method's sentence about what it leaves open, with what that would cost here.
pub fn not_measured(plan: &Plan, targets: &[Box<dyn Target>]) -> Option<String> {
    let sentence = plan.method.file.not_measured.as_ref()?;
    let capacity = targets.iter().map(|target| target.offer().capacity_bytes).min()?;
    // A fast cache is seldom over a third of a drive; at 500 MB/s, which a SATA drive reaches.
    let bytes = (capacity / 3).min(256 << 30);
    let minutes = in_words(bytes as f64 / 500e6);
    let cost = format!("{} of writes, {minutes} at 500 MB/s", display_bytes(bytes));
    Some(sentence.replace("{cost}", &cost).trim().to_owned())
}
