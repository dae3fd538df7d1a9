//! The search for a job by the idempotency key in its metadata.

use serde_json::{Map, Value};

use super::core::Core;
use super::deadline::Deadline;
use super::options::CallOptions;
use super::request::Request;
use crate::contract::Operation;
use crate::error::Result;
use crate::journal::{IntentId, Journal, ResourceKind, Settled};
use crate::types::{IdempotencyKey, Job, Page};

const ENTRY: &str = "svc_idempotency_key";

/// Adds the key to the metadata of a job's body. Metadata that is not an object stays as it is: the service
/// refuses it.
pub(crate) fn add_key(body: &mut Map<String, Value>, key: &IdempotencyKey) {
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert(ENTRY.to_owned(), key.as_str().into());
    }
}

/// Looks for the job of a submission whose outcome is unknown, and records it. Returns whether that
/// succeeded: otherwise the outcome is as unknown as before.
pub(crate) async fn find_job(
    journal: &Journal,
    core: &Core,
    id: &IntentId,
    key: &IdempotencyKey,
) -> bool {
    let Ok(mut request) = Request::new::<&str>(Operation::JobsList, &[]) else { return false };
    while let Ok(page) = read_page(core, &request).await {
        if let Some(job) = page.items.into_iter().find(|job| has_key(job, key)) {
            let (kind, charge_usd) = (ResourceKind::Job, job.price_usd);
            let found = Settled::Executed { kind, id: job.id.to_string(), charge_usd };
            return journal.settle(id, found).await.is_ok();
        }
        let known = request.query_value("cursor");
        let Some(next) = page.next_cursor.filter(|next| known != Some(next)) else { break };
        request.set_query("cursor", next);
    }
    false
}

async fn read_page(core: &Core, request: &Request) -> Result<Page<Job>> {
    let deadline = Deadline::after(core.timeout);
    let options = CallOptions::default();
    let page = core.execute(request, &options, &deadline, None, |response| {
        response.into_success()?.decode_page()
    });
    Box::pin(page).await
}

fn has_key(job: &Job, key: &IdempotencyKey) -> bool {
    let entry = job.metadata.as_ref().and_then(|metadata| metadata.get(ENTRY));
    entry.and_then(Value::as_str) == Some(key.as_str())
}
