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
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
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
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), text)
        })
        .collect()
}
