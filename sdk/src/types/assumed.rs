//! Parts whose shape the specification does not show.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A part of a body whose shape is assumed: typed where the assumption holds, else kept as it came.
///
/// A deployment that shapes it otherwise breaks no caller.
///
/// ```
/// use svc_sdk::types::Assumed;
///
/// let shown: Assumed<u32> = serde_json::from_str("5")?;
/// assert_eq!(shown.known(), Some(&5));
/// let other: Assumed<u32> = serde_json::from_str(r#"{"seconds": 5}"#)?;
/// assert_eq!(other.known(), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Assumed<T> {
    /// The assumption holds.
    Known(T),
    /// It does not: the value as it was received.
    Other(Value),
}

impl<T> Assumed<T> {
    /// The typed value, where the assumption holds.
    #[must_use]
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

impl<T> From<T> for Assumed<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

/// The schema of what is assumed, marked so.
#[cfg(feature = "schemars")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Assumed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = generator.subschema_for::<T>();
        schema.insert("x-assumed".to_owned(), true.into());
        schema
    }
}

/// A part that is null: one that is told, as it is another thing than none.
pub(super) fn told<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A list that is `null` is one without items: some servers write an empty list so.
pub(super) fn null_is_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
