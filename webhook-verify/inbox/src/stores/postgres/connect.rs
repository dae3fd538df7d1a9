//! Connections to the database, with TLS to other machines.

use std::sync::Arc;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::ClientConfig;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::{EventStoreError, EventStoreErrorKind};

/// The maximum number of connections of one store.
const MAX_CONNECTIONS: usize = 16;
/// The time to wait for a connection, so that a delivery is answered in time.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// A parsed address, and whether its connections use TLS.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    pub(super) fn new(address: &str) -> Result<Self, EventStoreError> {
        let invalid = |error| {
            // The message of the parser does not quote the address, which may contain a password.
            EventStoreError::new(
                EventStoreErrorKind::Invalid,
                format!("invalid PostgreSQL address: {error}"),
            )
        };
        let mut config: Config = address.parse().map_err(invalid)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let is_local = config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => {
                name == "localhost"
                    || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
            }
            #[cfg(unix)]
            Host::Unix(_) => true,
        });
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            SslMode::Prefer if is_local => {
                config.ssl_mode(SslMode::Disable);
                None
            }
            _ => {
                config.ssl_mode(SslMode::Require);
                Some(tls()?)
            }
        };
        Ok(Self { config, tls })
    }

    /// Returns a pool of connections, which are made when they are needed.
    pub(super) fn pool(&self) -> Result<Pool, EventStoreError> {
        let recycle = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match &self.tls {
            Some(tls) => Manager::from_config(self.config.clone(), tls.clone(), recycle),
            None => Manager::from_config(self.config.clone(), NoTls, recycle),
        };
        Pool::builder(manager)
            .max_size(MAX_CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .build()
            .map_err(|error| EventStoreError::unavailable("cannot create connections", error))
    }

    /// Connects, and calls a function for each notification until the connection breaks.
    pub(super) async fn listen(
        &self,
        channel: &str,
        mut on_notification: impl FnMut() + Send,
    ) -> Result<(), tokio_postgres::Error> {
        match &self.tls {
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                notifications(client, connection, channel, &mut on_notification).await
            }
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                notifications(client, connection, channel, &mut on_notification).await
            }
        }
    }
}

async fn notifications<S, T>(
    client: tokio_postgres::Client,
    mut connection: tokio_postgres::Connection<S, T>,
    channel: &str,
    on_notification: &mut (impl FnMut() + Send),
) -> Result<(), tokio_postgres::Error>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let sql = format!("LISTEN {channel}");
    let mut listening = std::pin::pin!(client.batch_execute(&sql));
    let mut is_listening = false;
    loop {
        let message = std::future::poll_fn(|context| {
            if !is_listening
                && let std::task::Poll::Ready(result) = listening.as_mut().poll(context)
            {
                is_listening = true;
                if let Err(error) = result {
                    return std::task::Poll::Ready(Some(Err(error)));
                }
            }
            connection.poll_message(context)
        });
        match message.await {
            Some(Ok(tokio_postgres::AsyncMessage::Notification(_))) => on_notification(),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
            None => return Ok(()),
        }
    }
}

fn tls() -> Result<MakeRustlsConnect, EventStoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(rustls_platform_verifier::BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| {
            let message = format!("TLS cannot be set up: {error}");
            EventStoreError::new(EventStoreErrorKind::Invalid, message)
        })?;
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}
