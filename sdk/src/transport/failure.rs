//! Conversion of HTTP client errors: whether the request may have been sent.

use std::error::Error as StdError;
use std::fmt;

use super::TransportError;

pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

/// Returns the error of a request without a response. With `is_connect`, no connection was
/// established, so the request was not sent.
pub(super) fn failed_to_send(is_connect: bool, error: impl Into<BoxError>) -> TransportError {
    let error = error.into();
    if !is_connect {
        return connection_lost(error);
    }
    match tls_failure(error.as_ref()) {
        Some(reason) => TransportError::setup(reason),
        None => TransportError::not_sent(ConnectionFailure::from(error)),
    }
}

/// Returns the error of a connection that failed after a part of the request may have been sent.
pub(super) fn connection_lost(error: impl Into<BoxError>) -> TransportError {
    TransportError::maybe_sent(ConnectionFailure::from(error.into()))
}

/// The failure of a connection, with its cause in plain words in front of the libraries' errors.
#[derive(Debug)]
struct ConnectionFailure {
    reason: String,
    source: BoxError,
}

impl From<BoxError> for ConnectionFailure {
    fn from(source: BoxError) -> Self {
        Self { reason: reason_of(source.as_ref()), source }
    }
}

impl fmt::Display for ConnectionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl StdError for ConnectionFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.source.as_ref())
    }
}

/// Returns the innermost cause, such as `connection refused`.
fn reason_of(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    let mut is_dns = false;
    while let Some(source) = cause.source() {
        cause = source;
        is_dns |= cause.to_string() == "dns error";
    }
    if is_dns {
        return "the host name could not be resolved".to_owned();
    }
    let text = cause.to_string();
    let text = text.split(" (os error ").next().unwrap_or_default();
    // reqwest's name of its own time limits.
    if text == "operation timed out" {
        return "timed out".to_owned();
    }
    // These name the part of a library that failed, and no cause.
    if text.is_empty() || text.starts_with("client error") || text.starts_with("error ") {
        return "the connection was closed".to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Describes a TLS handshake that failed by what either side said or showed, such as a certificate
/// that is not trusted. The next one would fail too.
#[cfg(feature = "_tls")]
fn tls_failure(error: &(dyn StdError + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        // An `io::Error` names the source of what it wraps in place of what it wraps.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = wrapped.map_or_else(
            || error.downcast_ref::<rustls::Error>(),
            |wrapped| wrapped.downcast_ref::<rustls::Error>(),
        );
        if let Some(tls) = tls {
            return Some(match tls {
                rustls::Error::InvalidCertificate(_) => {
                    format!("TLS failed ({tls}): the system must trust the server's certificate")
                }
                rustls::Error::InvalidMessage(_) => {
                    format!("TLS failed ({tls}): the server does not use TLS at this port")
                }
                _ => format!("TLS failed ({tls})"),
            });
        }
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

#[cfg(not(feature = "_tls"))]
fn tls_failure(_: &(dyn StdError + 'static)) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for Layer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }

    #[test]
    fn the_reason_is_the_innermost_cause_in_plain_words() {
        for (layers, reason) in [
            (
                &["client error (Connect)", "Connection refused (os error 111)"][..],
                "connection refused",
            ),
            (
                &["client error (Connect)", "dns error", "no such host"],
                "the host name could not be resolved",
            ),
            (&["error sending request", "operation timed out"], "timed out"),
            (&["client error (SendRequest)"], "the connection was closed"),
        ] {
            let error = layers
                .iter()
                .rev()
                .fold(None, |source, layer| Some(Box::new(Layer(layer, source))));
            assert_eq!(reason_of(error.unwrap().as_ref()), reason);
        }
    }
}
