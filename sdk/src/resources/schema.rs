//! OpenAPI documents.

use serde_json::Value;

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;

resource! {
    /// The OpenAPI documents of the service. No key is needed.
    Schema, /// The OpenAPI documents of the service.
    schema of Developer
}

impl Schema<'_> {
    /// Reads the OpenAPI document of the surface: `GET /v1/openapi.json`.
    pub fn openapi(&self) -> Call<Value> {
        Call::new::<&str>(&self.client.core, Operation::Openapi, &[])
    }

    /// Reads the live schema, which is authoritative: `GET /reference/json`.
    pub fn reference(&self) -> Call<Value> {
        Call::new::<&str>(&self.client.core, Operation::Reference, &[])
    }
}
