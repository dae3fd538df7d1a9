//! Captions of videos.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::Developer;
use crate::types::{VideoCaptions, VideoCaptionsCreate};

resource! {
    /// Captions of videos.
    Captions, /// Captions of videos: create and read them.
    captions of Developer
}

impl Captions<'_> {
    /// Submits the captioning of a video: `POST /v1/video-captions`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn create(&self, body: impl Borrow<VideoCaptionsCreate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::VideoCaptionsCreate, &[]).json(body.borrow())
    }

    /// Reads the captions of a video: `GET /v1/video-captions/{id}`.
    pub fn get(&self, id: impl AsRef<str>) -> Call<VideoCaptions> {
        Call::new(&self.client.core, Operation::VideoCaptionsGet, &[id])
    }
}
