//! Assets that every workspace has, to be attached to runs: the paths that uploads take are hidden.

/// An asset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) id: &'static str,
    pub(crate) bytes: u64,
    pub(crate) is_image: bool,
}

/// All of them: two that fit, an image that is too large, and a video of which two are too much.
pub(crate) static ASSETS: [Asset; 4] = [
    Asset {
        id: "asset_logo",
        bytes: 48_000,
        is_image: true,
    },
    Asset {
        id: "asset_photo",
        bytes: 2_400_000,
        is_image: true,
    },
    Asset {
        id: "asset_poster",
        bytes: 31_000_000,
        is_image: true,
    },
    Asset {
        id: "asset_reel",
        bytes: 260_000_000,
        is_image: false,
    },
];

impl Asset {
    /// The asset of that id.
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.id == id)
    }
}
