//! Which arguments are completed with which values.

use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter};

use super::candidates::{self, ModelKind};
use crate::args::Global;

/// The values of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Jobs,
    Runs,
    Queues,
    TopUps,
    Models(ModelKind),
    Formats,
    Profiles,
}

/// Adds the values to the arguments of a command and its subcommands. They are recognized by the
/// names of their values.
pub(super) fn attach(command: Command, global: &Global) -> Command {
    attach_at(command, ModelKind::Any, global)
}

fn attach_at(command: Command, kind: ModelKind, global: &Global) -> Command {
    let kind = match command.get_name() {
        "image" => ModelKind::Image,
        "video" => ModelKind::Video,
        _ => kind,
    };
    // `mut_arg` would move the argument to the end, and so change the order of positionals.
    let command = command.mut_args(|arg| match values_of(&arg, kind) {
        Some(values) => add(arg, values, global.clone()),
        None => arg,
    });
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| attach_at(sub, kind, global))
    })
}

fn values_of(arg: &Arg, kind: ModelKind) -> Option<Values> {
    if arg.get_long() == Some("profile") {
        return Some(Values::Profiles);
    }
    match arg.get_value_names()?.first()?.as_str() {
        "JOB_ID" => Some(Values::Jobs),
        "RUN_ID" => Some(Values::Runs),
        "QUEUE_ID" => Some(Values::Queues),
        "TOP_UP_ID" => Some(Values::TopUps),
        "MODEL_ID" => Some(Values::Models(kind)),
        "FORMAT_ID|HANDLE/SLUG" => Some(Values::Formats),
        _ => None,
    }
}

fn add(arg: Arg, values: Values, global: Global) -> Arg {
    let history = |field| {
        let global = global.clone();
        ArgValueCandidates::new(move || candidates::history(&global, field))
    };
    match values {
        Values::Jobs => arg.add(history("job_id")),
        Values::Runs => arg.add(history("run_id")),
        Values::Queues => arg.add(history("queue_id")),
        Values::TopUps => arg.add(history("top_up_id")),
        Values::Models(kind) => arg.add(ArgValueCandidates::new(move || {
            candidates::models(&global, kind)
        })),
        Values::Formats => arg.add(ArgValueCompleter::new(move |current: &OsStr| {
            candidates::formats(&global, current)
        })),
        Values::Profiles => arg.add(ArgValueCandidates::new(move || {
            candidates::profiles(&global)
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_valid_with_completions() {
        let command = attach(crate::cli::full_command_line(), &Global::default());
        command.debug_assert();
    }
}
