//! The open pay-as-you-go surface: image and video generation, prices, top-ups, jobs.

mod top_up;

use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::submit::Submit;
use crate::surface::Open;
use crate::types::{
    CatalogModel, Estimate, EstimateRequest, ImageGenerate, Model, Page, TopUp, TopUpCreate,
    TopUpId, Validate, VideoGenerate,
};
use crate::wait::JobHandle;

/// A client of the open surface.
///
/// ```no_run
/// use svc_sdk::open;
/// use svc_sdk::types::VideoGenerate;
///
/// # async fn run() -> svc_sdk::Result<()> {
/// let client = open::Client::from_env()?;
/// let video = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
/// println!("costs {} USD", client.open_estimate(&video).send().await?.price_usd);
///
/// let job = client.video_generate(&video).send().await?;
/// println!("{} is paid for", job.id());
/// job.wait().await?;
/// for file in job.download("out").await? {
///     println!("{}", file.path.display());
/// }
/// # Ok(())
/// # }
/// ```
pub type Client = crate::client::Client<Open>;

impl Client {
    /// `POST /v1/image-router/generate`: an image job.
    pub fn image_generate(&self, body: &ImageGenerate) -> Submit<JobHandle<Open>> {
        self.submit_typed(Operation::ImageGenerate, body)
    }

    /// `GET /v1/image-router/models`: the image models.
    pub fn image_models_list(&self) -> Call<Page<Model>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::ImageModelsList, &[]),
        )
    }

    /// `GET /v1/image-router/models/{model_id}`: one image model.
    pub fn image_models_get(&self, model_id: &str) -> Call<Model> {
        Call::new(
            &self.core,
            Request::new(Operation::ImageModelsGet, &[model_id]),
        )
    }

    /// `POST /v1/video-router/generate`: a video job.
    pub fn video_generate(&self, body: &VideoGenerate) -> Submit<JobHandle<Open>> {
        self.submit_typed(Operation::VideoGenerate, body)
    }

    /// `GET /v1/video-router/models`: the video models.
    pub fn video_models_list(&self) -> Call<Page<Model>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::VideoModelsList, &[]),
        )
    }

    /// `GET /v1/video-router/models/{model_id}`: one video model.
    pub fn video_models_get(&self, model_id: &str) -> Call<Model> {
        Call::new(
            &self.core,
            Request::new(Operation::VideoModelsGet, &[model_id]),
        )
    }

    /// `GET /v1/open/catalog`: the open models with their dollar prices.
    pub fn open_catalog_list(&self) -> Call<Page<CatalogModel>> {
        Call::list(
            &self.core,
            Request::new::<&str>(Operation::OpenCatalogList, &[]),
        )
    }

    /// `GET /v1/open/catalog/{model_id}`: one open model.
    pub fn open_catalog_get(&self, model_id: &str) -> Call<CatalogModel> {
        Call::new(
            &self.core,
            Request::new(Operation::OpenCatalogGet, &[model_id]),
        )
    }

    /// `POST /v1/open/estimate`: what a submit would cost. It equals the charge.
    pub fn open_estimate(&self, request: impl Into<EstimateRequest>) -> Call<Estimate> {
        let operation = Operation::OpenEstimate;
        Call::new(
            &self.core,
            Request::new::<&str>(operation, &[]).and_then(|call| call.with_body(&request.into())),
        )
    }

    /// `POST /v1/open/top-ups`: starts a top-up; the payer opens its `checkout_url`.
    pub fn top_ups_create(&self, body: &TopUpCreate) -> Call<TopUp> {
        let request = body
            .validate()
            .map_err(Into::into)
            .and_then(|()| Request::new::<&str>(Operation::TopUpsCreate, &[])?.with_body(body));
        Call::new(&self.core, request)
    }

    /// `GET /v1/open/top-ups/{id}`: how a top-up stands.
    pub fn top_ups_get(&self, id: &TopUpId) -> Call<TopUp> {
        Call::new(&self.core, Request::new(Operation::TopUpsGet, &[id]))
    }
}
