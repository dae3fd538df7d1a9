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
