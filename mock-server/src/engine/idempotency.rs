//! Idempotency keys: one key, one create.
//!
//! Only a create that succeeded is kept, so a failed one releases its key by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;

use super::{Time, serde_pairs};

/// Where a key is kept: another workspace or operation may use the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slot {
    pub(crate) workspace: String,
    pub(crate) operation: String,
    pub(crate) key: String,
}

/// What a key was used for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    /// The canonical form's digest of the body that it came with.
    body: String,
    receipt: Value,
}

/// The keys of the last 24 hours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Idempotency {
    #[serde(with = "serde_pairs")]
    uses: BTreeMap<Slot, Use>,
    /// In the order in which they expire.
    expiring: VecDeque<(Time, Slot)>,
}

/// What a key says of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Replay {
    /// It was not used.
    New,
    /// It was used for the same request, which was answered with this.
    Same(Value),
    /// It was used for another request, which was answered with this.
    Other(Value),
}

impl Idempotency {
    pub(crate) fn look_up(&self, slot: &Slot, body: &str) -> Replay {
        match self.uses.get(slot) {
            None => Replay::New,
            Some(used) if used.body == body => Replay::Same(used.receipt.clone()),
            Some(used) => Replay::Other(used.receipt.clone()),
        }
    }

    pub(crate) fn keep(&mut self, slot: Slot, body: String, receipt: Value, now: Time) {
        self.expiring
            .push_back((now.after(IDEMPOTENCY_RETENTION), slot.clone()));
        self.uses.insert(slot, Use { body, receipt });
    }

    /// Forgets what has expired. The retention is the same for all, so the oldest is in front.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((due, slot)) = self.expiring.front() {
            if *due > now {
                return;
            }
            self.uses.remove(slot);
            self.expiring.pop_front();
        }
    }

    /// Whether each key expires, once, and the oldest first.
    pub(crate) fn check(&self) -> Result<(), String> {
        let expiring: BTreeSet<_> = self.expiring.iter().map(|(_, slot)| slot).collect();
        let each =
            expiring.len() == self.expiring.len() && expiring.into_iter().eq(self.uses.keys());
        if each && self.expiring.iter().is_sorted_by_key(|(due, _)| *due) {
            return Ok(());
        }
        Err("an idempotency key expires at no moment, or out of turn".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn slot(workspace: &str, operation: &str) -> Slot {
        Slot {
            workspace: workspace.to_owned(),
            operation: operation.to_owned(),
            key: "order-1".to_owned(),
        }
    }

    #[test]
    fn a_key_is_kept_per_workspace_and_operation() {
        let mut keys = Idempotency::default();
        let receipt = json!({"job": "job_1"});
        keys.keep(
            slot("ws_a", "video_generate"),
            "b1".to_owned(),
            receipt.clone(),
            Time::default(),
        );
        let look = |workspace, operation, body| keys.look_up(&slot(workspace, operation), body);
        assert_eq!(
            look("ws_a", "video_generate", "b1"),
            Replay::Same(receipt.clone())
        );
        assert_eq!(look("ws_a", "video_generate", "b2"), Replay::Other(receipt));
        assert_eq!(look("ws_b", "video_generate", "b1"), Replay::New);
        assert_eq!(look("ws_a", "image_generate", "b1"), Replay::New);
    }

    #[test]
    fn a_key_is_free_again_after_24_hours() {
        let mut keys = Idempotency::default();
        let start = Time::from_micros(5);
        keys.keep(slot("ws_a", "op"), "b".to_owned(), json!(1), start);
        keys.expire(start.after(IDEMPOTENCY_RETENTION - std::time::Duration::from_micros(1)));
        assert_eq!(
            keys.look_up(&slot("ws_a", "op"), "b"),
            Replay::Same(json!(1))
        );
        keys.expire(start.after(IDEMPOTENCY_RETENTION));
        assert_eq!(keys.look_up(&slot("ws_a", "op"), "b"), Replay::New);
        assert!(keys.expiring.is_empty());
    }
}
