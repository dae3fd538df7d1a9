//! API keys, which cannot be printed by accident, and the key of a client, fixed or from a provider.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use http::HeaderValue;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::error::{Error, Kind, Result};
use crate::types::InvalidField;

/// An API key: redacted in `Debug`, without `Display`, and wiped from memory when dropped.
///
/// ```
/// use svc_sdk::ApiKey;
///
/// let key = ApiKey::new("svc_open_demo")?;
/// assert_eq!(format!("{key:?}"), "ApiKey(…)");
/// # Ok::<(), svc_sdk::types::InvalidField>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// Creates an API key. White space around it, such as a final newline, is removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is empty, or has a character that is not visible ASCII. The error
    /// does not show the key.
    pub fn new(key: impl Into<String>) -> Result<Self, InvalidField> {
        let given = Zeroizing::new(key.into());
        let key = given.trim();
        if key.is_empty() {
            return Err(InvalidField::new("API key", "must not be empty"));
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidField::new("API key", "must consist of visible ASCII characters"));
        }
        Ok(Self(Zeroizing::new(key.to_owned())))
    }

    /// Returns the key itself, for storing it. Do not log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("Bearer {}", *self.0));
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl std::str::FromStr for ApiKey {
    type Err = InvalidField;

    fn from_str(key: &str) -> Result<Self, InvalidField> {
        Self::new(key)
    }
}

/// The error of a [`KeyProvider`].
pub type KeyProviderError = Box<dyn StdError + Send + Sync>;

/// The future that [`KeyProvider::key`] returns.
pub type KeyFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ApiKey, KeyProviderError>> + Send + 'a>>;

/// A source of the API key, such as a file or a secret manager, so that the key can be replaced
/// without a new client.
///
/// Set it with [`ClientBuilder::key_provider`](crate::ClientBuilder::key_provider). The client asks
/// for the key before its first request and keeps it. If the service rejects the key (401), the client
/// asks again: with another key it sends the request once more, with the same one it returns the
/// error. Requests at the same time ask once together.
///
/// A failure is treated like a refused connection: nothing was sent, and the call is retried. The
/// client bounds the time by the call's time limit. It logs neither the key nor the error; the error
/// is the [`source`](StdError::source) of the call's, so that it should not show the key.
///
/// # Examples
///
/// An async function or closure is a provider:
///
/// ```no_run
/// use svc_sdk::{ApiKey, KeyProviderError, open};
///
/// async fn mounted_key() -> Result<ApiKey, KeyProviderError> {
///     Ok(ApiKey::new(tokio::fs::read_to_string("/run/secrets/svc_api_key").await?)?)
/// }
///
/// # fn run() -> svc_sdk::Result<()> {
/// let client = open::Client::builder()
///     .base_url("https://api.example.com")
///     .key_provider(mounted_key)
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub trait KeyProvider: Send + Sync + 'static {
    /// Returns the current API key.
    ///
    /// # Errors
    ///
    /// Returns an error if the key cannot be read.
    fn key(&self) -> KeyFuture<'_>;
}

impl<F, Fut, E> KeyProvider for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ApiKey, E>> + Send + 'static,
    E: Into<KeyProviderError>,
{
    fn key(&self) -> KeyFuture<'_> {
        let key = self();
        Box::pin(async move { key.await.map_err(Into::into) })
    }
}

/// The `Authorization` header of requests.
#[derive(Default)]
pub(crate) enum Credentials {
    #[default]
    None,
    Fixed(HeaderValue),
    Provider {
        provider: Arc<dyn KeyProvider>,
        /// The lock is held while the provider is asked, so that it is asked once for all that wait.
        cached: Mutex<Option<HeaderValue>>,
    },
}

impl Credentials {
    pub(crate) fn fixed(key: &ApiKey) -> Result<Self> {
        Ok(Self::Fixed(header(key)?))
    }

    pub(crate) fn from_provider(provider: Arc<dyn KeyProvider>) -> Self {
        Self::Provider { provider, cached: Mutex::default() }
    }

    /// Returns the header, or `None` for a client without a key.
    pub(crate) async fn header(&self) -> Result<Option<HeaderValue>> {
        match self {
            Self::None => Ok(None),
            Self::Fixed(key) => Ok(Some(key.clone())),
            Self::Provider { provider, cached } => {
                let mut cached = cached.lock().await;
                if cached.is_none() {
                    *cached = Some(request_key(provider.as_ref()).await?);
                }
                Ok(cached.clone())
            }
        }
    }

    /// Asks the provider for another key than the one that the service rejected, and returns whether
    /// there is one.
    pub(crate) async fn replace(&self, rejected: &HeaderValue) -> Result<bool> {
        let Self::Provider { provider, cached } = self else { return Ok(false) };
        let mut cached = cached.lock().await;
        if cached.as_ref() == Some(rejected) {
            *cached = None;
            *cached = Some(request_key(provider.as_ref()).await?);
        }
        Ok(cached.as_ref() != Some(rejected))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

async fn request_key(provider: &dyn KeyProvider) -> Result<HeaderValue> {
    match provider.key().await {
        Ok(key) => header(&key),
        Err(source) => Err(Error::new(Kind::KeyProvider { source })),
    }
}

fn header(key: &ApiKey) -> Result<HeaderValue> {
    key.bearer().ok_or_else(|| Error::configuration("the API key is not a valid header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_key_is_rejected_without_showing_it() {
        for bad in ["", "  ", "a b", "canary\u{e9}", "canary\nx"] {
            let error = ApiKey::new(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
        assert_eq!(ApiKey::new("canary\n").unwrap().expose(), "canary");
    }
}
