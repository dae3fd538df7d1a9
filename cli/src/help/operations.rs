//! The API operations in the help of each command.

use svc_sdk::contract::{Operation, Surface};

use crate::operation_commands::command_of;

/// Returns the section that lists the operations that a command calls, if it calls any.
pub(super) fn section(path: &str) -> Option<String> {
    let operations = || {
        let all = Operation::ALL.iter();
        all.filter(|operation| calls(path, command_of(**operation)))
    };
    // The flag decides which of the operations is called.
    let is_by_surface = operations().any(|it| command_of(*it).contains(" --surface "));
    let operations: Vec<String> = operations()
        .map(|operation| {
            let flag = match (is_by_surface, operation.surface()) {
                (true, Surface::Open) => ", --surface open",
                (true, Surface::Developer) => ", --surface developer",
                _ => "",
            };
            format!(
                "  {} {} ({}{flag})",
                operation.method().as_str(),
                operation.path(),
                operation.name()
            )
        })
        .collect();
    (!operations.is_empty()).then(|| format!("Operations:\n{}", operations.join("\n")))
}

/// Returns whether `cli`, such as `svc job get JOB_ID`, is the command at `path`, such as
/// `svc job get`.
pub(crate) fn calls(path: &str, cli: &str) -> bool {
    cli.split(" | ").any(|cli| {
        let rest = cli
            .strip_prefix(path)
            .map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
        rest.is_some_and(|rest| {
            let next = rest.split(' ').next().unwrap_or_default();
            let is_argument = |word: &str| {
                !word.is_empty()
                    && word
                        .bytes()
                        .all(|b| b.is_ascii_uppercase() || b"_/".contains(&b))
            };
            cli.len() == path.len()
                || next.starts_with("--")
                || is_argument(next)
                || path == "svc model run" && cli.starts_with(path)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_path_matches_exactly() {
        assert!(calls("svc job get", "svc job get JOB_ID"));
        assert!(calls("svc model list", "svc model list --type image"));
        assert!(calls("svc model run", "svc model run image-1.0"));
        assert!(calls("svc estimate", "svc estimate"));
        assert!(calls("svc mcp call", "svc mcp tools | svc mcp call TOOL"));
        assert!(!calls("svc job", "svc job get JOB_ID"));
        assert!(!calls("svc format run", "svc format runs FORMAT_ID"));
    }
}
