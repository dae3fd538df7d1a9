//! The artifacts of a result, including those that could not be decoded.

use serde::Deserialize;
use serde_json::Value;

use crate::types::{Artifact, JobResult, RunReceipt};

/// The artifacts of a result in the order of the response, with `None` for each that could not be
/// decoded.
///
/// Without these entries, a result whose artifacts have an unexpected type would look empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArtifactList(pub(super) Vec<Option<Artifact>>);

impl ArtifactList {
    pub(crate) fn from_job(result: &JobResult) -> Self {
        let list = Self::new(&result.artifacts, result.extra.get("artifacts"));
        if !list.is_empty() {
            return list;
        }
        match &result.result {
            Some(output) => Self::new(&output.artifacts, output.extra.get("artifacts")),
            None => Self::new(&[], result.extra.get("result")),
        }
    }

    pub(crate) fn from_run(receipt: &RunReceipt) -> Self {
        Self::new(&receipt.artifacts, receipt.extra.get("artifacts"))
    }

    /// Merges the decoded artifacts with the original JSON, which is present if something in it
    /// could not be decoded.
    fn new(decoded: &[Artifact], json: Option<&Value>) -> Self {
        let mut decoded = decoded.iter().cloned();
        let mut list = Vec::new();
        match json {
            Some(Value::Array(items)) => {
                for item in items {
                    match Artifact::deserialize(item) {
                        Ok(_) => list.extend(decoded.next().map(Some)),
                        Err(_) => list.push(None),
                    }
                }
            }
            Some(value) if decoded.len() == 0 && !is_blank(value) => list.push(None),
            _ => {}
        }
        list.extend(decoded.map(Some));
        Self(list)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn artifacts_that_cannot_be_decoded_keep_their_position() {
        for (json, expected) in [
            (json!({}), vec![]),
            (json!({"artifacts": null}), vec![]),
            (json!({"artifacts": []}), vec![]),
            (json!({"artifacts": [{"id": "a"}]}), vec![Some("a")]),
            (
                json!({"artifacts": [7, {"id": "a"}, null, {"id": "b"}]}),
                vec![None, Some("a"), None, Some("b")],
            ),
            (json!({"artifacts": "https://m/a"}), vec![None]),
            (json!({"result": {"artifacts": [[], {"id": "a"}]}}), vec![None, Some("a")]),
            (json!({"result": "https://m/a"}), vec![None]),
        ] {
            let result: JobResult = serde_json::from_value(json.clone()).unwrap();
            let list = ArtifactList::from_job(&result);
            let ids: Vec<_> =
                list.0.iter().map(|entry| Some(entry.as_ref()?.id.as_ref()?.as_str())).collect();
            assert_eq!(ids, expected, "{json}");
        }
    }

    #[test]
    fn decoded_artifacts_that_a_caller_removed_are_not_restored() {
        let json = json!({"artifacts": [{"id": "a"}, 7, {"id": "b"}]});
        let mut result: JobResult = serde_json::from_value(json).unwrap();
        result.artifacts.clear();
        assert!(ArtifactList::from_job(&result).0.iter().all(Option::is_none));
    }
}
