//! What follows the items that were listed.

use crate::output::Printer;
use crate::text::{sanitize, shell_quote};

/// Whether a list continues after the items that were read.
#[derive(Debug, PartialEq)]
pub(crate) enum Continuation {
    /// It has ended.
    None,
    /// It continues after the cursor.
    Cursor(String),
    /// It continues, but the service has not named a cursor for this position.
    WithoutCursor,
}

impl Continuation {
    /// Says on standard error that the list is empty, or how to get more of it.
    pub(crate) fn report(&self, printer: &Printer, count: usize, nouns: &str) {
        match self {
            Self::None if count == 0 => printer.note(&format!("no {nouns} found")),
            Self::None => {}
            Self::Cursor(cursor) => {
                let command = command_with_cursor(cursor);
                printer.note(&format!(
                    "there are more {nouns}; list them with: {command}"
                ));
            }
            Self::WithoutCursor => printer.note(&format!(
                "there are more {nouns}; list them with a higher --limit, or all with --all"
            )),
        }
    }

    /// Says on standard error that totals do not include all items.
    pub(crate) fn report_totals(&self, printer: &Printer, count: usize) {
        if *self != Self::None {
            printer.note(&format!(
                "only the newest {count} entries are included; include all with --all"
            ));
        }
    }
}

/// Returns the command of this process with another `--cursor`.
pub(super) fn command_with_cursor(cursor: &str) -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    with_cursor(words, cursor)
}

fn with_cursor(words: impl Iterator<Item = String>, cursor: &str) -> String {
    let mut command = vec!["svc".to_owned()];
    let mut words = words.peekable();
    while let Some(word) = words.next_if(|word| word != "--") {
        match word.as_str() {
            "--cursor" => {
                words.next();
            }
            word if word.starts_with("--cursor=") => {}
            word => command.push(shell_quote(word).into_owned()),
        }
    }
    command.push(format!("--cursor {}", shell_quote(cursor)));
    command.extend(words.map(|word| shell_quote(&word).into_owned()));
    // Cursors come from the service and are printed to a terminal.
    sanitize(&command.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_replaced() {
        let rows = [
            ("job list", "svc job list --cursor c2"),
            (
                "job list --cursor c1 --limit 3",
                "svc job list --limit 3 --cursor c2",
            ),
            (
                "job list --cursor=c1 -o json",
                "svc job list -o json --cursor c2",
            ),
            (
                "trending search -- --cursor c1",
                "svc trending search --cursor c2 -- --cursor c1",
            ),
        ];
        for (words, expected) in rows {
            let words = words.split(' ').map(str::to_owned);
            assert_eq!(with_cursor(words, "c2"), expected);
        }
        let words = ["avatar", "search", "red hair"].map(str::to_owned);
        assert_eq!(
            with_cursor(words.into_iter(), "a b"),
            "svc avatar search 'red hair' --cursor 'a b'"
        );
    }
}
