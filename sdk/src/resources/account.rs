//! The account: its key and balance, top-ups, and the administration of webhooks.

use super::{methods, resource};
use crate::contract::{Operation, idempotency_section};
use crate::handle::TopUpHandle;
use crate::surface::{Developer, Open};
use crate::types::{
    Balance, Me, Page, SigningSecret, TestDelivery, TestDeliveryCreate, TopUpCreate, TopUpId,
    UsageEntry,
};

resource! {
    /// The API key, its owner and workspace, and what was spent.
    Account, /// The API key, the balance and the usage ledger.
    account of Developer
}

methods! { Account<'_> {
    /// Reads the API key, its owner and its workspace: `GET /v1/me`.
    me -> Me: new Operation::Me;
    /// Reads the balance: `GET /v1/balance`.
    balance -> Balance: new Operation::Balance;
    /// Lists the entries of the usage ledger, newest first: `GET /v1/usage`.
    usage -> Page<UsageEntry>: list Operation::Usage;
} }

resource! {
    /// Top-ups of the balance, paid at a hosted checkout.
    TopUps, /// Top-ups of the balance: create them.
    top_ups of Open, with handles TopUpHandle, TopUpId
}

methods! { TopUps<'_> {
    /// Starts a top-up: `POST /v1/open/top-ups`.
    ///
    /// The handle's receipt has the link to the checkout.
    #[doc = idempotency_section!(OnePerKey)]
    create(TopUpCreate) -> TopUpHandle: submit Operation::TopUpsCreate;
} }

resource! {
    /// The signing secret of webhooks, and test deliveries.
    ///
    /// A job or a run has its event sent again by its handle.
    Webhooks, /// Webhooks: the signing secret, test deliveries.
    webhooks of Developer
}

methods! { Webhooks<'_> {
    /// Reads the signing secret of the workspace: `GET /v1/webhooks/signing-secret`.
    signing_secret -> SigningSecret: secret Operation::SigningSecretGet;
    /// Rotates the signing secret of the workspace: `POST /v1/webhooks/signing-secret/rotate`.
    ///
    /// For 24 hours deliveries are signed with the previous secret as well. A second rotation within
    /// that time retires the older secret at once, so that an ambiguous rotation is not retried.
    rotate_signing_secret -> SigningSecret: secret Operation::SigningSecretRotate;
    /// Sends a signed test event to a URL: `POST /v1/webhooks/test-deliveries`.
    send_test(TestDeliveryCreate) -> TestDelivery: new Operation::TestDeliveriesCreate;
} }
