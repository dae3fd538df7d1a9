//! Suggestions of what to do next: text and commands, joined when they are shown.

use std::fmt;

use crate::text::{sanitize, shell_quote};

#[derive(Clone, Debug, Default)]
pub(crate) struct SuggestedCommand {
    words: Vec<String>,
    profile: Option<String>,
    /// The flags that choose the service, such as its URL.
    service_flags: Vec<String>,
}

impl SuggestedCommand {
    pub(crate) fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    pub(crate) fn with_service_flags(mut self, flags: Vec<String>) -> Self {
        self.service_flags = flags;
        self
    }

    /// Makes it use a profile, unless it names one. The mock has none.
    pub(crate) fn with_profile(mut self, profile: &str) -> Self {
        let has_none = self.words.first().is_some_and(|word| word == "mock");
        let is_profile = |word: &String| word == "--profile" || word.starts_with("--profile=");
        if !has_none && !self.words.iter().any(is_profile) {
            self.profile.get_or_insert(profile.to_owned());
        }
        self
    }
}

impl fmt::Display for SuggestedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = self.profile.as_deref().map(|name| ["--profile", name]);
        // What follows `--` is not a flag.
        let end = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
        let (words, values) = self.words.split_at(end);
        let flags = profile.into_iter().flatten();
        let flags = flags.chain(self.service_flags.iter().map(String::as_str));
        let as_str = String::as_str;
        f.write_str("svc")?;
        for word in words.iter().map(as_str).chain(flags).chain(values.iter().map(as_str)) {
            // Identifiers come from the service and are printed to a terminal.
            write!(f, " {}", sanitize(&shell_quote(word)))?;
        }
        Ok(())
    }
}

/// A suggestion, such as `list the models with: svc model list --type image`.
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
    /// Appends a command of this program, given by the words after the program's name.
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

    pub(super) fn with_profile(self, profile: &str) -> Self {
        let parts = self.0.into_iter().map(|part| match part {
            Part::Command(command) => Part::Command(command.with_profile(profile)),
            text @ Part::Text(_) => text,
        });
        Self(parts.collect())
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
    fn commands_are_quoted_and_keep_the_profile() {
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
            assert_eq!(suggestion.with_profile("my work").to_string(), expected);
        }
    }
}
