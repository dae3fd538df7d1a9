//! Submissions that another journal wrote, such as that of an earlier version of a program.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::Journal;
use super::active_intent::change;
use super::record::{Facts, Receipt, Record, ResourceKind};
use super::store::{Begun, IntentId, NewIntent};
use crate::contract::Operation;
use crate::error::Result;
use crate::types::{IdempotencyKey, Usd};

/// A submission that another journal wrote before it was sent.
#[derive(Clone, Debug)]
pub struct ImportedSubmission {
    /// The intent. Importing the same one again changes nothing.
    pub id: IntentId,
    /// The id of the submission. It has to identify the request, as its body is not known.
    pub submission_id: String,
    /// The label of the account, empty if it has none.
    pub account: String,
    /// The operation.
    pub operation: Operation,
    /// The base URL that it was sent to.
    pub base_url: String,
    /// The key of its attempts.
    pub idempotency_key: IdempotencyKey,
    /// When it was begun.
    pub begun_at: SystemTime,
    /// What the service made of it, and its id.
    pub resource: Option<(ResourceKind, String)>,
    /// The request that was answered with the receipt.
    pub request_id: Option<String>,
    /// The price.
    pub price_usd: Option<Usd>,
    /// What the application noted about it.
    pub notes: Map<String, Value>,
    /// Whether the service documents that it recognizes the idempotency key.
    pub is_key_documented: bool,
}

impl Journal {
    /// Takes over a submission from another journal.
    #[doc(hidden)]
    pub async fn import(&self, submission: ImportedSubmission) -> Result<()> {
        let store = &self.shared.store;
        let key = self.key(&submission.account, &submission.submission_id);
        let since_1970 = submission.begun_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let facts = Facts {
            is_key_documented: submission.is_key_documented,
            origin: submission.base_url,
            price_usd: submission.price_usd,
            notes: submission.notes,
            begun_at_ms: Some(u64::try_from(since_1970.as_millis()).unwrap_or_default()),
            ..Facts::new(submission.operation.name(), submission.idempotency_key)
        };
        let mut intent = NewIntent {
            id: submission.id,
            namespace: key.namespace.clone(),
            account: submission.account,
            submission_id: Some(submission.submission_id),
            generation: 0,
            is_permanent: facts.is_key_permanent,
            facts: facts.to_json(),
            reservation: None,
        };
        loop {
            let newest = store.get(&key).await?.into_iter().last();
            intent.generation = newest.map_or(1, |it| it.generation + 1);
            if let Begun::Written(_) = store.begin(&intent).await? {
                break;
            }
        }
        if let Some((kind, id)) = submission.resource {
            // A process that is gone may have begun to import it.
            store.claim(&intent.id).await?;
            let accepted = Record::Accepted(Receipt {
                kind,
                id,
                request_id: submission.request_id,
                price_usd: submission.price_usd,
            });
            store.append(&intent.id, &change(&accepted)).await?;
        }
        Ok(())
    }
}
