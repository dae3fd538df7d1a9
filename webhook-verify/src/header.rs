//! Names and format of the headers of a delivery.
//!
//! The names are in lower case, as `http::HeaderName::from_static` requires.
//!
//! # Signature header
//!
//! - Entries are separated by commas. Spaces and tabs around an entry are ignored, as in
//!   all HTTP lists, and so are empty entries: a proxy that joins two header lines
//!   inserts `, ` between them.
//! - The scheme, `svc-v1`, is in lower case, without white space around the `=`.
//! - A tag consists of exactly 64 hex digits, in upper or lower case. A truncated tag is
//!   malformed.
//! - A malformed entry, or an entry of another scheme, does not invalidate the others.
//!
//! Several lines of the header form one list. Join them with commas, or use
//! `Verifier::verify_with_headers` (feature `http`), which reads all of them.
//!
//! # Timestamp header
//!
//! The timestamp consists of 1 to 20 decimal digits. Leading zeros are accepted: the MAC
//! covers the exact bytes of the header, so zeros that the sender did not write cause a
//! mismatch.

/// The name of the header with the time at which a delivery was signed, in Unix seconds.
pub const TIMESTAMP: &str = "x-svc-webhook-timestamp";

/// The name of the header with the signatures.
pub const SIGNATURE: &str = "x-svc-webhook-signature";

/// The name of the header with the fingerprint of the newest secret.
pub const FINGERPRINT: &str = "x-svc-webhook-secret-fingerprint";

/// The scheme and the equals sign in front of the hex digits of a signature.
pub(crate) const SCHEME_PREFIX: &str = "svc-v1=";
