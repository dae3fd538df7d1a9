//! What a journal file says.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::request_hash::RequestHash;
use crate::types::{Outcome, ResourceId};

/// What was meant to be sent. On disk before it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// Names it on this machine.
    pub(crate) id: String,
    /// What makes it the same as another.
    pub(crate) request_hash: RequestHash,
    /// `open` or `developer`.
    pub(crate) surface: String,
    /// The host that it goes to.
    pub(crate) base_url: String,
    /// Which API key pays.
    pub(crate) key_fingerprint: String,
    /// The operation's name.
    pub(crate) operation: String,
    /// The key that makes it one call, however often it is sent.
    pub(crate) idempotency_key: IdempotencyKey,
    /// What it is, for people, without its texts.
    pub(crate) summary: String,
    /// The estimate, where one was asked for; later the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    /// The most that it may cost, where the caller said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_price_usd: Option<Usd>,
    /// When it was written.
    pub(crate) created_at: Timestamp,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// What was meant to be sent.
    Intent(Box<Intent>),
    /// The service's receipt.
    Receipt {
        /// The job, run or queue that is paid for.
        #[serde(flatten)]
        resource: ResourceId,
        /// The request that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// What it costs, where the receipt says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price_usd: Option<Usd>,
    },
    /// What became of it, as a person was told.
    Outcome {
        /// In a word.
        outcome: Outcome,
        /// When.
        at: Timestamp,
    },
}

/// A whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    /// What was meant to be sent.
    #[serde(flatten)]
    pub(crate) intent: Intent,
    /// The job, run or queue, once there is one.
    #[serde(flatten)]
    pub(crate) resource: Option<ResourceId>,
    /// The request that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// What became of it; none while nobody knows.
    pub(crate) outcome: Option<Outcome>,
    /// When that was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Timestamp>,
}

impl Entry {
    /// Reads a file's text. A line that is cut off, or that this build cannot read, is passed over;
    /// without an intent there is no entry.
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
    fn a_line_that_was_cut_off_was_not_written() {
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
    fn what_was_started_comes_back_as_what_it_is() {
        for resource in [
            ResourceId::Job("job_1".into()),
            ResourceId::Run("run_1".into()),
            ResourceId::Queue("frq_1".into()),
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
    fn a_line_of_a_later_version_is_passed_over() {
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
