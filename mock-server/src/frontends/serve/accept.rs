//! The accept loop of a listener. It continues after every error.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::connections::{Connection, Connections};
use super::request_handler::RequestHandler;
use super::socket::{AbortHandle, Socket};
use super::{Log, Timeouts};

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
    max_connections: usize,
    mut stop: watch::Receiver<()>,
    log: Log,
) {
    let handler = Arc::new(handler);
    let connections = Connections::default();
    let mut is_failing = false;
    let mut is_full = false;
    loop {
        let accepted = select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                is_failing = false;
                let (connection, has_closed) = select! {
                    _ = stop.changed() => break,
                    opened = connections.open(max_connections) => opened,
                };
                if has_closed && !is_full {
                    log(&format!(
                        "{max_connections} connections are open: closing the longest idle ones \
                         (--max-connections allows more)"
                    ));
                }
                is_full = has_closed;
                let handler = Arc::clone(&handler);
                tokio::spawn(serve(stream, peer, connection, handler, timeouts, stop.clone()));
            }
            Err(error) if is_connection_error(&error) => {}
            Err(error) => {
                if !is_failing {
                    log(&format!("cannot accept connections, retrying: {error}"));
                }
                is_failing = true;
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    let _ = timeout(timeouts.shutdown, connections.ended()).await;
}

/// Returns whether an accept failed because of the connection rather than the listener.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    connection: Connection,
    handler: Arc<RequestHandler>,
    timeouts: Timeouts,
    mut stop: watch::Receiver<()>,
) {
    // Otherwise, a response in two parts would wait for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let abort = AbortHandle::default();
    let own_replies = handler.own_replies();
    let socket = Socket::new(stream, abort.clone(), connection.activity(), timeouts, own_replies);
    let service = service_fn(|request| {
        let active = connection.start_request();
        Arc::clone(&handler).respond(peer.ip(), abort.clone(), active, request)
    });
    let mut served = pin!(
        // The socket has the time limits.
        http1::Builder::new().header_read_timeout(None).serve_connection(socket, service)
    );
    select! {
        // An error was caused by the client or by a fault.
        _ = served.as_mut() => {}
        () = connection.closed() => {}
        _ = stop.changed() => {
            served.as_mut().graceful_shutdown();
            let _ = timeout(timeouts.shutdown, served).await;
        }
    }
}
