//! Avatars, their videos and previews, and captions of videos.

use super::{methods, resource};
use crate::contract::{Operation, idempotency_section};
use crate::handle::JobHandle;
use crate::surface::Developer;
use crate::types::{
    Avatar, AvatarGenerate, AvatarPreview, AvatarPreviewCreate, AvatarTalkingVideo, AvatarVideo,
    Page, SearchQuery, VideoCaptions, VideoCaptionsCreate,
};

resource! {
    /// Avatars, and the videos that they speak in.
    Avatars, /// Avatars: create and find them, generate talking videos.
    avatars of Developer
}

methods! { Avatars<'_> {
    /// Submits the creation of an avatar: `POST /v1/avatar-1.0/generate`.
    #[doc = idempotency_section!(Undocumented)]
    generate(AvatarGenerate) -> JobHandle<Developer>: submit Operation::AvatarGenerate;
    /// Submits a video in which an avatar speaks: `POST /v1/avatar-1.0/talking-video`.
    #[doc = idempotency_section!(Undocumented)]
    talking_video(AvatarTalkingVideo) -> JobHandle<Developer>: submit Operation::AvatarTalkingVideo;
    /// Lists the avatars of the model avatar-1.0: `GET /v1/avatar-1.0/avatars`.
    list -> Page<Avatar>: list Operation::AvatarCanonicalList;
    /// Reads an avatar of the model avatar-1.0: `GET /v1/avatar-1.0/avatars/{id}`.
    get[id: AsRef<str>] -> Avatar: new Operation::AvatarCanonicalGet;
    /// Lists the avatars of any model that the key can see: `GET /v1/avatars`.
    list_any -> Page<Avatar>: list Operation::AvatarsList;
    /// Reads an avatar of any model that the key can see: `GET /v1/avatars/{id}`.
    get_any[id: AsRef<str>] -> Avatar: new Operation::AvatarsGet;
    /// Searches the avatar catalog: `POST /v1/avatar-catalog/search`.
    search(SearchQuery) -> Page<Avatar>: list Operation::AvatarCatalogSearch;
} }

resource! {
    /// The videos that avatars speak in.
    AvatarVideos, /// Videos of avatars: list them.
    avatar_videos of Developer
}

methods! { AvatarVideos<'_> {
    /// Lists the videos of avatars: `GET /v1/avatar-videos`.
    list -> Page<AvatarVideo>: list Operation::AvatarVideosList;
    /// Reads a video of an avatar: `GET /v1/avatar-videos/{id}`.
    get[id: AsRef<str>] -> AvatarVideo: new Operation::AvatarVideosGet;
} }

resource! {
    /// Previews of videos that avatars speak in.
    Previews, /// Previews of avatar videos: create and read them.
    previews of Developer
}

methods! { Previews<'_> {
    /// Submits a preview: `POST /v1/avatar-video-previews`.
    #[doc = idempotency_section!(Undocumented)]
    create(AvatarPreviewCreate) -> JobHandle<Developer>: submit Operation::AvatarPreviewsCreate;
    /// Reads a preview: `GET /v1/avatar-video-previews/{id}`.
    get[id: AsRef<str>] -> AvatarPreview: new Operation::AvatarPreviewsGet;
    /// Submits the preview once more: `POST /v1/avatar-video-previews/{id}/regenerate`.
    #[doc = idempotency_section!(Undocumented)]
    regenerate[id: AsRef<str>] -> JobHandle<Developer>: submit Operation::AvatarPreviewsRegenerate;
    /// Submits the video of a preview: `POST /v1/avatar-video-previews/{id}/generate-video`.
    #[doc = idempotency_section!(Undocumented)]
    generate_video[id: AsRef<str>]
        -> JobHandle<Developer>: submit Operation::AvatarPreviewsGenerateVideo;
} }

resource! {
    /// Captions of videos.
    Captions, /// Captions of videos: create and read them.
    captions of Developer
}

methods! { Captions<'_> {
    /// Submits the captioning of a video: `POST /v1/video-captions`.
    #[doc = idempotency_section!(Undocumented)]
    create(VideoCaptionsCreate) -> JobHandle<Developer>: submit Operation::VideoCaptionsCreate;
    /// Reads the captions of a video: `GET /v1/video-captions/{id}`.
    get[id: AsRef<str>] -> VideoCaptions: new Operation::VideoCaptionsGet;
} }
