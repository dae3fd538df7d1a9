//! The spend and the outcome of finished runs.

use svc_sdk::contract::RunStatus;
use svc_sdk::types::{RunReceipt, RunUsage};

use crate::types::Outcome;

/// Describes the spend of a run and its cap. An unreadable amount is unknown rather than 0.
pub(crate) fn spend(receipt: &RunReceipt) -> String {
    let cap = receipt
        .usage
        .as_ref()
        .and_then(RunUsage::generation_spend_cap);
    match (receipt.billable_amount(), cap) {
        (Some(spent), Some(cap)) => format!("spent {spent} of a cap of {cap} USD"),
        (Some(spent), None) => format!("spent {spent} USD"),
        (None, Some(cap)) => format!("spend unknown, of a cap of {cap} USD"),
        (None, None) => "spend unknown".to_owned(),
    }
}

/// Returns the outcome of a terminal status.
pub(crate) fn outcome_of(status: &RunStatus) -> Option<Outcome> {
    match status {
        RunStatus::Completed => Some(Outcome::Completed),
        RunStatus::Failed => Some(Outcome::Failed),
        RunStatus::Canceled => Some(Outcome::Canceled),
        RunStatus::Skipped => Some(Outcome::Skipped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unreadable_spend_is_unknown() {
        let of = |usage: serde_json::Value| {
            let receipt = json!({"run_id": "run_1", "status": "completed", "usage": usage});
            spend(&serde_json::from_value(receipt).unwrap())
        };
        let rows = [
            (json!(null), "spend unknown"),
            (
                json!({"generation_spend_cap_usd_micros": 2_000_000}),
                "spend unknown, of a cap of 2.0000 USD",
            ),
            (json!({"billable_amount_usd_micros": 0}), "spent 0.0000 USD"),
            (
                json!({"billable_amount_usd_micros": 420_000, "generation_spend_cap_usd_micros": 2_000_000}),
                "spent 0.4200 of a cap of 2.0000 USD",
            ),
        ];
        for (usage, expected) in rows {
            assert_eq!(of(usage), expected);
        }
    }
}
