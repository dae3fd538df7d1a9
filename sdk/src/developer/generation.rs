//! The canonical generation paths.

use super::Client;
use crate::contract::Operation;
use crate::submit::Submit;
use crate::surface::Developer;
use crate::types::{
    AvatarGenerate, AvatarTalkingVideo, Image1Generate, Music1Generate, Video1Generate,
};
use crate::wait::JobHandle;

impl Client {
    /// `POST /v1/avatar-1.0/generate`: a new avatar.
    pub fn avatar_generate(&self, body: &AvatarGenerate) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::AvatarGenerate, body)
    }

    /// `POST /v1/avatar-1.0/talking-video`: a video that an avatar speaks in.
    pub fn avatar_talking_video(&self, body: &AvatarTalkingVideo) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::AvatarTalkingVideo, body)
    }

    /// `POST /v1/image-1.0/generate`: images.
    pub fn image_1_generate(&self, body: &Image1Generate) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::Image1Generate, body)
    }

    /// `POST /v1/video-1.0/generate`: a video.
    pub fn video_1_generate(&self, body: &Video1Generate) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::Video1Generate, body)
    }

    /// `POST /v1/music-1.0/generate`: a piece of music.
    pub fn music_1_generate(&self, body: &Music1Generate) -> Submit<JobHandle<Developer>> {
        self.submit_typed(Operation::Music1Generate, body)
    }
}
