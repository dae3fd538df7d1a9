//! Tests of the comparison: each kind of change, reported once.

use serde_json::json;

use super::*;
use crate::{Servers, document};

/// An edit of a document.
enum Edit {
    Set(&'static str, Value),
    Remove(&'static str, &'static str),
    Push(&'static str, &'static str),
}

/// Kind, part, location, detail, and whether it is breaking.
type Expected = (ChangeKind, Part, &'static str, Option<&'static str>, bool);

impl Edit {
    fn apply(&self, document: &mut Value) {
        match self {
            Self::Set(pointer, value) => {
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                let name = name.replace("~1", "/");
                document.pointer_mut(parent).unwrap()[name] = value.clone();
            }
            Self::Remove(pointer, name) => {
                let parent = document.pointer_mut(pointer).unwrap();
                parent.as_object_mut().unwrap().remove(*name).unwrap();
            }
            Self::Push(pointer, value) => {
                let list = document.pointer_mut(pointer).unwrap();
                list.as_array_mut().unwrap().push((*value).into());
            }
        }
    }
}

fn ours() -> Value {
    document(&Servers::default())
}

#[test]
fn each_change_is_reported_once() {
    use ChangeKind::{Changed, Gone, New};
    use Edit::{Push, Remove, Set};
    use Part::{Code, EnumValue, Field, Operation, Parameter, Status};

    let rows: Vec<(Edit, Expected)> = vec![
        (
            Set("/components/schemas/Job/properties/lane", json!({"type": "integer"})),
            (New, Field, "Job.lane", None, false),
        ),
        (
            Push("/components/schemas/AgentCompletionCreate/required", "webhook_url"),
            (Changed, Field, "AgentCompletionCreate.webhook_url", Some("now required"), true),
        ),
        (
            Set("/components/schemas/TopUpCreate/properties/vat", json!({"type": "string"})),
            (New, Field, "TopUpCreate.vat", None, false),
        ),
        (
            Remove("/paths/~1v1~1jobs~1{id}~1cancel", "post"),
            (Gone, Operation, "jobs_cancel", Some("POST /v1/jobs/{id}/cancel"), true),
        ),
        (
            Set("/paths/~1v2~1jobs", json!({"get": {"responses": {}}})),
            (New, Operation, "GET /v2/jobs", None, false),
        ),
        (
            Push("/components/schemas/JobStatus/enum", "paused"),
            (New, EnumValue, "JobStatus", Some("paused"), false),
        ),
        (
            Push("/components/schemas/ErrorCode/enum", "slow_down"),
            (New, EnumValue, "ErrorCode", Some("slow_down"), false),
        ),
        (
            Set("/components/schemas/Quality/enum", json!(["standard", "plus"])),
            (Gone, EnumValue, "Quality", Some("max"), true),
        ),
        (
            Remove("/components/schemas/Artifact/properties", "content_type"),
            (Gone, Field, "Artifact.content_type", None, true),
        ),
        (
            Remove("/components/schemas/Job/properties", "model"),
            (Gone, Field, "Job.model", None, false),
        ),
        (
            Set("/components/schemas/TopUp/properties/amount_usd_cents/type", json!("string")),
            (
                Changed,
                Field,
                "TopUp.amount_usd_cents",
                Some("type changed from integer to string"),
                true,
            ),
        ),
        (
            Set(
                "/components/schemas/RateLimitedError/properties/error",
                json!({"properties": {"code": {"enum": ["rate_limited", "slow_down"]}}}),
            ),
            (New, Code, "429", Some("slow_down"), false),
        ),
        (
            Set(
                "/paths/~1v1~1balance/get/parameters",
                json!([{"name": "at", "in": "query", "schema": {"type": "string"}}]),
            ),
            (New, Parameter, "balance at", None, false),
        ),
        (
            Remove("/paths/~1v1~1open~1top-ups/post/responses", "201"),
            (Gone, Status, "top_ups_create", Some("201"), true),
        ),
        (
            Set("/paths/~1v1~1usage/get/deprecated", json!(true)),
            (Changed, Operation, "usage", Some("now deprecated"), false),
        ),
        (
            Set("/paths/~1v1~1usage/get/x-scope", json!("usage:read")),
            (Changed, Operation, "usage", Some("now requires the scope usage:read"), true),
        ),
    ];
    let ours = ours();
    for (edit, expected) in rows {
        let mut theirs = ours.clone();
        edit.apply(&mut theirs);
        let found = compare(&ours, &theirs);
        let [only] = found.as_slice() else {
            panic!("{expected:?}: {found:#?}");
        };
        let detail = only.detail.as_deref();
        let actual = (only.kind, only.part, only.location.as_str(), detail, only.breaking);
        assert_eq!(actual, expected);
    }
}

#[test]
fn a_new_required_request_field_is_breaking() {
    let ours = ours();
    let mut theirs = ours.clone();
    let body = &mut theirs["components"]["schemas"]["TopUpCreate"];
    body["properties"]["vat"] = json!({"type": "string"});
    body["required"] = json!(["amount_usd_cents", "vat"]);
    let found = compare(&ours, &theirs);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].detail.as_deref(), Some("required"));
    assert!(found[0].breaking);
}

#[test]
fn documents_of_different_servers_are_equal() {
    let ours = ours();
    assert_eq!(compare(&ours, &ours), []);
    let elsewhere = Servers::new("https://a.example", "https://b.example", "https://c.example/rpc");
    assert_eq!(compare(&ours, &document(&elsewhere)), []);
}

#[test]
fn component_and_placeholder_names_are_ignored() {
    let ours = ours();
    let theirs = ours
        .to_string()
        .replace("schemas/Job\"", "schemas/TheJob\"")
        .replace("\"Job\":", "\"TheJob\":")
        .replace("/v1/jobs/{id}", "/v1/jobs/{job}");
    assert_eq!(compare(&ours, &serde_json::from_str(&theirs).unwrap()), []);
}

#[test]
fn inline_schemas_without_the_envelope_are_compared() {
    let ours = ours();
    let mut theirs = ours.clone();
    let job = ours["components"]["schemas"]["Job"].clone();
    let answer = &mut theirs["paths"]["/v1/jobs/{id}"]["get"]["responses"]["200"];
    answer["content"]["application/json"]["schema"] = job;
    assert_eq!(compare(&ours, &theirs), []);
}

#[test]
fn every_operation_is_gone_from_other_json() {
    let found = compare(&ours(), &json!({"hello": [1, 2]}));
    let all_gone = found.iter().all(|it| it.part == Part::Operation && it.kind == ChangeKind::Gone);
    assert!(all_gone && !found.is_empty());
}
