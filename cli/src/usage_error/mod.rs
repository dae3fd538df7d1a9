//! Conversion of errors of the command-line parser to failures.

pub(crate) mod mistyped;

use clap::ValueEnum;
use clap::error::ErrorKind;

use crate::args::Color;
use crate::error::{Failure, KeptFlags};

pub(crate) fn usage_failure(error: &clap::Error) -> Failure {
    let text = plain_number_error(&error.to_string());
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return missing_subcommand(&text);
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let mut blocks = text.split("\n\n").map(join_lines);
    let message = blocks.next().unwrap_or_default();
    blocks
        .filter_map(|block| block.strip_prefix("tip: ").map(str::to_owned))
        .fold(Failure::usage(message), Failure::hint)
}

/// Returns the failure for a group of commands without a subcommand, given its help.
fn missing_subcommand(help: &str) -> Failure {
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: "));
    let command = usage.and_then(|usage| usage.split(['[', '<']).next());
    let command = command.unwrap_or("svc").trim();
    Failure::usage(format!("'{command}' requires a subcommand but one was not provided"))
        .hint(format!("list the subcommands with: {command} --help"))
}

pub(crate) fn plain_number_error(text: &str) -> String {
    [
        ("invalid digit found in string", "expected a whole number"),
        ("cannot parse integer from empty string", "expected a whole number"),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn join_lines(block: &str) -> String {
    let lines: Vec<&str> = block.lines().map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

pub(crate) fn requests_json(arguments: &[String]) -> bool {
    let format = last_value(arguments, &["--output=", "-o=", "-o"], &["--output", "-o"]);
    matches!(format.as_deref(), Some("json" | "jsonl"))
}

pub(crate) fn requested_color(arguments: &[String]) -> Color {
    let color = last_value(arguments, &["--color="], &["--color"]);
    let color = color.and_then(|color| Color::from_str(&color, false).ok());
    color.unwrap_or_default()
}

fn kept_flags(arguments: &[String]) -> KeptFlags {
    let mut words = arguments.iter().take_while(|word| *word != "--");
    KeptFlags {
        profile: last_value(arguments, &["--profile="], &["--profile"]),
        is_sandbox: words.any(|word| word == "--sandbox"),
    }
}

/// Looks for the flag alone, since the arguments could not be parsed.
fn last_value(arguments: &[String], prefixes: &[&str], names: &[&str]) -> Option<String> {
    let mut words = arguments.iter().take_while(|word| *word != "--").peekable();
    let mut last = None;
    while let Some(word) = words.next() {
        let value = match names.contains(&word.as_str()) {
            true => words.peek().map(|word| (*word).clone()),
            false => {
                prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)).map(str::to_owned)
            }
        };
        last = value.or(last);
    }
    last
}
