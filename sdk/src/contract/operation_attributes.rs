//! Attributes of an operation: method, surface, credential, rate-limit bucket and retry class.

/// Declares an enum whose values have names.
macro_rules! named_enum {
    (
        $(#[doc = $doc:expr])+
        pub enum $type:ident { $($(#[doc = $value_doc:expr])+ $value:ident = $name:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type { $($(#[doc = $value_doc])+ $value,)+ }

        impl $type {
            /// Returns the name that tables, options and requests use.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

named_enum! {
    /// An HTTP method. The service's operations use only `GET` and `POST`.
    pub enum Method {
        /// Reads without changing anything.
        Get = "GET",
        /// All other operations.
        Post = "POST",
        /// Used by raw requests only.
        Put = "PUT",
        /// Used by raw requests only.
        Patch = "PATCH",
        /// Used by raw requests only.
        Delete = "DELETE",
        /// Used by raw requests only: reads the status and headers.
        Head = "HEAD",
        /// Used by raw requests only: reads which methods are allowed.
        Options = "OPTIONS",
    }
}

impl Method {
    /// Returns whether requests with this method change nothing.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }
}

named_enum! {
    /// The surface, and so the host, that serves an operation.
    pub enum Surface {
        /// The open pay-as-you-go host.
        Open = "open",
        /// The developer host.
        Developer = "developer",
        /// Both hosts, with the same path.
        Both = "both",
        /// The MCP endpoint, whose URL is configured separately.
        Mcp = "mcp",
    }
}

impl Surface {
    /// Returns whether `host` (`Open`, `Developer` or `Mcp`) serves the operations of this surface.
    #[must_use]
    pub const fn includes(self, host: Self) -> bool {
        matches!(
            (self, host),
            (Self::Both, Self::Open | Self::Developer | Self::Both)
                | (Self::Open, Self::Open)
                | (Self::Developer, Self::Developer)
                | (Self::Mcp, Self::Mcp)
        )
    }
}

named_enum! {
    /// Whether an operation requires an API key.
    pub enum Auth {
        /// An API key is required.
        Key = "key",
        /// No API key is required, but one may be sent.
        Public = "public",
    }
}

named_enum! {
    /// The rate-limit bucket that a request counts against. Buckets are refilled every minute.
    pub enum RateLimitBucket {
        /// Every `GET`, calls of the MCP endpoint, and the preview of an admission.
        Read = "read",
        /// All other requests, also estimates, searches and cancels.
        Write = "write",
    }
}

/// The texts of [`Idempotency`], which are also in the documentation of methods.
macro_rules! idempotency_text {
    (NoKey) => {
        "The operation takes no idempotency key."
    };
    (Documented) => {
        "The same key and body return the receipt of the first request, at no charge. The service \
         documents this; that it holds for 24 hours is assumed."
    };
    (OnePerKey) => {
        "One key is one top-up, as the service documents: the same key returns the top-up as it is now."
    };
    (Assumed) => {
        "The same key and body are assumed to return the receipt of the first request, for 24 hours. \
         The service does not document it here."
    };
    (Undocumented) => {
        "The service does not document keys here: a request that is sent again may be charged again. \
         The client's journal protects instead."
    };
}

/// The section of a method's documentation that says what its operation does with keys.
#[cfg(feature = "client")]
macro_rules! idempotency_section {
    ($variant:ident) => {
        concat!("\n# Idempotency\n\n", crate::contract::idempotency_text!($variant))
    };
}

#[cfg(feature = "client")]
pub(crate) use {idempotency_section, idempotency_text};

/// What the service does with a request that has the `Idempotency-Key` of an earlier one.
///
/// The SDK, the help of the command line and the OpenAPI document say it with the same
/// [words](Self::description).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Idempotency {
    #[doc = idempotency_text!(NoKey)]
    NoKey,
    #[doc = idempotency_text!(Documented)]
    Documented,
    #[doc = idempotency_text!(OnePerKey)]
    OnePerKey,
    #[doc = idempotency_text!(Assumed)]
    Assumed,
    #[doc = idempotency_text!(Undocumented)]
    Undocumented,
}

impl Idempotency {
    /// Returns what happens to a request that is sent again, in sentences.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::NoKey => idempotency_text!(NoKey),
            Self::Documented => idempotency_text!(Documented),
            Self::OnePerKey => idempotency_text!(OnePerKey),
            Self::Assumed => idempotency_text!(Assumed),
            Self::Undocumented => idempotency_text!(Undocumented),
        }
    }
}

named_enum! {
    /// Which failed requests of an operation may be retried automatically.
    ///
    /// A failure is either *conclusive*, which means that the service did not execute the request (no
    /// connection, a `429`, a `502` or `503` with an error envelope, `retryable: true`), or *ambiguous* (a
    /// timeout, a connection reset or a truncated body after the request was sent, a `5xx` without an
    /// envelope).
    pub enum RetryClass {
        /// A read. Retried after any failure.
        Safe = "safe",
        /// A write that is idempotent. Retried after any failure.
        Idempotent = "idempotent",
        /// A write that is idempotent through its `Idempotency-Key`. Retried after any failure, with the
        /// same key.
        Key = "key",
        /// A submit whose idempotency is not documented. Retried after conclusive failures only.
        Unsent = "unsent",
        /// A write that takes effect each time. Retried only if the request was never sent, or after a
        /// `429`.
        Never = "never",
    }
}

impl RetryClass {
    /// Returns whether requests of this class carry an `Idempotency-Key` header.
    #[must_use]
    pub const fn sends_idempotency_key(self) -> bool {
        matches!(self, Self::Key | Self::Unsent)
    }
}
