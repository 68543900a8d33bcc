//! Lines that need no page: a label and its text, a share as a bar.

use super::{Characters, Style};

/// Columns of a text that is not fitted to a terminal.
const COLUMNS: usize = 80;

/// Text behind a label, at most 80 columns wide; its further lines stand under the first. Ends with
/// a line feed.
pub fn hanging(label: &str, text: &str) -> String {
    let (mut lines, mut columns) = (label.to_owned(), label.len());
    for (at, word) in text.split_whitespace().enumerate() {
        if columns + 1 + word.chars().count() > COLUMNS {
            lines += &format!("\n{:1$}", "", label.len());
            columns = label.len();
        } else if at > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines += word;
        columns += word.chars().count();
    }
    lines + "\n"
}

/// A share as a bar of so many characters.
pub fn bar(share: f64, width: usize, style: &Style) -> String {
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    let (on, off) = match style.characters {
        Characters::Unicode => ("█", "░"),
        Characters::Ascii => ("#", "-"),
    };
    on.repeat(full) + &off.repeat(width - full)
}
