//! Suggestions of what to do next: text and commands, joined when they are shown.

use crate::text::shell_quote;

/// A suggestion, such as `list the models with: svc model list --type image`.
#[derive(Clone, Debug)]
pub(crate) struct Suggestion(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// A command of this program, without the program's name.
    Command(Vec<String>),
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
    pub(crate) fn svc<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(Into::into).collect();
        self.0.push(Part::Command(words));
        self
    }

    /// Appends text.
    pub(crate) fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Makes the commands use a profile, unless they name one. The mock and the sandbox have none.
    pub(super) fn keep_profile(&mut self, profile: &str) {
        for part in &mut self.0 {
            let Part::Command(words) = part else { continue };
            let is_flag = |word: &String| word.starts_with('-');
            if words.first().is_some_and(|word| word == "mock")
                || words.iter().any(|word| word == "--profile")
            {
                continue;
            }
            let at = words.iter().position(is_flag).unwrap_or(words.len());
            words.splice(at..at, ["--profile".to_owned(), profile.to_owned()]);
        }
    }
}

impl std::fmt::Display for Suggestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Command(words) => {
                    f.write_str("svc")?;
                    for word in words {
                        write!(f, " {}", shell_quote(word))?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_and_keep_the_profile() {
        let shown = |mut suggestion: Suggestion| {
            suggestion.keep_profile("my work");
            suggestion.to_string()
        };
        let rows = [
            (
                Suggestion::from("log in (").svc(["auth", "login", "--surface", "open"]).then(")"),
                "log in (svc auth login --profile 'my work' --surface open)",
            ),
            (
                Suggestion::from("").svc(["job", "get", "a b"]),
                "svc job get 'a b' --profile 'my work'",
            ),
            (Suggestion::from("").svc(["init", "--profile", "x"]), "svc init --profile x"),
            (Suggestion::from("start it: ").svc(["mock", "serve"]), "start it: svc mock serve"),
            (Suggestion::from("retry later"), "retry later"),
        ];
        for (suggestion, expected) in rows {
            assert_eq!(shown(suggestion), expected);
        }
    }
}
