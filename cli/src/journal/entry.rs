//! Entries of the journal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::request_hash::RequestHash;
use crate::types::{Outcome, ResourceId};

/// A request that is about to be sent. It is written to disk first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// The local id of the intent.
    pub(crate) id: String,
    /// The hash that identifies equal requests.
    pub(crate) request_hash: RequestHash,
    /// `open` or `developer`.
    pub(crate) surface: String,
    /// The base URL that it is sent to.
    pub(crate) base_url: String,
    /// The fingerprint of the API key that pays.
    pub(crate) key_fingerprint: String,
    /// The name of the operation.
    pub(crate) operation: String,
    /// The idempotency key, which is the same for each attempt.
    pub(crate) idempotency_key: IdempotencyKey,
    /// A description for people, without the texts of the request.
    pub(crate) summary: String,
    /// The estimate, if one was requested, and later the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    /// The maximum price that the caller accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_price_usd: Option<Usd>,
    /// The time at which it was written.
    pub(crate) created_at: Timestamp,
}

/// One line of a journal file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The request, before it is sent.
    Intent(Box<Intent>),
    /// The service's receipt.
    Receipt {
        /// The submitted resource.
        #[serde(flatten)]
        resource: ResourceId,
        /// The id of the request that submitted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// The price, if the receipt contains it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price_usd: Option<Usd>,
    },
    /// The outcome that was reported.
    Outcome {
        /// The outcome itself.
        outcome: Outcome,
        /// The time at which it was reported.
        at: Timestamp,
    },
}

/// The content of a journal file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    /// The request.
    #[serde(flatten)]
    pub(crate) intent: Intent,
    /// The submitted resource, once it is known.
    #[serde(flatten)]
    pub(crate) resource: Option<ResourceId>,
    /// The id of the request that submitted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// The outcome, or `None` while it is unknown.
    pub(crate) outcome: Option<Outcome>,
    /// The time at which the outcome was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Timestamp>,
}

impl Entry {
    /// Parses the text of a file. Ignores lines that are incomplete or that this version does not
    /// know. Returns `None` if there is no intent.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut entry: Option<Self> = None;
        for line in text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
        {
            match (line, &mut entry) {
                (Line::Intent(intent), None) => {
                    entry = Some(Self {
                        intent: *intent,
                        resource: None,
                        request_id: None,
                        outcome: None,
                        ended_at: None,
                    });
                }
                (
                    Line::Receipt {
                        resource,
                        request_id,
                        price_usd,
                    },
                    Some(entry),
                ) => {
                    entry.resource = Some(resource);
                    entry.request_id = request_id;
                    entry.intent.price_usd = price_usd.or(entry.intent.price_usd);
                }
                (Line::Outcome { outcome, at }, Some(entry)) => {
                    entry.outcome = Some(outcome);
                    entry.ended_at = Some(at);
                }
                _ => {}
            }
        }
        entry
    }
}

#[cfg(test)]
pub(super) fn example(key: &str) -> Intent {
    Intent {
        id: key.to_owned(),
        request_hash: RequestHash::new(
            "https://a",
            "f",
            svc_sdk::contract::Operation::VideoGenerate,
            &[],
            &serde_json::json!({}),
            None,
        ),
        surface: "open".into(),
        base_url: "https://a".into(),
        key_fingerprint: "f".into(),
        operation: "video_generate".into(),
        idempotency_key: key
            .parse()
            .unwrap_or_else(|_| unreachable!("a test's key is valid")),
        summary: "video, model auto".into(),
        price_usd: None,
        max_price_usd: None,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_lines_are_ignored() {
        let intent = serde_json::to_string(&Line::Intent(Box::new(example("k")))).unwrap();
        let receipt = r#"{"receipt":{"job_id":"job_1"}}"#;
        for cut in 1..receipt.len() {
            let entry = Entry::parse(&format!("{intent}\n{}", &receipt[..cut])).unwrap();
            assert_eq!(entry.resource, None, "{cut}");
        }
        let entry = Entry::parse(&format!(
            "{intent}\n{receipt}\n{{\"outcome\":{{\"outcome\":\"compl"
        ))
        .unwrap();
        assert_eq!(entry.resource, Some(ResourceId::Job("job_1".into())));
        assert_eq!(entry.outcome, None);
        for cut in 0..intent.len() {
            assert_eq!(Entry::parse(&intent[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn a_resource_keeps_its_kind() {
        for resource in [
            ResourceId::Job("job_1".into()),
            ResourceId::Run("run_1".into()),
            ResourceId::Queue("frq_1".into()),
            ResourceId::TopUp("top_1".into()),
        ] {
            let receipt = Line::Receipt {
                resource: resource.clone(),
                request_id: None,
                price_usd: None,
            };
            let lines = [Line::Intent(Box::new(example("k"))), receipt];
            let text = lines.map(|line| serde_json::to_string(&line).unwrap());
            let entry = Entry::parse(&text.join("\n")).unwrap();
            assert_eq!(entry.resource.as_ref(), Some(&resource));
            let shown = serde_json::to_value(&entry).unwrap();
            assert_eq!(shown[resource.field()], resource.id());
        }
    }

    #[test]
    fn lines_of_a_later_version_are_ignored() {
        let intent = serde_json::to_string(&Line::Intent(Box::new(example("k")))).unwrap();
        let text = format!(
            "{intent}\n{{\"weather\":\"fine\"}}\n{{\"receipt\":{{\"job_id\":\"job_1\",\"new\":1}}}}\n"
        );
        assert_eq!(
            Entry::parse(&text).unwrap().resource,
            Some(ResourceId::Job("job_1".into()))
        );
    }
}
