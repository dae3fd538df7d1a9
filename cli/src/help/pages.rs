//! The pages that are not the help of one command: the welcome, the options of every command, and
//! `svc help`.

use clap::{Arg, ArgAction, Command};

/// The page that `svc` prints without arguments.
const WELCOME: &str = "\
svc generates images, videos and music, and runs agents.

Three commands to try:
  svc --sandbox video generate \"a red fox in snow\" --yes   # on a built-in mock: no account, no cost
  svc init                                                 # verify and store URLs and API keys
  svc video generate \"a red fox in snow\" --download .      # show the price, ask, generate, download

List all commands with `svc --help`, and show examples of one with `svc help video generate`.
";

/// The topic of `svc help` that lists the options of every command.
const OPTIONS_TOPIC: &str = "options";

/// Returns the page that `svc` shows without arguments.
pub(crate) fn welcome_page() -> clap::Error {
    let page = Command::new("svc")
        .disable_help_flag(true)
        .arg(help_flag())
        .help_template(WELCOME);
    request_help(page, &[])
}

/// Returns the page of a topic of `svc help`: a command, or `options`. It is a clap error, like the
/// result of `--help`; for an unknown command it is the usage error.
pub(crate) fn topic_page(command_line: Command, topic: &[String]) -> clap::Error {
    match topic {
        [topic] if topic == OPTIONS_TOPIC => request_help(options_page(&command_line), &[]),
        path => request_help(command_line, path),
    }
}

/// Returns a command whose help lists the options of every command.
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
    Arg::new("help")
        .short('h')
        .long("help")
        .help("Print help")
        .action(ArgAction::Help)
}

/// Parses `svc PATH --help`, which is an error in clap.
fn request_help(command_line: Command, path: &[String]) -> clap::Error {
    let words = ["svc"].into_iter().chain(path.iter().map(String::as_str));
    match command_line
        .clone()
        .try_get_matches_from(words.chain(["--help"]))
    {
        Err(error) => error,
        Ok(_) => command_line
            .clone()
            .error(clap::error::ErrorKind::InvalidSubcommand, "no help found"),
    }
}
