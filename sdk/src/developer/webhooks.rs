//! Webhook administration: the signing secret, test deliveries, redelivery.

use super::Client;
use crate::call::{Call, Request};
use crate::contract::Operation;
use crate::error::Result;
use crate::surface::Developer;
use crate::types::{JobId, Redelivery, SigningSecret, TestDelivery, TestDeliveryCreate, Validate};
use crate::wait::{JobHandle, Watched};

impl Client {
    /// `GET /v1/webhooks/signing-secret`: the workspace's signing secret.
    pub fn signing_secret_get(&self) -> Call<SigningSecret> {
        let request = Request::new::<&str>(Operation::SigningSecretGet, &[]);
        Call::secret(&self.core, request)
    }

    /// `POST /v1/webhooks/signing-secret/rotate`: a new signing secret.
    ///
    /// For 24 hours deliveries are signed with the old one too. A second rotation within them
    /// retires the older one at once: it is never repeated by itself.
    pub fn signing_secret_rotate(&self) -> Call<SigningSecret> {
        let request = Request::new::<&str>(Operation::SigningSecretRotate, &[]);
        Call::secret(&self.core, request)
    }

    /// `POST /v1/webhooks/test-deliveries`: sends a signed dummy event to a URL.
    pub fn test_deliveries_create(&self, body: &TestDeliveryCreate) -> Call<TestDelivery> {
        let request = body
            .validate()
            .map_err(crate::Error::from)
            .and_then(|()| Request::new::<&str>(Operation::TestDeliveriesCreate, &[]))
            .and_then(|request| request.with_body(body));
        Call::new(&self.core, request)
    }

    /// `POST /v1/jobs/{job_id}/webhook/redeliver`: sends the job's terminal event again.
    pub fn jobs_webhook_redeliver(&self, id: &JobId) -> Call<Redelivery> {
        let operation = Operation::JobsWebhookRedeliver;
        Call::new(&self.core, Request::new(operation, &[id]))
    }
}

impl JobHandle<Developer> {
    /// Sends its terminal event to its webhook URL again.
    ///
    /// # Errors
    ///
    /// Where it has no webhook URL (`webhook_not_configured`), or has not ended
    /// (`job_not_terminal`).
    pub async fn redeliver(&self) -> Result<Redelivery> {
        let call = self.client.jobs_webhook_redeliver(self.id());
        call.send().await.map_err(|error| self.owned(error))
    }
}
