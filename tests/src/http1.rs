//! A minimal HTTP/1.1 client without redirects, and bytes over a connection of their own.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::frontend::TransportError;

/// The silence after which a server is assumed to wait for more input.
const INPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time within which a server has to close the connection after the end of the input.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A client that keeps its connections.
pub(crate) type HttpClient = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn client() -> HttpClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// Writes bytes to the server at `authority` and reads until it closes the connection.
///
/// The sending side is shut down if the server is silent for [`INPUT_TIMEOUT`].
pub(crate) async fn send_raw(authority: &str, bytes: Vec<u8>) -> Result<Vec<u8>, TransportError> {
    let mut stream = TcpStream::connect(authority).await.map_err(TransportError::new)?;
    // A server may reject a request and close the connection before it has read everything.
    drop(stream.write_all(&bytes).await);
    let mut response = Vec::new();
    let mut ended = read_to_end(&mut stream, &mut response, INPUT_TIMEOUT).await;
    if ended.is_err() {
        drop(stream.shutdown().await);
        ended = read_to_end(&mut stream, &mut response, CLOSE_TIMEOUT).await;
    }
    match ended.map_err(TransportError::new)? {
        Err(error) if response.is_empty() => Err(TransportError::new(error)),
        _ => Ok(response),
    }
}

async fn read_to_end(
    stream: &mut TcpStream,
    response: &mut Vec<u8>,
    timeout: Duration,
) -> Result<std::io::Result<usize>, tokio::time::error::Elapsed> {
    tokio::time::timeout(timeout, stream.read_to_end(response)).await
}
