//! Who calls, what is left, what is offered.

use serde_json::Value;

use super::Client;
use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::types::{
    Balance, Health, JobEvent, JobId, Me, MusicCategory, MusicPick, MusicTrack, Page, Search,
    ServiceCatalog, TrendingVideo, UsageEntry,
};

impl Client {
    /// `GET /v1/health`: whether the service is up. Needs no key.
    pub fn health(&self) -> Call<Health> {
        Call::new(&self.core, Request::new::<&str>(Operation::Health, &[]))
    }

    /// `GET /v1/catalog`: what the service offers. Needs no key.
    pub fn catalog(&self) -> Call<ServiceCatalog> {
        Call::new(&self.core, Request::new::<&str>(Operation::Catalog, &[]))
    }

    /// `GET /v1/openapi.json`: the surface's OpenAPI document. Needs no key.
    pub fn openapi(&self) -> Call<Value> {
        Call::new(&self.core, Request::new::<&str>(Operation::Openapi, &[]))
    }

    /// `GET /reference/json`: the live schema, which is the authority. Needs no key.
    pub fn reference(&self) -> Call<Value> {
        Call::new(&self.core, Request::new::<&str>(Operation::Reference, &[]))
    }

    /// `GET /v1/me`: the key, its owner and its workspace.
    pub fn me(&self) -> Call<Me> {
        Call::new(&self.core, Request::new::<&str>(Operation::Me, &[]))
    }

    /// `GET /v1/balance`: what is left to spend.
    pub fn balance(&self) -> Call<Balance> {
        Call::new(&self.core, Request::new::<&str>(Operation::Balance, &[]))
    }

    /// `GET /v1/usage`: the usage ledger, newest first.
    pub fn usage(&self) -> Call<Page<UsageEntry>> {
        Call::list(&self.core, Request::new::<&str>(Operation::Usage, &[]))
    }

    /// `GET /v1/bgm/catalog`: background music. Needs no key.
    pub fn bgm_catalog(&self) -> Call<Page<MusicTrack>> {
        Call::list(&self.core, Request::new::<&str>(Operation::BgmCatalog, &[]))
    }

    /// `GET /v1/bgm/categories`: categories of background music. Needs no key.
    pub fn bgm_categories(&self) -> Call<Page<MusicCategory>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::BgmCategories, &[]),
        )
    }

    /// `POST /v1/bgm/pick`: a piece of background music. Needs no key.
    pub fn bgm_pick(&self, body: &MusicPick) -> Call<MusicTrack> {
        let request = Request::new::<&str>(Operation::BgmPick, &[])
            .and_then(|request| request.with_body(body));
        Call::new(&self.core, request)
    }

    /// `POST /v1/trending-videos/search`: trending videos.
    pub fn trending_videos_search(&self, body: &Search) -> Call<Page<TrendingVideo>> {
        let operation = Operation::TrendingVideosSearch;
        Call::list(
            &self.core,
            Request::new::<&str>(operation, &[]).and_then(|request| request.with_body(body)),
        )
    }

    /// `GET /v1/jobs/{id}/events`: a job's public timeline, as it is now.
    pub fn jobs_events(&self, id: &JobId) -> Call<Page<JobEvent>> {
        Call::list(&self.core, Request::new(Operation::JobsEvents, &[id]))
    }
}
