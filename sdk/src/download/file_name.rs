//! Names of files that are safe on every platform.

use crate::types::Artifact;

/// The maximum number of characters of the identifier in a file name.
const MAX_STEM_CHARS: usize = 100;
/// The maximum length of a file name in bytes. The name of its partial file is longer.
const MAX_NAME_BYTES: usize = 200;

/// An artifact whose file is named.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ArtifactName<'a> {
    /// The artifact, as the service describes it.
    pub artifact: &'a Artifact,
    /// The artifact's number in the result, counted from 1 (`{index}` in a template).
    pub number: usize,
    /// The id of the job or run.
    pub resource_id: &'a str,
    /// The extension for the artifact's media type, such as `png`.
    pub extension: &'static str,
}

impl<'a> ArtifactName<'a> {
    /// `position` starts at 0.
    pub(super) fn new(artifact: &'a Artifact, position: usize, resource_id: &'a str) -> Self {
        Self { artifact, number: position + 1, resource_id, extension: extension(artifact) }
    }

    fn id(&self) -> String {
        match &self.artifact.id {
            Some(id) => id.to_string(),
            None => format!("{}-{}", self.resource_id, self.number),
        }
    }

    /// Returns the artifact's id, in a form that is a valid file name.
    pub(super) fn stem(&self) -> String {
        safe_stem(&self.id())
    }

    pub(super) fn safe_resource_id(&self) -> String {
        safe_stem(self.resource_id)
    }

    /// Returns the name that a file has unless the caller names it: the id with the extension.
    pub(super) fn default_name(&self) -> String {
        file_name(&self.id(), self.artifact)
    }
}

/// Returns the name without separators and control characters, not hidden, and not too long.
pub(super) fn safe_name(name: &str) -> String {
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

/// Returns a file name for an artifact that is valid and visible on every platform.
pub(super) fn file_name(stem: &str, artifact: &Artifact) -> String {
    format!("{}.{}", safe_stem(stem), extension(artifact))
}

/// Removes all characters except ASCII letters, digits, `-` and `_`.
///
/// A stem that is not valid as it is gets a prefix and a hash, which keeps different stems apart.
pub(super) fn safe_stem(stem: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut sanitized: String =
        stem.chars().filter(|c| is_allowed(*c)).take(MAX_STEM_CHARS).collect();
    let starts_valid = sanitized.starts_with(|c: char| c.is_ascii_alphanumeric());
    if sanitized == stem && starts_valid && !is_reserved_on_windows(&sanitized) {
        return sanitized;
    }
    if !sanitized.is_empty() {
        sanitized.push('-');
    }
    format!("artifact-{sanitized}{:016x}", fnv1a_64(stem.as_bytes()))
}

/// Returns the 64-bit FNV-1a hash.
///
/// The hashers of the standard library may change with the compiler, and then a repeated download
/// would choose other names.
fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns `true` for device names, which Windows reserves with any extension.
fn is_reserved_on_windows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "con" | "prn" | "aux" | "nul")
        || (name.len() == 4 && (name.starts_with("com") || name.starts_with("lpt")))
}

/// Returns the extension for the artifact's MIME type, URL or kind of media, in this order.
pub(super) fn extension(artifact: &Artifact) -> &'static str {
    let content_type = artifact.content_type.as_deref().unwrap_or_default();
    let mime_type = content_type.split(';').next().unwrap_or_default();
    let media_type = artifact.media_type.as_deref();
    extension_for_mime_type(&mime_type.trim().to_ascii_lowercase())
        .or_else(|| extension_from_url(artifact.url.as_deref()?))
        .or_else(|| extension_for_media_type(media_type.or(artifact.artifact_type.as_deref())?))
        .unwrap_or("bin")
}

/// The extensions of files, each with the MIME types that have it.
const EXTENSIONS: [(&str, &[&str]); 20] = [
    ("png", &["image/png"]),
    ("jpg", &["image/jpeg", "image/jpg"]),
    ("webp", &["image/webp"]),
    ("gif", &["image/gif"]),
    ("avif", &["image/avif"]),
    ("svg", &["image/svg+xml"]),
    ("mp4", &["video/mp4"]),
    ("webm", &["video/webm"]),
    ("mov", &["video/quicktime"]),
    ("mp3", &["audio/mpeg", "audio/mp3"]),
    ("wav", &["audio/wav", "audio/x-wav", "audio/wave"]),
    ("m4a", &["audio/mp4", "audio/aac", "audio/x-m4a"]),
    ("ogg", &["audio/ogg"]),
    ("flac", &["audio/flac"]),
    ("vtt", &["text/vtt"]),
    ("srt", &["application/x-subrip"]),
    ("txt", &["text/plain"]),
    ("json", &["application/json"]),
    ("pdf", &["application/pdf"]),
    ("zip", &["application/zip"]),
];

fn extension_for_mime_type(mime_type: &str) -> Option<&'static str> {
    let mut extensions = EXTENSIONS.iter();
    let (extension, _) = extensions.find(|(_, mime_types)| mime_types.contains(&mime_type))?;
    Some(extension)
}

/// Returns the extension in the URL if it is a known one.
fn extension_from_url(url: &str) -> Option<&'static str> {
    let url = url::Url::parse(url).ok()?;
    let (_, extension) = url.path().rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let extension = if extension == "jpeg" { "jpg" } else { extension.as_str() };
    EXTENSIONS.iter().map(|(known, _)| *known).find(|known| *known == extension)
}

fn extension_for_media_type(media_type: &str) -> Option<&'static str> {
    Some(match media_type {
        "image" => "png",
        "video" => "mp4",
        "audio" | "music" => "mp3",
        "captions" => "vtt",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(json: serde_json::Value) -> Artifact {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn unsafe_identifiers_are_sanitized() {
        let short = [
            "..", ".", "", "a/b", "a\\b", "nul", "CON", "com1", "LPT9", "aux", "a\0b", "a\nb",
            "-rf", "--", "~", "~root", "$HOME", "`id`", "a;b", "a|b", "a b", " ", "*", "?", "a:b",
            "a<b>", "\"", "'", ".bashrc", ".ssh", "a.", "é", "日本",
        ];
        let long = [
            "\u{1b}[2J",
            "../../etc/passwd",
            "/etc/passwd",
            "C:\\windows",
            "\u{202e}gpj.exe",
            "%2e%2e%2f",
        ];
        let mut seen = std::collections::HashSet::new();
        for stem in short.into_iter().chain(long) {
            let name = file_name(stem, &artifact(serde_json::json!({"url": "https://m/a"})));
            let stem_part = name.strip_suffix(".bin").unwrap();
            assert!(stem_part.starts_with("artifact-"), "{stem:?} gave {name:?}");
            assert!(
                stem_part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
                "{stem:?} gave {name:?}"
            );
            assert!(seen.insert(name.to_ascii_lowercase()), "{stem:?} gave the duplicate {name:?}");
        }
        let long =
            file_name(&"x".repeat(5000), &artifact(serde_json::json!({"url": "https://m/a"})));
        assert!(long.len() < 200);
    }

    #[test]
    fn safe_identifiers_are_unchanged() {
        let stems = [
            "art_1", "a", "A-b_C", "0", "00", "art-", "x_", "1-2-3", "CONsole", "nully", "com10",
            "lpt", "Aux1", "a--b", "a__b", "Z9", "job_1-1", "deadbeef", "0x0",
        ];
        for stem in stems {
            let name = file_name(stem, &artifact(serde_json::json!({"url": "https://m/a"})));
            assert_eq!(name, format!("{stem}.bin"));
        }
    }

    #[test]
    fn names_with_a_hash_are_stable() {
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
        for (stem, expected) in
            [("a/b", "artifact-ab-e620c3190468cf61.bin"), ("日本", "artifact-121d7e35a6d3ce91.bin")]
        {
            assert_eq!(file_name(stem, &Artifact::default()), expected);
        }
    }

    #[test]
    fn extension_comes_from_mime_type_then_url_then_media_type() {
        let cases = [
            (serde_json::json!({"url": "https://m/a.exe", "content_type": "image/png"}), "png"),
            (
                serde_json::json!({"url": "https://m/a", "content_type": "Video/MP4; codecs=avc1"}),
                "mp4",
            ),
            (serde_json::json!({"url": "https://m/a.JPEG?x=.exe"}), "jpg"),
            (serde_json::json!({"url": "https://m/a.exe", "media_type": "video"}), "mp4"),
            (serde_json::json!({"url": "https://m/a.exe", "type": "image"}), "png"),
            (serde_json::json!({"url": "https://m/a.exe"}), "bin"),
            (serde_json::json!({"url": "no url", "content_type": "x/../../y"}), "bin"),
        ];
        for (json, expected) in cases {
            assert_eq!(file_name("a", &artifact(json.clone())), format!("a.{expected}"), "{json}");
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
