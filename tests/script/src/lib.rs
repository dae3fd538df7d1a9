//! Scripts of steps: one line each, with what must hold after `=>`.
//!
//! ```text
//! open video {"prompt": "a fox"} => 202 job.id=<id> job.status=queued
//! advance 30
//! for <end> in status result
//!   open /v1/jobs/<id>/<end> => 200
//! ```
//!
//! What a step is, whoever runs the script decides, with [`Steps`]. Everywhere, a [`condition`](check) is a
//! left side, an operator and a value. The operators are `=`, `!=`, `^=` (starts with), `$=` (ends with),
//! `*=` (contains, also an item) and `<=` (is at most the number), of which the last four are negated
//! by `!` before them. `!left` holds if the left side is absent. A value is JSON or a word; `=<some>`,
//! `=<string>`, `=<number>`, `=<object>` and `=<array>` are any of that type, and `null` is also what is
//! absent. In a left side, [fields and indexes](at) are joined by dots, with `*` for each item, `#`
//! for the number of items, `-1` for the last, and `@x` for the item with the id x.
//!
//! `=<name>` sets a variable that is not set, for the lines below. `for <name> … in` repeats the indented
//! lines for each of the values, which are separated by commas (or by spaces, for one name) or are lines
//! that start with `|`. `repeat N` repeats them as they are. Lines that are indented below any other step
//! belong to it. After a line such as `= open POST /x + => 400`, lines that start with `{` or `/` are
//! rows: each is put in place of the `+`, and all of them are run before any difference is reported. Lines that start with `# ` are
//! comments.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed assertion ends the test"
)]

mod condition;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

pub use condition::{at, check, parse, split, word};

/// The variables of a script, by name.
pub type Variables = BTreeMap<String, String>;

/// Runs the steps of a script.
pub trait Steps {
    /// Runs a step, and returns how it differs from what it says. `block` has the lines that are
    /// indented below it. Variables are replaced in both by their values.
    fn run(
        &self,
        step: &str,
        block: &[String],
        variables: &mut Variables,
    ) -> impl Future<Output = Option<String>>;

    /// Runs after each row.
    fn after_row(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

/// Returns the scripts of a file, each with the rest of the line `== …` that it begins with: those that
/// the variable `SCRIPT` of the environment is a part of.
pub fn scripts_of(text: &str) -> Vec<(&str, &str)> {
    let wanted = std::env::var("SCRIPT").unwrap_or_default();
    let scripts = text.split("\n== ").filter_map(|script| {
        let script = script.strip_prefix("== ").unwrap_or(script);
        script.split_once('\n')
    });
    // What stands above the first script is a comment.
    let scripts = scripts.filter(|(title, _)| !title.starts_with('#'));
    scripts.filter(|(title, _)| title.contains(&wanted)).collect()
}

/// A line of a script: its indentation and its text.
type Line<'s> = (usize, &'s str);

/// Runs a script. Panics with all that differs from what it says.
pub async fn run_script(steps: &impl Steps, mut variables: Variables, script: &str) {
    let lines: Vec<Line<'_>> = script
        .lines()
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .filter(|(_, text)| !text.is_empty() && !text.starts_with("# "))
        .collect();
    let mut differences = Vec::new();
    run_block(steps, &lines, &mut variables, &mut differences).await;
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

fn run_block<'a>(
    steps: &'a impl Steps,
    lines: &'a [Line<'a>],
    variables: &'a mut Variables,
    differences: &'a mut Vec<String>,
) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        let mut rest = lines;
        let mut head = "";
        while let Some(((indent, text), after)) = rest.split_first() {
            let end = after.iter().position(|line| line.0 <= *indent);
            let (block, next) = after.split_at(end.unwrap_or(after.len()));
            rest = next;
            if let Some(line) = text.strip_prefix("= ") {
                head = line;
            } else if text.starts_with(['{', '/']) {
                let row = format!("{head} {text}").replacen(" + ", " ", 1);
                differences.extend(run_step(steps, &row, block, variables).await);
                steps.after_row().await;
            } else if let Some(line) = text.strip_prefix("for ") {
                let (rows, block) = rows_of(line, block, variables);
                for row in rows {
                    let mut inner = variables.clone();
                    inner.extend(row);
                    run_block(steps, block, &mut inner, differences).await;
                }
            } else if let Some(count) = text.strip_prefix("repeat ") {
                let count = substitute(count, variables).parse();
                for _ in 0..count.expect("a number of repetitions") {
                    run_block(steps, block, &mut variables.clone(), differences).await;
                }
            } else {
                differences.extend(run_step(steps, text, block, variables).await);
                assert!(differences.is_empty(), "{}", differences.join("\n\n"));
            }
        }
    })
}

/// Returns the variables of each repetition of a `for`, and the lines to repeat.
fn rows_of<'a>(
    line: &str,
    mut block: &'a [Line<'a>],
    variables: &Variables,
) -> (Vec<Variables>, &'a [Line<'a>]) {
    let (names, values) = line.split_once(" in").unwrap_or((line, ""));
    let names: Vec<_> = names.split(' ').collect();
    let separator = if names.len() == 1 { ' ' } else { ',' };
    let values = substitute(values, variables);
    let mut rows = split(&values, separator);
    while let [(_, row), others @ ..] = block
        && let Some(row) = row.strip_prefix("| ")
    {
        rows.push(row);
        block = others;
    }
    assert!(!rows.is_empty(), "no values in {line}");
    let variables_of = |row: &str| {
        let row = substitute(row, variables);
        let values = split(&row, ' ');
        assert_eq!(names.len(), values.len(), "{line}: {row}");
        let pairs = names.iter().zip(values).map(|(name, value)| {
            let unquoted = value.strip_prefix('"').and_then(|_| serde_json::from_str(value).ok());
            let value = unquoted.unwrap_or_else(|| value.to_owned());
            (name.trim_matches(['<', '>']).to_owned(), value)
        });
        pairs.collect()
    };
    (rows.into_iter().map(variables_of).collect(), block)
}

async fn run_step(
    steps: &impl Steps,
    text: &str,
    block: &[Line<'_>],
    variables: &mut Variables,
) -> Option<String> {
    let step = substitute(text, variables);
    let block: Vec<_> = block.iter().map(|(_, line)| substitute(line, variables)).collect();
    steps.run(&step, &block, variables).await
}

/// Replaces the variables in a text by their values.
pub fn substitute(text: &str, variables: &Variables) -> String {
    let names = variables.iter();
    names.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
}
