//! Declaration of request bodies.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Communication, Extra, InvalidField};

/// Declares a request body: a struct with public fields, setters, and `extra` for other fields.
///
/// The fields in parentheses are required; they are the arguments of `new`, which is not generated
/// without the parentheses. Each field has a kind:
///
/// - `text` is an `Option<String>`, `integer` an `Option<u64>`, `flag` an `Option<bool>`.
/// - `urls` is a `Vec<String>`.
/// - `object` is an optional JSON object; its setter adds one entry.
/// - `[T]` is an `Option<T>`.
/// - `{T}` is a `T` without a setter.
///
/// `+ job_options` adds the communication fields and `metadata` of job submissions, `+ run_options`
/// the communication fields of runs.
macro_rules! request_body {
    (
        $(#[doc = $doc:expr])*
        pub struct $name:ident $(( $($required:tt)* ))? { $($fields:tt)* } + job_options
    ) => {
        crate::types::request::request_body! {
            $(#[doc = $doc])*
            pub struct $name $(( $($required)* ))? {
                $($fields)*
                /// How the request is answered.
                mode: [crate::types::Mode],
                /// The webhook's URL: public HTTPS, at most 2048 characters. Used with the mode
                /// `webhook`.
                webhook_url: {Option<String>},
                /// How long the modes `sync` and `subscribe` wait for the job, in seconds: 0 to 30.
                wait_timeout_seconds: integer,
                /// Key-value data of the caller. It is stored on the job and never sent to the
                /// model.
                metadata: {crate::types::Extra},
            }
        }

        impl $name {
            /// Sets `webhook_url`, and `mode` to `webhook`.
            #[must_use]
            pub fn webhook_url(mut self, url: impl Into<String>) -> Self {
                self.webhook_url = Some(url.into());
                self.mode = Some(crate::types::Mode::Webhook);
                self
            }

            /// Adds an entry to `metadata`.
            #[must_use]
            pub fn metadata(
                mut self,
                name: impl Into<String>,
                value: impl Into<serde_json::Value>,
            ) -> Self {
                self.metadata.insert(name.into(), value.into());
                self
            }
        }
    };
    (
        $(#[doc = $doc:expr])*
        pub struct $name:ident $(( $($required:tt)* ))? { $($fields:tt)* } + run_options
    ) => {
        crate::types::request::request_body! {
            $(#[doc = $doc])*
            pub struct $name $(( $($required)* ))? {
                $($fields)*
                /// The URL that receives the terminal receipt: public HTTPS, at most 2048
                /// characters.
                webhook_url: text,
                /// Whether a webhook reports the end of the run: `async` or `webhook`. Assumed.
                mode: [crate::types::Mode],
                /// Accepted, and without effect on a run, in seconds: 0 to 30. Assumed.
                wait_timeout_seconds: integer,
                /// The communication fields in an object. Both places must agree.
                communication: [crate::types::Communication],
            }
        }
    };
    (
        $(#[doc = $doc:expr])*
        pub struct $name:ident $((
            $(
                $(#[doc = $required_doc:expr])*
                $(#[written_as($as:ident)])?
                $(#[cfg_attr($($required_attribute:tt)*)])?
                $required:ident: $required_kind:tt
            ),* $(,)?
        ))? {
            $(
                $(#[doc = $field_doc:expr])*
                $(#[schemars($($schemars:tt)*)])?
                $field:ident: $kind:tt,
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub struct $name {
            $( $(
                $(#[doc = $required_doc])*
                $(#[cfg_attr($($required_attribute)*)])?
                pub $required: crate::types::request::request_body!(@required $required_kind),
            )* )?
            $(
                $(#[doc = $field_doc])*
                $( #[cfg_attr(feature = "schemars", schemars($($schemars)*))] )?
                #[cfg_attr(
                    feature = "schemars",
                    serde(skip_serializing_if = "crate::types::request::is_unset")
                )]
                pub $field: crate::types::request::request_body!(@type $kind),
            )*
            /// Fields without a setter.
            #[cfg_attr(feature = "schemars", serde(flatten))]
            pub extra: crate::types::Extra,
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut fields = crate::types::request::RequestFieldWriter::new(serializer, &self.extra)?;
                $( $(
                    let value = crate::types::request::request_body!(@written [$($as)?] &self.$required);
                    fields.write(stringify!($required), value)?;
                )* )?
                $(
                    if !crate::types::request::is_unset(&self.$field) {
                        fields.write(stringify!($field), &self.$field)?;
                    }
                )*
                fields.end()
            }
        }

        impl $name {
            $(
                /// Creates a body with the required fields.
                #[must_use]
                pub fn new(
                    $( $required: crate::types::request::request_body!(@argument $required_kind) ),*
                ) -> Self {
                    Self { $( $required: $required.into(), )* ..Self::default() }
                }
            )?

            $( crate::types::request::request_body!(@setter [$($field_doc)*] $field $kind); )*

            /// Sets a field without a setter.
            #[must_use]
            pub fn field(
                mut self,
                name: impl Into<String>,
                value: impl Into<serde_json::Value>,
            ) -> Self {
                self.extra.insert(name.into(), value.into());
                self
            }
        }
    };

    (@written [] $value:expr) => { $value };
    (@written [$as:ident] $value:expr) => { &$as($value) };

    (@required text) => { String };
    (@required integer) => { u64 };
    (@required [$type:ty]) => { $type };
    (@argument text) => { impl Into<String> };
    (@argument integer) => { u64 };
    (@argument [$type:ty]) => { $type };

    (@type text) => { Option<String> };
    (@type integer) => { Option<u64> };
    (@type flag) => { Option<bool> };
    (@type urls) => { Vec<String> };
    (@type object) => { Option<serde_json::Map<String, serde_json::Value>> };
    (@type [$type:ty]) => { Option<$type> };
    (@type {$type:ty}) => { $type };

    (@setter [$($doc:expr)*] $field:ident {$type:ty}) => {};
    (@setter [$($doc:expr)*] $field:ident object) => {
        #[doc = concat!("Adds an entry to `", stringify!($field), "`.\n")]
        #[doc = ""]
        $(#[doc = $doc])*
        #[must_use]
        pub fn $field(
            mut self,
            name: impl Into<String>,
            value: impl Into<serde_json::Value>,
        ) -> Self {
            self.$field.get_or_insert_default().insert(name.into(), value.into());
            self
        }
    };
    (@setter [$($doc:expr)*] $field:ident urls) => {
        #[doc = concat!("Sets `", stringify!($field), "`.\n")]
        #[doc = ""]
        $(#[doc = $doc])*
        #[must_use]
        pub fn $field<I: IntoIterator<Item = U>, U: Into<String>>(mut self, $field: I) -> Self {
            self.$field = $field.into_iter().map(Into::into).collect();
            self
        }
    };
    (@setter [$($doc:expr)*] $field:ident $kind:tt) => {
        #[doc = concat!("Sets `", stringify!($field), "`.\n")]
        #[doc = ""]
        $(#[doc = $doc])*
        #[must_use]
        pub fn $field(
            mut self,
            $field: crate::types::request::request_body!(@value $kind),
        ) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (@value text) => { impl Into<String> };
    (@value integer) => { u64 };
    (@value flag) => { bool };
    (@value [$type:ty]) => { impl Into<$type> };
}

pub(in crate::types) use request_body;

/// Serializes the fields of a request body. A field that the caller set by name replaces the
/// setter's, so that no name is sent twice.
pub(in crate::types) struct RequestFieldWriter<'e, M> {
    map: M,
    extra: &'e Extra,
}

impl<'e, M: SerializeMap> RequestFieldWriter<'e, M> {
    pub(in crate::types) fn new<S>(serializer: S, extra: &'e Extra) -> Result<Self, S::Error>
    where
        S: Serializer<SerializeMap = M>,
    {
        let map = serializer.serialize_map(None)?;
        Ok(Self { map, extra })
    }

    pub(in crate::types) fn write<T: Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        match self.extra.get(name) {
            Some(_) => Ok(()),
            None => self.map.serialize_entry(name, value),
        }
    }

    pub(in crate::types) fn end(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in self.extra.iter() {
            self.map.serialize_entry(name, value)?;
        }
        self.map.end()
    }
}

/// A field's value that can be left out of a request.
pub(in crate::types) trait Unset {
    /// Returns `true` if the field was not set.
    fn is_unset(&self) -> bool;
}

impl<T> Unset for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}

impl<T> Unset for Vec<T> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl Unset for Extra {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

pub(in crate::types) fn is_unset(value: &impl Unset) -> bool {
    value.is_unset()
}

/// Checks the communication fields of a run.
pub(in crate::types) fn run_options(
    webhook_url: Option<&String>,
    communication: Option<&Communication>,
) -> Result<(), InvalidField> {
    super::validation::webhook_url(webhook_url)?;
    let Some(inner) = communication.and_then(|it| it.webhook_url.as_ref()) else { return Ok(()) };
    super::validation::webhook_url(Some(inner)).map_err(|field| field.within("communication"))?;
    if webhook_url.is_some_and(|outer| outer != inner) {
        let reason = "must be the same as `webhook_url`";
        return Err(InvalidField::new("communication.webhook_url", reason));
    }
    Ok(())
}
