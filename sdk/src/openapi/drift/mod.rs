//! What another document has that ours has not, and the other way round.
//!
//! Compared is what a client sees: operations by method and path, parameters, fields by where they
//! are, values of enums, codes by status. How the other document names its components, or whether
//! it has any, does not matter. What is the same difference at many operations is told once.

mod comparison;
mod node;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use self::comparison::Comparison;

/// Which way something differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Drift {
    /// The other document does not have it any more.
    Gone,
    /// Both have it, and not alike.
    Changed,
    /// This build does not know it.
    New,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// An operation, or a webhook event.
    Operation,
    /// A parameter of the query or a header.
    Parameter,
    /// A field of a body.
    Field,
    /// A value of a set of texts.
    EnumValue,
    /// The status of an answer.
    Status,
    /// The code of a refusal.
    Code,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Which way.
    pub drift: Drift,
    /// What.
    pub part: Part,
    /// Where: an operation, the path of a field from the type that it belongs to, a status.
    pub place: String,
    /// The value, code or status that it is about; where it changed, what it was and is.
    pub detail: Option<String>,
    /// Whether this build relies on what is gone or changed.
    pub breaks: bool,
    /// Whether it was assumed in the first place, so that nothing relies on it.
    pub assumed: bool,
    /// The operations that it shows at.
    pub operations: Vec<String>,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gone => "gone",
            Self::Changed => "changed",
            Self::New => "new",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Operation => "operation",
            Self::Parameter => "parameter",
            Self::Field => "field",
            Self::EnumValue => "enum value",
            Self::Status => "status",
            Self::Code => "code",
        })
    }
}

/// How `theirs` differs from `ours`: what is gone first, each difference once.
///
/// ```
/// use svc_sdk::openapi::{Drift, Servers, compare, document};
///
/// let ours = document(&Servers::default());
/// let mut theirs = ours.clone();
/// theirs["paths"].as_object_mut().unwrap().remove("/v1/balance");
/// let differences = compare(&ours, &theirs);
/// assert_eq!(differences.len(), 1);
/// assert_eq!(differences[0].drift, Drift::Gone);
/// assert_eq!(differences[0].place, "balance");
/// assert!(differences[0].breaks);
/// ```
#[must_use]
pub fn compare(ours: &Value, theirs: &Value) -> Vec<Difference> {
    Comparison::of(ours, theirs).into_differences()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::{Servers, document};

    /// A change, and what is said of it: which way, what, where, the detail, whether it breaks.
    type Row = (
        &'static str,
        fn(&mut Value),
        Drift,
        Part,
        &'static str,
        Option<&'static str>,
        bool,
    );

    fn ours() -> Value {
        document(&Servers::default())
    }

    fn body(theirs: &mut Value, name: &str) -> serde_json::Map<String, Value> {
        theirs["components"]["schemas"][name]
            .as_object()
            .unwrap()
            .clone()
    }

    #[test]
    fn a_document_does_not_differ_from_itself() {
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
    fn each_change_is_told_once_and_as_what_it_is() {
        let rows: &[Row] = &[
            (
                "a new field",
                |it| {
                    it["components"]["schemas"]["Job"]["properties"]["lane"] =
                        json!({"type": "integer"})
                },
                Drift::New,
                Part::Field,
                "Job.lane",
                None,
                false,
            ),
            (
                "a new field that is required of requests",
                |it| {
                    it["components"]["schemas"]["TopUpCreate"]["properties"]["vat"] =
                        json!({"type": "string"});
                    it["components"]["schemas"]["TopUpCreate"]["required"] =
                        json!(["amount_usd_cents", "vat"]);
                },
                Drift::New,
                Part::Field,
                "TopUpCreate.vat",
                Some("required"),
                true,
            ),
            (
                "an operation that is gone",
                |it| {
                    drop(
                        it["paths"]["/v1/jobs/{id}/cancel"]
                            .as_object_mut()
                            .unwrap()
                            .remove("post"),
                    )
                },
                Drift::Gone,
                Part::Operation,
                "jobs_cancel",
                Some("POST /v1/jobs/{id}/cancel"),
                true,
            ),
            (
                "a new operation",
                |it| {
                    it["paths"]["/v2/jobs"] =
                        json!({"get": {"responses": {"200": {"description": "ok"}}}})
                },
                Drift::New,
                Part::Operation,
                "GET /v2/jobs",
                None,
                false,
            ),
            (
                "a new enum value",
                |it| {
                    it["components"]["schemas"]["JobStatus"]["enum"]
                        .as_array_mut()
                        .unwrap()
                        .push("paused".into())
                },
                Drift::New,
                Part::EnumValue,
                "JobStatus",
                Some("paused"),
                false,
            ),
            (
                "an enum value that is gone",
                |it| it["components"]["schemas"]["Quality"]["enum"] = json!(["standard", "plus"]),
                Drift::Gone,
                Part::EnumValue,
                "Quality",
                Some("max"),
                true,
            ),
            (
                "a field that is gone",
                |it| {
                    drop(
                        it["components"]["schemas"]["Artifact"]["properties"]
                            .as_object_mut()
                            .unwrap()
                            .remove("content_type"),
                    )
                },
                Drift::Gone,
                Part::Field,
                "Artifact.content_type",
                None,
                true,
            ),
            (
                "an assumed field that is gone",
                |it| {
                    drop(
                        it["components"]["schemas"]["Job"]["properties"]
                            .as_object_mut()
                            .unwrap()
                            .remove("model"),
                    )
                },
                Drift::Gone,
                Part::Field,
                "Job.model",
                None,
                false,
            ),
            (
                "a field of another type",
                |it| {
                    it["components"]["schemas"]["TopUp"]["properties"]["amount_usd_cents"]["type"] =
                        json!("string")
                },
                Drift::Changed,
                Part::Field,
                "TopUp.amount_usd_cents",
                Some("integer is string now"),
                true,
            ),
            (
                "a new code",
                |it| {
                    let code =
                        &mut it["components"]["schemas"]["RateLimitedError"]["properties"]["error"];
                    code["allOf"][1]["properties"]["code"]["enum"] =
                        json!(["rate_limited", "slow_down"]);
                    it["components"]["schemas"]["ErrorCode"]["enum"]
                        .as_array_mut()
                        .unwrap()
                        .push("slow_down".into());
                    // Named in both places it is a value of the set, too: here only the code counts.
                    it["components"]["schemas"]["ErrorCode"]["enum"]
                        .as_array_mut()
                        .unwrap()
                        .pop();
                    it["components"]["schemas"]["RateLimitedError"]["properties"]["error"] = json!({
                        "type": "object",
                        "properties": {"code": {"type": "string", "enum": ["rate_limited", "slow_down"]}},
                    });
                },
                Drift::New,
                Part::Code,
                "429",
                Some("slow_down"),
                false,
            ),
            (
                "a new parameter",
                |it| {
                    it["paths"]["/v1/balance"]["get"]["parameters"] =
                        json!([{"name": "at", "in": "query", "schema": {"type": "string"}}])
                },
                Drift::New,
                Part::Parameter,
                "balance at",
                None,
                false,
            ),
            (
                "a status that is gone",
                |it| {
                    drop(
                        it["paths"]["/v1/open/top-ups"]["post"]["responses"]
                            .as_object_mut()
                            .unwrap()
                            .remove("201"),
                    )
                },
                Drift::Gone,
                Part::Status,
                "top_ups_create",
                Some("201"),
                true,
            ),
            (
                "an alias that is no longer deprecated",
                |it| {
                    it["paths"]["/v1/models/{first_party_owner}/image-1.0/runs"]["post"]["deprecated"] =
                        json!(false)
                },
                Drift::Changed,
                Part::Operation,
                "alias_image_1_0",
                Some("no longer deprecated"),
                false,
            ),
        ];
        let ours = ours();
        for (what, change, drift, part, place, detail, breaks) in rows {
            let mut theirs = ours.clone();
            change(&mut theirs);
            let found = compare(&ours, &theirs);
            let [only] = found.as_slice() else {
                panic!("{what}: {found:#?}");
            };
            let seen = (
                only.drift,
                only.part,
                only.place.as_str(),
                only.detail.as_deref(),
                only.breaks,
            );
            assert_eq!(seen, (*drift, *part, *place, *detail, *breaks), "{what}");
        }
    }

    #[test]
    fn names_of_components_and_of_placeholders_do_not_matter() {
        let ours = ours();
        let text = ours.to_string();
        let text = text
            .replace("schemas/Job\"", "schemas/TheJob\"")
            .replace("\"Job\":", "\"TheJob\":")
            .replace("/v1/jobs/{id}", "/v1/jobs/{job}");
        assert_eq!(compare(&ours, &serde_json::from_str(&text).unwrap()), []);
    }

    #[test]
    fn a_document_without_components_is_read_too() {
        let ours = ours();
        let mut theirs = ours.clone();
        let job = Value::Object(body(&mut theirs, "Job"));
        let schema = &mut theirs["paths"]["/v1/jobs/{id}"]["get"]["responses"]["200"]["content"]["application/json"]
            ["schema"];
        *schema = json!({"type": "object", "properties": {"data": job}});
        assert_eq!(compare(&ours, &theirs), []);
    }

    #[test]
    fn what_is_no_document_has_nothing() {
        let ours = ours();
        let found = compare(&ours, &json!({"hello": [1, 2]}));
        assert!(
            found
                .iter()
                .all(|it| it.part == Part::Operation && it.drift == Drift::Gone)
        );
        assert!(!found.is_empty());
    }
}
