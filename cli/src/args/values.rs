//! Types of flag values.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::error::Result;
use crate::input::check_single_stdin_reader;
use crate::text::{check_integers, json_error};

/// A time to wait: `30s`, `5m`, `1h`, a number of seconds, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

/// Parses the path of a download. `-` and the home directories of other users, such as `~ann`, are refused: they
/// would become names of files.
pub(crate) fn parse_download_path(text: &str) -> Result<PathBuf, &'static str> {
    let is_other_home =
        text.starts_with('~') && !matches!(text.as_bytes().get(1), None | Some(b'/'));
    match text {
        "-" => Err("files cannot be written to standard output: expected a directory or a file"),
        _ if is_other_home => {
            Err("only ~ for your own home directory is known: write the whole path, or ./~…")
        }
        _ => Ok(text.into()),
    }
}

/// Parses a number of seconds, or a number with one of the units, such as `15m`.
pub(crate) fn parse_seconds(text: &str, units: &str) -> Option<u64> {
    let unit = text.chars().last().filter(|unit| units.contains(*unit));
    let number = unit.map_or(text, |unit| text.strip_suffix(unit).unwrap_or(text));
    let factor = match unit {
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => 1,
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(factor)
}

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let why = match parse_seconds(text, "smh") {
            Some(0) => {
                "expected a time above 0; commands that have --no-wait return at once with it"
            }
            Some(seconds) if seconds <= 366 * 86_400 => {
                return Ok(Self(Some(Duration::from_secs(seconds))));
            }
            Some(_) => "expected at most one year; to wait without a limit, use none",
            None => "expected a time such as 30s, 5m or 1h, a number of seconds, or none",
        };
        Err(why.to_owned())
    }
}

/// A field given as `KEY=JSON`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonField {
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl FromStr for JsonField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, json) = split(text, "KEY=JSON, such as 'style=\"film\"'")?;
        let value = serde_json::from_str(json).map_err(|error| {
            let why = json_error(&error);
            format!("invalid JSON `{json}`: {why}; quote text as '{name}=\"…\"'")
        })?;
        check_integers(json)?;
        Ok(Self { name, value })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = split(text, "KEY=VALUE")?;
        Ok(Self { name, value: value.to_owned() })
    }
}

fn split<'a>(text: &'a str, expected: &str) -> Result<(String, &'a str), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value)),
        _ => Err(format!("expected {expected}")),
    }
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SecretArgs {
    /// File with the signing secrets, or - for stdin: one per line, the newest first [env:
    /// SVC_WEBHOOK_SECRET, with the secrets themselves]
    #[arg(long, value_name = "FILE|-")]
    pub(crate) secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// Checks that the secrets and another file are not both read from standard input.
    pub(crate) fn check_stdin(&self, flag: &str, file: Option<&Path>) -> Result {
        check_single_stdin_reader(&[
            ("--secret-file", self.secret_file.as_deref().and_then(Path::to_str)),
            (flag, file.and_then(Path::to_str)),
        ])
    }
}

/// The headings of options in the help, in the order in which a command shows them.
pub(crate) mod headings {
    /// What to generate from: prompts, scripts, media, instructions.
    pub(crate) const INPUT: &str = "Input";
    /// How to generate it: the model, and properties of the result.
    pub(crate) const GENERATION: &str = "Generation";
    pub(crate) const FILTERS: &str = "Filters";
    pub(crate) const PAGES: &str = "Pages";
    pub(crate) const FILES: &str = "Files";
    pub(crate) const WAITING: &str = "Waiting";
    pub(crate) const COST: &str = "Cost";
    pub(crate) const REPETITION: &str = "Resuming and retries";
    pub(crate) const REQUEST: &str = "Request";
}
