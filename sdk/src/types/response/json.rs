//! The names and the values of fields, as they are read before it is known what they should be.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A name or a text of a body, borrowed from it where it can be.
pub(in crate::types) struct Text<'de>(pub(in crate::types) Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                self.visit_string(text.to_owned())
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// The JSON of a field, which is kept if it cannot be decoded. A text is not copied before that.
pub(in crate::types) enum Json<'de> {
    Text(Cow<'de, str>),
    Other(Value),
}

impl Json<'_> {
    pub(in crate::types) fn decode<T: DeserializeOwned>(&self) -> Option<T> {
        match self {
            Self::Text(text) => {
                let plain = BorrowedStrDeserializer::<de::value::Error>::new(text);
                // Types that look for more than a string need the deserializer of JSON.
                let json = || T::deserialize(Value::String(text.clone().into_owned()));
                T::deserialize(plain).ok().or_else(|| json().ok())
            }
            Self::Other(Value::Null) => None,
            Self::Other(value) => T::deserialize(value).ok(),
        }
    }
}

impl From<Json<'_>> for Value {
    fn from(json: Json<'_>) -> Self {
        match json {
            Json::Text(text) => Self::String(text.into_owned()),
            Json::Other(value) => value,
        }
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonVisitor;

        impl JsonVisitor {
            fn other<'de, E: Error>(value: impl Into<Value>) -> Result<Json<'de>, E> {
                Ok(Json::Other(value.into()))
            }
        }

        impl<'de> Visitor<'de> for JsonVisitor {
            type Value = Json<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Json<'de>, E> {
                Ok(Json::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Json<'de>, E> {
                self.visit_string(text.to_owned())
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Json<'de>, E> {
                Ok(Json::Text(Cow::Owned(text)))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Json<'de>, E> {
                Self::other(value)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Json<'de>, E> {
                Self::other(value)
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Json<'de>, E> {
                Self::other(value)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Json<'de>, E> {
                Self::other(value)
            }

            fn visit_unit<E: Error>(self) -> Result<Json<'de>, E> {
                Self::other(())
            }

            fn visit_none<E: Error>(self) -> Result<Json<'de>, E> {
                Self::other(())
            }

            fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Json<'de>, D::Error> {
                value.deserialize_any(self)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Json<'de>, A::Error> {
                Value::deserialize(SeqAccessDeserializer::new(items)).map(Json::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Json<'de>, A::Error> {
                Value::deserialize(MapAccessDeserializer::new(fields)).map(Json::Other)
            }
        }

        deserializer.deserialize_any(JsonVisitor)
    }
}
