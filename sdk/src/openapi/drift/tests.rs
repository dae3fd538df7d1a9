//! Each kind of difference, told once and as what it is.

use serde_json::json;

use super::*;
use crate::openapi::{Servers, document};

/// What is done to a document.
enum Change {
    Set(&'static str, Value),
    Remove(&'static str, &'static str),
    Push(&'static str, &'static str),
}

/// Which way, what, where, the detail, and whether it breaks.
type Told = (Drift, Part, &'static str, Option<&'static str>, bool);

impl Change {
    fn make(&self, document: &mut Value) {
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
fn each_change_is_told_once_and_as_what_it_is() {
    use Change::{Push, Remove, Set};
    use Drift::{Changed, Gone, New};
    use Part::{Code, EnumValue, Field, Operation, Parameter, Status};

    let rows: Vec<(Change, Told)> = vec![
        (
            Set(
                "/components/schemas/Job/properties/lane",
                json!({"type": "integer"}),
            ),
            (New, Field, "Job.lane", None, false),
        ),
        (
            Push(
                "/components/schemas/AgentCompletionCreate/required",
                "webhook_url",
            ),
            (
                Changed,
                Field,
                "AgentCompletionCreate.webhook_url",
                Some("required now"),
                true,
            ),
        ),
        (
            Set(
                "/components/schemas/TopUpCreate/properties/vat",
                json!({"type": "string"}),
            ),
            (New, Field, "TopUpCreate.vat", None, false),
        ),
        (
            Remove("/paths/~1v1~1jobs~1{id}~1cancel", "post"),
            (
                Gone,
                Operation,
                "jobs_cancel",
                Some("POST /v1/jobs/{id}/cancel"),
                true,
            ),
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
            Set(
                "/components/schemas/Quality/enum",
                json!(["standard", "plus"]),
            ),
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
            Set(
                "/components/schemas/TopUp/properties/amount_usd_cents/type",
                json!("string"),
            ),
            (
                Changed,
                Field,
                "TopUp.amount_usd_cents",
                Some("integer is string now"),
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
            (Changed, Operation, "usage", Some("deprecated now"), false),
        ),
        (
            Set("/paths/~1v1~1usage/get/x-scope", json!("usage:read")),
            (
                Changed,
                Operation,
                "usage",
                Some("needs the scope usage:read now"),
                true,
            ),
        ),
    ];
    let ours = ours();
    for (change, told) in rows {
        let mut theirs = ours.clone();
        change.make(&mut theirs);
        let found = compare(&ours, &theirs);
        let [only] = found.as_slice() else {
            panic!("{told:?}: {found:#?}");
        };
        let detail = only.detail.as_deref();
        let seen = (
            only.drift,
            only.part,
            only.place.as_str(),
            detail,
            only.breaks,
        );
        assert_eq!(seen, told);
    }
}

#[test]
fn a_new_field_that_requests_need_breaks() {
    let ours = ours();
    let mut theirs = ours.clone();
    let body = &mut theirs["components"]["schemas"]["TopUpCreate"];
    body["properties"]["vat"] = json!({"type": "string"});
    body["required"] = json!(["amount_usd_cents", "vat"]);
    let found = compare(&ours, &theirs);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].detail.as_deref(), Some("required"));
    assert!(found[0].breaks);
}

#[test]
fn a_document_does_not_differ_from_itself_wherever_it_is_served() {
    let ours = ours();
    assert_eq!(compare(&ours, &ours), []);
    let elsewhere = Servers::new(
        "https://a.example",
        "https://b.example",
        "https://c.example/rpc",
    );
    assert_eq!(compare(&ours, &document(&elsewhere)), []);
}

#[test]
fn names_of_components_and_of_placeholders_do_not_matter() {
    let ours = ours();
    let theirs = ours
        .to_string()
        .replace("schemas/Job\"", "schemas/TheJob\"")
        .replace("\"Job\":", "\"TheJob\":")
        .replace("/v1/jobs/{id}", "/v1/jobs/{job}");
    assert_eq!(compare(&ours, &serde_json::from_str(&theirs).unwrap()), []);
}

#[test]
fn a_document_without_components_and_without_data_around_is_read_too() {
    let ours = ours();
    let mut theirs = ours.clone();
    let job = ours["components"]["schemas"]["Job"].clone();
    let answer = &mut theirs["paths"]["/v1/jobs/{id}"]["get"]["responses"]["200"];
    answer["content"]["application/json"]["schema"] = job;
    assert_eq!(compare(&ours, &theirs), []);
}

#[test]
fn what_is_no_document_has_nothing() {
    let found = compare(&ours(), &json!({"hello": [1, 2]}));
    let all_gone = found
        .iter()
        .all(|it| it.part == Part::Operation && it.drift == Drift::Gone);
    assert!(all_gone && !found.is_empty());
}
