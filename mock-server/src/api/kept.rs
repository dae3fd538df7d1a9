//! Receipts as the state keeps them: without the addresses of this mock, so that a mock that
//! listens elsewhere can take the state up and lead to itself.

use serde_json::Value;

use crate::engine::{Host, Hosts};

/// What stands in the place of each base URL; no text of the service's own starts like that.
const MARKS: [(Host, &str); 3] = [
    (Host::Open, "\u{0}open"),
    (Host::Developer, "\u{0}developer"),
    (Host::Media, "\u{0}media"),
];

/// Hosts whose base URLs are the marks: what is written with them is kept as it is.
pub(crate) fn unaddressed() -> Hosts {
    let mut hosts = Hosts::default();
    for (host, mark) in MARKS {
        let base = match host {
            Host::Open => &mut hosts.open,
            Host::Developer => &mut hosts.developer,
            Host::Media => &mut hosts.media,
            Host::Control => continue,
        };
        mark.clone_into(base);
    }
    hosts
}

/// The receipt as it is kept.
pub(super) fn without_addresses(mut receipt: Value, hosts: &Hosts) -> Value {
    for (host, mark) in MARKS {
        replace(&mut receipt, hosts.base(host), mark, |name| {
            name != "metadata"
        });
    }
    receipt
}

/// The receipt as it is answered.
pub(crate) fn with_addresses(mut receipt: Value, hosts: &Hosts) -> Value {
    for (host, mark) in MARKS {
        // Nobody but the service says the marks.
        replace(&mut receipt, mark, hosts.base(host), |_| true);
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
        let kept = without_addresses(receipt(&here.open, &here.media), &here);
        assert!(
            !kept["status_url"].to_string().contains("127.0.0.1"),
            "{kept}"
        );
        assert_eq!(
            with_addresses(kept.clone(), &here),
            receipt(&here.open, &here.media)
        );
        assert_eq!(
            with_addresses(kept, &there),
            receipt(&there.open, &there.media)
        );
    }
}
