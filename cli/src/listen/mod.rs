//! `svc webhook listen`: a receiver that stores deliveries before it acknowledges them.
//!
//! `accept` accepts connections: errors of clients never end it, and those of the listener do after
//! retries for almost a minute. `receive` reads the delivery, verifies it, and has the inbox store it.
//! Only then is the response 2xx. `forward` is a worker of the inbox, which sends stored events to the
//! target and retries as needed; several listeners can share a store. All of them report an `event`,
//! which `listen` prints. `control` is the socket for other commands.

mod forward;
mod receive;

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use svc_sdk::transport;
use svc_webhook_inbox::Inbox;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::error::{Failure, Result, SuggestedCommand};
use crate::listen::forward::{Forwarder, RETENTION, SHUTDOWN_GRACE};
use crate::listen::receive::{ListenEvent, MAX_LARGE_BODIES, Receiver, StdoutWriter, report};
use crate::output::write_stdout;
use crate::session::Session;
use crate::text::counted;
#[cfg(unix)]
use crate::webhook::Control;
use crate::webhook::{Keys, StoreAddress, Target};

pub(crate) const DEFAULT_PORT: u16 = 9010;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) address: IpAddr,
    /// The port, 0 for any free one, or `None` for [`DEFAULT_PORT`] or any free one.
    pub(crate) port: Option<u16>,
    pub(crate) target: Option<Target>,
    pub(crate) store: StoreAddress,
    /// The number of times that the target may reject an event before forwarding stops.
    pub(crate) max_rejections: u32,
    /// The newest secret, if it is to be printed.
    pub(crate) secret: Option<String>,
}

#[derive(Serialize)]
struct Ready {
    ready: bool,
    url: String,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    forward_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    pending: u64,
    fingerprints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Listens until the process is asked to stop.
pub(crate) async fn listen(session: &Session, options: Options, keys: Keys) -> Result {
    let inbox = forward::inbox(options.store.open().await?);
    let keys = Arc::new(keys);
    let listener = bind(session, &options).await?;
    let address = listener.local_addr().map_err(|error| io_failure("listen", &error))?;
    if !address.ip().is_loopback() {
        session.printer.warn(&format!("{address} is plain HTTP and can be reached from other machines: put a TLS proxy in front of it"));
    }

    // The signals are handled before the first line, because its reader may send one.
    let mut interrupted = pin!(session.interrupts.first());
    select! {
        biased;
        _ = &mut interrupted => return Ok(()),
        () = std::future::ready(()) => {}
    }

    let (stop, stopped_listener) = watch::channel(false);
    let stopped_worker = stopped_listener.clone();
    let (sender, mut events) = mpsc::channel(1024);
    let pending = unfinished_count(&inbox).await?;
    let ready = Ready {
        ready: true,
        url: format!("http://{address}"),
        port: address.port(),
        forward_to: options.target.as_ref().map(ToString::to_string),
        store: (options.store != StoreAddress::Memory).then(|| options.store.to_string()),
        pending,
        fingerprints: keys.fingerprints(),
        secret: options.secret,
    };
    let is_forwarding = options.target.is_some();
    let worker = options.target.map(|target| {
        let forwarder = Forwarder::new(
            target,
            transport::hyper(),
            Arc::clone(&keys),
            options.max_rejections,
            sender.clone(),
        );
        forwarder.worker(inbox.clone())
    });
    // Only a store that was asked for keeps what it receives for a later listener that forwards it.
    let is_default = matches!(options.store, StoreAddress::Memory | StoreAddress::Default(_));
    let is_handling = is_default && !is_forwarding;
    if is_handling {
        let _ = inbox.store().purge(RETENTION).await;
    }
    serve_control(session, &options.store, &inbox, is_forwarding, &sender);
    let source = format!(
        "deliveries are verified with the signing secret of {} (fingerprint {})",
        keys.source(),
        ready.fingerprints.join(", ")
    );
    let large_bodies = Semaphore::new(MAX_LARGE_BODIES);
    let receiver =
        Receiver { keys, inbox: inbox.clone(), is_handling, events: sender, large_bodies };
    let receiver = Arc::new(receiver);
    let mut accepting = pin!(tokio::spawn(accept(listener, receiver, stopped_listener)));
    write_stdout(session.printer.format_line(&ready, Ready::text)?.as_bytes())?;
    session.printer.note(&source);
    if !is_forwarding {
        report_pending(session, pending, &options.store, is_forwarding);
    }
    if session.printer.is_table_by_default() {
        session.printer.note(&format!(
            "try it in another terminal: {}",
            session.command(&["webhook", "trigger", "job.completed", "--to", &ready.url])
        ));
    }
    let working = worker.map(|worker| {
        let mut stop = stopped_worker;
        tokio::spawn(worker.run_until(async move { wait_for_stop(&mut stop).await }))
    });

    let mut stdout = StdoutWriter::default();
    let result = loop {
        select! {
            biased;
            _ = &mut interrupted => {
                if session.printer.is_table_by_default() {
                    // The terminal shows Ctrl-C as `^C`.
                    session.printer.end_prompt();
                }
                break Ok(());
            }
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
                let why = result.map_or_else(|error| error.to_string(), |error| error.to_string());
                break Err(Failure::other(format!("can no longer receive: {why}")));
            }
        }
    };
    stop.send_replace(true);
    let finish_requests = async {
        if result.is_ok() {
            let _ = (&mut accepting).await;
        }
        if let Some(working) = working {
            let _ = working.await;
        }
    };
    let _ = timeout(SHUTDOWN_GRACE, finish_requests).await;
    let finish_output = async {
        while stdout.flush().await.is_ok()
            && let Ok(event) = events.try_recv()
            && let Ok(text) = report(&session.printer, event)
        {
            stdout.write(text);
        }
    };
    let _ = timeout(SHUTDOWN_GRACE, finish_output).await;
    if (is_forwarding || is_handling)
        && let Ok(pending) = unfinished_count(&inbox).await
    {
        report_pending(session, pending, &options.store, is_forwarding);
    }
    result
}

fn io_failure(what: &str, error: &io::Error) -> Failure {
    Failure::other(format!("cannot {what}: {error}"))
}

async fn bind(session: &Session, options: &Options) -> Result<TcpListener> {
    let address = |port| (options.address, port);
    let port = options.port.unwrap_or(DEFAULT_PORT);
    let mut bound = TcpListener::bind(address(port)).await;
    if options.port.is_none() && bound.as_ref().is_err_and(|it| it.kind() == ErrorKind::AddrInUse) {
        session.printer.note(&format!("port {port} is in use: listening on a free one"));
        bound = TcpListener::bind(address(0)).await;
    }
    bound.map_err(|error| {
        let failure = io_failure(&format!("listen on {}:{port}", options.address), &error);
        match error.kind() {
            ErrorKind::AddrNotAvailable => {
                failure.hint("--bind must be an address of this machine, such as 127.0.0.1")
            }
            _ => failure.hint("choose another port with --port, or any free port with --port 0"),
        }
    })
}

/// Lets other commands change a store that only this process can write.
fn serve_control(
    session: &Session,
    store: &StoreAddress,
    inbox: &Inbox,
    is_forwarding: bool,
    events: &mpsc::Sender<ListenEvent>,
) {
    #[cfg(unix)]
    if let Some(file) = store.file() {
        match Control::bind(file) {
            Ok(control) => {
                let (inbox, events) = (inbox.clone(), events.clone());
                tokio::spawn(control.serve(inbox, is_forwarding, events, ListenEvent::Note));
            }
            Err(error) => session.printer.warn(&format!(
                "svc webhook replay does not work while this runs: cannot create a socket: {error}"
            )),
        }
    }
    #[cfg(not(unix))]
    let _ = (session, store, inbox, is_forwarding, events);
}

/// Returns the number of events that are not handled yet.
async fn unfinished_count(inbox: &Inbox) -> Result<u64> {
    let stats = inbox.store().stats().await?;
    Ok(stats.pending + stats.in_progress)
}

/// Says how many events wait to be forwarded, and which command forwards them.
fn report_pending(session: &Session, pending: u64, store: &StoreAddress, is_forwarding: bool) {
    if pending == 0 {
        return;
    }
    let events = counted(usize::try_from(pending).unwrap_or(usize::MAX), "event");
    let (is, them) = if pending == 1 { ("is", "it") } else { ("are", "them") };
    let added = if is_forwarding { &[][..] } else { &["--forward-to", "URL"] };
    match store {
        StoreAddress::Memory => session.printer.warn(&format!(
            "{events} {is} not forwarded, and lost: only without --store memory are events kept on disk"
        )),
        // Its URL may contain a password.
        StoreAddress::Server(..) => session.printer.note(&format!(
            "{events} {is} not forwarded yet; the next run with this store and --forward-to forwards {them}"
        )),
        _ => session.printer.note(&format!(
            "{events} {is} not forwarded yet; to forward {them}: {}",
            SuggestedCommand::of_this_process(&[], &[], added)
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

const MAX_CONNECTIONS: u32 = 256;
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(15);
const CONNECTION_GRACE: Duration = Duration::from_secs(1);
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// The maximum number of retries. Each delay is twice the one before: 51 s in total.
const MAX_RETRIES: u32 = 10;
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Accepts connections until it is stopped, then waits for the open ones. Returns why it ended.
async fn accept(
    listener: TcpListener,
    receiver: Arc<Receiver>,
    mut stop: watch::Receiver<bool>,
) -> io::Error {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    let mut failures = 0;
    let error = loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        let (slot, accepted) = select! {
            () = wait_for_stop(&mut stop) => break io::ErrorKind::Interrupted.into(),
            next = next => next,
        };
        match (slot, accepted) {
            (Ok(slot), Ok((stream, _))) => {
                failures = 0;
                let connection = serve(stream, Arc::clone(&receiver), stop.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(slot);
                });
            }
            (Err(closed), _) => break io::Error::other(closed),
            (_, Err(error)) if is_client_error(&error) => {}
            (_, Err(error)) if failures >= MAX_RETRIES => break error,
            (_, Err(_)) => {
                sleep(INITIAL_BACKOFF * 2_u32.pow(failures)).await;
                failures += 1;
            }
        }
    };
    drop(listener);
    let _ = timeout(CONNECTION_GRACE, slots.acquire_many(MAX_CONNECTIONS)).await;
    error
}

/// Returns whether an accept failed because of the connection rather than the listener.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn serve(stream: TcpStream, receiver: Arc<Receiver>, mut stop: watch::Receiver<bool>) {
    let service = service_fn(move |request| Arc::clone(&receiver).handle(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    select! {
        // Errors of a connection are the client's.
        _ = connection.as_mut() => {}
        () = wait_for_stop(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(CONNECTION_GRACE, connection).await;
        }
    }
}

async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // The sender is dropped only when the listener has ended.
    let _ = stop.wait_for(|stop| *stop).await;
}
