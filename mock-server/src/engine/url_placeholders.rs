//! Placeholders for the mock's own base URLs in stored receipts and webhook bodies.
//!
//! A stored state can be restored by a mock that listens on other addresses, so what is stored
//! has placeholders in the place of base URLs, which are replaced when it is sent.

use serde_json::Value;

use super::{Host, Hosts};

/// The placeholder of each base URL; no text of the service's own starts like that.
const PLACEHOLDERS: [(Host, &str); 3] = [
    (Host::Open, "\u{0}open"),
    (Host::Developer, "\u{0}developer"),
    (Host::Media, "\u{0}media"),
];

/// Hosts whose base URLs are the placeholders.
pub(crate) fn placeholder_hosts() -> Hosts {
    let mut hosts = Hosts::default();
    for (host, placeholder) in PLACEHOLDERS {
        let base = match host {
            Host::Open => &mut hosts.open,
            Host::Developer => &mut hosts.developer,
            Host::Media => &mut hosts.media,
            Host::Control => continue,
        };
        placeholder.clone_into(base);
    }
    hosts
}

/// Replaces the base URLs in a receipt by placeholders, to store it.
pub(crate) fn insert_placeholders(mut receipt: Value, hosts: &Hosts) -> Value {
    for (host, placeholder) in PLACEHOLDERS {
        replace(&mut receipt, hosts.base(host), placeholder, |name| {
            name != "metadata"
        });
    }
    receipt
}

/// Replaces the placeholders by the base URLs of this mock, to send it.
pub(crate) fn resolve_placeholders(mut receipt: Value, hosts: &Hosts) -> Value {
    for (host, placeholder) in PLACEHOLDERS {
        // Nobody but the service says the placeholders.
        replace(&mut receipt, placeholder, hosts.base(host), |_| true);
    }
    receipt
}

/// Replaces the start of every URL that is below `from`, in the fields whose names are `ours`: what
/// the caller said stays as it is.
fn replace(value: &mut Value, from: &str, to: &str, ours: fn(&str) -> bool) {
    match value {
        Value::String(text) => {
            if let Some(path) = text.strip_prefix(from).filter(|path| path.starts_with('/')) {
                *text = format!("{to}{path}");
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace(item, from, to, ours)),
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(name, _)| ours(name))
            .for_each(|(_, field)| replace(field, from, to, ours)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_receipt_leads_to_the_mock_that_answers_it() {
        let here = Hosts::default();
        let there = Hosts {
            open: "http://127.0.0.1:5010".to_owned(),
            media: "http://127.0.0.1:5012".to_owned(),
            ..Hosts::default()
        };
        let said = "http://127.0.0.1:4010/said";
        let receipt = |open: &str, media: &str| {
            json!({
                "status_url": format!("{open}/v1/jobs/job_1/status"),
                "job": {"metadata": {"x": said}, "result": {"artifacts": [{"url": format!("{media}/a")}]}},
                "other": "http://127.0.0.1:40101/",
            })
        };
        let stored = insert_placeholders(receipt(&here.open, &here.media), &here);
        assert!(
            !stored["status_url"].to_string().contains("127.0.0.1"),
            "{stored}"
        );
        assert_eq!(
            resolve_placeholders(stored.clone(), &here),
            receipt(&here.open, &here.media)
        );
        assert_eq!(
            resolve_placeholders(stored, &there),
            receipt(&there.open, &there.media)
        );
    }
}
