//! JSON schemas that are not derived.

/// Implements `schemars::JsonSchema` for a type, given its schema. With `inline` it is written where the
/// type is used, and not among the components.
macro_rules! json_schema {
    (inline $type:ident $schema:tt) => {
        crate::types::json_schema::json_schema!(@implement $type, true, _generator, $schema);
    };
    ($type:ident $schema:tt) => {
        crate::types::json_schema::json_schema!(@implement $type, false, _generator, $schema);
    };
    ($type:ident with $generator:ident $schema:tt) => {
        crate::types::json_schema::json_schema!(@implement $type, false, $generator, $schema);
    };
    (@implement $type:ident, $is_inline:literal, $generator:ident, $schema:tt) => {
        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                $is_inline
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(in crate::types) use json_schema;
