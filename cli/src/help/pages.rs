//! The pages that are not the help of one command: the welcome, the options of every command, and
//! `svc help`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::{Arg, ArgAction, ArgMatches, Args, Command};

use super::all_commands;
use crate::error::{Failure, Result};
use crate::session::Session;
use crate::text::wrap_words;
use crate::version;

const WELCOME: &str = include_str!("welcome.txt");

/// The topics of `svc help` that are not commands, other than `all` and `options`, and their pages.
pub(super) const TOPICS: [(&str, &str); 3] = [
    ("surfaces", include_str!("surfaces.txt")),
    ("exit-codes", include_str!("exit_codes.txt")),
    ("environment", include_str!("environment.txt")),
];

pub(crate) fn welcome_page() -> clap::Error {
    request_help(page(WELCOME), &[])
}

/// Returns a page as a clap error, as `--help` does, or the usage error of an unknown command.
pub(crate) fn topic_page(command_line: Command, topic: &[String]) -> clap::Error {
    let text = match topic {
        [topic] if topic == "options" => {
            return request_help(options_page(&command_line), &[]);
        }
        [topic] if topic == "all" => {
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

pub(super) fn narrow_width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let (_, columns) = console::Term::stdout().size_checked()?;
        (1..PAGE_WIDTH).contains(&columns).then_some(columns.into())
    })
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

/// Returns a command whose help lists the options of every command.
fn options_page(command_line: &Command) -> Command {
    let options = command_line.get_arguments();
    let options = options.filter(|arg| arg.is_global_set() && arg.get_id() != "help").cloned();
    let options = options.map(|arg| arg.hide_short_help(false)).chain([help_flag()]);
    Command::new("svc")
        .disable_help_flag(true)
        .args(options.map(|arg| arg.help_heading("Options of every command")))
        .help_template("{all-args}\n")
}

fn help_flag() -> Arg {
    Arg::new("help").short('h').long("help").help("Print help").action(ArgAction::Help)
}

fn request_help(command_line: Command, path: &[String]) -> clap::Error {
    let words = ["svc"].into_iter().chain(path.iter().map(String::as_str));
    match command_line.clone().try_get_matches_from(words.chain(["--help"])) {
        Err(error) => error,
        Ok(_) => {
            command_line.clone().error(clap::error::ErrorKind::InvalidSubcommand, "no help found")
        }
    }
}

/// Returns the command that was given, its path, and its own arguments.
pub(crate) fn given_command<'a>(
    command: &'a Command,
    matches: &'a ArgMatches,
) -> (&'a Command, String, &'a ArgMatches) {
    let mut path = command.get_name().to_owned();
    let (mut command, mut matches) = (command, matches);
    while let Some((name, sub_matches)) = matches.subcommand()
        && let Some(sub) = command.find_subcommand(name)
    {
        path = format!("{path} {name}");
        (command, matches) = (sub, sub_matches);
    }
    (command, path, matches)
}

/// Returns `--prompt` for `input.prompt`, and `--image-url[1]` for `image_url[1]`.
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

pub(crate) fn write_manual(session: &Session, args: &Man, command_line: Command) -> Result {
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
