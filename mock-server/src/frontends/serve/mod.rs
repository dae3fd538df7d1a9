//! An HTTP server on four local ports, for long-running programs.
//!
//! The server handles exhausted file descriptors, stalled clients, truncated responses and graceful
//! shutdown.

mod accept;
mod connections;
mod cors;
mod document;
mod own_replies;
mod request_handler;
mod socket;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::ops::Deref;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::accept::accept;
use self::request_handler::RequestHandler;
use super::webhook_sender::WebhookSender;
use crate::addresses::Addresses;
use crate::clock::TimeSource;
use crate::engine::Host;
use crate::service::Service;
use crate::setup::Setup;

/// A function that reports problems to the person who runs the server.
pub type Log = fn(&str);

/// The hosts, in the order of their ports.
const HOSTS: [Host; 4] = [Host::Open, Host::Developer, Host::Media, Host::Control];

/// A mock that listens on four ports, of 127.0.0.1 unless [`Setup::bind`] names another address.
///
/// Dropping it stops the server.
#[derive(Debug)]
pub struct Server {
    service: Service,
    /// Dropping the sender stops the listeners.
    stop: watch::Sender<()>,
    listening: Vec<JoinHandle<()>>,
    webhook_sender: WebhookSender,
}

/// The time limits for clients.
#[derive(Clone, Copy)]
struct Timeouts {
    /// The limit between requests. It is a little longer than clients keep idle connections, so that
    /// the client closes them.
    idle: Duration,
    /// The limit for a request's head after its first byte.
    head: Duration,
    /// The limit for a request's body.
    body: Duration,
    /// The limit for a client that does not read its response.
    write: Duration,
    /// The limit for open requests on shutdown.
    shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(95),
            head: Duration::from_secs(10),
            body: Duration::from_secs(60),
            write: Duration::from_secs(60),
            shutdown: Duration::from_secs(1),
        }
    }
}

impl Server {
    /// Binds `port_base` and the three ports after it, or any four free ports if it is 0.
    ///
    /// The order is: the open surface, the developer surface, media, the control API.
    ///
    /// # Errors
    ///
    /// Returns a [`BindError`] if a port cannot be bound.
    pub async fn bind(setup: Setup, port_base: u16, log: Log) -> Result<Self, BindError> {
        Self::start(setup, port_base, log, Timeouts::default()).await
    }

    async fn start(
        setup: Setup,
        port_base: u16,
        log: Log,
        timeouts: Timeouts,
    ) -> Result<Self, BindError> {
        let (address, host) = setup.bind_address();
        let mut listeners = Vec::with_capacity(HOSTS.len());
        let mut urls = <[String; 4]>::default();
        for (offset, url) in (0_u16..).zip(&mut urls) {
            let (listener, port) = listen(address, port_base, offset).await?;
            *url = format!("http://{host}:{port}");
            listeners.push(listener);
        }
        let network = setup.network.clone();
        let service = setup.service(TimeSource::system(), Addresses::new(urls));
        let webhook_sender = WebhookSender::start(service.clone());
        let (stop, stopped) = watch::channel(());
        let start = |(listener, host)| {
            let handler = RequestHandler::new(host, service.clone(), timeouts.body, &network);
            let limit = network.max_connections;
            tokio::spawn(accept(listener, handler, timeouts, limit, stopped.clone(), log))
        };
        let listening = listeners.into_iter().zip(HOSTS).map(start).collect();
        Ok(Self { service, stop, listening, webhook_sender })
    }

    /// Stops listening and waits for open requests, aborting them after a time limit.
    pub async fn shutdown(self) {
        drop(self.stop);
        drop(self.webhook_sender);
        for listener in self.listening {
            let _ = listener.await;
        }
    }
}

impl Deref for Server {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

async fn listen(
    address: IpAddr,
    port_base: u16,
    offset: u16,
) -> Result<(TcpListener, u16), BindError> {
    let port = match port_base {
        0 => 0,
        base => base.checked_add(offset).ok_or(BindError(BindFailure::PortOutOfRange))?,
    };
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrNotAvailable => BindError(BindFailure::Address(address, source)),
        _ => BindError(BindFailure::Port(port, source)),
    };
    let listener = TcpListener::bind((address, port)).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    Ok((listener, port))
}

/// The error returned when the mock cannot listen.
#[derive(Debug)]
pub struct BindError(BindFailure);

#[derive(Debug)]
enum BindFailure {
    PortOutOfRange,
    Port(u16, io::Error),
    Address(IpAddr, io::Error),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OTHER_PORT: &str =
            "choose another with --port-base, or --port-base 0 for any four free ports";
        match &self.0 {
            BindFailure::PortOutOfRange => {
                f.write_str("invalid --port-base: expected at most 65532, so that four ports fit")
            }
            BindFailure::Port(port, error) if error.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "port {port} is already in use ({OTHER_PORT})")
            }
            BindFailure::Port(port, _) => {
                write!(f, "cannot listen on port {port} ({OTHER_PORT})")
            }
            BindFailure::Address(address, _) => write!(
                f,
                "cannot listen on {address}: expected an address of this machine for --bind, such as 0.0.0.0"
            ),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            BindFailure::PortOutOfRange => None,
            BindFailure::Port(_, error) | BindFailure::Address(_, error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests;
