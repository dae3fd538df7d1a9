//! Generation of images, videos and music.

use std::borrow::Borrow;

use super::{methods, resource};
use crate::call::Call;
use crate::client::Client;
use crate::contract::{Operation, idempotency_section};
use crate::handle::JobHandle;
use crate::surface::{Developer, Open};
use crate::types::{
    AvatarFaceSwap, AvatarGenerate, AvatarTalkingVideo, Image1Generate, ImageGenerate,
    Music1Generate, Video1Generate, VideoGenerate,
};

resource! {
    /// The images that the service generates.
    Images, /// Images: generate them.
    images of both surfaces
}

methods! { Images<'_, Open> {
    /// Submits an image job: `POST /v1/image-router/generate`.
    #[doc = idempotency_section!(Assumed)]
    generate(ImageGenerate) -> JobHandle<Open>: submit Operation::ImageGenerate;
} }

methods! { Images<'_, Developer> {
    /// Submits an image job: `POST /v1/image-1.0/generate`.
    #[doc = idempotency_section!(Undocumented)]
    generate(Image1Generate) -> JobHandle<Developer>: submit Operation::Image1Generate;
} }

resource! {
    /// The videos that the service generates.
    Videos, /// Videos: generate them.
    videos of both surfaces
}

methods! { Videos<'_, Open> {
    /// Submits a video job: `POST /v1/video-router/generate`.
    #[doc = idempotency_section!(Documented)]
    generate(VideoGenerate) -> JobHandle<Open>: submit Operation::VideoGenerate;
} }

methods! { Videos<'_, Developer> {
    /// Submits a video job: `POST /v1/video-1.0/generate`.
    #[doc = idempotency_section!(Undocumented)]
    generate(Video1Generate) -> JobHandle<Developer>: submit Operation::Video1Generate;
} }

resource! {
    /// The music that the service generates.
    Music, /// Music: generate it.
    music of Developer
}

methods! { Music<'_> {
    /// Submits a music job: `POST /v1/music-1.0/generate`.
    #[doc = idempotency_section!(Undocumented)]
    generate(Music1Generate) -> JobHandle<Developer>: submit Operation::Music1Generate;
} }

/// Submits by the older paths under `/v1/models/{first_party_owner}`.
///
/// They continue to work, but the canonical methods are preferred.
#[derive(Clone, Debug)]
pub struct ModelAliases<'a> {
    client: &'a Client<Developer>,
    first_party_owner: String,
}

impl Client<Developer> {
    /// Compatibility aliases: submit by the older paths under `/v1/models`.
    ///
    /// `first_party_owner` is the owner of the service's own models, as in their paths.
    #[must_use]
    pub fn model_aliases(&self, first_party_owner: impl Into<String>) -> ModelAliases<'_> {
        ModelAliases { client: self, first_party_owner: first_party_owner.into() }
    }
}

/// Declares the methods of the aliases.
macro_rules! aliases {
    ($($(#[$doc:meta])+ $method:ident($body:ty) = $operation:ident;)+) => {
        impl ModelAliases<'_> {
            $(
                $(#[$doc])+
                #[doc = idempotency_section!(Undocumented)]
                pub fn $method(&self, body: impl Borrow<$body>) -> Call<JobHandle<Developer>> {
                    let segments = [self.first_party_owner.as_str()];
                    let call = Call::submit(&self.client.core, Operation::$operation, &segments);
                    call.json(body.borrow())
                }
            )+
        }
    };
}

aliases! {
    /// Submits by `avatar/v1.0`. [`Avatars::generate`](super::Avatars::generate) is preferred.
    avatar_v1_0(AvatarGenerate) = AliasAvatarV10;
    /// Submits by `avatar-1.0/generate`. [`Avatars::generate`](super::Avatars::generate) is preferred.
    avatar_1_0_generate(AvatarGenerate) = AliasAvatar10Generate;
    /// Submits by `avatar-1.0/talking-video`.
    /// [`Avatars::talking_video`](super::Avatars::talking_video) is preferred.
    avatar_1_0_talking_video(AvatarTalkingVideo) = AliasAvatar10TalkingVideo;
    /// Submits by `avatar-video/v1.0`.
    /// [`Avatars::talking_video`](super::Avatars::talking_video) is preferred.
    avatar_video_v1_0(AvatarTalkingVideo) = AliasAvatarVideoV10;
    /// Submits by `avatar-face-swap/v1.0` (beta), which has no other path.
    avatar_face_swap_v1_0(AvatarFaceSwap) = AliasAvatarFaceSwapV10;
    /// Submits by `image-1.0`. [`Images::generate`] is preferred.
    image_1_0(Image1Generate) = AliasImage10;
    /// Submits by `video-1.0`. [`Videos::generate`] is preferred.
    video_1_0(Video1Generate) = AliasVideo10;
    /// Submits by `music-1.0`. [`Music::generate`] is preferred.
    music_1_0(Music1Generate) = AliasMusic10;
}
