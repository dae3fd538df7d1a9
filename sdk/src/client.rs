//! Clients of a surface.

mod builder;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use self::builder::ClientBuilder;
use crate::call::Core;
use crate::call::api_key::ApiKey;
use crate::call::credentials::Credentials;
use crate::error::Result;
use crate::surface::ClientSurface;
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

impl<S: ClientSurface> Client<S> {
    /// Returns a builder of a client.
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

    /// Returns a client of another API key with the same settings, transport and connections.
    ///
    /// It has a rate limit and a poll schedule of its own, as the service counts by key; the retry
    /// budget and [`max_in_flight`](ClientBuilder::max_in_flight) are shared. An idle client takes
    /// less than 3 kB, so that a program can have one for each of its users.
    ///
    /// ```no_run
    /// use svc_sdk::{ApiKey, open};
    ///
    /// # fn run() -> svc_sdk::Result<()> {
    /// let client = open::Client::builder().base_url("https://api.example.com").build()?;
    /// let alice = client.with_api_key(ApiKey::new("svc_open_alice")?)?;
    /// let bob = client.with_api_key(ApiKey::new("svc_open_bob")?)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the key is not a valid header.
    pub fn with_api_key(&self, key: ApiKey) -> Result<Self> {
        let credentials = Credentials::fixed(&key)?;
        let account = Arc::clone(&self.core.account);
        let core = Core::new(Arc::clone(&self.core.shared), credentials, account);
        Ok(Self::from_core(Arc::new(core)))
    }

    /// Returns a client of the same API key whose submissions belong to that account.
    ///
    /// The label is the application's own, such as the id of a tenant. Together with the journal's
    /// namespace it identifies submissions: the same submission id of another account is another
    /// submission, and an API key that was rotated makes no difference.
    ///
    /// Set it before the first submit: a label that is added or changed later makes each submission a
    /// new one, which is paid for again.
    #[must_use]
    pub fn with_account(&self, label: impl Into<String>) -> Self {
        Self::from_core(Arc::new(Core {
            shared: Arc::clone(&self.core.shared),
            key: Arc::clone(&self.core.key),
            account: Arc::from(label.into()),
        }))
    }

    pub(crate) fn from_core(core: Arc<Core>) -> Self {
        Self { core, surface: PhantomData }
    }
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), surface: PhantomData }
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
