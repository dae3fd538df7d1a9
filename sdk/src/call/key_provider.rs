//! Sources of API keys.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;

use super::api_key::ApiKey;

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
