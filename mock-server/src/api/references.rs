//! Media that a request refers to, by URL or asset id, and the kinds of it.

use url::Url;

use super::media_host::find_file;
use crate::engine::assets::Asset;
use crate::engine::{Hosts, State, destination};
use crate::media::Spec;
use crate::named_enum::named_enum;

/// What a request can refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct References<'b> {
    pub(super) state: &'b State,
    pub(super) hosts: &'b Hosts,
    pub(super) workspace: &'b str,
}

/// The file that a media URL leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MediaFile {
    /// A file of the mock's media host, such as an artifact.
    Own(Spec),
    /// A file elsewhere, which the mock does not fetch.
    Elsewhere(Url),
    /// A file that cannot be fetched.
    Unreachable,
}

impl References<'_> {
    /// Returns the file that a media URL leads to. URLs of the mock's media host count as public
    /// HTTPS.
    pub(super) fn media_file(&self, text: &str) -> Result<MediaFile, &'static str> {
        if let Some(path) = self.own_path(text) {
            let file = path.strip_prefix("/artifacts/");
            let spec = file.and_then(|file| find_file(self.state, file));
            return Ok(spec.map_or(MediaFile::Unreachable, MediaFile::Own));
        }
        let url = destination::parse_public_https(text, &self.state.host_addresses)?;
        Ok(match destination::is_unreachable(&url) {
            true => MediaFile::Unreachable,
            false => MediaFile::Elsewhere(url),
        })
    }

    /// Returns the path of a URL of the mock's media host.
    fn own_path<'t>(&self, text: &'t str) -> Option<&'t str> {
        let rest = text.strip_prefix(&self.hosts.media)?;
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        path.starts_with('/').then_some(path)
    }

    /// Checks that a webhook URL is public HTTPS and not too long.
    pub(super) fn check_webhook(&self, text: &str) -> Result<(), String> {
        self.state.check_webhook_url(self.workspace, text)
    }

    /// Returns an asset that the workspace can attach.
    pub(super) fn asset(&self, id: &str) -> Option<Asset> {
        self.state.assets.get(id, self.workspace)
    }
}

named_enum! {
    /// The kind of media that a URL must lead to, with its article.
    pub(super) enum MediaKind {
        Image = "an image",
        Video = "a video",
        Audio = "audio",
    }
}

impl MediaKind {
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
