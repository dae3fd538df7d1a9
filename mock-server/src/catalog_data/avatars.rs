//! First-party avatars: two of the model `avatar-1.0`, and those of the avatar catalog.

use crate::media::Spec;

/// An avatar that every workspace can use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CatalogAvatar {
    pub(crate) id: &'static str,
    pub(crate) handle: &'static str,
    pub(crate) name: &'static str,
    pub(crate) tags: &'static [&'static str],
    /// Whether the model `avatar-1.0` made the avatar.
    pub(crate) canonical: bool,
    seed: u64,
}

/// The creation time of all first-party avatars.
pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

const fn avatar(
    id: &'static str,
    handle: &'static str,
    name: &'static str,
    tags: &'static [&'static str],
    seed: u64,
) -> CatalogAvatar {
    CatalogAvatar { id, handle, name, tags, canonical: false, seed }
}

/// All first-party avatars.
#[rustfmt::skip]
pub(crate) static AVATARS: [CatalogAvatar; 12] = [
    CatalogAvatar { canonical: true, ..avatar("ava_ada", "ada", "Ada", &["presenter", "business", "studio", "calm"], 101) },
    CatalogAvatar { canonical: true, ..avatar("ava_lin", "lin", "Lin", &["presenter", "technology", "office", "friendly"], 102) },
    avatar("ava_bruno", "bruno", "Bruno", &["chef", "kitchen", "warm"], 103),
    avatar("ava_celia", "celia", "Celia", &["teacher", "classroom", "patient"], 104),
    avatar("ava_dara", "dara", "Dara", &["fitness", "gym", "energetic"], 105),
    avatar("ava_emil", "emil", "Emil", &["news", "presenter", "studio", "serious"], 106),
    avatar("ava_farah", "farah", "Farah", &["doctor", "clinic", "calm"], 107),
    avatar("ava_goran", "goran", "Goran", &["mechanic", "workshop", "practical"], 108),
    avatar("ava_hana", "hana", "Hana", &["gamer", "streaming", "energetic"], 109),
    avatar("ava_ivo", "ivo", "Ivo", &["sales", "business", "office", "friendly"], 110),
    avatar("ava_june", "june", "June", &["travel", "outdoor", "warm"], 111),
    avatar("ava_kofi", "kofi", "Kofi", &["presenter", "sport", "stadium", "energetic"], 112),
];

pub(crate) fn by_id(id: &str) -> Option<&'static CatalogAvatar> {
    AVATARS.iter().find(|avatar| avatar.id == id)
}

pub(crate) fn by_handle(handle: &str) -> Option<&'static CatalogAvatar> {
    AVATARS.iter().find(|avatar| avatar.handle == handle)
}

impl CatalogAvatar {
    /// Returns the specification of the avatar's image.
    pub(crate) fn spec(&self) -> Spec {
        Spec::Image { width: 720, height: 720, seed: self.seed }
    }
}
