//! JSON documents that are stored as text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON document as text, which takes a fraction of the space of a tree of values.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonText(Box<RawValue>);

impl JsonText {
    pub(crate) fn to_value(&self) -> Value {
        // The text is valid, because it was checked when it was created.
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        let text = RawValue::from_string(value.to_string());
        Self(text.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}
