//! Videos of avatars.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;
use crate::types::{AvatarVideo, Page};

resource! {
    /// The videos that avatars speak in.
    AvatarVideos, /// Videos of avatars: list them.
    avatar_videos of Developer
}

impl AvatarVideos<'_> {
    /// Lists the videos of avatars: `GET /v1/avatar-videos`.
    pub fn list(&self) -> Call<Page<AvatarVideo>> {
        Call::list::<&str>(&self.client.core, Operation::AvatarVideosList, &[])
    }

    /// Reads a video of an avatar: `GET /v1/avatar-videos/{id}`.
    pub fn get(&self, id: impl AsRef<str>) -> Call<AvatarVideo> {
        Call::new(&self.client.core, Operation::AvatarVideosGet, &[id])
    }
}
