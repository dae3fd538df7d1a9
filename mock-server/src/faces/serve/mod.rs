//! Four listeners on this machine, for a program that runs for weeks.
//!
//! What can go wrong with sockets is dealt with here: a full file table, clients that stop in the
//! middle, answers that must break off, and the end.

mod accept;
mod request_handler;
mod socket;

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
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

/// Where a server says what the person who runs it should know.
pub type Log = fn(&str);

/// The hosts, in the order of their ports.
const HOSTS: [Host; 4] = [Host::Open, Host::Developer, Host::Media, Host::Control];

/// A mock behind four listeners on 127.0.0.1. It ends when it is dropped, at the latest.
#[derive(Debug)]
pub struct Server {
    service: Service,
    /// Dropping it is what ends the listeners.
    stop: watch::Sender<()>,
    listening: Vec<JoinHandle<()>>,
    webhook_sender: WebhookSender,
}

/// For how long clients are waited for.
#[derive(Clone, Copy)]
struct Timeouts {
    /// For a request's head, and between requests: a little longer than clients keep a connection
    /// that they do not use, so that it is they who close it.
    head: Duration,
    /// For a request's body.
    body: Duration,
    /// For a client that reads nothing of its answer.
    write: Duration,
    /// For what is under way when the server ends.
    shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(95),
            body: Duration::from_secs(60),
            write: Duration::from_secs(60),
            shutdown: Duration::from_secs(1),
        }
    }
}

impl Server {
    /// Listens at `port_base` and the three ports after it; with 0, at four that are free.
    ///
    /// In this order: the open surface, the developer surface, media, control.
    ///
    /// # Errors
    ///
    /// [`BindError`] where one of the ports cannot be had.
    pub async fn bind(setup: Setup, port_base: u16, log: Log) -> Result<Self, BindError> {
        Self::start(setup, port_base, log, Timeouts::default()).await
    }

    async fn start(
        setup: Setup,
        port_base: u16,
        log: Log,
        timeouts: Timeouts,
    ) -> Result<Self, BindError> {
        let mut listeners = Vec::with_capacity(HOSTS.len());
        let mut urls = <[String; 4]>::default();
        for (offset, url) in (0_u16..).zip(&mut urls) {
            let (listener, port) = listen(port_base, offset).await?;
            *url = format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
            listeners.push(listener);
        }
        let service = setup.service(TimeSource::system(), Addresses::new(urls));
        let webhook_sender = WebhookSender::start(service.clone());
        let (stop, stopped) = watch::channel(());
        let start = |(listener, host)| {
            let handler = RequestHandler::new(host, service.clone(), timeouts.body);
            tokio::spawn(accept(listener, handler, timeouts, stopped.clone(), log))
        };
        let listening = listeners.into_iter().zip(HOSTS).map(start).collect();
        Ok(Self {
            service,
            stop,
            listening,
            webhook_sender,
        })
    }

    /// Stops listening, lets what is under way end, and breaks off what then still is.
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

async fn listen(port_base: u16, offset: u16) -> Result<(TcpListener, u16), BindError> {
    let port = match port_base {
        0 => 0,
        base => base.checked_add(offset).ok_or(BindError {
            port: None,
            source: None,
        })?,
    };
    let failed = |source| BindError {
        port: Some(port),
        source: Some(source),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    Ok((listener, port))
}

/// A port cannot be had.
#[derive(Debug)]
pub struct BindError {
    /// None where there is no port of that number.
    port: Option<u16>,
    source: Option<io::Error>,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(port) = self.port else {
            return f.write_str("the four ports do not fit: --port-base is at most 65532");
        };
        let taken = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
        match self.source.as_ref().is_some_and(taken) {
            true => write!(f, "port {port} is taken")?,
            false => write!(f, "cannot listen on port {port}")?,
        }
        f.write_str("; choose others with --port-base, or any four with --port-base 0")
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests;
