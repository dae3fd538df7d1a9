//! How the body of an answer is declared where most of it is assumed: what must be there, then what
//! may be. A field that is null or of another shape than this build knows is kept in `extra`, so
//! that nothing is unreadable for it, and it is written back as it came.

use serde::de::{DeserializeOwned, Error};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::Extra;

/// Declares a received body: the fields that must be there in parentheses, then the others.
///
/// The kind of another field is `maybe` (an `Option`) or `many` (a `Vec`). Of one that begins with
/// `redacted`, `Debug` shows no value of `extra`: what must not be shown may stand there.
macro_rules! received {
    (@declare ($($derived:ident)?)
        $(#[$meta:meta])*
        pub struct $name:ident ( $( $(#[$needed_meta:meta])* $needed:ident: $needed_type:ty ),* $(,)? ) {
            $( $(#[$field_meta:meta])* $field:ident: $kind:ident $type:ty, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, $($derived,)? PartialEq)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub struct $name {
            $( $(#[$needed_meta])* pub $needed: $needed_type, )*
            $(
                $(#[$field_meta])*
                #[cfg_attr(
                    feature = "schemars",
                    serde(skip_serializing_if = "crate::types::body::is_unset")
                )]
                pub $field: crate::types::received::received!(@type $kind $type),
            )*
            /// Fields that this build does not know.
            #[cfg_attr(feature = "schemars", serde(flatten))]
            pub extra: crate::types::Extra,
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut fields = crate::types::received::Written::new(serializer, &self.extra)?;
                $( fields.write(stringify!($needed), &self.$needed)?; )*
                $(
                    if !crate::types::body::is_unset(&self.$field) {
                        fields.write(stringify!($field), &self.$field)?;
                    }
                )*
                fields.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut fields = crate::types::received::Fields::deserialize(deserializer)?;
                Ok(Self {
                    $( $needed: fields.need(stringify!($needed))?, )*
                    $( $field: crate::types::received::received!(@read $kind fields stringify!($field)), )*
                    extra: fields.rest(),
                })
            }
        }
    };
    (@redact
        $(#[$meta:meta])*
        pub struct $name:ident () {
            $( $(#[$field_meta:meta])* $field:ident: $kind:ident $type:ty, )*
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
    (@read maybe $fields:ident $name:expr) => { $fields.take($name) };
    (@read many $fields:ident $name:expr) => { $fields.take_all($name) };
    (@type maybe $type:ty) => { Option<$type> };
    (@type many $type:ty) => { Vec<$type> };
    (redacted $($declaration:tt)*) => {
        crate::types::received::received!(@declare () $($declaration)*);
        crate::types::received::received!(@redact $($declaration)*);
    };
    ($($declaration:tt)*) => {
        crate::types::received::received!(@declare (Debug) $($declaration)*);
    };
}

pub(in crate::types) use received;

/// The fields of an object, taken out one by one.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(in crate::types) struct Fields(Map<String, Value>);

impl Fields {
    /// Takes out a field that must be there.
    pub(in crate::types) fn need<T: DeserializeOwned, E: Error>(
        &mut self,
        name: &'static str,
    ) -> Result<T, E> {
        let value = self.0.remove(name).ok_or_else(|| E::missing_field(name))?;
        T::deserialize(value).map_err(|error| E::custom(format_args!("{name}: {error}")))
    }

    /// Takes out a field where it is a `T`; else it stays.
    pub(in crate::types) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = self.0.get(name).filter(|value| !value.is_null())?;
        let value = T::deserialize(value).ok()?;
        self.0.remove(name);
        Some(value)
    }

    /// Takes out the items of a list. One that is empty, or has an item in it that is no `T`, stays
    /// too: nothing that came with the others is lost for it.
    pub(in crate::types) fn take_all<T: DeserializeOwned>(&mut self, name: &str) -> Vec<T> {
        let Some(Value::Array(items)) = self.0.get(name) else {
            return Vec::new();
        };
        let fitting = items.iter().filter_map(|item| T::deserialize(item).ok());
        let fitting: Vec<T> = fitting.collect();
        if !fitting.is_empty() && fitting.len() == items.len() {
            self.0.remove(name);
        }
        fitting
    }

    /// Takes out a text; an empty one stays, so that it is told from none.
    pub(in crate::types) fn take_text(&mut self, name: &str) -> String {
        match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => self.take(name).unwrap_or_default(),
            _ => String::new(),
        }
    }

    pub(in crate::types) fn rest(self) -> Extra {
        self.0.into()
    }
}

/// A body on its way out: each field once.
pub(in crate::types) struct Written<'e, M> {
    map: M,
    extra: &'e Extra,
    names: Vec<&'static str>,
}

impl<'e, M: SerializeMap> Written<'e, M> {
    pub(in crate::types) fn new<S>(serializer: S, extra: &'e Extra) -> Result<Self, S::Error>
    where
        S: Serializer<SerializeMap = M>,
    {
        Ok(Self {
            map: serializer.serialize_map(None)?,
            extra,
            names: Vec::new(),
        })
    }

    /// Writes a field, unless `extra` has all of what came under its name.
    pub(in crate::types) fn write<T: Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        if self.extra.get(name).is_none_or(is_nothing) {
            self.map.serialize_entry(name, value)?;
            self.names.push(name);
        }
        Ok(())
    }

    pub(in crate::types) fn end(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in self.extra.iter() {
            if !self.names.contains(&name) {
                self.map.serialize_entry(name, value)?;
            }
        }
        self.map.end()
    }
}

/// What was kept only to be told from a field that is not there.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}
