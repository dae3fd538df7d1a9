//! How a submit's body is declared: its fields with their setters, the communication fields, and
//! what is not known yet.

/// Declares a body: the fields that every request has in parentheses, then the optional ones.
///
/// A field's kind is `text`, `integer`, `flag`, `urls`, or a type in brackets.
macro_rules! body {
    (
        $(#[$meta:meta])*
        pub struct $name:ident ( $( $(#[$required_meta:meta])* $required:ident ),* $(,)? ) {
            $( $(#[$field_meta:meta])* $field:ident: $kind:tt, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub struct $name {
            $( $(#[$required_meta])* pub $required: String, )*
            $(
                $(#[$field_meta])*
                #[serde(skip_serializing_if = "super::body::is_unset")]
                pub $field: super::body::body!(@type $kind),
            )*
            /// How the submit is answered.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub mode: Option<super::Mode>,
            /// Where the end is told; goes with [`Mode::Webhook`](super::Mode::Webhook).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub webhook_url: Option<String>,
            /// How long `sync` and `subscribe` wait: 0 to 30 seconds.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub wait_timeout_seconds: Option<u64>,
            /// The caller's own data, stored on the job and never sent to the model.
            #[serde(skip_serializing_if = "super::Extra::is_empty")]
            pub metadata: super::Extra,
            /// Any other field.
            #[serde(flatten)]
            pub extra: super::Extra,
        }

        impl $name {
            /// A body with what every request has.
            #[must_use]
            pub fn new($( $required: impl Into<String> ),*) -> Self {
                Self { $( $required: $required.into(), )* ..Self::default() }
            }

            $( super::body::body!(@setter $(#[$field_meta])* $field $kind); )*

            /// How the submit is answered.
            #[must_use]
            pub fn mode(mut self, mode: super::Mode) -> Self {
                self.mode = Some(mode);
                self
            }

            /// Where the end is told; sets `mode` to `webhook`.
            #[must_use]
            pub fn webhook_url(mut self, url: impl Into<String>) -> Self {
                self.webhook_url = Some(url.into());
                self.mode(super::Mode::Webhook)
            }

            /// How long `sync` and `subscribe` wait: 0 to 30 seconds.
            #[must_use]
            pub fn wait_timeout_seconds(mut self, seconds: u64) -> Self {
                self.wait_timeout_seconds = Some(seconds);
                self
            }

            /// One entry of the caller's own data.
            #[must_use]
            pub fn metadata(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
                self.metadata.insert(key.into(), value.into());
                self
            }

            /// A field that this build has no setter for.
            #[must_use]
            pub fn field(mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
                self.extra.insert(name.into(), value.into());
                self
            }
        }
    };
    (@type text) => { Option<String> };
    (@type integer) => { Option<u64> };
    (@type flag) => { Option<bool> };
    (@type urls) => { Vec<String> };
    (@type [$type:ty]) => { Option<$type> };
    (@setter $(#[$m:meta])* $field:ident text) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: impl Into<String>) -> Self { self.$field = Some(value.into()); self }
    };
    (@setter $(#[$m:meta])* $field:ident integer) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: u64) -> Self { self.$field = Some(value); self }
    };
    (@setter $(#[$m:meta])* $field:ident flag) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: bool) -> Self { self.$field = Some(value); self }
    };
    (@setter $(#[$m:meta])* $field:ident urls) => {
        $(#[$m])* #[must_use]
        pub fn $field<I: IntoIterator<Item = U>, U: Into<String>>(mut self, urls: I) -> Self {
            self.$field = urls.into_iter().map(Into::into).collect();
            self
        }
    };
    (@setter $(#[$m:meta])* $field:ident [$type:ty]) => {
        $(#[$m])* #[must_use]
        pub fn $field(mut self, value: impl Into<$type>) -> Self { self.$field = Some(value.into()); self }
    };
}

pub(super) use body;

/// Adds to a run's body the setters of fields that it shares with others.
macro_rules! run_setters {
    ($name:ident: $($field:ident),+) => {
        impl $name {
            $( crate::types::body::run_setters!(@ $field); )+
        }
    };
    (@ instruction) => {
        /// What to make.
        #[must_use]
        pub fn instruction(mut self, instruction: impl Into<String>) -> Self {
            self.instruction = Some(instruction.into());
            self
        }
    };
    (@ input) => {
        /// One value of `input`.
        #[must_use]
        pub fn input(
            mut self,
            name: impl Into<String>,
            value: impl Into<serde_json::Value>,
        ) -> Self {
            let input = self.input.get_or_insert_default();
            input.insert(name.into(), value.into());
            self
        }
    };
    (@ webhook_url) => {
        /// Where the terminal receipt is told: public HTTPS.
        #[must_use]
        pub fn webhook_url(mut self, url: impl Into<String>) -> Self {
            self.webhook_url = Some(url.into());
            self
        }
    };
    (@ field) => {
        /// A field that this build has no setter for.
        #[must_use]
        pub fn field(
            mut self,
            name: impl Into<String>,
            value: impl Into<serde_json::Value>,
        ) -> Self {
            self.extra.insert(name.into(), value.into());
            self
        }
    };
}

pub(in crate::types) use run_setters;

/// Whether a field was never set and so is not sent.
pub(in crate::types) trait Unset {
    fn unset(&self) -> bool;
}

impl<T> Unset for Option<T> {
    fn unset(&self) -> bool {
        self.is_none()
    }
}

impl<T> Unset for Vec<T> {
    fn unset(&self) -> bool {
        self.is_empty()
    }
}

pub(in crate::types) fn is_unset(value: &impl Unset) -> bool {
    value.unset()
}
