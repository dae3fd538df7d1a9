//! Avatars and their videos, previews and captions.

use super::Client;
use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::submit::Submit;
use crate::surface::Developer;
use crate::types::{
    Avatar, AvatarPreview, AvatarPreviewCreate, AvatarVideo, Page, Search, VideoCaptions,
    VideoCaptionsCreate,
};
use crate::wait::JobHandle;

impl Client {
    /// `GET /v1/avatar-1.0/avatars`: the avatars.
    pub fn avatar_canonical_list(&self) -> Call<Page<Avatar>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::AvatarCanonicalList, &[]),
        )
    }

    /// `GET /v1/avatar-1.0/avatars/{id}`: an avatar.
    pub fn avatar_canonical_get(&self, id: &str) -> Call<Avatar> {
        Call::new(
            &self.core,
            Request::new(Operation::AvatarCanonicalGet, &[id]),
        )
    }

    /// `GET /v1/avatars`: all avatars that the key can see.
    pub fn avatars_list(&self) -> Call<Page<Avatar>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::AvatarsList, &[]),
        )
    }

    /// `GET /v1/avatars/{id}`: any avatar that the key can see.
    pub fn avatars_get(&self, id: &str) -> Call<Avatar> {
        Call::new(&self.core, Request::new(Operation::AvatarsGet, &[id]))
    }

    /// `GET /v1/avatar-videos`: the avatar videos.
    pub fn avatar_videos_list(&self) -> Call<Page<AvatarVideo>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::AvatarVideosList, &[]),
        )
    }

    /// `GET /v1/avatar-videos/{id}`: an avatar video.
    pub fn avatar_videos_get(&self, id: &str) -> Call<AvatarVideo> {
        Call::new(&self.core, Request::new(Operation::AvatarVideosGet, &[id]))
    }

    /// `POST /v1/avatar-catalog/search`: finds an avatar.
    pub fn avatar_catalog_search(&self, body: &Search) -> Call<Page<Avatar>> {
        let operation = Operation::AvatarCatalogSearch;
        Call::list(
            &self.core,
            Request::new::<&str>(operation, &[]).and_then(|request| request.with_body(body)),
        )
    }

    /// `POST /v1/avatar-video-previews`: a preview of an avatar video.
    pub fn avatar_previews_create(
        &self,
        body: &AvatarPreviewCreate,
    ) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::AvatarPreviewsCreate, body)
    }

    /// `GET /v1/avatar-video-previews/{id}`: a preview.
    pub fn avatar_previews_get(&self, id: &str) -> Call<AvatarPreview> {
        Call::new(
            &self.core,
            Request::new(Operation::AvatarPreviewsGet, &[id]),
        )
    }

    /// `POST /v1/avatar-video-previews/{id}/regenerate`: makes a preview again.
    pub fn avatar_previews_regenerate(&self, id: &str) -> Submit<JobHandle<Developer>> {
        self.submit_bare(Operation::AvatarPreviewsRegenerate, &[id])
    }

    /// `POST /v1/avatar-video-previews/{id}/generate-video`: makes the video of a preview.
    pub fn avatar_previews_generate_video(&self, id: &str) -> Submit<JobHandle<Developer>> {
        self.submit_bare(Operation::AvatarPreviewsGenerateVideo, &[id])
    }

    /// `POST /v1/video-captions`: captions of a video.
    pub fn video_captions_create(
        &self,
        body: &VideoCaptionsCreate,
    ) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::VideoCaptionsCreate, body)
    }

    /// `GET /v1/video-captions/{id}`: a captioning.
    pub fn video_captions_get(&self, id: &str) -> Call<VideoCaptions> {
        Call::new(&self.core, Request::new(Operation::VideoCaptionsGet, &[id]))
    }
}
