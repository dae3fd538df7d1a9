//! Dynamic shell completion: values that the shell asks this program for while the user types.
//!
//! It runs only if the variable `COMPLETE` names a shell. Nothing is printed but candidates, and
//! whatever goes wrong means that there are none.

mod remote;

use std::ffi::{OsStr, OsString};
use std::panic::{self, AssertUnwindSafe};

use clap::{Arg, Args, Command, FromArgMatches, ValueEnum};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use serde::{Deserialize, Serialize};
use svc_sdk::contract::{JobStatus, Operation};
use svc_webhook_inbox::ListQuery;

use crate::args::Global;
use crate::batch;
use crate::commands::job::job_types;
use crate::completion::remote::List;
use crate::error::{Exit, Failure, Result};
use crate::resource::Outcome;
use crate::session::Session;
use crate::text::sanitize;
use crate::webhook::{StoreAddress, samples};

const VARIABLE: &str = "COMPLETE";

/// Completes a command line, or prints the script for a shell. Returns `None` without either.
pub(crate) fn complete(command_line: fn() -> Command) -> Option<Exit> {
    std::env::var_os(VARIABLE)?;
    let words: Vec<OsString> = std::env::args_os().collect();
    // The words of the command line follow `--`; without them the script is requested.
    let line: Vec<OsString> = words.iter().skip_while(|it| *it != "--").skip(1).cloned().collect();
    let is_script = line.is_empty();
    panic::set_hook(Box::new(|_| {}));
    let completed = panic::catch_unwind(AssertUnwindSafe(|| {
        let directory = std::env::current_dir().ok();
        CompleteEnv::with_factory(|| {
            let root = command_line();
            let typed = Typed::new(&root, global_flags(command_line, &line), &line);
            add_completions(root, None, &typed)
        })
        .var(VARIABLE)
        .bin("svc")
        .try_complete(words, directory.as_deref())
    }));
    // Only the default hook is left to the rest of the program.
    let _ = panic::take_hook();
    match completed {
        Ok(Ok(true)) => Some(Exit::Done),
        Ok(Ok(false)) => None,
        Ok(Err(error)) if is_script => {
            let _ = error.print();
            Some(Exit::Usage)
        }
        Ok(Err(_)) | Err(_) => Some(Exit::Failure),
    }
}

fn global_flags(command_line: fn() -> Command, line: &[OsString]) -> Global {
    let matches = command_line().ignore_errors(true).try_get_matches_from(line);
    let global = matches.and_then(|matches| Global::from_arg_matches(&matches));
    Global { quiet: true, verbose: 0, output: None, jq: None, ..global.unwrap_or_default() }
}

#[derive(Clone, Debug, Default)]
struct Typed {
    global: Global,
    /// The words, of which ids are not offered again.
    words: Vec<String>,
    /// The top-level commands.
    commands: Vec<String>,
}

impl Typed {
    fn new(root: &Command, global: Global, line: &[OsString]) -> Self {
        let before = line.split_last().map_or(&[][..], |(_, before)| before);
        let words = before.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
        let commands = commands.map(|command| command.get_name().to_owned()).collect();
        Self { global, words, commands }
    }

    fn is_new(&self, id: &str) -> bool {
        self.words.iter().all(|word| word != id)
    }
}

/// Adds the values to the arguments of a command and its subcommands. They are recognized by the
/// names of their values. `group` is the group of the command, such as `image`.
fn add_completions(command: Command, group: Option<&str>, typed: &Typed) -> Command {
    // `mut_arg` would move the argument to the end, and so change the order of positionals.
    let command = command.mut_args(|arg| with_candidates(arg, group, typed.clone()));
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let group = group.unwrap_or(&name).to_owned();
        command.mut_subcommand(name, |sub| add_completions(sub, Some(&group), typed))
    })
}

fn with_candidates(arg: Arg, group: Option<&str>, typed: Typed) -> Arg {
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let global = typed.global.clone();
    let find: Box<dyn Fn() -> Vec<CompletionCandidate> + Send + Sync> = match value.as_deref() {
        Some("FORMAT_ID|HANDLE/SLUG") => {
            let formats = move |current: &OsStr| formats(&global, current);
            return arg.add(ArgValueCompleter::new(formats));
        }
        Some("NAME") if group == Some("profile") => Box::new(move || profiles(&global)),
        _ if arg.get_long() == Some("profile") => Box::new(move || profiles(&global)),
        Some("MODEL_ID") => {
            let kind = ["image", "video"].into_iter().find(|kind| group == Some(kind));
            Box::new(move || models(&global, kind))
        }
        #[cfg(feature = "mcp")]
        Some("TOOL") if group == Some("mcp") => Box::new(move || fetched(&global, List::Tools)),
        Some("ACTION_ID") => Box::new(move || fetched(&global, List::Actions)),
        Some("STATUS") if group == Some("job") => {
            Box::new(|| names(JobStatus::KNOWN.iter().map(JobStatus::as_str)))
        }
        Some("TYPE") if group == Some("job") => Box::new(|| names(job_types())),
        Some("OPERATION") if group == Some("batch") => {
            Box::new(|| names(batch::operations().map(Operation::name)))
        }
        Some("COMMAND") if group == Some("help") => Box::new(move || names(&typed.commands)),
        Some("EVENT") if group == Some("webhook") => Box::new(|| names(samples().keys())),
        Some("EVENT_ID") => Box::new(move || events(&typed)),
        Some("JOB_ID") => Box::new(move || history(&typed, "job_id")),
        Some("RUN_ID") => Box::new(move || history(&typed, "run_id")),
        Some("QUEUE_ID") => Box::new(move || history(&typed, "queue_id")),
        Some("TOP_UP_ID") => Box::new(move || history(&typed, "top_up_id")),
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(find))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Value {
    value: String,
    #[serde(default)]
    help: String,
    /// The type of a model, or whether a Format has only an id.
    #[serde(default)]
    kind: String,
}

impl Value {
    fn new(value: impl Into<String>, help: Option<String>, kind: &str) -> Self {
        Self { value: value.into(), help: help.unwrap_or_default(), kind: kind.to_owned() }
    }
}

const MAX_HISTORY: usize = 100;

/// `field` selects jobs or runs. What has ended cannot be canceled.
fn history(typed: &Typed, field: &str) -> Vec<CompletionCandidate> {
    let global = typed.global.clone();
    let found = remote::in_time(move || {
        let session = Session::without_logging(global).ok()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let entries = runtime.ok()?.block_on(session.submitted()).ok()?;
        Some((entries, session.seen_statuses()))
    });
    let (entries, seen) = found.unwrap_or_default();
    let is_cancel = typed.words.iter().any(|word| word == "cancel");
    let values = entries.into_iter().filter_map(|entry| {
        let resource = entry.resource.as_ref().filter(|it| it.field() == field)?;
        let seen = || Outcome::of_status(seen.get(resource.id())?);
        let has_ended = entry.outcome.is_some_and(Outcome::is_end) || seen().is_some();
        if is_cancel && has_ended {
            return None;
        }
        let outcome = entry.outcome.map_or("unknown", Outcome::as_str);
        Some(Value::new(resource.id(), Some(format!("{outcome}: {}", entry.summary)), ""))
    });
    candidates(values.filter(|value| typed.is_new(&value.value)).take(MAX_HISTORY))
}

fn events(typed: &Typed) -> Vec<CompletionCandidate> {
    let global = typed.global.clone();
    let events = remote::in_time(move || {
        let address = StoreAddress::resolve(None, &Session::without_logging(global).ok()?).ok()?;
        // A server may be slow.
        address.file()?;
        let mut query = ListQuery::default();
        query.limit = MAX_HISTORY;
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.ok()?.block_on(async {
            let store = address.open_read_only().await.ok()?;
            store.list(&query).await.ok()
        })
    });
    let values = events.into_iter().flatten().map(|event| {
        let help = format!("{}: {}", event.state.as_str(), event.event_type);
        Value::new(event.id.to_string(), Some(help), "")
    });
    candidates(values.filter(|value| typed.is_new(&value.value)))
}

fn profiles(global: &Global) -> Vec<CompletionCandidate> {
    let Ok(session) = Session::without_logging(global.clone()) else { return Vec::new() };
    let settings = session.settings().ok();
    names(settings.into_iter().flat_map(|settings| settings.file.profiles()))
}

fn names(names: impl IntoIterator<Item: Into<String>>) -> Vec<CompletionCandidate> {
    candidates(names.into_iter().map(|name| Value::new(name, None, "")))
}

fn fetched(global: &Global, list: List) -> Vec<CompletionCandidate> {
    candidates(remote::fetch(global, list).into_iter())
}

fn models(global: &Global, kind: Option<&str>) -> Vec<CompletionCandidate> {
    let mut models = remote::fetch(global, List::Models);
    models.retain(|model| kind.is_none_or(|kind| model.kind.is_empty() || model.kind == kind));
    candidates(models.into_iter())
}

/// Returns the Formats as `HANDLE/SLUG`, and also by their ids if that is what is being typed.
fn formats(global: &Global, current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let formats = remote::fetch(global, List::Formats);
    let matching = formats.into_iter().filter(|format| {
        let is_address = format.value.contains('/') || format.kind == remote::ONLY_ID;
        format.value.starts_with(&*current) && (is_address || !current.is_empty())
    });
    candidates(matching)
}

/// The shell inserts values as they are, so that those with special characters are left out.
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

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Shell to print the script for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn print_script(session: &Session, args: &Completions) -> Result {
    let name = args.shell.to_possible_value();
    let name = name.as_ref().map_or("", |value| value.get_name());
    let shells = Shells::builtins();
    let completer = shells
        .completer(name)
        .ok_or_else(|| Failure::usage(format!("no completions for `{name}`")))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "svc", "svc", "svc", &mut script)
        .map_err(|error| Failure::other(format!("cannot create the script: {error}")))?;
    session.printer.print_bytes(&script)?;
    if session.printer.is_terminal() {
        let line = match args.shell {
            Shell::Fish => "svc completions fish | source",
            Shell::PowerShell => "svc completions powershell | Out-String | Invoke-Expression",
            Shell::Elvish => "eval (svc completions elvish | slurp)",
            Shell::Zsh => "source <(svc completions zsh)",
            _ => "source <(svc completions bash)",
        };
        session.printer.note(&format!("put this line into the startup file of the shell: {line}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_valid_with_completions() {
        let command = add_completions(crate::cli::full_command_line(), None, &Typed::default());
        command.debug_assert();
    }

    #[test]
    fn values_that_a_shell_would_interpret_are_not_offered() {
        for plain in ["video-f", "demo/teaser", "job_1", "image-1.0"] {
            assert!(is_plain(plain), "{plain}");
        }
        for hostile in ["", "$(reboot)", "a b", "a;b", "-rf", "a\u{1b}", "`x`", "a'b"] {
            assert!(!is_plain(hostile), "{hostile}");
        }
    }
}
