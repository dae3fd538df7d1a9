//! Enums whose variants have names in requests and responses.

/// Declares an enum without fields, with the name of each variant.
macro_rules! named_enum {
    ($(#[$meta:meta])* $vis:vis enum $enum:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $enum {
            $($(#[$doc])* $variant,)+
        }

        #[allow(dead_code, reason = "not every enum is read from its names")]
        impl $enum {
            /// The names of all variants.
            $vis const NAMES: &[&str] = &[$($name),+];

            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            $vis fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use named_enum;
