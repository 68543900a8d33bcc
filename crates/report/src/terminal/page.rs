//! The page a layout writes on: lines within the width, and footnotes collected on the way.

use super::{
    style::{Paint, Style, columns_of, shorten, wrap},
    table::Table,
};
use record::Flag;

/// Text so far, and the flags that want a footnote.
pub struct Page<'s> {
    /// How it looks.
    pub style: &'s Style,
    text: String,
    notes: Vec<Flag>,
    whole_run: Vec<Flag>,
}

impl<'s> Page<'s> {
    /// An empty page.
    pub fn new(style: &'s Style) -> Self {
        Self { style, text: String::new(), notes: Vec::new(), whole_run: Vec::new() }
    }

    /// An empty line, never two and never the first.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A heading of its own line or lines.
    pub fn heading(&mut self, text: &str) {
        self.gap();
        self.hanging("", text, Paint::Strong);
    }

    /// Text, wrapped.
    pub fn line(&mut self, text: &str) {
        self.hanging("", text, Paint::Plain);
    }

    /// Text behind a label; following lines are indented by the label's width.
    pub fn hanging(&mut self, label: &str, text: &str, paint: Paint) {
        let text = self.style.clean(text);
        let indent = columns_of(label);
        let lines = wrap(&text, self.style.columns() - indent);
        for (number, line) in lines.iter().enumerate() {
            if number == 0 {
                self.text.push_str(label);
            } else {
                self.text.push_str(&" ".repeat(indent));
            }
            self.text.push_str(&self.style.paint(line, paint));
            self.text.push('\n');
        }
    }

    /// A command, to be pasted: lines that go on end as a shell wants it.
    pub fn command(&mut self, command: &str) {
        let command = self.style.clean(command);
        let room = self.style.columns().saturating_sub("    \\".len() + 1);
        let mut line = String::from("  ");
        for word in shell_words(&command) {
            if line.trim() != "" && columns_of(&line) + 1 + columns_of(word) > room {
                self.text.push_str(&format!("{line} \\\n"));
                line = String::from("   ");
            }
            line += if line == "  " { "" } else { " " };
            line += word;
        }
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// A line drawn by the caller: already clean, cut at the width.
    pub fn drawn(&mut self, text: &str) {
        self.text.push_str(shorten(text, self.style.columns()).trim_end());
        self.text.push('\n');
    }

    /// One line, already clean, cut at the width.
    pub fn painted(&mut self, text: &str, paint: Paint) {
        let text = shorten(text, self.style.columns());
        self.text.push_str(&self.style.paint(text.trim_end(), paint));
        self.text.push('\n');
    }

    /// A table, unless it is empty.
    pub fn table(&mut self, table: &Table) {
        if !table.is_empty() {
            self.text.push_str(&table.render(self.style));
        }
    }

    /// From now on these flags are not marked cell by cell.
    pub fn set_whole_run(&mut self, flags: Vec<Flag>) {
        self.whole_run = flags;
    }

    /// Footnote numbers of `flags`, such as `1,3`, taken in the order in which they come; those of
    /// the whole run are left out.
    pub fn marks(&mut self, flags: &[Flag]) -> String {
        let own: Vec<Flag> =
            flags.iter().copied().filter(|flag| !self.whole_run.contains(flag)).collect();
        self.numbers(&own)
    }

    /// What stands before the note of a flag: its number, or `all` for one of the whole run.
    pub fn label(&mut self, flag: Flag) -> String {
        if self.whole_run.contains(&flag) { "all".to_owned() } else { self.numbers(&[flag]) }
    }

    /// The line that marks the flags of the whole run, if it has any.
    pub fn whole_run_marks(&mut self) {
        let marks = self.numbers(&self.whole_run.clone());
        if !marks.is_empty() {
            self.gap();
            let noun = if marks.contains(',') { "notes" } else { "note" };
            self.line(&format!("whole run: {noun} {marks}"));
        }
    }

    fn numbers(&mut self, flags: &[Flag]) -> String {
        let number = |flag| match self.notes.iter().position(|&noted| noted == flag) {
            Some(at) => at + 1,
            None => {
                self.notes.push(flag);
                self.notes.len()
            }
        };
        let mut numbers: Vec<usize> = flags.iter().copied().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    }

    /// Every flag that was marked, in the order of its number; the page then has none.
    pub fn take_notes(&mut self) -> Vec<Flag> {
        std::mem::take(&mut self.notes)
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Words of a command; one in single quotes is one.
fn shell_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (at, letter) in command.char_indices() {
        is_quoted ^= letter == '\'';
        if letter == ' ' && !is_quoted {
            words.push(&command[start..at]);
            start = at + 1;
        }
    }
    words.push(&command[start..]);
    words
}
