//! Open enums, which keep values that are added to the service later.

/// Declares an open enum: known variants with their values on the wire, and `Other`.
macro_rules! open_enum {
    (
        $(#[doc = $doc:expr])*
        pub enum $name:ident { $( $(#[doc = $variant_doc:expr])* $variant:ident = $wire:literal, )+ }
    ) => {
        $(#[doc = $doc])*
        ///
        /// The service may add values: an unknown value is kept in `Other` and serialized unchanged.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[doc = $variant_doc])* #[doc = concat!("\n\n`", $wire, "`")] $variant, )+
            /// An unknown value, as received.
            Other(String),
        }

        impl $name {
            /// The known values.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the value as it is on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $wire, )+
                    Self::Other(value) => value,
                }
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                match value {
                    $( $wire => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(value: String) -> Self {
                match value.as_str() {
                    $( $wire => Self::$variant, )+
                    _ => Self::Other(value),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(value: &str) -> Result<Self, Self::Err> {
                Ok(Self::from(value))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = crate::types::Text::deserialize(deserializer)?;
                Ok(match value.0 {
                    std::borrow::Cow::Borrowed(value) => Self::from(value),
                    std::borrow::Cow::Owned(value) => Self::from(value),
                })
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::open_enum::json_schema(
                    concat!($($doc, "\n"),*),
                    &[$(($wire, concat!($($variant_doc, "\n"),*))),+],
                )
            }
        }
    };
}

pub(crate) use open_enum;

/// Returns the schema of an open enum: its known values with their descriptions, or any string.
#[cfg(feature = "schemars")]
pub(crate) fn json_schema(description: &str, values: &[(&str, &str)]) -> schemars::Schema {
    let known = values.iter().map(|(value, description)| {
        serde_json::json!({"const": value, "description": description.trim()})
    });
    let any = serde_json::json!({"type": "string"});
    let choices: Vec<_> = known.chain([any]).collect();
    schemars::json_schema!({
        "description": description.trim(),
        "type": "string",
        "anyOf": choices,
    })
}
