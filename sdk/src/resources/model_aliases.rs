//! Compatibility aliases under `/v1/models`.

use std::borrow::Borrow;

use crate::call::Call;
use crate::client::Client;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::Developer;
use crate::types::{
    AvatarFaceSwap, AvatarGenerate, AvatarTalkingVideo, Image1Generate, Music1Generate,
    Video1Generate,
};

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

impl ModelAliases<'_> {
    /// Submits a job by the alias `avatar/v1.0`.
    ///
    /// [`Avatars::generate`](super::Avatars::generate) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn avatar_v1_0(&self, body: impl Borrow<AvatarGenerate>) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasAvatarV10).json(body.borrow())
    }

    /// Submits a job by the alias `avatar-1.0/generate`.
    ///
    /// [`Avatars::generate`](super::Avatars::generate) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn avatar_1_0_generate(
        &self,
        body: impl Borrow<AvatarGenerate>,
    ) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasAvatar10Generate).json(body.borrow())
    }

    /// Submits a job by the alias `avatar-1.0/talking-video`.
    ///
    /// [`Avatars::talking_video`](super::Avatars::talking_video) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn avatar_1_0_talking_video(
        &self,
        body: impl Borrow<AvatarTalkingVideo>,
    ) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasAvatar10TalkingVideo).json(body.borrow())
    }

    /// Submits a job by the alias `avatar-video/v1.0`.
    ///
    /// [`Avatars::talking_video`](super::Avatars::talking_video) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn avatar_video_v1_0(
        &self,
        body: impl Borrow<AvatarTalkingVideo>,
    ) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasAvatarVideoV10).json(body.borrow())
    }

    /// Submits a job by the alias `avatar-face-swap/v1.0` (beta).
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn avatar_face_swap_v1_0(
        &self,
        body: impl Borrow<AvatarFaceSwap>,
    ) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasAvatarFaceSwapV10).json(body.borrow())
    }

    /// Submits a job by the alias `image-1.0`.
    ///
    /// [`Images::generate`](super::Images::generate) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn image_1_0(&self, body: impl Borrow<Image1Generate>) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasImage10).json(body.borrow())
    }

    /// Submits a job by the alias `video-1.0`.
    ///
    /// [`Videos::generate`](super::Videos::generate) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn video_1_0(&self, body: impl Borrow<Video1Generate>) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasVideo10).json(body.borrow())
    }

    /// Submits a job by the alias `music-1.0`.
    ///
    /// [`Music::generate`](super::Music::generate) is preferred.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn music_1_0(&self, body: impl Borrow<Music1Generate>) -> Call<JobHandle<Developer>> {
        self.submit(Operation::AliasMusic10).json(body.borrow())
    }

    fn submit(&self, operation: Operation) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, operation, &[&self.first_party_owner])
    }
}
