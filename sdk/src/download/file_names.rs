//! File names of the artifacts of a download.

use std::sync::Arc;

use super::artifact_name::ArtifactName;
use super::name_template::NameTemplate;

/// The maximum length of a file name in bytes. The name of its partial file is longer.
const MAX_NAME_BYTES: usize = 200;

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

/// Returns the name without separators and control characters, not hidden, and not too long.
fn safe_name(name: &str) -> String {
    let is_allowed = |c: char| {
        let is_reserved = cfg!(windows) && matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*');
        !c.is_control() && !is_reserved
    };
    let name: String = name
        .chars()
        .filter(|c| is_allowed(*c))
        .map(|c| if matches!(c, '/' | '\\') { '-' } else { c })
        .collect();
    // Windows ignores dots and spaces at the end.
    let name =
        name.trim_start_matches('.').trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let suffix = match extension.len() {
        1..=16 => format!(".{extension}"),
        _ => String::new(),
    };
    let stem = if suffix.is_empty() { name } else { stem };
    let ends = (0..=MAX_NAME_BYTES - suffix.len()).rev();
    let stem = ends.into_iter().find_map(|end| stem.get(..end));
    format!("{}{suffix}", stem.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Artifact;

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

    #[test]
    fn long_names_keep_their_extension() {
        let name = safe_name(&format!("{}.png", "ü".repeat(300)));
        assert!(name.len() <= MAX_NAME_BYTES && name.ends_with("ü.png"));
        let name = safe_name(&"x".repeat(300));
        assert_eq!(name.len(), MAX_NAME_BYTES);
    }
}
