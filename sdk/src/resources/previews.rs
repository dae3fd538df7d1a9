//! Previews of avatar videos.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::Developer;
use crate::types::{AvatarPreview, AvatarPreviewCreate};

resource! {
    /// Previews of videos that avatars speak in.
    Previews, /// Previews of avatar videos: create and read them.
    previews of Developer
}

impl Previews<'_> {
    /// Submits a preview: `POST /v1/avatar-video-previews`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn create(&self, body: impl Borrow<AvatarPreviewCreate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::AvatarPreviewsCreate, &[]).json(body.borrow())
    }

    /// Reads a preview: `GET /v1/avatar-video-previews/{id}`.
    pub fn get(&self, id: impl AsRef<str>) -> Call<AvatarPreview> {
        Call::new(&self.client.core, Operation::AvatarPreviewsGet, &[id])
    }

    /// Submits the preview once more: `POST /v1/avatar-video-previews/{id}/regenerate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn regenerate(&self, id: impl AsRef<str>) -> Call<JobHandle<Developer>> {
        let operation = Operation::AvatarPreviewsRegenerate;
        Call::submit(&self.client.core, operation, &[id.as_ref()])
    }

    /// Submits the video of a preview: `POST /v1/avatar-video-previews/{id}/generate-video`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn generate_video(&self, id: impl AsRef<str>) -> Call<JobHandle<Developer>> {
        let operation = Operation::AvatarPreviewsGenerateVideo;
        Call::submit(&self.client.core, operation, &[id.as_ref()])
    }
}
