//! Avatars.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::Developer;
use crate::types::{Avatar, AvatarGenerate, AvatarTalkingVideo, Page, SearchQuery};

resource! {
    /// Avatars, and the videos that they speak in.
    ///
    /// ```no_run
    /// use svc_sdk::types::AvatarTalkingVideo;
    ///
    /// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
    /// let body = AvatarTalkingVideo::new("ada").script("Good morning.");
    /// let job = client.avatars().talking_video(body).await?;
    /// job.wait().await?;
    /// job.download("out").await?;
    /// # Ok(())
    /// # }
    /// ```
    Avatars, /// Avatars: create and find them, generate talking videos.
    avatars of Developer
}

impl Avatars<'_> {
    /// Submits the creation of an avatar: `POST /v1/avatar-1.0/generate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn generate(&self, body: impl Borrow<AvatarGenerate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::AvatarGenerate, &[]).json(body.borrow())
    }

    /// Submits a video in which an avatar speaks: `POST /v1/avatar-1.0/talking-video`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
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
