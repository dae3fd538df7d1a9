//! Safe file names for artifacts, derived from an identifier and a media type.

use crate::types::Artifact;

/// The maximum number of characters of the identifier in a file name.
const MAX_STEM_CHARS: usize = 100;

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

fn extension_for_mime_type(mime_type: &str) -> Option<&'static str> {
    Some(match mime_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        "image/avif" => "avif",
        "image/svg+xml" => "svg",
        "video/mp4" => "mp4",
        "video/webm" => "webm",
        "video/quicktime" => "mov",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mp4" | "audio/aac" | "audio/x-m4a" => "m4a",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "text/vtt" => "vtt",
        "application/x-subrip" => "srt",
        "text/plain" => "txt",
        "application/json" => "json",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        _ => return None,
    })
}

/// Returns the extension in the URL if it is a known one.
fn extension_from_url(url: &str) -> Option<&'static str> {
    const KNOWN: &[&str] = &[
        "png", "jpg", "webp", "gif", "avif", "svg", "mp4", "webm", "mov", "mp3", "wav", "m4a",
        "ogg", "flac", "vtt", "srt", "txt", "json", "pdf", "zip",
    ];
    let url = url::Url::parse(url).ok()?;
    let (_, extension) = url.path().rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let extension = match extension.as_str() {
        "jpeg" => "jpg",
        other => other,
    };
    KNOWN.iter().copied().find(|known| *known == extension)
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
        let identifiers = [
            "../../etc/passwd",
            "..",
            ".",
            "",
            "/etc/passwd",
            "C:\\windows",
            "..\\..\\x",
            "a/b",
            "a\\b",
            "nul",
            "CON",
            "com1",
            "LPT9",
            "aux",
            "a\0b",
            "a\nb",
            "\u{202e}gpj.exe",
            "-rf",
            "--",
            "~",
            "~root",
            "$HOME",
            "`id`",
            "a;b",
            "a|b",
            "a b",
            " ",
            "*",
            "?",
            "a:b",
            "a<b>",
            "\"",
            "'",
            ".bashrc",
            ".ssh",
            "a.",
            "é",
            "日本",
            "\u{1b}[2J",
            "%2e%2e%2f",
        ];
        assert_eq!(identifiers.len(), 40);
        let mut seen = std::collections::HashSet::new();
        for stem in identifiers {
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
        for stem in [
            "art_1",
            "a",
            "A-b_C",
            "0",
            "00",
            "art-",
            "x_",
            "1-2-3",
            "CONsole",
            "nully",
            "com10",
            "lpt",
            "Aux1",
            "a--b",
            "a__b",
            "Z9",
            "job_1-1",
            "deadbeef",
            "0x0",
            "e3b0c44298fc1c149afbf4c8996fb924",
        ] {
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
}
