//! A minimal HTTP/1.1 client without redirects and retries.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::frontend::TransportError;

/// The silence after which a server is assumed to wait for more input.
const INPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time within which a server has to close the connection after the end of the input.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Idle connections to local servers.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    idle: Mutex<HashMap<String, Vec<SendRequest<Full<Bytes>>>>>,
}

impl ConnectionPool {
    /// Sends a request to the server at `authority` and reads the complete response.
    pub(crate) async fn send(
        &self,
        authority: &str,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        if !request.headers().contains_key(http::header::HOST) {
            request.headers_mut().insert(http::header::HOST, authority.parse().unwrap());
        }
        let mut connection = self.connection(authority).await?;
        let response =
            connection.send_request(request.map(Full::new)).await.map_err(TransportError::new)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(TransportError::new)?.to_bytes();
        self.idle.lock().unwrap().entry(authority.to_owned()).or_default().push(connection);
        Ok(http::Response::from_parts(head, body))
    }

    async fn connection(
        &self,
        authority: &str,
    ) -> Result<SendRequest<Full<Bytes>>, TransportError> {
        while let Some(mut connection) = self.idle(authority) {
            if connection.ready().await.is_ok() {
                return Ok(connection);
            }
        }
        let stream = TcpStream::connect(authority).await.map_err(TransportError::new)?;
        stream.set_nodelay(true).map_err(TransportError::new)?;
        let (sender, driver) =
            handshake(TokioIo::new(stream)).await.map_err(TransportError::new)?;
        // An error of the connection is also reported by the request that is sent on it.
        tokio::spawn(async move { drop(driver.await) });
        Ok(sender)
    }

    fn idle(&self, authority: &str) -> Option<SendRequest<Full<Bytes>>> {
        self.idle.lock().unwrap().get_mut(authority)?.pop()
    }
}

/// Writes bytes to the server at `authority` and reads until it closes the connection.
///
/// The sending side is shut down if the server is silent for [`INPUT_TIMEOUT`].
pub(crate) async fn send_raw(authority: String, bytes: Vec<u8>) -> Result<Vec<u8>, TransportError> {
    let mut stream = TcpStream::connect(&authority).await.map_err(TransportError::new)?;
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
