//! The one form in which every command prints a job, a run, a bulk queue or a top-up as JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::error::Failure;
use crate::output::json::to_value;
use crate::resource::ObjectKind;

/// A resource as it is printed: the fields that all have, and those that it was received with.
#[derive(Debug, Serialize)]
pub(crate) struct Object {
    object: &'static str,
    id: Value,
    status: Value,
    price_usd: Value,
    artifacts: Value,
    files: Value,
    idempotency_key: Value,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// A resource as it is printed, or what was received in its place.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Shown {
    Object(Box<Object>),
    Received(Value),
}

impl Shown {
    pub(crate) fn new(kind: ObjectKind, resource: &impl Serialize) -> Self {
        Self::from_json(kind, to_value(resource))
    }

    fn from_json(kind: ObjectKind, json: serde_json::Result<Value>) -> Self {
        match json {
            Ok(Value::Object(fields)) => Self::Object(Box::new(Object::new(kind, fields))),
            Ok(other) => Self::Received(other),
            Err(error) => Self::Received(Value::String(error.to_string())),
        }
    }

    pub(crate) fn with_key(mut self, key: Option<&IdempotencyKey>) -> Self {
        if let (Self::Object(object), Some(key)) = (&mut self, key) {
            object.idempotency_key = key.as_str().into();
        }
        self
    }

    /// Returns the id and the status, if it has both.
    pub(crate) fn id_and_status(&self) -> Option<(&str, &str)> {
        match self {
            Self::Object(object) => object.id.as_str().zip(object.status.as_str()),
            Self::Received(_) => None,
        }
    }

    /// Returns what stands in an array in the place of a resource that could not be read.
    pub(crate) fn failed(id: &str, failure: &Failure) -> Self {
        Self::Received(json!({"id": id, "error": failure.to_json().get("error")}))
    }
}

impl Object {
    fn new(kind: ObjectKind, mut fields: Map<String, Value>) -> Self {
        // The receipt of a submit has the job in it.
        if let Some(Value::Object(inner)) = fields.get(kind.as_str()).cloned() {
            fields.remove(kind.as_str());
            for (name, value) in inner {
                fields.entry(name).or_insert(value);
            }
        }
        let mut take = |name: &str| fields.remove(name).unwrap_or_default();
        take("object");
        let (own_id, id) = (take("id"), take(kind.id_field()));
        let id = if own_id.is_null() { id } else { own_id };
        let (status, price_usd, idempotency_key) =
            (take("status"), take("price_usd"), take("idempotency_key"));
        let (artifacts, files) = (take("artifacts"), take("files"));
        let spent = fields.get("usage").and_then(|it| it["billable_amount_usd_micros"].as_i64());
        let spent = spent.map(|micros| Value::String(six_decimals(Usd::from_micros(micros))));
        let of_result = fields.get("result").map(|it| it["artifacts"].clone()).unwrap_or_default();
        let array = |value: Value| if value.is_array() { value } else { Value::Array(Vec::new()) };
        fields.insert(kind.id_field().to_owned(), id.clone());
        Self {
            object: kind.as_str(),
            id,
            status,
            price_usd: if price_usd.is_null() { spent.unwrap_or_default() } else { price_usd },
            artifacts: if artifacts.is_null() { array(of_result) } else { array(artifacts) },
            files: array(files),
            idempotency_key,
            fields,
        }
    }
}

/// Returns an amount as the service writes it: in micros, with all decimals.
fn six_decimals(amount: Usd) -> String {
    let micros = amount.as_micros();
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_resource_become_one() {
        let artifacts = json!([{"id": "art_1"}]);
        for (kind, received, price, artifact_count) in [
            (
                ObjectKind::Job,
                json!({"id": "x", "price_usd": "0.10000000", "result": {"artifacts": artifacts}}),
                json!("0.10000000"),
                1,
            ),
            (ObjectKind::Job, json!({"job_id": "x", "artifacts": artifacts}), json!(null), 1),
            (ObjectKind::Job, json!({"job": {"id": "x"}, "request_id": "r"}), json!(null), 0),
            (
                ObjectKind::Run,
                json!({"run_id": "x", "usage": {"billable_amount_usd_micros": 50_000}}),
                json!("0.050000"),
                0,
            ),
            (ObjectKind::TopUp, json!({"id": "x"}), json!(null), 0),
        ] {
            let shown = serde_json::to_value(Shown::new(kind, &received)).unwrap();
            assert_eq!(shown["object"], kind.as_str());
            assert_eq!(shown["id"], "x", "{received}");
            assert_eq!(shown[kind.id_field()], "x", "{received}");
            assert_eq!(shown["price_usd"], price, "{received}");
            assert_eq!(shown["artifacts"].as_array().map(Vec::len), Some(artifact_count));
            assert_eq!(shown["files"], json!([]));
            for field in ["status", "idempotency_key"] {
                assert_eq!(shown.get(field), Some(&Value::Null), "{received}");
            }
        }
        let received = serde_json::to_value(Shown::new(ObjectKind::Job, &"text")).unwrap();
        assert_eq!(received, "text");
    }
}
