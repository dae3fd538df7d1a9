//! Prices.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Open;
use crate::types::{CatalogModel, Page};

resource! {
    /// The open catalog: models with their prices in dollars.
    Pricing, /// Prices of models: list them.
    pricing of Open
}

impl Pricing<'_> {
    /// Lists the open models with their prices: `GET /v1/open/catalog`.
    pub fn list(&self) -> Call<Page<CatalogModel>> {
        Call::list::<&str>(&self.client.core, Operation::OpenCatalogList, &[])
    }

    /// Reads an open model with its prices: `GET /v1/open/catalog/{model_id}`.
    pub fn get(&self, model_id: impl AsRef<str>) -> Call<CatalogModel> {
        Call::new(&self.client.core, Operation::OpenCatalogGet, &[model_id])
    }
}
