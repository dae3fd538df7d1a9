//! The compatibility aliases under `/v1/models/…`.

use serde_json::Value;

use super::Client;
use crate::contract::Operation;
use crate::submit::Submit;
use crate::surface::Developer;
use crate::wait::JobHandle;

/// A compatibility alias. It continues to work; the canonical path is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alias {
    /// `avatar/v1.0`: [`Client::avatar_generate`].
    AvatarV1_0,
    /// `avatar-1.0/generate`: [`Client::avatar_generate`].
    Avatar1_0Generate,
    /// `avatar-1.0/talking-video`: [`Client::avatar_talking_video`].
    Avatar1_0TalkingVideo,
    /// `avatar-video/v1.0`: [`Client::avatar_talking_video`].
    AvatarVideoV1_0,
    /// `avatar-face-swap/v1.0`, beta; there is no canonical path.
    AvatarFaceSwapV1_0,
    /// `image-1.0`: [`Client::image_1_generate`].
    Image1_0,
    /// `video-1.0`: [`Client::video_1_generate`].
    Video1_0,
    /// `music-1.0`: [`Client::music_1_generate`].
    Music1_0,
}

impl Alias {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::AvatarV1_0,
        Self::Avatar1_0Generate,
        Self::Avatar1_0TalkingVideo,
        Self::AvatarVideoV1_0,
        Self::AvatarFaceSwapV1_0,
        Self::Image1_0,
        Self::Video1_0,
        Self::Music1_0,
    ];

    /// The operation of the alias.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::AvatarV1_0 => Operation::AliasAvatarV10,
            Self::Avatar1_0Generate => Operation::AliasAvatar10Generate,
            Self::Avatar1_0TalkingVideo => Operation::AliasAvatar10TalkingVideo,
            Self::AvatarVideoV1_0 => Operation::AliasAvatarVideoV10,
            Self::AvatarFaceSwapV1_0 => Operation::AliasAvatarFaceSwapV10,
            Self::Image1_0 => Operation::AliasImage10,
            Self::Video1_0 => Operation::AliasVideo10,
            Self::Music1_0 => Operation::AliasMusic10,
        }
    }

    /// The operation that is preferred to it, where there is one.
    #[must_use]
    pub const fn canonical(self) -> Option<Operation> {
        match self {
            Self::AvatarV1_0 | Self::Avatar1_0Generate => Some(Operation::AvatarGenerate),
            Self::Avatar1_0TalkingVideo | Self::AvatarVideoV1_0 => {
                Some(Operation::AvatarTalkingVideo)
            }
            Self::AvatarFaceSwapV1_0 => None,
            Self::Image1_0 => Some(Operation::Image1Generate),
            Self::Video1_0 => Some(Operation::Video1Generate),
            Self::Music1_0 => Some(Operation::Music1Generate),
        }
    }

    /// The alias's name: its path between the owner and `/runs`.
    #[must_use]
    pub fn name(self) -> &'static str {
        let path = self.operation().path();
        let name = path.strip_prefix("/v1/models/{first_party_owner}/");
        name.and_then(|name| name.strip_suffix("/runs"))
            .unwrap_or(path)
    }

    /// The alias of that name, such as `image-1.0`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|alias| alias.name() == name)
    }
}

impl Client {
    /// `POST /v1/models/{first_party_owner}/…/runs`: a submit through a compatibility alias.
    ///
    /// Prefer the method of the canonical path, which [`Alias`] names; the body is the same.
    pub fn model_run(
        &self,
        first_party_owner: &str,
        alias: Alias,
        body: &Value,
    ) -> Submit<JobHandle<Developer>> {
        self.submit(alias.operation(), &[first_party_owner], body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_known_by_their_names() {
        let names: Vec<_> = Alias::ALL.iter().map(|alias| alias.name()).collect();
        assert_eq!(
            names,
            [
                "avatar/v1.0",
                "avatar-1.0/generate",
                "avatar-1.0/talking-video",
                "avatar-video/v1.0",
                "avatar-face-swap/v1.0",
                "image-1.0",
                "video-1.0",
                "music-1.0",
            ]
        );
        for alias in Alias::ALL {
            assert_eq!(Alias::from_name(alias.name()), Some(*alias));
        }
    }
}
