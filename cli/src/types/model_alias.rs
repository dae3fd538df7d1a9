//! Compatibility aliases under `/v1/models`.

use svc_sdk::contract::Operation;

/// A compatibility alias of an operation, under `/v1/models`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Alias {
    /// `avatar/v1.0`.
    AvatarV1_0,
    /// `avatar-1.0/generate`.
    Avatar1_0Generate,
    /// `avatar-1.0/talking-video`.
    Avatar1_0TalkingVideo,
    /// `avatar-video/v1.0`.
    AvatarVideoV1_0,
    /// `avatar-face-swap/v1.0` (beta).
    AvatarFaceSwapV1_0,
    /// `image-1.0`.
    Image1_0,
    /// `video-1.0`.
    Video1_0,
    /// `music-1.0`.
    Music1_0,
}

impl Alias {
    /// All aliases.
    pub(crate) const ALL: &'static [Self] = &[
        Self::AvatarV1_0,
        Self::Avatar1_0Generate,
        Self::Avatar1_0TalkingVideo,
        Self::AvatarVideoV1_0,
        Self::AvatarFaceSwapV1_0,
        Self::Image1_0,
        Self::Video1_0,
        Self::Music1_0,
    ];

    /// Returns the operation of the alias.
    pub(crate) const fn operation(self) -> Operation {
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

    /// Returns the canonical operation, which is preferred, if there is one.
    pub(crate) const fn canonical(self) -> Option<Operation> {
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

    /// Returns whether the body has a prompt.
    pub(crate) const fn has_prompt(self) -> bool {
        match self {
            Self::AvatarV1_0
            | Self::Avatar1_0Generate
            | Self::Image1_0
            | Self::Video1_0
            | Self::Music1_0 => true,
            Self::Avatar1_0TalkingVideo | Self::AvatarVideoV1_0 | Self::AvatarFaceSwapV1_0 => false,
        }
    }

    /// Returns the name: the part of the path between the owner and `/runs`.
    pub(crate) fn name(self) -> &'static str {
        let path = self.operation().path();
        let name = path.strip_prefix("/v1/models/{first_party_owner}/");
        name.and_then(|name| name.strip_suffix("/runs"))
            .unwrap_or(path)
    }

    /// Returns the alias with that name, such as `image-1.0`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|alias| alias.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alias_is_found_by_its_name() {
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
