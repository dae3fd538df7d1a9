//! Background music.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;
use crate::types::{MusicCategory, MusicPick, MusicTrack, Page};

resource! {
    /// Tracks of background music. No key is needed.
    BackgroundMusic, /// Background music: list and pick tracks.
    background_music of Developer
}

impl BackgroundMusic<'_> {
    /// Lists the tracks: `GET /v1/bgm/catalog`.
    pub fn list(&self) -> Call<Page<MusicTrack>> {
        Call::list::<&str>(&self.client.core, Operation::BgmCatalog, &[])
    }

    /// Lists the categories: `GET /v1/bgm/categories`.
    pub fn categories(&self) -> Call<Page<MusicCategory>> {
        Call::list::<&str>(&self.client.core, Operation::BgmCategories, &[])
    }

    /// Picks a track: `POST /v1/bgm/pick`.
    pub fn pick(&self, body: impl Borrow<MusicPick>) -> Call<MusicTrack> {
        Call::new::<&str>(&self.client.core, Operation::BgmPick, &[]).json(body.borrow())
    }
}
