//! The accept loop of a listener. It continues after every error.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::request_handler::RequestHandler;
use super::socket::{AbortHandle, Socket};
use super::{Log, Timeouts};

/// The maximum number of connections per listener. Others wait in the system's queue.
const MAX_CONNECTIONS: usize = 512;
/// The delay after an accept that failed because the system lacks a resource, such as file
/// descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A source of connections.
pub(super) trait Accept: Send + 'static {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Accept for TcpListener {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        Self::accept(self)
    }
}

/// Accepts connections until `stop` changes, then waits for the open ones to end.
pub(super) async fn accept(
    listener: impl Accept,
    handler: RequestHandler,
    timeouts: Timeouts,
    mut stop: watch::Receiver<()>,
    log: Log,
) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut is_failing = false;
    loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        let (slot, accepted) = select! {
            _ = stop.changed() => break,
            next = next => next,
        };
        match (slot, accepted) {
            (Ok(slot), Ok((stream, peer))) => {
                is_failing = false;
                let connection = serve(stream, peer, handler.clone(), timeouts, stop.clone());
                tokio::spawn(hold_slot(slot, connection));
            }
            (Err(_), _) => break,
            (_, Err(error)) if is_connection_error(&error) => {}
            (_, Err(error)) => {
                if !is_failing {
                    log(&format!("cannot accept connections, retrying: {error}"));
                }
                is_failing = true;
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    let all = slots.acquire_many(MAX_CONNECTIONS as u32);
    let _ = timeout(timeouts.shutdown, all).await;
}

/// Returns whether an accept failed because of the connection rather than the listener.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn hold_slot(slot: OwnedSemaphorePermit, connection: impl Future<Output = ()>) {
    connection.await;
    drop(slot);
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    handler: RequestHandler,
    timeouts: Timeouts,
    mut stop: watch::Receiver<()>,
) {
    // Otherwise, a response in two parts would wait for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let abort = AbortHandle::default();
    let socket = Socket::new(stream, abort.clone(), timeouts.write);
    let service =
        service_fn(move |request| handler.clone().respond(peer.ip(), abort.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .serve_connection(socket, service);
    let mut connection = pin!(connection);
    select! {
        // An error was caused by the client or by a fault.
        _ = connection.as_mut() => {}
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(timeouts.shutdown, connection).await;
        }
    }
}
