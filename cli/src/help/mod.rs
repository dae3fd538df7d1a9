//! The help: groups of commands, examples, and the options of every command.

mod examples;
#[cfg(test)]
mod fields_tests;
mod flags;
mod groups;
mod operations;
mod pages;
mod profile;
#[cfg(test)]
mod tests;

use clap::{Arg, ArgAction, Command};

pub(crate) use self::flags::{flag_of_field, given_command};
pub(crate) use self::operations::calls;
pub(crate) use self::pages::{topic_page, welcome_page};
pub(crate) use self::profile::with_profile;

/// The line that stands in the help of every command for the options that all of them have.
const GLOBAL_OPTIONS_NOTE: &str =
    "Options of every command (--output, --jq, --quiet, …): svc help options";

/// Adds to the parser what the help shows: the groups of commands, examples, operations, and which
/// arguments are required.
pub(crate) fn annotate(root: Command) -> Command {
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .help("Print help")
        .action(ArgAction::HelpShort)
        .global(true);
    let root = root.disable_help_flag(true).arg(help);
    // They are listed by `svc help options` only.
    let root = root.mut_args(|arg| match arg.is_global_set() {
        true => arg.hide_short_help(true),
        false => arg,
    });
    let template = groups::root_template(&root);
    let root = root.help_template(template);
    // Those with subcommands are annotated when these are added.
    root.mut_subcommands(|command| match command.is_subcommand_required_set() {
        true => command,
        false => annotate_command(command, "svc"),
    })
}

/// Adds to a command, and to its subcommands, what its help shows.
pub(crate) fn annotate_command(command: Command, parent: &str) -> Command {
    let path = format!("{parent} {}", command.get_name());
    let sections = [
        examples::section(&path),
        operations::section(&path),
        Some(GLOBAL_OPTIONS_NOTE.to_owned()),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    // `--help` and `-h` print the same page, in which every option takes few lines. The full
    // description would otherwise be left out of it.
    let description = command
        .get_long_about()
        .or(command.get_about())
        .cloned()
        .unwrap_or_default();
    // Without arguments, `{all-args}` would leave blank lines.
    let has_arguments = command.has_subcommands() || command.get_arguments().next().is_some();
    let all_args = if has_arguments { "\n\n{all-args}" } else { "" };
    let sections = sections.join("\n\n");
    let command = command
        .before_help(description)
        // `{after-help}` would be wrapped, and a command that is wrapped cannot be pasted.
        .help_template(format!(
            "{{before-help}}{{usage-heading}} {{usage}}{all_args}\n\n{sections}"
        ))
        // For the manual pages.
        .after_help(sections)
        .mut_args(mark_required);
    command.mut_subcommands(|sub| annotate_command(sub, &path))
}

fn mark_required(arg: Arg) -> Arg {
    match arg.get_help() {
        Some(help) if arg.is_required_set() => {
            let help = format!("{help} (required)");
            arg.help(help)
        }
        _ => arg,
    }
}
