//! `svc webhook listen`: a receiver that keeps what it acknowledges.
//!
//! A delivery goes one way: `accept` takes the connection, `receive` reads and verifies it with
//! `keys`, `store` keeps it, and only then is it answered 2xx. From the store `forward` sends it on,
//! as often as it takes. What happened is told as `event`, and printed by the loop here.

mod accept;
mod delivery;
mod event;
mod event_log;
mod forward;
mod keys;
mod receive;
mod shutdown;
mod store;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::transport;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use self::accept::accept;
use self::event::{StdoutWriter, report};
use self::forward::Forwarder;
pub(crate) use self::keys::{Keys, fetch_secrets};
use self::receive::Receiver;
use self::store::Store;
use crate::error::Failure;
use crate::interrupt::terminated;
use crate::output::write_stdout;
use crate::session::Session;
use crate::webhook::Target;

/// For what is under way when it ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// What a listener is asked to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// Where it listens; port 0 is any that is free.
    pub(crate) address: SocketAddr,
    /// Where events go on to.
    pub(crate) target: Option<Target>,
    /// Where they are kept; in memory without one.
    pub(crate) store: Option<PathBuf>,
    /// How often a target may refuse an event before it is given up.
    pub(crate) max_rejections: u32,
    /// The newest secret, where it is to be printed.
    pub(crate) secret: Option<String>,
}

/// The first line: it receives.
#[derive(Serialize)]
struct Ready {
    ready: bool,
    url: String,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    forward_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<PathBuf>,
    /// Events of earlier runs that are still to be forwarded.
    pending: usize,
    /// Which secrets deliveries are verified with, the newest first.
    fingerprints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Listens until it is asked to end, or can no longer receive.
pub(crate) async fn listen(session: &Session, options: Options, keys: Keys) -> Result<(), Failure> {
    let store = match &options.store {
        Some(path) => Store::open(path, crate::clock::unix_seconds())?,
        None => Store::in_memory(options.target.is_some()),
    };
    let store = store::shared(store);
    let keys = Arc::new(keys);
    let io_failure =
        |what: &str, error: &std::io::Error| Failure::other(format!("cannot {what}: {error}"));
    let address = options.address;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failure = io_failure(&format!("listen on {address}"), &error);
        match error.kind() {
            ErrorKind::AddrNotAvailable => {
                failure.hint("--bind takes an address of this machine, such as 127.0.0.1")
            }
            _ => failure.hint("choose another port with --port, or any with --port 0"),
        }
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| io_failure("listen", &error))?;
    if !address.ip().is_loopback() {
        session.printer.warn(&format!("{address} can be reached from other machines, and is plain http: put a proxy with TLS before it"));
    }

    // Heard from before the first line is out: whoever reads it may answer with a signal.
    let mut interrupted = pin!(session.interrupts.first());
    let mut terminated = pin!(terminated().map_err(|error| io_failure("hear signals", &error))?);
    tokio::select! {
        biased;
        () = &mut interrupted => return Ok(()),
        () = std::future::ready(()) => {}
    }

    let (stop, stopped) = watch::channel(false);
    let (sender, mut events) = mpsc::channel(1024);
    let pending = store::lock(&store).pending();
    let ready = Ready {
        ready: true,
        url: format!("http://{address}"),
        port: address.port(),
        forward_to: options.target.as_ref().map(ToString::to_string),
        store: options.store.clone(),
        pending: pending.len(),
        fingerprints: keys.fingerprints(),
        secret: options.secret,
    };
    let forwarder = options.target.map(|target| {
        Arc::new(Forwarder::new(
            target,
            transport::reqwest(),
            Arc::clone(&store),
            Arc::clone(&keys),
            options.max_rejections,
            sender.clone(),
            stopped.clone(),
        ))
    });
    let receiver = Arc::new(Receiver::new(
        keys,
        Arc::clone(&store),
        forwarder.clone(),
        sender,
    ));
    let mut accepting = pin!(tokio::spawn(accept(listener, receiver, stopped)));
    write_stdout(session.printer.format_line(&ready, Ready::text)?.as_bytes())?;
    if let Some(forwarder) = &forwarder {
        pending.into_iter().for_each(|id| forwarder.spawn(id));
    }

    let mut stdout = StdoutWriter::default();
    let result = loop {
        tokio::select! {
            biased;
            () = &mut interrupted => break Ok(()),
            () = &mut terminated => break Ok(()),
            flushed = stdout.flush(), if stdout.is_writing() => {
                if let Err(failure) = flushed {
                    break Err(failure);
                }
            }
            Some(event) = events.recv(), if !stdout.is_writing() => {
                if let Err(failure) = report(&session.printer, event).map(|text| stdout.write(text)) {
                    break Err(failure);
                }
            }
            result = &mut accepting => {
                let why = match result {
                    Ok(error) => error.to_string(),
                    Err(error) => error.to_string(),
                };
                break Err(Failure::other(format!("can no longer receive: {why}")));
            }
        }
    };
    stop.send_replace(true);
    let finish_requests = async {
        if result.is_ok() {
            let _ = (&mut accepting).await;
        }
        if let Some(forwarder) = &forwarder {
            forwarder.wait_idle().await;
        }
    };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, finish_requests).await;
    let finish_output = async {
        while stdout.flush().await.is_ok()
            && let Ok(event) = events.try_recv()
            && let Ok(text) = report(&session.printer, event)
        {
            stdout.write(text);
        }
    };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, finish_output).await;
    if forwarder.is_some() {
        let pending = store::lock(&store).pending().len();
        report_pending(session, pending, options.store.is_some());
    }
    result
}

fn report_pending(session: &Session, pending: usize, on_disk: bool) {
    match (pending, on_disk) {
        (0, _) => {}
        (pending, true) => session.printer.note(&format!(
            "{pending} events are still to be forwarded; the next run with this store does it"
        )),
        (pending, false) => session.printer.warn(&format!(
            "{pending} events were not forwarded and are gone: a store on disk (--store FILE) would have kept them"
        )),
    }
}

impl Ready {
    fn text(&self) -> String {
        let mut text = format!("listening on {}", self.url);
        if let Some(target) = &self.forward_to {
            text.push_str(&format!(", forwarding to {target}"));
        }
        if let Some(secret) = &self.secret {
            text.push_str(&format!("\nsigning secret: {secret}"));
        }
        text
    }
}
