//! The help: groups of commands, examples, and the options of every command.

mod pages;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use svc_sdk::contract::{Idempotency, Operation, Surface};

use crate::commands::operations::command_of;
use crate::text::wrap_words;

pub(crate) use self::pages::{
    Man, flag_of_field, given_command, topic_page, welcome_page, write_manual,
};

const GLOBAL_OPTIONS_NOTE: &str =
    "Options of every command (--output, --jq, --quiet, …): svc help options";

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
    let template = root_template(&root);
    let root = root.help_template(template);
    // Those with subcommands are annotated when these are added, the others when they are used.
    root.mut_subcommands(|command| match command.is_subcommand_required_set() {
        true => command,
        false => command.defer(|command| annotate_command(command, "svc")),
    })
}

/// The commands that lists of commands leave out: others do the same, or few need them.
const HIDDEN: &str = "model run, action run-get, job status, job result, run status, run result";

fn is_left_out(path: &str) -> bool {
    HIDDEN.split(", ").any(|words| path.strip_prefix("svc ") == Some(words))
}

pub(crate) fn annotate_command(command: Command, parent: &str) -> Command {
    let path = format!("{parent} {}", command.get_name());
    let is_hidden = command.is_hide_set() || is_left_out(&path);
    let command = accept_both_verbs(command).hide(is_hidden);
    let sections =
        [examples_section(&path), operations_section(&path), Some(GLOBAL_OPTIONS_NOTE.to_owned())];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    // `--help` and `-h` print the same page, in which every option takes few lines. The full
    // description would otherwise be left out of it.
    let description = command.get_long_about().or(command.get_about()).cloned().unwrap_or_default();
    // Without arguments, `{all-args}` would leave blank lines.
    let has_arguments =
        command.has_subcommands() || command.get_arguments().any(|arg| !arg.is_global_set());
    let all_args = if has_arguments { "\n\n{all-args}" } else { "" };
    let sections = sections.join("\n\n");
    let is_generate = command.get_arguments().any(|arg| arg.get_id() == "max_price")
        && command.get_arguments().any(|arg| arg.get_id() == "download");
    let command = command
        .before_help(description)
        // `{after-help}` would be wrapped, and a command that is wrapped cannot be pasted.
        .help_template(format!(
            "{{before-help}}{{usage-heading}} {{usage}}{all_args}\n\n{sections}"
        ))
        // For the manual pages.
        .after_help(sections)
        .mut_args(mark_required)
        .mut_args(|arg| if is_generate { show_first(arg) } else { arg })
        .mut_args(|arg| describe_idempotency(arg, &path));
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

fn show_first(arg: Arg) -> Arg {
    const FIRST: &str = "image_url video_url avatar_handle script model duration resolution \
        aspect_ratio num_images cap download no_wait timeout yes max_price dry_run";
    let is_first = FIRST.split(' ').any(|id| arg.get_id() == id);
    if is_first { arg.help_heading(None::<&str>) } else { arg }
}

fn accept_both_verbs(group: Command) -> Command {
    let has = |verb| group.find_subcommand(verb).is_some();
    match (has("get"), has("show")) {
        (true, false) => group.mut_subcommand("get", |get| get.alias("show")),
        (false, true) => group.mut_subcommand("show", |show| show.alias("get")),
        _ => group,
    }
}

fn describe_idempotency(arg: Arg, path: &str) -> Arg {
    let Some(help) = arg.get_help().filter(|_| arg.get_id() == "idempotency_key") else {
        return arg;
    };
    let texts: Vec<_> = operations_of(path)
        .filter(|(operation, _)| operation.idempotency() != Idempotency::NoKey)
        .map(|(operation, surface)| (operation.idempotency().description(), surface))
        .collect();
    let help = match texts.as_slice() {
        [] => help.to_string(),
        [(first, _), rest @ ..] if rest.iter().all(|(text, _)| text == first) => {
            format!("{help}. {first}")
        }
        all => all.iter().fold(help.to_string(), |help, (text, surface)| {
            format!("{help}. --surface {}: {text}", surface.unwrap_or_default())
        }),
    };
    // Help has no full stop at its end.
    let help = help.replace(".. ", ". ");
    arg.help(help.trim_end_matches('.').to_owned())
}

/// A command in brackets is followed by its examples; a `#` line says what the next one does.
const EXAMPLES: &str = include_str!("examples.txt");
const GROUP_EXAMPLES: usize = 3;

fn examples() -> impl Iterator<Item = (&'static str, std::str::Lines<'static>)> {
    EXAMPLES.split("\n\n").filter_map(|section| {
        let (path, lines) = section.strip_prefix('[')?.split_once("]\n")?;
        Some((path, lines.lines()))
    })
}

/// A group shows the first example of its first commands, or those of its only command.
fn examples_section(path: &str) -> Option<String> {
    let lines: Vec<&str> = match examples().find(|(command, _)| *command == path) {
        Some((_, lines)) => lines.collect(),
        None => {
            let group = format!("{path} ");
            let commands: Vec<_> = examples()
                .filter(|(command, _)| command.starts_with(&group) && !is_left_out(command))
                .map(|(_, lines)| lines.filter(|line| !line.starts_with('#')))
                .collect();
            match <[_; 1]>::try_from(commands) {
                Ok([only]) => only.take(GROUP_EXAMPLES).collect(),
                Err(commands) => {
                    let first = commands.into_iter().filter_map(|mut lines| lines.next());
                    first.take(GROUP_EXAMPLES).collect()
                }
            }
        }
    };
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    (!lines.is_empty()).then(|| format!("Examples:\n{}", lines.join("\n")))
}

/// In the order of the help. A command that this build does not have is left out.
const GROUPS: [(&str, &str); 8] = [
    ("Create", "image video music avatar avatar-video preview caption"),
    ("Jobs and runs", "job run queue batch history"),
    ("Agents", "action format agent"),
    ("Models and prices", "model pricing estimate catalog bgm trending"),
    ("Account", "me balance usage top-up"),
    ("Webhooks and MCP", "webhook mcp"),
    ("Development", "api schema operations mock health"),
    ("Setup", "init auth config profile doctor completions man"),
];

/// The commands that most people need, which `svc --help` describes.
const DAILY: &str = "image video music avatar format agent batch job run balance usage mock init";

const MORE: [(&str, &str); 5] = [
    ("Create", "avatar-video preview caption bgm trending"),
    ("Agents and jobs", "action queue history"),
    ("Models and prices", "model pricing estimate"),
    ("Account and setup", "me top-up auth config profile doctor completions"),
    ("Development", "webhook mcp api"),
];

const FOOTER: &str = "  svc help all          List all commands
  svc help COMMAND      Show the options and examples of a command
  svc help options      List the options of every command
  svc help surfaces     Explain the two APIs of the service
  svc help exit-codes   List the exit codes
  svc help environment  List the environment variables
  svc --version         Print the version
";

fn root_template(root: &Command) -> StyledStr {
    let styles = root.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = StyledStr::from("{about-with-newline}\n{usage-heading} svc COMMAND [OPTIONS]\n");
    write_commands(&mut text, root, "Commands", DAILY);
    let _ = write!(text, "\n{header}More commands:{header:#}\n");
    for (title, names) in MORE {
        let names: Vec<_> =
            names.split(' ').filter(|name| root.find_subcommand(name).is_some()).collect();
        let names = beside(24, &names.join(", "));
        let names = names.replace(", ", &format!("{literal:#}, {literal}"));
        let _ = writeln!(text, "  {title:20}  {literal}{names}{literal:#}");
    }
    let _ = write!(text, "\n{header}Help:{header:#}\n{FOOTER}");
    text
}

fn all_commands(root: &Command) -> StyledStr {
    let mut text = StyledStr::from("{usage-heading} svc COMMAND [OPTIONS]\n");
    for (title, names) in GROUPS {
        write_commands(&mut text, root, title, names);
    }
    text
}

/// Writes commands under a title. clap would show all of them as one list.
fn write_commands(text: &mut StyledStr, root: &Command, title: &str, names: &str) {
    let styles = root.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let _ = write!(text, "\n{header}{title}:{header:#}\n");
    for command in names.split(' ').filter_map(|name| root.find_subcommand(name)) {
        let about = command.get_about().cloned().unwrap_or_default();
        let name = command.get_name();
        let padding = 12 - name.len();
        let about = beside(16, &about.to_string());
        let _ = writeln!(text, "  {literal}{name}{literal:#}{:padding$}  {about}", "");
    }
}

/// Breaks a text that stands at a column, if the terminal is narrow.
fn beside(column: usize, text: &str) -> String {
    match pages::narrow_width() {
        None => text.to_owned(),
        Some(width) => {
            wrap_words(text, width.saturating_sub(column)).join(&format!("\n{:column$}", ""))
        }
    }
}

fn operations_section(path: &str) -> Option<String> {
    let operations: Vec<String> = operations_of(path)
        .map(|(operation, surface)| {
            let flag = surface.map_or(String::new(), |it| format!(", --surface {it}"));
            let (method, path) = (operation.method().as_str(), operation.path());
            format!("  {method} {path} ({operation}{flag})")
        })
        .collect();
    (!operations.is_empty()).then(|| format!("Operations:\n{}", operations.join("\n")))
}

fn operations_of(path: &str) -> impl Iterator<Item = (Operation, Option<&'static str>)> {
    let all = Operation::ALL.iter().copied();
    let operations: Vec<_> = all.filter(|it| is_command_line_of(path, command_of(*it))).collect();
    let is_by_surface = operations.iter().any(|it| command_of(*it).contains(" --surface "));
    operations.into_iter().map(move |operation| {
        let surface = match operation.surface() {
            Surface::Open | Surface::Developer if is_by_surface => {
                Some(operation.surface().as_str())
            }
            _ => None,
        };
        (operation, surface)
    })
}

/// Returns whether `cli`, such as `svc job get JOB_ID`, is the command at `path`, such as
/// `svc job get`.
pub(crate) fn is_command_line_of(path: &str, cli: &str) -> bool {
    cli.split(" | ").any(|cli| {
        let rest = cli.strip_prefix(path).map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
        rest.is_some_and(|rest| {
            let next = rest.split(' ').next().unwrap_or_default();
            let is_argument = |word: &str| {
                !word.is_empty()
                    && word.bytes().all(|b| b.is_ascii_uppercase() || b"_/".contains(&b))
            };
            cli.len() == path.len()
                || next.starts_with("--")
                || is_argument(next)
                || path == "svc model run" && cli.starts_with(path)
        })
    })
}
