//! The values that arguments are completed with.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;

use super::remote;
use super::value::Value;
use crate::args::Global;
use crate::session::Session;
use crate::text::sanitize;
use crate::types::{Outcome, ResourceId};

/// The maximum number of entries of the history that are offered.
const MAX_HISTORY: usize = 100;

/// The type of the models that a command takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelKind {
    /// Image models.
    Image,
    /// Video models.
    Video,
    /// All models.
    Any,
}

/// Returns the ids in the history of this machine, newest first. `field` selects jobs or runs.
pub(super) fn history(global: &Global, field: &str) -> Vec<CompletionCandidate> {
    let entries = Session::without_logging(global.clone())
        .and_then(|session| session.journal())
        .ok()
        .flatten()
        .and_then(|journal| journal.entries().ok());
    let values = entries.into_iter().flatten().filter_map(|entry| {
        let resource = entry.resource.as_ref().filter(|it| it.field() == field)?;
        let outcome = entry.outcome.map_or("open", Outcome::as_str);
        Some(Value {
            value: ResourceId::id(resource).to_owned(),
            help: format!("{outcome}: {}", entry.intent.summary),
            kind: String::new(),
        })
    });
    candidates(values.take(MAX_HISTORY))
}

/// Returns the names of the profiles.
pub(super) fn profiles(global: &Global) -> Vec<CompletionCandidate> {
    let Ok(session) = Session::without_logging(global.clone()) else {
        return Vec::new();
    };
    let settings = session.settings().ok();
    let names = settings.map(|settings| settings.file.profiles());
    candidates(names.into_iter().flatten().map(|name| Value {
        value: name.to_owned(),
        help: String::new(),
        kind: String::new(),
    }))
}

/// Returns the ids of the models of a type.
pub(super) fn models(global: &Global, kind: ModelKind) -> Vec<CompletionCandidate> {
    let models = remote::fetch(global, remote::List::Models);
    candidates(models.into_iter().filter(|model| match kind {
        ModelKind::Any => true,
        ModelKind::Image => model.kind.is_empty() || model.kind == "image",
        ModelKind::Video => model.kind.is_empty() || model.kind == "video",
    }))
}

/// Returns the Formats as `HANDLE/SLUG`, and also by their ids if that is what is being typed.
pub(super) fn formats(global: &Global, current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let formats = remote::fetch(global, remote::List::Formats);
    let matching = formats.into_iter().filter(|format| {
        let is_address = format.value.contains('/') || format.kind == remote::ONLY_ID;
        format.value.starts_with(&*current) && (is_address || !current.is_empty())
    });
    candidates(matching)
}

/// Converts values to candidates in their order. The shell inserts a value into its command line as
/// it is, so that only values without special characters are offered.
fn candidates(values: impl Iterator<Item = Value>) -> Vec<CompletionCandidate> {
    values
        .filter(|value| is_plain(&value.value))
        .enumerate()
        .map(|(order, value)| {
            let help = sanitize(&value.help);
            CompletionCandidate::new(value.value)
                .help((!help.is_empty()).then(|| help.into()))
                .display_order(Some(order))
        })
        .collect()
}

fn is_plain(value: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+@".contains(c);
    !value.is_empty() && !value.starts_with('-') && value.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_shell_would_interpret_are_not_offered() {
        for plain in ["video-f", "demo/teaser", "job_1", "image-1.0"] {
            assert!(is_plain(plain), "{plain}");
        }
        for hostile in [
            "",
            "$(reboot)",
            "a b",
            "a;b",
            "-rf",
            "a\u{1b}",
            "`x`",
            "a'b",
        ] {
            assert!(!is_plain(hostile), "{hostile}");
        }
    }
}
