//! Avatars, their videos and previews, and captions of videos.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
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

impl Avatars<'_> {
    /// Submits the creation of an avatar: `POST /v1/avatar-1.0/generate`.
    #[doc = idempotency_section!(Undocumented)]
    pub fn generate(&self, body: impl Borrow<AvatarGenerate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::AvatarGenerate, &[]).json(body.borrow())
    }

    /// Submits a video in which an avatar speaks: `POST /v1/avatar-1.0/talking-video`.
    #[doc = idempotency_section!(Undocumented)]
    pub fn talking_video(
        &self,
        body: impl Borrow<AvatarTalkingVideo>,
    ) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::AvatarTalkingVideo, &[]).json(body.borrow())
    }

    /// Lists the avatars of the model avatar-1.0: `GET /v1/avatar-1.0/avatars`.
    pub fn list(&self) -> Call<Page<Avatar>> {
        Call::list::<&str>(&self.client.core, Operation::AvatarCanonicalList, &[])
    }

    /// Reads an avatar of the model avatar-1.0: `GET /v1/avatar-1.0/avatars/{id}`.
    pub fn get(&self, id: impl AsRef<str>) -> Call<Avatar> {
        Call::new(&self.client.core, Operation::AvatarCanonicalGet, &[id])
    }

    /// Lists the avatars of any model that the key can see: `GET /v1/avatars`.
    pub fn list_any(&self) -> Call<Page<Avatar>> {
        Call::list::<&str>(&self.client.core, Operation::AvatarsList, &[])
    }

    /// Reads an avatar of any model that the key can see: `GET /v1/avatars/{id}`.
    pub fn get_any(&self, id: impl AsRef<str>) -> Call<Avatar> {
        Call::new(&self.client.core, Operation::AvatarsGet, &[id])
    }

    /// Searches the avatar catalog: `POST /v1/avatar-catalog/search`.
    pub fn search(&self, body: impl Borrow<SearchQuery>) -> Call<Page<Avatar>> {
        Call::list::<&str>(&self.client.core, Operation::AvatarCatalogSearch, &[])
            .json(body.borrow())
    }
}

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

resource! {
    /// Previews of videos that avatars speak in.
    Previews, /// Previews of avatar videos: create and read them.
    previews of Developer
}

impl Previews<'_> {
    /// Submits a preview: `POST /v1/avatar-video-previews`.
    #[doc = idempotency_section!(Undocumented)]
    pub fn create(&self, body: impl Borrow<AvatarPreviewCreate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::AvatarPreviewsCreate, &[]).json(body.borrow())
    }

    /// Reads a preview: `GET /v1/avatar-video-previews/{id}`.
    pub fn get(&self, id: impl AsRef<str>) -> Call<AvatarPreview> {
        Call::new(&self.client.core, Operation::AvatarPreviewsGet, &[id])
    }

    /// Submits the preview once more: `POST /v1/avatar-video-previews/{id}/regenerate`.
    #[doc = idempotency_section!(Undocumented)]
    pub fn regenerate(&self, id: impl AsRef<str>) -> Call<JobHandle<Developer>> {
        let operation = Operation::AvatarPreviewsRegenerate;
        Call::submit(&self.client.core, operation, &[id.as_ref()])
    }

    /// Submits the video of a preview: `POST /v1/avatar-video-previews/{id}/generate-video`.
    #[doc = idempotency_section!(Undocumented)]
    pub fn generate_video(&self, id: impl AsRef<str>) -> Call<JobHandle<Developer>> {
        let operation = Operation::AvatarPreviewsGenerateVideo;
        Call::submit(&self.client.core, operation, &[id.as_ref()])
    }
}

resource! {
    /// Captions of videos.
    Captions, /// Captions of videos: create and read them.
    captions of Developer
}

impl Captions<'_> {
    /// Submits the captioning of a video: `POST /v1/video-captions`.
    #[doc = idempotency_section!(Undocumented)]
    pub fn create(&self, body: impl Borrow<VideoCaptionsCreate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::VideoCaptionsCreate, &[]).json(body.borrow())
    }

    /// Reads the captions of a video: `GET /v1/video-captions/{id}`.
    pub fn get(&self, id: impl AsRef<str>) -> Call<VideoCaptions> {
        Call::new(&self.client.core, Operation::VideoCaptionsGet, &[id])
    }
}
