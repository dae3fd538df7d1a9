//! Clients of a surface.

mod builder;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use self::builder::ClientBuilder;
use crate::call::Core;
use crate::error::Result;
use crate::surface::Surface;
use crate::transport::Transport;

/// A client of one surface of the service.
///
/// [`open::Client`](crate::open::Client) and [`developer::Client`](crate::developer::Client) are
/// this type for the two surfaces. Each resource is reached by a method of its own, such as
/// [`jobs`](Self::jobs); see [`resources`](crate::resources) for all of them.
///
/// Clones are cheap. They share connections, the rate limit, the retry budget and the poll schedule.
pub struct Client<S> {
    pub(crate) core: Arc<Core>,
    surface: PhantomData<S>,
}

impl<S: Surface> Client<S> {
    /// Returns a builder of a client.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use svc_sdk::{ApiKey, open};
    ///
    /// # fn run() -> svc_sdk::Result<()> {
    /// let client = open::Client::builder()
    ///     .base_url("https://api.example.com")
    ///     .api_key(ApiKey::new("svc_open_…")?)
    ///     .timeout(Duration::from_secs(30))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> ClientBuilder<S> {
        ClientBuilder::new()
    }

    /// Creates a client from the environment: `SVC_BASE_URL` and `SVC_OPEN_API_KEY` for the open
    /// surface, `SVC_DEVELOPER_BASE_URL` and `SVC_DEVELOPER_API_KEY` for the developer surface.
    ///
    /// To change the configuration first, use [`ClientBuilder::from_env`].
    ///
    /// # Errors
    ///
    /// Returns an error if one of the two variables is not set or not valid.
    pub fn from_env() -> Result<Self> {
        ClientBuilder::from_env()?.build()
    }

    /// Returns the configured base URL.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.core.base_url.as_str()
    }

    /// Returns the transport, to share its connections with another client.
    #[must_use]
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.core.transport)
    }

    pub(crate) fn from_core(core: Arc<Core>) -> Self {
        Self {
            core,
            surface: PhantomData,
        }
    }
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            surface: PhantomData,
        }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.core.base_url.as_str())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
