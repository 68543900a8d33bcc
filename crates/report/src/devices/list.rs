//! All devices, a line each; a second one where there is room on the screen and more to say.

use super::Wording;
use crate::terminal::{Style, shorten, wrap};
use block::display_bytes;
use record::devices::{AgainstKind, Device, Survey};

/// Longer words stand on a line of their own.
const WORD_COLUMNS_MAX: usize = 24;
/// The same where each device has one line alone: longer words are cut.
const CUT_WORD_COLUMNS_MAX: usize = 16;
/// Where the second line of a device begins.
const INDENT: usize = 4;

/// The table and what it means. `rows` is the height of the terminal, if it is one.
pub fn list(survey: &Survey, wording: &Wording, style: &Style, rows: Option<usize>) -> String {
    let table = Table::of(survey, wording, style);
    let end = legend(wording, style.width) + &unseen(survey, style.width);
    let room = rows.map(|rows| rows.saturating_sub(end.lines().count() + 2));
    let whole = table.print(Fit::Wrapped);
    let fits = room.is_none_or(|room| whole.lines().count() <= room);
    let body = if fits { whole } else { table.print(Fit::Cut) };
    match survey.devices.is_empty() {
        true => "No block device is seen here.\n".to_owned() + &end,
        false => body + &end,
    }
}

/// What this user could not see.
pub fn unseen(survey: &Survey, columns: usize) -> String {
    if survey.unseen.is_empty() {
        return String::new();
    }
    let text = format!("Not seen: {}. Run it as root.", survey.unseen.join("; "));
    wrap(&text, columns.min(80)).join("\n") + "\n"
}

fn legend(wording: &Wording, columns: usize) -> String {
    let text = format!(
        "rw: cells that read run, those that write with this word after {}; r-: only those that \
         read. {}",
        wording.destroy, wording.tells_all
    );
    wrap(&text, columns.min(80)).join("\n") + "\n"
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Wrapped,
    Cut,
}

struct Table {
    /// What stands above the columns.
    heads: [&'static str; 6],
    rows: Vec<Row>,
    widths: [usize; 5],
    columns: usize,
}

struct Row {
    cells: [String; 5],
    /// Model, contents, users.
    text: String,
    /// The same, beginning with what is lost least: users.
    short: String,
}

const WORD: usize = 3;

impl Table {
    fn of(survey: &Survey, wording: &Wording, style: &Style) -> Self {
        let cells = |device: &Device| {
            [
                indented(device),
                bus(device),
                size(device),
                style.clean(device.destroy.as_deref().unwrap_or("-")),
                measured(device).to_owned(),
            ]
        };
        let row = |device: &Device| {
            let clauses = what(device, survey);
            // The user of a drive says more than its model, which comes first.
            let models = usize::from(model(device).is_some());
            let users_first: Vec<&str> = clauses[models..]
                .iter()
                .rev()
                .chain(&clauses[..models])
                .map(|c| c.as_str())
                .collect();
            Row {
                cells: cells(device),
                text: style.clean(&clauses.join("; ")),
                short: style.clean(&users_first.join("; ")),
            }
        };
        let what = "what is on it, who uses it";
        let heads = ["device", "bus", "size", wording.destroy, "runs", what];
        let rows: Vec<Row> = survey.devices.iter().map(row).collect();
        let mut widths = [0, 1, 2, 3, 4].map(|at| heads[at].len());
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        Self { heads, rows, widths, columns: style.width }
    }

    fn line(&self, cells: [&str; 5], word_columns: usize) -> String {
        let [name, bus, size, word, runs] = cells;
        let (w, word_columns) = (&self.widths, self.widths[WORD].min(word_columns));
        format!(
            "{name:0$}  {bus:1$}  {size:>2$}  {word:word_columns$}  {runs:3$}  ",
            w[0], w[1], w[2], w[4]
        )
    }

    fn print(&self, fit: Fit) -> String {
        let word_columns = match fit {
            Fit::Wrapped => WORD_COLUMNS_MAX,
            Fit::Cut => CUT_WORD_COLUMNS_MAX,
        };
        let [a, b, c, d, e, text] = self.heads;
        let heads = self.line([a, b, c, d, e], word_columns) + text;
        let mut page = shorten(&heads, self.columns) + "\n";
        for Row { cells, text, short } in &self.rows {
            let mut cells = [0, 1, 2, 3, 4].map(|at| cells[at].as_str());
            let word = cells[WORD];
            let is_long = word.chars().count() > word_columns;
            let cut = shorten(word, word_columns);
            if is_long {
                cells[WORD] = if fit == Fit::Cut { &cut } else { "(below)" };
            }
            let start = self.line(cells, word_columns);
            let room = self.columns.saturating_sub(start.chars().count());
            let fits = text.chars().count() <= room;
            if fit == Fit::Cut {
                let text = if fits { text } else { short };
                page += shorten(&(start + text), self.columns).trim_end();
                page.push('\n');
                continue;
            }
            let start = if fits { start + text } else { start };
            page += &format!("{}\n", start.trim_end());
            if !fits {
                for line in wrap(text, self.columns - INDENT) {
                    page += &format!("{:INDENT$}{line}\n", "");
                }
            }
            if is_long {
                page += &format!("{:INDENT$}{} {}\n", "", self.heads[WORD], record::quoted(word));
            }
        }
        page
    }
}

/// A partition stands under its drive.
fn indented(device: &Device) -> String {
    let start = if device.layer.kind == "partition" { " " } else { "" };
    format!("{start}{}", device.name)
}

/// The bus of a drive, the kind of anything else.
pub fn bus(device: &Device) -> String {
    let drive = device.layer.drive.as_ref();
    let kind = match device.layer.kind.as_str() {
        "partition" => "part",
        kind => kind,
    };
    drive.and_then(|drive| drive.transport.clone()).unwrap_or_else(|| kind.to_owned())
}

/// As operating systems count it.
pub fn size(device: &Device) -> String {
    if device.layer.bytes == 0 { "-".to_owned() } else { display_bytes(device.layer.bytes) }
}

fn measured(device: &Device) -> &'static str {
    match (device.reads, device.writes) {
        (_, true) => "rw",
        (true, false) => "r-",
        (false, false) => "--",
    }
}

/// Likewise, for whoever has room.
pub fn measured_in_words(device: &Device) -> &'static str {
    match (device.reads, device.writes) {
        (_, true) => "reads, and writes with the word",
        (true, false) => "reads",
        (false, false) => "no",
    }
}

fn model(device: &Device) -> Option<&String> {
    device.layer.drive.as_ref().and_then(|drive| drive.model.as_ref())
}

/// Model, contents, users, and what else keeps it from being written, a clause each.
pub fn what(device: &Device, survey: &Survey) -> Vec<String> {
    let plain = |name: &String| {
        let rest = name.strip_prefix("a ").or_else(|| name.strip_prefix("an "));
        rest.unwrap_or(name).replace(" file system", "")
    };
    let mut clauses: Vec<String> = Vec::new();
    clauses.extend(model(device).cloned());
    clauses.extend(device.label.clone());
    let holds = device.holds.clone().unwrap_or_default();
    clauses.extend(holds.iter().map(plain));
    clauses.extend(device.uses.iter().cloned());
    clauses.extend(device.condition.iter().cloned());
    if let Some(against) = &device.against {
        let is_told = match against.kind {
            AgainstKind::Data => !holds.is_empty(),
            AgainstKind::Use => true,
            AgainstKind::Unseen => !survey.unseen.is_empty(),
            AgainstKind::Other => false,
        };
        if !is_told {
            let found = &against.found;
            clauses.push(found.strip_prefix("it is ").unwrap_or(found).to_owned());
        }
    }
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{BlockLayer, DriveIdentity, devices::Against};

    const WORDING: Wording =
        Wording { destroy: "--destroy", tells_all: "`drivelab devices NAME` tells all of one." };

    /// As the kernel names a namespace whose drive's serial others have, too.
    const LONG: &str = "nvme.1b36-535041434553-51454d55204e564d65204374726c-00000001";

    fn device(name: &str, word: &str, uses: &[&str]) -> Device {
        let model = Some("QEMU NVMe Ctrl".to_owned());
        let drive = Some(DriveIdentity { model, ..Default::default() });
        let layer = BlockLayer {
            name: name.to_owned(),
            kind: "disk".to_owned(),
            bytes: 128 << 20,
            drive,
            ..Default::default()
        };
        Device {
            name: name.to_owned(),
            path: format!("/dev/{name}").into(),
            layer,
            label: None,
            destroy: Some(word.to_owned()),
            destroy_is: None,
            destroy_also: Vec::new(),
            holds: Some(Vec::new()),
            uses: uses.iter().map(|&clause| clause.to_owned()).collect(),
            condition: Vec::new(),
            reads: true,
            reads_refused: None,
            writes: uses.is_empty(),
            writes_refused: None,
            against: None,
            below: Vec::new(),
            above: Vec::new(),
        }
    }

    // Two namespaces with such words among 15 devices left no room for what is on any of them, and
    // their own lines were 115 columns wide.
    #[test]
    fn a_long_word_hides_nothing_and_no_line_is_wider_than_the_screen() {
        let used = device("nvme1n1", "S1", &["mounted at /srv/data/of/a/long/path/and/more"]);
        let devices = vec![device("nvme0n1", LONG, &[]), used];
        let survey = Survey { format: 1, devices, unseen: Vec::new() };
        let style = Style::PLAIN;
        let whole = list(&survey, &WORDING, &style, None);
        assert!(whole.contains(&format!("\n    --destroy {LONG}\n")), "{whole}");
        assert!(whole.contains("mounted at /srv/data/of/a/long/path/and/more"), "{whole}");
        // Five lines: a head, the two, and two of the legend.
        let cut = list(&survey, &WORDING, &style, Some(5));
        assert!(cut.contains("nvme.1b36-") && !cut.contains(LONG), "{cut}");
        assert!(cut.contains("mounted at /srv"), "users before the model: {cut}");
        for page in [whole, cut] {
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        }
    }
    #[test]
    fn a_reason_against_writing_stands_once() {
        let told = |kind, holds: Option<Vec<String>>, uses: &[&str], unseen: &[&str]| {
            let mut device = device("sda", "S1", uses);
            device.holds = holds;
            device.against = Some(Against { kind, found: "it is read-only".to_owned() });
            let unseen = unseen.iter().map(|&sentence| sentence.to_owned()).collect();
            let survey = Survey { format: 1, devices: vec![device.clone()], unseen };
            what(&device, &survey)
        };
        let ext4 = || Some(vec!["an ext4 file system".to_owned()]);
        assert_eq!(told(AgainstKind::Data, ext4(), &[], &[]), ["QEMU NVMe Ctrl", "ext4"]);
        // On a partition of it.
        let on_part = told(AgainstKind::Data, Some(Vec::new()), &[], &[]);
        assert_eq!(on_part, ["QEMU NVMe Ctrl", "read-only"]);
        let used = told(AgainstKind::Use, None, &["mounted at /srv"], &[]);
        assert_eq!(used, ["QEMU NVMe Ctrl", "mounted at /srv"]);
        assert_eq!(told(AgainstKind::Unseen, None, &[], &["what is on it"]), ["QEMU NVMe Ctrl"]);
        assert_eq!(told(AgainstKind::Unseen, None, &[], &[]), ["QEMU NVMe Ctrl", "read-only"]);
        let other = told(AgainstKind::Other, ext4(), &[], &[]);
        assert_eq!(other, ["QEMU NVMe Ctrl", "ext4", "read-only"]);
    }
}
