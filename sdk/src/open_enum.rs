//! Declaration of open enums: enums of the service that keep unknown values.

/// Declares an open enum: variants with their names in JSON, and `Other` for every other value.
macro_rules! open_enum {
    (
        $(#[doc = $doc:expr])*
        pub enum $name:ident { $( $(#[doc = $variant_doc:expr])* $variant:ident = $wire:literal, )+ }
    ) => {
        $(#[doc = $doc])*
        ///
        /// The set is open: an unknown value is kept in `Other` and written back unchanged.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[doc = $variant_doc])* #[doc = concat!("\n\n`", $wire, "`")] $variant, )+
            /// An unknown value.
            Other(String),
        }

        impl $name {
            /// The known values.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the value as it is in JSON.
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
                let value = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::from(&*value))
            }
        }

        #[cfg(feature = "openapi")]
        impl $name {
            /// The known values as they are in JSON, with their documentation.
            #[allow(dead_code, reason = "not used for every enum")]
            pub(crate) const DOCS: &'static [(&'static str, &'static str)] =
                &[$(($wire, concat!($($variant_doc, "\n"),*))),+];
        }

        #[cfg(feature = "openapi")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                crate::openapi::open_set(concat!($($doc, "\n"),*), Self::DOCS)
            }
        }
    };
}

pub(crate) use open_enum;
