//! Top-ups.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::TopUpHandle;
use crate::surface::Open;
use crate::types::{TopUpCreate, TopUpId};

resource! {
    /// Top-ups of the balance, paid at a hosted checkout.
    TopUps, /// Top-ups of the balance: create them.
    top_ups of Open
}

impl TopUps<'_> {
    /// Starts a top-up: `POST /v1/open/top-ups`.
    ///
    /// The handle's receipt has the link to the checkout.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(OnePerKey)]
    pub fn create(&self, body: impl Borrow<TopUpCreate>) -> Call<TopUpHandle> {
        Call::submit(&self.client.core, Operation::TopUpsCreate, &[]).json(body.borrow())
    }

    /// Returns a handle of the top-up with that id. Nothing is requested.
    #[must_use]
    pub fn handle(&self, id: impl Into<TopUpId>) -> TopUpHandle {
        TopUpHandle::from_id(self.client, id.into())
    }
}
