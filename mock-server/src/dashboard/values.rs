//! Reading the JSON that the control API returns.

use serde_json::Value;

/// Returns the text at a path of field names; empty if there is none.
pub(super) fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number at a path of field names.
pub(super) fn number(value: &Value, path: &[&str]) -> Option<f64> {
    at(value, path).and_then(Value::as_f64)
}

/// Returns the whole number at a path of field names.
pub(super) fn whole(value: &Value, path: &[&str]) -> Option<u64> {
    at(value, path).and_then(Value::as_u64)
}

/// Returns the items of the list at a path of field names.
pub(super) fn items<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the value at a path of field names, unless it is null.
pub(super) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    let mut value = value;
    for name in path {
        value = value.get(name)?;
    }
    (!value.is_null()).then_some(value)
}

/// Returns the fields of the object at a path of field names, with their values as text.
pub(super) fn fields(value: &Value, path: &[&str]) -> Vec<(String, String)> {
    let object = at(value, path).and_then(Value::as_object);
    let fields = object.into_iter().flatten();
    fields
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), text)
        })
        .collect()
}

/// Returns the id of a job or run.
pub(super) fn id_of(item: &Value) -> &str {
    match text(item, &["run_id"]) {
        "" => text(item, &["id"]),
        id => id,
    }
}

/// Returns what a job or run makes: the type and model of a job, the kind and subject of a run.
pub(super) fn kind_of(item: &Value) -> (String, &str) {
    match text(item, &["kind"]) {
        "" => (text(item, &["type"]).replace('_', " "), text(item, &["model"])),
        kind => {
            let subject = [text(item, &["format_id"]), text(item, &["action_id"])];
            let subject = subject.into_iter().find(|id| !id.is_empty());
            (format!("{kind} run"), subject.unwrap_or_default())
        }
    }
}
