//! `POST /verify`, which compares the requests that the mock received with what a test expects.

use std::ops::RangeInclusive;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ControlApiError;
use super::lists::RequestFilter;
use super::request::{ControlRequest, ControlResult, Query};
use crate::engine::request_log::LoggedRequest;

/// The fields of the body that are filters of requests.
const FILTERS: [&str; 7] = ["workspace", "key", "operation", "method", "path", "status", "since"];
/// The maximum number of requests that are shown because they nearly match.
const MAX_NEAREST: usize = 3;

/// Reads how many requests are expected: a number, or bounds of which the lower one is not the greater.
fn expected_count(value: &Value) -> Option<RangeInclusive<u64>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Bounds {
        at_least: Option<u64>,
        at_most: Option<u64>,
    }
    if let Some(count) = value.as_u64() {
        return Some(count..=count);
    }
    // A list would be read as the fields of a structure in their order.
    let Bounds { at_least, at_most } =
        value.is_object().then(|| Bounds::deserialize(value).ok()).flatten()?;
    let bounds = at_least.unwrap_or(0)..=at_most.unwrap_or(u64::MAX);
    (!bounds.is_empty()).then_some(bounds)
}

pub(super) fn verify(request: &mut ControlRequest<'_>) -> ControlResult {
    let fields: Map<String, Value> = request.body()?;
    let (mut filters, mut body, mut count) = (Vec::new(), None, 1..=1);
    for (name, value) in &fields {
        match (name.as_str(), value) {
            ("body", value) => body = Some(value),
            ("count", value) => {
                count = expected_count(value).ok_or_else(|| {
                    let expected =
                        "a number, or an object with at_least and at_most, which is not less";
                    ControlApiError::invalid(format!("count: expected {expected}"))
                })?;
            }
            (name, Value::String(text)) if FILTERS.contains(&name) => {
                filters.push((name, text.clone()));
            }
            (name, Value::Number(number)) if FILTERS.contains(&name) => {
                filters.push((name, number.to_string()));
            }
            (name, _) if FILTERS.contains(&name) => {
                return Err(ControlApiError::invalid(format!(
                    "{name}: expected a text or a number"
                )));
            }
            (name, _) => {
                let known = FILTERS.join(", ");
                let message = format!("unknown field {name:?}: expected body, count, {known}");
                return Err(ControlApiError::invalid(message));
            }
        }
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(filters).finish();
    let query = Query::parse(&query, &FILTERS)?;
    if let Some(workspace) = query.text("workspace") {
        request.state().check_knows_workspace(workspace)?;
    }
    let filter = RequestFilter::read(&query)?;
    let mock = &*request.mock;
    let body_differences = |seq| {
        let mut differences = Vec::new();
        let Some(expected) = body else { return differences };
        match mock.exchanges.request_body(seq).map(serde_json::from_str) {
            Some(Ok(actual)) => compare(expected, &actual, String::new(), &mut differences),
            Some(Err(_)) => differences.push("/body: is not JSON".to_owned()),
            None => differences.push("/body: is not stored".to_owned()),
        }
        differences
    };
    let entries = || mock.simulator.state.request_log.after(filter.since());
    let is_match =
        |entry: &&LoggedRequest| filter.includes(entry) && body_differences(entry.seq).is_empty();
    let matched = entries().filter(is_match).fold(0, |count, _| count + 1);
    if count.contains(&matched) {
        return Ok((StatusCode::OK, json!({"matched": matched}).into()));
    }
    let differences = |entry: &LoggedRequest| {
        let of_fields = filter.differences(entry).into_iter().map(|(field, actual)| {
            let expected = fields.get(field).unwrap_or(&Value::Null);
            format!("/{field}: expected {expected}, was {actual}")
        });
        let differences: Vec<String> = of_fields.chain(body_differences(entry.seq)).collect();
        (!differences.is_empty()).then_some((entry.seq, differences))
    };
    let mut others: Vec<_> = entries().filter_map(differences).collect();
    // Of those that differ equally much, the newest are shown.
    others.sort_by_key(|(seq, differences)| (differences.len(), std::cmp::Reverse(*seq)));
    let nearest = others.into_iter().take(MAX_NEAREST);
    let nearest: Vec<Value> =
        nearest.map(|(seq, differences)| json!({"seq": seq, "differences": differences})).collect();
    let message = format!("{matched} requests match");
    let response = json!({
        "error": {"code": "verification_failed", "message": message},
        "expected": fields,
        "matched": matched,
        "nearest": nearest,
    });
    Ok((StatusCode::UNPROCESSABLE_ENTITY, response.into()))
}

/// Adds what of an expected JSON value an actual one does not have. Objects may have more fields.
fn compare(expected: &Value, actual: &Value, path: String, differences: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (name, expected) in expected {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                match actual.get(name) {
                    Some(actual) => compare(expected, actual, path, differences),
                    None => differences.push(format!("{path}: expected {expected}, is missing")),
                }
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                compare(expected, actual, format!("{path}/{index}"), differences);
            }
        }
        _ if expected == actual => {}
        _ => {
            let path = if path.is_empty() { "/" } else { &path };
            differences.push(format!("{path}: expected {expected}, was {actual}"));
        }
    }
}
