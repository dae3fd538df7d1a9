//! The receipts in the structured results of tools.

use serde_json::Value;

use svc_sdk::journal::ResourceKind;
use svc_sdk::message::MessageReceipt;
use svc_sdk::types::Usd;

/// The fields of a result that name what a tool made.
const JOB: &str = "job_id";
const RUN: &str = "run_id";
const QUEUE: &str = "queue_id";

/// Returns the receipt in a tool's structured result, if it has an id.
pub(crate) fn receipt_in(tool: &str, structured: &Value) -> Option<MessageReceipt> {
    let text = |name: &str| structured.get(name)?.as_str().filter(|id| !id.is_empty());
    let run_kind = match tool {
        "agent_completion" => ResourceKind::AgentRun,
        _ => ResourceKind::FormatRun,
    };
    let kinds = [(JOB, ResourceKind::Job), (RUN, run_kind), (QUEUE, ResourceKind::Queue)];
    let (kind, id) = kinds.into_iter().find_map(|(name, kind)| Some((kind, text(name)?)))?;
    let price = structured.pointer("/job/price_usd").cloned();
    Some(MessageReceipt {
        kind,
        id: id.to_owned(),
        price_usd: price.and_then(|price| serde_json::from_value::<Usd>(price).ok()),
    })
}

/// Returns the field of a result that names what a tool made of that kind.
pub(crate) const fn id_field(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Job => JOB,
        ResourceKind::Queue => QUEUE,
        _ => RUN,
    }
}
