//! Conversion of errors of the command-line parser to failures.

use std::ffi::OsString;

use crate::error::Failure;

/// Returns the failure for a usage error: the whole message on one line, and the tips as hints.
pub(crate) fn usage_failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let mut blocks = text.split("\n\n").map(join_lines);
    let message = blocks.next().unwrap_or_default();
    blocks
        .filter_map(|block| block.strip_prefix("tip: ").map(str::to_owned))
        .fold(Failure::usage(message), Failure::hint)
}

fn join_lines(block: &str) -> String {
    let lines: Vec<&str> = block.lines().map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

/// Returns whether the arguments request JSON. They could not be parsed, so this looks for the flag
/// alone.
pub(crate) fn requests_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut words = arguments
        .map(|word| word.to_string_lossy().into_owned())
        .take_while(|word| word != "--")
        .peekable();
    let mut requested = false;
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "-o" | "--output" => words.peek().cloned(),
            _ => word
                .strip_prefix("--output=")
                .or_else(|| word.strip_prefix("-o="))
                .or_else(|| word.strip_prefix("-o"))
                .map(str::to_owned),
        };
        if let Some(value) = value {
            requested = matches!(value.as_str(), "json" | "jsonl");
        }
    }
    requested
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line;

    #[test]
    fn message_is_whole() {
        let rows = [
            (
                "svc top-up create",
                "the following required arguments were not provided: --amount-usd-cents <N>",
            ),
            (
                "svc balance -o yaml",
                "invalid value 'yaml' for '--output <FORMAT>' [possible values: table, json, jsonl]",
            ),
        ];
        for (words, message) in rows {
            let error = command_line().try_get_matches_from(words.split(' '));
            let failure = usage_failure(&error.unwrap_err());
            assert_eq!(failure.headline(), message);
        }
        let error = command_line().try_get_matches_from(["svc", "balanse"]);
        let json = usage_failure(&error.unwrap_err()).to_json();
        assert_eq!(
            json["error"]["message"],
            "unrecognized subcommand 'balanse'"
        );
        let tip = "a similar subcommand exists: 'balance'";
        assert_eq!(json["error"]["next"], serde_json::json!([tip]));
    }

    #[test]
    fn json_is_requested_by_any_form_of_the_flag() {
        let requests = |words: &str| requests_json(words.split(' ').map(OsString::from));
        for words in [
            "-o json",
            "-ojsonl",
            "-o=json",
            "--output json",
            "--output=jsonl",
        ] {
            assert!(requests(words), "{words}");
        }
        for words in [
            "-o table",
            "-o",
            "x --output table",
            "-- -o json",
            "-o json -o table",
        ] {
            assert!(!requests(words), "{words}");
        }
    }
}
