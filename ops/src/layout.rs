//! Columns for people: every column as wide as its widest cell, two spaces apart, no lines drawn.

use crate::terminal::{Terminal, Tone};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A text with a meaning. Some texts come from providers, destinations and other people: nothing of them moves the
    /// cursor or turns the line around.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: harmless(text.into()), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(Tone::Plain, text)
    }
}

/// Rows of cells.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    indent: usize,
    rows: Vec<Vec<Cell>>,
}

impl Columns {
    /// No rows yet, every one to be indented by `indent` spaces.
    pub fn indented(indent: usize) -> Self {
        Self { indent, rows: Vec::new() }
    }

    /// Adds a row of headings.
    #[must_use]
    pub fn headed<const N: usize>(mut self, headings: [&str; N]) -> Self {
        self.rows.push(headings.into_iter().map(|heading| Cell::new(Tone::Quiet, heading)).collect());
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// The rows as lines, without spaces at their ends.
    pub fn lines(&self, terminal: &Terminal) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        self.rows.iter().map(|row| self.line(row, &widths, terminal)).collect()
    }

    fn line(&self, row: &[Cell], widths: &[usize], terminal: &Terminal) -> String {
        let mut line = " ".repeat(self.indent);
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        for (i, (cell, width)) in row.iter().zip(widths).enumerate().take(last + 1) {
            // Painted before it is padded: the codes of a colour take no room on the screen.
            line.push_str(&terminal.paint(cell.tone, &cell.text));
            if i < last {
                line.push_str(&" ".repeat(width - cell.text.chars().count() + 2));
            }
        }
        line
    }
}

/// A line by itself, of a list that grows while it is read: each cell takes at least as many characters as it is given.
pub fn line<const N: usize>(cells: &[(Cell, usize); N], terminal: &Terminal) -> String {
    let painted = cells.iter().map(|(cell, width)| {
        let room = width.saturating_sub(cell.text.chars().count());
        format!("{}{}", terminal.paint(cell.tone, &cell.text), " ".repeat(room))
    });
    painted.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// The text with every character spelt out that a terminal obeys instead of showing it, but for the ends of lines.
pub(crate) fn harmless_lines(text: &str) -> String {
    text.split('\n').map(|line| harmless(line.to_owned())).collect::<Vec<_>>().join("\n")
}

/// The text with every character spelt out that a terminal obeys instead of showing it.
pub(crate) fn harmless(text: String) -> String {
    if !text.contains(is_obeyed) {
        return text;
    }
    let spelt = |c: char| if is_obeyed(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(spelt).collect()
}

/// Control characters, breaks of lines and paragraphs, and what changes the direction of the text after it.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `1 receipt`, `2 receipts`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Format;
    use crate::testing::terminal;

    #[test]
    fn nothing_in_a_cell_moves_the_cursor_or_turns_the_line_around() {
        let (terminal, _) = terminal(Format::Table);
        let mut columns = Columns::default();
        columns.row(["a\u{1b}[2Jb\r\nc".into(), "evt_\u{202e}1\u{9b}".into(), "schön שלום".into()]);
        assert_eq!(columns.lines(&terminal), ["a\\u{1b}[2Jb\\u{d}\\u{a}c  evt_\\u{202e}1\\u{9b}  schön שלום"]);
    }

    #[test]
    fn a_line_by_itself_leaves_the_room_that_others_will_need() {
        let (terminal, _) = terminal(Format::Table);
        let cells = [("a".into(), 3), ("grüße".into(), 7), ("b\n".into(), 4), ("".into(), 9)];
        assert_eq!(line(&cells, &terminal), "a    grüße    b\\u{a}");
    }

    #[test]
    fn columns_align_by_characters_and_end_without_spaces() {
        let (terminal, _) = terminal(Format::Table);
        let mut columns = Columns::indented(2).headed(["NAME", "STATE", "WHY"]);
        columns.row(["grüße".into(), Cell::new(Tone::Bad, "review"), "exhausted".into()]);
        columns.row(["a".into(), "completed".into(), "".into()]);
        insta::assert_snapshot!(columns.lines(&terminal).join("|\n"), @r"
          NAME   STATE      WHY|
          grüße  review     exhausted|
          a      completed
        ");
    }
}
