//! Suggestions of what to do next: text and commands, joined when they are shown.

use std::fmt;

use crate::text::{sanitize, shell_quote};

/// The flags of a command that the commands it suggests keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptFlags {
    pub(crate) profile: Option<String>,
    pub(crate) is_sandbox: bool,
}

impl KeptFlags {
    fn words(&self) -> impl Iterator<Item = &str> {
        let profile = self.profile.as_deref().map(|name| ["--profile", name]);
        profile.into_iter().flatten().chain(self.is_sandbox.then_some("--sandbox"))
    }
}

/// The flags, with a space before each.
impl fmt::Display for KeptFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().try_for_each(|word| write!(f, " {}", shell_quote(word)))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SuggestedCommand {
    words: Vec<String>,
    flags: KeptFlags,
    /// The flags that choose the service, such as its URL.
    service_flags: Vec<String>,
}

impl SuggestedCommand {
    pub(crate) fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Leaves out flags, of which `valued` have a value, and adds words.
    pub(crate) fn of_this_process(valued: &[&str], plain: &[&str], added: &[&str]) -> Self {
        let words = std::env::args_os().skip(1);
        Self::changed(words.map(|word| word.to_string_lossy().into_owned()), valued, plain, added)
    }

    fn changed(
        words: impl Iterator<Item = String>,
        valued: &[&str],
        plain: &[&str],
        added: &[&str],
    ) -> Self {
        let mut words = words.peekable();
        let mut kept = Vec::new();
        // What follows `--` is not a flag.
        while let Some(word) = words.next_if(|word| word != "--") {
            let name = word.split('=').next().unwrap_or_default();
            if valued.contains(&name) {
                if name == word {
                    words.next();
                }
            } else if !plain.contains(&name) {
                kept.push(word);
            }
        }
        kept.extend(added.iter().map(|word| (*word).to_owned()));
        Self::new(kept.into_iter().chain(words))
    }

    pub(crate) fn with_service_flags(mut self, flags: Vec<String>) -> Self {
        self.service_flags = flags;
        self
    }

    /// Adds the flags that it does not have. The mock has no profile, and the sandbox no configuration.
    pub(crate) fn with_flags(mut self, flags: &KeptFlags) -> Self {
        let group = self.words.first().map(String::as_str).unwrap_or_default();
        let has = |flag| self.words.iter().any(|word| word.split('=').next() == Some(flag));
        let is_configuration = matches!(group, "mock" | "init" | "auth" | "config" | "profile");
        self.flags.is_sandbox |= flags.is_sandbox && !is_configuration && !has("--sandbox");
        if group != "mock" && !has("--profile") && self.flags.profile.is_none() {
            self.flags.profile.clone_from(&flags.profile);
        }
        self
    }
}

impl fmt::Display for SuggestedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What follows `--` is not a flag.
        let end = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
        let (words, values) = self.words.split_at(end);
        let as_str = String::as_str;
        let flags = self.flags.words().chain(self.service_flags.iter().map(as_str));
        f.write_str("svc")?;
        for word in words.iter().map(as_str).chain(flags).chain(values.iter().map(as_str)) {
            // Identifiers come from the service and are printed to a terminal.
            write!(f, " {}", sanitize(&shell_quote(word)))?;
        }
        Ok(())
    }
}

/// Such as `list the models with: svc model list --type image`.
#[derive(Clone, Debug)]
pub(crate) struct Suggestion(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Command(SuggestedCommand),
}

impl From<&str> for Suggestion {
    fn from(text: &str) -> Self {
        Self(vec![Part::Text(text.to_owned())])
    }
}

impl From<String> for Suggestion {
    fn from(text: String) -> Self {
        Self(vec![Part::Text(text)])
    }
}

impl Suggestion {
    pub(crate) fn svc<W: Into<String>>(self, words: impl IntoIterator<Item = W>) -> Self {
        self.command(SuggestedCommand::new(words))
    }

    pub(crate) fn command(mut self, command: SuggestedCommand) -> Self {
        self.0.push(Part::Command(command));
        self
    }

    pub(crate) fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    pub(super) fn with_flags(self, flags: &KeptFlags) -> Self {
        let parts = self.0.into_iter().map(|part| match part {
            Part::Command(command) => Part::Command(command.with_flags(flags)),
            text @ Part::Text(_) => text,
        });
        Self(parts.collect())
    }

    /// Returns whether one of the commands has the word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        let commands = self.0.iter().filter_map(|part| match part {
            Part::Command(command) => Some(command),
            Part::Text(_) => None,
        });
        commands.flat_map(|command| &command.words).any(|it| it == word)
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Command(command) => command.fmt(f),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_repeated_with_other_flags() {
        let rows = [
            ("job list", "svc job list --cursor c2"),
            ("job list --cursor c1 --limit 3", "svc job list --limit 3 --cursor c2"),
            ("job list --cursor=c1 -o json", "svc job list -o json --cursor c2"),
            ("job list --new --all=x", "svc job list --cursor c2"),
            ("trending search -- --cursor c1", "svc trending search --cursor c2 -- --cursor c1"),
        ];
        for (words, expected) in rows {
            let words = words.split(' ').map(str::to_owned);
            let changed = SuggestedCommand::changed(
                words,
                &["--cursor"],
                &["--new", "--all"],
                &["--cursor", "c2"],
            );
            assert_eq!(changed.to_string(), expected);
        }
        let words = ["avatar", "search", "red hair"].map(str::to_owned).into_iter();
        let changed = SuggestedCommand::changed(words, &[], &[], &["--cursor", "a b"]);
        assert_eq!(changed.to_string(), "svc avatar search 'red hair' --cursor 'a b'");
    }

    #[test]
    fn commands_are_quoted_and_keep_flags() {
        let url = vec!["--base-url".to_owned(), "http://a".to_owned()];
        let wait = SuggestedCommand::new(["job", "wait", "a b"]).with_service_flags(url);
        let rows = [
            (
                Suggestion::from("log in (").svc(["auth", "login", "--surface", "open"]).then(")"),
                "log in (svc auth login --surface open --profile 'my work')",
            ),
            (
                Suggestion::from("").command(wait),
                "svc job wait 'a b' --profile 'my work' --base-url http://a",
            ),
            (Suggestion::from("").svc(["init", "--profile", "x"]), "svc init --profile x"),
            (Suggestion::from("").svc(["init", "--profile=x"]), "svc init --profile=x"),
            (Suggestion::from("").svc(["me", "--", "-a"]), "svc me --profile 'my work' -- -a"),
            (Suggestion::from("start it: ").svc(["mock", "serve"]), "start it: svc mock serve"),
            (Suggestion::from("retry later"), "retry later"),
        ];
        for (suggestion, expected) in rows {
            let profile = KeptFlags { profile: Some("my work".to_owned()), is_sandbox: false };
            assert_eq!(suggestion.with_flags(&profile).to_string(), expected);
        }
        for (words, expected) in [
            ("model list", "svc model list --sandbox"),
            ("model list --sandbox", "svc model list --sandbox"),
            ("auth login", "svc auth login"),
            ("mock serve", "svc mock serve"),
        ] {
            let sandbox = KeptFlags { profile: None, is_sandbox: true };
            let command = SuggestedCommand::new(words.split(' ')).with_flags(&sandbox);
            assert_eq!(command.to_string(), expected);
        }
    }
}
