//! The help names the operation that a command reaches, out of the one table of operations.

use clap::Command;
use svc_sdk::contract::Operation;

use crate::operation_commands::command_of;

/// Adds the operations that each command reaches to its long help.
pub(crate) fn annotate(command: Command, path: &str) -> Command {
    let operations: Vec<String> = Operation::ALL
        .iter()
        .filter(|operation| reaches(path, command_of(**operation)))
        .map(|operation| {
            format!(
                "  {} {} ({})",
                operation.method().as_str(),
                operation.path(),
                operation.name()
            )
        })
        .collect();
    let command = match operations.as_slice() {
        [] => command,
        lines => command.after_long_help(format!("Operations:\n{}", lines.join("\n"))),
    };
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |sub| annotate(sub, &path))
    })
}

/// Whether `cli` (`svc job get JOB_ID`) is the command of that path (`svc job get`).
fn reaches(path: &str, cli: &str) -> bool {
    let rest = cli
        .strip_prefix(path)
        .map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    rest.is_some_and(|rest| {
        let next = rest.split(' ').next().unwrap_or_default();
        cli.len() == path.len()
            || next.starts_with("--")
            || (!next.is_empty()
                && next
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b"_/".contains(&b)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_operations_that_it_reaches() {
        assert!(reaches("svc job get", "svc job get JOB_ID"));
        assert!(reaches("svc model list", "svc model list --type image"));
        assert!(reaches("svc estimate", "svc estimate"));
        assert!(!reaches("svc job", "svc job get JOB_ID"));
        assert!(!reaches("svc format run", "svc format runs FORMAT_ID"));
    }
}
