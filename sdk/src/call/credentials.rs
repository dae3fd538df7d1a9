//! The API key of a client, and where it comes from.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::HeaderValue;
use tokio::sync::Mutex;

use super::api_key::ApiKey;
use crate::error::{Error, Kind, Result};

/// The error of a [`KeyProvider`].
pub type KeyError = Box<dyn StdError + Send + Sync>;

/// The future that [`KeyProvider::key`] returns.
pub type KeyFuture<'a> = Pin<Box<dyn Future<Output = Result<ApiKey, KeyError>> + Send + 'a>>;

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
/// use svc_sdk::{ApiKey, KeyError, open};
///
/// async fn mounted_key() -> Result<ApiKey, KeyError> {
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
    E: Into<KeyError>,
{
    fn key(&self) -> KeyFuture<'_> {
        let key = self();
        Box::pin(async move { key.await.map_err(Into::into) })
    }
}

/// The `Authorization` header of requests.
#[derive(Default)]
pub(crate) struct Credentials {
    provider: Option<Arc<dyn KeyProvider>>,
    /// The lock is held while the provider is asked, so that it is asked once for all that wait.
    cached: Mutex<Option<HeaderValue>>,
}

impl Credentials {
    pub(crate) fn fixed(key: &ApiKey) -> Result<Self> {
        Ok(Self {
            provider: None,
            cached: Mutex::new(Some(header(key)?)),
        })
    }

    pub(crate) fn from_provider(provider: Arc<dyn KeyProvider>) -> Self {
        Self {
            provider: Some(provider),
            cached: Mutex::default(),
        }
    }

    /// Returns the header, or `None` for a client without a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the provider fails.
    pub(crate) async fn header(&self) -> Result<Option<HeaderValue>> {
        let mut cached = self.cached.lock().await;
        if let (None, Some(provider)) = (&*cached, &self.provider) {
            *cached = Some(request_key(provider.as_ref()).await?);
        }
        Ok(cached.clone())
    }

    /// Asks the provider for another key than the one that the service rejected, and returns whether
    /// there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the provider fails. It is then asked again for the next request.
    pub(crate) async fn replace(&self, rejected: &HeaderValue) -> Result<bool> {
        let Some(provider) = &self.provider else {
            return Ok(false);
        };
        let mut cached = self.cached.lock().await;
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
    key.bearer()
        .ok_or_else(|| Error::configuration("the API key is not a valid header"))
}
