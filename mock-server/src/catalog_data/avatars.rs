//! First-party avatars: two that `avatar-1.0` made, and the stock of the avatar catalog.

use crate::media::Spec;

/// An avatar that anybody can use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CatalogAvatar {
    pub(crate) id: &'static str,
    pub(crate) handle: &'static str,
    pub(crate) name: &'static str,
    pub(crate) tags: &'static [&'static str],
    /// Whether `avatar-1.0` made it.
    pub(crate) canonical: bool,
    seed: u64,
}

/// When they came into the catalog.
pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

const fn catalog_data(
    id: &'static str,
    handle: &'static str,
    name: &'static str,
    tags: &'static [&'static str],
    seed: u64,
) -> CatalogAvatar {
    CatalogAvatar {
        id,
        handle,
        name,
        tags,
        canonical: false,
        seed,
    }
}

/// All of them.
#[rustfmt::skip]
pub(crate) static AVATARS: [CatalogAvatar; 12] = [
    CatalogAvatar { canonical: true, ..catalog_data("ava_ada", "ada", "Ada", &["presenter", "business", "studio", "calm"], 101) },
    CatalogAvatar { canonical: true, ..catalog_data("ava_lin", "lin", "Lin", &["presenter", "technology", "office", "friendly"], 102) },
    catalog_data("ava_bruno", "bruno", "Bruno", &["chef", "kitchen", "warm"], 103),
    catalog_data("ava_celia", "celia", "Celia", &["teacher", "classroom", "patient"], 104),
    catalog_data("ava_dara", "dara", "Dara", &["fitness", "gym", "energetic"], 105),
    catalog_data("ava_emil", "emil", "Emil", &["news", "presenter", "studio", "serious"], 106),
    catalog_data("ava_farah", "farah", "Farah", &["doctor", "clinic", "calm"], 107),
    catalog_data("ava_goran", "goran", "Goran", &["mechanic", "workshop", "practical"], 108),
    catalog_data("ava_hana", "hana", "Hana", &["gamer", "streaming", "energetic"], 109),
    catalog_data("ava_ivo", "ivo", "Ivo", &["sales", "business", "office", "friendly"], 110),
    catalog_data("ava_june", "june", "June", &["travel", "outdoor", "warm"], 111),
    catalog_data("ava_kofi", "kofi", "Kofi", &["presenter", "sport", "stadium", "energetic"], 112),
];

/// The avatar of that id.
pub(crate) fn by_id(id: &str) -> Option<&'static CatalogAvatar> {
    AVATARS.iter().find(|avatar| avatar.id == id)
}

/// The avatar of that handle.
pub(crate) fn by_handle(handle: &str) -> Option<&'static CatalogAvatar> {
    AVATARS.iter().find(|avatar| avatar.handle == handle)
}

impl CatalogAvatar {
    /// What its picture is made from.
    pub(crate) fn spec(&self) -> Spec {
        Spec::Image {
            width: 720,
            height: 720,
            seed: self.seed,
        }
    }
}
