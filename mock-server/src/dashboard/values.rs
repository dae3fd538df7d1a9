//! Reading the JSON that the control API returns. Paths are JSON pointers, such as `/error/code`.

use serde_json::Value;
use svc_sdk::types::Usd;

/// Returns the value at a path, unless it is null.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    value.pointer(path).filter(|value| !value.is_null())
}

/// Returns the text at a path; empty if there is none.
pub(super) fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the first text at one of the paths that is not empty.
pub(super) fn first_text<'v>(value: &'v Value, paths: &[&str]) -> &'v str {
    let mut texts = paths.iter().map(|path| text(value, path));
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

pub(super) fn number(value: &Value, path: &str) -> Option<f64> {
    at(value, path)?.as_f64()
}

/// Returns the whole number at a path; 0 if there is none.
pub(super) fn count(value: &Value, path: &str) -> u64 {
    at(value, path).and_then(Value::as_u64).unwrap_or_default()
}

pub(super) fn is_true(value: &Value, path: &str) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn items<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the fields of the object at a path, with their values as text.
pub(super) fn fields(value: &Value, path: &str) -> Vec<(String, String)> {
    let object = at(value, path).and_then(Value::as_object);
    let fields = object.into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.map(|(name, value)| (name.clone(), text(value))).collect()
}

pub(super) fn id_of(item: &Value) -> &str {
    first_text(item, &["/run_id", "/id"])
}

/// Returns what a job or run makes: the type and model of a job, the kind and subject of a run.
pub(super) fn kind_of(item: &Value) -> (String, &str) {
    match text(item, "/kind") {
        "" => (text(item, "/type").replace('_', " "), text(item, "/model")),
        kind => (format!("{kind} run"), first_text(item, &["/format_id", "/action_id"])),
    }
}

pub(super) fn is_terminal(item: &Value) -> bool {
    !["queued", "processing", "running"].contains(&text(item, "/status"))
}

pub(super) fn artifacts_of(item: &Value) -> &[Value] {
    match items(item, "/result/artifacts") {
        [] => items(item, "/artifacts"),
        of_job => of_job,
    }
}

/// Returns the name of an artifact's file on the media host.
pub(super) fn file_of(artifact: &Value) -> &str {
    text(artifact, "/url").rsplit('/').next().unwrap_or_default()
}

/// Returns the amount at a path, which is in millionths of a dollar.
pub(super) fn amount_at(item: &Value, path: &str) -> Option<Usd> {
    at(item, path)?.as_i64().map(Usd::from_micros)
}

pub(super) fn spent(item: &Value) -> Option<Usd> {
    amount_at(item, "/usage/billable_amount_usd_micros")
}
