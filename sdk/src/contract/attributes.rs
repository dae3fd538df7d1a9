//! What the table says of an operation: method, host, credential, budget, retry class.

/// The HTTP method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads and changes nothing.
    Get,
    /// Everything else; the service has no `PUT`, `PATCH` or `DELETE`.
    Post,
}

impl Method {
    /// The method as it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// Which host answers an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    /// The open pay-as-you-go host.
    Open,
    /// The developer host.
    Developer,
    /// The same path on both hosts.
    Both,
    /// The MCP endpoint, whose URL is configured by itself.
    Mcp,
}

impl Surface {
    /// The name used in tables and in `--surface`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Developer => "developer",
            Self::Both => "both",
            Self::Mcp => "mcp",
        }
    }

    /// Whether an operation of this surface is answered by `host` (`Open` or `Developer`).
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

/// Whether an operation needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// An API key is required.
    Key,
    /// No key is needed; one may be sent all the same.
    Public,
}

impl Auth {
    /// The name used in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Public => "public",
        }
    }
}

/// The per-minute budget that a request spends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    /// Every `GET`, and the `POST`s that submit nothing.
    Read,
    /// Everything else.
    Write,
}

impl Budget {
    /// The name used in tables and in `error.details.scope`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What a client may do by itself after a request failed.
///
/// A failure either *proves that nothing ran* (no connection, a `429`, a `503` or `502` with an
/// error envelope, `retryable: true`) or is *ambiguous* (a time-out, a reset or a truncated body
/// after the request was sent, a `5xx` without an envelope).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryClass {
    /// A read: repeat after either.
    Safe,
    /// Repeating it changes nothing: repeat after either.
    Idempotent,
    /// Idempotent through its `Idempotency-Key`: repeat after either, with the same key.
    Key,
    /// A submit whose idempotency is not documented: repeat only when nothing ran.
    Unsent,
    /// Repeating does something again: only when the request never left, or after a `429`.
    Never,
}

impl RetryClass {
    /// The name used in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Idempotent => "idempotent",
            Self::Key => "key",
            Self::Unsent => "unsent",
            Self::Never => "never",
        }
    }

    /// Whether a request of this class carries an `Idempotency-Key` header.
    #[must_use]
    pub const fn sends_key(self) -> bool {
        matches!(self, Self::Key | Self::Unsent)
    }
}
