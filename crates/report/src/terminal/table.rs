//! Columns of text that fit the width. Our own rather than a table crate's: the grids here are cut
//! into groups of columns, painted, and must stay within the width whatever the names are.

use super::style::{Paint, Style, columns_of, shorten, wrap};

/// What a text column is never squeezed below.
const TEXT_MIN: usize = 8;

/// Which side a column leans on; text may also wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text: leans left, wraps.
    Left,
    /// Numbers: lean right, never wrap.
    Right,
}

/// Rows under a heading.
pub struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<(String, Paint)>>,
}

impl Table {
    /// Blanks between two columns.
    pub const GAP: usize = 2;

    /// An empty table. The texts given to it are clean already.
    pub fn new(heads: &[(&str, Align)]) -> Self {
        let heads = heads.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Self { heads, rows: Vec::new() }
    }

    /// A table of one text column and numbers.
    pub fn of_numbers<'a>(first: &str, others: impl Iterator<Item = &'a str>) -> Self {
        let mut table = Self::new(&[(first, Align::Left)]);
        table.heads.extend(others.map(|name| (name.to_owned(), Align::Right)));
        table
    }

    /// A row; a field for every column.
    pub fn row(&mut self, fields: Vec<String>) {
        self.painted_row(fields.into_iter().map(|field| (field, Paint::Plain)).collect());
    }

    /// A row whose fields are painted.
    pub fn painted_row(&mut self, fields: Vec<(String, Paint)>) {
        assert_eq!(fields.len(), self.heads.len(), "a field for every column");
        self.rows.push(fields);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns that the table takes when nothing is squeezed.
    pub fn natural_columns(&self) -> usize {
        total(&self.natural())
    }

    fn natural(&self) -> Vec<usize> {
        let widest = |at: usize| {
            let fields = self.rows.iter().map(|row| columns_of(&row[at].0));
            fields.chain([columns_of(&self.heads[at].0)]).max().unwrap_or(0)
        };
        (0..self.heads.len()).map(widest).collect()
    }

    /// Natural widths, the widest text columns squeezed until all fit, then any column.
    fn fitted(&self, width: usize) -> Vec<usize> {
        let mut widths = self.natural();
        while total(&widths) > width {
            let widest = |only_text: bool| {
                (0..widths.len())
                    .filter(|&at| !only_text || self.heads[at].1 == Align::Left)
                    .filter(|&at| widths[at] > if only_text { TEXT_MIN } else { 2 })
                    .max_by_key(|&at| widths[at])
            };
            match widest(true).or_else(|| widest(false)) {
                Some(at) => widths[at] -= 1,
                None => break,
            }
        }
        widths
    }

    /// The table, when it fits the width or can be squeezed into it; numbers that would have to be
    /// cut make it fall apart into groups of columns that repeat the first.
    pub fn render(&self, style: &Style) -> String {
        let natural = self.natural();
        let room = style.columns();
        let mut groups: Vec<Vec<usize>> = vec![vec![0]];
        let first = natural.first().map_or(0, |&width| match self.heads[0].1 {
            Align::Left => width.min(room / 2),
            Align::Right => width,
        });
        let mut used = first;
        for (at, &natural) in natural.iter().enumerate().skip(1) {
            let least = match self.heads[at].1 {
                Align::Left => natural.min(TEXT_MIN),
                Align::Right => natural,
            };
            let group = groups.last_mut().expect("never empty");
            if used + Self::GAP + least > room && group.len() > 1 {
                groups.push(vec![0, at]);
                used = first + Self::GAP + least;
            } else {
                group.push(at);
                used += Self::GAP + least;
            }
        }
        let part = |group: &Vec<usize>| self.only(group).render_whole(style);
        groups.iter().map(part).collect::<Vec<_>>().join("\n")
    }

    fn only(&self, columns: &[usize]) -> Self {
        let pick = |row: &Vec<(String, Paint)>| columns.iter().map(|&at| row[at].clone()).collect();
        Self {
            heads: columns.iter().map(|&at| self.heads[at].clone()).collect(),
            rows: self.rows.iter().map(pick).collect(),
        }
    }

    fn render_whole(&self, style: &Style) -> String {
        let widths = self.fitted(style.columns());
        let head: Vec<_> =
            self.heads.iter().map(|(name, _)| (name.clone(), Paint::Strong)).collect();
        let rules =
            widths.iter().map(|&width| (style.rule().repeat(width), Paint::Faint)).collect();
        let mut text = String::new();
        let mut put = |row: &Vec<(String, Paint)>| self.put_row(row, &widths, style, &mut text);
        put(&head);
        put(&rules);
        self.rows.iter().for_each(put);
        text
    }

    fn put_row(&self, row: &[(String, Paint)], widths: &[usize], style: &Style, text: &mut String) {
        let lines: Vec<Vec<String>> = row
            .iter()
            .zip(widths)
            .zip(&self.heads)
            .map(|(((field, _), &width), (_, align))| match align {
                Align::Left => wrap(field, width),
                Align::Right => vec![shorten(field, width)],
            })
            .collect();
        for number in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            let mut blanks = 0; // Held back, so that no line ends in blanks.
            for (at, field) in lines.iter().enumerate() {
                let piece = field.get(number).map_or("", String::as_str);
                let padding = widths[at].saturating_sub(columns_of(piece));
                let (before, after) = match self.heads[at].1 {
                    Align::Left => (0, padding),
                    Align::Right => (padding, 0),
                };
                if piece.is_empty() {
                    blanks += widths[at] + Self::GAP;
                } else {
                    line.push_str(&" ".repeat(blanks + before));
                    line.push_str(&style.paint(piece, row[at].1));
                    blanks = after + Self::GAP;
                }
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + Table::GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_and_numbers_lean_right() {
        let mut table = Table::new(&[("name", Align::Left), ("rate", Align::Right)]);
        table.row(vec!["short".to_owned(), "7".to_owned()]);
        table.row(vec![
            "a name of several words that is far too long".to_owned(),
            "12345".to_owned(),
        ]);
        let expected = "\
name                                rate
---------------------------------  -----
short                                  7
a name of several words that is    12345
far too long
";
        assert_eq!(table.render(&Style { width: 40, ..Style::PLAIN }), expected);
    }

    #[test]
    fn columns_that_do_not_fit_move_below_with_the_first_repeated() {
        let names: Vec<String> = (0..10).map(|at| format!("column{at}")).collect();
        let mut table = Table::of_numbers("row", names.iter().map(String::as_str));
        table.row((0..11).map(|at| at.to_string()).collect());
        let text = table.render(&Style { width: 40, ..Style::PLAIN });
        assert_eq!(text.matches("row").count(), 3);
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(names.iter().all(|name| text.contains(name)), "{text}");
    }
}
