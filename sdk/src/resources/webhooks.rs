//! Webhook administration.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;
use crate::types::{SigningSecret, TestDelivery, TestDeliveryCreate};

resource! {
    /// The signing secret of webhooks, and test deliveries.
    ///
    /// A job or a run has its event sent again by its handle.
    Webhooks, /// Webhooks: the signing secret, test deliveries.
    webhooks of Developer
}

impl Webhooks<'_> {
    /// Reads the signing secret of the workspace: `GET /v1/webhooks/signing-secret`.
    pub fn signing_secret(&self) -> Call<SigningSecret> {
        Call::secret(&self.client.core, Operation::SigningSecretGet)
    }

    /// Rotates the signing secret of the workspace: `POST /v1/webhooks/signing-secret/rotate`.
    ///
    /// For 24 hours deliveries are signed with the previous secret as well. A second rotation within
    /// that time retires the older secret at once, so that an ambiguous rotation is not retried.
    pub fn rotate_signing_secret(&self) -> Call<SigningSecret> {
        Call::secret(&self.client.core, Operation::SigningSecretRotate)
    }

    /// Sends a signed test event to a URL: `POST /v1/webhooks/test-deliveries`.
    pub fn send_test(&self, body: impl Borrow<TestDeliveryCreate>) -> Call<TestDelivery> {
        let operation = Operation::TestDeliveriesCreate;
        Call::new::<&str>(&self.client.core, operation, &[]).json(body.borrow())
    }
}
