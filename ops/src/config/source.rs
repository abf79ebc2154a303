//! Problems of a file, shown with the file's name, the line and what to write instead.

use std::fmt;
use std::ops::Range;

use super::spelling::misspelt;

/// A file's name and text.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
}

/// Something in a file that is not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The bytes that it is about.
    pub place: Range<usize>,
    /// What is wrong.
    pub says: String,
    /// What to write instead, one or more lines.
    pub write: Option<String>,
    /// Whether its line is left out, because it may hold a secret.
    pub hidden: bool,
}

/// A file that is not valid, with everything that is wrong.
#[derive(Clone, Debug)]
pub struct InvalidFile {
    source: Source,
    problems: Vec<Problem>,
}

impl Source {
    /// A file.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The error that shows these problems.
    pub fn invalid(&self, mut problems: Vec<Problem>) -> InvalidFile {
        problems.sort_by_key(|problem| problem.place.start);
        InvalidFile { source: self.clone(), problems }
    }

    /// Line and column, both from 1, of a byte.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).map_or(0, |start| start.chars().count());
        (before.matches('\n').count() + 1, column + 1)
    }

    /// Whether a line may be shown: not when it belongs to a key that could hold a secret written by mistake.
    fn may_be_quoted(&self, line: usize) -> bool {
        const SECRETIVE: [&str; 5] = ["secret", "token", "password", "credential", "auth"];
        let lines: Vec<&str> = self.text.lines().take(line).collect();
        let governs = lines.iter().rev().find(|line| {
            let line = line.trim_start();
            line.starts_with("[[") || line.split_once('=').is_some_and(|(key, _)| is_key(key.trim()))
        });
        let key = governs.unwrap_or(&"").split('=').next().unwrap_or_default().to_lowercase();
        !SECRETIVE.iter().any(|word| key.contains(word))
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

impl Problem {
    /// At `place`, `says` is wrong.
    pub fn new(place: Range<usize>, says: impl Into<String>) -> Self {
        Self { place, says: says.into(), write: None, hidden: false }
    }

    /// What to write instead.
    #[must_use]
    pub fn write(mut self, instead: impl Into<String>) -> Self {
        self.write = Some(instead.into());
        self
    }

    /// Leaves out the line.
    #[must_use]
    pub fn hide(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// What the TOML reader found.
    pub fn of_toml(error: &toml::de::Error) -> Self {
        let problem = Self::new(error.span().unwrap_or(0..0), error.message().replace("unknown field", "unknown key"));
        if let Some(rest) = problem.says.strip_prefix("unknown key `") {
            // Whatever is written there was meant for something that does not exist: nobody knows how secret it is.
            let key = rest.split('`').next().unwrap_or_default();
            let meant = match key {
                "integrations" => Some("[[integration]] before each connection".to_owned()),
                "operations" | "operation" => Some("[[integration.operation]] before each operation".to_owned()),
                _ => {
                    // After `expected one of` stand all that there are, each between backticks.
                    let known: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
                    misspelt(key, &known).map(|meant| format!("`{meant}`"))
                }
            };
            let problem = problem.hide();
            return match meant {
                Some(meant) => problem.write(meant),
                None => problem,
            };
        }
        if problem.says.contains("expected a sequence") {
            // `integration` and `operation` are the only lists of tables.
            let says = "a table that may come several times stands in two brackets".to_owned();
            return Self { says, ..problem }
                .write("[[integration]] for a connection, [[integration.operation]] for an operation of it");
        }
        let missing = problem.says.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        let Some(missing) = missing else { return problem };
        let example = match missing {
            "provider" => "provider = \"stripe\"",
            "account" => "account = \"main\"",
            "secrets" => "secrets = [\"ssm:/hookbox/stripe/main\"]",
            "name" => "name = \"deliver\"",
            "type" => "type = \"http\"",
            _ => return problem,
        };
        Self { says: format!("`{missing}` is missing"), ..problem }.write(example)
    }
}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f, "\n")?;
            }
            self.source.show(problem, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidFile {}

impl Source {
    fn show(&self, problem: &Problem, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.position(problem.place.start);
        write!(f, "{}:{line}:{column}: {}", self.name, problem.says)?;
        if let Some(text) = self.text.lines().nth(line - 1).filter(|_| !problem.hidden && self.may_be_quoted(line)) {
            let number = line.to_string();
            let room = text.chars().count().saturating_sub(column - 1);
            let wide = self.text.get(problem.place.clone()).map_or(1, |quoted| quoted.chars().count());
            let marks = "^".repeat(wide.clamp(1, room.max(1)));
            write!(f, "\n  {number} | {text}")?;
            write!(f, "\n  {blank} | {skip}{marks}", blank = " ".repeat(number.len()), skip = " ".repeat(column - 1))?;
        }
        if let Some(write) = &problem.write {
            write!(f, "\n  write: {}", write.replace('\n', "\n         "))?;
        }
        Ok(())
    }
}
