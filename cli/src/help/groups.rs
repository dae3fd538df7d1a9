//! The groups of commands in `svc --help`.

use std::fmt::Write;

use clap::Command;
use clap::builder::StyledStr;

/// The groups, and the names of their commands in the order in which they are shown.
///
/// A command that this build does not have is left out.
pub(super) const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Create",
        &[
            "image",
            "video",
            "music",
            "avatar",
            "avatar-video",
            "preview",
            "caption",
        ],
    ),
    (
        "Jobs and runs",
        &["job", "run", "queue", "batch", "history"],
    ),
    ("Agents", &["action", "format", "agent"]),
    (
        "Models and prices",
        &["model", "pricing", "estimate", "catalog", "bgm", "trending"],
    ),
    ("Account", &["me", "balance", "usage", "top-up"]),
    ("Webhooks and MCP", &["webhook", "mcp"]),
    (
        "Development",
        &["api", "schema", "operations", "mock", "health"],
    ),
    (
        "Setup",
        &["init", "auth", "config", "doctor", "completions", "man"],
    ),
];

/// The end of `svc --help`.
const FOOTER: &str = "  svc help COMMAND      Show the options and examples of a command
  svc help options      List the options of every command
  svc help surfaces     Explain the two APIs of the service
  svc help exit-codes   List the exit codes
  svc help environment  List the environment variables
  svc --version         Print the version
";

/// Returns the template of `svc --help`. clap shows subcommands as one list, so the groups are
/// written out here.
pub(super) fn root_template(root: &Command) -> StyledStr {
    let styles = root.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let width = root
        .get_subcommands()
        .map(|command| command.get_name().len())
        .max()
        .unwrap_or_default();
    let mut text = StyledStr::from("{about-with-newline}\n{usage-heading} svc COMMAND [OPTIONS]\n");
    for (title, names) in GROUPS {
        let _ = write!(text, "\n{header}{title}:{header:#}\n");
        let commands = names.iter().filter_map(|name| root.find_subcommand(name));
        for command in commands {
            let name = command.get_name();
            let about = command.get_about().cloned().unwrap_or_default();
            let padding = width - name.len();
            let _ = writeln!(text, "  {literal}{name}{literal:#}{:padding$}  {about}", "");
        }
    }
    let _ = write!(text, "\n{header}Help:{header:#}\n{FOOTER}");
    text
}
