//! The names and the values of fields, as they are read before it is known what they should be.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A name or a text of a body, borrowed from it where it can be.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The value of a field, read as whatever JSON it is.
trait FieldValue<'de>: Sized {
    fn from_text(text: Cow<'de, str>) -> Self {
        Self::from_other(Value::String(text.into_owned()))
    }

    fn from_object<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(fields)).map(Self::from_other)
    }

    fn from_array<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(Self::from_other)
    }

    fn from_other(json: Value) -> Self;
}

fn read<'de, F: FieldValue<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_any(FieldVisitor(PhantomData))
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

impl<'de> FieldValue<'de> for Json<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Self::Text(text)
    }

    fn from_other(json: Value) -> Self {
        Self::Other(json)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// An object without required fields, which is read as it comes, or the JSON of something else.
pub(in crate::types) enum Object<T> {
    Read(T),
    Other(Value),
}

// Types with `Default` have no required fields, so every object can be read.
impl<'de, T: DeserializeOwned + Default> FieldValue<'de> for Object<T> {
    fn from_object<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Self::Read)
    }

    fn from_other(json: Value) -> Self {
        Self::Other(json)
    }
}

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

/// The objects of a list, and the JSON of the whole field unless it is a list of nothing else.
pub(in crate::types) struct Objects<T> {
    pub(in crate::types) read: Vec<T>,
    pub(in crate::types) json: Option<Value>,
}

impl<'de, T: DeserializeOwned + Default + Serialize> FieldValue<'de> for Objects<T> {
    fn from_array<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut read = Vec::new();
        let mut others = Vec::new();
        while let Some(item) = items.next_element()? {
            match item {
                Object::Read(item) => read.push(item),
                Object::Other(json) => others.push((read.len() + others.len(), json)),
            }
        }
        let mut json = None;
        if read.is_empty() || !others.is_empty() {
            let items: Result<Vec<_>, _> = read.iter().map(serde_json::to_value).collect();
            let mut items = items.map_err(A::Error::custom)?;
            for (index, other) in others {
                items.insert(index, other);
            }
            json = Some(items.into());
        }
        Ok(Self { read, json })
    }

    fn from_other(json: Value) -> Self {
        Self { read: Vec::new(), json: Some(json) }
    }
}

impl<'de, T: DeserializeOwned + Default + Serialize> Deserialize<'de> for Objects<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

struct FieldVisitor<F>(PhantomData<F>);

impl<'de, F: FieldValue<'de>> Visitor<'de> for FieldVisitor<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<F, E> {
        Ok(F::from_text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<F, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<F, E> {
        Ok(F::from_text(Cow::Owned(text)))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<F, E> {
        Ok(F::from_other(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<F, E> {
        Ok(F::from_other(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<F, E> {
        Ok(F::from_other(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<F, E> {
        Ok(F::from_other(value.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<F, E> {
        Ok(F::from_other(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<F, E> {
        Ok(F::from_other(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<F, D::Error> {
        value.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<F, A::Error> {
        F::from_array(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<F, A::Error> {
        F::from_object(fields)
    }
}
