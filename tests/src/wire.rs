//! A bare HTTP/1.1 client: no redirects, no retries, no opinions.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::face::Broken;

/// After how long a server that says nothing is taken to wait for more.
const WAITING_FOR_MORE: Duration = Duration::from_secs(1);
/// How long a server may keep a connection open on which it owes nothing any more.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections to local servers, kept open between exchanges.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    idle: Mutex<HashMap<String, Vec<SendRequest<Full<Bytes>>>>>,
}

impl Wire {
    /// Sends a request to the server at `authority` and reads its whole answer.
    pub(crate) async fn exchange(
        &self,
        authority: &str,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, Broken> {
        if !request.headers().contains_key(http::header::HOST) {
            request
                .headers_mut()
                .insert(http::header::HOST, authority.parse().unwrap());
        }
        let mut connection = self.connection(authority).await?;
        let response = connection
            .send_request(request.map(Full::new))
            .await
            .map_err(broken)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(broken)?.to_bytes();
        self.idle
            .lock()
            .unwrap()
            .entry(authority.to_owned())
            .or_default()
            .push(connection);
        Ok(http::Response::from_parts(head, body))
    }

    async fn connection(&self, authority: &str) -> Result<SendRequest<Full<Bytes>>, Broken> {
        while let Some(mut connection) = self.idle(authority) {
            if connection.ready().await.is_ok() {
                return Ok(connection);
            }
        }
        let stream = TcpStream::connect(authority).await.map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // What ends the connection also ends the exchange on it, where it is told.
        tokio::spawn(async move { drop(driver.await) });
        Ok(sender)
    }

    fn idle(&self, authority: &str) -> Option<SendRequest<Full<Bytes>>> {
        self.idle.lock().unwrap().get_mut(authority)?.pop()
    }
}

/// Writes bytes to the server at `authority` and reads until it closes the connection.
///
/// A server that waits for more is told after a while that there is no more.
pub(crate) async fn raw(authority: String, bytes: Vec<u8>) -> Result<Vec<u8>, Broken> {
    let mut stream = TcpStream::connect(&authority).await.map_err(broken)?;
    // A server may refuse and close before it has read all.
    drop(stream.write_all(&bytes).await);
    let mut answer = Vec::new();
    let mut ended = read_on(&mut stream, &mut answer, WAITING_FOR_MORE).await;
    if ended.is_err() {
        drop(stream.shutdown().await);
        ended = read_on(&mut stream, &mut answer, PATIENCE).await;
    }
    match ended.map_err(broken)? {
        Err(error) if answer.is_empty() => Err(broken(error)),
        _ => Ok(answer),
    }
}

async fn read_on(
    stream: &mut TcpStream,
    answer: &mut Vec<u8>,
    patience: Duration,
) -> Result<std::io::Result<usize>, tokio::time::error::Elapsed> {
    tokio::time::timeout(patience, stream.read_to_end(answer)).await
}

fn broken(error: impl std::error::Error) -> Broken {
    Broken(error.to_string())
}
