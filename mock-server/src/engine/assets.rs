//! Seeded assets that any workspace can attach to runs. The upload endpoints are not part of the mock.

/// An uploaded file that can be attached to runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) id: &'static str,
    pub(crate) bytes: u64,
    pub(crate) is_image: bool,
}

/// The seeded assets: two within the limits, an image that is too large, and a video that exceeds
/// the total limit when attached twice.
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
    /// Returns the asset with the given id.
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.id == id)
    }
}
