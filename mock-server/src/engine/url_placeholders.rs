//! Placeholders for base URLs in stored receipts and webhook bodies.
//!
//! A snapshot can be restored by a mock with other addresses. Stored documents therefore contain
//! placeholders instead of base URLs, which are resolved when the documents are sent.

use serde_json::Value;

use super::{Host, Hosts};

/// The placeholder of each base URL. The leading NUL keeps them apart from other texts.
const PLACEHOLDERS: [(Host, &str); 3] =
    [(Host::Open, "\u{0}open"), (Host::Developer, "\u{0}developer"), (Host::Media, "\u{0}media")];

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

/// Replaces the base URLs in a receipt with placeholders.
pub(crate) fn insert_placeholders(mut receipt: Value, hosts: &Hosts) -> Value {
    for (host, placeholder) in PLACEHOLDERS {
        // Metadata is provided by the caller and stays unchanged.
        replace(&mut receipt, hosts.base(host), placeholder, |name| name != "metadata");
    }
    receipt
}

/// Replaces the placeholders in a stored document with base URLs.
pub(crate) fn resolve_placeholders(mut receipt: Value, hosts: &Hosts) -> Value {
    for (host, placeholder) in PLACEHOLDERS {
        // All fields are included, because only the service inserts placeholders.
        replace(&mut receipt, placeholder, hosts.base(host), |_| true);
    }
    receipt
}

/// Replaces the base `from` of every URL with `to`, in the fields whose names are `included`.
fn replace(value: &mut Value, from: &str, to: &str, included: fn(&str) -> bool) {
    match value {
        Value::String(text) => {
            if let Some(path) = text.strip_prefix(from).filter(|path| path.starts_with('/')) {
                *text = format!("{to}{path}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to, included)),
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(name, _)| included(name))
            .for_each(|(_, field)| replace(field, from, to, included)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn receipts_use_the_base_urls_of_the_current_mock() {
        let here = Hosts::default();
        let there = Hosts {
            open: "http://127.0.0.1:5010".to_owned(),
            media: "http://127.0.0.1:5012".to_owned(),
            ..Hosts::default()
        };
        let caller_url = "http://127.0.0.1:4010/caller";
        let receipt = |open: &str, media: &str| {
            json!({
                "status_url": format!("{open}/v1/jobs/job_1/status"),
                "job": {"metadata": {"x": caller_url}, "result": {"artifacts": [{"url": format!("{media}/a")}]}},
                "other": "http://127.0.0.1:40101/",
            })
        };
        let stored = insert_placeholders(receipt(&here.open, &here.media), &here);
        assert!(!stored["status_url"].to_string().contains("127.0.0.1"), "{stored}");
        assert_eq!(resolve_placeholders(stored.clone(), &here), receipt(&here.open, &here.media));
        assert_eq!(resolve_placeholders(stored, &there), receipt(&there.open, &there.media));
    }
}
