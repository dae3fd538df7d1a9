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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_unchanged() {
        let document = json!({"a": [1.5, "ä\u{0}", null], "b": {"c": -7}});
        let text = JsonText::from(&document);
        assert_eq!(text.to_value(), document);
        let stored = json!({"text": text});
        assert_eq!(stored, json!({"text": document}));
        assert_eq!(JsonText::deserialize(&stored["text"]).unwrap(), text);
    }
}
