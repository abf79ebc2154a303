//! Two texts line by line.

use similar::{ChangeTag, TextDiff};

use crate::terminal::{Terminal, Tone};

/// Lines around a difference that are shown with it.
const CONTEXT: usize = 3;

/// The lines that differ and those around them, each with `+`, `-` or a blank, and where in the new text each group
/// begins.
pub(super) fn hunks(old: &str, new: &str) -> Vec<(usize, Vec<(char, String)>)> {
    let diff = TextDiff::from_lines(old, new);
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let changes = group.iter().flat_map(|op| diff.iter_changes(op));
        let lines = changes.map(|change| (mark(change.tag()), change.value().trim_end().to_owned())).collect();
        hunks.push((group.first().map_or(0, |op| op.new_range().start), lines));
    }
    hunks
}

/// Shows lines with their marks; `@` is one about what follows.
pub(super) fn show(lines: &[(char, String)], terminal: &mut Terminal) -> std::io::Result<()> {
    for (mark, text) in lines {
        let tone = match mark {
            '+' => Tone::Good,
            '-' => Tone::Bad,
            '@' => Tone::Quiet,
            _ => Tone::Plain,
        };
        let line = terminal.paint(tone, format!("  {mark} {text}").trim_end());
        terminal.say(line)?;
    }
    Ok(())
}

fn mark(tag: ChangeTag) -> char {
    match tag {
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
        ChangeTag::Equal => ' ',
    }
}
