//! The pages that are not the help of one command: the welcome, the options of every command, and
//! `svc help`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command};

use super::all_commands;
use crate::error::Failure;
use crate::session::Session;
use crate::text::wrap_words;
use crate::version;

const WELCOME: &str = "\
svc generates images, videos and music, and runs agents. After a crash, run the
same command again: it resumes, or says that the outcome is unknown. It never
pays twice without --new.

Three commands to try:
  # On a built-in mock of the service: no account, no cost
  svc --sandbox video generate \"a red fox in snow\" --download out --yes
  # Ask for URLs and API keys, verify and store them
  svc init
  # Show the price, ask, generate, download
  svc video generate \"a red fox in snow\" --download out

List the commands with `svc --help`.
Show the options and examples of one with `svc help video generate`.
";

const OPTIONS_TOPIC: &str = "options";

const ALL_TOPIC: &str = "all";

/// The other topics of `svc help` that are not commands, and their pages.
pub(super) const TOPICS: [(&str, &str); 3] =
    [("surfaces", SURFACES), ("exit-codes", EXIT_CODES), ("environment", ENVIRONMENT)];

const SURFACES: &str = "\
The service has two APIs, called surfaces, each with its own base URL and API
key.

  open       images, videos, prices, top-ups, jobs
  developer  the account, generation, music, avatars, agent runs, webhooks, jobs

Most commands belong to one surface. Those with --surface can call either: by
default the open surface, or the developer surface if only that one is
configured.

  open       base URL: --base-url, SVC_BASE_URL
             API key:  SVC_OPEN_API_KEY
  developer  base URL: --developer-base-url, SVC_DEVELOPER_BASE_URL
             API key:  SVC_DEVELOPER_API_KEY

Store them with `svc init`; show them with `svc config show --origin`. The MCP
endpoint has a URL of its own, and takes the developer surface's key.
";

const EXIT_CODES: &str = "\
The exit codes of all commands:

  0    success
  1    any other failure
  2    invalid usage or configuration
  3    not authenticated, or not permitted
  4    not found
  5    insufficient funds, or over --max-price or --max-spend
  6    rate limited or overloaded until the retries were used up
  7    the job or run failed
  8    the job or run was canceled or skipped
  9    the wait timed out (--timeout); the job or run is still in progress
  10   the service could not be reached
  11   ambiguous: the request may have been carried out
  130  interrupted; 143 by SIGTERM, 129 by SIGHUP
";

const ENVIRONMENT: &str = "\
A flag overrides the environment, and the environment overrides the profile.

  SVC_BASE_URL             base URL of the open surface
  SVC_OPEN_API_KEY         API key of the open surface
  SVC_DEVELOPER_BASE_URL   base URL of the developer surface
  SVC_DEVELOPER_API_KEY    API key of the developer surface
  SVC_MCP_URL              URL of the MCP endpoint
  SVC_WEBHOOK_SECRET       signing secret of webhooks; several one per line,
                           newest first
  SVC_WEBHOOK_SECRET_FILE  file that contains it
  SVC_WEBHOOK_STORE        store of received webhook events
  SVC_FIRST_PARTY_OWNER    owner in the paths of `svc model run`
  SVC_PROFILE              profile of the configuration file
  SVC_CONFIG               path of the configuration file
  SVC_STATE_DIR            directory of the journal
  SVC_NO_LABELS            do not keep labels of prompts in the journal, if not
                           empty
  SVC_LOG                  info, debug or trace (as -v, -vv and -vvv), or a
                           tracing filter
  NO_COLOR                 no colors, if not empty
  CLICOLOR_FORCE           colors, also without a terminal
  COLUMNS                  width of tables, without a terminal
";

pub(crate) fn welcome_page() -> clap::Error {
    request_help(page(WELCOME), &[])
}

/// Returns the page of a topic of `svc help`: a command, `all`, `options` or one of
/// [`TOPICS`]. It
/// is a clap error, like the result of `--help`; for an unknown command it is the usage error.
pub(crate) fn topic_page(command_line: Command, topic: &[String]) -> clap::Error {
    let text = match topic {
        [topic] if topic == OPTIONS_TOPIC => {
            return request_help(options_page(&command_line), &[]);
        }
        [topic] if topic == ALL_TOPIC => {
            let text = all_commands(&command_line);
            return request_help(command_line.help_template(text), &[]);
        }
        [topic] => TOPICS.iter().find(|(name, _)| name == topic),
        _ => None,
    };
    match text {
        Some((_, text)) => request_help(page(text), &[]),
        None => request_help(command_line, topic),
    }
}

fn page(text: &'static str) -> Command {
    let text = match narrow_width() {
        Some(columns) => reflowed(text, columns),
        None => text.to_owned(),
    };
    Command::new("svc").disable_help_flag(true).arg(help_flag()).help_template(text)
}

const PAGE_WIDTH: u16 = 80;

/// Returns the width of the terminal, if the pages are wider.
pub(super) fn narrow_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    (1..PAGE_WIDTH).contains(&columns).then_some(columns.into())
}

/// Breaks the paragraphs of a page anew. Lines that are indented stay as they are.
fn reflowed(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    let end = |paragraph: &mut String, lines: &mut Vec<String>| {
        if !paragraph.is_empty() {
            lines.extend(wrap_words(&std::mem::take(paragraph), columns));
        }
    };
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if !is_prose {
            end(&mut paragraph, &mut lines);
            lines.push(line.to_owned());
        } else {
            let space = if paragraph.is_empty() { "" } else { " " };
            paragraph.push_str(&format!("{space}{line}"));
            // These lines say one thing each.
            if line.ends_with(['.', ':']) {
                end(&mut paragraph, &mut lines);
            }
        }
    }
    end(&mut paragraph, &mut lines);
    lines.join("\n") + "\n"
}

fn options_page(command_line: &Command) -> Command {
    let options = command_line
        .get_arguments()
        .filter(|arg| arg.is_global_set() && arg.get_id() != "help")
        .map(|arg| {
            let heading = "Options of every command";
            arg.clone().hide_short_help(false).help_heading(heading)
        });
    Command::new("svc")
        .disable_help_flag(true)
        .args(options)
        .arg(help_flag().help_heading("Options of every command"))
        .help_template("{all-args}\n")
}

fn help_flag() -> Arg {
    Arg::new("help").short('h').long("help").help("Print help").action(ArgAction::Help)
}

/// Parses `svc PATH --help`, which is an error in clap.
fn request_help(command_line: Command, path: &[String]) -> clap::Error {
    let words = ["svc"].into_iter().chain(path.iter().map(String::as_str));
    match command_line.clone().try_get_matches_from(words.chain(["--help"])) {
        Err(error) => error,
        Ok(_) => {
            command_line.clone().error(clap::error::ErrorKind::InvalidSubcommand, "no help found")
        }
    }
}

/// Returns the command that was given, and its path, such as `svc job get`.
pub(crate) fn given_command<'a>(
    command: &'a Command,
    matches: &ArgMatches,
) -> (&'a Command, String) {
    let mut path = command.get_name().to_owned();
    let (mut command, mut matches) = (command, matches);
    while let Some((name, sub_matches)) = matches.subcommand()
        && let Some(sub) = command.find_subcommand(name)
    {
        path = format!("{path} {name}");
        (command, matches) = (sub, sub_matches);
    }
    (command, path)
}

/// Returns the flag of a command that sets a field, such as `--avatar-handle` for `avatar_handle`,
/// `--prompt` for `input.prompt` and `--image-url[1]` for `image_url[1]`.
pub(crate) fn flag_of_field(command: &Command, field: &str) -> Option<String> {
    let (path, index) = match field.find('[') {
        Some(at) => field.split_at(at),
        None => (field, ""),
    };
    // `--input` is a file with the whole body, and not the field of that name.
    if path == "input" {
        return None;
    }
    let nested = path.rsplit('.').next().unwrap_or(path);
    let arg = [path.replace('.', "_"), nested.to_owned()]
        .iter()
        .map(|name| name.replace('_', "-"))
        .find_map(|name| {
            command.get_arguments().find(|arg| {
                let names = arg.get_long_and_visible_aliases().unwrap_or_default();
                !arg.is_global_set() && names.contains(&name.as_str())
            })
        })?;
    Some(format!("--{}{index}", arg.get_long()?))
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Directory to write to; created if missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn write_manual(
    session: &Session,
    args: &Man,
    command_line: Command,
) -> Result<(), Failure> {
    // Global options would have no text in the pages of subcommands.
    let mut root = command_line.mut_args(|arg| arg.hide_short_help(false));
    root.build();
    let write = || {
        fs::create_dir_all(&args.dir)?;
        write_pages(&root, "svc", &args.dir)
    };
    write()
        .map_err(|error| Failure::file("cannot write the manual pages to", &args.dir, &error))?;
    session.printer.note(&format!("wrote the manual pages to {}", args.dir.display()));
    Ok(())
}

fn write_pages(command: &Command, path: &str, dir: &Path) -> io::Result<()> {
    let name = path.replace(' ', "-");
    fs::write(dir.join(format!("{name}.1")), manual_page(command, path)?)?;
    let mut subcommands =
        command.get_subcommands().filter(|sub| !matches!(sub.get_name(), "help" | "version"));
    subcommands.try_for_each(|sub| write_pages(sub, &format!("{path} {}", sub.get_name()), dir))
}

fn manual_page(command: &Command, path: &str) -> io::Result<String> {
    let name = path.replace(' ', "-");
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let page = clap_mangen::Man::new(command.clone().after_help("").before_help(""))
        .title(name.to_uppercase())
        .section("1")
        .date(version::date())
        .source(concat!("svc ", env!("CARGO_PKG_VERSION")))
        .manual("svc");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    for block in notes.split("\n\n") {
        let (title, lines) = block.split_once(":\n").unwrap_or(("NOTES", block));
        let lines = lines.lines().map(|line| {
            // What a line begins with could be a request of roff.
            format!("\\&{}", line.trim_start().replace('\\', "\\e").replace('-', "\\-"))
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        writeln!(text, ".SH {}\n.nf\n{lines}\n.fi", title.to_uppercase())?;
    }
    // Formatters warn of a break beside a space.
    let text = String::from_utf8_lossy(&text).replace(".br\n\n.br\n", ".sp\n");
    let escaped = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => format!("\\[u{:04X}]", u32::from(c)),
    };
    Ok(text.chars().map(escaped).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::cli::full_command_line;

    #[test]
    fn paragraphs_follow_the_width() {
        let text = "One two three four.\nFive\nsix.\n\n  kept as it is here\nEnd";
        let expected = "One two\nthree four.\nFive six.\n\n  kept as it is here\nEnd\n";
        assert_eq!(reflowed(text, 12), expected);
    }

    #[test]
    fn fields_have_flags() {
        let root = full_command_line();
        let flag = |words: &str, field: &str| {
            let names = words.split(' ');
            let command = names.fold(&root, |command, name| command.find_subcommand(name).unwrap());
            flag_of_field(command, field)
        };
        let rows = [
            ("avatar generate", "avatar_handle", Some("--avatar-handle")),
            ("avatar generate", "input.prompt", Some("--prompt")),
            ("avatar generate", "input", None),
            ("avatar talking-video", "scene.image_url", Some("--scene-image-url")),
            ("video generate", "input.duration", Some("--duration")),
            ("video generate", "reference_image_urls[1]", Some("--reference-image-urls[1]")),
            ("format run", "generation_spend_cap_usd", Some("--cap")),
            ("format run", "previous_run_id", Some("--continue")),
            ("video generate", "seed", None),
            ("video generate", "output", None),
        ];
        for (words, field, expected) in rows {
            assert_eq!(flag(words, field).as_deref(), expected, "{words}: {field}");
        }
    }
}
