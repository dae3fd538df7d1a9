//! Declaration of response bodies.
//!
//! Every response body is declared with [`response_body!`], so that all of them tolerate the same:
//! unknown fields are kept, and a known field with an unexpected value does not prevent the others
//! from being read.

mod json;

use std::borrow::Cow;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub(crate) use self::json::Text;
pub(in crate::types) use self::json::{Json, Object, Objects};

use super::seconds::Seconds;
use super::{ErrorBody, Extra, Usd};

/// Declares a response body.
///
/// Each field starts with its kind:
///
/// - `required name: T` is a `T`. Decoding fails if the field is missing or is not a `T`.
/// - `optional name: T` is an `Option<T>`.
/// - `amount name: Usd` is an `Option<Usd>`, and `required_amount name: Usd` a `Usd`. A text with other
///   decimal places than [`Usd`](crate::types::Usd) writes is kept in `extra`.
/// - `object name: T` is an `Option<T>`, and `objects name: T` a `Vec<T>` as a `list`, of a `T` that has
///   no required fields, and is decoded as it is read.
/// - `list name: T` is a `Vec<T>` with the items that are a `T`.
/// - `text name: T` is a `String` or an open enum, empty if the field is missing.
/// - `failure name: ErrorBody` is an `Option<ErrorBody>`, also of an error in another form.
/// - `seconds name: Duration` is an `Option<Duration>`, in JSON a number of seconds.
///
/// `as "wire"` after the name sets the name in JSON; `or "other"` adds a name that is read if the
/// field is missing.
///
/// Unknown fields are kept in `extra`. So is the JSON of a known field that is null or empty, has
/// another type, or is a list with an item of another type; it is written back unchanged.
///
/// `redacted` before the declaration hides the values of `extra` from `Debug`.
macro_rules! response_body {
    (redacted $($declaration:tt)*) => {
        crate::types::response::response_body!(@declare [] $($declaration)*);
        crate::types::response::response_body!(@redact $($declaration)*);
    };
    (@declare [$($debug:ident)?]
        $(#[doc = $doc:expr])*
        $(#[derive($($derived:ident),*)])?
        pub struct $name:ident {
            $(
                $(#[doc = $field_doc:expr])*
                $kind:ident $field:ident $(as $wire:literal)? $(or $alias:literal)*: $type:ty,
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, $($debug,)? $($($derived,)*)? PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                pub $field: crate::types::response::response_body!(@type $kind $type),
            )*
            /// Unknown fields, and the JSON of known fields with an unexpected value.
            pub extra: crate::types::Extra,
        }

        #[cfg(test)]
        impl $name {
            /// The names that are read.
            pub(in crate::types) const NAMES: &'static [&'static str] = &[
                $(crate::types::response::response_body!(@name $field $($wire)?), $($alias,)*)*
            ];
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut fields = crate::types::response::ResponseFieldWriter::new(serializer, &self.extra)?;
                $(
                    let name = crate::types::response::response_body!(@name $field $($wire)?);
                    crate::types::response::response_body!(@write $kind fields name &self.$field);
                )*
                fields.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        let mut extra = crate::types::Extra::default();
                        $( let mut $field = Default::default(); )*
                        while let Some(name) = map.next_key::<crate::types::response::Text<'_>>()? {
                            match name.0.as_ref() {
                                $(
                                    crate::types::response::response_body!(@name $field $($wire)?) =>
                                        crate::types::response::response_body!(
                                            @read $kind [$($alias)*] $type, $field map extra name
                                        ),
                                )*
                                _ => extra.insert(name.0.into_owned(), map.next_value()?),
                            }
                        }
                        $(
                            crate::types::response::response_body!(
                                @alias $field extra
                                (crate::types::response::response_body!(@name $field $($wire)?))
                                $($alias)*
                            );
                        )*
                        Ok($name {
                            $(
                                $field: crate::types::response::response_body!(
                                    @finish $kind $field
                                    crate::types::response::response_body!(@name $field $($wire)?)
                                ),
                            )*
                            extra,
                        })
                    }
                }

                deserializer.deserialize_map(Visitor)
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                crate::types::response::object_schema(
                    concat!($($doc, "\n"),*),
                    vec![$((
                        crate::types::response::response_body!(@name $field $($wire)?),
                        concat!($($field_doc, "\n"),*),
                        crate::types::response::response_body!(@is_required $kind),
                        crate::types::response::response_body!(@schema $kind $type, generator),
                    )),*],
                )
            }
        }
    };
    (@redact
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $kind:ident $field:ident $(as $wire:literal)? $(or $alias:literal)*: $type:ty,
            )*
        }
    ) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let extra: Vec<_> = self.extra.iter().map(|(name, _)| name).collect();
                f.debug_struct(stringify!($name))
                    $( .field(stringify!($field), &self.$field) )*
                    .field("extra", &extra)
                    .finish()
            }
        }
    };

    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };

    (@type required $type:ty) => { $type };
    (@type required_amount $type:ty) => { $type };
    (@type text $type:ty) => { $type };
    (@type list $type:ty) => { Vec<$type> };
    (@type objects $type:ty) => { Vec<$type> };
    (@type $kind:ident $type:ty) => { Option<$type> };

    (@read required [] $type:ty, $field:ident $map:ident $extra:ident $name:ident) => {
        $field = Some($map.next_value::<$type>()?)
    };
    (@read required [$($alias:literal)+] $type:ty, $field:ident $map:ident $extra:ident $name:ident) => {
        $field = crate::types::response::optional::<$type>(&mut $extra, $name, $map.next_value()?)
    };
    (@read required_amount [] $type:ty, $field:ident $map:ident $extra:ident $name:ident) => {
        $field = crate::types::response::amount(&mut $extra, $name, $map.next_value()?)
    };
    (@read text [] $type:ty, $field:ident $map:ident $extra:ident $name:ident) => {
        $field = Some(crate::types::response::text::<$type>(&mut $extra, $name, $map.next_value()?))
    };
    (@read $kind:ident [$($alias:literal)*] $type:ty, $field:ident $map:ident $extra:ident $name:ident) => {
        $field = crate::types::response::$kind(&mut $extra, $name, $map.next_value()?)
    };

    (@alias $field:ident $extra:ident $name:tt) => {};
    (@alias $field:ident $extra:ident $name:tt $($alias:literal)+) => {
        if $field.is_none() {
            $field = crate::types::response::alias(&mut $extra, $name, &[$($alias),+]);
        }
    };

    (@finish required $field:ident $name:expr) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($name))?
    };
    (@finish required_amount $field:ident $name:expr) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($name))?
    };
    (@finish text $field:ident $name:expr) => { $field.unwrap_or_else(|| String::new().into()) };
    (@finish $kind:ident $field:ident $name:expr) => { $field };

    (@write required $fields:ident $name:ident $value:expr) => { $fields.write($name, $value)? };
    (@write required_amount $fields:ident $name:ident $value:expr) => { $fields.write($name, $value)? };
    (@write text $fields:ident $name:ident $value:expr) => {
        if !$value.as_str().is_empty() { $fields.write($name, $value)?; }
    };
    (@write seconds $fields:ident $name:ident $value:expr) => {
        if let Some(value) = $value { $fields.write($name, &crate::types::seconds::Seconds(*value))?; }
    };
    (@write $kind:ident $fields:ident $name:ident $value:expr) => {
        if !crate::types::request::is_unset($value) { $fields.write($name, $value)?; }
    };

    (@is_required required) => { true };
    (@is_required required_amount) => { true };
    (@is_required $kind:ident) => { false };

    (@schema seconds $type:ty, $generator:ident) => { $generator.subschema_for::<Option<f64>>() };
    (@schema $kind:ident $type:ty, $generator:ident) => {
        $generator.subschema_for::<crate::types::response::response_body!(@type $kind $type)>()
    };

    ($($declaration:tt)*) => {
        crate::types::response::response_body!(@declare [Debug] $($declaration)*);
    };
}

pub(in crate::types) use response_body;

// Each kind of field is read by the function of its name.

pub(in crate::types) fn optional<T: DeserializeOwned>(
    extra: &mut Extra,
    name: Text<'_>,
    json: Json<'_>,
) -> Option<T> {
    let decoded = json.decode();
    if decoded.is_none() {
        extra.insert(name.0.into_owned(), json.into());
    }
    decoded
}

pub(in crate::types) fn object<T>(
    extra: &mut Extra,
    name: Text<'_>,
    object: Object<T>,
) -> Option<T> {
    match object {
        Object::Read(object) => Some(object),
        Object::Other(json) => {
            extra.insert(name.0.into_owned(), json);
            None
        }
    }
}

pub(in crate::types) fn objects<T>(
    extra: &mut Extra,
    name: Text<'_>,
    objects: Objects<T>,
) -> Vec<T> {
    if let Some(json) = objects.json {
        extra.insert(name.0.into_owned(), json);
    }
    objects.read
}

pub(in crate::types) fn amount(extra: &mut Extra, name: Text<'_>, json: Json<'_>) -> Option<Usd> {
    let decoded: Option<Usd> = json.decode();
    let is_written_alike = match (&decoded, &json) {
        (Some(amount), Json::Text(text)) => amount.is_written_as(text),
        (decoded, _) => decoded.is_some(),
    };
    if !is_written_alike {
        extra.insert(name.0.into_owned(), json.into());
    }
    decoded
}

pub(in crate::types) fn list<T: DeserializeOwned>(
    extra: &mut Extra,
    name: Text<'_>,
    json: Json<'_>,
) -> Vec<T> {
    let raw = match &json {
        Json::Other(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    let items = raw.iter().filter_map(|item| T::deserialize(item).ok());
    let items: Vec<T> = items.collect();
    if items.is_empty() || items.len() < raw.len() {
        extra.insert(name.0.into_owned(), json.into());
    }
    items
}

pub(in crate::types) fn text<T: From<String> + for<'a> From<&'a str>>(
    extra: &mut Extra,
    name: Text<'_>,
    json: Json<'_>,
) -> T {
    match json {
        Json::Text(Cow::Borrowed(text)) if !text.is_empty() => text.into(),
        Json::Text(Cow::Owned(text)) if !text.is_empty() => text.into(),
        json => {
            extra.insert(name.0.into_owned(), json.into());
            String::new().into()
        }
    }
}

pub(in crate::types) fn failure(
    extra: &mut Extra,
    name: Text<'_>,
    json: Json<'_>,
) -> Option<ErrorBody> {
    let decoded = json.decode();
    if decoded.is_some() {
        return decoded;
    }
    let json = Value::from(json);
    let read = ErrorBody::from_other_form(&json);
    extra.insert(name.0.into_owned(), json);
    read
}

pub(in crate::types) fn seconds(
    extra: &mut Extra,
    name: Text<'_>,
    json: Json<'_>,
) -> Option<Duration> {
    optional(extra, name, json).map(|Seconds(duration)| duration)
}

/// Decodes a missing field from its other names.
pub(in crate::types) fn alias<T: DeserializeOwned>(
    extra: &mut Extra,
    name: &str,
    aliases: &[&str],
) -> Option<T> {
    let (alias, value) = aliases.iter().find_map(|alias| Some((alias, extra.get_as(alias)?)))?;
    // An unexpected value under the first name is written back under it, so both names are kept.
    if extra.get(name).is_none() {
        extra.remove(alias);
    }
    Some(value)
}

/// Returns the schema of a response body from its documentation and, for each field, the name, the
/// documentation, whether it is required, and the schema.
#[cfg(feature = "schemars")]
pub(in crate::types) fn object_schema(
    doc: &str,
    fields: Vec<(&str, &str, bool, schemars::Schema)>,
) -> schemars::Schema {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for (name, doc, is_required, mut schema) in fields {
        schema.insert("description".to_owned(), doc.trim().into());
        properties.insert(name.to_owned(), schema.to_value());
        if is_required {
            required.push(name);
        }
    }
    let mut schema = schemars::json_schema!({
        "description": doc.trim(),
        "type": "object",
        "properties": properties,
    });
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// Serializes the fields of a response body, each name once.
pub(in crate::types) struct ResponseFieldWriter<'e, M> {
    map: M,
    extra: &'e Extra,
    written: Vec<&'static str>,
}

impl<'e, M: SerializeMap> ResponseFieldWriter<'e, M> {
    pub(in crate::types) fn new<S>(serializer: S, extra: &'e Extra) -> Result<Self, S::Error>
    where
        S: Serializer<SerializeMap = M>,
    {
        Ok(Self { map: serializer.serialize_map(None)?, extra, written: Vec::new() })
    }

    /// Writes a field, unless its original JSON is in `extra`.
    pub(in crate::types) fn write<T: Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        if self.extra.get(name).is_none_or(is_blank) {
            self.map.serialize_entry(name, value)?;
            self.written.push(name);
        }
        Ok(())
    }

    pub(in crate::types) fn end(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in self.extra.iter() {
            if !self.written.contains(&name) {
                self.map.serialize_entry(name, value)?;
            }
        }
        self.map.end()
    }
}

/// Returns whether a value is stored in `extra` only to distinguish it from a missing field.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
