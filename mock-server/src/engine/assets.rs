//! Assets: uploaded files that can be attached to runs. The upload endpoints are not part of the mock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Hosts;
use crate::media::{PaddedType, Spec};

/// An asset to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewAsset {
    /// The workspace that owns the asset. No other workspace can attach it.
    pub workspace: String,
    /// The media type, such as `image/png`.
    pub content_type: String,
    /// The size in bytes.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asset {
    /// The workspace that owns the asset; `None` for seeded assets, which every workspace has.
    pub(crate) workspace: Option<String>,
    pub(crate) content_type: String,
    pub(crate) bytes: u64,
}

impl Asset {
    pub(crate) fn spec(&self) -> Spec {
        Spec::Padded { padded: PaddedType::of(&self.content_type), bytes: self.bytes }
    }

    pub(crate) fn is_image(&self) -> bool {
        self.content_type.starts_with("image/")
    }
}

/// The seeded assets: two within the limits, an image that is too large, and a video that exceeds
/// the total limit when it is attached twice.
const SEEDED: [(&str, &str, u64); 4] = [
    ("asset_logo", "image/png", 48_000),
    ("asset_photo", "image/jpeg", 2_400_000),
    ("asset_poster", "image/png", 31_000_000),
    ("asset_reel", "video/mp4", 260_000_000),
];

/// The assets that were added, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Assets(BTreeMap<String, Asset>);

impl Assets {
    pub(crate) fn add(&mut self, id: &str, asset: Asset) {
        self.0.insert(id.to_owned(), asset);
    }

    /// Returns the asset with an id, and its file, whatever workspace it belongs to.
    fn file(&self, id: &str) -> Option<Spec> {
        let owner = self.0.get(id).and_then(|asset| asset.workspace.as_deref());
        self.get(id, owner.unwrap_or_default()).map(|asset| asset.spec())
    }

    /// Returns the file of the media host with a name, such as `asset_logo.png`, if it is an asset.
    pub(crate) fn named_file(&self, name: &str) -> Option<Spec> {
        let (id, extension) = name.split_once('.')?;
        self.file(id).filter(|spec| spec.extension() == extension)
    }

    pub(crate) fn url(&self, id: &str, hosts: &Hosts) -> Option<String> {
        let spec = self.file(id)?;
        Some(format!("{}/artifacts/{id}.{}", hosts.media, spec.extension()))
    }

    /// Returns an asset that the workspace can attach.
    pub(crate) fn get(&self, id: &str, workspace: &str) -> Option<Asset> {
        let seeded = SEEDED.iter().find(|(seeded, _, _)| *seeded == id);
        let seeded = seeded.map(|(_, content_type, bytes)| Asset {
            workspace: None,
            content_type: (*content_type).to_owned(),
            bytes: *bytes,
        });
        let own = |asset: &&Asset| asset.workspace.as_deref() == Some(workspace);
        seeded.or_else(|| self.0.get(id).filter(own).cloned())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ids of the assets with the workspaces that own them.
    pub(crate) fn workspaces(&self) -> impl Iterator<Item = (&str, &str)> {
        let assets = self.0.iter();
        assets.map(|(id, asset)| (asset.workspace.as_deref().unwrap_or_default(), id.as_str()))
    }
}
