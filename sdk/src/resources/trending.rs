//! Trending videos.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;
use crate::types::{Page, SearchQuery, TrendingVideo};

resource! {
    /// Trending videos.
    Trending, /// Trending videos: search them.
    trending of Developer
}

impl Trending<'_> {
    /// Searches trending videos: `POST /v1/trending-videos/search`.
    pub fn search(&self, body: impl Borrow<SearchQuery>) -> Call<Page<TrendingVideo>> {
        Call::list::<&str>(&self.client.core, Operation::TrendingVideosSearch, &[])
            .json(body.borrow())
    }
}
