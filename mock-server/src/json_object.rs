//! Optional fields of JSON objects that are built with `json!`.

use serde_json::Value;

/// Sets a field of a JSON object if there is a value for it. A value that is not an object is left
/// unchanged.
pub(crate) fn set_field(object: &mut Value, name: &str, value: impl Into<Option<Value>>) {
    if let (Some(value), Some(fields)) = (value.into(), object.as_object_mut()) {
        fields.insert(name.to_owned(), value);
    }
}
