//! The accept loop of one listener. Nothing that a client or the system does ends it.

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
use super::{Log, Patience};

/// Connections of one listener; more wait in the system's queue.
const CONNECTIONS: usize = 512;
/// After an accept that failed for want of something, such as file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Where connections come from.
pub(super) trait Accept: Send + 'static {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Accept for TcpListener {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        Self::accept(self)
    }
}

/// Accepts until told to stop, then waits for the connections to end.
pub(super) async fn accept(
    listener: impl Accept,
    handler: RequestHandler,
    patience: Patience,
    mut stop: watch::Receiver<()>,
    log: Log,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut troubled = false;
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
                troubled = false;
                let connection = serve(stream, peer, handler.clone(), patience, stop.clone());
                tokio::spawn(pending(slot, connection));
            }
            (Err(_), _) => break,
            (_, Err(error)) if is_the_clients(&error) => {}
            (_, Err(error)) => {
                if !troubled {
                    log(&format!("cannot accept connections for now: {error}"));
                }
                troubled = true;
                sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    let all = slots.acquire_many(CONNECTIONS as u32);
    let _ = timeout(patience.farewell, all).await;
}

/// Whether an accept failed because of the connection, not because of the listener.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

async fn pending(slot: OwnedSemaphorePermit, connection: impl Future<Output = ()>) {
    connection.await;
    drop(slot);
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    handler: RequestHandler,
    patience: Patience,
    mut stop: watch::Receiver<()>,
) {
    // Without it, answers in two parts wait for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let cut = AbortHandle::default();
    let socket = Socket::new(stream, cut.clone(), patience.write);
    let answer = service_fn(move |request| handler.clone().answer(peer.ip(), cut.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .serve_connection(socket, answer);
    let mut connection = pin!(connection);
    select! {
        // An error is the client's, or one that was asked for.
        _ = connection.as_mut() => {}
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(patience.farewell, connection).await;
        }
    }
}
