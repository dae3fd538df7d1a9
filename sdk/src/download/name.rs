//! Names of files: ours, made from an identifier and a type.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::types::Artifact;

/// Characters of a name before its extension.
const LONGEST: usize = 100;

/// The name of an artifact's file: a single, plain, visible name on every platform.
pub(super) fn file_name(stem: &str, artifact: &Artifact) -> String {
    format!("{}.{}", plain(stem), extension(artifact))
}

/// Letters, digits, `-` and `_` stay; where anything else had to go, a digest keeps two names
/// apart.
fn plain(stem: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let kept: String = stem
        .chars()
        .filter(|c| is_plain(*c))
        .take(LONGEST)
        .collect();
    let leads = kept.starts_with(|c: char| c.is_ascii_alphanumeric());
    if kept == stem && leads && !is_device(&kept) {
        return kept;
    }
    let mut hasher = DefaultHasher::new();
    stem.hash(&mut hasher);
    format!(
        "artifact-{}{:016x}",
        if kept.is_empty() {
            String::new()
        } else {
            format!("{kept}-")
        },
        hasher.finish()
    )
}

/// Names that Windows keeps for devices, with any extension.
fn is_device(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "con" | "prn" | "aux" | "nul")
        || (name.len() == 4 && (name.starts_with("com") || name.starts_with("lpt")))
}

fn extension(artifact: &Artifact) -> &'static str {
    let mime = artifact.content_type.as_deref().unwrap_or_default();
    let mime = mime
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    by_mime(&mime)
        .or_else(|| by_url(&artifact.url))
        .or_else(|| {
            by_kind(
                artifact
                    .media_type
                    .as_deref()
                    .or(artifact.artifact_type.as_deref())?,
            )
        })
        .unwrap_or("bin")
}

fn by_mime(mime: &str) -> Option<&'static str> {
    Some(match mime {
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

/// The URL's extension, if it is one of those that a type would have given.
fn by_url(url: &str) -> Option<&'static str> {
    const KNOWN: &[&str] = &[
        "png", "jpg", "webp", "gif", "avif", "svg", "mp4", "webm", "mov", "mp3", "wav", "m4a",
        "ogg", "flac", "vtt", "srt", "txt", "json", "pdf", "zip",
    ];
    let url = url::Url::parse(url).ok()?;
    let (_, found) = url.path().rsplit_once('.')?;
    let found = found.to_ascii_lowercase();
    let found = if found == "jpeg" {
        "jpg"
    } else {
        found.as_str()
    };
    KNOWN.iter().copied().find(|known| *known == found)
}

fn by_kind(kind: &str) -> Option<&'static str> {
    Some(match kind {
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
    fn hostile_identifiers_escape_nothing() {
        let hostile = [
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
        assert_eq!(hostile.len(), 40);
        let mut seen = std::collections::HashSet::new();
        for stem in hostile {
            let name = file_name(stem, &artifact(serde_json::json!({"url": "https://m/a"})));
            let plain = name.strip_suffix(".bin").unwrap();
            assert!(plain.starts_with("artifact-"), "{stem:?} gave {name:?}");
            assert!(
                plain
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
                "{stem:?} gave {name:?}"
            );
            assert!(
                seen.insert(name.to_ascii_lowercase()),
                "{stem:?} gave {name:?} again"
            );
        }
        let long = file_name(
            &"x".repeat(5000),
            &artifact(serde_json::json!({"url": "https://m/a"})),
        );
        assert!(long.len() < 200);
    }

    #[test]
    fn odd_but_plain_identifiers_stay_as_they_are() {
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
    fn the_extension_is_the_types_then_the_urls_then_the_kinds() {
        let rows = [
            (
                serde_json::json!({"url": "https://m/a.exe", "content_type": "image/png"}),
                "png",
            ),
            (
                serde_json::json!({"url": "https://m/a", "content_type": "Video/MP4; codecs=avc1"}),
                "mp4",
            ),
            (serde_json::json!({"url": "https://m/a.JPEG?x=.exe"}), "jpg"),
            (
                serde_json::json!({"url": "https://m/a.exe", "media_type": "video"}),
                "mp4",
            ),
            (
                serde_json::json!({"url": "https://m/a.exe", "type": "image"}),
                "png",
            ),
            (serde_json::json!({"url": "https://m/a.exe"}), "bin"),
            (
                serde_json::json!({"url": "no url", "content_type": "x/../../y"}),
                "bin",
            ),
        ];
        for (json, expected) in rows {
            assert_eq!(
                file_name("a", &artifact(json.clone())),
                format!("a.{expected}"),
                "{json}"
            );
        }
    }
}
