//! Media that a request refers to, by URL or asset id.

use url::Url;

use super::media_host::find_file;
use crate::engine::assets::Asset;
use crate::engine::{Hosts, State, destination};
use crate::media;

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
    Own(media::Spec),
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
