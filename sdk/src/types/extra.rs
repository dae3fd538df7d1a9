//! JSON fields without a typed counterpart.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::json_schema::json_schema;

/// JSON fields that have no typed counterpart in this version of the crate.
///
/// In a response these are the unknown fields, and the original JSON of a known field whose typed
/// value does not tell everything: one that is null or empty, has an unexpected type, or is a list
/// with an item of an unexpected type. All of them are written back unchanged.
///
/// ```
/// use svc_sdk::types::Job;
///
/// let json = r#"{"id": "job_1", "status": "queued", "price_usd": "free", "lane": 7}"#;
/// let job: Job = serde_json::from_str(json)?;
/// assert_eq!(job.extra.get_as::<u32>("lane"), Some(7));
/// assert_eq!(job.price_usd, None);
/// assert_eq!(job.extra.get("price_usd"), Some(&"free".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Extra(Map<String, Value>);

json_schema! { inline Extra {"type": "object", "additionalProperties": true} }

impl Extra {
    /// Returns the value of a field as a `T`, or `None` if it is missing or not a `T`.
    #[must_use]
    pub fn get_as<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.0.get(name)?).ok()
    }

    /// Returns the JSON value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns `true` if there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over the fields and their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn insert(&mut self, name: String, value: Value) {
        self.0.insert(name, value);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}

impl FromIterator<(String, Value)> for Extra {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}
