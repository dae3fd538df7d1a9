//! Kinds of media, and their file extensions.

use crate::media::Spec;
use crate::named_enum::named_enum;

named_enum! {
    /// The kind of media that a URL must lead to, with its article.
    pub(super) enum MediaKind {
        Image = "an image",
        Video = "a video",
        Audio = "audio",
    }
}

impl MediaKind {
    /// Returns whether a file is of this kind.
    pub(super) fn includes(self, spec: &Spec) -> bool {
        match self {
            Self::Image => spec.media_type() == "image",
            Self::Video => spec.media_type() == "video",
            // A video may have a sound track.
            Self::Audio => match spec {
                Spec::Video { with_audio, .. } => *with_audio,
                _ => spec.media_type() == "audio",
            },
        }
    }

    /// Returns whether the extension of a path belongs to another kind of file. The mock does not
    /// fetch URLs, so paths with any other extension, or with none, are accepted.
    pub(super) fn excludes(self, path: &str) -> bool {
        const IMAGES: [&str; 12] = [
            "png", "jpg", "jpeg", "webp", "gif", "bmp", "avif", "heic", "heif", "tif", "tiff",
            "svg",
        ];
        const VIDEOS: [&str; 8] = ["mp4", "mov", "webm", "mkv", "avi", "m4v", "mpg", "mpeg"];
        const SOUNDS: [&str; 7] = ["mp3", "wav", "m4a", "aac", "ogg", "flac", "opus"];
        const DOCUMENTS: [&str; 22] = [
            "html", "htm", "xhtml", "txt", "md", "json", "xml", "yaml", "csv", "pdf", "zip", "gz",
            "tar", "7z", "js", "css", "doc", "docx", "xls", "xlsx", "exe", "vtt",
        ];
        let file = path.rsplit('/').next().unwrap_or_default();
        let Some((_, extension)) = file.rsplit_once('.') else { return false };
        let extension = extension.to_ascii_lowercase();
        let is = |list: &[&str]| list.contains(&extension.as_str());
        is(&DOCUMENTS)
            || match self {
                Self::Image => is(&VIDEOS) || is(&SOUNDS),
                Self::Video => is(&IMAGES) || is(&SOUNDS),
                // A video has a sound track.
                Self::Audio => is(&IMAGES),
            }
    }
}
