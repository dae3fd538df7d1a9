//! The operations in the long help of each command.

use clap::Command;
use svc_sdk::contract::Operation;

use crate::operation_commands::command_of;

/// Adds the operations that each command calls to its long help.
pub(crate) fn annotate(command: Command, path: &str) -> Command {
    let operations: Vec<String> = Operation::ALL
        .iter()
        .filter(|operation| calls(path, command_of(**operation)))
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

/// Returns whether `cli`, such as `svc job get JOB_ID`, is the command at `path`, such as
/// `svc job get`.
fn calls(path: &str, cli: &str) -> bool {
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
    fn command_path_matches_exactly() {
        assert!(calls("svc job get", "svc job get JOB_ID"));
        assert!(calls("svc model list", "svc model list --type image"));
        assert!(calls("svc estimate", "svc estimate"));
        assert!(!calls("svc job", "svc job get JOB_ID"));
        assert!(!calls("svc format run", "svc format runs FORMAT_ID"));
    }
}
