//! Top-ups of the balance.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Handle, Resource};
use crate::call::Call;
use crate::contract::{Operation, TopUpStatus};
use crate::error::{Error, Kind, ResourceRef, Result};
use crate::journal::ResourceKind;
use crate::polling::{PollStatus, ResultRetry};
use crate::sealed::Sealed;
use crate::surface::Open;
use crate::types::{Extra, RequestId, TopUp, TopUpId};

/// The service gives no hint when to poll a top-up; a payer takes a while.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// A top-up of the balance, which a person pays at a hosted checkout.
///
/// [`TopUps::create`](crate::resources::TopUps::create) returns one, and
/// [`TopUps::handle`](crate::resources::TopUps::handle) rebuilds one from an id. A wait returns when
/// it is paid:
///
/// ```no_run
/// use svc_sdk::types::{TopUpCreate, Usd};
///
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let top_up = client.top_ups().create(TopUpCreate::new(Usd::from_micros(20_000_000))).await?;
/// println!("pay at {:?}", top_up.receipt().and_then(|it| it.checkout_url.clone()));
/// top_up.wait().await?;
/// # Ok(())
/// # }
/// ```
pub type TopUpHandle = Handle<TopUpResource>;

/// Top-ups, as a kind of [`Resource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopUpResource;

impl Sealed for TopUpResource {}

impl Handle<TopUpResource> {
    /// Reads the top-up.
    pub fn get(&self) -> Call<TopUp> {
        self.status()
    }
}

impl Resource for TopUpResource {
    type Surface = Open;
    type Id = TopUpId;
    type Receipt = TopUp;
    type Status = TopUp;
    type Output = TopUp;

    const STATUS: Operation = Operation::TopUpsGet;
    const JOURNAL_KIND: ResourceKind = ResourceKind::TopUp;

    fn receipt_request_id(_: &TopUp) -> Option<&RequestId> {
        None
    }

    fn ended_status(result: &Result<TopUp>) -> Option<String> {
        match result {
            Ok(top_up) => Some(top_up.status.to_string()),
            Err(error) => match error.variant() {
                Kind::TopUpEnded { status } => Some(status.clone()),
                _ => None,
            },
        }
    }

    fn is_submitted_by(operation: Operation) -> bool {
        operation == Operation::TopUpsCreate
    }

    fn receipt_id(receipt: &TopUp) -> Option<TopUpId> {
        let id = &receipt.id;
        (!id.as_str().is_empty()).then(|| id.clone())
    }

    fn salvage_id(receipt: &Value) -> Option<TopUpId> {
        let top_up = receipt.get("top_up").unwrap_or(receipt);
        Some(top_up.get("id")?.as_str()?.to_owned().into())
    }

    fn initial_status(receipt: &TopUp) -> TopUp {
        receipt.clone()
    }

    fn resource_ref(id: &TopUpId, _: Option<&Arc<TopUp>>) -> ResourceRef {
        ResourceRef::TopUp(id.clone())
    }

    async fn output(handle: &Handle<Self>, top_up: TopUp, _: ResultRetry) -> Result<TopUp> {
        if top_up.status == TopUpStatus::Paid {
            return Ok(top_up);
        }
        let status = top_up.status.to_string();
        Err(handle.annotate(Error::new(Kind::TopUpEnded { status })))
    }
}

impl Sealed for TopUp {}

impl PollStatus for TopUp {
    fn unknown() -> Self {
        Self {
            id: TopUpId::from(""),
            status: TopUpStatus::Other(String::new()),
            checkout_url: None,
            amount_usd_cents: None,
            extra: Extra::default(),
        }
    }

    fn is_finished(&self) -> bool {
        let terminal = self.extra.get_as("terminal");
        terminal.unwrap_or_else(|| self.status.is_terminal())
    }

    fn poll_after(&self) -> Option<Duration> {
        Some(POLL_INTERVAL)
    }
}
