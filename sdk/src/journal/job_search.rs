//! The search for a job by the idempotency key in its metadata.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::store::IntentId;
use super::{Journal, ResourceKind, Settled};
use crate::call::{Call, Core};
use crate::contract::Operation;
use crate::types::{IdempotencyKey, Job, Page};

/// The entry of a job's metadata that has its idempotency key.
const ENTRY: &str = "svc_idempotency_key";

/// Adds the key to the metadata of a job's body. Metadata that is no object stays as it is: the service
/// refuses it.
pub(crate) fn add_key(body: &mut Map<String, Value>, key: &IdempotencyKey) {
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert(ENTRY.to_owned(), key.as_str().into());
    }
}

impl Journal {
    /// Looks for the job of a submission whose outcome is unknown, and records it. Returns whether that
    /// succeeded: otherwise the outcome is as unknown as before.
    pub(crate) async fn find_job(
        &self,
        core: &Arc<Core>,
        id: &IntentId,
        key: &IdempotencyKey,
    ) -> bool {
        let list: Call<Page<Job>> = Call::list::<&str>(core, Operation::JobsList, &[]);
        let mut jobs = list.items();
        while let Some(job) = jobs.next().await {
            let Ok(job) = job else { return false };
            let entry = job.metadata.as_ref().and_then(|metadata| metadata.get(ENTRY));
            if entry.and_then(Value::as_str) == Some(key.as_str()) {
                let (kind, charge_usd) = (ResourceKind::Job, job.price_usd);
                let found = Settled::Executed { kind, id: job.id.to_string(), charge_usd };
                return self.settle(id, found).await.is_ok();
            }
        }
        false
    }
}
