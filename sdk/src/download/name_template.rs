//! What names the files of a download: templates, and functions of the caller.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::file_name::{ArtifactName, safe_name};

/// The maximum number of characters of a slug.
const MAX_SLUG_CHARS: usize = 60;

/// What names the files of a download.
#[derive(Clone, Default)]
pub(super) enum FileNames {
    /// The artifact's id and extension.
    #[default]
    Id,
    Template(NameTemplate),
    Function(Arc<dyn Fn(&ArtifactName<'_>) -> String + Send + Sync>),
}

impl FileNames {
    /// Returns the file name of an artifact. It never leads out of the folder.
    pub(super) fn name(&self, name: &ArtifactName<'_>) -> String {
        let chosen = match self {
            Self::Id => return name.default_name(),
            Self::Template(template) => template.expand(name),
            Self::Function(function) => function(name),
        };
        let chosen = safe_name(&chosen);
        if chosen.is_empty() { name.default_name() } else { chosen }
    }
}

/// A template of file names, such as `{slug}-{index}.{ext}`.
///
/// | placeholder | value |
/// |---|---|
/// | `{id}` | the artifact's id |
/// | `{index}` | the artifact's number in the result, from 1 |
/// | `{job}` | the id of the job or run |
/// | `{slug}` | the [prompt](Self::prompt) in lower case with dashes, or else the id of the job or run |
/// | `{ext}` | the extension for the artifact's media type, such as `png` |
///
/// Its text form is the template, with the slug of the prompt if there is one.
///
/// ```
/// use svc_sdk::download::NameTemplate;
///
/// let template: NameTemplate = "{slug}-{index}.{ext}".parse()?;
/// let template = template.prompt("A red fox, in snow");
/// assert_eq!(template.to_string(), "a-red-fox-in-snow-{index}.{ext}");
/// assert!("{title}.png".parse::<NameTemplate>().is_err());
/// assert!("out/{id}.png".parse::<NameTemplate>().is_err());
/// # Ok::<(), svc_sdk::download::InvalidNameTemplate>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTemplate {
    text: String,
    slug: Option<String>,
}

impl NameTemplate {
    /// Sets the text that `{slug}` is made from.
    #[must_use]
    pub fn prompt(mut self, prompt: &str) -> Self {
        self.slug = Some(slug(prompt)).filter(|slug| !slug.is_empty());
        self
    }

    /// Returns the file name of an artifact.
    pub(super) fn expand(&self, name: &ArtifactName<'_>) -> String {
        // No value contains a placeholder: they are made of letters, digits, dashes and underscores.
        let slug = self.slug.clone().unwrap_or_else(|| name.safe_resource_id());
        self.text
            .replace("{id}", &name.stem())
            .replace("{index}", &name.number.to_string())
            .replace("{job}", &name.safe_resource_id())
            .replace("{slug}", &slug)
            .replace("{ext}", name.extension)
    }
}

impl FromStr for NameTemplate {
    type Err = InvalidNameTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidNameTemplate> {
        let invalid =
            |reason: String| Err(InvalidNameTemplate { template: text.to_owned(), reason });
        if text.contains(['/', '\\']) {
            return invalid("expected a file name without path separators".to_owned());
        }
        if text.is_empty() || text.starts_with('.') {
            return invalid("expected a file name that does not begin with a dot".to_owned());
        }
        if text.chars().any(char::is_control) {
            return invalid("expected a file name without control characters".to_owned());
        }
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('{') {
            let Some((placeholder, after)) = after.split_once('}') else {
                return invalid(format!("expected `}}` after `{{{after}`"));
            };
            if !matches!(placeholder, "id" | "index" | "job" | "slug" | "ext") {
                return invalid(format!(
                    "unknown placeholder `{{{placeholder}}}`, expected {{id}}, {{index}}, {{job}}, {{slug}} \
                     or {{ext}}"
                ));
            }
            rest = after;
        }
        Ok(Self { text: text.to_owned(), slug: None })
    }
}

impl fmt::Display for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slug {
            Some(slug) => f.write_str(&self.text.replace("{slug}", slug)),
            None => f.write_str(&self.text),
        }
    }
}

/// The error of a [`NameTemplate`] that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidNameTemplate {
    template: String,
    reason: String,
}

impl InvalidNameTemplate {
    /// Returns what is wrong with the template, without the template itself.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for InvalidNameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid name template `{}`: {}", self.template, self.reason)
    }
}

impl std::error::Error for InvalidNameTemplate {}

/// Returns the words of a text in lower case, joined by dashes.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    let mut chars = 0;
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let word = word.to_lowercase();
        let length = word.chars().count();
        let room = MAX_SLUG_CHARS - chars;
        match (word.is_empty(), slug.is_empty()) {
            (true, _) => {}
            (false, true) => {
                slug.extend(word.chars().take(room));
                chars = length.min(room);
            }
            (false, false) if length < room => {
                slug.push('-');
                slug.push_str(&word);
                chars += 1 + length;
            }
            (false, false) => break,
        }
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Artifact;

    fn expand(template: &str, prompt: Option<&str>, artifact: &str) -> String {
        let artifact: Artifact = serde_json::from_str(artifact).unwrap();
        let template: NameTemplate = template.parse().unwrap();
        let template = prompt.into_iter().fold(template, NameTemplate::prompt);
        template.expand(&ArtifactName::new(&artifact, 1, "job_7"))
    }

    #[test]
    fn placeholders_are_replaced() {
        let artifact = r#"{"id": "art_1", "content_type": "image/png"}"#;
        for (template, prompt, expected) in [
            ("{id}.{ext}", None, "art_1.png"),
            ("{job}-{index}.{ext}", None, "job_7-2.png"),
            ("{slug}.{ext}", None, "job_7.png"),
            ("{slug}.{ext}", Some("…"), "job_7.png"),
            ("{slug}.{ext}", Some(" A red fox,\nin SNOW! "), "a-red-fox-in-snow.png"),
            ("{slug}.{ext}", Some("../etc"), "etc.png"),
            ("{slug}.{ext}", Some("Füchse 狐"), "füchse-狐.png"),
            ("fox}.jpg", None, "fox}.jpg"),
        ] {
            assert_eq!(expand(template, prompt, artifact), expected, "{template}");
        }
        assert_eq!(expand("{id}.{ext}", None, "{}"), "job_7-2.bin");
        let hostile = expand("{id}.{ext}", None, r#"{"id": "../../x"}"#);
        assert!(!hostile.contains('/') && !hostile.starts_with('.'));
    }

    #[test]
    fn slugs_are_short() {
        let long = slug(&"word ".repeat(40));
        assert!(long.len() <= MAX_SLUG_CHARS && long.ends_with("-word"), "{long}");
        assert_eq!(slug(&"x".repeat(100)).len(), MAX_SLUG_CHARS);
    }

    #[test]
    fn invalid_templates_are_rejected() {
        for (template, expected) in [
            ("", "dot"),
            ("..", "dot"),
            (".{id}", "dot"),
            ("a/{id}", "separator"),
            ("a\\{id}", "separator"),
            ("{id}\n", "control"),
            ("{title}", "`{title}`"),
            ("{}", "`{}`"),
            ("{id", "after `{id`"),
            ("{Id}", "`{Id}`"),
        ] {
            let error = template.parse::<NameTemplate>().unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn names_of_functions_stay_in_the_folder() {
        let artifact: Artifact =
            serde_json::from_str(r#"{"id": "art_1", "content_type": "image/png"}"#).unwrap();
        for (chosen, expected) in [
            ("fox.png", "fox.png"),
            ("../../etc/passwd", "-..-etc-passwd"),
            ("/etc/passwd", "-etc-passwd"),
            ("..", "art_1.png"),
            ("", "art_1.png"),
            ("a\u{0}b\n. ", "ab"),
        ] {
            let names = FileNames::Function(Arc::new(|_| chosen.to_owned()));
            let name = names.name(&ArtifactName::new(&artifact, 0, "job_1"));
            assert_eq!(name, expected, "{chosen:?}");
        }
    }
}
