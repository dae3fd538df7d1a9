//! Commands in hints that keep the profile.

use clap::Command;

use crate::text::shell_quote;

/// Adds `--profile` to the commands that a hint names, after the names of their subcommands. The mock
/// and the sandbox have no profiles.
pub(crate) fn with_profile(root: &Command, hint: &str, profile: &str) -> String {
    if hint.contains("--profile") || hint.contains("--sandbox") {
        return hint.to_owned();
    }
    let flag = format!(" --profile {}", shell_quote(profile));
    let mut parts = hint.split("svc ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("svc ");
        let end = path_length(root, part);
        let (path, rest) = part.split_at(end);
        text.push_str(path);
        if !path.is_empty() && !path.starts_with("mock") {
            text.push_str(&flag);
        }
        text.push_str(rest);
    }
    text
}

/// Returns the length of the names of subcommands at the beginning of a text.
fn path_length(root: &Command, text: &str) -> usize {
    let mut command = root;
    let mut end = 0;
    let mut start = 0;
    for word in text.split(' ') {
        let name = word.trim_end_matches([',', ';', ':', ')', '`']);
        let Some(sub) = command.find_subcommand(name) else {
            break;
        };
        command = sub;
        end = start + name.len();
        if name.len() < word.len() {
            break;
        }
        start += word.len() + 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::full_command_line;

    #[test]
    fn commands_keep_the_profile() {
        let root = full_command_line();
        for (hint, expected) in [
            ("svc init", "svc init --profile work"),
            (
                "set up URLs with svc init, or store this key with svc auth login --surface open",
                "set up URLs with svc init --profile work, or store this key with svc auth login \
                 --profile work --surface open",
            ),
            (
                "`svc config show --origin` shows it",
                "`svc config show --profile work --origin` shows it",
            ),
            ("start it: svc mock serve", "start it: svc mock serve"),
            ("svc --sandbox doctor", "svc --sandbox doctor"),
            (
                "svc job get svc_1 --profile x",
                "svc job get svc_1 --profile x",
            ),
            ("retry later", "retry later"),
        ] {
            assert_eq!(with_profile(&root, hint, "work"), expected);
        }
    }
}
