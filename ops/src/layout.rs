//! Columns for people: every column as wide as its widest cell, two spaces apart, no lines drawn.

use crate::terminal::{Terminal, Tone};

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A text with a meaning.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
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
