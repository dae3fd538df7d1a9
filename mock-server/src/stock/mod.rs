//! What comes with the service and belongs to nobody: background music, avatars, trending videos.
//! Their files are on the media host under their own ids.

pub(crate) mod music;

use crate::media::Spec;

/// What the file of that id is made from.
pub(crate) fn file(id: &str) -> Option<Spec> {
    music::by_id(id).map(music::Track::spec)
}
