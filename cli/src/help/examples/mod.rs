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

/// Returns the section with the examples of the command at a path, such as `svc job get`.
pub(super) fn section(path: &str) -> Option<String> {
    let (_, lines) = all().find(|(command, _)| *command == path)?;
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    Some(format!("Examples:\n{}", lines.join("\n")))
}
