//! What the service sent and this build has no field for.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The fields of an object that this build does not know, kept and written back unchanged.
///
/// ```
/// use svc_sdk::types::Job;
///
/// let job: Job = serde_json::from_str(r#"{"id": "job_1", "status": "queued", "lane": 7}"#)?;
/// assert_eq!(job.extra.field::<u32>("lane"), Some(7));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Extra(Map<String, Value>);

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Extra {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Extra".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "additionalProperties": true})
    }
}

impl Extra {
    /// The field of that name as a `T`; `None` where it is absent or is no `T`.
    #[must_use]
    pub fn field<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.0.get(name)?).ok()
    }

    /// The field of that name, as it was received.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Takes out the field of that name where it is a text.
    pub(super) fn take_text(&mut self, name: &str) -> Option<String> {
        let text = self.field(name)?;
        self.0.remove(name);
        Some(text)
    }

    pub(crate) fn insert(&mut self, name: String, value: Value) {
        self.0.insert(name, value);
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
