//! The metadata of a job, stored as text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::engine::json_text::JsonText;

/// The caller's metadata of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metadata(Option<JsonText>);

impl Metadata {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl From<Map<String, Value>> for Metadata {
    fn from(map: Map<String, Value>) -> Self {
        Self((!map.is_empty()).then(|| JsonText::from(&Value::Object(map))))
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(text) => text.serialize(serializer),
            None => Map::new().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_unchanged() {
        for value in [json!({}), json!({"a": [1.5, "ä", null], "b": {"c": 1e300}})] {
            let metadata: Metadata = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(metadata.is_empty(), value == json!({}));
            assert_eq!(json!(metadata), value);
        }
    }
}
