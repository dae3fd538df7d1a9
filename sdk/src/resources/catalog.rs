//! The catalog.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;
use crate::types::{Health, ServiceCatalog};

resource! {
    /// What the service offers, and whether it is up. No key is needed.
    Catalog, /// What the service offers, and whether it is up.
    catalog of Developer
}

impl Catalog<'_> {
    /// Reads the capabilities, endpoints and models of the service: `GET /v1/catalog`.
    pub fn get(&self) -> Call<ServiceCatalog> {
        Call::new::<&str>(&self.client.core, Operation::Catalog, &[])
    }

    /// Reads whether the service is up: `GET /v1/health`.
    pub fn health(&self) -> Call<Health> {
        Call::new::<&str>(&self.client.core, Operation::Health, &[])
    }
}
