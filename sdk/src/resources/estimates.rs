//! Estimates.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Open;
use crate::types::{Estimate, EstimateRequest};

resource! {
    /// Prices of submits before they are made.
    ///
    /// ```no_run
    /// use svc_sdk::types::VideoGenerate;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let body = VideoGenerate::new("auto").prompt("a red fox in snow");
    /// println!("{} USD", client.estimates().create(&body).await?.price_usd);
    /// let job = client.videos().generate(body).await?;
    /// # Ok(())
    /// # }
    /// ```
    Estimates, /// Estimates: price a submit before it is made.
    estimates of Open
}

impl Estimates<'_> {
    /// Estimates the price of a submit, which equals the charge: `POST /v1/open/estimate`.
    pub fn create(&self, request: impl Into<EstimateRequest>) -> Call<Estimate> {
        Call::new::<&str>(&self.client.core, Operation::OpenEstimate, &[]).json(&request.into())
    }
}
