//! The examples in the help of each command.

mod agents;
mod create;
mod develop;
mod jobs;
mod models;
mod setup;

/// The examples of a command: lines that begin with `#` say what the next line does.
type Examples = (&'static str, &'static [&'static str]);

/// Returns the examples of all commands.
pub(super) fn all() -> impl Iterator<Item = &'static Examples> {
    [
        create::EXAMPLES,
        jobs::EXAMPLES,
        agents::EXAMPLES,
        models::EXAMPLES,
        develop::EXAMPLES,
        setup::EXAMPLES,
    ]
    .into_iter()
    .flatten()
}

/// The number of examples in the help of a group.
const GROUP_EXAMPLES: usize = 3;

/// Returns the section with the examples of the command at a path, such as `svc job get`. A group
/// shows the first example of its first commands, or those of its only command.
pub(super) fn section(path: &str) -> Option<String> {
    let lines: Vec<&str> = match all().find(|(command, _)| *command == path) {
        Some((_, lines)) => lines.to_vec(),
        None => {
            let is_subcommand = |command: &str| {
                command
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with(' '))
            };
            let commands: Vec<_> = all()
                .filter(|(command, _)| is_subcommand(command))
                .map(|(_, lines)| lines.iter().copied().filter(|line| !line.starts_with('#')))
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
    if lines.is_empty() {
        return None;
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    Some(format!("Examples:\n{}", lines.join("\n")))
}
