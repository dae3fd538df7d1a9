//! The API key of a client, fixed or from a provider.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use tokio::sync::Mutex;

use super::api_key::ApiKey;
use super::key_provider::KeyProvider;
use crate::error::{Error, Kind, Result};

/// The `Authorization` header of requests.
pub(crate) enum Credentials {
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
